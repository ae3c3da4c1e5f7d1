"""Notebooks: named sets of documents, each somebody's own, which a list, a search or a question keeps to."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.library import shown
from pages.shared import login
from pages.shared.safe import plain
from pages.shared.words import number, t
from research import Entry, application

PICKED = "notebook_picked"  # in the session, as the next
INTO = "notebook_into"
NAMED = "notebook_named"


def pick() -> tuple[str, tuple[str, ...] | None]:
    """Which notebook the page keeps to, with the names of its documents; None for the whole library."""
    there = application.notebooks(owner=login.owner())
    if not there:
        return "", None
    if st.session_state.get(PICKED) not in there:
        st.session_state[PICKED] = None
    with st.container(horizontal=True, vertical_alignment="bottom", key="notebooks"):
        picked = st.pills(
            t("notebook.title"), list(there), key=PICKED, format_func=plain, width="content",
            help=t("notebook.help"),
        )  # fmt: skip
        if not picked:
            return "", None
        if st.button(t("notebook.ask"), key="notebook_ask", icon=":material/forum:"):
            shown.ask_in(picked)
        with st.popover(t("notebook.rename"), key="notebook_rename", type="tertiary"):
            st.text_input(
                t("notebook.new_name"), picked, key=f"{NAMED}_{picked}", max_chars=40,
                help=t("notebook.rename_help"),
            )  # fmt: skip
            st.button(
                t("notebook.rename"), key="notebook_rename_now", type="primary", on_click=_rename,
                args=(picked,),
            )  # fmt: skip
        with st.popover(t("notebook.delete"), key="notebook_delete", type="tertiary"):
            st.markdown(t("notebook.delete_sure", name=plain(picked)))
            st.button(
                t("notebook.delete"), key="notebook_delete_now", type="primary", on_click=_delete,
                args=(picked,),
            )  # fmt: skip
    return picked, tuple(there[picked])


def put(entries: Sequence[Entry]) -> None:
    """The way to put documents into a notebook; a name that is new makes one."""
    with st.popover(t("notebook.put"), icon=":material/book_2:", key="notebook_put"):
        st.selectbox(
            t("notebook.name"), list(application.notebooks(owner=login.owner())), index=None, key=INTO,
            accept_new_options=True, placeholder=t("notebook.name_hint"),
        )  # fmt: skip
        st.button(
            t("notebook.put_now"), key="notebook_put_now", type="primary", on_click=_put,
            args=([entry.name for entry in entries],),
        )  # fmt: skip


def take(picked: str, entries: Sequence[Entry]) -> None:
    """The way to take documents out of the notebook that the page keeps to."""
    st.button(
        t("notebook.take", name=plain(picked)), key="notebook_take", icon=":material/remove:",
        on_click=_take, args=(picked, [entry.name for entry in entries]),
    )  # fmt: skip


def _put(documents: list[str]) -> None:
    name = str(st.session_state.get(INTO) or "")
    if kept := application.put_in(name, documents, owner=login.owner()):
        st.toast(t("notebook.done", name=plain(kept), n=number(len(documents))))


def _take(name: str, documents: list[str]) -> None:
    application.take_out(name, documents, owner=login.owner())


def _rename(name: str) -> None:
    wanted = str(st.session_state.get(f"{NAMED}_{name}") or "")
    if kept := application.rename_notebook(name, wanted, owner=login.owner()):
        st.session_state[PICKED] = kept


def _delete(name: str) -> None:
    application.forget_notebook(name, owner=login.owner())
