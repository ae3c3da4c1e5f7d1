"""Forms in which the values of a column are written: numbers, dates, truth values and missing values.

A form is detected for the whole column: every value must be written in it, or the column stays text. What
one value leaves open (is 1,234 a thousand, is 03/04 in March?) another one of the column settles; if none
does, the column stays text with the reason. `convert` brings a value to the form that the database reads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Literal

from research.core.records import Record

ValueKind = Literal["text", "integer", "number", "date", "datetime", "boolean"]
TextReason = Literal["", "day or month first", "different units", "identifier"]
MAX_VALUE_CHARS = 60  # longer ones are text, which no pattern has to search
MAX_INTEGER_DIGITS = 15  # longer ones are identifiers, which lose digits as numbers
MISSING_WORDS = frozenset(
    (
        "n/a",
        "na",
        "#n/a",
        "null",
        "none",
        "nan",
        "nil",
        "-",
        "–",
        "—",
        "--",
        "...",
        "…",
        "?",
        "无",
        "暂无",
        "不详",
        "未知",
        "空",
    )
)
_SCALES = {"": 1, "千": 1_000, "万": 10_000, "百万": 1_000_000, "千万": 10_000_000, "亿": 100_000_000}
_CURRENCIES = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "¥", "￥": "¥", "元": "元", "人民币": "元"}
_UNIT = r"US\$|[$€£¥￥元]|人民币|USD|EUR|GBP|CNY|RMB|JPY|HKD|CHF|[%％‰]"
_SPACES = " \u00a0\u202f\u2009'’"
_NUMBER = re.compile(
    rf"(?P<open>[(（])?\s*(?P<sign>[-+−–])?\s*(?P<before>{_UNIT})?\s*(?P<inner_sign>[-+−–])?"
    rf"(?P<digits>\d[\d.,{_SPACES}]*|\.\d+)\s*(?P<scale>百万|千万|[千万亿])?\s*(?P<after>{_UNIT})?\s*(?P<close>[)）])?",
    re.IGNORECASE,
)
_EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d{1,3}")
_POINT = re.compile(rf"(?:\d+|\d{{1,3}}(?:[,{_SPACES}]\d{{3}})+)?(?:\.\d+)?")
_COMMA = re.compile(rf"(?:\d+|\d{{1,3}}(?:[.{_SPACES}]\d{{3}})+)(?:,\d+)?")
_ISO_DAY = re.compile(
    r"(\d{4})(?:-(\d{1,2})-(\d{1,2})|/(\d{1,2})/(\d{1,2})|\.(\d{1,2})\.(\d{1,2})|年(\d{1,2})月(\d{1,2})日)"
)
_TIME = re.compile(r"[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?")
_NUMERIC_DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
_MONTH = "(" + "|".join(_MONTHS) + r")[a-z]*\.?"
_NAMED_DAY = re.compile(rf"(\d{{1,2}})[ -]{_MONTH},?[ -](\d{{4}})", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"{_MONTH} (\d{{1,2}}),? (\d{{4}})", re.IGNORECASE)
# Values that the database reads as they are; it reads 年, 月 and 日 as dashes.
_PLAIN: dict[ValueKind, re.Pattern[str]] = {
    "integer": re.compile(r"[+-]?\d+"),
    "number": re.compile(r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,3})?"),
    "date": _ISO_DAY,
    "datetime": re.compile(_ISO_DAY.pattern + f"(?:{_TIME.pattern})?"),
    "boolean": re.compile(r"true|false", re.IGNORECASE),
}
_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "是": True, "否": False}


class ColumnFormat(Record):
    """The form in which a column is written.

    Attributes:
        kind: the type of its values.
        decimal_mark: "." or ",", of numbers.
        unit: the unit that stands at every value, such as EUR or %; "" for none.
        date_order: "dmy" or "mdy", of dates such as 03/04/2024; "" for others.
        missing: number of values that only say that there is none, such as N/A.
        reason: why a column that looks like numbers or dates stays text.
        is_plain: whether the database reads all values as they are written.
        is_doubtful: whether nothing tells thousands from decimals, as in 1,234 alone.
    """

    kind: ValueKind = "text"
    decimal_mark: Literal[".", ","] = "."
    unit: str = ""
    date_order: Literal["", "dmy", "mdy"] = ""
    missing: int = 0
    reason: TextReason = ""
    is_plain: bool = True
    is_doubtful: bool = False


def detect_format(values: Iterable[str]) -> ColumnFormat:
    """Return the form of the values of a column, of which blank ones do not count."""
    filled = [text for value in values if (text := value.strip())]
    present = [text for text in filled if text.casefold() not in MISSING_WORDS]
    if not present or max(map(len, present)) > MAX_VALUE_CHARS:
        return ColumnFormat()
    for detect in (_detect_truth, _detect_day, _detect_number):
        found = detect(present)
        if found and found.reason:
            return found
        if found:
            plain = _PLAIN[found.kind]
            is_plain = len(filled) == len(present) and all(map(plain.fullmatch, present))
            return found.model_copy(update={"missing": len(filled) - len(present), "is_plain": is_plain})
    return ColumnFormat()


def _detect_truth(values: Sequence[str]) -> ColumnFormat | None:
    return ColumnFormat(kind="boolean") if all(value.casefold() in _TRUTH for value in values) else None


def _detect_day(values: Sequence[str]) -> ColumnFormat | None:
    if all(_parse_day(value, "") for value in values):
        return ColumnFormat(kind="date")
    if all(_parse_moment(value) for value in values):
        return ColumnFormat(kind="datetime")
    if not all(_NUMERIC_DAY.fullmatch(value) or _parse_day(value, "") for value in values):
        return None
    day_first = all(_parse_day(value, "dmy") for value in values)
    month_first = all(_parse_day(value, "mdy") for value in values)
    if day_first and month_first:
        return ColumnFormat(reason="day or month first")
    if day_first or month_first:
        return ColumnFormat(kind="date", date_order="dmy" if day_first else "mdy")
    return None


def _parse_day(text: str, order: str) -> date | None:
    """Return the day that a text names, with numeric days in an order, "" for none; else None."""
    if match := _ISO_DAY.fullmatch(text):
        year, month, day = (int(part) for part in match.groups() if part)
    elif match := _NAMED_DAY.fullmatch(text):
        year, month, day = int(match[3]), _MONTHS[match[2].lower()], int(match[1])
    elif match := _MONTH_FIRST.fullmatch(text):
        year, month, day = int(match[3]), _MONTHS[match[1].lower()], int(match[2])
    elif order and (match := _NUMERIC_DAY.fullmatch(text)):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        day, month = (first, second) if order == "dmy" else (second, first)
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _parse_moment(text: str) -> str:
    """Return a day with an optional time in ISO form, "" if the text is none."""
    match = _ISO_DAY.match(text)
    day = _parse_day(match[0], "") if match else None
    rest = text[match.end() :] if match else ""
    return f"{day.isoformat()}{rest.replace('T', ' ')}" if day and (not rest or _TIME.fullmatch(rest)) else ""


def _detect_number(values: Sequence[str]) -> ColumnFormat | None:
    if all(map(_EXPONENT.fullmatch, values)):
        return ColumnFormat(kind="number")
    matches = [_NUMBER.fullmatch(value) or _EXPONENT.fullmatch(value) for value in values]
    if not all(matches):
        return None
    numbers = [match for match in matches if match and "digits" in match.re.groupindex]
    digits = [match["digits"].strip(_SPACES) for match in numbers]
    if any(re.fullmatch(r"0\d+", text) for text in digits):
        return ColumnFormat(reason="identifier")
    if any(text.isdigit() and len(text) > MAX_INTEGER_DIGITS for text in digits):
        return ColumnFormat(reason="identifier")
    units = {_unit_of(match) for match in numbers}
    if len(units) > 1:
        return ColumnFormat(reason="different units")
    point, comma = all(map(_POINT.fullmatch, digits)), all(map(_COMMA.fullmatch, digits))
    if not point and not comma:
        return None
    if point and comma and any(re.fullmatch(r"\d{1,3},\d{3}", text) for text in digits):
        # 1,234 alone: thousands, unless some value has one comma and other than three digits after it.
        comma = False
    mark: Literal[".", ","] = "." if point else ","
    is_whole = all(mark not in text for text in digits) and not any(match["scale"] for match in numbers)
    kind: ValueKind = "integer" if is_whole and len(numbers) == len(values) else "number"
    marked = [text for text in digits if "." in text or "," in text]
    is_doubtful = bool(marked) and any(
        all(re.fullmatch(rf"[1-9]\d{{0,2}}{re.escape(sign)}\d{{3}}", text) for text in marked) for sign in ".,"
    )
    unit = units.pop() if units else ""
    return ColumnFormat(kind=kind, decimal_mark=mark, unit=unit, is_doubtful=is_doubtful)


def _unit_of(match: re.Match[str]) -> str:
    symbols = [text.upper() for text in (match["before"], match["after"]) if text]
    return " ".join(sorted({_CURRENCIES.get(text, text.replace("％", "%")) for text in symbols}))


def convert(text: str, form: ColumnFormat) -> str | None:
    """Return a value in the form that the database reads: ISO days, numbers with a point, true and false.

    Returns "" for a missing value, and None for one that is not written in the form of the column.
    """
    stripped = text.strip()
    if form.kind == "text":
        return text
    if not stripped or stripped.casefold() in MISSING_WORDS:
        return ""
    if len(stripped) > MAX_VALUE_CHARS:
        return None
    if form.kind == "boolean":
        truth = _TRUTH.get(stripped.casefold())
        return None if truth is None else str(truth).lower()
    if form.kind == "date":
        day = _parse_day(stripped, form.date_order)
        return day.isoformat() if day else None
    if form.kind == "datetime":
        return _parse_moment(stripped) or None
    return _convert_number(stripped, form)


def _convert_number(text: str, form: ColumnFormat) -> str | None:
    if _EXPONENT.fullmatch(text):
        return text if form.kind == "number" else None
    match = _NUMBER.fullmatch(text)
    if match is None or _unit_of(match) != form.unit or bool(match["open"]) != bool(match["close"]):
        return None
    digits = match["digits"].strip(_SPACES)
    pattern = _POINT if form.decimal_mark == "." else _COMMA
    if not pattern.fullmatch(digits) or re.fullmatch(r"0\d+", digits):
        return None
    plain = re.sub(rf"[{_SPACES}{',' if form.decimal_mark == '.' else '.'}]", "", digits).replace(",", ".")
    value = Decimal(plain) * _SCALES[match["scale"] or ""]
    signs = Counter((match["sign"] or "") + (match["inner_sign"] or ""))
    is_negative = bool(match["open"]) != (sum(signs[mark] for mark in "-−–") % 2 == 1)
    number = format(-value if is_negative else value, "f")
    if form.kind == "integer" and "." in number:
        return None
    return number
