"""One document of the library: what is known of it, and all its passages in order."""

from __future__ import annotations

from html import escape

import streamlit as st

from pages.library import documents as library_list
from pages.library import notebooks, pictures, scanning, shown
from pages.shared import login
from pages.shared.layout import READING
from pages.shared.safe import link, plain, web
from pages.shared.words import day, local_time, number, t
from research import Entry, Library

SHOWN = 30  # passages of a page


def asked() -> tuple[int, int] | None:
    """Which document the address names, and the character at which to open it (-1: the beginning)."""
    document = _number(st.query_params.get("document", ""))
    return None if document < 0 else (document, _number(st.query_params.get("at", "")))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1


def draw(library: Library, document: int, at: int) -> None:
    st.button(
        t("reader.back"), key="reader_back", type="tertiary", icon=":material/arrow_back:",
        on_click=shown.close_document,
    )  # fmt: skip
    entry = library.entry(document)
    if entry is None:
        st.warning(t("reader.gone"))
        return
    with st.container(width=READING, key="reader"):
        st.subheader(plain(shown.seen(entry.title), 300), anchor=False)
        _facts(entry)
        _actions(library, entry)
        scanning.draw(library, entry.id)
        _passages(library, entry, at)


def _facts(entry: Entry) -> None:
    facts = [
        plain(shown.seen(entry.name), 300),
        shown.kind(entry.kind),
        shown.language(entry.language),
        t("reader.dated", date=day(entry.published)) if entry.published else "",
        t(
            "reader.facts",
            passages=number(entry.passages),
            characters=number(entry.characters),
        ),
        t("library.shipped") if entry.sample else "",
        t("reader.added", when=local_time(entry.added)),
    ]
    st.caption(" · ".join(fact for fact in facts if fact))
    if web(entry.url):
        st.markdown(link(shown.seen(entry.url), entry.url))


def _actions(library: Library, entry: Entry) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(
            t("library.ask"), key="reader_ask", icon=":material/forum:", help=t("library.ask_help")
        ):
            shown.ask_about(entry.title)
        notebooks.put([entry])
        if not entry.sample:
            st.button(
                t("library.remove_one"), key="reader_remove", type="tertiary",
                icon=":material/delete:", on_click=_remove, args=(library, entry.id),
            )  # fmt: skip


def _remove(library: Library, document: int) -> None:
    login.owner()
    library_list.remove(library, [document])
    shown.close_document()


def _passages(library: Library, entry: Entry, at: int) -> None:
    """A page of the passages; each heading and page number stands where it begins."""
    if "reader_at" not in st.session_state:
        st.session_state.reader_at = library.place(entry.id, at) // SHOWN * SHOWN if at >= 0 else 0
    first = min(st.session_state.reader_at, max(0, entry.passages - 1) // SHOWN * SHOWN)
    parts = library.excerpts(entry.id, first, SHOWN)
    st.divider()
    heading: tuple[str, int | None] = ("", None)
    for part in parts:
        place = (part.heading, part.page)
        if place != heading:
            page = t("answer.page", n=part.page) if part.page else ""
            names = [plain(shown.seen(part.heading), 200), plain(page)]
            if any(names):
                st.markdown("**" + " · ".join(name for name in names if name) + "**")
            if part.ocr and part.page and part.page != heading[1]:
                st.caption(t("answer.ocr"))
                st.html(_picture(entry.id, part.page))
            heading = place
        found = part.start == at
        with st.container(border=found, key=f"passage_{part.start}"):
            st.markdown(shown.passage(part.text))
    _pager(entry, first, len(parts))


def _picture(document: int, page: int) -> str:
    """A page as it was scanned, which opens in full."""
    source, words = (
        escape(pictures.address(document, page)),
        escape(t("answer.page_picture", n=page)),
    )
    return (
        f'<a href="{source}" target="_blank"><img src="{source}" alt="{words}" loading="lazy" '
        'style="max-width: 100%; max-height: 22rem; border: 1px solid rgba(128, 128, 128, 0.4)"></a>'
    )


def _pager(entry: Entry, first: int, count: int) -> None:
    if entry.passages <= SHOWN:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for step, key, off in (
            (-SHOWN, "back", first == 0),
            (SHOWN, "next", first + SHOWN >= entry.passages),
        ):
            st.button(
                t("library.back") if step < 0 else t("library.next"), key=f"reader_{key}_page",
                disabled=off, on_click=_turn, args=(first + step,),
            )  # fmt: skip
        told = {"first": number(first + 1), "last": number(first + count)}
        st.caption(t("reader.span", n=number(entry.passages), **told), width="content")


def _turn(first: int) -> None:
    st.session_state.reader_at = first
