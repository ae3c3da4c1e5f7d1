"""Filters of the history, as widgets whose values are mirrored in the page's address."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import streamlit as st

from pages.shared import run_navigation
from pages.shared.localization import browser_timezone, t

KINDS = ("all", "question", "report", "table", "database", "places")
STATUS_GROUPS = {
    "all": (),
    "done": ("done",),
    "active": ("queued", "running", "waiting"),
    "unfinished": ("stopped", "interrupted", "failed"),
}
PERIODS = ("all", "today", "week", "month", "own")
PERIOD_DAYS = {"today": 0, "week": 6, "month": 29}  # days before today
QUERY_PARAMS = ("q", "kind", "state", "period", "from", "to", "tag", "pinned", "page")
WIDGET_NAMES = ("filter", "kind", "state", "period", "days", "tag", "pinned")  # their keys begin with `history_`


def clear_filters() -> None:
    """Reset all filters."""
    _clear_widgets()
    for name in QUERY_PARAMS:
        st.query_params.pop(name, None)


def _clear_widgets() -> None:
    for name in (*WIDGET_NAMES, "page", "wanted"):
        st.session_state.pop(f"history_{name}", None)


def draw(tags: Sequence[str]) -> dict[str, Any]:
    """Draw the filters. Return the arguments of a `HistoryQuery`."""
    if run_navigation.is_browser_navigation():
        _clear_widgets()
    _read_query_params(tags)
    state = st.session_state
    with st.container(key="history_filters", gap="small"):
        st.text_input(
            t("history.search"),
            key="history_filter",
            type="search",
            icon=":material/search:",
            placeholder=t("history.search"),
            label_visibility="collapsed",
            max_chars=200,
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _draw_choice("kind", KINDS)
            _draw_choice("state", tuple(STATUS_GROUPS))
            _draw_choice("period", PERIODS)
            if tags:
                st.selectbox(
                    t("history.tag"),
                    ["", *tags],
                    key="history_tag",
                    width=160,
                    format_func=lambda tag: tag or t("history.any_tag"),
                    label_visibility="collapsed",
                )
            st.toggle(t("history.pinned"), key="history_pinned")
        if state.history_period == "own":
            st.date_input(t("history.days"), key="history_days", width=320)
    since, until = _period_bounds(state.history_period, state.get("history_days", ()))
    _write_query_params()
    return {
        "words": state.history_filter.strip(),
        "kind": "" if state.history_kind == "all" else state.history_kind,
        "statuses": STATUS_GROUPS[state.history_state],
        "since": since,
        "until": until,
        "tag": state.get("history_tag") or "",
        "pinned": state.history_pinned,
    }


def _draw_choice(name: str, options: Sequence[str]) -> None:
    st.selectbox(
        t(f"history.{name}"),
        options,
        key=f"history_{name}",
        width=160,
        label_visibility="collapsed",
        format_func=lambda value: t(f"history_{name}.{value}"),
    )


# The address


def _read_query_params(tags: Sequence[str]) -> None:
    """Initialize the widgets from the address where the session has no value yet."""
    params, state = st.query_params, st.session_state
    state.setdefault("history_filter", params.get("q", "")[:200])
    for name, allowed in (("kind", KINDS), ("state", STATUS_GROUPS), ("period", PERIODS)):
        value = params.get(name, "all")
        state.setdefault(f"history_{name}", value if value in allowed else "all")
    state.setdefault("history_pinned", params.get("pinned") == "1")
    if tags:
        tag = state.get("history_tag", params.get("tag", ""))
        state.history_tag = tag if tag in tags else ""
    if state.history_period == "own" and "history_days" not in state:
        today = datetime.now(browser_timezone()).date()
        days = _parse_day(params.get("from", "")), _parse_day(params.get("to", ""))
        first, last = days[0] or today - timedelta(days=6), days[1] or today
        state.history_days = (min(first, last), max(first, last))


def _write_query_params() -> None:
    state = st.session_state
    days = [*state.get("history_days", ())] if state.history_period == "own" else []
    params = {
        "q": state.history_filter.strip(),
        "kind": state.history_kind.replace("all", ""),
        "state": state.history_state.replace("all", ""),
        "period": state.history_period.replace("all", ""),
        "tag": state.get("history_tag") or "",
        "pinned": "1" if state.history_pinned else "",
        "from": days[0].isoformat() if days else "",
        "to": days[1].isoformat() if len(days) > 1 else "",
    }
    for name, value in params.items():
        if value and st.query_params.get(name) != value:
            st.query_params[name] = value
        elif not value and name in st.query_params:
            del st.query_params[name]


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


# Periods


def _period_bounds(period: str, days: Sequence[date]) -> tuple[datetime | None, datetime | None]:
    """Return the start (inclusive) and end (exclusive) of a period in UTC, None where open."""
    if period in PERIOD_DAYS:
        first = datetime.now(browser_timezone()).date() - timedelta(days=PERIOD_DAYS[period])
        return _midnight_utc(first), None
    if period == "own" and days:
        return _midnight_utc(days[0]), _midnight_utc(days[-1] + timedelta(days=1)) if len(days) > 1 else None
    return None, None


def _midnight_utc(day: date) -> datetime:
    return datetime.combine(day, time(), browser_timezone()).astimezone(UTC)
