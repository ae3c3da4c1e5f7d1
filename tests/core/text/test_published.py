"""When something was published: what is read, and what stays unknown."""

from __future__ import annotations

from datetime import UTC, date, datetime

from hypothesis import given
from hypothesis import strategies as st

from research.core.text.publication_dates import (
    MAX_DATE_CHARS,
    MIN_YEAR,
    ParsedDate,
    Timestamp,
    parse_publication_date,
    parse_publication_day,
)
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@each_row(
    ("text", "meant"),
    [
        ("Mon, 29 Jun 2026 09:00:00 GMT", "2026-06-29T09:00:00Z"),
        ("Mon, 29 Jun 2026 09:00:00 +0800", "2026-06-29T01:00:00Z"),
        ("2026-11-20T08:15:00Z", "2026-11-20T08:15:00Z"),
        ("2026-11-20T08:15:00.5+08:00", "2026-11-20T00:15:00Z"),
        ("20261120T081500Z", "2026-11-20T08:15:00Z"),
        ("2026年11月20日 08:30 GMT", "2026-11-20T08:30:00Z"),
        ("2026年11月20日08:30:00+08:00", "2026-11-20T00:30:00Z"),
        ("２０２６年１１月２０日", "2026-11-20"),
        ("2026-11-20", "2026-11-20"),
        ("20261120", "2026-11-20"),
        ("2026/11/20", "2026-11-20"),
        ("2026.11.20", "2026-11-20"),
        ("20 Nov 2026", "2026-11-20"),
        ("Friday, November 20th, 2026", "2026-11-20"),
        ("Nov. 20, 2026, 8:30 p.m. UTC", "2026-11-20T20:30:00Z"),
        ("11/20/2026", "2026-11-20"),
        ("20/11/2026 08:00 Z", "2026-11-20T08:00:00Z"),
        ("20/11/2026 20:00 +0800 (CST)", "2026-11-20T12:00:00Z"),
        ("Fri, 20 Nov 2026 12:00:00 GMT", "2026-11-20T12:00:00Z"),
        ("Fri, 20 Nov 2026 20:00:00 +0800", "2026-11-20T12:00:00Z"),
        ("Fri, 20 Nov 2026 12:00:00 -0000", "2026-11-20T12:00:00Z"),
        ("Fri, 20 Nov 26 12:00:00 GMT", "2026-11-20T12:00:00Z"),
        ("Friday, 20-Nov-26 12:00:00 GMT", "2026-11-20T12:00:00Z"),
        ("20 Nov 2026 12:00:00 GMT", "2026-11-20T12:00:00Z"),
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00Z"),
        ("2026-11-20T20:00:00+08:00", "2026-11-20T12:00:00Z"),
        ("20261120T120000Z", "2026-11-20T12:00:00Z"),
        (" 2026-11-20 ", "2026-11-20"),
        ("2026年11月20日", "2026-11-20"),
        ("2026年11月20", "2026-11-20"),
    ],
)
def test_a_date_is_read_as_what_it_says_and_a_day_stays_a_day(text: str, meant: str) -> None:
    reading = parse_publication_date(text, now=NOW)
    assert reading.timestamp is not None
    assert (reading.timestamp.iso_text, reading.problem) == (meant, "")


@each_row(
    "text",
    [
        "2026-11-20T12:00:00",
        "2026-11-20 08:15",
        "2026-11-20 23:59 EST",
        "2026-11-20 08:15 Zurich time",
        "20261120T081500",
        "2026.11.20 08:30",
        "2026年11月20日 08:30",
        "2026年11月20日08:30",
        "2026年 11月 20日 08:30",
        "2026年11月20日 星期五 下午3时05分",
        "Fri, 20 Nov 2026 12:00:00",
        "Fri, 20 Nov 2026 12:00:00 CET",
        "Fri Nov 20 12:00:00 2026",
        "Nov. 20, 2026, 8:30 p.m.",
        "20/11/2026 08:00",
    ],
)
def test_a_time_without_a_zone_tells_only_the_day(text: str) -> None:
    assert parse_publication_date(text) == ParsedDate(Timestamp(datetime(2026, 11, 20, tzinfo=UTC), is_day_only=True))


@each_row(
    "text",
    [
        "05/06/2026", "2026-11", "2026-02-30", "12345678", "1795161600", "soon", "2026-11-20T99:00:00Z",
        "20 Foo 2026", "2026年13月40日", "1970-01-01", "1970-01-01T00:00:00Z", "19700101", "2026/2/31",
        "2026/11-20", "2026-11-20 to 2026-11-22", "Fri, 99 Foo 2026", "2026-11-20 13:00 pm Z",
        "Mon, 29 Jun 99999999999999999999 09:00:00 GMT", "9" * 10_000, "2026-11-20" + "x" * MAX_DATE_CHARS,
        "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "2026-11-20T12:00:00+99:99",
        5, ["2026-11-20"],
    ],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_or_in_none_is_unknown(text: object) -> None:
    assert (parse_publication_date(text).timestamp, parse_publication_date(text).problem) == (None, "unreadable")


@each_row("text", ["", None, "3 hours ago", "yesterday"])
def test_what_is_no_date_is_unknown_and_never_today(text: str | None) -> None:
    assert parse_publication_date(text).timestamp is None
    assert parse_publication_date(text, now=NOW).timestamp is None


def test_no_date_is_missing_and_never_the_time_of_retrieval() -> None:
    for text in ("", "  ", None):
        assert parse_publication_date(text, retrieved=NOW, now=NOW).timestamp is None
        assert parse_publication_date(text).problem == "missing"


@each_row(
    ("text", "meant"),
    [
        ("3 hours ago", "2026-11-21T09:00:00Z"),
        ("3小时前", "2026-11-21T09:00:00Z"),
        ("半小时前", "2026-11-21T11:30:00Z"),
        ("10分钟前", "2026-11-21T11:50:00Z"),
        ("an hour ago", "2026-11-21T11:00:00Z"),
        ("about two hours ago", "2026-11-21T10:00:00Z"),
        ("Twenty-five minutes ago", "2026-11-21T11:35:00Z"),
        ("十二小时前", "2026-11-21T00:00:00Z"),
        ("约四十五分钟前", "2026-11-21T11:15:00Z"),
        ("半个小时前", "2026-11-21T11:30:00Z"),
        ("两个半小时前", "2026-11-21T09:30:00Z"),
        ("刚刚", "2026-11-21T12:00:00Z"),
        ("2天前", "2026-11-19"),
        ("yesterday", "2026-11-20"),
    ],
)
def test_a_relative_time_counts_from_the_retrieval_and_without_one_is_unknown(text: str, meant: str) -> None:
    moment = parse_publication_date(text, retrieved=NOW).timestamp
    assert moment is not None
    assert moment.iso_text == meant
    assert (parse_publication_date(text).timestamp, parse_publication_date(text).problem) == (None, "relative")


def test_a_date_more_than_a_day_ahead_is_unknown_and_noted() -> None:
    assert parse_publication_date("2026-11-24", now=NOW).problem == "future"
    assert parse_publication_date("2026-11-24", now=NOW).timestamp is None
    assert parse_publication_date("2026-11-22", now=NOW).timestamp is not None
    assert parse_publication_date("2030-01-01").timestamp is not None


def test_nothing_is_published_after_it_was_retrieved() -> None:
    assert parse_publication_date("2026-11-24", retrieved=NOW) == ParsedDate(problem="future")
    later = datetime(2027, 3, 1, tzinfo=UTC)
    assert parse_publication_date("2027-01-01", retrieved=NOW, now=later) == ParsedDate(problem="future")
    assert parse_publication_date("2026-11-22", retrieved=NOW).timestamp is not None


@given(st.text(max_size=40))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_publication_date(text, retrieved=NOW, now=NOW)


@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)))
def test_every_time_comes_back_from_its_iso_form_to_the_second(naive: datetime) -> None:
    at = naive.replace(tzinfo=UTC, microsecond=0)
    moment = parse_publication_date(at.isoformat()).timestamp
    assert moment is not None
    assert moment.utc == at


DAYS = [
    ("2026-06-30T01:30:00+08:00", MIN_YEAR, date(2026, 6, 30)),  # as it is written, not in UTC
    ("2026年6月29日", MIN_YEAR, date(2026, 6, 29)),
    ("Mon, 29 Jun 2026 23:30:00 -0700", MIN_YEAR, date(2026, 6, 29)),
    ("29 June 2026", MIN_YEAR, date(2026, 6, 29)),
    ("1950-05-01", MIN_YEAR, None),
    ("1950-05-01", 1, date(1950, 5, 1)),
    ("05/06/2026", MIN_YEAR, None),
    ("2026-06", MIN_YEAR, None),
    ("2026-06-29 and later", MIN_YEAR, None),
    ("3 hours ago", MIN_YEAR, None),
    ("9999-12-31T23:59:59-12:00", 1, date(9999, 12, 31)),
    ("2026-02-30", MIN_YEAR, None),
    ("", MIN_YEAR, None),
    (None, MIN_YEAR, None),
    (20260629, MIN_YEAR, None),
]


@each_row("said began meant", DAYS)
def test_a_day_is_read_as_it_is_written(said: object, began: int, meant: date | None) -> None:
    assert parse_publication_day(said, began) == meant
