"""Stretches of time, and what lies within."""

from datetime import UTC, date, datetime, timedelta

from research.core.text.published import Moment
from research.sources.news.windows import Window, days

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def test_a_window_misses_what_lies_outside_and_never_the_unknown():
    window = Window(NOON, NOON + timedelta(hours=24))
    assert not window.misses(None)
    assert not window.misses(Moment(NOON))
    assert window.misses(Moment(NOON - timedelta(seconds=1)))
    assert window.misses(Moment(NOON + timedelta(hours=24)))


def test_of_a_day_any_hour_may_be_in_a_window():
    window = Window(NOON, NOON + timedelta(hours=24))
    assert not window.misses(Moment(MIDNIGHT, True))
    assert window.misses(Moment(MIDNIGHT - timedelta(days=1), True))


def test_the_last_day_of_a_stretch_belongs_to_it():
    window = days(date(2026, 11, 19), date(2026, 11, 20))
    assert not window.misses(Moment(datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)))
    assert window.misses(Moment(datetime(2026, 11, 21, tzinfo=UTC)))
    assert window.misses(Moment(datetime(2026, 11, 18, 23, 59, 59, tzinfo=UTC)))
