"""Drawing of the progress of a run: its current step, totals, limits, and a timeline of its steps."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import streamlit as st

from pages.run import steps
from pages.run.progress import RoundProgress, RunProgress, SearchProgress, SectionProgress
from pages.shared.escaping import escape_markdown
from pages.shared.localization import (
    current_language,
    format_duration,
    format_local_time,
    format_money,
    format_number,
    source_name,
    t,
    tool_name,
    value_label,
)
from research import DatabaseStep, Run

READABLE_REASONS = ("unclear", "no model", "empty")  # with messages meant for people
_STATE_ICONS = {
    "found": ":green[✓]",
    "searching": "⋯",
    "waiting": "·",
    "empty": ":gray[○]",
    "left out": ":gray[–]",
}


def headline(run_progress: RunProgress, run: Run) -> str:
    """Return one line: the current step of an active run, or the totals of a finished one."""
    if not run.is_active:
        return summarize(run_progress, run)
    facts = [_current_step(run_progress)]
    if run_progress.search_count:
        passage_count = sum(search.passage_count for search in run_progress.searches)
        facts.append(t("step.so_far", n=format_number(passage_count)))
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
    facts = [] if run_progress.grid else [t("run.rounds", n=format_number(rounds))]
    facts.append(t("run.searches", n=format_number(run_progress.search_count)))
    facts.append(format_duration(_worked_seconds(run_progress, run)))
    if run_progress.tokens or run_progress.billed_searches:
        facts.append(spending_text(run_progress))
    return " · ".join(facts)


def _worked_seconds(run_progress: RunProgress, run: Run) -> float:
    """Return the seconds that a run has worked: until now, or until its last event."""
    return run_progress.elapsed_seconds(
        datetime.now(UTC) if run.is_active else run_progress.last_event_at or run.created
    )


def draw_limit_meters(run_progress: RunProgress, run: Run) -> None:
    """Draw a progress bar for each limit of the run, from its start on."""
    used = {
        "searches": run_progress.limited_search_count,
        "tokens": run_progress.tokens,
        "cost": run_progress.cost_usd,
        "seconds": _worked_seconds(run_progress, run),
    }
    limits = {name: limit for name in used if (limit := getattr(run.options, name))}
    for column, (name, limit) in zip(st.columns(4) if limits else (), limits.items(), strict=False):
        amount = min(used[name], limit) if name == "searches" else used[name]
        label = t(f"meter.{name}", used=_format_amount(amount, name), limit=_format_amount(limit, name))
        column.progress(min(1.0, amount / limit), text=label)


def _format_amount(value: float, limit_name: str) -> str:
    if limit_name == "cost":
        return format_money(value)
    return f"{value / 1_000:.0f}k" if value >= 10_000 else format_number(math.floor(value))


def spending_text(run_progress: RunProgress) -> str:
    """Return tokens (or billed searches without any) and the estimated cost where known."""
    if run_progress.tokens:
        key = "run.tokens_about" if run_progress.is_estimated else "run.tokens"
        usage_text = t(key, n=format_number(run_progress.tokens))
    else:
        usage_text = t("run.billed", n=format_number(run_progress.billed_searches))
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
        pending_key = "step.instructed" if run.is_active else "step.unheeded"
        key = "step.heeded" if n < run_progress.applied_instructions else pending_key
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
    _draw_notes(run_progress, run)


def _draw_notes(run_progress: RunProgress, run: Run) -> None:
    """Draw what a model or service does otherwise than expected, and what the run waits for."""
    if run_progress.retry and run.is_active:
        what, reason, wait, since = run_progress.retry
        if datetime.now(UTC) < since + timedelta(seconds=wait):
            reason_text = escape_markdown(value_label("reason", reason))
            st.caption(t("step.again", what=escape_markdown(what), why=reason_text, wait=format_duration(wait)))
    for event in run_progress.noted_events.values():
        st.caption(escape_markdown(event.describe(current_language())))
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
    if run_progress.grid:
        size = {"rows": len(run_progress.grid.rows), "columns": len(run_progress.grid.columns)}
        _draw_step(run, "plan", t("tables.planned", **size), ":material/table_view:")
        return
    task_count = len(run_progress.rounds[1].searches) if 1 in run_progress.rounds else 0
    label = t("step.planned", parts=len(run_progress.parts), tasks=task_count)
    if run_progress.is_edited:
        label += f" ({t('step.edited')})"
    with _draw_step(run, "plan", label, ":material/checklist:"):
        parts = [" — ".join(escape_markdown(text) for text in part if text) for part in run_progress.parts]
        st.markdown("\n".join(f"- {part}" for part in parts))
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
        text += f" :gray[· {escape_markdown(value_label('why', search.purpose))}]"
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
        facts = [source_text, escape_markdown(tool_name(search.tool)), escape_markdown(search.date_range)]
        source_text = " · ".join(filter(None, facts))
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
