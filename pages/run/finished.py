"""A finished run: answer, map, rows, downloads, coverage, sources and the next question."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.run import (
    answer,
    column_quality,
    conflicts,
    coverage,
    downloads,
    grid,
    header,
    query_rows,
    review,
    sources,
    watch,
)
from pages.run.support_texts import answer_support
from pages.shared import failure_display, place_map, run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import (
    MAX_QUESTION_CHARS,
    CitedAnswer,
    Grid,
    Report,
    Run,
    answer_tables,
    get_application,
    number_report_answer,
    related_questions,
)


def draw(run: Run) -> None:
    """Draw a finished run: answer, map, rows, downloads, coverage, sources and follow-up."""
    run_progress = header.load_progress(run)
    draw_thread(run)
    header.draw_header(run, run_progress)
    report = get_application().runs.report(run.id, owner=current_owner())
    if report is None:
        return
    header.draw_activity(run, run_progress, report)
    numbered = number_report_answer(report)
    coverage.draw_summary(report)
    watch.draw_changes(report)
    if report.plan and report.plan.grid:
        draw_table(run, report, report.plan.grid, numbered)
        return
    draw_results(report, numbered)
    is_empty = is_empty_answer(report, numbered)
    if not is_empty:
        draw_toolbar(run, report, numbered)
    elif any(finding.reason in (None, "empty") for finding in report.findings):
        draw_help()  # if every search failed, other words or documents do not help
    coverage.draw(report, numbered)
    if numbered is not None and not is_empty:
        sources.draw(report, numbered)
    if run.status == "done":
        suggestions = related_questions(report, numbered, answer_support(report, numbered)) if numbered else ()
        draw_follow_up(run, suggestions)


def draw_results(report: Report, numbered: CitedAnswer | None) -> None:
    """Draw the answer, the map and the rows of a run; the map beside a narrow answer."""
    has_places = any(finding.places for finding in report.findings)
    if not has_places or (numbered and answer_tables(numbered)):  # a table needs the width of the page
        draw_answer(report, numbered)
        if has_places:
            place_map.draw_report(report)
        query_rows.draw(report)
        return
    has_rows = any(finding.rows for finding in report.findings)
    answer_column, map_column = st.columns([3, 2] if has_rows else [5, 4], gap="medium")
    with map_column:
        place_map.draw_report(report)
    with answer_column:
        draw_answer(report, numbered)
        query_rows.draw(report)


def draw_table(run: Run, report: Report, table: Grid, numbered: CitedAnswer | None) -> None:
    """Draw a filled table with its quality, downloads, editor, map and sources."""
    cells = grid.index_cells(report) or header.load_progress(run).cells  # without an answer, from events
    grid.draw(run, table, cells, report)
    column_quality.draw(report, table, tuple(cells.values()))
    if numbered is not None and numbered.answer.failures:
        failure_display.draw_failures(numbered.answer.failures)
    draw_toolbar(run, report, numbered)
    grid.draw_editor(run, table)
    place_map.draw_report(report)
    if numbered is not None:
        sources.draw(report, numbered)


def is_empty_answer(report: Report, numbered: CitedAnswer | None) -> bool:
    """Return True if the answer states for every part that nothing was found.

    Such an answer is not offered for download.
    """
    if numbered is None or numbered.sources or not report.findings:
        return False
    kinds = {span.kind for span in numbered.answer.spans}
    return "missing" in kinds and "text" not in kinds and not any(finding.rows for finding in report.findings)


def draw_help() -> None:
    """Draw hints for a run that found nothing."""
    services = get_application().services_for(current_owner())
    hints = [t("nothing.help")]
    if not services.web.live_providers:
        hints.append(t("nothing.web"))
    if services.has_idle_model:
        hints.append(t("nothing.idle"))
    elif services.models is None:
        hints.append(t("nothing.model"))
    with st.container(border=True, key="helping"):
        st.markdown("\n".join(f"- {hint}" for hint in hints) if len(hints) > 1 else hints[0])
        with st.container(horizontal=True):
            st.page_link(page_script("library"), label=t("nothing.library"), icon=":material/upload_file:")
            st.page_link(page_script("settings"), label=t("nothing.settings"), icon=":material/tune:")


def draw_toolbar(run: Run, report: Report, numbered: CitedAnswer | None) -> None:
    """Draw the downloads of a run and the buttons to extend and watch it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="tools"):
        with st.container(width="content"):
            downloads.draw(report, numbered)
        if run.status == "done":
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                if run.options.sources != ("database",) and not run.options.table:
                    draw_more_button(run)
                watch.draw_watch_button(run)


def draw_answer(report: Report, numbered: CitedAnswer | None) -> None:
    """Draw the answer, if any, with failures, repairs and conflicts."""
    if numbered is not None:
        answer.draw(report, numbered)
        missing_texts = {span.text for span in numbered.answer.spans if span.kind == "missing"}
        if failures := [failure for failure in numbered.answer.failures if failure.message not in missing_texts]:
            failure_display.draw_failures(failures)
        review.draw(report)
        conflicts.draw(report, numbered)


def draw_more_button(run: Run) -> None:
    """Draw the button that extends a run by a further run."""
    if st.button(
        t("run.more"),
        key=f"more_{run.id[:8]}",
        icon=":material/travel_explore:",
        help=t("run.more_help"),
    ) and (further := get_application().runs.extend(run.id, owner=current_owner())):
        run_navigation.open_run(further)


def draw_thread(run: Run) -> None:
    """Draw links to the earlier runs that a run follows up, oldest first."""
    turns = {turn.id: turn for turn in get_application().store.turns(run.conversation, owner=current_owner())}
    ancestors: list[Run] = []
    while (parent := turns.get((ancestors or [run])[-1].follows)) and parent not in ancestors:
        ancestors.append(parent)
    for turn in reversed(ancestors):
        question = escape_markdown(turn.question, 80)
        run_navigation.draw_run_link(turn.id, question, ":material/subdirectory_arrow_right:")


def draw_follow_up(run: Run, suggestions: Sequence[str]) -> None:
    """Draw links to follow-up runs, suggested questions and an input for the next question."""
    key = f"follow_up_{run.id[:8]}"
    for turn in get_application().store.turns(run.conversation, owner=current_owner()):
        if turn.follows == run.id:
            run_navigation.draw_run_link(turn.id, escape_markdown(turn.question, 80), ":material/arrow_forward:")

    def fill_in(question: str) -> None:
        st.session_state[key] = question

    if suggestions:
        with st.container(key="next", gap="small"):
            st.caption(t("ask.next"))
            for n, question in enumerate(suggestions):
                st.button(
                    escape_markdown(question),
                    key=f"next_{n}_{run.id[:8]}",
                    on_click=fill_in,
                    args=(question,),
                    type="tertiary",
                    icon=":material/subdirectory_arrow_right:",
                )
    if submitted_question := str(st.session_state.pop(f"{key}_asked", "")).strip():
        # A follow-up is a plain question, whatever kind of run it follows.
        plain_options = {"sections": 0, "table": False, "updated_run": "", "approve": False}
        run_navigation.start_run(
            submitted_question, run.options.model_copy(update=plain_options), follows_run_id=run.id
        )
        st.session_state[key] = submitted_question  # not started: keep the text in the input

    def submitted() -> None:
        st.session_state[f"{key}_asked"] = st.session_state[key]

    # In a container, because a chat input at the foot of the page makes the page scroll down.
    with st.container(key="follow"):
        st.chat_input(t("ask.follow_placeholder"), key=key, max_chars=MAX_QUESTION_CHARS, on_submit=submitted)
