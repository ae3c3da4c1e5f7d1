"""A cell's value in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from research.core.i18n import message
from research.core.records import CellReading, CellValue, Column, Evidence, Language, PassageReference
from research.tables.column_values import convert_number
from research.tables.values import unit_label

BOUND_SIGNS = {"": "", "about": "≈ ", "least": "≥ ", "most": "≤ "}
_ISO_LENGTHS = {"day": 10, "month": 7, "year": 4}  # of ISO 8601


def format_cell(value: CellValue, column: Column, language: Language) -> str:
    """What a cell shows by itself: yes or no and choices as such, dates as ISO 8601 has them, as precise as
    they are known; numbers and texts in the words of their source."""
    if value.type == "yes or no" and value.yes is not None:
        return message("tabled.yes" if value.yes else "tabled.no", language)
    if value.type == "date" and value.day:
        return format_date(value.day, value.precision)
    if value.type == "choice":
        return value.choice
    return value.text


def format_cell_in_column(value: CellValue, column: Column, unit_name: str, language: Language) -> str:
    """What a cell shows among those of its column: numbers in the column's `unit`, which stands in its
    heading; one that cannot be brought to it has its own behind it."""
    if value.type != "number" or value.number is None:
        return format_cell(value, column, language)
    at = convert_number(value, unit_name)
    own = unit_label(value.unit, language) if at.low is None else ""
    low = value.number if at.low is None else at.low
    high = (value.high if at.low is None else at.high) or low
    to = f"–{format_number(high)}" if high > low else ""
    return f"{BOUND_SIGNS[value.bound]}{format_number(low)}{to} {own}".strip()


def reading_quotes(reading: CellReading, sources: Mapping[str, Evidence]) -> tuple[str, ...]:
    """The sentence on which a reading rests in each passage that it cites, "" where the passage is not among the
    `sources`, which are known by their ids."""
    return tuple(
        _cited_text(cite, sources.get(cite.evidence)) if n else reading.quote for n, cite in enumerate(reading.cites)
    )


def _cited_text(cite: PassageReference, source: Evidence | None) -> str:
    passages = source.passages if source else ()
    text = next((passage.text for passage in passages if passage.id == cite.passage), "")
    return text[cite.start : cite.end or None].strip()


def format_column_heading(column: Column, unit_name: str, language: Language) -> str:
    """A column's name, with the unit of its numbers unless the name tells it."""
    own = unit_label(unit_name, language)
    tells = not own or own.casefold() in column.name.casefold()
    return column.name if tells else f"{column.name} ({own})"


def format_number(value: float) -> str:
    """A number as people read it: 1,200,000, 0.5."""
    if value and abs(value) < 1e-3:
        return f"{value:.4g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def format_date(day: date, precision: str) -> str:
    """A date as far as it is known."""
    return day.isoformat()[: _ISO_LENGTHS[precision]]
