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
from research.core.text.numbers import number

AHEAD = timedelta(days=1)  # clocks and zones differ; a date further in the future is a mistake
BEGAN = 1990  # a date before it is a service's way of saying that it knows none
LONGEST = 100  # characters of a date

Note = Literal[
    "",
    "missing",  # there is no text
    "unreadable",  # or it can be read in more than one way
    "relative",  # it counts from a time of retrieval that is not known
    "future",  # it lies more than a day after the retrieval
]


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A time in UTC, or a day of which the time is not known: `at` is its midnight then."""

    at: datetime
    day_only: bool = False

    @property
    def day(self) -> date:
        return self.at.date()

    @property
    def text(self) -> str:
        """As ISO 8601: a day is written as a day."""
        return self.day.isoformat() if self.day_only else f"{self.at:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True)
class ReadDate:
    """What a text says: a moment, or None and why."""

    moment: Moment | None = None
    note: Note = ""


def read(
    text: object, *, retrieved: datetime | None = None, now: datetime | None = None
) -> ReadDate:
    """Reads a date of publication, which cannot be later than the time of its retrieval, or than
    `now` where that is all that is known.

    Formats: RFC 2822 and 1123, ISO 8601 in long and compact form (GDELT's 20261120T081500Z),
    2026/11/20, 2026.11.20, 2026年11月20日, 20 Nov 2026, November 20, 2026, each with or without a time;
    11/20/2026 where only one order is possible; "3 hours ago", "3小时前" and their like if `retrieved`
    is given.
    """
    if text is not None and not isinstance(text, str):
        return ReadDate(note="unreadable")
    text = (text or "").strip()
    said = " ".join(unicodedata.normalize("NFKC", text[: LONGEST + 1]).split())
    if not said:
        return ReadDate(note="missing")
    if len(text) > LONGEST:
        return ReadDate(note="unreadable")
    relative = _relative(said, retrieved)
    if relative is not None:
        found = relative
    else:
        moment = _moment(_absolute(said))
        found = ReadDate(moment) if moment else ReadDate(note="unreadable")
    latest = retrieved or now
    if found.moment and latest and found.moment.at > latest + AHEAD:
        return ReadDate(note="future")
    return found


def day(text: object, began: int = BEGAN) -> date | None:
    """The day of publication as it is written, wherever that was; None if it cannot be read with
    certainty, or lies before the year `began`. The same forms, but none that counts from now."""
    said = " ".join(unicodedata.normalize("NFKC", text).split()) if isinstance(text, str) else ""
    found = _absolute(said) if len(said) <= LONGEST else None
    found = found.date() if isinstance(found, datetime) else found
    return found if found and found.year >= began else None


# What counts from now

_AGO = re.compile(
    r"(?:about |约)?(?P<count>[^个半]{0,20}?)\s*个?(?P<half>半)?个?\s*"
    r"(?P<unit>seconds?|secs?|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w|秒钟?|分钟?|小时|钟头|天|日|周|星期)"
    r"\s*(?:ago|之?前|以前)",
    re.IGNORECASE,
)
_NEAR = {"just now": 0, "now": 0, "刚刚": 0, "刚才": 0, "today": 0, "今天": 0}
_NEAR |= {"yesterday": 1, "昨天": 1, "昨日": 1, "前天": 2}
_SECONDS = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600, "钟": 3600}
_DAYS = {"d": 1, "天": 1, "日": 1, "w": 7, "周": 7, "星": 7}


def _relative(said: str, retrieved: datetime | None) -> ReadDate | None:
    """What a relative time means; None if it is none."""
    word = said.lower()
    ago = _AGO.fullmatch(word)
    if not ago and word not in _NEAR:
        return None
    if retrieved is None:
        return ReadDate(note="relative")
    then = retrieved.astimezone(UTC)
    if not ago:
        exact = word in ("just now", "now", "刚刚", "刚才")
        return ReadDate(_minute(then) if exact else _day(then.date() - timedelta(days=_NEAR[word])))
    said, half = ago["count"], 0.5 if ago["half"] else 0.0
    whole = 1.0 if said in ("a", "an") else number(said) if said or not half else 0.0
    if whole is None:
        return ReadDate(note="unreadable")
    count = whole + half
    unit = ago["unit"][0]
    try:
        if unit in _DAYS:
            return ReadDate(_day(then.date() - timedelta(days=int(count * _DAYS[unit]))))
        return ReadDate(_minute(then - timedelta(seconds=count * _SECONDS[unit])))
    except OverflowError:
        return ReadDate(note="unreadable")


def _minute(at: datetime) -> Moment:
    return Moment(at.replace(second=0, microsecond=0))


def _day(day: date) -> Moment:
    return Moment(datetime(day.year, day.month, day.day, tzinfo=UTC), day_only=True)


# What stands for itself

_CLOCK = (
    r"(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)? ?(?P<half>[AP]\.?M\.?)?"
    r" ?(?P<zone>(?:Z|UTC|GMT|CST \(UTC\+8\)|[+-]\d{2}:?\d{2})(?![A-Z]))?"
    r"(?: ?\(?[A-Z][A-Z/_ ]{1,24}\)?)?"  # a zone's name, which may be that of several
)
_TIME = rf"(?:(?:,? (?:at )?|T| *- *){_CLOCK})?"
_CHINESE = (
    r"(?P<year>\d{4}) ?年 ?(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2})(?: ?[日号]|(?!\d))"
    rf"(?: ?\(?{WEEKDAYS}\)?)? ?"
)
_WEEKDAY = r"(?:(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)[a-z]*\.?,? )?"
_MONTH_NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
_EITHER = r"(?P<month>\d{1,2})(?P<mark>[/.-])(?P<day>\d{1,2})(?P=mark)(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})" + _TIME,
        _CHINESE + rf"(?:{_CLOCK})?",
        _CHINESE + rf"(?P<time>)(?:{PART_OF_DAY})? ?\d{{1,2}}[:时点](?:\d{{1,2}}分?)?",
        _WEEKDAY + r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ -]" + _MONTH_NAME + r",?[ -](?P<year>\d{4})" + _TIME,
        _WEEKDAY + _MONTH_NAME + r" (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})" + _TIME,
        "(?P<either>)" + _EITHER + _TIME,
    )
)  # fmt: skip
_COMPACT = re.compile(r"\d{8}(?:T?\d{6}(?:Z|[+-]\d{2}:?\d{2})?)?")
_RFC = re.compile(
    r"(?:[A-Z]{3,9},? )?\d{1,2}[ -][A-Z]{3,9}[ -](?:\d{4}|\d{2}) \d{1,2}:\d{2}(?::\d{2})?(?: .+)?"
    r"|[A-Z]{3} [A-Z]{3} \d{1,2} \d{2}:\d{2}:\d{2} \d{4}",  # as C's asctime writes
    re.IGNORECASE,
)


def _absolute(said: str) -> datetime | date | None:
    """A time with its zone, or a day."""
    try:
        if _RFC.fullmatch(said) and not re.search(
            r"[AP]\.?M\.?", said.rpartition(":")[2], re.IGNORECASE
        ):
            at = parsedate_to_datetime(said)
            return _zoned(at.replace(tzinfo=UTC) if said.endswith("-0000") else at)
        if _COMPACT.fullmatch(said):
            return _compact(said)
        for form in _FORMS:
            if match := form.fullmatch(said):
                return _matched(match)
        if "T" in said and said[:4].isdecimal():
            return _zoned(datetime.fromisoformat(said))
    except (ValueError, OverflowError, IndexError, TypeError):
        pass
    return None


def _compact(said: str) -> datetime | date:
    if len(said) == 8:
        return date(int(said[:4]), int(said[4:6]), int(said[6:]))
    return _zoned(datetime.fromisoformat(f"{said[:8]}T{said[8:].removeprefix('T')}"))


def _zoned(at: datetime) -> datetime | date:
    return at if at.tzinfo else at.date()


def _moment(found: datetime | date | None) -> Moment | None:
    """A time in UTC; of one without a zone the day."""
    if not found or not BEGAN <= found.year < date.max.year:
        return None
    if isinstance(found, datetime):
        return Moment(found.astimezone(UTC).replace(microsecond=0))
    return _day(found)


def _matched(match: re.Match[str]) -> datetime | date | None:
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
    return _zoned(datetime.combine(day, time(hour, minute, second, tzinfo=_zone(parts["zone"]))))


def _zone(said: str | None) -> timezone | None:
    if not said:
        return None
    if said[0] not in "+-":
        return timezone(timedelta(hours=8)) if "+8" in said else UTC
    minutes = int(said[1:3]) * 60 + int(said[-2:])
    return timezone(timedelta(minutes=-minutes if said[0] == "-" else minutes))
