"""Library page: add, search, read and remove documents, which all users share."""

from __future__ import annotations

import streamlit as st

from pages.library import add as library_add
from pages.library import documents as library_list
from pages.library import notebooks, scanning
from pages.library import reader as library_reader
from pages.library import search as library_search
from pages.shared import layout, login
from pages.shared.localization import format_number, t
from research import Library, get_application


def draw_sample_switch(library: Library, count: int) -> None:
    """Draw the switch that includes the sample documents, with their number."""
    layout.draw_section_title(t("library.sample_title"))
    st.session_state.sample = library.is_sample_enabled
    st.toggle(t("library.sample"), key="sample", on_change=set_sample, args=(library,))
    lines = [t("library.sample_help")]
    if count:
        lines.append(t("library.samples", n=format_number(count)))
    st.caption("  \n".join(lines))


def set_sample(library: Library) -> None:
    login.current_owner()  # callbacks run before the router
    library.set_sample_enabled(st.session_state.sample)


def draw_overview(library: Library, *, is_shared: bool) -> None:
    counts = library.count_documents()
    layout.draw_header(t("library.title"), t("library.shared") if is_shared else t("library.lead"))
    scanning.draw(library)
    if not counts.own_count:
        library_add.draw_introduction(library)
        library_add.draw(library, is_shared=is_shared)
    notebook, names = notebooks.choose_notebook()
    if counts.own_count + counts.sample_count:
        layout.draw_section_title(t("library.search"))
        library_search.draw(
            library, has_both_origins=bool(counts.own_count and counts.sample_count), document_names=names
        )
        own_label = t("library.own", n=format_number(counts.own_count))
        layout.draw_section_title(own_label if counts.own_count and not counts.sample_count else t("library.documents"))
    library_list.draw_removed(library)
    if counts.own_count + counts.sample_count:
        library_list.draw(
            library,
            own_count=counts.own_count,
            sample_count=counts.sample_count,
            notebook=notebook,
            document_names=names,
        )
    if counts.own_count:
        layout.draw_section_title(t("library.add"))
        library_add.draw(library, is_shared=is_shared)
    library_list.draw_bin(library)
    draw_sample_switch(library, counts.sample_count)


current_application = get_application()
requested_document = library_reader.requested_position()
if requested_document is None:
    draw_overview(current_application.library, is_shared=login.read_config().is_required)
else:
    layout.draw_header(t("library.title"))
    library_reader.draw(current_application.library, *requested_document)
