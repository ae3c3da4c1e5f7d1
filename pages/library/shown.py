"""How the things of the library are shown: names, languages, passages with the words that were found."""

from __future__ import annotations

import re

import streamlit as st

from pages.shared.files import script
from pages.shared.forms import NAMES
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import lang, named, t
from research import application

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
OPENED = ("document", "at")  # of the page's address: which document is open, and where


def seen(text: str) -> str:
    """A text without what turns or hides the signs around it."""
    return _UNSEEN.sub("\ufffd", text)


def file_name(name: str) -> str:
    """The last part of a path."""
    return seen(name.replace("\\", "/").rsplit("/", 1)[-1])


def listed(pages: str) -> str:
    """Numbers of pages as the language lists things."""
    return pages.replace(", ", t("mark.list"))


def language(code: str) -> str:
    return NAMES.get(code, code)


def kind(name: str) -> str:
    return named("filekind", name)


def passage(text: str, spans: list[tuple[int, int]] | None = None) -> str:
    """A passage as Markdown that says what it says and nothing else, with stretches marked."""
    out, at = "", 0
    for start, end in spans or []:
        out += _lines(text[at:start]) + f":primary-background[{_inner(text[start:end])}]"
        at = end
    return out + _lines(text[at:])


def _lines(text: str) -> str:
    """Lines stay lines, and the white space at both ends stays."""
    return "  \n".join(_inner(line) for line in seen(text).split("\n"))


def _inner(text: str) -> str:
    lead = " " if text[:1].isspace() else ""
    tail = " " if text.strip() and text[-1:].isspace() else ""
    return f"{lead}{plain(seen(text))}{tail}"


def open_document(document: int, at: int = -1) -> None:
    """Opens a document, at the passage that begins at a character."""
    st.query_params["document"] = str(document)
    if at >= 0:
        st.query_params["at"] = str(at)
    else:
        st.query_params.pop("at", None)
    st.session_state.pop("reader_at", None)


def close_document() -> None:
    for name in OPENED:
        st.query_params.pop(name, None)


def ask_about(title: str) -> None:
    """To the Ask page, with the library as the only source."""
    _ask(t("library.question", title=" ".join(seen(title).split())))


def ask_in(notebook: str) -> None:
    """To the Ask page, with the documents of a notebook as the only source."""
    _ask("", notebook)


def _ask(question: str, notebook: str = "") -> None:
    limits = st.session_state.get("limits") or application.services(owner=owner()).usual()
    update = {"sources": ("library",), "notebook": notebook}
    st.session_state.limits = limits.model_copy(update=update)
    for key in ("offered", "queries", "last_run", "draft", "draft_question"):
        st.session_state.pop(key, None)
    st.session_state.question = question
    st.switch_page(script("ask"), query_params={"lang": lang()})
