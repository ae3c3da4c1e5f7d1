"""Dates and times of day as they are written in both languages."""

from __future__ import annotations

import pytest

from research.core.text.quantities import Measure, dates_agree, dates_conflict, find_measures
from tests.tables import each_row


def only(text: str) -> Measure:
    (found,) = find_measures(text)
    return found


@each_row(
    ("text", "parts"),
    [
        ("April 3rd 2026", (2026, 4, 3)),
        ("April 3rd, 2026", (2026, 4, 3)),
        ("3 April 2026", (2026, 4, 3)),
        ("the 3rd of April 2026", (2026, 4, 3)),
        ("24 Nov 2026", (2026, 11, 24)),
        ("Nov. 24, 2026", (2026, 11, 24)),
        ("24-Nov-2026", (2026, 11, 24)),
        ("2026.11.24", (2026, 11, 24)),
        ("2026.11.24.", (2026, 11, 24)),
        ("2026-11-24", (2026, 11, 24)),
        ("2026/11/24", (2026, 11, 24)),
        ("24/11/2026", (2026, 11, 24)),
        ("11/24/2026", (2026, 11, 24)),
        ("24.11.2026", (2026, 11, 24)),
        ("11/24/26", (2026, 11, 24)),
        ("2026年11月24日", (2026, 11, 24)),
        ("２０２６年１１月２４日", (2026, 11, 24)),
        ("二〇二六年十一月二十四日", (2026, 11, 24)),
        ("11月24號", (None, 11, 24)),
        ("November 2026", (2026, 11, None)),
        ("民国三十八年", (1949, None, None)),
        ("民國38年10月1日", (1949, 10, 1)),
        ("民国元年", (1912, None, None)),
        ("昭和20年8月15日", (1945, 8, 15)),
        ("令和8年", (2026, None, None)),
        ("公元前221年", (-221, None, None)),
        ("500 BC", (-500, None, None)),
        ("in 2024", (2024, None, None)),
    ],
)
def test_a_date_is_read_however_it_is_written(text: str, parts: tuple[int | None, int | None, int | None]) -> None:
    found = only(text)
    assert (found.kind, found.date_parts, found.swapped_date_parts) == ("date", parts, None)


def test_a_date_that_may_be_either_of_two_days_agrees_with_both_and_with_no_third() -> None:
    either = only("3/4/2026")
    assert dates_agree(either, only("April 3rd 2026"))
    assert dates_agree(either, only("2026年3月4日"))
    assert dates_agree(only("March 4, 2026"), either)
    assert not dates_conflict(either, only("3 April 2026"))
    assert dates_conflict(either, only("5 April 2026"))
    assert not dates_agree(either, only("3 April 2025"))


@each_row(
    ("text", "days"),
    [
        ("3月1日至15日", [(None, 3, 1), (None, 3, 15)]),
        ("2-15 July 2026", [(2026, 7, 2), (2026, 7, 15)]),
        ("July 2-15, 2026", [(2026, 7, 2), (2026, 7, 15)]),
        ("9 to 24 November", [(None, 11, 9), (None, 11, 24)]),
        ("2024年3月至5月", [(2024, 3, None), (2024, 5, None)]),
        ("2019-2021", [(2019, None, None), (2021, None, None)]),
    ],
)
def test_the_two_ends_of_a_stretch_of_time_share_what_is_said_once(
    text: str, days: list[tuple[int | None, int | None, int | None]]
) -> None:
    assert [m.date_parts for m in find_measures(text)] == days


@each_row(
    ("text", "kind", "value"),
    [
        ("下午三点半", "clock", 15 * 60 + 30),
        ("晚上八点一刻", "clock", 20 * 60 + 15),
        ("3:30 p.m.", "clock", 15 * 60 + 30),
        ("noon", "clock", 12 * 60),
        ("前三季度", "until", 9),
        ("the first two quarters", "until", 6),
        ("第二季度", "quarter", 2),
        ("Q3", "quarter", 3),
        ("上半年", "half", 1),
        ("90年代", "decade", 1990),
        ("the 1980s", "decade", 1980),
        ("二十一世纪", "century", 21),
        ("twenty-first century", "century", 21),
        ("Wednesday", "weekday", 2),
        ("星期日", "weekday", 6),
    ],
)
def test_a_time_is_read_with_its_kind(text: str, kind: str, value: float) -> None:
    found = only(text)
    assert (found.kind, found.low) == (kind, value)


def test_from_one_weekday_to_another_are_two() -> None:
    assert [m.low for m in find_measures("周一至周五")] == [0, 4]
    assert [m.low for m in find_measures("星期一至五晚")] == [0, 4]


@pytest.mark.parametrize("text", ["农历八月十五", "阴历3月23日", "you may march on"])
def test_what_is_no_day_of_the_calendar_is_no_date(text: str) -> None:
    assert find_measures(text) == ()
