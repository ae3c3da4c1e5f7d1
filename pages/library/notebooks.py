"""Notebooks: named sets of documents per owner that restrict a list, a search or a question."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.library import display
from pages.shared import login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import DocumentEntry, get_application

SELECTED_KEY = "notebook_picked"  # key in the session, like the next two
TARGET_KEY = "notebook_into"
NEW_NAME_KEY = "notebook_named"


def choose_notebook() -> tuple[str, tuple[str, ...] | None]:
    """Draw the choice of a notebook. Return its name and the names of its documents.

    Without a choice, return ("", None): the whole library.
    """
    notebooks = get_application().store.notebooks(login.current_owner())
    if not notebooks:
        return "", None
    if st.session_state.get(SELECTED_KEY) not in notebooks:
        st.session_state[SELECTED_KEY] = None
    with st.container(horizontal=True, vertical_alignment="bottom", key="notebooks"):
        selected = st.pills(
            t("notebook.title"),
            list(notebooks),
            key=SELECTED_KEY,
            format_func=escape_markdown,
            width="content",
            help=t("notebook.help"),
        )
        if not selected:
            return "", None
        if st.button(t("notebook.ask"), key="notebook_ask", icon=":material/forum:"):
            display.open_ask_page(notebook=selected)
        with st.popover(t("notebook.rename"), key="notebook_rename", type="tertiary"):
            st.text_input(
                t("notebook.new_name"),
                selected,
                key=f"{NEW_NAME_KEY}_{selected}",
                max_chars=40,
                help=t("notebook.rename_help"),
            )
            st.button(
                t("notebook.rename"), key="notebook_rename_now", type="primary", on_click=_rename, args=(selected,)
            )
        with st.popover(t("notebook.delete"), key="notebook_delete", type="tertiary"):
            st.markdown(t("notebook.delete_sure", name=escape_markdown(selected)))
            st.button(
                t("notebook.delete"), key="notebook_delete_now", type="primary", on_click=_delete, args=(selected,)
            )
    return selected, tuple(notebooks[selected])


def draw_add_button(entries: Sequence[DocumentEntry]) -> None:
    """Draw the form that adds documents to a notebook, which a new name creates."""
    with st.popover(t("notebook.put"), icon=":material/book_2:", key="notebook_put"):
        st.selectbox(
            t("notebook.name"),
            list(get_application().store.notebooks(login.current_owner())),
            index=None,
            key=TARGET_KEY,
            accept_new_options=True,
            placeholder=t("notebook.name_hint"),
        )
        st.button(
            t("notebook.put_now"),
            key="notebook_put_now",
            type="primary",
            on_click=_add_documents,
            args=([entry.name for entry in entries],),
        )


def draw_remove_button(notebook: str, entries: Sequence[DocumentEntry]) -> None:
    """Draw the button that removes documents from the selected notebook."""
    st.button(
        t("notebook.take", name=escape_markdown(notebook)),
        key="notebook_take",
        icon=":material/remove:",
        on_click=_remove_documents,
        args=(notebook, [entry.name for entry in entries]),
    )


def _add_documents(document_names: list[str]) -> None:
    name = str(st.session_state.get(TARGET_KEY) or "")
    if notebook := get_application().store.add_to_notebook(login.current_owner(), name, document_names):
        st.toast(t("notebook.done", name=escape_markdown(notebook), n=format_number(len(document_names))))


def _remove_documents(name: str, document_names: list[str]) -> None:
    get_application().store.remove_from_notebook(login.current_owner(), name, document_names)


def _rename(name: str) -> None:
    new_name = str(st.session_state.get(f"{NEW_NAME_KEY}_{name}") or "")
    if saved_name := get_application().store.rename_notebook(login.current_owner(), name, new_name):
        st.session_state[SELECTED_KEY] = saved_name


def _delete(name: str) -> None:
    get_application().store.delete_notebook(login.current_owner(), name)
