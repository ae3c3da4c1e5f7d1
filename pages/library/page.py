"""Library page: add, search, read and remove documents, which all users share."""

from __future__ import annotations

import streamlit as st

from pages.library import add, documents, notebooks, reader, scanning, search
from pages.shared import layout, login
from pages.shared.localization import format_number, t
from research import Library, get_application


def draw_sample_switch(library: Library, count: int) -> None:
    """Draw the switch that includes the sample documents, with their number."""
    layout.draw_section_title(t("library.sample_title"))
    st.session_state.sample = library.is_sample_enabled
    st.toggle(t("library.sample"), key="sample", on_change=save_sample_choice, args=(library,))
    lines = [t("library.sample_help")]
    if count:
        lines.append(t("library.samples", n=format_number(count)))
    st.caption("  \n".join(lines))


def save_sample_choice(library: Library) -> None:
    """Store the state of the switch. Called when it changes."""
    login.current_owner()  # callbacks run before the router
    library.set_sample_enabled(st.session_state.sample)


def draw_overview(library: Library, *, is_shared: bool) -> None:
    counts = library.count_documents()
    layout.draw_header(t("library.title"), t("library.shared") if is_shared else t("library.lead"))
    scanning.draw(library)
    if not counts.own_count:
        add.draw_introduction(library)
        add.draw(library, is_shared=is_shared)
    notebook, names = notebooks.choose_notebook()
    if counts.own_count + counts.sample_count:
        layout.draw_section_title(t("library.search"))
        search.draw(library, has_both_origins=bool(counts.own_count and counts.sample_count), document_names=names)
        own_label = t("library.own", n=format_number(counts.own_count))
        layout.draw_section_title(own_label if counts.own_count and not counts.sample_count else t("library.documents"))
    documents.draw_removed(library)
    if counts.own_count + counts.sample_count:
        documents.draw(
            library,
            own_count=counts.own_count,
            sample_count=counts.sample_count,
            notebook=notebook,
            document_names=names,
        )
    if counts.own_count:
        layout.draw_section_title(t("library.add"))
        add.draw(library, is_shared=is_shared)
    documents.draw_bin(library)
    draw_sample_switch(library, counts.sample_count)


requested_position = reader.requested_position()
if requested_position is None:
    draw_overview(get_application().library, is_shared=login.read_config().is_required)
else:
    layout.draw_header(t("library.title"))
    reader.draw(get_application().library, *requested_position)
