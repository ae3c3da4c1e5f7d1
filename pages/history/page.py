"""All runs: what was asked, where words stand in it, how it ended, and the way back to each."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.history import bin, compare
from pages.history import filters as history_filters
from pages.history import rows as history_rows
from pages.shared import layout
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.words import t
from research import HistoryPage, application

SHOWN = 15  # conversations on a page


def welcome() -> None:
    """What is seen before anything was asked."""
    with layout.column("history_empty"):
        layout.section(t("history.empty"))
        st.markdown(t("history.empty_how"))
        st.page_link(
            script("ask"), label=t("history.ask"), icon=":material/search:", query_params={}
        )


def page_number(wanted: dict[str, Any]) -> int:
    """Which page is looked at, from 0; another filter begins with the first."""
    chosen = st.session_state
    if "history_page" not in chosen:
        asked = st.query_params.get("page", "")
        chosen.history_page = max(0, int(asked) - 1) if asked.isdecimal() and len(asked) < 7 else 0
    elif chosen.get("history_wanted", wanted) != wanted:
        chosen.history_page = 0
    chosen.history_wanted = wanted
    return int(chosen.history_page)


def turn_page(by: int) -> None:
    st.session_state.history_page = max(0, st.session_state.history_page + by)


def pager(found: HistoryPage, at: int) -> None:
    if at:
        st.query_params["page"] = str(at + 1)
    elif "page" in st.query_params:
        del st.query_params["page"]
    if found.total <= SHOWN:
        return
    first, last = at * SHOWN + 1, min((at + 1) * SHOWN, found.total)
    with st.container(
        horizontal=True, horizontal_alignment="center", vertical_alignment="center", key="pager"
    ):
        st.button(
            t("history.earlier"), key="earlier", icon=":material/chevron_left:", disabled=not at,
            on_click=turn_page, args=(-1,),
        )  # fmt: skip
        st.caption(t("history.range", first=first, last=last, total=found.total), width="content")
        st.button(
            t("history.later"), key="later", icon=":material/chevron_right:",
            disabled=last >= found.total, on_click=turn_page, args=(1,),
        )  # fmt: skip


def tools(in_bin: int) -> bool:
    """What goes beside the list: comparing, and the bin. Says whether runs are being chosen."""
    chosen = st.session_state
    comparing = bool(chosen.get("history_comparing"))
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute",
        key="history_tools",
    ):  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.button(
                t("history.compare_stop") if comparing else t("history.compare"), key="comparing",
                icon=":material/compare_arrows:", type="tertiary", on_click=choose,
            )  # fmt: skip
            if comparing:
                ticked = chosen.get(history_rows.TICKED, [])
                if len(ticked) == 2:
                    st.page_link(
                        script("history"), label=t("history.compare_now"),
                        icon=":material/arrow_forward:", query_params={"compare": ",".join(ticked)},
                    )  # fmt: skip
                else:
                    st.caption(t("history.compare_pick", n=len(ticked)), width="content")
        if in_bin:
            st.page_link(
                script("history"), label=t("history.bin", n=in_bin), icon=":material/delete:",
                query_params={"view": "bin"},
            )  # fmt: skip
    return comparing


def choose() -> None:
    st.session_state.history_comparing = not st.session_state.get("history_comparing")
    st.session_state[history_rows.TICKED] = []


def draw() -> None:
    layout.header(t("history.title"), t("history.lead"))
    bin.notice()
    in_bin = len(application.binned(owner=owner()))
    if not in_bin and not application.history(limit=1, owner=owner()).total:
        welcome()
        return
    tags = list(application.tags(owner=owner()))
    wanted = history_filters.draw(tags)
    at = page_number(wanted)
    found = application.history(**wanted, limit=SHOWN, offset=at * SHOWN, owner=owner())
    if at and not found.entries:  # what was on it is gone
        st.session_state.history_page = at = 0
        found = application.history(**wanted, limit=SHOWN, owner=owner())
    comparing = tools(in_bin)
    if found.partial:
        st.caption(t("history.partial"))
    if not found.entries:
        st.caption(t("history.none"))
        st.button(t("history.clear"), key="clear", on_click=history_filters.clear)
    with st.container(key="history_list", gap=None):
        for entry in found.entries:
            history_rows.draw(entry, tags, comparing=comparing)
    pager(found, at)


if chosen_runs := compare.asked():
    compare.draw(chosen_runs)
elif st.query_params.get("view") == "bin":
    bin.draw()
else:
    draw()
