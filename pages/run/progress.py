"""Progress of a run as described by its events; `activity` draws it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import research
from research import Cell, DatabaseStep, Event, EventRecord, Grid, Task


@dataclass
class SearchProgress:
    """A query of a round and its result."""

    id: str
    query: str
    source: str
    purpose: str = ""
    state: str = "waiting"  # waiting, searching, found, or the reason of a failure
    passage_count: int = 0
    titles: list[str] = field(default_factory=list)
    message: str = ""
    hint: str = ""
    provider: str = ""
    duration_seconds: float = 0.0
    is_reused: bool = False
    cached_at: str = ""  # ISO time of the search by an earlier run
    tool_calls: list[str] = field(default_factory=list)  # calls of a source's tools by a model
    steps: list[DatabaseStep] = field(default_factory=list)  # of a database search
    tool: str = ""  # search tool of the source
    date_range: str = ""

    @property
    def is_over(self) -> bool:
        """True once the search has succeeded, failed or been left out."""
        return self.state not in ("waiting", "searching")

    @property
    def is_performed(self) -> bool:
        """True if the search is over and was not left out."""
        return self.is_over and self.state != "left out"


@dataclass
class RoundProgress:
    """One round of search and reflection."""

    number: int
    searches: dict[str, SearchProgress] = field(default_factory=dict)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    is_reflected: bool = False
    is_skipped: bool = False
    is_last: bool = True  # last round of the run; False if searching was ended early
    is_sufficient: bool = False
    note: str = ""
    follow_ups: list[str] = field(default_factory=list)


@dataclass
class SectionProgress:
    """A section of a report in progress."""

    title: str
    state: str = ""  # searching, writing, reflecting or done
    round_number: int = 0
    citation_count: int = 0
    searches: dict[str, SearchProgress] = field(default_factory=dict)


@dataclass
class RunProgress:
    """The state of a run as described by its events. Applying an event twice has no effect."""

    seq: int = 0
    parts: list[tuple[str, str]] = field(default_factory=list)
    sections: dict[str, SectionProgress] = field(default_factory=dict)  # of a report, by section id
    grid: Grid | None = None
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)  # by row and column
    plan_notes: list[str] = field(default_factory=list)
    is_edited: bool = False
    is_planned: bool = False
    rounds: dict[int, RoundProgress] = field(default_factory=dict)
    is_writing: bool = False
    draft_text: str = ""
    handles: dict[str, tuple[str, str]] = field(default_factory=dict)
    retry: tuple[str, str, float, datetime] | None = None
    clarification_question: str = ""
    clarification_answer: str | None = None
    instructions: list[str] = field(default_factory=list)
    applied_instructions: int = 0  # number of instructions that a stage has applied
    queued_names: list[str] = field(default_factory=list)
    noted_events: dict[tuple[str, str], EventRecord] = field(default_factory=dict)  # last ones, by kind and service
    unreadable_parts: dict[str, list[str]] = field(default_factory=dict)  # answer parts, by model
    save_problem: str = ""  # reason why the report could not be saved
    citation_count: int | None = None
    checked_sentences: int = 0  # sentences being checked by a model
    review_counts: tuple[int, int] | None = None  # sentences ruled on, sentences repaired
    tokens: int = 0
    billed_searches: int = 0
    cost_usd: float = 0.0
    has_unpriced: bool = False
    is_estimated: bool = False  # some token counts are estimates
    service_calls: Counter[str] = field(default_factory=Counter)  # service calls by search id
    first_event_at: datetime | None = None
    last_event_at: datetime | None = None
    active_spans: list[tuple[datetime, datetime | None]] = field(default_factory=list)

    def apply(self, events: Iterable[Event]) -> RunProgress:
        """Apply new events in order and return this view; unknown events are skipped."""
        for event in events:
            if event.seq <= self.seq:
                continue
            self.seq = event.seq
            self.first_event_at = self.first_event_at or event.time
            self.last_event_at = event.time
            if event.data.note:
                self.noted_events[event.kind, getattr(event.data, "service", "")] = event.data
            handler = getattr(self, f"_on_{event.kind}", None)
            if handler and not isinstance(event.data, research.UnknownEvent):
                handler(event.data, event.time)
        return self

    @property
    def searches(self) -> list[SearchProgress]:
        """Searches of all rounds."""
        return [search for round_ in self.rounds.values() for search in round_.searches.values()]

    @property
    def search_count(self) -> int:
        """Number of searches that were performed."""
        return sum(search.is_performed for search in self.searches)

    @property
    def limited_search_count(self) -> int:
        """Number of searches that count against the limit.

        A search counts once for each call of a service, and at least once.
        """
        counted = [s for s in self.searches if (s.is_performed or s.state == "searching") and not s.is_reused]
        return sum(max(1, self.service_calls[s.id]) for s in counted)

    @property
    def is_sql(self) -> bool:
        """True if every search runs an SQL statement typed by the visitor."""
        return bool(self.searches) and all(search.tool == "sql" for search in self.searches)

    def elapsed_seconds(self, now: datetime) -> float:
        """Return the seconds that the run has worked, without pauses between stop and resume."""
        return sum(((end or now) - start).total_seconds() for start, end in self.active_spans)

    def _get_round(self, number: int) -> RoundProgress:
        return self.rounds.setdefault(number, RoundProgress(number))

    def _get_search(self, task: Task) -> SearchProgress:
        searches = self._get_round(task.round).searches
        search = searches.setdefault(task.id, SearchProgress(task.id, task.query, task.source, task.purpose))
        search.tool = task.tool
        search.date_range = " – ".join(day.isoformat() for day in (task.start, task.end) if day)
        if section := self.sections.get(task.part):
            section.searches[task.id] = search
        return search

    def _on_status_changed(self, event: research.StatusChanged, time: datetime) -> None:
        self.queued_names = []  # a stop leaves the queue without an event
        if event.status == "running":
            self.active_spans.append((time, None))
        elif self.active_spans and self.active_spans[-1][1] is None:
            self.active_spans[-1] = (self.active_spans[-1][0], time)

    def _on_plan_made(self, event: research.PlanMade, _: datetime) -> None:
        plan = event.plan
        self.is_planned, self.is_edited = True, plan.edited
        self.parts = [(part.subject, part.text) for part in plan.parts]
        self.plan_notes, self.grid = list(plan.notes), plan.grid
        if plan.outline:
            self.sections = {part.id: SectionProgress(part.subject) for part in plan.parts}
        if first := self.rounds.get(1):  # drop searches of the plan as it was before its approval
            first.searches = {n: s for n, s in first.searches.items() if s.state != "waiting"}
        for task in plan.tasks:
            self._get_search(task)

    def _on_task_started(self, event: research.TaskStarted, time: datetime) -> None:
        search = self._get_search(event.task)
        if not search.is_over:
            search.state = "searching"
        round_ = self._get_round(event.task.round)
        round_.started_at = round_.started_at or time

    def _on_tool_called(self, event: research.ToolCalled, _: datetime) -> None:
        for round_ in self.rounds.values():
            if search := round_.searches.get(event.task):
                search.tool_calls.append(" ".join([event.tool, *map(str, event.arguments.values())]))

    def _on_database_step_taken(self, event: research.DatabaseStepTaken, _: datetime) -> None:
        for round_ in self.rounds.values():
            if search := round_.searches.get(event.task):
                search.steps.append(event.step)

    def _on_task_finished(self, event: research.TaskFinished, time: datetime) -> None:
        search = self._get_search(event.task)
        search.state = event.reason or "found"
        search.passage_count, search.titles = event.passages, list(event.titles)
        search.message, search.duration_seconds = event.message, event.seconds
        search.is_reused, search.cached_at = event.reused, event.cached
        search.hint, search.provider = event.hint, event.provider
        self._get_round(event.task.round).ended_at = time

    def _on_reflection_made(self, event: research.ReflectionMade, time: datetime) -> None:
        reflection = event.reflection
        round_ = self._get_round(reflection.round)
        round_.is_reflected, round_.is_skipped, round_.ended_at = True, False, time
        round_.is_sufficient, round_.note = reflection.sufficient, reflection.note
        round_.follow_ups = [task.query for task in reflection.follow_ups]
        for task in reflection.follow_ups:
            self._get_search(task)

    def _on_reflection_skipped(self, event: research.ReflectionSkipped, time: datetime) -> None:
        round_ = self._get_round(event.round)
        round_.is_reflected, round_.is_skipped, round_.ended_at = True, True, time
        round_.is_last = event.last

    def _on_section_advanced(self, event: research.SectionAdvanced, _: datetime) -> None:
        if section := self.sections.get(event.part):
            section.state, section.round_number = event.step, event.round
            section.citation_count = event.cites

    def _on_cell_filled(self, event: research.CellFilled, _: datetime) -> None:
        self.cells[event.cell.row, event.cell.column] = event.cell

    def _on_clarification_needed(self, event: research.ClarificationNeeded, _: datetime) -> None:
        self.clarification_question = event.clarification.question

    def _on_clarification_answered(self, event: research.ClarificationAnswered, _: datetime) -> None:
        self.clarification_answer = event.answer

    def _on_instruction_added(self, event: research.InstructionAdded, _: datetime) -> None:
        self.instructions.append(event.text)

    def _on_instruction_applied(self, event: research.InstructionApplied, _: datetime) -> None:
        self.applied_instructions = max(self.applied_instructions, event.count)

    def _on_writing_started(self, _event: research.WritingStarted, _time: datetime) -> None:
        self.is_writing, self.draft_text, self.retry = True, "", None

    def _on_draft_started(self, event: research.DraftStarted, _: datetime) -> None:
        self.handles, self.draft_text = event.handles, ""

    def _on_text_written(self, event: research.TextWritten, _: datetime) -> None:
        self.draft_text = event.text if event.restart else self.draft_text + event.text
        self.retry = None

    def _on_retry_scheduled(self, event: research.RetryScheduled, time: datetime) -> None:
        self.retry = (event.service, event.reason, event.seconds, time)

    def _on_rate_limit_wait(self, event: research.RateLimitWait, _: datetime) -> None:
        if not event.is_over:
            self.queued_names.append(event.service)
        elif event.service in self.queued_names:
            self.queued_names.remove(event.service)

    def _on_parts_unreadable(self, event: research.PartsUnreadable, _: datetime) -> None:
        self.unreadable_parts.setdefault(event.service, []).extend(event.parts)

    def _on_report_saved(self, event: research.ReportSaved, _: datetime) -> None:
        self.save_problem = event.problem

    def _on_usage(self, event: research.UsageRecorded, _: datetime) -> None:
        self.tokens += event.input + event.output
        self.is_estimated = self.is_estimated or event.estimated
        self.billed_searches += event.searches
        self.service_calls[event.task] += event.searches
        self.retry = None
        if event.cost is None:
            self.has_unpriced = True
        else:
            self.cost_usd += event.cost

    def _on_answer_written(self, event: research.AnswerWritten, _: datetime) -> None:
        self.citation_count = event.quotes if event.cites is None else event.cites

    def _on_check_started(self, event: research.CheckStarted, _: datetime) -> None:
        self.checked_sentences = event.sentences

    def _on_check_finished(self, event: research.CheckFinished, _: datetime) -> None:
        self.checked_sentences, self.retry = 0, None
        self.review_counts = event.rulings, event.repairs
