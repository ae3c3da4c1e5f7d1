"""Values of a column beside each other, and whether what sources say is the same."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.core.records import Cell, CellReading, CellValue, Column, Evidence, PassageReference, SupportStatus
from research.tables.column_values import (
    ColumnNumber,
    chart_column,
    convert_column_numbers,
    find_column_unit,
    is_same_value,
    measure_column_quality,
    merge_readings,
)
from research.tables.values import extract_value
from tests.tables import each_row

PRICE = Column(id="p", name="Ticket price", type="number")
HEIGHT = Column(id="h", name="Height", type="number", unit="m")
OPENED = Column(id="o", name="Opened", type="date")
HOURS = Column(id="t", name="Opening hours")
KINDS = Column(id="k", name="Status", type="choice", choices=("Open", "Closed"))
BOOKING = Column(id="b", name="Booking required", type="yes or no")


def said(text: str, column: Column) -> CellValue:
    value = extract_value(text, column)
    assert value is not None, text
    return value


def reading(value: CellValue, *sources: str, status: SupportStatus = "quoted") -> CellReading:
    cites = tuple(PassageReference(evidence=s, passage=f"{s}1") for s in sources)
    return CellReading(value=value, quote=value.text, references=cites, status=status)


def cell(row: str, column: Column, *values: CellValue) -> Cell:
    readings = tuple(reading(v, f"{row}{n}") for n, v in enumerate(values))
    return Cell(row=row, column=column.id, readings=readings, missing_reason="" if values else "not found")


def prices(*texts: str) -> list[Cell]:
    return [cell(f"r{n}", PRICE, *([said(t, PRICE)] if t else [])) for n, t in enumerate(texts)]


def test_a_column_is_in_the_unit_of_most_and_money_of_another_is_told() -> None:
    cells = prices("门票60元。", "The ticket costs $25.", "Tickets are 40 yuan.", "", "门票免费。")
    assert find_column_unit(PRICE, cells) == "yuan"
    assert convert_column_numbers(PRICE, cells) == {
        "r0": ColumnNumber(60, 60),
        "r1": ColumnNumber(missing_reason="currency"),
        "r2": ColumnNumber(40, 40),
        "r3": ColumnNumber(missing_reason="empty"),
        "r4": ColumnNumber(0, 0),
    }


@each_row(
    ("text", "low", "high", "why"),
    [
        ("It is 632 m high.", 632, 632, ""),
        ("It is 1.2 km high.", 1200, 1200, ""),
        ("It is 2,000 feet high.", 609.6, 609.6, ""),
        ("塔高50至60米。", 50, 60, ""),
    ],
)
def test_values_are_converted(text: str, low: float, high: float, why: str) -> None:
    point = convert_column_numbers(HEIGHT, [cell("r", HEIGHT, said(text, HEIGHT))])["r"]
    assert (point.low, point.high, point.missing_reason) == (pytest.approx(low), pytest.approx(high), why)


def test_what_is_of_another_kind_is_told() -> None:
    odd = CellValue(type="number", text="60 kg", number=60, unit="kg")
    bare = CellValue(type="number", text="60", number=60)
    cells = [cell("r", HEIGHT, odd), cell("s", HEIGHT, bare)]
    assert [p.missing_reason for p in convert_column_numbers(HEIGHT, cells).values()] == ["unit", "unit"]


def test_a_unit_that_nobody_knows_is_one_of_its_own() -> None:
    column = Column(id="s", name="Rating", type="number", unit="stars")
    value = CellValue(type="number", text="4 stars", number=4, unit="stars")
    assert convert_column_numbers(column, [cell("r", column, value)]) == {"r": ColumnNumber(4, 4)}


@each_row(
    ("column", "one", "other", "agree"),
    [
        (HEIGHT, "It is 632 m high.", "The height is 2,073 ft.", True),
        (HEIGHT, "It is about 600 m high.", "It is 632 m high.", True),
        (HEIGHT, "It is over 600 m high.", "It is 632 m high.", True),
        (HEIGHT, "It is 632 m high.", "It is 628 m high.", False),
        (HEIGHT, "塔高50至60米。", "塔高55米。", True),
        (PRICE, "门票60元。", "Tickets are 60 yuan.", True),
        (PRICE, "门票60元。", "The ticket costs $60.", False),
        (PRICE, "门票60元。", "门票免费。", False),
        (PRICE, "Admission is free.", "门票免费。", True),
        (OPENED, "It opened in 1999.", "It opened on 5 May 1999.", True),
        (OPENED, "It opened in May 1999.", "It opened in June 1999.", False),
        (BOOKING, "Booking is required.", "Booking is not required.", False),
        (KINDS, "It is open.", "Open.", True),
        (HOURS, "Open 9:00 to 17:00.", "It is open 9:00 to 17:00.", True),
        (HOURS, "Open 9:00 to 17:00.", "Open 9:00 to 18:00.", False),
        (HOURS, "周一闭馆", "周二闭馆", False),
    ],
)
def test_what_agrees_is_decided_as_for_answers(column: Column, one: str, other: str, agree: bool) -> None:
    a, b = said(one, column), said(other, column)
    assert is_same_value(a, b, column) is agree
    assert is_same_value(b, a, column) is agree


def test_a_number_without_a_unit_is_in_that_of_the_column() -> None:
    bare = CellValue(type="number", text="632", number=632)
    assert is_same_value(bare, said("The height is 2,073 ft.", HEIGHT), HEIGHT)
    assert not is_same_value(bare, said("The height is 632 ft.", HEIGHT), HEIGHT)
    assert not is_same_value(bare, said("It opened in 1999.", OPENED), HEIGHT)


def test_readings_that_agree_are_one_that_cites_all_and_most_sources_come_first() -> None:
    found = [
        reading(said("It is 610 m high.", HEIGHT), "d"),
        reading(said("It is about 630 m high.", HEIGHT), "a", "b"),
        reading(said("It is 632 m high.", HEIGHT), "c", "b", status="supported"),
        reading(said("The height is 632 m.", HEIGHT), "e"),
    ]
    one, other = merge_readings(found, HEIGHT)
    assert (one.value.text, one.quote) == ("632 m", "632 m")
    assert [c.evidence for c in one.references] == ["e", "c", "b", "a"]
    assert (other.value.number, [c.evidence for c in other.references]) == (610, ["d"])


def test_what_is_not_borne_out_stands_behind_what_is() -> None:
    found = [
        reading(said("门票60元。", PRICE), "a", status="unsupported"),
        reading(said("门票40元。", PRICE), "b"),
    ]
    assert [r.value.number for r in merge_readings(found, PRICE)] == [40, 60]


@given(st.lists(st.tuples(st.sampled_from([40.0, 60.0, 60.2, 61.0]), st.sampled_from("abc")), max_size=6))
def test_settling_loses_no_source_and_settles(found: list[tuple[float, str]]) -> None:
    values = [reading(CellValue(type="number", text=f"{n} m", number=n, unit="m"), source) for n, source in found]
    once = merge_readings(values, HEIGHT)
    assert {c for r in once for c in r.references} == {c for r in values for c in r.references}
    assert merge_readings(once, HEIGHT) == once


def test_how_sure_a_column_is() -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    one, other = said("It is 632 m high.", HEIGHT), said("It is 610 m high.", HEIGHT)
    cells = [
        cell("a", HEIGHT, one, other),
        Cell(row="b", column="h", readings=(reading(one, "b0", status="unclear"),)),
        cell("c", HEIGHT),
        *prices("门票60元。"),
    ]
    evidence = [
        Evidence(id="a0", kind="web", title="", retrieved=now, published=date(2019, 5, 1)),
        Evidence(id="a1", kind="web", title="", retrieved=now),
    ]
    told = measure_column_quality(HEIGHT, cells, evidence)
    assert told == (3, 2, 1, 1.5, date(2019, 5, 1), 1)
    assert measure_column_quality(HEIGHT, [], []) == (0, 0, 0, 0.0, None, 0)


def test_a_chart_has_numbers_in_one_unit_and_says_what_it_leaves_out() -> None:
    cells = prices("门票约60元。", "", "门票80至100元。", "The ticket costs $25.")
    found = chart_column(PRICE, ["r0", "r1", "r2", "r3"], cells)
    assert found.unit == "yuan"
    assert found.bars == (("r2", 80, 100, ""), ("r0", 60, 60, "about"))
    assert found.left_out == (("r1", "empty"), ("r3", "currency"))
