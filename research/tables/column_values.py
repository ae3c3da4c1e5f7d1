"""The values of a column beside each other: in one unit, in order, how sure they are; and whether what
sources say is the same.

Whether two figures agree is decided where the check of answers decides it (`citations.mentions`). Money is
not converted between currencies: values in another one cannot be compared, and that is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from math import isfinite
from typing import Literal, NamedTuple

from research.citations.mentions import is_consistent
from research.core.records import Cell, CellReading, CellValue, Column, Evidence, SupportStatus
from research.core.text.measure import Measure
from research.core.text.quantities import find_measures
from research.core.text.tokenizer import normalise_quote, split_words
from research.core.text.units import Unit
from research.tables.values import find_unit, number_value, unit_family

MIN_SHARED_WORDS = 0.6  # of the words of the shorter of two texts that the other has: then they say the same
CHECKED_STATUSES: frozenset[SupportStatus] = frozenset(("quoted", "supported"))
_STATUS_ORDER: tuple[SupportStatus, ...] = ("quoted", "supported", "unclear", "differs", "unsupported", "none")


class ColumnNumber(NamedTuple):
    """A cell's number in the unit of its column, up to `high`, which is the same but for ranges. Without a
    number `why` says why: nothing is known, or it is in a currency or a unit that cannot be compared."""

    low: float | None = None
    high: float | None = None
    missing_reason: Literal["", "empty", "currency", "unit"] = ""


class ChartBar(NamedTuple):
    """A row's number in a chart, from `low` to `high`; `bound` says that it is about, at least or at most that."""

    row: str
    low: float
    high: float
    bound: str


class ChartSeries(NamedTuple):
    """The numbers of a column in one unit, the greatest first, and the rows without one, each with why."""

    unit: str
    bars: tuple[ChartBar, ...]
    left_out: tuple[tuple[str, str], ...]


class ColumnQuality(NamedTuple):
    """How much is known of a column: cells of its rows, those with a value, those whose best reading is
    borne out by its passages; distinct sources for each filled cell; the oldest day of one that is cited
    (of its publication, else of its retrieval); cells in which sources differ."""

    cells: int
    filled: int
    checked: int
    sources: float
    oldest: date | None
    conflicts: int


def column_cells(column: Column, cells: Iterable[Cell]) -> list[Cell]:
    """The cells of a column."""
    return [cell for cell in cells if cell.column == column.id]


def find_column_unit(column: Column, cells: Iterable[Cell]) -> str:
    """The unit of a column's numbers: its own, else the one that most of its cells have, the first of
    several; "" if they have none."""
    if column.unit:
        return column.unit
    said = Counter(c.value.unit for c in column_cells(column, cells) if c.value and c.value.unit)
    return said.most_common(1)[0][0] if said else ""


def convert_column_numbers(column: Column, cells: Iterable[Cell]) -> dict[str, ColumnNumber]:
    """The numbers of a column by row, in the unit that `unit_of` tells."""
    mine = column_cells(column, cells)
    name = find_column_unit(column, mine)
    return {cell.row: convert_number(cell.value, name) for cell in mine}


def convert_number(value: CellValue | None, unit_name: str) -> ColumnNumber:
    """A value's number in a unit."""
    if value is None or value.number is None or not isfinite(value.number):
        return ColumnNumber(missing_reason="empty")
    high = value.number if value.high is None else value.high
    if value.unit == unit_name or (value.number == 0 and high == 0):  # free is free in any currency
        return ColumnNumber(value.number, high)
    target, given = (
        find_unit(unit_name) or Unit(unit_name, unit_name, 1.0),
        find_unit(value.unit) or Unit("", value.unit, 1.0),
    )
    if target.kind == given.kind or unit_family(target.kind) == unit_family(given.kind) == "":
        by = given.factor / target.factor
        return ColumnNumber(value.number * by, high * by)
    money = unit_family(target.kind) == unit_family(given.kind) == "money"
    return ColumnNumber(missing_reason="currency" if money else "unit")


def chart_column(column: Column, row_ids: Sequence[str], cells: Iterable[Cell]) -> ChartSeries:
    """What a chart of a column of numbers shows."""
    mine = column_cells(column, cells)
    points = convert_column_numbers(column, mine)
    bounds = {cell.row: cell.value.bound for cell in mine if cell.value}
    at = [(row, points.get(row, ColumnNumber(missing_reason="empty"))) for row in row_ids]
    bars = [
        ChartBar(row, p.low, p.high, bounds.get(row, "")) for row, p in at if p.low is not None and p.high is not None
    ]
    bars.sort(key=lambda bar: -bar.high)
    return ChartSeries(
        find_column_unit(column, mine), tuple(bars), tuple((row, p.missing_reason) for row, p in at if p.missing_reason)
    )


def sort_rows_by_column(
    column: Column, row_ids: Sequence[str], cells: Iterable[Cell], descending: bool = False
) -> tuple[str, ...]:
    """The ids of rows in the order of a column's values; those without one stand last either way."""
    mine = column_cells(column, cells)
    at = {cell.row: cell for cell in mine}
    points = convert_column_numbers(column, mine)
    keys = {row: _sort_key(column, at.get(row), points.get(row, ColumnNumber())) for row in row_ids}
    known = [row for row in row_ids if keys[row] is not None]
    known.sort(key=lambda row: keys[row] or (0.0, ""), reverse=descending)
    return (*known, *(row for row in row_ids if keys[row] is None))


def _sort_key(column: Column, cell: Cell | None, number: ColumnNumber) -> tuple[float, str] | None:
    value = cell.value if cell else None
    if value is None:
        return None
    match column.type:
        case "number":
            return None if number.low is None else (number.low, "")
        case "date":
            return (float(value.day.toordinal()), "") if value.day else None
        case "yes or no":
            return None if value.yes is None else (float(not value.yes), "")
        case "choice":
            known = value.choice in column.choices
            return (float(column.choices.index(value.choice)), "") if known else None
    return 0.0, value.text.casefold()


def measure_column_quality(column: Column, cells: Iterable[Cell], evidence: Iterable[Evidence]) -> ColumnQuality:
    """How much of a column is known, and how well. `evidence` has what its cells cite."""
    mine = column_cells(column, cells)
    filled = [cell for cell in mine if cell.readings]
    cited = [{cite.evidence for r in cell.readings for cite in r.cites} for cell in filled]
    known = {item.id: item for item in evidence}
    days = [
        item.published or item.retrieved.date() for item in (known.get(one) for one in set[str]().union(*cited)) if item
    ]
    return ColumnQuality(
        cells=len(mine),
        filled=len(filled),
        checked=sum(cell.readings[0].status in CHECKED_STATUSES for cell in filled),
        sources=sum(map(len, cited)) / len(filled) if filled else 0.0,
        oldest=min(days, default=None),
        conflicts=sum(len(cell.readings) > 1 for cell in filled),
    )


# Whether sources say the same


def is_same_value(first: CellValue, second: CellValue, column: Column) -> bool:
    """Whether two values may both be true: rounding, conversion, bounds and the precision of dates do not
    set them apart. A number without a unit is taken to be in the column's."""
    if first.type != second.type:
        return False
    match first.type:
        case "number" | "date":
            one, other = to_measure(first, column), to_measure(second, column)
            return one is not None and other is not None and is_consistent(one, other)
        case "yes or no":
            return first.yes == second.yes
        case "choice":
            return first.choice == second.choice
    return _is_same_text(first.text, second.text)


def to_measure(value: CellValue, column: Column) -> Measure | None:
    """A value as the figure or date that the check of answers compares; None if it has none.

    The words that say it tell how far it is rounded."""
    if value.type == "date":
        if value.day is None:
            return None
        day, of = value.day, value.precision
        parts = (day.year, None if of == "year" else day.month, day.day if of == "day" else None)
        return Measure("date", 0, 0, 0, 0, date_parts=parts)
    if value.number is None:
        return None
    is_in = find_unit(value.unit or column.unit) or Unit("", value.unit, 1.0)
    for found in find_measures(value.text):
        for one in found.interpretations():
            read = number_value(one, value.text)
            if (read.number, read.high, read.unit) == (value.number, value.high, value.unit):
                return one if value.unit else one.with_unit(is_in)
    digits = f"{value.number:.9f}".rstrip("0").partition(".")[2]
    step = 10.0 ** -len(digits) * is_in.factor
    low = value.number * is_in.factor
    high = low if value.high is None else value.high * is_in.factor
    return Measure(is_in.kind, low, high, 0, 0, step, step, value.bound, is_in.name, unit_factor=is_in.factor)


def _is_same_text(first: str, second: str) -> bool:
    """Whether two texts say the same in nearly the same words, and no figure is another."""
    if normalise_quote(first).casefold() == normalise_quote(second).casefold():
        return True
    few, many = sorted((set(split_words(first)), set(split_words(second))), key=len)
    if not few or len(few & many) < MIN_SHARED_WORDS * len(few):
        return False
    mine, its = find_measures(first), find_measures(second)
    fewer, more = (mine, its) if len(mine) <= len(its) else (its, mine)
    return all(any(is_consistent(m, other_) for other_ in more) for m in fewer)


def merge_readings(readings: Sequence[CellReading], column: Column) -> tuple[CellReading, ...]:
    """The readings with those that agree as one, which cites what any of them does; the one first that
    most sources give, of several the one that is borne out best. So more than one is left only where sources differ. What is said roughly goes with
    that exact value of several which most sources give."""
    groups: list[list[CellReading]] = []
    for reading in sorted(readings, key=_vagueness):
        homes = [g for g in groups if all(is_same_value(reading.value, r.value, column) for r in g)]
        if homes:
            max(homes, key=_source_count).append(reading)
        else:
            groups.append([reading])
    groups.sort(key=lambda g: min(readings.index(r) for r in g))
    groups.sort(key=lambda g: (-_source_count(g), min(_STATUS_ORDER.index(r.status) for r in g)))
    return tuple(map(_merge_group, groups))


def _source_count(group: Iterable[CellReading]) -> int:
    return len({cite.evidence for reading in group for cite in reading.cites})


def _merge_group(group: Sequence[CellReading]) -> CellReading:
    """The best borne out and most exact of some readings, with the cites of the others behind its own."""
    best = min(group, key=lambda r: (_STATUS_ORDER.index(r.status), _vagueness(r)))
    cites = dict.fromkeys(c for r in (best, *group) for c in r.cites)
    return best.model_copy(update={"cites": tuple(cites)})


def _vagueness(reading: CellReading) -> tuple[bool, bool, int]:
    value = reading.value
    precise = ("day", "month", "year").index(value.precision)
    return bool(value.bound), value.high is not None, precise
