"""Runs, their options and usage, conversations and reports."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import AliasChoices, Field

from research.core.records.answers import Answer
from research.core.records.base import Record
from research.core.records.evidence import Evidence
from research.core.records.failures import Stage
from research.core.records.findings import Finding
from research.core.records.plans import Clarification, Plan, Reflection

RunStatus = Literal["queued", "running", "waiting", "done", "stopped", "interrupted", "failed"]


class Usage(Record):
    """Usage of a paid call, by the provider's own count, or `estimated` without one.

    `input` includes the `cached` tokens, `output` the thinking tokens. `cost` is an estimate in US
    dollars; None if the price is unknown.
    """

    stage: Stage
    model: str  # "gemini:gemini-3.8-flash"; for a search service just its name
    calls: int = 1
    input: int = 0
    cached: int = 0
    output: int = 0
    searches: int = 0
    cost: float | None = None
    estimated: bool = False  # whether tokens were estimated from the text's length
    task: str = ""  # id of the task it was used for


class RunOptions(Record):
    """The limits of one run. `loops` counts search rounds, the first included; 0 searches nothing.

    For `searches`, `tokens`, `cost` (US dollars) and `seconds` (of work), 0 means no limit.
    """

    queries: int = Field(default=3, ge=1, le=10)
    sections: int = Field(default=0, ge=0, le=12)  # maximum for a report; 0 writes an answer, not a report
    reflections: int = Field(default=2, ge=0, le=10)  # of each section
    table: bool = False  # write a table whose every cell is cited
    loops: int = Field(default=2, ge=0, le=10)
    sources: tuple[str, ...] = ("library",)
    model: str = ""  # replaces the configured models for reflecting and writing
    models: tuple[tuple[str, str], ...] = ()  # overrides for single roles, as (role, model)
    searches: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    approve: bool = False  # require approval of the plan before any search
    clarify: bool = False  # ask back once about an ambiguous question
    updated_run: str = Field(
        default="", validation_alias=AliasChoices("updated_run", "updates")
    )  # id of the run whose report this one updates
    database: str = Field(default="", max_length=200)  # name of the database to query; "" is the default
    notebook: str = Field(default="", max_length=80)  # the library quotes only its documents

    def model_for(self, role: str) -> str:
        """Return the model chosen for a role in this run; "" for the configured one."""
        both = self.model.strip() if role in ("reflect", "write") else ""
        return both or dict(self.models).get(role, "")

    def selection_for(self, source: str) -> str:
        """Return the database or notebook that a source searches; "" for the default, or all."""
        return {"database": self.database, "library": self.notebook}.get(source, "")


class RunEstimate(Record):
    """Expected usage of a run, shown before it starts. `cost` is None if a price is unknown; `runs`
    counts the earlier runs that it is based on."""

    searches: int
    tokens: int
    cost: float | None
    seconds: float
    runs: int = 0


class Instruction(Record):
    """A user's instruction to a run in progress; `heeded` once a stage has read it."""

    text: str
    time: datetime
    applied: bool = Field(default=False, validation_alias=AliasChoices("applied", "heeded"))


class Remark(Record):
    """A user's note on their answer, or on a `passage` of its `evidence`, both by id. It is
    private: no stage reads it."""

    evidence: str = ""
    passage: str = ""
    text: str
    updated: datetime = Field(validation_alias=AliasChoices("updated", "made"))  # time of the last edit


class Run(Record):
    """One question and its processing. A waiting run needs an approval or a clarification."""

    id: str
    conversation: str
    owner: str
    question: str
    options: RunOptions
    status: RunStatus
    created: datetime
    finished: datetime | None = None
    error: str = ""
    based_on: str = ""
    follows: str = ""  # the run that this one's question follows up

    @property
    def is_active(self) -> bool:
        """True while the run is queued or running."""
        return self.status in ("queued", "running")

    @property
    def is_resumable(self) -> bool:
        """True if the run ended early and can be continued."""
        return self.status in ("stopped", "interrupted", "failed")


class Conversation(Record):
    """A series of runs. Its title is the first question unless the user has renamed it."""

    id: str
    title: str
    pinned: bool = False
    turns: int
    created: datetime
    updated: datetime
    latest: str  # the id of its last run


class WatchedTopic(Record):
    """A topic whose report is updated from time to time.

    `latest` is the last run with a written report, `changed` whether it reported anything new; None
    before the second one. If the run cannot be read, only the id and the topic are known.
    """

    id: str
    topic: str
    created: datetime | None = None
    latest: str = ""
    updated: datetime | None = None
    changed: bool | None = None


class Report(Record):
    """Everything about one run that pages display and exports write."""

    run: Run
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()
    reflections: tuple[Reflection, ...] = ()
    answer: Answer | None = None
    evidence: tuple[Evidence, ...] = ()
    usage: tuple[Usage, ...] = ()
    clarification: Clarification | None = None
    instructions: tuple[Instruction, ...] = ()
    remarks: tuple[Remark, ...] = ()  # the answer's first, then by time

    @property
    def is_awaiting_clarification(self) -> bool:
        """True while the run waits for the user's clarification."""
        clarification = self.clarification
        return self.run.status == "waiting" and clarification is not None and clarification.answer is None
