"""Stretches of time: what lies within, and the days that a model gives."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.news.dates import Moment
from research.news.windows import NoPeriod, Period, Window, day, days, period

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("2026-11-20", date(2026, 11, 20)),
        (date(2026, 11, 20), date(2026, 11, 20)),
        (NOON, date(2026, 11, 20)),
        ("2026年11月20日", date(2026, 11, 20)),
        ("last week", None),
        (None, None),
    ],
)
def test_a_day_that_a_model_writes_is_a_day_or_nothing(value, found):
    assert day(value) == found


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


def test_a_pair_of_dates_is_swapped_and_clamped_and_says_so() -> None:
    today = date(2026, 11, 21)
    assert period("2026-11-01", "2026-11-10", today) == Period(date(2026, 11, 1), date(2026, 11, 10))  # fmt: skip
    assert period("2026-12-01", "2026-11-01", today) == Period(
        date(2026, 11, 1), today, swapped=True, clamped=True
    )


@pytest.mark.parametrize(
    ("start", "end", "en", "zh"),
    [
        (None, "2026-11-01", "no start date", "没有开始日期"),
        ("2026-11-01", "last week", "'last week' is not YYYY-MM-DD", "“last week”不是"),
        ("2026-02-30", "2026-03-01", "2026-02-30 does not exist", "2026-02-30 不是真实"),
        ("2027-01-01", "2027-02-01", "lies after today, 2026-11-21", "在今天（2026-11-21）之后"),
    ],
)
def test_a_pair_that_cannot_be_used_says_why_in_both_languages(
    start: str | None, end: str, en: str, zh: str
) -> None:
    found = period(start, end, date(2026, 11, 21))
    assert isinstance(found, NoPeriod)
    assert en in found.en
    assert zh in found.zh


@given(st.text(max_size=40))
def test_any_pair_of_texts_is_a_period_or_none(text: str) -> None:
    found = period(text, text, NOON.date())
    assert isinstance(found, NoPeriod) or found.start == found.end
