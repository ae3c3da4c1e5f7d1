"""Units of the numbers of a table column."""

from __future__ import annotations

from functools import cache

from research.core.records import Language
from research.core.text.quantities import Measure, fold_text
from research.core.text.tokenizer import has_han
from research.core.text.units import PREFIX_UNITS, UNITS, Unit

_COUNT_KINDS = frozenset(("", "people", "count"))


def find_unit(spelling: str) -> Unit | None:
    """Return the unit with a spelling or sign such as 元, CNY or km²; None if it is unknown."""
    folded = fold_text(spelling.strip())
    units = UNITS.get(folded.replace("-", " ")) or PREFIX_UNITS.get(folded)
    return units[0] if units else None


def unit_name(kind: str, factor: float) -> str:
    """Return the name of a unit, or "" if there is none.

    `kind` is the kind of quantity ("length"), and `factor` the size of the unit in the base unit of
    that kind (1000 for km).
    """
    return _unit_names().get((kind, factor), "")


@cache
def _unit_names() -> dict[tuple[str, float], str]:
    names: dict[tuple[str, float], str] = {}
    for units in UNITS.values():
        for unit in units:
            names.setdefault((unit.kind, unit.factor), unit.name)
    return names


def unit_family(kind: str) -> str:
    """Return the family of a kind of quantity; figures of one family may share a column.

    Money of all currencies is one family, and so are counts of people and of things ("").
    """
    if kind in _COUNT_KINDS:
        return ""
    return Measure(kind, 0, 0, 0, 0).family


def unit_label(name: str, language: Language) -> str:
    """Return the label of a unit in headings, such as CNY, m² or 公顷; an unknown unit stays as it
    is."""
    unit = find_unit(name)
    if unit is None or unit.name != name:
        return name
    if language == "zh":
        return next((spelling for spelling, units in UNITS.items() if units[0] == unit and has_han(spelling)), name)
    if unit.kind.startswith("money ") and unit.factor == 1:
        return {"yuan": "CNY"}.get(name, name.upper())
    return name
