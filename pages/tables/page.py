"""Tables page: start a table that compares many things by the same questions, or show one."""

from __future__ import annotations

import streamlit as st

from pages.shared import errors, layout, run_navigation, run_options
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, format_number, t
from pages.shared.login import current_owner
from pages.tables import form
from research import Grid, Plan, RunOptions, get_application

MAX_TABLES = 20


def draw_form() -> None:
    """Draw the forms for a table from a sentence or from rows and columns."""
    sentence, manual = st.tabs([t("tables.from_sentence"), t("tables.by_hand")], key="tables_way")
    with sentence, st.form("sentence", border=False, enter_to_submit=True):
        text = st.text_area(
            t("tables.sentence"),
            key="table_sentence",
            placeholder=t("tables.placeholder"),
            label_visibility="collapsed",
            height=84,
        )
        st.caption(t("tables.sentence_help"))
        if st.form_submit_button(t("tables.propose"), type="primary", key="propose", icon=":material/table_view:"):
            start_table(text, None)
    with manual:
        grid = form.draw_table_form()
        submitted = st.button(
            t("tables.fill"), type="primary", key="fill", icon=":material/table_view:", disabled=grid is None
        )
        if grid:
            if submitted:
                start_table("", grid)
            draw_estimate(grid)


def chosen_options() -> RunOptions | None:
    """Return the options with the selected sources, or None if no source is selected."""
    defaults = get_application().services_for(current_owner()).default_options()
    chosen = st.session_state.get("table_sources", list(defaults.sources))
    return defaults.model_copy(update={"sources": tuple(chosen)}) if chosen else None


def draw_estimate(grid: Grid) -> None:
    """Draw the number of cells and the estimated number of searches."""
    if chosen := chosen_options():
        estimate = get_application().estimate_usage(chosen, plan=Plan(grid=grid), owner=current_owner())
        cells = format_number(len(grid.rows) * len(grid.columns))
        st.caption(t("tables.costs", cells=cells, searches=format_number(estimate.searches)))


def start_table(question: str, grid: Grid | None) -> None:
    chosen = chosen_options()
    if chosen is None:
        st.error(t("ask.no_sources"))
        return
    with run_navigation.catch_start_errors():
        run_navigation.open_run(
            get_application().start_table(question, grid=grid, options=chosen, owner=current_owner())
        )


def draw_earlier_tables() -> None:
    """Draw links to earlier tables, the latest first."""
    tables = [table for table in get_application().runs.recent_runs(owner=current_owner()) if table.options.table][
        :MAX_TABLES
    ]
    if not tables:
        return
    layout.draw_section_title(t("tables.earlier"))
    with st.container(key="recent", gap="xsmall"):
        for table in tables:
            with (
                errors.catch_row_errors(),
                st.container(
                    horizontal=True, vertical_alignment="center", gap="small", horizontal_alignment="distribute"
                ),
            ):
                question = escape_markdown(table.question, 100)
                run_navigation.draw_run_link(table.id, question, ":material/table_view:", "tables")
                with st.container(horizontal=True, vertical_alignment="center", width="content"):
                    if table.status != "done":
                        run_navigation.draw_status_badge(table.status)
                    st.caption(format_local_time(table.created), width="content")


def draw_start_page() -> None:
    """Draw the page without a selected run: forms, sources and earlier tables."""
    layout.draw_header(t("tables.title"), t("tables.lead"))
    draw_form()
    defaults = get_application().services_for(current_owner()).default_options()
    run_options.draw_sources("table_sources", defaults.sources)
    draw_earlier_tables()


if not run_navigation.draw_current_run(run_navigation.LAST_TABLE_KEY):
    draw_start_page()
