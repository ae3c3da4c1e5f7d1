"""Days and moments as people write them, and their conversion to ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

DateOrder = Literal["", "dmy", "mdy"]
PIVOT_YEAR = 69  # two-digit years from here on are of the 20th century, as in POSIX strptime
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
_MONTH = "(?:" + "|".join(_MONTHS) + r")[a-z]*\.?"
_DAY = re.compile(
    r"(?P<iso>\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{4}\.\d{1,2}\.\d{1,2}|\d{4}\s?年\s?\d{1,2}\s?月\s?\d{1,2}\s?日)"
    rf"|(?P<named>\d{{1,2}}[ -]{_MONTH},?[ -](?:\d{{4}}|\d\d))"
    rf"|(?P<month_first>{_MONTH} \d{{1,2}},? \d{{4}})"
    r"|(?P<numeric>\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)\d{4})",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?:T|\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,6})?))?(?:\.\d+)?\s?(?P<half>[AP]M)?"
    r"\s?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_SHORT_YEAR = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2}(?:\s+\d{1,2}:\d{2}.*)?")
_SERIALS = range(20_000, 80_000)  # days from 1954 to 2119 in Excel
_SERIAL_START = date(1899, 12, 30)


class Moment(NamedTuple):
    """A day, with the time in ISO form and the offset from UTC if they are written, else ""."""

    day: date
    time: str = ""
    zone: str = ""

    def __str__(self) -> str:
        return f"{self.day.isoformat()} {self.time}" if self.time else self.day.isoformat()


def parse_moment(text: str, order: str = "") -> Moment | None:
    """Return the moment that a text names; days such as 03/04/2024 need an order, "" reads none but 3.4.2024."""
    match = _DAY.match(text)
    if not match:
        return None
    day = _make_day(match, order)
    rest = text[match.end() :]
    if day is None or not rest:
        return Moment(day) if day else None
    time = _TIME.fullmatch(rest)
    if not time:
        return None
    hour, minute = int(time["hour"]), int(time["minute"])
    if time["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if time["half"].upper() == "PM" else 0)
    if hour > 23 or minute > 59 or float(time["second"] or 0) >= 60:
        return None
    seconds = f":{time['second']}" if time["second"] else ""
    return Moment(day, f"{hour:02}:{minute:02}{seconds}", (time["zone"] or "").upper().replace("GMT", "UTC"))


def _make_day(match: re.Match[str], order: str) -> date | None:
    parts = [part for part in re.split(r"[\s,./年月日-]+", match[0]) if part]
    if match["iso"]:
        year, month, day = (int(part) for part in parts)
    elif match["named"]:
        year, month, day = _full_year(parts[2]), _MONTHS[parts[1][:3].lower()], int(parts[0])
    elif match["month_first"]:
        year, month, day = int(parts[2]), _MONTHS[parts[0][:3].lower()], int(parts[1])
    elif order or match["mark"] == ".":  # with points, the day is first everywhere
        first, second, year = (int(part) for part in parts)
        day, month = (second, first) if order == "mdy" and match["mark"] != "." else (first, second)
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _full_year(text: str) -> int:
    year = int(text)
    return year if len(text) == 4 else year + (1900 if year >= PIVOT_YEAR else 2000)


def is_numeric_day(text: str) -> bool:
    """Return True for a day such as 03/04/2024, whose order is open."""
    match = _DAY.match(text)
    return bool(match and match["numeric"] and match["mark"] != ".")


def is_dotted_day(text: str) -> bool:
    """Return True for a day such as 3.4.2024, which everywhere begins with the day."""
    match = _DAY.match(text)
    return bool(match and match["numeric"] and match["mark"] == ".")


def has_short_year(text: str) -> bool:
    """Return True for a day such as 03/04/24, of which any part may be the year."""
    return bool(_SHORT_YEAR.fullmatch(text))


def possible_orders(values: Sequence[str]) -> tuple[DateOrder, ...]:
    """Return the orders in which all values, with some numeric days among them, are moments."""
    orders: tuple[DateOrder, ...] = ("dmy", "mdy")
    return tuple(order for order in orders if all(parse_moment(value, order) for value in values))


def parse_compact_day(text: str) -> date | None:
    """Return the day of a text such as 20240305."""
    if not _COMPACT.fullmatch(text):
        return None
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return None


def parse_serial_day(text: str) -> date | None:
    """Return the day of a serial number of Excel's 1900 date system; only from 1954 to 2119."""
    if not re.fullmatch(r"\d{5}", text) or int(text) not in _SERIALS:
        return None
    return _SERIAL_START + timedelta(days=int(text))
