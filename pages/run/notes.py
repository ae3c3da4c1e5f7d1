"""The visitor's notes: on the answer, drawn below it, and on passages, drawn in its component.

Notes are private text of one person: they are drawn escaped, and no stage of a run reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, t
from pages.shared.login import current_owner
from research import Remark, Report, get_application

MAX_CHARS = 4_000
_EDITED_RUN_KEY = "note_writing"  # session key of the run whose note is being edited


def passage_notes(report: Report) -> dict[tuple[str, str], str]:
    """Return the notes on passages, by evidence id and passage id."""
    return {(remark.evidence, remark.passage): remark.text for remark in report.remarks if remark.evidence}


def create_note_callback(report: Report, component_key: str) -> Callable[[], None]:
    """Return a callback that saves the passage note sent by the answer component."""

    def save_change() -> None:
        change: Any = st.session_state[component_key].get("noted") or {}
        position, text = change.get("at"), change.get("text")
        if isinstance(text, str) and isinstance(position, list) and len(position) == 2:
            evidence, passage = map(str, position)
            get_application().runs.save_remark(
                report.run.id, text, evidence=evidence, passage=passage, owner=current_owner()
            )

    return save_change


def draw_add_button(report: Report) -> None:
    """Draw a button that starts a note on the answer, unless one exists or is being edited."""
    run_id = report.run.id
    if _answer_note(report) is None and st.session_state.get(_EDITED_RUN_KEY) != run_id:
        st.button(
            t("remark.add"),
            key=f"note_add_{run_id[:8]}",
            icon=":material/edit_note:",
            type="tertiary",
            help=t("remark.help"),
            on_click=_start_editing,
            args=(run_id,),
        )


def draw(report: Report) -> None:
    """Draw the note on the answer, or its editor."""
    run_id, note = report.run.id, _answer_note(report)
    if st.session_state.get(_EDITED_RUN_KEY) == run_id:
        _draw_editor(run_id, note.text if note else "")
    elif note is not None:
        with st.container(border=True, key="note", gap="small"):
            st.caption(f"{t('remark.own')} · {format_local_time(note.updated)}")
            st.markdown("  \n".join(escape_markdown(line) for line in note.text.splitlines()))
            with st.container(horizontal=True):
                st.button(
                    t("remark.edit"),
                    key=f"note_edit_{run_id[:8]}",
                    icon=":material/edit:",
                    type="tertiary",
                    on_click=_start_editing,
                    args=(run_id,),
                )
                st.button(
                    t("remark.delete"),
                    key=f"note_delete_{run_id[:8]}",
                    icon=":material/delete:",
                    type="tertiary",
                    on_click=_save_note,
                    args=(run_id, ""),
                )


def _answer_note(report: Report) -> Remark | None:
    return next((remark for remark in report.remarks if not remark.evidence), None)


def _draw_editor(run_id: str, text: str) -> None:
    with st.container(key="note"), st.form(f"note_{run_id[:8]}"):
        note_text = st.text_area(
            t("remark.own"),
            text,
            max_chars=MAX_CHARS,
            key=f"note_text_{run_id[:8]}",
            help=t("remark.help"),
        )
        with st.container(horizontal=True):
            saved = st.form_submit_button(t("remark.save"), type="primary", key=f"note_save_{run_id[:8]}")
            cancelled = st.form_submit_button(t("remark.cancel"), key=f"note_cancel_{run_id[:8]}")
    if saved:
        _save_note(run_id, note_text)
    if saved or cancelled:
        st.session_state.pop(_EDITED_RUN_KEY, None)
        st.rerun()


def _start_editing(run_id: str) -> None:
    st.session_state[_EDITED_RUN_KEY] = run_id


def _save_note(run_id: str, text: str) -> None:
    get_application().runs.save_remark(run_id, text, owner=current_owner())
