"""Sightline's engine: from a question to an answer whose citations open the passages.

Importing it needs no key and no network, makes no file and prints nothing. It knows nothing of the
pages that draw it.
"""

import os

# Before langgraph is imported: checkpoints may then hold only types that are named as safe.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

from research import runs
from research.evidence.citations import CitedAnswer, CitedSource, NumberedSpan, cited
from research.evidence.drafts import drafted
from research.evidence.markup import tree as answer_tree
from research.export.data import report_json
from research.export.markdown import file_name, report_markdown
from research.library.documents import SUFFIXES
from research.library.index import Entry, Hit, Library
from research.library.prepare import Added
from research.models.prices import as_of as prices_as_of
from research.records import (
    MAX_QUESTION,
    Answer,
    Check,
    Event,
    Evidence,
    Finding,
    Options,
    Part,
    Passage,
    Plan,
    Readiness,
    Reflection,
    Report,
    Run,
    Span,
    Task,
    Usage,
)
from research.settings import SettingError, Settings
from research.stages.plan import edited_plan
from research.stages.question import QuestionError
from research.storage import StoreError

__all__ = [
    "MAX_QUESTION",
    "SUFFIXES",
    "Added",
    "Answer",
    "Check",
    "CitedAnswer",
    "CitedSource",
    "Entry",
    "Event",
    "Evidence",
    "Finding",
    "Hit",
    "Library",
    "NumberedSpan",
    "Options",
    "Part",
    "Passage",
    "Plan",
    "QuestionError",
    "Readiness",
    "Reflection",
    "Report",
    "Run",
    "SettingError",
    "Settings",
    "Span",
    "StoreError",
    "Task",
    "Usage",
    "answer_tree",
    "cited",
    "drafted",
    "edited_plan",
    "file_name",
    "prices_as_of",
    "report_json",
    "report_markdown",
    "runs",
]
