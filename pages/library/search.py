"""Search in the library as research does it: passages, highlights and context."""

from __future__ import annotations

import streamlit as st

from pages.library import display
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import Library, SearchHit, page_unit

MAX_HITS = 12
CONTEXT_PASSAGES = 2  # before and after a hit
SAMPLE_FILTERS = {"all": None, "own": False, "sample": True}


def draw(library: Library, *, has_both_origins: bool, document_names: tuple[str, ...] | None) -> None:
    """Draw the search box and its hits.

    `has_both_origins` offers a choice of own or sample documents. `document_names` restricts the
    search to these documents.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key="library_search"):
        query = st.text_input(
            t("library.search_box"),
            key="library_query",
            placeholder=t("library.search_hint"),
            icon=":material/search:",
            label_visibility="collapsed",
        )
        origin = "all"
        if has_both_origins and document_names is None:
            labels = {name: t(f"library.where_{name}") for name in SAMPLE_FILTERS}
            origin = st.segmented_control(
                t("library.where"),
                list(labels),
                default="all",
                format_func=labels.__getitem__,
                key="library_where",
                label_visibility="collapsed",
                required=True,
            )
    if not query.strip():
        return
    hits = library.search(query, limit=MAX_HITS, is_sample=SAMPLE_FILTERS.get(origin or "all"), names=document_names)
    if not hits:
        st.caption(t("library.no_hits"))
        return
    st.caption(t("library.hits", n=format_number(len(hits))))
    for n, hit in enumerate(hits):
        _draw_hit(library, query, hit, n)


def _draw_hit(library: Library, query: str, hit: SearchHit, index: int) -> None:
    page = t("answer.page", n=hit.page_range, unit=page_unit(hit.name)) if hit.page else ""
    with st.container(border=True, key=f"hit_{index}"):
        st.markdown(f"**{escape_markdown(display.replace_invisible(hit.title), 200)}**")
        facts = [display.replace_invisible(hit.heading), page, display.file_name(hit.name)]
        if hit.is_sample:
            facts = [*facts[:2], t("library.shipped")]
        if hit.is_ocr:
            facts.append(t("answer.ocr"))
        st.caption(" · ".join(escape_markdown(fact, 160) for fact in facts if fact))
        st.markdown(display.passage_markdown(hit.text, library.find_highlights(query, hit.text)))
        with st.container(horizontal=True, vertical_alignment="center"):
            key = f"{hit.document_id}_{hit.start}"
            show_context = st.toggle(t("library.context"), key=f"context_{key}")
            st.button(
                t("library.open_here"),
                key=f"open_{key}",
                type="tertiary",
                icon=":material/menu_book:",
                on_click=display.open_document,
                args=(hit.document_id, hit.start),
            )
            if st.button(
                t("library.ask"), key=f"ask_{key}", type="tertiary", icon=":material/forum:", help=t("library.ask_help")
            ):
                display.ask_about_document(hit.title)
        if show_context:
            _draw_context(library, query, hit)


def _draw_context(library: Library, query: str, hit: SearchHit) -> None:
    """Draw a hit between the passages before and after it."""
    first = max(0, library.passage_index(hit.document_id, hit.start) - CONTEXT_PASSAGES)
    for part in library.list_excerpts(hit.document_id, first, 2 * CONTEXT_PASSAGES + 1):
        is_hit = part.start == hit.start
        text = display.passage_markdown(part.text, library.find_highlights(query, part.text) if is_hit else None)
        with st.container(key=f"around_{hit.document_id}_{hit.start}_{part.start}"):
            st.markdown(f"**›** {text}" if is_hit else text)
