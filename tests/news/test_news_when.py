from datetime import UTC, date, datetime, timedelta

import pytest

from research.news.when import When, Window, day, days, when

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment", "day_only"),
    [
        ("Fri, 20 Nov 2026 12:00:00 GMT", NOON, False),
        ("Fri, 20 Nov 2026 20:00:00 +0800", NOON, False),
        ("Fri, 20 Nov 2026 12:00:00 -0000", NOON, False),
        ("20 Nov 2026 12:00:00 GMT", NOON, False),
        ("2026-11-20T12:00:00Z", NOON, False),
        ("2026-11-20T20:00:00+08:00", NOON, False),
        ("20261120T120000Z", NOON, False),
        (" 2026-11-20 ", MIDNIGHT, True),
        ("2026-11-20T12:00:00", MIDNIGHT, True),
        ("Fri, 20 Nov 2026 12:00:00", MIDNIGHT, True),
        ("2026/11/20", MIDNIGHT, True),
        ("2026.11.20 08:30", MIDNIGHT, True),
        ("2026年11月20日", MIDNIGHT, True),
        ("2026年 11月 20日 08:30", MIDNIGHT, True),
    ],
)
def test_a_date_is_read_as_a_moment_or_as_a_day(text, moment, day_only):
    assert when(text) == When(moment, day_only)


@pytest.mark.parametrize(
    "text",
    [
        "", None, 5, "3 hours ago", "yesterday", "2026-11", "2026年13月40日", "1970-01-01", "2026/2/31",
        "Fri, 99 Foo 2026", "Mon, 29 Jun 99999999999999999999 09:00:00 GMT", "9" * 10_000,
        "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", ["2026-11-20"],
    ],
)  # fmt: skip
def test_what_is_no_date_is_unknown_and_never_today(text):
    assert when(text) == When(None, False)


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
    assert not window.misses(When(None))
    assert not window.misses(When(NOON))
    assert window.misses(When(NOON - timedelta(seconds=1)))
    assert window.misses(When(NOON + timedelta(hours=24)))


def test_of_a_day_any_hour_may_be_in_a_window():
    window = Window(NOON, NOON + timedelta(hours=24))
    assert not window.misses(When(MIDNIGHT, True))
    assert window.misses(When(MIDNIGHT - timedelta(days=1), True))


def test_the_last_day_of_a_stretch_belongs_to_it():
    window = days(date(2026, 11, 19), date(2026, 11, 20))
    assert not window.misses(When(datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)))
    assert window.misses(When(datetime(2026, 11, 21, tzinfo=UTC)))
    assert window.misses(When(datetime(2026, 11, 18, 23, 59, 59, tzinfo=UTC)))
