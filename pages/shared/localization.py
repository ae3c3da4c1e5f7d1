"""Messages, dates and numbers in the visitor's language, such as `t("ask.title")`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from pages.shared import locale_format
from pages.shared.escaping import escape_markdown
from pages.shared.locale_format import Language as Language
from research import Settings, has_message, message

Translator = Callable[..., str]
LANGUAGE_TAGS: dict[Language, str] = {"zh": "zh-CN", "en": "en"}  # BCP 47 language tags


def current_language() -> Language:
    """Return the visitor's language: the one chosen on the page, else that of the browser."""
    chosen = st.session_state.get("lang")
    if chosen in ("zh", "en"):
        return chosen  # type: ignore[no-any-return]
    return browser_language()


def browser_language() -> Language:
    """Return the language of the browser: Chinese for a Chinese locale, else English."""
    return "zh" if str(st.context.locale or "").lower().startswith("zh") else "en"


def language_params() -> dict[str, str]:
    """Return the query parameter of a language chosen on the page, which links would drop."""
    return {"lang": current_language()} if current_language() != browser_language() else {}


def run_query_params(run_id: str) -> dict[str, str]:
    """Return the query parameters of a run's page."""
    return {"run": run_id} | language_params()


def t(key: str, **values: object) -> str:
    """Return the message of a key in the visitor's language, with its values filled in."""
    return message(key, current_language(), **values)


def setting_label(name: str) -> str:
    """Return the label of a setting on the pages in the visitor's language."""
    form = Settings.declarations()[name].variable.form
    return form.label.in_language(current_language()) if form else name


def setting_help(name: str) -> str | None:
    """Return the help of a setting on the pages in the visitor's language; None if there is none."""
    form = Settings.declarations()[name].variable.form
    return form.help.in_language(current_language()) if form and form.help else None


def create_translator(language: Language) -> Translator:
    """Return a function like `t` for a fixed language, such as that of a report.

    Files built outside a session need one, too.
    """
    return lambda key, **values: message(key, language, **values)


def format_day(value: date) -> str:
    """Format a date for the visitor's language."""
    return locale_format.format_day(value, current_language())


def day_column_format() -> str:
    """Return the format of date columns, which keeps dates sortable and matches `format_day`."""
    return "YYYY年M月D日" if current_language() == "zh" else "D MMM YYYY"


def cost_column_format() -> str:
    """Return the format of cost columns; four decimal places, since small amounts occur."""
    return "US$%.4f" if current_language() == "zh" else "$%.4f"


def tool_name(name: str) -> str:
    """Return the localised name of a search tool.

    An empty name means the usual tool; an unknown tool keeps its own name.
    """
    return value_label("tool", name) if name else t("tool.usual")


def source_name(name: str) -> str:
    """Return the localised name of a source or service.

    A name from a plugin is outside text and needs escaping.
    """
    return value_label("source", name)


def join_source_names(names: str) -> str:
    """Return the localised and escaped names of sources or services separated by commas."""
    return t("mark.list").join(escape_markdown(source_name(name)) for name in names.split(", "))


def value_label(family: str, value: str) -> str:
    """Return the message of a value in a family, such as `reason.timeout`.

    A value without a message, from a later version or a plugin, is returned unchanged. Escape it as
    outside text.
    """
    key = f"{family}.{value}"
    return t(key) if has_message(key) else value


def format_number(value: float) -> str:
    """Format a number for the visitor's language."""
    return locale_format.format_number(value, current_language())


def format_money(dollars: float) -> str:
    """Format US dollars."""
    return locale_format.format_money(dollars, current_language())


def format_duration(value: float) -> str:
    """Format seconds for the visitor's language."""
    return locale_format.format_duration(value, current_language())


def browser_timezone() -> ZoneInfo:
    """Return the time zone of the browser, or UTC if it is unknown."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def format_local_time(moment: datetime) -> str:
    """Format a time in the visitor's time zone, to the minute."""
    return locale_format.format_datetime(moment, current_language(), browser_timezone())


def format_size(size_bytes: int) -> str:
    """Format bytes for the visitor's language."""
    return locale_format.format_size(size_bytes, current_language())
