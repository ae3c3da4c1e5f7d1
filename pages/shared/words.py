"""The texts of the catalogue in the visitor's language: `t("ask.title")`; and how that writes dates and numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from pages.shared import forms
from research import has_message, message

Lang = Literal["zh", "en"]
Say = Callable[..., str]
CODES: dict[Lang, str] = {"zh": "zh-CN", "en": "en"}  # the languages as browsers call them


def lang() -> Lang:
    """The visitor's language: the switch, else the browser's."""
    chosen = st.session_state.get("lang")
    if chosen in ("zh", "en"):
        return chosen  # type: ignore[no-any-return]
    return browser_lang()


def browser_lang() -> Lang:
    return "zh" if str(st.context.locale or "").lower().startswith("zh") else "en"


def address(run_id: str) -> dict[str, str]:
    """The query of a run's address, for `st.switch_page`, which would forget the language that was
    chosen on the page."""
    return {"run": run_id, "lang": lang()} if lang() != browser_lang() else {"run": run_id}


def t(key: str, **values: object) -> str:
    """The words for a key, with the values filled in."""
    return message(key, lang(), **values)


def speaker(language: Lang) -> Say:
    """`t` in a given language: for what is in that of a report, and for files that are made without
    a visitor."""
    return lambda key, **values: message(key, language, **values)


def day_text(day: date, language: Lang) -> str:
    """A day as a reader of that language writes it."""
    return forms.day(day, language)


def day(value: date) -> str:
    """A day as the visitor writes it."""
    return forms.day(value, lang())


def day_form() -> str:
    """How the dates of a table's column are written, which sort as dates: what `day` writes."""
    return "YYYY年M月D日" if lang() == "zh" else "D MMM YYYY"


def cost_form() -> str:
    """How the amounts of a table's column are written; small ones among them, so four digits."""
    return "US$%.4f" if lang() == "zh" else "$%.4f"


def tool_name(name: str) -> str:
    """What a way of searching the news is called; one of a later version keeps its own name."""
    return named("tool", name) if name else t("tool.usual")


def source_name(name: str) -> str:
    """What a source, or a service that it asks, is called. It may come from a package of others, so it
    is text from outside."""
    return named("source", name)


def named(family: str, value: str) -> str:
    """The text of a value in a family of texts, such as `reason.timeout`. A value that has none, stored
    by a later version or brought by a package, names itself; it is text from outside."""
    key = f"{family}.{value}"
    return t(key) if has_message(key) else value


def number(value: float) -> str:
    return forms.number(value, lang())


def money(dollars: float) -> str:
    """US dollars."""
    return forms.money(dollars, lang())


def seconds(value: float) -> str:
    return forms.duration(value, lang())


def _zone() -> ZoneInfo:
    """The browser's time zone."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def local_time(moment: datetime) -> str:
    """A time in the visitor's time zone, to the minute."""
    return forms.moment(moment, lang(), _zone())


def size(count: int) -> str:
    return forms.size(count, lang())
