"""Recycle bin of the history: restore deleted conversations or delete them permanently."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import streamlit as st

from pages.shared import errors, layout
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import HistoryEntry, get_application

RETENTION = timedelta(days=30)
LAST_DISCARDED_KEY = "history_binned"  # in the session: last deleted id and title


def discard(entry: HistoryEntry) -> None:
    """Move a conversation to the bin, and remember it for the undo notice."""
    ids = {run.id for run in get_application().store.turns(entry.id, owner=current_owner())}
    get_application().runs.move_to_bin(entry.id, owner=current_owner())
    if st.session_state.get("last_run") in ids:
        st.session_state.pop("last_run")
    st.session_state[LAST_DISCARDED_KEY] = (entry.id, entry.title)
    st.session_state.pop("managed", None)


def restore(conversation_id: str) -> None:
    get_application().runs.restore_from_bin(conversation_id, owner=current_owner())
    st.session_state.pop(LAST_DISCARDED_KEY, None)


def draw_undo_notice() -> None:
    """Draw a notice of the last deletion with an undo button."""
    if LAST_DISCARDED_KEY not in st.session_state:
        return
    key, title = st.session_state[LAST_DISCARDED_KEY]
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="history_undo"):
        st.markdown(t("history.gone", title=escape_markdown(title, 80)), width="stretch")
        st.button(t("history.undo"), key="undo", icon=":material/undo:", on_click=restore, args=(key,))


def draw() -> None:
    """Draw the contents of the bin."""
    layout.draw_header(t("history.bin_title"), t("history.bin_lead"))
    entries = get_application().runs.bin_entries(owner=current_owner())
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        st.page_link(page_script("history"), label=t("history.back"), icon=":material/arrow_back:", query_params={})
        if entries:
            with st.popover(t("history.empty_bin"), icon=":material/delete_forever:"):
                st.markdown(t("history.empty_sure", n=len(entries)))
                st.button(t("history.empty_bin"), key="empty_bin", type="primary", on_click=_empty_bin)
    if not entries:
        st.caption(t("history.bin_empty"))
    for entry in entries:
        with errors.catch_row_errors():
            _draw_entry(entry)


def _draw_entry(entry: HistoryEntry) -> None:
    binned_at = entry.binned_at or datetime.now(UTC)
    days_left = max(0, math.ceil((binned_at + RETENTION - datetime.now(UTC)) / timedelta(days=1)))
    with st.container(horizontal=True, vertical_alignment="center", key=f"entry_{entry.id}"):
        with st.container(gap=None, width="stretch"):
            st.markdown(escape_markdown(entry.title, 200))
            st.caption(t("history.left", date=format_local_time(binned_at), n=days_left))
        st.button(
            t("history.restore"), key=f"restore_{entry.id}", icon=":material/undo:", on_click=restore, args=(entry.id,)
        )
        with st.popover(t("history.forever"), type="tertiary"):
            st.markdown(t("history.forever_sure"))
            st.button(
                t("history.forever"),
                key=f"forget_{entry.id}",
                type="primary",
                on_click=_delete_conversation,
                args=(entry.id,),
            )


def _delete_conversation(conversation_id: str) -> None:
    get_application().runs.delete_conversation(conversation_id, owner=current_owner())
    st.session_state.pop(LAST_DISCARDED_KEY, None)


def _empty_bin() -> None:
    get_application().runs.empty_bin(owner=current_owner())
    st.session_state.pop(LAST_DISCARDED_KEY, None)
