"""Reader for one document of the library: its metadata and all its passages in order."""

from __future__ import annotations

from html import escape

import streamlit as st

from pages.library import display, documents, notebooks, pictures, scanning
from pages.shared import login
from pages.shared.escaping import escape_markdown, markdown_link, web_url
from pages.shared.layout import READING_WIDTH_PIXELS
from pages.shared.localization import format_day, format_local_time, format_number, t
from research import DocumentEntry, Library, page_unit

PASSAGES_PER_PAGE = 30


def requested_position() -> tuple[int, int] | None:
    """Return document id and character offset (-1: beginning) from the address, or None."""
    document = _parse_number(st.query_params.get("document", ""))
    return None if document < 0 else (document, _parse_number(st.query_params.get("at", "")))


def _parse_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1


def draw(library: Library, document_id: int, offset: int) -> None:
    st.button(
        t("reader.back"),
        key="reader_back",
        type="tertiary",
        icon=":material/arrow_back:",
        on_click=display.close_document,
    )
    entry = library.find_entry(document_id)
    if entry is None:
        st.warning(t("reader.gone"))
        return
    with st.container(width=READING_WIDTH_PIXELS, key="reader"):
        st.subheader(escape_markdown(display.replace_invisible(entry.title), 300), anchor=False)
        _draw_facts(entry)
        _draw_actions(library, entry)
        scanning.draw(library, entry.id)
        _draw_passages(library, entry, offset)


def _draw_facts(entry: DocumentEntry) -> None:
    facts = [
        escape_markdown(display.replace_invisible(entry.name), 300),
        display.file_kind_name(entry.kind),
        display.language_name(entry.language),
        t("reader.dated", date=format_day(entry.published)) if entry.published else "",
        t(
            "reader.facts",
            passages=format_number(entry.passage_count),
            characters=format_number(entry.character_count),
        ),
        t("library.shipped") if entry.is_sample else "",
        t("reader.added", when=format_local_time(entry.added_at)),
    ]
    st.caption(" · ".join(fact for fact in facts if fact))
    if web_url(entry.url):
        st.markdown(markdown_link(display.replace_invisible(entry.url), entry.url))


def _draw_actions(library: Library, entry: DocumentEntry) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(t("library.ask"), key="reader_ask", icon=":material/forum:", help=t("library.ask_help")):
            display.ask_about_document(entry.title)
        notebooks.draw_add_button([entry])
        if not entry.is_sample:
            st.button(
                t("library.remove_one"),
                key="reader_remove",
                type="tertiary",
                icon=":material/delete:",
                on_click=_remove_document,
                args=(library, entry.id),
            )


def _remove_document(library: Library, document_id: int) -> None:
    login.current_owner()
    documents.remove(library, [document_id])
    display.close_document()


def _draw_passages(library: Library, entry: DocumentEntry, offset: int) -> None:
    """Draw one page of passages, with each heading and page number where it begins."""
    if "reader_page_first" not in st.session_state:
        st.session_state.reader_page_first = (
            library.passage_index(entry.id, offset) // PASSAGES_PER_PAGE * PASSAGES_PER_PAGE if offset >= 0 else 0
        )
    first = min(
        st.session_state.reader_page_first, max(0, entry.passage_count - 1) // PASSAGES_PER_PAGE * PASSAGES_PER_PAGE
    )
    excerpts = library.list_excerpts(entry.id, first, PASSAGES_PER_PAGE)
    st.divider()
    last_heading, last_pages = "", ""
    for excerpt in excerpts:
        pages = excerpt.page_range
        if (excerpt.heading, pages) != (last_heading, last_pages):
            page = t("answer.page", n=pages, unit=page_unit(entry.name)) if pages else ""
            names = [escape_markdown(display.replace_invisible(excerpt.heading), 200), escape_markdown(page)]
            if any(names):
                st.markdown("**" + " · ".join(name for name in names if name) + "**")
            if excerpt.is_ocr and excerpt.page and pages != last_pages:
                st.caption(t("answer.ocr"))
                st.html(_picture_html(entry.id, excerpt.page))
            last_heading, last_pages = excerpt.heading, pages
        is_target = excerpt.start == offset
        with st.container(border=is_target, key=f"passage_{excerpt.start}"):
            st.markdown(display.passage_markdown(excerpt.text))
    _draw_pager(entry, first, len(excerpts))


def _picture_html(document_id: int, page_number: int) -> str:
    """Return HTML of a scanned page, linked to the full picture."""
    url = escape(pictures.picture_url(document_id, page_number))
    label = escape(t("answer.page_picture", n=page_number))
    return (
        f'<a href="{url}" target="_blank"><img src="{url}" alt="{label}" loading="lazy" '
        'style="max-width: 100%; max-height: 22rem; border: 1px solid rgba(128, 128, 128, 0.4)"></a>'
    )


def _draw_pager(entry: DocumentEntry, first_index: int, count: int) -> None:
    if entry.passage_count <= PASSAGES_PER_PAGE:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        display.draw_page_buttons("reader_page", first_index, PASSAGES_PER_PAGE, entry.passage_count)
        span = {"first": format_number(first_index + 1), "last": format_number(first_index + count)}
        st.caption(t("reader.span", n=format_number(entry.passage_count), **span), width="content")
