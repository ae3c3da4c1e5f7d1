"""Stretches of time, and what lies within."""

from datetime import UTC, date, datetime, timedelta

from research.core.text.publication_dates import Timestamp
from research.sources.news.time_window import TimeWindow, window_of_days

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def test_a_window_misses_what_lies_outside_and_never_the_unknown():
    window = TimeWindow(NOON, NOON + timedelta(hours=24))
    assert not window.is_outside(None)
    assert not window.is_outside(Timestamp(NOON))
    assert window.is_outside(Timestamp(NOON - timedelta(seconds=1)))
    assert window.is_outside(Timestamp(NOON + timedelta(hours=24)))


def test_of_a_day_any_hour_may_be_in_a_window():
    window = TimeWindow(NOON, NOON + timedelta(hours=24))
    assert not window.is_outside(Timestamp(MIDNIGHT, True))
    assert window.is_outside(Timestamp(MIDNIGHT - timedelta(days=1), True))


def test_the_last_day_of_a_stretch_belongs_to_it():
    window = window_of_days(date(2026, 11, 19), date(2026, 11, 20))
    assert not window.is_outside(Timestamp(datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)))
    assert window.is_outside(Timestamp(datetime(2026, 11, 21, tzinfo=UTC)))
    assert window.is_outside(Timestamp(datetime(2026, 11, 18, 23, 59, 59, tzinfo=UTC)))
