"""What the figures of headlines and sentences count: each with its unit, or the word beside it.

The figures themselves are read by `research.language.quantities`; this knows how news count. 12人遇难,
"kills 12" and "twelve dead" are people; "flight 302" and "302 ships" are of the words beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from research.language.quantities import Measure, bounded, compatible, measures, plain

_KINDS = {"ratio": "%", "date": "", "clock": ""}  # "" is left out
_HARMED = re.compile(
    r" ?(?:killed|dead|die[sd]?|injured|hurt|missing|wounded|rescued|evacuated|arrested)\b|[死伤]"
)
_HARMS = re.compile(
    r"\b(?:kill|injure|wound|claim|rescue|arrest)(?:s|ed|ing|d)? (?:at least |about )?$"
)
_QUAKE = re.compile("震|quake|magnitude")
_MAGNITUDE_BEFORE = re.compile(r"magnitude[ -](?:of )?$|里氏$")
_WORD_BEFORE = re.compile(r"([a-z]+)[ -]?$")
_WORD_BEHIND = re.compile(r"[ -]?([a-z]{3,}|[\u4e00-\u9fff])")
_NO_NAME_WORDS = """
to by at of in on for from the a an and or with after as than over under about least up down
is was are were kill kills killed injure injures injured hurt hit hits rise rises rose fall falls
fell gain gains top tops raise raises raised cut cuts lose loses some near nearly reach
reaches reached cancel cancels cancelled
"""
_NO_NAMES = frozenset(_NO_NAME_WORDS.split())


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of a text: `value` counts `unit`s. `spelling` is how it is written, with what bounds
    it; `about` says that the text calls it a bound or an estimate."""

    measure: Measure
    value: float
    unit: str
    spelling: str

    @property
    def about(self) -> bool:
        return bool(self.measure.bound) or self.measure.low != self.measure.high


def agrees(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities of one unit may be one figure."""
    return one.value == other.value or compatible(one.measure, other.measure)


@lru_cache(20_000)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities of a text in the order in which they stand; of a date its parts, by themselves."""
    folded = plain(text)
    return tuple(found for measure in measures(text) for found in _counted(measure, folded, text))


def _counted(measure: Measure, folded: str, text: str) -> Iterator[Quantity]:
    start, end = bounded(folded, measure)
    spelling = text[start:end].strip()
    if measure.dated:
        for part, unit in zip(measure.parts, ("calendar year", "month", "date"), strict=True):
            if part is not None:
                yield Quantity(measure, float(part), unit, spelling)
        return
    unit = _unit(measure, folded)
    named = unit == measure.unit
    if unit:
        yield Quantity(measure, measure.bare if named else measure.low, unit, spelling)


def _unit(measure: Measure, text: str) -> str:
    """What a figure counts; "" if it is none that can be compared."""
    kind = measure.kind
    if not kind:
        return _beside(measure, text)
    if kind == "magnitude" and not _QUAKE.search(text):
        return "level"  # of wind, of an alert
    if kind == "count" and _harmed(measure, text):
        return "people"
    if kind.startswith("money "):
        return kind.removeprefix("money ")
    known = kind in ("count", "length", "duration", "area", "mass", "volume", "temperature")
    return _KINDS.get(kind, measure.unit if known else kind)


def _harmed(measure: Measure, text: str) -> bool:
    behind = _HARMED.match(text, measure.end)
    return bool(behind) or _HARMS.search(text, 0, measure.start) is not None


def _beside(measure: Measure, text: str) -> str:
    """What a number without a unit counts or numbers: the word after it, or before it."""
    if _harmed(measure, text):
        return "people"
    if measure.spoken:
        return ""
    if _MAGNITUDE_BEFORE.search(text, 0, measure.start):
        return "magnitude"
    named = _WORD_BEFORE.search(text, max(0, measure.start - 40), measure.start)
    if named and named[1] not in _NO_NAMES:
        return f"of {named[1]}"
    after = _WORD_BEHIND.match(text, measure.end)
    return f"as {after[1].rstrip('s')}" if after else ""


def clash(one: Iterable[Quantity], other: Iterable[Quantity]) -> frozenset[str]:
    """The units in which two texts both have figures, none of which agrees with any of the other's."""
    mine: dict[str, list[Quantity]] = {}
    theirs: dict[str, list[Quantity]] = {}
    for side, found in ((mine, one), (theirs, other)):
        for quantity in found:
            side.setdefault(quantity.unit, []).append(quantity)
    return frozenset(
        unit
        for unit in mine.keys() & theirs.keys()
        if not any(agrees(a, b) for a in mine[unit] for b in theirs[unit])
    )
