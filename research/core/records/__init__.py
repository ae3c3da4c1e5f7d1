"""The immutable records of the application.

A record knows nothing of storage, display or the graph. Offsets are characters, times are UTC,
dates are real dates or ``None``. Records are pydantic models, so that they survive JSON and the
graph's checkpoints unchanged (tuples stay tuples).

One module a topic; this package has all their names.
"""

from research.core.records.answers import Answer, Draft, ReportSection
from research.core.records.base import CheckedCopy, Date, Language, Record, fingerprint, normalise_query
from research.core.records.databases import (
    ColumnCoverage,
    DatabaseStep,
    DatabaseStepKind,
    LayoutRemarkKind,
    QueryResult,
    ReadingNote,
    ReadingNoteKind,
)
from research.core.records.evidence import (
    Author,
    Evidence,
    EvidenceKind,
    Paper,
    Passage,
    PassageReference,
    Picture,
    PublicationNotice,
)
from research.core.records.failures import (
    ASKS_BACK,
    ConnectionCheck,
    Failure,
    FailureHint,
    FailureReason,
    Readiness,
    Stage,
)
from research.core.records.findings import Finding
from research.core.records.news import (
    CitedFigure,
    Figure,
    FigureDisagreement,
    HeadlineTones,
    NewsCoverage,
    OutletSummary,
    Story,
    StoryChange,
    StoryConflict,
    Tone,
)
from research.core.records.places import (
    ATTRIBUTIONS,
    DistanceMatrix,
    Itinerary,
    Place,
    RecordedPlace,
    Route,
    SearchArea,
    TravelMode,
)
from research.core.records.plans import Clarification, Part, Plan, Reflection, Task
from research.core.records.questions import MAX_QUESTION_CHARS, MEMORY_SOURCE, Memory, Question, Turn
from research.core.records.runs import (
    Conversation,
    Instruction,
    Remark,
    Report,
    Run,
    RunEstimate,
    RunOptions,
    RunStatus,
    Usage,
    WatchedTopic,
)
from research.core.records.spans import (
    AnswerReview,
    ModelVerdict,
    ModelVerdicts,
    RewrittenSentences,
    SentenceRepair,
    Span,
    SpanKind,
    SupportAssessment,
    SupportGap,
    SupportGapKind,
    SupportStatus,
    Verdict,
)
from research.core.records.tables import Cell, CellReading, CellValue, Column, ColumnType, Grid, MissingReason, Row
