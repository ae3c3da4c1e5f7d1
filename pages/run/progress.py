"""Progress of a run: a view built from its events, and the drawing of that view."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import streamlit as st

import research
from pages.run import steps
from pages.shared.escaping import escape_markdown
from pages.shared.localization import (
    format_duration,
    format_local_time,
    format_money,
    format_number,
    source_name,
    t,
    tool_name,
    value_label,
)
from research import Cell, DatabaseStep, Event, Grid, Run, Task, has_message


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
    refused_thinking_levels: dict[str, str] = field(default_factory=dict)  # by model
    undercounted_tokens: dict[str, int] = field(default_factory=dict)  # by model
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
            handler = getattr(self, f"_on_{event.kind}", None)
            if handler and not isinstance(event.data, research.UnknownEvent):
                handler(event.data, event.time)
        return self

    @property
    def search_count(self) -> int:
        """Number of searches that were performed."""
        return sum(s.is_performed for r in self.rounds.values() for s in r.searches.values())

    @property
    def limited_search_count(self) -> int:
        """Number of searches that count against the limit.

        A search counts once for each call of a service, and at least once.
        """
        searches = [s for r in self.rounds.values() for s in r.searches.values()]
        counted = [s for s in searches if (s.is_performed or s.state == "searching") and not s.is_reused]
        return sum(max(1, self.service_calls[s.id]) for s in counted)

    @property
    def is_sql(self) -> bool:
        """True if every search runs an SQL statement typed by the visitor."""
        searches = [s for r in self.rounds.values() for s in r.searches.values()]
        return bool(searches) and all(s.tool == "sql" for s in searches)

    def elapsed_seconds(self, now: datetime) -> float:
        """Return the seconds that the run has worked, without pauses between stop and resume."""
        return sum(((end or now) - start).total_seconds() for start, end in self.active_spans)

    def _get_round(self, number: int) -> RoundProgress:
        return self.rounds.setdefault(number, RoundProgress(number))

    def _get_search(self, task: Task) -> SearchProgress:
        searches = self._get_round(task.round).searches
        search = searches.setdefault(task.id, SearchProgress(task.id, task.query, task.source, task.why))
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

    def _on_thinking_unsupported(self, event: research.ThinkingUnsupported, _: datetime) -> None:
        self.refused_thinking_levels[event.service] = event.level

    def _on_prompt_undercounted(self, event: research.PromptUndercounted, _: datetime) -> None:
        self.undercounted_tokens[event.service] = event.tokens

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


def headline(run_progress: RunProgress, run: Run) -> str:
    """Return one line: the current step of an active run, or the totals of a finished one."""
    if not run.is_active:
        return summarize(run_progress, run)
    facts = [_current_step(run_progress)]
    if run_progress.search_count:
        passages = sum(s.passage_count for r in run_progress.rounds.values() for s in r.searches.values())
        facts.append(t("step.so_far", n=format_number(passages)))
    if (elapsed := math.floor(run_progress.elapsed_seconds(datetime.now(UTC)))) > 0:
        facts.append(format_duration(elapsed))
    return " · ".join(facts)


def _current_step(run_progress: RunProgress) -> str:
    if run_progress.checked_sentences:
        return t("step.checking", n=format_number(run_progress.checked_sentences))
    if run_progress.is_writing:
        return t("step.writing")
    if run_progress.grid:
        cells = format_number(len(run_progress.grid.rows) * len(run_progress.grid.columns))
        return t("tables.at", done=format_number(len(run_progress.cells)), cells=cells)
    if run_progress.sections:
        done = sum(section.state == "done" for section in run_progress.sections.values())
        return t("step.sections", done=done, all=len(run_progress.sections))
    rounds = [r for r in run_progress.rounds.values() if r.started_at]
    if not rounds:
        return t("step.planned_now" if run_progress.is_planned else "step.planning")
    last = rounds[-1]
    done = sum(s.is_over for s in last.searches.values())
    if done == len(last.searches):
        return t("step.reflecting", n=last.number)
    return t("step.round_now", n=last.number, done=done, all=len(last.searches))


def summarize(run_progress: RunProgress, run: Run) -> str:
    """Return one line with rounds, searches, duration and spending."""
    rounds = sum(any(s.is_performed for s in r.searches.values()) for r in run_progress.rounds.values())
    end = datetime.now(UTC) if run.is_active else (run_progress.last_event_at or run.created)
    facts = [
        *([] if run_progress.grid else [t("run.rounds", n=format_number(rounds))]),
        t("run.searches", n=format_number(run_progress.search_count)),
        format_duration(run_progress.elapsed_seconds(end)),
    ]
    if run_progress.tokens or run_progress.billed_searches:
        facts.append(spending_text(run_progress))
    return " · ".join(facts)


def draw_limit_meters(run_progress: RunProgress, run: Run) -> None:
    """Draw a progress bar for each limit of the run, from its start on."""
    end = datetime.now(UTC) if run.is_active else (run_progress.last_event_at or run.created)
    used = {
        "searches": run_progress.limited_search_count,
        "tokens": run_progress.tokens,
        "cost": run_progress.cost_usd,
        "seconds": run_progress.elapsed_seconds(end),
    }
    limits = {name: getattr(run.options, name) for name in used if getattr(run.options, name)}
    if not limits:
        return
    for column, (name, limit) in zip(st.columns(4), limits.items(), strict=False):
        amount = min(used[name], limit) if name == "searches" else used[name]
        label = t(f"meter.{name}", used=_format_amount(amount, name), limit=_format_amount(limit, name))
        column.progress(min(1.0, amount / limit), text=label)


def _format_amount(value: float, limit_name: str) -> str:
    if limit_name == "cost":
        return format_money(value)
    return f"{value / 1_000:.0f}k" if value >= 10_000 else format_number(math.floor(value))


def spending_text(run_progress: RunProgress) -> str:
    """Return tokens (or billed searches without any) and the estimated cost where known."""
    usage_text = (
        t("run.billed", n=format_number(run_progress.billed_searches))
        if not run_progress.tokens
        else t("run.tokens_about", n=format_number(run_progress.tokens))
        if run_progress.is_estimated
        else t("run.tokens", n=format_number(run_progress.tokens))
    )
    if run_progress.has_unpriced and not run_progress.cost_usd:
        return f"{usage_text} · {t('run.cost_unknown')}"
    cost = format_money(run_progress.cost_usd)
    return f"{usage_text} · {t('run.cost_part' if run_progress.has_unpriced else 'run.cost', cost=cost)}"


def draw(run_progress: RunProgress, run: Run) -> None:
    """Draw the steps of a run as a timeline: the plan, each round or section, the answer."""
    _draw_plan(run_progress, run)
    if run_progress.clarification_answer is not None:
        clarification = escape_markdown(run_progress.clarification_answer) or t("step.skipped")
        st.caption(
            t("step.clarified", question=escape_markdown(run_progress.clarification_question), answer=clarification)
        )
    for n, text in enumerate(run_progress.instructions):
        is_unapplied = not run.is_active and n >= run_progress.applied_instructions
        key = (
            "step.unheeded"
            if is_unapplied
            else "step.heeded"
            if n < run_progress.applied_instructions
            else "step.instructed"
        )
        st.caption(t(key, text=escape_markdown(text)))
    for id_, section in run_progress.sections.items():
        _draw_section(id_, section, run)
    plain_rounds = run.options.loops and not (run_progress.sections or run_progress.grid)
    for number_ in sorted(run_progress.rounds) if plain_rounds else ():
        _draw_round(run_progress.rounds[number_], run, is_last=number_ == max(run_progress.rounds))
    if run_progress.citation_count is not None:
        _draw_step(run, "answer", t("step.answered", n=run_progress.citation_count), ":material/task_alt:")
    elif run_progress.is_writing and run.is_active:
        _draw_step(run, "answer", t("step.writing"), "spinner")
    if run_progress.review_counts:
        ruled_count, repaired_count = run_progress.review_counts
        label = t("step.checked", n=format_number(ruled_count), mended=format_number(repaired_count))
        _draw_step(run, "check", label, ":material/fact_check:")
    elif run_progress.checked_sentences and run.is_active:
        _draw_step(run, "check", t("step.checking", n=format_number(run_progress.checked_sentences)), "spinner")
    if run_progress.retry and run.is_active:
        what, reason, wait, since = run_progress.retry
        if datetime.now(UTC) < since + timedelta(seconds=wait):
            words = escape_markdown(value_label("reason", reason))
            st.caption(t("step.again", what=escape_markdown(what), why=words, wait=format_duration(wait)))
    for what, level in run_progress.refused_thinking_levels.items():
        st.caption(t("step.unthinking", what=escape_markdown(what), level=escape_markdown(level)))
    for what, count in run_progress.undercounted_tokens.items():
        st.caption(t("step.undercounted", what=escape_markdown(what), n=format_number(count)))
    for what, parts in run_progress.unreadable_parts.items():
        part_names = escape_markdown("; ".join(dict.fromkeys(parts)))
        st.caption(t("step.unreadable", what=escape_markdown(what), parts=part_names))
    if run_progress.save_problem:
        st.caption(t("step.unsaved", why=escape_markdown(run_progress.save_problem, 300)))
    if run_progress.queued_names and run.is_active:
        names = escape_markdown(", ".join(dict.fromkeys(run_progress.queued_names)))
        st.caption(t("step.queued", what=names, n=format_number(len(run_progress.queued_names))))


def _draw_step(run: Run, name: str, label: str, icon: str, *, is_expanded: bool = False) -> Any:
    return st.expander(label, expanded=is_expanded, type="step", icon=icon, key=f"step_{name}_{run.id[:8]}")


def _draw_plan(run_progress: RunProgress, run: Run) -> None:
    if not run_progress.is_planned:
        if run.is_active:
            _draw_step(run, "plan", t("step.planning"), "spinner")
        return
    tasks = sum(len(r.searches) for n, r in run_progress.rounds.items() if n == 1)
    if run_progress.grid:
        size = {"rows": len(run_progress.grid.rows), "columns": len(run_progress.grid.columns)}
        _draw_step(run, "plan", t("tables.planned", **size), ":material/table_view:")
        return
    label = t("step.planned", parts=len(run_progress.parts), tasks=tasks)
    if run_progress.is_edited:
        label += f" ({t('step.edited')})"
    with _draw_step(run, "plan", label, ":material/checklist:"):
        lines = [
            f"- {escape_markdown(s)} — {escape_markdown(p)}" if s else f"- {escape_markdown(p)}"
            for s, p in run_progress.parts
        ]
        st.markdown("\n".join(lines))
        for note in run_progress.plan_notes:
            st.caption(escape_markdown(note))


def _draw_section(section_id: str, section: SectionProgress, run: Run) -> None:
    """Draw a section of a report with its state and searches."""
    is_over = section.state == "done" or not run.is_active
    step = section.state or "waiting"
    label = f"{escape_markdown(section.title, 80)} · {escape_markdown(value_label('section', step))}"
    if section.state == "done":
        label = f"{escape_markdown(section.title, 80)} · {t('section.cites', n=section.citation_count)}"
    elif section.round_number:
        label += f" · {t('section.round', n=section.round_number + 1)}"
    icon = ":material/article:" if is_over else "spinner"
    with _draw_step(run, f"section_{section_id}", label, icon):
        st.markdown("\n\n".join(_search_lines(search, run) for search in section.searches.values()) or "–")


READABLE_REASONS = ("unclear", "no model", "empty")  # with messages meant for people
_STATE_ICONS = {
    "found": ":green[✓]",
    "searching": "⋯",
    "waiting": "·",
    "empty": ":gray[○]",
    "left out": ":gray[–]",
}


def _draw_round(round_: RoundProgress, run: Run, *, is_last: bool) -> None:
    searches = list(round_.searches.values())
    done = sum(s.is_over for s in searches)
    passages = sum(s.passage_count for s in searches)
    label = t("step.round_done", n=round_.number, done=done, all=len(searches), passages=passages)
    if round_.started_at and round_.ended_at:
        label += f" · {format_duration((round_.ended_at - round_.started_at).total_seconds())}"
    working = run.is_active and not round_.is_reflected
    icon = "spinner" if working else ":material/travel_explore:"
    with _draw_step(run, f"round{round_.number}", label, icon, is_expanded=is_last and run.is_active):
        st.markdown("\n\n".join(_search_lines(search, run) for search in searches))
        if round_.is_reflected:
            st.markdown(_reflection_text(round_))


def _search_lines(search: SearchProgress, run: Run) -> str:
    mark = _STATE_ICONS.get(search.state, ":red[✕]")
    text = f"{mark} **{escape_markdown(search.query, 160)}**"
    if search.purpose:
        purpose_key = f"why.{search.purpose}"
        text += f" :gray[· {t(purpose_key) if has_message(purpose_key) else escape_markdown(search.purpose)}]"
    lines = [text, *(f":gray[↳ {escape_markdown(call, 120)}]" for call in search.tool_calls)]
    lines += [f":gray[↳ {step_line(step)}]" for step in search.steps]
    return "  \n".join([*lines, _outcome_text(search, run)])


def step_line(step: DatabaseStep) -> str:
    """Return one line on a database step, with the beginning of its SQL if written or refused."""
    sql = escape_markdown(step.sql, 120) if step.kind in ("write", "refused") else ""
    return " · ".join(filter(None, [steps.describe_step(step, 120), sql]))


def _outcome_text(search: SearchProgress, run: Run) -> str:
    source_text = escape_markdown(source_name(search.source))
    if search.provider:
        source_text += f" ({escape_markdown(source_name(search.provider))})"
    if search.tool:
        source_text = " · ".join(
            filter(None, [source_text, escape_markdown(tool_name(search.tool)), escape_markdown(search.date_range)])
        )
    if search.state in ("searching", "waiting"):
        state = value_label("step", search.state) if run.is_active else value_label("run", run.status)
        return f":gray[{source_text} · {state}]"
    if search.state == "found":
        titles = "、".join if any("\u4e00" <= c <= "\u9fff" for c in "".join(search.titles)) else ", ".join
        names = titles(escape_markdown(title, 40) for title in search.titles[:3])
        names += "…" if len(search.titles) > 3 else ""
        outcome = t("step.found", n=format_number(search.passage_count), titles=names)
        if search.message:
            outcome += f" ({escape_markdown(search.message, 120)})"
    else:
        outcome = escape_markdown(value_label("reason", search.state))
        if search.hint:
            outcome += f" — {escape_markdown(value_label('hint', search.hint))}"
        if search.message and search.state in READABLE_REASONS:
            outcome += f" ({escape_markdown(search.message, 120)})"
    end = t("step.reused") if search.is_reused else format_duration(search.duration_seconds)
    if search.cached_at:
        end = t("step.cached", time=format_local_time(datetime.fromisoformat(search.cached_at)))
    return f":gray[{source_text} · {outcome} · {end}]"


def _reflection_text(round_: RoundProgress) -> str:
    if round_.is_skipped:
        return f"*{t('step.reflection')}* — {t('step.last' if round_.is_last else 'step.ended')}"
    text = f"*{t('step.reflection')}* — {escape_markdown(round_.note)}"
    if round_.follow_ups:
        queries = "; ".join(escape_markdown(query, 80) for query in round_.follow_ups)
        text += f"  \n*{t('step.followups')}* — {queries}"
    elif not round_.is_sufficient:
        text += f"  \n{t('step.no_followups')}"
    return text
