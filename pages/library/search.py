"""Searching the library itself, as research does: passages, why they were found, what is around them."""

from __future__ import annotations

import streamlit as st

from pages.library import shown
from pages.shared.safe import plain
from pages.shared.words import number, t
from research import Hit, Library

HITS = 12
AROUND = 2  # passages before and after one
WHERE = {"all": None, "own": False, "sample": True}


def draw(library: Library, *, both: bool, names: tuple[str, ...] | None) -> None:
    """The box and what was found; `both`: there are own documents and those of the sample. With `names`,
    documents that have these alone are searched."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="library_search"):
        query = st.text_input(
            t("library.search_box"),
            key="library_query",
            placeholder=t("library.search_hint"),
            icon=":material/search:",
            label_visibility="collapsed",
        )
        where = "all"
        if both and names is None:
            labels = {name: t(f"library.where_{name}") for name in WHERE}
            where = st.segmented_control(
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
    hits = library.search(query, limit=HITS, sample=WHERE.get(where or "all"), names=names)
    if not hits:
        st.caption(t("library.no_hits"))
        return
    st.caption(t("library.hits", n=number(len(hits))))
    for n, hit in enumerate(hits):
        _card(library, query, hit, n)


def _card(library: Library, query: str, hit: Hit, n: int) -> None:
    page = t("answer.page", n=hit.page) if hit.page else ""
    with st.container(border=True, key=f"hit_{n}"):
        st.markdown(f"**{plain(shown.seen(hit.title), 200)}**")
        facts = [shown.seen(hit.heading), page, shown.file_name(hit.name)]
        if hit.sample:
            facts = [*facts[:2], t("library.shipped")]
        if hit.ocr:
            facts.append(t("answer.ocr"))
        st.caption(" · ".join(plain(fact, 160) for fact in facts if fact))
        st.markdown(shown.passage(hit.text, library.marks(query, hit.text)))
        with st.container(horizontal=True, vertical_alignment="center"):
            key = f"{hit.document}_{hit.start}"
            around = st.toggle(t("library.context"), key=f"context_{key}")
            st.button(
                t("library.open_here"), key=f"open_{key}", type="tertiary",
                icon=":material/menu_book:", on_click=shown.open_document,
                args=(hit.document, hit.start),
            )  # fmt: skip
            if st.button(
                t("library.ask"), key=f"ask_{key}", type="tertiary", icon=":material/forum:",
                help=t("library.ask_help"),
            ):  # fmt: skip
                shown.ask_about(hit.title)
        if around:
            _context(library, query, hit)


def _context(library: Library, query: str, hit: Hit) -> None:
    """The passage between those before and after it."""
    first = max(0, library.place(hit.document, hit.start) - AROUND)
    for part in library.excerpts(hit.document, first, 2 * AROUND + 1):
        here = part.start == hit.start
        text = shown.passage(part.text, library.marks(query, part.text) if here else None)
        with st.container(key=f"around_{hit.document}_{hit.start}_{part.start}"):
            st.markdown(f"**›** {text}" if here else text)
