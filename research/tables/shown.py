"""A cell's value in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from research.core.i18n import message
from research.core.records import Cite, Column, Evidence, Language, Reading, Value
from research.tables.columns import point
from research.tables.values import unit_label

SIGNS = {"": "", "about": "≈ ", "least": "≥ ", "most": "≤ "}
_LENGTHS = {"day": 10, "month": 7, "year": 4}  # of ISO 8601


def cell_text(value: Value, column: Column, tongue: Language) -> str:
    """What a cell shows by itself: yes or no and choices as such, dates as ISO 8601 has them, as precise as
    they are known; numbers and texts in the words of their source."""
    if value.type == "yes or no" and value.yes is not None:
        return message("tabled.yes" if value.yes else "tabled.no", tongue)
    if value.type == "date" and value.day:
        return dated(value.day, value.precision)
    if value.type == "choice":
        return value.choice
    return value.text


def cell_in_column(value: Value, column: Column, unit: str, tongue: Language) -> str:
    """What a cell shows among those of its column: numbers in the column's `unit`, which stands in its
    heading; one that cannot be brought to it has its own behind it."""
    if value.type != "number" or value.number is None:
        return cell_text(value, column, tongue)
    at = point(value, unit)
    own = unit_label(value.unit, tongue) if at.low is None else ""
    low = value.number if at.low is None else at.low
    high = (value.high if at.low is None else at.high) or low
    to = f"–{figure(high)}" if high > low else ""
    return f"{SIGNS[value.bound]}{figure(low)}{to} {own}".strip()


def cell_quotes(reading: Reading, sources: Mapping[str, Evidence]) -> tuple[str, ...]:
    """The sentence on which a reading rests in each passage that it cites, "" where the passage is not among the
    `sources`, which are known by their ids."""
    return tuple(
        _stretch(cite, sources.get(cite.evidence)) if n else reading.quote
        for n, cite in enumerate(reading.cites)
    )


def _stretch(cite: Cite, source: Evidence | None) -> str:
    passages = source.passages if source else ()
    text = next((passage.text for passage in passages if passage.id == cite.passage), "")
    return text[cite.start : cite.end or None].strip()


def cell_heading(column: Column, unit: str, tongue: Language) -> str:
    """A column's name, with the unit of its numbers unless the name tells it."""
    own = unit_label(unit, tongue)
    tells = not own or own.casefold() in column.name.casefold()
    return column.name if tells else f"{column.name} ({own})"


def figure(value: float) -> str:
    """A number as people read it: 1,200,000, 0.5."""
    if value and abs(value) < 1e-3:
        return f"{value:.4g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def dated(day: date, precision: str) -> str:
    """A date as far as it is known."""
    return day.isoformat()[: _LENGTHS[precision]]
