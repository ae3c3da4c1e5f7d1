"""Notes of one's own: on the answer, below it; those on passages stand beside these, in its component.

They are text of a person and of nobody else: every sign of it is escaped, and no stage reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, t
from pages.shared.login import current_owner
from research import Remark, Report, application

MAX_CHARS = 4_000  # characters
_EDITED_RUN_KEY = "note_writing"  # in the session: the run whose answer's note is being written


def passage_notes(report: Report) -> dict[tuple[str, str], str]:
    """The notes on passages, by the ids of these and of their sources."""
    return {(one.evidence, one.passage): one.text for one in report.remarks if one.evidence}


def create_note_callback(report: Report, component_key: str) -> Callable[[], None]:
    """Keeps what the component of the answer tells of a passage."""

    def take() -> None:
        told: Any = st.session_state[component_key].get("noted") or {}
        at, text = told.get("at"), told.get("text")
        if isinstance(text, str) and isinstance(at, list) and len(at) == 2:
            evidence, passage = map(str, at)
            application.save_remark(report.run.id, text, evidence=evidence, passage=passage, owner=current_owner())

    return take


def draw_add_button(report: Report) -> None:
    """The way to write a note on the answer, unless there is one."""
    run_id = report.run.id
    if _answer_note(report) is None and st.session_state.get(_EDITED_RUN_KEY) != run_id:
        st.button(
            t("remark.add"), key=f"note_add_{run_id[:8]}", icon=":material/edit_note:",
            type="tertiary", help=t("remark.help"), on_click=_start_editing, args=(run_id,),
        )  # fmt: skip


def draw(report: Report) -> None:
    """The note on the answer, as it is or as it is being written."""
    run_id, kept = report.run.id, _answer_note(report)
    if st.session_state.get(_EDITED_RUN_KEY) == run_id:
        _draw_editor(run_id, kept.text if kept else "")
    elif kept is not None:
        with st.container(border=True, key="note", gap="small"):
            st.caption(f"{t('remark.own')} · {format_local_time(kept.made)}")
            st.markdown("  \n".join(escape_markdown(line) for line in kept.text.splitlines()))
            with st.container(horizontal=True):
                st.button(
                    t("remark.edit"), key=f"note_edit_{run_id[:8]}", icon=":material/edit:",
                    type="tertiary", on_click=_start_editing, args=(run_id,),
                )  # fmt: skip
                st.button(
                    t("remark.delete"), key=f"note_delete_{run_id[:8]}", icon=":material/delete:",
                    type="tertiary", on_click=_save_note, args=(run_id, ""),
                )  # fmt: skip


def _answer_note(report: Report) -> Remark | None:
    return next((one for one in report.remarks if not one.evidence), None)


def _draw_editor(run_id: str, text: str) -> None:
    with st.container(key="note"), st.form(f"note_{run_id[:8]}"):
        said = st.text_area(
            t("remark.own"),
            text,
            max_chars=MAX_CHARS,
            key=f"note_text_{run_id[:8]}",
            help=t("remark.help"),
        )
        with st.container(horizontal=True):
            saved = st.form_submit_button(t("remark.save"), type="primary", key=f"note_save_{run_id[:8]}")
            left = st.form_submit_button(t("remark.cancel"), key=f"note_cancel_{run_id[:8]}")
    if saved:
        _save_note(run_id, said)
    if saved or left:
        st.session_state.pop(_EDITED_RUN_KEY, None)
        st.rerun()


def _start_editing(run_id: str) -> None:
    st.session_state[_EDITED_RUN_KEY] = run_id


def _save_note(run_id: str, text: str) -> None:
    application.save_remark(run_id, text, owner=current_owner())
