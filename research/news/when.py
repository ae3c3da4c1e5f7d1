"""Dates as news services write them, and whether one lies within the days that are asked for.

Times are UTC. What cannot be read is unknown, and never today.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

NEWS_BEGAN = 1990  # a date before it is a service's way of saying that it knows none
LONGEST = 100  # characters of a date

_DAY = re.compile(r"(\d{4})(?:[-/.]|年\s*)(\d{1,2})(?:[-/.]|月\s*)(\d{1,2})(?:日|(?!\d))")


class When(NamedTuple):
    """A moment; with `day_only` no more than its day is known, and it is that day's midnight."""

    moment: datetime | None = None
    day_only: bool = False


def when(text: object) -> When:
    """What a service says of the time of publication: RFC 1123, ISO 8601, 2026/11/20, 2026年11月20日.

    A time without a zone tells no more than the day: there are hours between Beijing and London.
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        return When()
    text = text.strip()
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            found = parse(text)
        except (TypeError, ValueError, IndexError, OverflowError):
            continue
        return _known(found, bare=found.tzinfo is None and not text.endswith("-0000"))
    if match := _DAY.match(text):
        try:
            return _known(datetime(*map(int, match.groups())), bare=True)  # type: ignore[arg-type]
        except ValueError:
            return When()
    return When()


def _known(found: datetime, *, bare: bool) -> When:
    if bare:
        found = datetime.combine(found.date(), time(), UTC)
    elif found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    try:
        moment = found.astimezone(UTC)
    except OverflowError:
        return When()
    return When(moment, bare) if moment.year >= NEWS_BEGAN else When()


def day(value: object) -> date | None:
    """A day as a model writes it; None if it is none."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    found = when(value).moment
    return found.date() if found else None


class Window(NamedTuple):
    """A stretch of time, its end not in it."""

    since: datetime
    until: datetime

    def misses(self, known: When) -> bool:
        """Whether what is known lies outside. The unknown does not; of a day any hour will do."""
        if known.moment is None:
            return False
        length = timedelta(days=1) if known.day_only else timedelta(microseconds=1)
        return known.moment + length <= self.since or known.moment >= self.until


def days(start: date, end: date) -> Window:
    """The days from the first to the last, both in it."""
    return Window(
        datetime.combine(start, time(), UTC),
        datetime.combine(end, time(), UTC) + timedelta(days=1),
    )
