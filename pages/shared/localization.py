"""The texts of the catalogue in the visitor's language: `t("ask.title")`; and how that writes dates and numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from pages.shared import locale_format
from research import has_message, message

Language = Literal["zh", "en"]
Translator = Callable[..., str]
LANGUAGE_TAGS: dict[Language, str] = {"zh": "zh-CN", "en": "en"}  # the languages as browsers call them


def current_language() -> Language:
    """The visitor's language: the switch, else the browser's."""
    chosen = st.session_state.get("lang")
    if chosen in ("zh", "en"):
        return chosen  # type: ignore[no-any-return]
    return browser_language()


def browser_language() -> Language:
    return "zh" if str(st.context.locale or "").lower().startswith("zh") else "en"


def run_query_params(run_id: str) -> dict[str, str]:
    """The query of a run's address, for `st.switch_page`, which would forget the language that was
    chosen on the page."""
    return {"run": run_id, "lang": current_language()} if current_language() != browser_language() else {"run": run_id}


def t(key: str, **values: object) -> str:
    """The words for a key, with the values filled in."""
    return message(key, current_language(), **values)


def create_translator(language: Language) -> Translator:
    """`t` in a given language: for what is in that of a report, and for files that are made without
    a visitor."""
    return lambda key, **values: message(key, language, **values)


def format_day_in(day: date, language: Language) -> str:
    """A day as a reader of that language writes it."""
    return locale_format.format_day(day, language)


def format_day(value: date) -> str:
    """A day as the visitor writes it."""
    return locale_format.format_day(value, current_language())


def day_column_format() -> str:
    """How the dates of a table's column are written, which sort as dates: what `day` writes."""
    return "YYYY年M月D日" if current_language() == "zh" else "D MMM YYYY"


def cost_column_format() -> str:
    """How the amounts of a table's column are written; small ones among them, so four digits."""
    return "US$%.4f" if current_language() == "zh" else "$%.4f"


def tool_name(name: str) -> str:
    """What a way of searching the news is called; one of a later version keeps its own name."""
    return value_label("tool", name) if name else t("tool.usual")


def source_name(name: str) -> str:
    """What a source, or a service that it asks, is called. It may come from a package of others, so it
    is text from outside."""
    return value_label("source", name)


def value_label(family: str, value: str) -> str:
    """The text of a value in a family of texts, such as `reason.timeout`. A value that has none, stored
    by a later version or brought by a package, names itself; it is text from outside."""
    key = f"{family}.{value}"
    return t(key) if has_message(key) else value


def format_number(value: float) -> str:
    return locale_format.format_number(value, current_language())


def format_money(dollars: float) -> str:
    """US dollars."""
    return locale_format.format_money(dollars, current_language())


def format_duration(value: float) -> str:
    return locale_format.format_duration(value, current_language())


def _browser_timezone() -> ZoneInfo:
    """The browser's time zone."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def format_local_time(moment: datetime) -> str:
    """A time in the visitor's time zone, to the minute."""
    return locale_format.format_datetime(moment, current_language(), _browser_timezone())


def format_size(size_bytes: int) -> str:
    return locale_format.format_size(size_bytes, current_language())
