"""The view of a run on any page: active, waiting for approval or clarification, or finished."""

from __future__ import annotations

import streamlit as st

from pages.run import answer, finished, grid, header, waiting
from pages.run.progress import RunProgress
from pages.shared import storage_errors
from pages.shared.localization import t
from pages.shared.login import current_owner
from research import Run, StoreError, get_application, number_draft

POLL_SECONDS = 0.25  # between polls of an active run
TEXT_POLL_SECONDS = 0.2  # between polls while its answer is being written


def draw(run: Run) -> None:
    """Draw a run in its current state; an active one is polled."""
    if run.is_active:
        (poll_text if header.load_progress(run).draft_text else poll_run)(run.id)
        draw_instruction_form(run, header.load_progress(run))
    elif run.status == "waiting":
        waiting.draw(run)
    else:
        finished.draw(run)


def draw_instruction_form(run: Run, run_progress: RunProgress) -> None:
    """Draw a text field for instructions to an active run.

    Only a run with a model that has not begun to write takes instructions.
    """
    if run_progress.is_writing or get_application().services_for(current_owner()).models_for(run.options) is None:
        return
    with (
        st.form(f"instruct_{run.id[:8]}", clear_on_submit=True, border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        instruction = st.text_input(
            t("run.instruct"),
            placeholder=t("run.instruct_example"),
            max_chars=500,
            key=f"instruction_{run.id[:8]}",
            autocomplete="off",
        )
        is_submitted = st.form_submit_button(t("run.instruct_send"), key=f"instruct_send_{run.id[:8]}")
    if (
        is_submitted
        and instruction.strip()
        and not get_application().runs.add_instruction(run.id, instruction, owner=current_owner())
    ):
        st.toast(t("run.instruct_late"))


@st.fragment(run_every=POLL_SECONDS)
def poll_run(run_id: str) -> None:
    """Draw an active run, polled while it searches."""
    draw_active_run(run_id, is_fast=False)


@st.fragment(run_every=TEXT_POLL_SECONDS)
def poll_text(run_id: str) -> None:
    """Draw an active run, polled while its answer is being written."""
    draw_active_run(run_id, is_fast=True)


def draw_active_run(run_id: str, *, is_fast: bool) -> None:
    """Draw an active run once; with `is_fast`, from the fragment that polls while text is written.

    Requests for a run without news are mostly dropped before they get here
    (`pages.middleware.polling`).
    """
    owner = current_owner()
    try:
        run = get_application().runs.get_run(run_id, owner=owner)
        if run is None:
            st.rerun()
        run_progress = header.load_progress(run, owner)
    except StoreError as error:  # the router, which catches this, does not run for a fragment
        storage_errors.draw(error)
        return
    header.draw_header(run, run_progress)
    if run.status == "queued" and not run_progress.is_planned:
        runs_ahead, is_own = get_application().runs.queue_position(run.id, owner=current_owner())
        reason = t("run.turn_own" if is_own else "run.turn")
        queue_text = t("run.turn_after", n=runs_ahead) if runs_ahead else t("run.turn_next")
        st.info(f"{reason} {queue_text}", icon=":material/hourglass_top:")
    else:
        header.draw_activity(run, run_progress)
    if run_progress.grid:
        grid.draw(run, run_progress.grid, run_progress.cells)
    if run.is_active and run_progress.draft_text:
        draw_draft_answer(run, run_progress)
    if not run.is_active or is_fast != bool(run_progress.draft_text):
        st.rerun()  # last, since the whole page takes longer to draw than these steps


def draw_draft_answer(run: Run, run_progress: RunProgress) -> None:
    """Draw the answer as written so far, with its citations."""
    key, cached = (run.id, *run_progress.handles), st.session_state.get("drafting")
    if cached is None or cached[0] != key:  # findings do not change while the answer is written
        st.session_state.drafting = cached = (key, get_application().runs.report(run.id, owner=current_owner()))
    if cached[1] is not None:
        answer.draw_draft(cached[1], number_draft(cached[1], run_progress.draft_text, run_progress.handles))
