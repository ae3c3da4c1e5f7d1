"""Stretches of time that news is asked for, and whether a date lies within. Times are UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from research.core.text.publication_dates import Timestamp


class TimeWindow(NamedTuple):
    """A stretch of time, its end not in it."""

    start: datetime
    end: datetime

    def is_outside(self, moment: Timestamp | None) -> bool:
        """Whether what is known lies outside. The unknown does not; of a day any hour will do."""
        if moment is None:
            return False
        length = timedelta(days=1) if moment.is_day_only else timedelta(microseconds=1)
        return moment.utc + length <= self.start or moment.utc >= self.end


def window_of_days(first_day: date, last_day: date) -> TimeWindow:
    """The days from the first to the last, both in it."""
    return TimeWindow(
        datetime.combine(first_day, time(), UTC),
        datetime.combine(last_day, time(), UTC) + timedelta(days=1),
    )
