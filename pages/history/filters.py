"""What the history is narrowed to: widgets whose values are also part of the page's address."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from pages.shared import run_navigation
from pages.shared.localization import t

KINDS = ("all", "question", "report", "table", "database", "places")
STATUS_GROUPS = {
    "all": (),
    "done": ("done",),
    "active": ("queued", "running", "waiting"),
    "unfinished": ("stopped", "interrupted", "failed"),
}
PERIODS = ("all", "today", "week", "month", "own")
PERIOD_DAYS = {"today": 0, "week": 6, "month": 29}  # before today
QUERY_PARAMS = ("q", "kind", "state", "period", "from", "to", "tag", "pinned", "page")  # in the address
WIDGET_KEYS = ("history_filter", "history_kind", "history_state", "history_period", "history_days",
        "history_tag", "history_pinned")  # fmt: skip


def clear_filters() -> None:
    """Back to everything."""
    _clear_widgets()
    for name in QUERY_PARAMS:
        st.query_params.pop(name, None)


def _clear_widgets() -> None:
    for key in (*WIDGET_KEYS, "history_page", "history_wanted"):
        st.session_state.pop(key, None)


def draw(tags: Sequence[str]) -> dict[str, Any]:
    """The filters; returns what is wanted, as `runs.history` takes it."""
    if run_navigation.is_history_navigation():
        _clear_widgets()
    _read_query_params(tags)
    chosen = st.session_state
    with st.container(key="history_filters", gap="small"):
        st.text_input(
            t("history.search"), key="history_filter", type="search", icon=":material/search:",
            placeholder=t("history.search"), label_visibility="collapsed", max_chars=200,
        )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _draw_choice("kind", KINDS)
            _draw_choice("state", tuple(STATUS_GROUPS))
            _draw_choice("period", PERIODS)
            if tags:
                st.selectbox(
                    t("history.tag"), ["", *tags], key="history_tag", width=160,
                    format_func=lambda tag: tag or t("history.any_tag"),
                    label_visibility="collapsed",
                )  # fmt: skip
            st.toggle(t("history.pinned"), key="history_pinned")
        if chosen.history_period == "own":
            st.date_input(t("history.days"), key="history_days", width=320)
    since, until = _period_bounds(chosen.history_period, chosen.get("history_days", ()))
    wanted = {
        "words": chosen.history_filter.strip(),
        "kind": "" if chosen.history_kind == "all" else chosen.history_kind,
        "statuses": STATUS_GROUPS[chosen.history_state],
        "since": since,
        "until": until,
        "tag": chosen.get("history_tag") or "",
        "pinned": chosen.history_pinned,
    }
    _write_query_params()
    return wanted


def _draw_choice(name: str, options: Sequence[str]) -> None:
    words = {"kind": "history_kind", "state": "history_state", "period": "history_period"}[name]
    st.selectbox(
        {"kind": t("history.kind"), "state": t("history.state"), "period": t("history.period")}[name],
        options, key=words, width=160, label_visibility="collapsed",
        format_func=lambda one: _choice_label(name, one),
    )  # fmt: skip


def _choice_label(name: str, value: str) -> str:
    if name == "kind":
        return t(f"history_kind.{value}")
    return t(f"history_state.{value}") if name == "state" else t(f"history_period.{value}")


# The address


def _read_query_params(tags: Sequence[str]) -> None:
    """What the address says, where nothing was chosen yet on the page."""
    asked, chosen = st.query_params, st.session_state
    chosen.setdefault("history_filter", asked.get("q", "")[:200])
    for key, name, known in (
        ("history_kind", "kind", KINDS),
        ("history_state", "state", tuple(STATUS_GROUPS)),
        ("history_period", "period", PERIODS),
    ):
        value = asked.get(name, "all")
        chosen.setdefault(key, value if value in known else "all")
    chosen.setdefault("history_pinned", asked.get("pinned") == "1")
    if tags:
        tag = chosen.get("history_tag", asked.get("tag", ""))
        chosen.history_tag = tag if tag in tags else ""
    if chosen.history_period == "own" and "history_days" not in chosen:
        today = datetime.now(browser_timezone()).date()
        days = _parse_day(asked.get("from", "")), _parse_day(asked.get("to", ""))
        first, last = days[0] or today - timedelta(days=6), days[1] or today
        chosen.history_days = (min(first, last), max(first, last))


def _write_query_params() -> None:
    chosen = st.session_state
    days = [*chosen.get("history_days", ())] if chosen.history_period == "own" else []
    told = {
        "q": chosen.history_filter.strip(),
        "kind": chosen.history_kind.replace("all", ""),
        "state": chosen.history_state.replace("all", ""),
        "period": chosen.history_period.replace("all", ""),
        "tag": chosen.get("history_tag") or "",
        "pinned": "1" if chosen.history_pinned else "",
        "from": days[0].isoformat() if days else "",
        "to": days[1].isoformat() if len(days) > 1 else "",
    }
    for name, value in told.items():
        if value and st.query_params.get(name) != value:
            st.query_params[name] = value
        elif not value and name in st.query_params:
            del st.query_params[name]


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


# Days


def browser_timezone() -> ZoneInfo:
    """The visitor's time zone."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _period_bounds(period: str, days: Sequence[date]) -> tuple[datetime | None, datetime | None]:
    """The first moment of a period, and the first one after it."""
    if period in PERIOD_DAYS:
        first = datetime.now(browser_timezone()).date() - timedelta(days=PERIOD_DAYS[period])
        return _midnight_utc(first), None
    if period == "own" and days:
        return _midnight_utc(days[0]), _midnight_utc(days[-1] + timedelta(days=1)) if len(days) > 1 else None
    return None, None


def _midnight_utc(day: date) -> datetime:
    return datetime.combine(day, time(), browser_timezone()).astimezone(UTC)
