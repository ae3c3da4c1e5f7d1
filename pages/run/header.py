"""Head of a run: its question, state, buttons and limits, and the expander of its activity."""

from __future__ import annotations

import streamlit as st

from pages.run import activity, plan, usage
from pages.run.progress import RunProgress
from pages.shared import failure_display, run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_local_time, t
from pages.shared.login import current_owner
from research import Report, Run, explain_failure, get_application, parse_failure


def load_progress(run: Run, owner: str = "") -> RunProgress:
    """Return the progress of a run, cached in the session so that only new events are read."""
    cache = st.session_state.setdefault("views", {})
    if run.id not in cache:
        cache.clear()
        cache[run.id] = RunProgress()
    run_progress: RunProgress = cache[run.id]
    events = get_application().runs.events(run.id, run_progress.seq, owner=owner or current_owner())
    return run_progress.apply(events)


def draw_header(run: Run, run_progress: RunProgress) -> None:
    """Draw the question and state of a run, with its buttons, limits and error."""
    with st.container(key="asked", gap="small"):
        if run_progress.is_sql:
            st.title(t("database.typed"), anchor=False)
            if run.is_active:
                st.code(run.question, language="sql", wrap_lines=True)
        else:
            st.title(escape_markdown(run.question, 400), anchor=False)
        with st.container(horizontal=True, vertical_alignment="center"):
            if run.status != "done":
                is_awaiting_answer = run_progress.clarification_question and run_progress.clarification_answer is None
                state = t("run.asks_back" if run.status == "waiting" and is_awaiting_answer else f"run.{run.status}")
                st.badge(state, color=run_navigation.STATUS_COLORS.get(run.status, "orange"))
            st.caption(format_local_time(run.created), width="content")
            if run.options.notebook:
                notebook_text = t("run.notebook", name=escape_markdown(run.options.notebook))
                st.caption(f":material/book_2: {notebook_text}", width="content")
            if run.is_active:
                draw_stop_buttons(run, run_progress)
            else:
                st.session_state.pop(f"stopping_{run.id}", None)
                if run.is_resumable:
                    draw_resume_buttons(run)
                st.button(
                    t("tables.new" if run.options.table else "news.new" if run.options.sections else "ask.new"),
                    key="new",
                    on_click=run_navigation.leave_run,
                    icon=":material/add:",
                    type="tertiary",
                )
    activity.draw_limit_meters(run_progress, run)
    if run.is_resumable:
        failure = parse_failure(run.error)
        reason = escape_markdown(explain_failure(failure, current_language()) if failure else run.error)
        note = t(f"run.{run.status}_help", error=reason or t("run.no_reason"))
        (st.error if run.status == "failed" else st.info)(note)
        if failure:
            failure_display.draw_details([failure.message])


def draw_stop_buttons(run: Run, run_progress: RunProgress) -> None:
    """Draw the buttons that stop a run or have it write its answer now.

    A caption shows that a request is pending.
    """
    key = f"stopping_{run.id}"
    if st.button(t("run.stop"), key=f"stop_{run.id[:8]}", icon=":material/stop_circle:"):
        get_application().runs.stop(run.id, owner=current_owner())
        st.session_state[key] = "run.stopping"
    if (
        run.status != "queued"
        and not run_progress.is_writing
        and st.button(t("run.write"), key=f"write_{run.id[:8]}", icon=":material/edit_note:", help=t("run.write_help"))
    ):
        get_application().runs.stop(run.id, write_only=True, owner=current_owner())
        st.session_state[key] = "run.ending"
    if pending_message_key := st.session_state.get(key):
        st.caption(t(pending_message_key), width="content")


def draw_resume_buttons(run: Run) -> None:
    """Draw the buttons that resume a run or write an answer from its findings so far."""
    if st.button(t("run.resume"), key=f"resume_{run.id[:8]}", type="primary", icon=":material/play_arrow:"):
        get_application().runs.resume(run.id, owner=current_owner())
        st.rerun()
    if run.status != "failed" and st.button(
        t("run.write_now"), key=f"write_{run.id[:8]}", icon=":material/edit_note:", help=t("run.write_help")
    ):
        get_application().runs.resume(run.id, write_only=True, owner=current_owner())
        st.rerun()


def draw_activity(run: Run, run_progress: RunProgress, report: Report | None = None) -> None:
    """Draw the steps of a run in an expander, open until the run writes its answer.

    With the `report` of a finished run it also contains usage and plan.
    """
    is_searching = run.is_active and not run_progress.is_writing
    with st.expander(
        activity.headline(run_progress, run),
        expanded=is_searching,
        key=f"activity_{'open' if is_searching else 'folded'}_{run.id[:8]}",
        icon="spinner" if run.is_active else ":material/checklist:",
    ):
        activity.draw(run_progress, run)
        if report is not None:
            usage.draw(report.usage, run.id[:8])
            if report.plan is not None and not (run_progress.is_sql or report.plan.grid):
                plan.draw_rerun(run, report.plan)
