"""Typed events of a run, and their conversion to and from stored rows.

An event's kind is the snake-case name of its class, except that of `UsageRecorded`. A row of the
store holds the kind and the other fields as JSON. Rows of earlier versions have former kinds and
field names; `parse_event` converts them.

An event that declares a `note` is described by it wherever a run is followed: by the page, the
terminal and the MCP server; the log and the trace of the run have its kind. Other events are drawn by
code of each front end, if at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from research.core.bilingual import Text
from research.core.records import (
    Cell,
    Clarification,
    DatabaseStep,
    Finding,
    Language,
    Plan,
    Record,
    Reflection,
    RunStatus,
    Stage,
    Task,
    Usage,
)


class EventRecord(Record):
    """Base of all events. Fields that a later version adds are ignored.

    `note` is a format string in both languages that takes the fields of the event by name.
    """

    model_config = ConfigDict(extra="ignore")
    note: ClassVar[Text | None] = None

    def describe(self, language: Language) -> str:
        """Return the note with the fields filled in, "" without a note."""
        return self.note.in_language(language).format_map(dict(self)) if self.note else ""


class StatusChanged(EventRecord):
    """The run has a new status; `keys` are the names of the owner's API keys that it uses."""

    kind: Literal["status_changed"] = "status_changed"
    status: RunStatus
    error: str = ""
    keys: tuple[str, ...] = ()


class QuestionParsed(EventRecord):
    """The question was cleaned and its language detected."""

    kind: Literal["question_parsed"] = "question_parsed"
    text: str
    language: Language


class PlanMade(EventRecord):
    """The run has a plan, or another one after a clarification or an approval."""

    kind: Literal["plan_made"] = "plan_made"
    plan: Plan


class ClarificationNeeded(EventRecord):
    """The run asks the user a question before it searches."""

    kind: Literal["clarification_needed"] = "clarification_needed"
    clarification: Clarification


class ClarificationAnswered(EventRecord):
    """The user answered the run's question, or skipped it with an empty answer."""

    kind: Literal["clarification_answered"] = "clarification_answered"
    answer: str


class InstructionAdded(EventRecord):
    """The user gave the run an instruction."""

    kind: Literal["instruction_added"] = "instruction_added"
    text: str


class InstructionApplied(EventRecord):
    """A stage has read the first `count` instructions."""

    kind: Literal["instruction_applied"] = "instruction_applied"
    count: int


class TaskStarted(EventRecord):
    """A search has begun."""

    kind: Literal["task_started"] = "task_started"
    task: Task


class TaskFinished(EventRecord):
    """A search has ended: its counts, or the reason why it found nothing.

    `cached` is the ISO time of the earlier search whose result was reused; `other_failures` are
    messages about failures beside the result.
    """

    kind: Literal["task_finished"] = "task_finished"
    task: Task
    passages: int = 0
    titles: tuple[str, ...] = ()
    reason: str | None = None  # a `FailureReason`, or one of a later version
    hint: str = ""
    provider: str = ""
    message: str = ""
    other_failures: tuple[str, ...] = ()
    seconds: float = 0.0
    reused: bool = False
    cached: str = ""

    @classmethod
    def from_finding(cls, finding: Finding) -> TaskFinished:
        """Summarise a finding."""
        return cls(
            task=finding.task,
            passages=finding.passage_count,
            titles=tuple(evidence.title for evidence in finding.evidence),
            reason=finding.reason,
            hint=finding.hint,
            provider=finding.provider,
            message=finding.message,
            other_failures=tuple(failure.message for failure in finding.failures),
            seconds=finding.seconds,
            reused=finding.reused,
            cached=finding.started.isoformat() if finding.cached else "",
        )


class ToolCalled(EventRecord):
    """A model called a tool of a source; `task` is the id of the search."""

    kind: Literal["tool_called"] = "tool_called"
    task: str = ""
    tool: str
    arguments: dict[str, Any]


class DatabaseStepTaken(EventRecord):
    """A search in a database took a step; `task` is the id of the search."""

    kind: Literal["database_step_taken"] = "database_step_taken"
    task: str = ""
    step: DatabaseStep


class ReflectionMade(EventRecord):
    """A round of searches was judged."""

    kind: Literal["reflection_made"] = "reflection_made"
    reflection: Reflection


class ReflectionSkipped(EventRecord):
    """A round ended without a reflection; `last` is false if searching ended early."""

    kind: Literal["reflection_skipped"] = "reflection_skipped"
    round: int
    last: bool = True


class SectionAdvanced(EventRecord):
    """A section of a report began a step, or is done with so many citations."""

    kind: Literal["section_advanced"] = "section_advanced"
    part: str
    step: Literal["searching", "writing", "reflecting", "done"]
    round: int
    cites: int = 0
    kept: bool = False


class RowAdvanced(EventRecord):
    """A row of a table began a step for some columns, or is done with so many filled cells."""

    kind: Literal["row_advanced"] = "row_advanced"
    row: str
    step: Literal["searching", "reading", "done"]
    columns: tuple[str, ...] = ()
    filled: int = 0
    cells: int = 0


class CellFilled(EventRecord):
    """A cell of a table has a value, or the reason why it has none."""

    kind: Literal["cell_filled"] = "cell_filled"
    cell: Cell


class WritingStarted(EventRecord):
    """The answer is about to be written."""

    kind: Literal["writing_started"] = "writing_started"


class DraftStarted(EventRecord):
    """A model writes the answer; `handles` map its citation handles to evidence and passage ids."""

    kind: Literal["draft_started"] = "draft_started"
    handles: dict[str, tuple[str, str]]


class TextWritten(EventRecord):
    """A model wrote more of the answer; with `restart`, the text begins again with this one."""

    kind: Literal["text_written"] = "text_written"
    text: str
    restart: bool = False


class AnswerWritten(EventRecord):
    """The answer is complete: its verbatim quotes, cited statements and failed steps.

    Rows of early versions have no `cites`.
    """

    kind: Literal["answer_written"] = "answer_written"
    quotes: int
    cites: int | None = None
    failures: int = 0


class CheckStarted(EventRecord):
    """A model begins to check cited sentences."""

    kind: Literal["check_started"] = "check_started"
    sentences: int


class CheckFinished(EventRecord):
    """The cited sentences were checked."""

    kind: Literal["check_finished"] = "check_finished"
    rulings: int
    repairs: int
    unchecked: int = 0
    failures: int = 0


class UsageRecorded(Usage, EventRecord):
    """A paid call was made. The stored rows are those that statements sum by the kind `usage`."""

    kind: Literal["usage"] = "usage"


class RetryScheduled(EventRecord):
    """A call to a model or service failed and is repeated after some seconds."""

    kind: Literal["retry_scheduled"] = "retry_scheduled"
    stage: Stage
    service: str
    reason: str
    seconds: float


class RateLimitWait(EventRecord):
    """A call to a model or service waits for a rate limit of our own, or no longer does."""

    kind: Literal["rate_limit_wait"] = "rate_limit_wait"
    stage: Stage
    service: str
    is_over: bool


class ThinkingUnsupported(EventRecord):
    """A model refused a thinking level and was called without one."""

    note: ClassVar = Text(
        "{service} does not support thinking level {level}; sent without it",
        "{service} 不支持思考级别（{level}），已改为不带级别发送",
    )
    kind: Literal["thinking_unsupported"] = "thinking_unsupported"
    stage: Stage
    service: str
    level: str


class PromptUndercounted(EventRecord):
    """A model counted fewer tokens than its prompt has, and may not have read all of it."""

    note: ClassVar = Text(
        "{service} counted only {tokens:,} tokens of a longer prompt; it may not have read all the material",
        "{service} 只计入 {tokens:,} 个 token，少于提示应有的数量，可能没有读完全部资料",
    )
    kind: Literal["prompt_undercounted"] = "prompt_undercounted"
    stage: Stage
    service: str
    tokens: int


class PartsUnreadable(EventRecord):
    """Some parts of a model's structured answer could not be read."""

    kind: Literal["parts_unreadable"] = "parts_unreadable"
    stage: Stage
    service: str
    parts: tuple[str, ...]


class LimitApplied(EventRecord):
    """An operator's setting replaced a value that a client of the Agent Server requested."""

    kind: Literal["limit_applied"] = "limit_applied"
    name: str
    asked: int | str
    used: int | str
    why: str = ""


class ReportSaved(EventRecord):
    """The report was saved at the path `report`, or could not be saved because of a problem."""

    kind: Literal["report_saved"] = "report_saved"
    report: str = ""
    problem: str = ""


class UnknownEvent(EventRecord):
    """A stored event of another version, or a damaged one. Front ends skip it."""

    kind: str
    data: dict[str, Any] = Field(default_factory=dict)


KnownEvent: TypeAlias = Annotated[
    StatusChanged | QuestionParsed | PlanMade | ClarificationNeeded | ClarificationAnswered | InstructionAdded
    | InstructionApplied | TaskStarted | TaskFinished | ToolCalled | DatabaseStepTaken | ReflectionMade
    | ReflectionSkipped | SectionAdvanced | RowAdvanced | CellFilled | WritingStarted | DraftStarted | TextWritten
    | AnswerWritten | CheckStarted | CheckFinished | UsageRecorded | RetryScheduled | RateLimitWait
    | ThinkingUnsupported | PromptUndercounted | PartsUnreadable | LimitApplied | ReportSaved,
    Field(discriminator="kind"),
]  # fmt: skip
RunEvent: TypeAlias = KnownEvent | UnknownEvent
_ADAPTER: TypeAdapter[KnownEvent] = TypeAdapter(KnownEvent)

# Kinds of earlier versions, which stored runs hold. `_convert_former` also converts their fields.
FORMER_KINDS: Mapping[str, str] = {
    "status": "status_changed",
    "question": "question_parsed",
    "plan": "plan_made",
    "unclear": "clarification_needed",
    "clarified": "clarification_answered",
    "instruction": "instruction_added",
    "heeded": "instruction_applied",
    "search": "task_started",
    "found": "task_finished",
    "tool": "tool_called",
    "reflection": "reflection_made",
    "section": "section_advanced",
    "row": "row_advanced",
    "cell": "cell_filled",
    "writing": "writing_started",
    "drafting": "draft_started",
    "text": "text_written",
    "answer": "answer_written",
    "checking": "check_started",
    "checked": "check_finished",
    "waiting": "retry_scheduled",
    "queued": "rate_limit_wait",
    "unthinking": "thinking_unsupported",
    "saved": "report_saved",
}
_FORMER_FIELDS = {"what": "service", "over": "is_over", "beside": "other_failures"}


class Event(Record):
    """A stored event of a run. `seq` starts at 1 and has no gaps within the run."""

    run: str
    seq: int
    time: datetime
    data: RunEvent

    @property
    def kind(self) -> str:
        """The kind of the event, such as "task_finished"."""
        return self.data.kind


def parse_event(kind: str, data: object) -> RunEvent:
    """Parse a stored row of any version; one that cannot be read becomes an `UnknownEvent`."""
    if not isinstance(data, dict):
        return UnknownEvent(kind=kind)
    try:
        current_kind, fields = _convert_former(kind, data)
        return _ADAPTER.validate_python({**fields, "kind": current_kind})
    except (ValidationError, LookupError, TypeError):
        return UnknownEvent(kind=kind, data=data)


def dump_event(event: RunEvent) -> tuple[str, dict[str, Any]]:
    """Return the kind and the data of the row that stores an event."""
    if isinstance(event, UnknownEvent):
        return event.kind, event.data
    return event.kind, event.model_dump(mode="json", exclude={"kind"})


def stored_kinds(*event_types: type[EventRecord]) -> tuple[str, ...]:
    """Return the kinds that rows of these events have, with those of earlier versions."""
    kinds = [event_type.model_fields["kind"].default for event_type in event_types]
    return (*kinds, *(former for former, kind in FORMER_KINDS.items() if kind in kinds))


def _convert_former(kind: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Convert the kind and fields of a row of an earlier version; others are returned unchanged."""
    match kind:
        case "tool" if "arguments" not in data:
            step = {name: data[name] for name in DatabaseStep.model_fields if name in data}
            return "database_step_taken", {"task": data.get("task", ""), "step": {**step, "kind": data["name"]}}
        case "reflection" if data.get("skipped"):
            return "reflection_skipped", data
        case "reflection":
            return "reflection_made", {"reflection": data}
        case "unclear":
            return "clarification_needed", {"clarification": data}
    return FORMER_KINDS.get(kind, kind), {_FORMER_FIELDS.get(name, name): value for name, value in data.items()}


class EventEmitter(Protocol):
    """Callback with which stages, reasoners and sources report progress."""

    def __call__(self, event: RunEvent, /) -> None:
        """Emit an event."""


def ignore_event(event: RunEvent, /) -> None:
    """Discard an event."""
