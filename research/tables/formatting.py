"""The value of a table cell as text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from research.core.i18n import message
from research.core.records import CellReading, CellValue, Column, Evidence, Language, PassageReference
from research.tables.column_values import convert_number
from research.tables.units import unit_label

BOUND_SIGNS = {"": "", "about": "≈ ", "least": "≥ ", "most": "≤ "}
_ISO_LENGTHS = {"day": 10, "month": 7, "year": 4}  # characters of an ISO 8601 date


def format_cell(value: CellValue, language: Language) -> str:
    """Format a value without regard to its column's unit.

    Yes or no and choices are shown as such, dates in ISO 8601 at their precision, numbers and texts
    in the words of their source.
    """
    if value.type == "yes or no" and value.yes is not None:
        return message("tabled.yes" if value.yes else "tabled.no", language)
    if value.type == "date" and value.day:
        return format_date(value.day, value.precision)
    if value.type == "choice":
        return value.choice
    return value.text


def format_cell_in_column(value: CellValue, column: Column, unit_name: str, language: Language) -> str:
    """Format a value for its column, whose heading shows the unit.

    A number that cannot be converted to that unit is followed by its own.
    """
    if value.type != "number" or value.number is None:
        return format_cell(value, language)
    converted = convert_number(value, unit_name)
    own_unit = unit_label(value.unit, language) if converted.low is None else ""
    low = value.number if converted.low is None else converted.low
    high = (value.high if converted.low is None else converted.high) or low
    upper_part = f"–{format_number(high)}" if high > low else ""
    return f"{BOUND_SIGNS[value.bound]}{format_number(low)}{upper_part} {own_unit}".strip()


def reading_quotes(reading: CellReading, sources: Mapping[str, Evidence]) -> tuple[str, ...]:
    """Return a quoted sentence for each passage that a reading cites, the reading's own quote first.

    `sources` maps ids to evidence; the quote of a passage that is missing there is "".
    """
    return tuple(
        _cited_text(cite, sources.get(cite.evidence)) if n else reading.quote
        for n, cite in enumerate(reading.references)
    )


def _cited_text(cite: PassageReference, source: Evidence | None) -> str:
    passages = source.passages if source else ()
    text = next((passage.text for passage in passages if passage.id == cite.passage), "")
    return text[cite.start : cite.end or None].strip()


def format_column_heading(column: Column, unit_name: str, language: Language) -> str:
    """Return a column's name, with the unit of its numbers unless the name contains it."""
    unit = unit_label(unit_name, language)
    is_named = not unit or unit.casefold() in column.name.casefold()
    return column.name if is_named else f"{column.name} ({unit})"


def format_number(value: float) -> str:
    """Format a number with thousands separators and at most four decimals: 1,200,000, 0.5."""
    if value and abs(value) < 1e-3:
        return f"{value:.4g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def format_date(day: date, precision: str) -> str:
    """Format a date in ISO 8601 up to its precision: "day", "month" or "year"."""
    return day.isoformat()[: _ISO_LENGTHS[precision]]
