"""When something was published: what is read, what stays unknown, and a model's pair of dates."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.news.dates import NoPeriod, Period, period, read
from research.news.items import Item

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Mon, 29 Jun 2026 09:00:00 GMT", "2026-06-29T09:00:00Z"),
        ("Mon, 29 Jun 2026 09:00:00 +0800", "2026-06-29T01:00:00Z"),
        ("2026-11-20T08:15:00Z", "2026-11-20T08:15:00Z"),
        ("2026-11-20T08:15:00.5+08:00", "2026-11-20T00:15:00Z"),
        ("20261120T081500Z", "2026-11-20T08:15:00Z"),
        ("2026-11-20 08:15", "2026-11-20T08:15:00Z"),
        ("2026年11月20日 08:30", "2026-11-20T00:30:00Z"),
        ("２０２６年１１月２０日", "2026-11-20"),
        ("2026-11-20", "2026-11-20"),
        ("20261120", "2026-11-20"),
        ("2026/11/20", "2026-11-20"),
        ("2026.11.20", "2026-11-20"),
        ("20 Nov 2026", "2026-11-20"),
        ("Friday, November 20th, 2026", "2026-11-20"),
        ("Nov. 20, 2026, 8:30 p.m.", "2026-11-20T20:30:00Z"),
        ("11/20/2026", "2026-11-20"),
        ("20/11/2026 08:00", "2026-11-20T08:00:00Z"),
    ],
)
def test_a_date_is_read_as_what_it_says_and_a_day_stays_a_day(text: str, meant: str) -> None:
    reading = read(text, now=NOW)
    assert reading.moment is not None
    assert (reading.moment.text, reading.note) == (meant, "")


@pytest.mark.parametrize(
    "text",
    ["05/06/2026", "2026-11", "2026-02-30", "12345678", "1795161600", "soon", "2026-11-20T99:00:00Z", "20 Foo 2026"],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_or_in_none_is_unknown(text: str) -> None:
    assert (read(text).moment, read(text).note) == (None, "unreadable")


def test_no_date_is_missing_and_never_the_time_of_retrieval() -> None:
    for text in ("", "  ", None):
        assert read(text, retrieved=NOW, now=NOW).moment is None
        assert read(text).note == "missing"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3 hours ago", "2026-11-21T09:00:00Z"),
        ("3小时前", "2026-11-21T09:00:00Z"),
        ("半小时前", "2026-11-21T11:30:00Z"),
        ("10分钟前", "2026-11-21T11:50:00Z"),
        ("an hour ago", "2026-11-21T11:00:00Z"),
        ("刚刚", "2026-11-21T12:00:00Z"),
        ("2天前", "2026-11-19"),
        ("yesterday", "2026-11-20"),
    ],
)
def test_a_relative_time_counts_from_the_retrieval_and_without_one_is_unknown(
    text: str, meant: str
) -> None:
    moment = read(text, retrieved=NOW).moment
    assert moment is not None
    assert moment.text == meant
    assert (read(text).moment, read(text).note) == (None, "relative")


def test_a_date_more_than_a_day_ahead_is_unknown_and_noted() -> None:
    assert read("2026-11-24", now=NOW).note == "future"
    assert read("2026-11-24", now=NOW).moment is None
    assert read("2026-11-22", now=NOW).moment is not None
    assert read("2030-01-01").moment is not None


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
def test_any_text_is_read_without_an_error(text: str) -> None:
    read(text, retrieved=NOW, now=NOW)
    period(text, text, NOW.date())


@given(st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1)))
def test_every_time_comes_back_from_its_iso_form_to_the_second(naive: datetime) -> None:
    at = naive.replace(tzinfo=UTC, microsecond=0)
    moment = read(at.isoformat()).moment
    assert moment is not None
    assert moment.at == at


def test_an_item_keeps_utc_and_refuses_a_time_without_a_zone() -> None:
    eastern = NOW.astimezone(tz=None).astimezone(UTC) + timedelta(0)
    assert Item(published=eastern).published == NOW
    assert Item().moment is None
    with pytest.raises(ValueError, match="no time zone"):
        Item(published=datetime(2026, 1, 1))
