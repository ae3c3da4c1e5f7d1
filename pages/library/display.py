"""Display of library data: names, languages, passages with highlights, and links between pages."""

from __future__ import annotations

import re

import streamlit as st

from pages.shared.escaping import escape_markdown, to_single_line
from pages.shared.locale_format import LANGUAGE_NAMES
from pages.shared.localization import current_language, t, value_label
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import document_file_name, get_application

_INVISIBLE_CHARS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
READER_QUERY_PARAMS = ("document", "at")  # document id and character offset


def replace_invisible(text: str) -> str:
    """Replace control, bidirectional and zero-width characters with U+FFFD."""
    return _INVISIBLE_CHARS.sub("\ufffd", text)


def file_name(path: str) -> str:
    """Return the last part of a document's name, without invisible characters."""
    return replace_invisible(document_file_name(path))


def format_page_list(pages: str) -> str:
    """Join page ranges with the list separator of the language."""
    return pages.replace(", ", t("mark.list"))


def language_name(code: str) -> str:
    return LANGUAGE_NAMES.get(code, code)


def file_kind_name(name: str) -> str:
    return value_label("filekind", name)


def passage_markdown(text: str, spans: list[tuple[int, int]] | None = None) -> str:
    """Return a passage as escaped Markdown, with the given character spans highlighted."""
    markdown, position = "", 0
    for start, end in spans or []:
        markdown += _escape_lines(text[position:start]) + f":primary-background[{_escape_inline(text[start:end])}]"
        position = end
    return markdown + _escape_lines(text[position:])


def _escape_lines(text: str) -> str:
    """Escape a text, keeping its line breaks and the white space at both ends of a line."""
    return "  \n".join(_escape_inline(line) for line in replace_invisible(text).split("\n"))


def _escape_inline(text: str) -> str:
    lead = " " if text[:1].isspace() else ""
    tail = " " if text.strip() and text[-1:].isspace() else ""
    return f"{lead}{escape_markdown(replace_invisible(text))}{tail}"


def open_document(document_id: int, offset: int = -1) -> None:
    """Open a document, at the passage with a character offset if it is not negative."""
    st.query_params["document"] = str(document_id)
    if offset >= 0:
        st.query_params["at"] = str(offset)
    else:
        st.query_params.pop("at", None)
    st.session_state.pop("reader_page_first", None)


def close_document() -> None:
    for name in READER_QUERY_PARAMS:
        st.query_params.pop(name, None)


def ask_about_document(title: str) -> None:
    """Open the Ask page with a question about a document and the library as only source."""
    open_ask_page(t("library.question", title=to_single_line(replace_invisible(title))))


def open_ask_page(question: str = "", notebook: str = "") -> None:
    """Open the Ask page with the library, or a notebook of it, as only source."""
    limits = st.session_state.get("limits") or get_application().services_for(current_owner()).default_options()
    update = {"sources": ("library",), "notebook": notebook}
    st.session_state.limits = limits.model_copy(update=update)
    for key in ("offered", "queries", "last_run", "draft", "draft_question"):
        st.session_state.pop(key, None)
    st.session_state.question = question
    st.switch_page(page_script("ask"), query_params={"lang": current_language()})


def draw_page_buttons(name: str, first_index: int, page_size: int, total: int) -> None:
    """Draw the buttons to the pages before and after the one that begins at `first_index`.

    The session holds the first index of the shown page as `NAME_first`.
    """
    for step, label, is_disabled in (
        (-page_size, "back", not first_index),
        (page_size, "next", first_index + page_size >= total),
    ):
        st.button(
            t("library.back" if step < 0 else "library.next"),
            key=f"{name}_{label}",
            disabled=is_disabled,
            on_click=_set_first_index,
            args=(name, max(0, first_index + step)),
        )


def _set_first_index(name: str, first_index: int) -> None:
    st.session_state[f"{name}_first"] = first_index
