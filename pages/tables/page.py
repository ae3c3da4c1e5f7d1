"""Compare many things by the same questions: the table as it is asked for, and the tables there are, of
which one is drawn here like an answer."""

from __future__ import annotations

import streamlit as st

from pages.shared import asking, errors, layout
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import address, local_time, named, number, source_name, t
from pages.tables import form
from research import Grid, Options, PaceError, Plan, QuestionError, application

SHOWN = 20


def asked() -> None:
    """A table from a sentence, or by its rows and columns."""
    sentence, own = st.tabs([t("tables.from_sentence"), t("tables.by_hand")], key="tables_way")
    with sentence, st.form("sentence", border=False, enter_to_submit=True):
        text = st.text_area(
            t("tables.sentence"), key="table_sentence", placeholder=t("tables.placeholder"),
            label_visibility="collapsed", height=84,
        )  # fmt: skip
        st.caption(t("tables.sentence_help"))
        if st.form_submit_button(
            t("tables.propose"), type="primary", key="propose", icon=":material/table_view:"
        ):
            begin(text, None)
    with own:
        grid = form.by_hand()
        if st.button(
            t("tables.fill"), type="primary", key="fill", icon=":material/table_view:",
            disabled=grid is None,
        ) and grid:  # fmt: skip
            begin("", grid)
        if grid:
            costs(grid)


def limits() -> Options | None:
    """What the table may use, as it is chosen below; None without a source."""
    usual = application.services(owner=owner()).usual()
    chosen = st.session_state.get("table_sources", list(usual.sources))
    return usual.model_copy(update={"sources": tuple(chosen)}) if chosen else None


def sources() -> None:
    usual = application.services(owner=owner()).usual()
    st.pills(
        t("ask.sources"), list(application.desk().sources), selection_mode="multi",
        default=list(usual.sources), format_func=lambda name: plain(source_name(name)),
        key="table_sources",
    )  # fmt: skip


def costs(grid: Grid) -> None:
    """How many cells there are, and what filling them takes at most."""
    if chosen := limits():
        likely = application.estimate(chosen, plan=Plan(grid=grid), owner=owner())
        cells = number(len(grid.rows) * len(grid.columns))
        st.caption(t("tables.costs", cells=cells, searches=number(likely.searches)))


def begin(question: str, grid: Grid | None) -> None:
    chosen = limits()
    if chosen is None:
        st.error(t("ask.no_sources"))
        return
    try:
        run = application.tabulate(question, grid=grid, options=chosen, owner=owner())
    except (QuestionError, PaceError) as error:
        asking.refuse(error)
        return
    asking.show(run)
    st.rerun()


def earlier() -> None:
    """The tables that there are, the latest first."""
    found = [item for item in application.recent(owner=owner()) if item.options.table][:SHOWN]
    if not found:
        return
    layout.section(t("tables.earlier"))
    with st.container(key="recent", gap="xsmall"):
        for item in found:
            with errors.row(), st.container(
                horizontal=True, vertical_alignment="center", gap="small",
                horizontal_alignment="distribute",
            ):  # fmt: skip
                st.page_link(
                    script("tables"), label=plain(item.question, 100), query_params=address(item.id),
                    icon=":material/table_view:",
                )  # fmt: skip
                with st.container(horizontal=True, vertical_alignment="center", width="content"):
                    if item.status != "done":
                        color = asking.COLORS.get(item.status, "orange")
                        st.badge(plain(named("run", item.status)), color=color)
                    st.caption(local_time(item.created), width="content")


def home() -> None:
    """What can be compared, and the tables that there are."""
    layout.header(t("tables.title"), t("tables.lead"))
    asked()
    sources()
    earlier()


asking.home(asking.TABLES)
shown = asking.current()
if shown is not None:
    from pages.run import view as run  # heavier than all else here, and not needed to ask

    run.draw(shown)
else:
    home()
