"""A run that waits for a person: for the answer to its question, or for the approval of its plan."""

from __future__ import annotations

import streamlit as st

from pages.run import header, plan
from pages.shared import failure_display, run_options
from pages.shared.escaping import escape_markdown
from pages.shared.localization import t
from pages.shared.login import current_owner
from pages.tables import form
from research import Clarification, Grid, Plan, Report, Run, get_application


def draw(run: Run) -> None:
    """Draw the question or the plan that a waiting run needs an answer to."""
    report = get_application().runs.report(run.id, owner=current_owner())
    if report and report.is_awaiting_clarification and report.clarification:
        draw_clarification(run, report.clarification)
    elif report:
        draw_approval(run, report)


def draw_clarification(run: Run, clarification: Clarification) -> None:
    """Draw a clarification question, to be answered by a choice, in free text, or skipped."""
    header.draw_header(run, header.load_progress(run))

    def answer(text: str) -> None:
        get_application().runs.answer_clarification(run.id, text, owner=current_owner())

    with st.container(border=True, key="asked_back"):
        st.markdown(f"**{escape_markdown(clarification.question)}**")
        with st.container(horizontal=True):
            for n, choice in enumerate(clarification.choices):
                st.button(escape_markdown(choice), key=f"choice_{n}_{run.id[:8]}", on_click=answer, args=(choice,))
        with (
            st.form(f"clarify_{run.id[:8]}", border=False),
            st.container(horizontal=True, vertical_alignment="bottom"),
        ):
            reply = st.text_input(
                t("run.clarify_own"), max_chars=500, key=f"clarified_{run.id[:8]}", autocomplete="off"
            )
            is_submitted = st.form_submit_button(t("run.clarify_send"), key=f"clarify_send_{run.id[:8]}")
        st.button(
            t("run.clarify_skip"),
            key=f"clarify_skip_{run.id[:8]}",
            type="tertiary",
            help=t("run.clarify_help"),
            on_click=answer,
            args=("",),
        )
    if is_submitted and reply.strip():
        answer(reply)
        st.rerun()


def draw_approval(run: Run, report: Report) -> None:
    """Draw the plan of a waiting run to edit and approve, with its sources and limits."""
    header.draw_header(run, header.load_progress(run))
    if report.plan is None:
        return
    st.info(t("tables.waiting" if report.plan.grid else "run.waiting_help"))
    if report.plan.failures:
        failure_display.draw_failures(report.plan.failures)
    if report.plan.grid:
        draw_table_approval(run, report.plan, report.plan.grid)
        return
    run_options.fill_widgets(run.id, run.options)
    edited = plan.edit_plan(report.plan, tuple(get_application().sources), f"approve_plan_{run.id[:8]}")
    with st.container(horizontal=True, vertical_alignment="center"):
        is_approved = st.button(
            t("run.approve"),
            type="primary",
            key=f"approve_{run.id[:8]}",
            disabled=bool(plan.find_date_problems(edited)),
        )
        _draw_discard_button(run)
        run_options.draw_options()
        if chosen := run_options.chosen_options():
            run_options.draw_estimate(chosen, edited)
    if is_approved and chosen is None:
        st.error(t("ask.no_sources"))
    elif is_approved and not edited.tasks:
        st.error(t("plan.none"))
    elif is_approved:
        get_application().runs.approve(run.id, plan=edited, options=chosen, owner=current_owner())
        st.rerun()


def draw_table_approval(run: Run, proposed: Plan, grid: Grid) -> None:
    """Draw a proposed table to edit and approve."""
    rows = form.edit_rows(grid.rows, f"approve_rows_{run.id[:8]}")
    columns = form.edit_columns(grid.columns, f"approve_columns_{run.id[:8]}")
    edited_grid = grid.model_copy(update={"rows": rows, "columns": columns})
    approved_plan = proposed.model_copy(update={"grid": edited_grid, "edited": edited_grid != grid})
    with st.container(horizontal=True, vertical_alignment="center"):
        is_approved = st.button(
            t("tables.fill"),
            type="primary",
            key=f"fill_{run.id[:8]}",
            disabled=not (edited_grid.rows and edited_grid.columns),
        )
        _draw_discard_button(run)
        run_options.draw_estimate(run.options, approved_plan)
    if is_approved:
        get_application().runs.approve(run.id, plan=approved_plan, owner=current_owner())
        st.rerun()


def _draw_discard_button(run: Run) -> None:
    if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
        get_application().runs.stop(run.id, owner=current_owner())
        st.rerun()
