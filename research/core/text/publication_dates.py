"""Parses publication dates as services, feeds and pages write them, only where they are certain.

Uses no clock: the time of retrieval is an argument. A date after the retrieval is treated as
unknown, and so is an ambiguous or incomplete one ("05/06/2026", "2026-11"); an unknown date is
never filled with the time of a crawl. For a time without a zone only the day is known, since zones
differ by hours.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Literal

from research.core.text.dates import MONTHS, PART_OF_DAY, WEEKDAYS
from research.core.text.numbers import parse_number

FUTURE_TOLERANCE = timedelta(days=1)  # clocks and zones differ; a date further in the future is an error
MIN_YEAR = 1990  # services use earlier dates for an unknown date
MAX_DATE_CHARS = 100

DateProblem = Literal[
    "",
    "missing",  # no text
    "unreadable",  # or ambiguous
    "relative",  # a relative time without a known time of retrieval
    "future",  # more than a day after the retrieval
]


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A time in UTC, or a day without a time, for which `utc` is midnight."""

    utc: datetime
    is_day_only: bool = False

    @property
    def day(self) -> date:
        return self.utc.date()

    @property
    def iso_text(self) -> str:
        """The timestamp in ISO 8601; a day is written as a day."""
        return self.day.isoformat() if self.is_day_only else f"{self.utc:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True)
class ParsedDate:
    """The parsed timestamp, or None with the problem."""

    timestamp: Timestamp | None = None
    problem: DateProblem = ""


def parse_publication_date(
    text: object, *, retrieved: datetime | None = None, now: datetime | None = None
) -> ParsedDate:
    """Parse a date of publication, which cannot be later than `retrieved`, or than `now` if the
    time of retrieval is unknown.

    Formats: RFC 2822 and 1123, ISO 8601 in long and compact form (GDELT's 20261120T081500Z),
    2026/11/20, 2026.11.20, 2026年11月20日, 20 Nov 2026, November 20, 2026, each with or without a
    time; 11/20/2026 where only one order is possible; "3 hours ago", "3小时前" and similar if
    `retrieved` is given.
    """
    if text is not None and not isinstance(text, str):
        return ParsedDate(problem="unreadable")
    text = (text or "").strip()
    normalised = " ".join(unicodedata.normalize("NFKC", text[: MAX_DATE_CHARS + 1]).split())
    if not normalised:
        return ParsedDate(problem="missing")
    if len(text) > MAX_DATE_CHARS:
        return ParsedDate(problem="unreadable")
    relative = _parse_relative(normalised, retrieved)
    if relative is not None:
        parsed = relative
    else:
        timestamp = _to_timestamp(_parse_absolute(normalised))
        parsed = ParsedDate(timestamp) if timestamp else ParsedDate(problem="unreadable")
    latest = retrieved or now
    if parsed.timestamp and latest and parsed.timestamp.utc > latest + FUTURE_TOLERANCE:
        return ParsedDate(problem="future")
    return parsed


def parse_publication_day(text: object, min_year: int = MIN_YEAR) -> date | None:
    """Return the day of publication as written, in the local time of the source; None if it is
    uncertain or before the year `min_year`. Accepts the same formats except relative times."""
    normalised = " ".join(unicodedata.normalize("NFKC", text).split()) if isinstance(text, str) else ""
    parsed = _parse_absolute(normalised) if len(normalised) <= MAX_DATE_CHARS else None
    parsed = parsed.date() if isinstance(parsed, datetime) else parsed
    return parsed if parsed and parsed.year >= min_year else None


# Relative times

_RELATIVE_TIME_PATTERN = re.compile(
    r"(?:about |约)?(?P<count>[^个半]{0,20}?)\s*个?(?P<half>半)?个?\s*"
    r"(?P<unit>seconds?|secs?|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w|秒钟?|分钟?|小时|钟头|天|日|周|星期)"
    r"\s*(?:ago|之?前|以前)",
    re.IGNORECASE,
)
_RELATIVE_DAYS = {"just now": 0, "now": 0, "刚刚": 0, "刚才": 0, "today": 0, "今天": 0}
_RELATIVE_DAYS |= {"yesterday": 1, "昨天": 1, "昨日": 1, "前天": 2}
_UNIT_SECONDS = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600, "钟": 3600}
_UNIT_DAYS = {"d": 1, "天": 1, "日": 1, "w": 7, "周": 7, "星": 7}


def _parse_relative(text: str, retrieved: datetime | None) -> ParsedDate | None:
    """Parse a relative time; None if the text is not one."""
    word = text.lower()
    match = _RELATIVE_TIME_PATTERN.fullmatch(word)
    if not match and word not in _RELATIVE_DAYS:
        return None
    if retrieved is None:
        return ParsedDate(problem="relative")
    retrieved_utc = retrieved.astimezone(UTC)
    if not match:
        is_exact = word in ("just now", "now", "刚刚", "刚才")
        return ParsedDate(
            _minute_timestamp(retrieved_utc)
            if is_exact
            else _day_timestamp(retrieved_utc.date() - timedelta(days=_RELATIVE_DAYS[word]))
        )
    text, half = match["count"], 0.5 if match["half"] else 0.0
    whole = 1.0 if text in ("a", "an") else parse_number(text) if text or not half else 0.0
    if whole is None:
        return ParsedDate(problem="unreadable")
    count = whole + half
    unit = match["unit"][0]
    try:
        if unit in _UNIT_DAYS:
            return ParsedDate(_day_timestamp(retrieved_utc.date() - timedelta(days=int(count * _UNIT_DAYS[unit]))))
        return ParsedDate(_minute_timestamp(retrieved_utc - timedelta(seconds=count * _UNIT_SECONDS[unit])))
    except OverflowError:
        return ParsedDate(problem="unreadable")


def _minute_timestamp(moment: datetime) -> Timestamp:
    return Timestamp(moment.replace(second=0, microsecond=0))


def _day_timestamp(day: date) -> Timestamp:
    return Timestamp(datetime(day.year, day.month, day.day, tzinfo=UTC), is_day_only=True)


# Absolute dates

_TIME_OF_DAY = (
    r"(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)? ?(?P<half>[AP]\.?M\.?)?"
    r" ?(?P<zone>(?:Z|UTC|GMT|CST \(UTC\+8\)|[+-]\d{2}:?\d{2})(?![A-Z]))?"
    r"(?: ?\(?[A-Z][A-Z/_ ]{1,24}\)?)?"  # the zone's name, which may be ambiguous
)
_OPTIONAL_TIME = rf"(?:(?:,? (?:at )?|T| *- *){_TIME_OF_DAY})?"
_CHINESE_DATE = (
    r"(?P<year>\d{4}) ?年 ?(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2})(?: ?[日号]|(?!\d))"
    rf"(?: ?\(?{WEEKDAYS}\)?)? ?"
)
_WEEKDAY = r"(?:(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)[a-z]*\.?,? )?"
_MONTH_NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
_AMBIGUOUS_DATE = r"(?P<month>\d{1,2})(?P<mark>[/.-])(?P<day>\d{1,2})(?P=mark)(?P<year>\d{4})"
_DATE_PATTERNS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})" + _OPTIONAL_TIME,
        _CHINESE_DATE + rf"(?:{_TIME_OF_DAY})?",
        _CHINESE_DATE + rf"(?P<time>)(?:{PART_OF_DAY})? ?\d{{1,2}}[:时点](?:\d{{1,2}}分?)?",
        _WEEKDAY + r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ -]" + _MONTH_NAME + r",?[ -](?P<year>\d{4})" + _OPTIONAL_TIME,
        _WEEKDAY + _MONTH_NAME + r" (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})" + _OPTIONAL_TIME,
        "(?P<either>)" + _AMBIGUOUS_DATE + _OPTIONAL_TIME,
    )
)
_COMPACT_DATE_PATTERN = re.compile(r"\d{8}(?:T?\d{6}(?:Z|[+-]\d{2}:?\d{2})?)?")
_RFC_DATE_PATTERN = re.compile(
    r"(?:[A-Z]{3,9},? )?\d{1,2}[ -][A-Z]{3,9}[ -](?:\d{4}|\d{2}) \d{1,2}:\d{2}(?::\d{2})?(?: .+)?"
    r"|[A-Z]{3} [A-Z]{3} \d{1,2} \d{2}:\d{2}:\d{2} \d{4}",  # as by C's asctime
    re.IGNORECASE,
)


def _parse_absolute(text: str) -> datetime | date | None:
    """Parse an absolute date: a datetime if it has a zone, else a date."""
    try:
        if _RFC_DATE_PATTERN.fullmatch(text) and not re.search(r"[AP]\.?M\.?", text.rpartition(":")[2], re.IGNORECASE):
            moment = parsedate_to_datetime(text)
            return _date_unless_zoned(moment.replace(tzinfo=UTC) if text.endswith("-0000") else moment)
        if _COMPACT_DATE_PATTERN.fullmatch(text):
            return _parse_compact(text)
        for pattern in _DATE_PATTERNS:
            if match := pattern.fullmatch(text):
                return _date_from_match(match)
        if "T" in text and text[:4].isdecimal():
            return _date_unless_zoned(datetime.fromisoformat(text))
    except (ValueError, OverflowError, IndexError, TypeError):
        pass
    return None


def _parse_compact(text: str) -> datetime | date:
    if len(text) == 8:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    return _date_unless_zoned(datetime.fromisoformat(f"{text[:8]}T{text[8:].removeprefix('T')}"))


def _date_unless_zoned(parsed: datetime) -> datetime | date:
    return parsed if parsed.tzinfo else parsed.date()


def _to_timestamp(parsed: datetime | date | None) -> Timestamp | None:
    """Convert a datetime with a zone to UTC; a date to a day."""
    if not parsed or not MIN_YEAR <= parsed.year < date.max.year:
        return None
    if isinstance(parsed, datetime):
        return Timestamp(parsed.astimezone(UTC).replace(microsecond=0))
    return _day_timestamp(parsed)


def _date_from_match(match: re.Match[str]) -> datetime | date | None:
    """Build a date, with its time if it has one and a zone. If the order of day and month is open,
    the only valid order is used; None if both are valid."""
    parts = match.groupdict()
    year, day_number = int(parts["year"]), int(parts["day"])
    month = MONTHS.get(parts["name"].lower(), 0) if parts.get("name") else int(parts["month"])
    if "either" in parts and month != day_number:
        if month <= 12 and day_number <= 12:
            return None
        month, day_number = (month, day_number) if month <= 12 else (day_number, month)
    day = date(year, month, day_number)
    if not (time_text := parts["time"]):
        return day
    hour, minute, second = ([int(part) for part in time_text.split(":")] + [0])[:3]
    if half_day := parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half_day[0] in "Pp")
    return _date_unless_zoned(datetime.combine(day, time(hour, minute, second, tzinfo=_parse_zone(parts["zone"]))))


def _parse_zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text[0] not in "+-":
        return timezone(timedelta(hours=8)) if "+8" in text else UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
