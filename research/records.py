"""The nouns of the house, frozen.

Every record is an immutable value: it knows nothing of storage, of drawing or of the graph. Offsets
are characters, times are UTC, dates are real dates or ``None``. Records are pydantic models, so
that they survive JSON and the graph's checkpoints unchanged (tuples stay tuples).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Language = Literal["zh", "en"]
EvidenceKind = Literal["library", "web", "news", "place", "database"]
Reason = Literal[
    "no key",  # the source needs a key that is not set
    "refused",  # the key or the request was turned down
    "quota",  # the allowance is used up
    "timeout",  # no answer within the deadline
    "unreachable",  # no connection
    "blocked",  # the content or this client is barred
    "empty",  # it answered: there is nothing
    "malformed",  # it answered something that cannot be read
    "internal",  # our own fault; the log has the details
]
RunStatus = Literal["queued", "running", "done", "stopped", "interrupted", "failed"]
SpanKind = Literal["heading", "quote", "text", "missing", "notice"]

MAX_QUESTION = 2_000  # characters; longer text belongs into the library


def fingerprint(*parts: str, size: int = 12) -> str:
    """A short stable id (hex, `size` digits) of some strings; order matters."""
    digest = hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16)
    return digest.hexdigest()[:size]


def normalised(query: str) -> str:
    """A query as it is compared: NFKC, case-folded, punctuation and white space collapsed."""
    folded = unicodedata.normalize("NFKC", query).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()


class Record(BaseModel):
    """Base of all records: frozen, strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Passage(Record):
    """A verbatim piece of a document. `text` equals the document's text from `start` to `end`."""

    id: str
    text: str
    start: int = 0
    end: int = 0
    heading: str = ""
    page: int | None = None
    title: str = ""


class Evidence(Record):
    """Something that can be cited. One canonical URL (or one document) is one evidence id."""

    id: str
    kind: EvidenceKind
    title: str
    publisher: str = ""
    url: str = ""
    locator: str = ""
    language: str = ""
    retrieved: datetime
    published: date | None = None
    sample: bool = False
    opening: str = ""  # how it begins, which tells what it is about
    passages: tuple[Passage, ...] = ()


class Question(Record):
    """What was asked, cleaned; `language` decides the language of the answer."""

    text: str
    language: Language


class Part(Record):
    """One thing the question wants to know about `subject`."""

    id: str
    subject: str
    text: str


class Task(Record):
    """One query for one source. `subject` lists names, one of which every hit has to mention."""

    id: str
    round: int = 1
    source: str
    query: str
    part: str = ""
    subject: tuple[str, ...] = ()
    why: str = ""

    @property
    def key(self) -> str:
        """Equal for tasks that would bring back the same."""
        subjects = sorted(normalised(name) for name in self.subject)
        return fingerprint(self.source, normalised(self.query), *subjects)


class Plan(Record):
    """What to look up: the parts of the question and the first round's tasks."""

    parts: tuple[Part, ...] = ()
    tasks: tuple[Task, ...] = ()
    edited: bool = False
    notes: tuple[str, ...] = ()


class Finding(Record):
    """What one task brought back, or the reason why it brought back nothing."""

    task: Task
    evidence: tuple[Evidence, ...] = ()
    reason: Reason | None = None
    message: str = ""
    started: datetime
    seconds: float = 0.0
    reused: bool = False

    @property
    def passages(self) -> int:
        return sum(len(item.passages) for item in self.evidence)


class Reflection(Record):
    """The judgement after a round: what is missing and what to look up next."""

    round: int
    sufficient: bool
    gap: tuple[str, ...] = ()
    follow_ups: tuple[Task, ...] = ()
    note: str = ""


class Cite(Record):
    """Points at a stretch of a passage of a registered piece of evidence."""

    evidence: str
    passage: str
    start: int = 0
    end: int = 0


class Span(Record):
    """A stretch of the answer. `quote` text is verbatim from outside; `part` is the part it serves."""

    kind: SpanKind
    text: str
    cites: tuple[Cite, ...] = ()
    part: str = ""


class Failure(Record):
    """A look-up that failed, as the answer lists it."""

    source: str
    query: str
    reason: Reason
    message: str = ""


class Answer(Record):
    """The cited text before numbering: only ids of the evidence registry become numbers."""

    title: str
    language: Language
    author: str
    spans: tuple[Span, ...] = ()
    failures: tuple[Failure, ...] = ()
    sample: bool = False
    made: datetime

    @property
    def quotes(self) -> int:
        return sum(span.kind == "quote" for span in self.spans)


class Options(Record):
    """The limits of one run. `loops` counts rounds of search, the first included."""

    queries: int = Field(default=3, ge=1, le=10)
    loops: int = Field(default=2, ge=1, le=10)
    sources: tuple[str, ...] = ("library",)


class Run(Record):
    """One turn: a question on its way to an answer."""

    id: str
    conversation: str
    owner: str
    question: str
    options: Options
    status: RunStatus
    created: datetime
    finished: datetime | None = None
    error: str = ""
    based_on: str = ""

    @property
    def active(self) -> bool:
        return self.status in ("queued", "running")

    @property
    def resumable(self) -> bool:
        return self.status in ("stopped", "interrupted", "failed")


class Report(Record):
    """Everything one run has to show: what pages draw and exports write."""

    run: Run
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()
    reflections: tuple[Reflection, ...] = ()
    answer: Answer | None = None
    evidence: tuple[Evidence, ...] = ()


class Event(Record):
    """One line of live progress. `seq` starts at 1 and has no gaps within a run."""

    run: str
    seq: int
    time: datetime
    kind: str
    data: dict[str, Any] = {}


class Readiness(Record):
    """What a source can do now: live, offline, sampled or missing something, and what to add."""

    state: Literal["live", "offline", "sample", "missing"]
    detail: str = ""
