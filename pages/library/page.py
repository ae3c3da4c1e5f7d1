"""The desk's own documents: add, search, look through, remove. All who use the desk share them."""

from __future__ import annotations

import streamlit as st

from pages.library import add as library_add
from pages.library import documents as library_list
from pages.library import notebooks, scanning
from pages.library import reader as library_reader
from pages.library import search as library_search
from pages.shared import layout, login
from pages.shared.words import number, t
from research import Library, application


def sample(library: Library, count: int) -> None:
    """The documents that ship with the program, and the switch that leaves them out."""
    layout.section(t("library.sample_title"))
    st.session_state.sample = library.sample
    st.toggle(t("library.sample"), key="sample", on_change=switch, args=(library,))
    words = [t("library.sample_help")]
    if count:
        words.append(t("library.samples", n=number(count)))
    st.caption("  \n".join(words))


def switch(library: Library) -> None:
    login.owner()  # what a widget calls comes before the router
    library.use_sample(st.session_state.sample)


def overview(library: Library, *, shared: bool) -> None:
    found = library.counts()
    layout.header(t("library.title"), t("library.shared") if shared else t("library.lead"))
    scanning.draw(library)
    if not found.own:
        library_add.teach(library)
        library_add.draw(library, shared=shared)
    book, names = notebooks.pick()
    if found.own + found.sample:
        layout.section(t("library.search"))
        library_search.draw(library, both=bool(found.own and found.sample), names=names)
        own = t("library.own", n=number(found.own))
        layout.section(own if found.own and not found.sample else t("library.documents"))
    library_list.removed(library)
    if found.own + found.sample:
        library_list.draw(library, own=found.own, sample=found.sample, notebook=book, names=names)
    if found.own:
        layout.section(t("library.add"))
        library_add.draw(library, shared=shared)
    library_list.bin_of(library)
    sample(library, found.sample)


desk = application.desk()
opened = library_reader.asked()
if opened is None:
    overview(desk.library, shared=login.setup().on)
else:
    layout.header(t("library.title"))
    library_reader.draw(desk.library, *opened)
