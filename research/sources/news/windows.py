"""Stretches of time that news is asked for, and whether a date lies within. Times are UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from research.core.text.published import Moment


class Window(NamedTuple):
    """A stretch of time, its end not in it."""

    since: datetime
    until: datetime

    def misses(self, known: Moment | None) -> bool:
        """Whether what is known lies outside. The unknown does not; of a day any hour will do."""
        if known is None:
            return False
        length = timedelta(days=1) if known.day_only else timedelta(microseconds=1)
        return known.at + length <= self.since or known.at >= self.until


def days(start: date, end: date) -> Window:
    """The days from the first to the last, both in it."""
    return Window(
        datetime.combine(start, time(), UTC),
        datetime.combine(end, time(), UTC) + timedelta(days=1),
    )
