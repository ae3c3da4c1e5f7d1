"""Dates, times, numbers, amounts and sizes formatted for a language with Babel.

Language and time zone are arguments; nothing here reads the session.
"""

from __future__ import annotations

import math
from datetime import date, datetime, tzinfo
from typing import Literal

from babel import Locale
from babel.dates import format_date
from babel.numbers import format_currency, format_decimal

from research import message

Language = Literal["zh", "en"]
LOCALES = {"zh": Locale.parse("zh_Hans_CN"), "en": Locale.parse("en_GB")}
LANGUAGE_NAMES = {code: locale.language_name for code, locale in LOCALES.items()}  # autonyms


def format_day(value: date, language: Language) -> str:
    """Format a date, such as 2026年11月20日 or 20 Nov 2026."""
    form = "long" if language == "zh" else "d MMM y"
    return format_date(value, form, locale=LOCALES[language])


def format_datetime(value: datetime, language: Language, timezone: tzinfo) -> str:
    """Format a time in a time zone, to the minute."""
    local = value.astimezone(timezone)
    between = " " if language == "zh" else ", "
    return f"{format_day(local.date(), language)}{between}{local:%H:%M}"


def format_number(value: float, language: Language) -> str:
    """Format a number with grouped thousands; never abbreviated, since figures are cited."""
    return format_decimal(value, locale=LOCALES[language])


def format_money(dollars: float, language: Language) -> str:
    """Format US dollars: cents from one dollar on, below that two significant digits."""
    digits = 2 if dollars >= 1 or dollars <= 0 else 1 - math.floor(math.log10(dollars))
    digits = min(max(digits, 2), 6)
    form = f"¤#,##0.{'0' * 2}{'#' * (digits - 2)}"
    amount = format_currency(dollars, "USD", form, locale=LOCALES[language], currency_digits=False)
    return amount.replace("US$", "$") if language == "en" else amount


def format_duration(seconds: float, language: Language) -> str:
    """Format seconds, such as 41 秒 or 41 s, 3 分 20 秒 or 3 min 20 s, 2 小时 5 分 or 2 h 5 min."""
    second, minute, hour = (message(f"duration.{unit}", language) for unit in ("second", "minute", "hour"))
    whole = math.floor(seconds)
    if whole >= 3600:
        parts = ((whole // 3600, hour), (whole % 3600 // 60, minute))
        return " ".join(f"{format_number(n, language)} {unit}" for n, unit in parts if n)
    if whole >= 60:
        return " ".join(f"{n} {unit}" for n, unit in ((whole // 60, minute), (whole % 60, second)) if n)
    digits = 2 if seconds < 1 else 1 if seconds < 10 else 0
    figure = "<0.01" if seconds < 0.01 else f"{seconds if digits else whole:.{digits}f}"
    return f"{figure} {second}"


def format_size(size_bytes: int, language: Language = "en") -> str:
    """Format bytes in the unit that fits, in powers of 1000."""
    amount = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{format_decimal(amount, '#,##0.0', locale=LOCALES[language])} GB"
