"""A cell's value in words."""

from __future__ import annotations

from research.i18n import message
from research.records import Column, Language, Value

_LENGTHS = {"day": 10, "month": 7, "year": 4}  # of ISO 8601


def shown(value: Value, column: Column, tongue: Language) -> str:
    """What a cell shows: yes or no and choices as such, dates as ISO 8601 has them, as precise as they are
    known; numbers and texts in the words of their source."""
    if value.type == "yes or no" and value.yes is not None:
        return message("tabled.yes" if value.yes else "tabled.no", tongue)
    if value.type == "date" and value.day:
        return value.day.isoformat()[: _LENGTHS[value.precision]]
    if value.type == "choice":
        return value.choice
    return value.text
