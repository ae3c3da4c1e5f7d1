"""When something was published: what services, feeds and pages write, read only where it is certain.

Knows no clock: the time of retrieval is an argument. Nothing is published after it was retrieved: a
date that says so is unknown. So is what cannot be read with certainty ("05/06/2026", "2026-11"), and
unknown is never filled with the time of a crawl. Of a time whose zone is not told only the day is
known: there are hours between Beijing and London.
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

FUTURE_TOLERANCE = timedelta(days=1)  # clocks and zones differ; a date further in the future is a mistake
MIN_YEAR = 1990  # a date before it is a service's way of saying that it knows none
MAX_DATE_CHARS = 100  # characters of a date

DateProblem = Literal[
    "",
    "missing",  # there is no text
    "unreadable",  # or it can be read in more than one way
    "relative",  # it counts from a time of retrieval that is not known
    "future",  # it lies more than a day after the retrieval
]


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A time in UTC, or a day of which the time is not known: `at` is its midnight then."""

    utc: datetime
    is_day_only: bool = False

    @property
    def day(self) -> date:
        return self.utc.date()

    @property
    def iso_text(self) -> str:
        """As ISO 8601: a day is written as a day."""
        return self.day.isoformat() if self.is_day_only else f"{self.utc:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True)
class ParsedDate:
    """What a text says: a moment, or None and why."""

    timestamp: Timestamp | None = None
    problem: DateProblem = ""


def parse_publication_date(
    text: object, *, retrieved: datetime | None = None, now: datetime | None = None
) -> ParsedDate:
    """Reads a date of publication, which cannot be later than the time of its retrieval, or than
    `now` where that is all that is known.

    Formats: RFC 2822 and 1123, ISO 8601 in long and compact form (GDELT's 20261120T081500Z),
    2026/11/20, 2026.11.20, 2026年11月20日, 20 Nov 2026, November 20, 2026, each with or without a time;
    11/20/2026 where only one order is possible; "3 hours ago", "3小时前" and their like if `retrieved`
    is given.
    """
    if text is not None and not isinstance(text, str):
        return ParsedDate(problem="unreadable")
    text = (text or "").strip()
    said = " ".join(unicodedata.normalize("NFKC", text[: MAX_DATE_CHARS + 1]).split())
    if not said:
        return ParsedDate(problem="missing")
    if len(text) > MAX_DATE_CHARS:
        return ParsedDate(problem="unreadable")
    relative = _parse_relative(said, retrieved)
    if relative is not None:
        found = relative
    else:
        moment = _to_timestamp(_parse_absolute(said))
        found = ParsedDate(moment) if moment else ParsedDate(problem="unreadable")
    latest = retrieved or now
    if found.timestamp and latest and found.timestamp.utc > latest + FUTURE_TOLERANCE:
        return ParsedDate(problem="future")
    return found


def parse_publication_day(text: object, min_year: int = MIN_YEAR) -> date | None:
    """The day of publication as it is written, wherever that was; None if it cannot be read with
    certainty, or lies before the year `began`. The same forms, but none that counts from now."""
    said = " ".join(unicodedata.normalize("NFKC", text).split()) if isinstance(text, str) else ""
    found = _parse_absolute(said) if len(said) <= MAX_DATE_CHARS else None
    found = found.date() if isinstance(found, datetime) else found
    return found if found and found.year >= min_year else None


# What counts from now

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
    """What a relative time means; None if it is none."""
    word = text.lower()
    ago = _RELATIVE_TIME_PATTERN.fullmatch(word)
    if not ago and word not in _RELATIVE_DAYS:
        return None
    if retrieved is None:
        return ParsedDate(problem="relative")
    then = retrieved.astimezone(UTC)
    if not ago:
        exact = word in ("just now", "now", "刚刚", "刚才")
        return ParsedDate(
            _minute_timestamp(then) if exact else _day_timestamp(then.date() - timedelta(days=_RELATIVE_DAYS[word]))
        )
    text, half = ago["count"], 0.5 if ago["half"] else 0.0
    whole = 1.0 if text in ("a", "an") else parse_number(text) if text or not half else 0.0
    if whole is None:
        return ParsedDate(problem="unreadable")
    count = whole + half
    unit = ago["unit"][0]
    try:
        if unit in _UNIT_DAYS:
            return ParsedDate(_day_timestamp(then.date() - timedelta(days=int(count * _UNIT_DAYS[unit]))))
        return ParsedDate(_minute_timestamp(then - timedelta(seconds=count * _UNIT_SECONDS[unit])))
    except OverflowError:
        return ParsedDate(problem="unreadable")


def _minute_timestamp(moment: datetime) -> Timestamp:
    return Timestamp(moment.replace(second=0, microsecond=0))


def _day_timestamp(day: date) -> Timestamp:
    return Timestamp(datetime(day.year, day.month, day.day, tzinfo=UTC), is_day_only=True)


# What stands for itself

_TIME_OF_DAY = (
    r"(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)? ?(?P<half>[AP]\.?M\.?)?"
    r" ?(?P<zone>(?:Z|UTC|GMT|CST \(UTC\+8\)|[+-]\d{2}:?\d{2})(?![A-Z]))?"
    r"(?: ?\(?[A-Z][A-Z/_ ]{1,24}\)?)?"  # a zone's name, which may be that of several
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
)  # fmt: skip
_COMPACT_DATE_PATTERN = re.compile(r"\d{8}(?:T?\d{6}(?:Z|[+-]\d{2}:?\d{2})?)?")
_RFC_DATE_PATTERN = re.compile(
    r"(?:[A-Z]{3,9},? )?\d{1,2}[ -][A-Z]{3,9}[ -](?:\d{4}|\d{2}) \d{1,2}:\d{2}(?::\d{2})?(?: .+)?"
    r"|[A-Z]{3} [A-Z]{3} \d{1,2} \d{2}:\d{2}:\d{2} \d{4}",  # as C's asctime writes
    re.IGNORECASE,
)


def _parse_absolute(text: str) -> datetime | date | None:
    """A time with its zone, or a day."""
    try:
        if _RFC_DATE_PATTERN.fullmatch(text) and not re.search(r"[AP]\.?M\.?", text.rpartition(":")[2], re.IGNORECASE):
            at = parsedate_to_datetime(text)
            return _date_unless_zoned(at.replace(tzinfo=UTC) if text.endswith("-0000") else at)
        if _COMPACT_DATE_PATTERN.fullmatch(text):
            return _parse_compact(text)
        for form in _DATE_PATTERNS:
            if match := form.fullmatch(text):
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
    """A time in UTC; of one without a zone the day."""
    if not parsed or not MIN_YEAR <= parsed.year < date.max.year:
        return None
    if isinstance(parsed, datetime):
        return Timestamp(parsed.astimezone(UTC).replace(microsecond=0))
    return _day_timestamp(parsed)


def _date_from_match(match: re.Match[str]) -> datetime | date | None:
    """A day with its time, if any. Where nothing tells the day from the month they are read in the
    only order in which they are a date; None if both are possible."""
    parts = match.groupdict()
    year, last = int(parts["year"]), int(parts["day"])
    month = MONTHS.get(parts["name"].lower(), 0) if parts.get("name") else int(parts["month"])
    if "either" in parts and month != last:
        if month <= 12 and last <= 12:
            return None
        month, last = (month, last) if month <= 12 else (last, month)
    day = date(year, month, last)
    if not (said := parts["time"]):
        return day
    hour, minute, second = ([int(part) for part in said.split(":")] + [0])[:3]
    if half := parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half[0] in "Pp")
    return _date_unless_zoned(datetime.combine(day, time(hour, minute, second, tzinfo=_parse_zone(parts["zone"]))))


def _parse_zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text[0] not in "+-":
        return timezone(timedelta(hours=8)) if "+8" in text else UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
