"""History page: search, filter, compare and manage all conversations."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.history import compare, entries, filters, recycle_bin
from pages.shared import layout
from pages.shared.localization import t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import HistoryPage, HistoryQuery, get_application

PAGE_SIZE = 15  # conversations on a page


def draw_empty_history() -> None:
    """Draw the page of an owner without conversations."""
    with layout.centered_column("history_empty"):
        layout.draw_section_title(t("history.empty"))
        st.markdown(t("history.empty_how"))
        st.page_link(page_script("ask"), label=t("history.ask"), icon=":material/search:", query_params={})


def current_page_index(filter_values: dict[str, Any]) -> int:
    """Return the index of the current page, from 0. A change of filters leads back to the first page."""
    state = st.session_state
    if "history_page" not in state:
        requested = st.query_params.get("page", "")
        state.history_page = max(0, int(requested) - 1) if requested.isdecimal() and len(requested) < 7 else 0
    elif state.get("history_wanted", filter_values) != filter_values:
        state.history_page = 0
    state.history_wanted = filter_values
    return int(state.history_page)


def change_page(step: int) -> None:
    st.session_state.history_page = max(0, st.session_state.history_page + step)


def draw_pager(page: HistoryPage, page_index: int) -> None:
    if page_index:
        st.query_params["page"] = str(page_index + 1)
    elif "page" in st.query_params:
        del st.query_params["page"]
    if page.total <= PAGE_SIZE:
        return
    first, last = page_index * PAGE_SIZE + 1, min((page_index + 1) * PAGE_SIZE, page.total)
    with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center", key="pager"):
        st.button(
            t("history.earlier"),
            key="earlier",
            icon=":material/chevron_left:",
            disabled=not page_index,
            on_click=change_page,
            args=(-1,),
        )
        st.caption(t("history.range", first=first, last=last, total=page.total), width="content")
        st.button(
            t("history.later"),
            key="later",
            icon=":material/chevron_right:",
            disabled=last >= page.total,
            on_click=change_page,
            args=(1,),
        )


def draw_tools(bin_count: int) -> bool:
    """Draw the links to comparison and recycle bin. Return True while runs are being selected."""
    state = st.session_state
    is_comparing = bool(state.get("history_comparing"))
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="history_tools"
    ):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.button(
                t("history.compare_stop") if is_comparing else t("history.compare"),
                key="comparing",
                icon=":material/compare_arrows:",
                type="tertiary",
                on_click=toggle_comparing,
            )
            if is_comparing:
                compared_ids = state.get(entries.COMPARED_RUNS_KEY, [])
                if len(compared_ids) == 2:
                    st.page_link(
                        page_script("history"),
                        label=t("history.compare_now"),
                        icon=":material/arrow_forward:",
                        query_params={"compare": ",".join(compared_ids)},
                    )
                else:
                    st.caption(t("history.compare_pick", n=len(compared_ids)), width="content")
        if bin_count:
            st.page_link(
                page_script("history"),
                label=t("history.bin", n=bin_count),
                icon=":material/delete:",
                query_params={"view": "bin"},
            )
    return is_comparing


def toggle_comparing() -> None:
    st.session_state.history_comparing = not st.session_state.get("history_comparing")
    st.session_state[entries.COMPARED_RUNS_KEY] = []


def draw_history() -> None:
    layout.draw_header(t("history.title"), t("history.lead"))
    recycle_bin.draw_undo_notice()
    bin_count = len(get_application().runs.bin_entries(owner=current_owner()))
    if not bin_count and not get_application().runs.search_history(limit=1, owner=current_owner()).total:
        draw_empty_history()
        return
    tags = list(get_application().store.history.tags(current_owner()))
    filter_values = filters.draw(tags)
    page_index = current_page_index(filter_values)
    results = get_application().runs.search_history(
        HistoryQuery(**filter_values), limit=PAGE_SIZE, offset=page_index * PAGE_SIZE, owner=current_owner()
    )
    if page_index and not results.entries:  # the entries of this page were deleted
        st.session_state.history_page = page_index = 0
        results = get_application().runs.search_history(
            HistoryQuery(**filter_values), limit=PAGE_SIZE, owner=current_owner()
        )
    is_comparing = draw_tools(bin_count)
    if results.is_partial:
        st.caption(t("history.partial"))
    if not results.entries:
        st.caption(t("history.none"))
        st.button(t("history.clear"), key="clear", on_click=filters.clear_filters)
    with st.container(key="history_list", gap=None):
        for entry in results.entries:
            entries.draw(entry, tags, is_comparing=is_comparing)
    draw_pager(results, page_index)


if chosen_runs := compare.requested_run_ids():
    compare.draw(chosen_runs)
elif st.query_params.get("view") == "bin":
    recycle_bin.draw()
else:
    draw_history()
