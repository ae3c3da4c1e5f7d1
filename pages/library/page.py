"""The desk's own documents: add, search, look through, remove. All who use the desk share them."""

from __future__ import annotations

import streamlit as st

from pages.library import add as library_add
from pages.library import documents as library_list
from pages.library import notebooks, scanning
from pages.library import reader as library_reader
from pages.library import search as library_search
from pages.shared import layout, login
from pages.shared.localization import format_number, t
from research import Library, application


def draw_sample_switch(library: Library, count: int) -> None:
    """The documents that ship with the program, and the switch that leaves them out."""
    layout.draw_section_title(t("library.sample_title"))
    st.session_state.sample = library.is_sample_enabled
    st.toggle(t("library.sample"), key="sample", on_change=set_sample, args=(library,))
    words = [t("library.sample_help")]
    if count:
        words.append(t("library.samples", n=format_number(count)))
    st.caption("  \n".join(words))


def set_sample(library: Library) -> None:
    login.current_owner()  # what a widget calls comes before the router
    library.set_sample_enabled(st.session_state.sample)


def draw_overview(library: Library, *, is_shared: bool) -> None:
    found = library.count_documents()
    layout.draw_header(t("library.title"), t("library.shared") if is_shared else t("library.lead"))
    scanning.draw(library)
    if not found.own_count:
        library_add.draw_introduction(library)
        library_add.draw(library, is_shared=is_shared)
    book, names = notebooks.choose_notebook()
    if found.own_count + found.sample_count:
        layout.draw_section_title(t("library.search"))
        library_search.draw(
            library, has_both_origins=bool(found.own_count and found.sample_count), document_names=names
        )
        own = t("library.own", n=format_number(found.own_count))
        layout.draw_section_title(own if found.own_count and not found.sample_count else t("library.documents"))
    library_list.draw_removed(library)
    if found.own_count + found.sample_count:
        library_list.draw(
            library, own_count=found.own_count, sample_count=found.sample_count, notebook=book, document_names=names
        )
    if found.own_count:
        layout.draw_section_title(t("library.add"))
        library_add.draw(library, is_shared=is_shared)
    library_list.draw_bin(library)
    draw_sample_switch(library, found.sample_count)


current_application = application.get_application()
requested_document = library_reader.requested_position()
if requested_document is None:
    draw_overview(current_application.library, is_shared=login.read_config().is_required)
else:
    layout.draw_header(t("library.title"))
    library_reader.draw(current_application.library, *requested_document)
