"""The values of a column as a whole: in one unit, as a chart, with their quality, and their agreement.

`core.text.measure` decides whether two figures agree, as in the check of answers. Money is not
converted between currencies: values in another currency are reported as not comparable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from math import isfinite
from typing import Literal, NamedTuple

from research.core.records import Cell, CellReading, CellValue, Column, Evidence, SupportStatus
from research.core.text.measure import Measure, are_compatible
from research.core.text.quantities import find_measures
from research.core.text.quotes import normalise_quote
from research.core.text.tokenizer import split_words
from research.core.text.units import Unit
from research.tables.units import find_unit, unit_family
from research.tables.values import number_value

MIN_SHARED_WORDS = 0.6  # of the shorter text's words
CHECKED_STATUSES: frozenset[SupportStatus] = frozenset(("quoted", "supported"))
_STATUS_ORDER: tuple[SupportStatus, ...] = ("quoted", "supported", "unclear", "differs", "unsupported", "none")


class ColumnNumber(NamedTuple):
    """The number of a cell in the column's unit; `high` differs from `low` only for ranges.

    Without a number, `missing_reason` is "empty", or "currency" or "unit" if it cannot be
    converted.
    """

    low: float | None = None
    high: float | None = None
    missing_reason: Literal["", "empty", "currency", "unit"] = ""


class ChartBar(NamedTuple):
    """The number of a row in a chart; `bound` marks it as approximate, a minimum or a maximum."""

    row: str
    low: float
    high: float
    bound: str


class ChartSeries(NamedTuple):
    """The numbers of a column in one unit, greatest first, and the other rows with reasons."""

    unit: str
    bars: tuple[ChartBar, ...]
    left_out: tuple[tuple[str, str], ...]


class ColumnQuality(NamedTuple):
    """The completeness and reliability of a column.

    `filled` counts cells with a value, `checked` those whose best reading its passages support,
    `conflicts` those in which sources differ. `sources` is the mean number of distinct sources of a
    filled cell, `oldest` the earliest day of a cited source (its publication, else its retrieval).
    """

    cells: int
    filled: int
    checked: int
    sources: float
    oldest: date | None
    conflicts: int


def column_cells(column: Column, cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells of a column."""
    return [cell for cell in cells if cell.column == column.id]


def find_column_unit(column: Column, cells: Iterable[Cell]) -> str:
    """Return the unit of a column: its own, else the most frequent one of its cells, else "".

    Of equally frequent units it is the first.
    """
    if column.unit:
        return column.unit
    counts = Counter(c.value.unit for c in column_cells(column, cells) if c.value and c.value.unit)
    return counts.most_common(1)[0][0] if counts else ""


def convert_column_numbers(column: Column, cells: Iterable[Cell]) -> dict[str, ColumnNumber]:
    """Return the numbers of a column by row, in the unit that `find_column_unit` returns."""
    own_cells = column_cells(column, cells)
    unit = find_column_unit(column, own_cells)
    return {cell.row: convert_number(cell.value, unit) for cell in own_cells}


def convert_number(value: CellValue | None, unit_name: str) -> ColumnNumber:
    """Convert a value to a unit."""
    if value is None or value.number is None or not isfinite(value.number):
        return ColumnNumber(missing_reason="empty")
    high = value.number if value.high is None else value.high
    if value.unit == unit_name or (value.number == 0 and high == 0):  # zero is the same in any unit
        return ColumnNumber(value.number, high)
    target, source = (
        find_unit(unit_name) or Unit(unit_name, unit_name, 1.0),
        find_unit(value.unit) or Unit("", value.unit, 1.0),
    )
    if target.kind == source.kind or unit_family(target.kind) == unit_family(source.kind) == "":
        ratio = source.factor / target.factor
        return ColumnNumber(value.number * ratio, high * ratio)
    is_money = unit_family(target.kind) == unit_family(source.kind) == "money"
    return ColumnNumber(missing_reason="currency" if is_money else "unit")


def chart_column(column: Column, row_ids: Sequence[str], cells: Iterable[Cell]) -> ChartSeries:
    """Return the bars of a chart of a number column, and the rows that it leaves out."""
    own_cells = column_cells(column, cells)
    by_row = convert_column_numbers(column, own_cells)
    bounds = {cell.row: cell.value.bound for cell in own_cells if cell.value}
    numbers = [(row, by_row.get(row, ColumnNumber(missing_reason="empty"))) for row in row_ids]
    bars = [
        ChartBar(row, number.low, number.high, bounds.get(row, ""))
        for row, number in numbers
        if number.low is not None and number.high is not None
    ]
    bars.sort(key=lambda bar: -bar.high)
    return ChartSeries(
        find_column_unit(column, own_cells),
        tuple(bars),
        tuple((row, number.missing_reason) for row, number in numbers if number.missing_reason),
    )


def measure_column_quality(column: Column, cells: Iterable[Cell], evidence: Iterable[Evidence]) -> ColumnQuality:
    """Measure how complete and reliable a column is. `evidence` must hold what its cells cite."""
    own_cells = column_cells(column, cells)
    filled = [cell for cell in own_cells if cell.readings]
    cited = [{cite.evidence for reading in cell.readings for cite in reading.references} for cell in filled]
    by_id = {item.id: item for item in evidence}
    days = [
        item.published or item.retrieved.date()
        for item in (by_id.get(evidence_id) for evidence_id in set[str]().union(*cited))
        if item
    ]
    return ColumnQuality(
        cells=len(own_cells),
        filled=len(filled),
        checked=sum(cell.readings[0].status in CHECKED_STATUSES for cell in filled),
        sources=sum(map(len, cited)) / len(filled) if filled else 0.0,
        oldest=min(days, default=None),
        conflicts=sum(len(cell.readings) > 1 for cell in filled),
    )


# Agreement of sources


def is_same_value(first: CellValue, second: CellValue, column: Column) -> bool:
    """Return whether two values can both be true.

    Rounding, conversion, bounds and the precision of dates count as no difference. A number without
    a unit is read in the column's unit.
    """
    if first.type != second.type:
        return False
    match first.type:
        case "number" | "date":
            first_measure, second_measure = to_measure(first, column), to_measure(second, column)
            return (
                first_measure is not None
                and second_measure is not None
                and are_compatible(first_measure, second_measure)
            )
        case "yes or no":
            return first.yes == second.yes
        case "choice":
            return first.choice == second.choice
    return _is_same_text(first.text, second.text)


def to_measure(value: CellValue, column: Column) -> Measure | None:
    """Return a value as the figure or date that the check of answers compares; None if it has none.

    The wording of the value gives its rounding.
    """
    if value.type == "date":
        if value.day is None:
            return None
        day, precision = value.day, value.precision
        parts = (day.year, None if precision == "year" else day.month, day.day if precision == "day" else None)
        return Measure("date", 0, 0, 0, 0, date_parts=parts)
    if value.number is None:
        return None
    unit = find_unit(value.unit or column.unit) or Unit("", value.unit, 1.0)
    for measure in find_measures(value.text):
        for candidate in measure.interpretations():
            parsed = number_value(candidate, value.text)
            if (parsed.number, parsed.high, parsed.unit) == (value.number, value.high, value.unit):
                return candidate if value.unit else candidate.with_unit(unit)
    digits = f"{value.number:.9f}".rstrip("0").partition(".")[2]
    step = 10.0 ** -len(digits) * unit.factor
    low = value.number * unit.factor
    high = low if value.high is None else value.high * unit.factor
    return Measure(unit.kind, low, high, 0, 0, step, step, value.bound, unit.name, unit_factor=unit.factor)


def _is_same_text(first: str, second: str) -> bool:
    """Return whether two texts have nearly the same words and no different figure."""
    if normalise_quote(first).casefold() == normalise_quote(second).casefold():
        return True
    few, many = sorted((set(split_words(first)), set(split_words(second))), key=len)
    if not few or len(few & many) < MIN_SHARED_WORDS * len(few):
        return False
    first_figures, second_figures = find_measures(first), find_measures(second)
    fewer, more = (
        (first_figures, second_figures)
        if len(first_figures) <= len(second_figures)
        else (second_figures, first_figures)
    )
    return all(any(are_compatible(figure, other) for other in more) for figure in fewer)


def merge_readings(readings: Sequence[CellReading], column: Column) -> tuple[CellReading, ...]:
    """Merge readings that agree into one with the references of all.

    The reading with the most sources comes first, and of equals the best supported. More than one
    is left only where sources differ. A vague reading joins the exact value that has the most
    sources.
    """
    groups: list[list[CellReading]] = []
    for reading in sorted(readings, key=_vagueness):
        matching = [g for g in groups if all(is_same_value(reading.value, r.value, column) for r in g)]
        if matching:
            max(matching, key=_source_count).append(reading)
        else:
            groups.append([reading])
    groups.sort(key=lambda g: min(readings.index(r) for r in g))
    groups.sort(key=lambda g: (-_source_count(g), min(_STATUS_ORDER.index(r.status) for r in g)))
    return tuple(map(_merge_group, groups))


def _source_count(group: Iterable[CellReading]) -> int:
    return len({cite.evidence for reading in group for cite in reading.references})


def _merge_group(group: Sequence[CellReading]) -> CellReading:
    """Return the best supported, most exact reading of a group, with the references of the others
    added."""
    best = min(group, key=lambda r: (_STATUS_ORDER.index(r.status), _vagueness(r)))
    cites = dict.fromkeys(c for r in (best, *group) for c in r.references)
    return best.model_copy(update={"references": tuple(cites)})


def _vagueness(reading: CellReading) -> tuple[bool, bool, int]:
    value = reading.value
    precise = ("day", "month", "year").index(value.precision)
    return bool(value.bound), value.high is not None, precise
