"""The bin of the history: what was deleted, to be restored or deleted for good."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import streamlit as st

from pages.shared import errors, layout
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import local_time, t
from research import HistoryEntry, application

KEPT = timedelta(days=30)
LAST = "history_binned"  # in the session: what was deleted last, for `undo`


def discard(entry: HistoryEntry) -> None:
    """Moves a conversation to the bin, and remembers it so that it can be undone at once."""
    ids = {run.id for run in application.turns(entry.id, owner=owner())}
    application.discard(entry.id, owner=owner())
    if st.session_state.get("last_run") in ids:
        st.session_state.pop("last_run")
    st.session_state[LAST] = (entry.id, entry.title)
    st.session_state.pop("managed", None)


def restore(key: str) -> None:
    application.restore(key, owner=owner())
    st.session_state.pop(LAST, None)


def notice() -> None:
    """What was deleted last, and the way to undo it."""
    if LAST not in st.session_state:
        return
    key, title = st.session_state[LAST]
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key="history_undo"
    ):
        st.markdown(t("history.gone", title=plain(title, 80)), width="stretch")
        st.button(
            t("history.undo"), key="undo", icon=":material/undo:", on_click=restore, args=(key,)
        )


def draw() -> None:
    """What lies in the bin."""
    layout.header(t("history.bin_title"), t("history.bin_lead"))
    entries = application.binned(owner=owner())
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        st.page_link(
            script("history"), label=t("history.back"), icon=":material/arrow_back:",
            query_params={},
        )  # fmt: skip
        if entries:
            with st.popover(t("history.empty_bin"), icon=":material/delete_forever:"):
                st.markdown(t("history.empty_sure", n=len(entries)))
                st.button(t("history.empty_bin"), key="empty_bin", type="primary", on_click=_empty)
    if not entries:
        st.caption(t("history.bin_empty"))
    for entry in entries:
        with errors.row():
            _row(entry)


def _row(entry: HistoryEntry) -> None:
    binned = entry.binned or datetime.now(UTC)
    left = max(0, math.ceil((binned + KEPT - datetime.now(UTC)) / timedelta(days=1)))
    with st.container(horizontal=True, vertical_alignment="center", key=f"entry_{entry.id}"):
        with st.container(gap=None, width="stretch"):
            st.markdown(plain(entry.title, 200))
            st.caption(t("history.left", date=local_time(binned), n=left))
        st.button(
            t("history.restore"), key=f"restore_{entry.id}", icon=":material/undo:",
            on_click=restore, args=(entry.id,),
        )  # fmt: skip
        with st.popover(t("history.forever"), type="tertiary"):
            st.markdown(t("history.forever_sure"))
            st.button(
                t("history.forever"), key=f"forget_{entry.id}", type="primary",
                on_click=_forget, args=(entry.id,),
            )  # fmt: skip


def _forget(key: str) -> None:
    application.forget(key, owner=owner())
    st.session_state.pop(LAST, None)


def _empty() -> None:
    application.empty_bin(owner=owner())
    st.session_state.pop(LAST, None)
