"""Time windows of a news search, in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from research.core.text.publication_dates import Timestamp


class TimeWindow(NamedTuple):
    """A time span, excluding its end."""

    start: datetime
    end: datetime

    def is_outside(self, moment: Timestamp | None) -> bool:
        """Return True if a time is certainly outside: unknown times are not, days only if entirely
        outside.
        """
        if moment is None:
            return False
        length = timedelta(days=1) if moment.is_day_only else timedelta(microseconds=1)
        return moment.utc + length <= self.start or moment.utc >= self.end


def window_of_days(first_day: date, last_day: date) -> TimeWindow:
    """Return the window from the first to the last day, both included."""
    return TimeWindow(
        datetime.combine(first_day, time(), UTC),
        datetime.combine(last_day, time(), UTC) + timedelta(days=1),
    )
