"""A figure or a date as a value, and whether two of them are the same.

Knows nothing of how they are spelled: `research.core.text.quantities` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from research.core.text.units import UNITS, Unit

CONVERSION = 0.02  # how far a value may lie off that was converted between units
COARSEST = 0.1  # rounding changes a value by less than this share
BOUND = 1.3  # "more than 100" may be said of up to 130
NEARLY = 0.1  # how far an estimate or a bound may lie off

Parts = tuple[int | None, int | None, int | None]

# What may stand in the place of what: money of any currency, a share however it is said.
_FAMILY = {unit.kind: "money" for of in UNITS.values() for unit in of if unit.kind[:5] == "money"}
_FAMILY |= {"points": "ratio", "times": "ratio", "discount": "ratio"}
_FAMILY |= {"fahrenheit": "temperature", "kelvin": "temperature"}
_TIMES = frozenset(
    ("clock", "weekday", "quarter", "half", "decade", "century", "score", "edition", "until")
)
_RANKED = frozenset(("ordinal", "edition", "duration", "count"))
_COUNTED = frozenset(("count", "people"))
UNCONVERTED = frozenset(("count", "people", "ratio", ""))


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure from `low` to `high` in base units of its kind, or a date as `parts` (year, month,
    day). `step` is the worth of its last digit, `coarse` of its last digit that is not 0.

    What can be read in more than one way has the likeliest as its own and the rest as `others`
    (units of its spelling: ¥, pounds) or `swapped` (3/4/2026 as another day).
    """

    kind: str
    low: float
    high: float
    start: int
    end: int
    step: float = 1.0
    coarse: float = 1.0
    bound: str = ""  # about, some, least, most
    unit: str = ""
    parts: Parts = (None, None, None)
    factor: float = 1.0  # of the unit as it is written
    spoken: bool = False  # a small number written as a word
    others: tuple[Unit, ...] = ()
    swapped: Parts | None = None

    @property
    def bare(self) -> float:
        """The number as it is written, whatever it counts."""
        year = self.parts[0]
        return float(year or 0) if self.dated else self.low / self.factor

    @property
    def family(self) -> str:
        """What may stand in its place: money of any currency, a share however it is said."""
        return _FAMILY.get(self.kind, self.kind)

    @property
    def dated(self) -> bool:
        return self.kind == "date"

    def read_as(self, unit: Unit) -> Measure:
        """The same number as so much of another unit."""
        by = unit.factor / self.factor
        return replace(
            self,
            kind=unit.kind,
            unit=unit.name,
            low=self.low * by,
            high=self.high * by,
            step=self.step * by,
            coarse=self.coarse * by,
            factor=unit.factor,
        )

    def readings(self) -> Iterator[Measure]:
        """All that it may mean, the likeliest first."""
        yield self
        for unit in self.others:
            yield self.read_as(unit)
        if self.swapped:
            yield replace(self, parts=self.swapped)


_BARE = Unit("", "", 1.0)


def agrees(claim: Measure, found: Measure) -> bool:
    """Whether what is found bears the claim's figure out: equal, or rounded by the claim."""
    return any(_agrees(one, other) for one in claim.readings() for other in found.readings())


def compatible(one: Measure, other: Measure) -> bool:
    """Whether two figures of one thing may both be true, whoever gives them: one bears the other
    out, both span a common value, or one is called an estimate or a bound and lies close."""
    if agrees(one, other) or agrees(other, one):
        return True
    if one.dated or other.dated or one.kind != other.kind:
        return False
    gap = max(one.low, other.low) - min(one.high, other.high)
    if gap <= 0 and (one.low, other.low) != (one.high, other.high):
        return True
    size = max(abs(one.low), abs(one.high), abs(other.low), abs(other.high))
    return bool(one.bound or other.bound) and gap <= NEARLY * size


def dates_agree(claim: Measure, found: Measure) -> bool:
    """Whether every part that the claim gives is given and the same."""
    return any(
        all(mine is None or mine == its for mine, its in zip(one.parts, other.parts, strict=True))
        for one in claim.readings()
        for other in found.readings()
    )


def dates_clash(claim: Measure, found: Measure) -> bool:
    """Whether a part that both give is another, however they are read."""
    return all(
        any(
            mine is not None and its is not None and mine != its
            for mine, its in zip(one.parts, other.parts, strict=True)
        )
        for one in claim.readings()
        for other in found.readings()
    )


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1e-12)


def _agrees(claim: Measure, found: Measure) -> bool:
    if claim.kind != found.kind:
        return _kinds_agree(claim, found)
    if claim.dated:
        return dates_agree(replace(claim, swapped=None), replace(found, swapped=None))
    if claim.kind == "clock":
        either = "?" in (claim.unit, found.unit)  # morning or evening
        return _close(claim.low, found.low) or (either and _close(claim.low % 720, found.low % 720))
    return _figures_agree(claim, found)


def _figures_agree(claim: Measure, found: Measure) -> bool:
    if {claim.bound, found.bound} == {"least", "most"} and claim.kind != "temperature":
        return False
    if claim.low != claim.high or found.low != found.high:
        return _ranges_agree(claim, found)
    grown = claim.kind == "times" and claim.low > 2 and _close(abs(claim.low - found.low), 1)
    return _values_agree(claim, found) or grown


def _kinds_agree(claim: Measure, found: Measure) -> bool:
    """Whether figures of two kinds are the same: a number of what is counted, 200 % and twice."""
    kinds = {claim.kind, found.kind}
    if "" in kinds:
        return _bare_agree(claim, found)
    if claim.family == found.family:
        return _shares_agree(claim, found)
    if "ordinal" in kinds:
        return kinds <= _RANKED and _close(claim.bare, found.bare)
    counted = claim if claim.kind == "count" else found
    return kinds == _COUNTED and counted.unit in ("个", "口") and _figures_agree(claim, found)


def _bare_agree(claim: Measure, found: Measure) -> bool:
    """Whether a number without a unit is the number of a figure with one, or of a year."""
    one, other = claim.bare, found.bare
    if abs(one - other) > (BOUND - 1) * max(abs(one), abs(other)):
        return False
    if claim.dated or found.dated:
        date = claim if claim.dated else found
        return date.parts[1] is None and _close(one, other)
    if claim.kind in _TIMES or found.kind in _TIMES:
        return False
    if found.spoken and claim.family in ("ratio", "money"):
        return False
    return _agrees(claim.read_as(_BARE), found.read_as(_BARE))


def _values_agree(claim: Measure, found: Measure) -> bool:
    one, other = claim.low, found.low
    if _close(one, other):
        return True
    gap, size = abs(one - other), max(abs(one), abs(other))
    if claim.bound == "some" and one <= other < one + claim.coarse:
        return True
    if claim.unit != found.unit and gap <= CONVERSION * size and claim.kind not in UNCONVERTED:
        return True
    if not found.bound and other:
        share = one / other if claim.bound == "most" else other / one if one else 0
        if claim.bound in ("least", "most") and 1 <= share <= BOUND:
            return True
    step = claim.coarse if claim.bound == "about" else claim.step
    known = found.coarse if found.bound == "about" else found.step
    if (
        found.unit == "part"
    ):  # a third is known exactly, 33 % is its rounding, 66 % is two thirds cut off
        known = 0.0
        if 0 < other - one < step <= 1 and claim.unit == "%":
            return True
    if step <= known or gap > COARSEST * size:
        return False
    return gap < step / 2 or (one > other and _close(gap, step / 2))


def _ranges_agree(claim: Measure, found: Measure) -> bool:
    if claim.low == claim.high:
        ends = {"most": (found.high,), "least": (found.low,)}.get(claim.bound, ())
        if claim.bound == "about":
            return found.low <= claim.low <= found.high
        return any(_close(claim.low, end) for end in ends)
    if found.low == found.high:
        return claim.low <= found.low <= claim.high
    slack = CONVERSION if claim.unit != found.unit else 1e-6
    pairs = ((claim.low, found.low), (claim.high, found.high))
    return all(abs(a - b) <= slack * max(abs(a), abs(b)) for a, b in pairs)


def _shares_agree(claim: Measure, found: Measure) -> bool:
    """Twice is 200 %, and so is a growth by 100 %; points are no per cent."""
    by_kind = {claim.kind: claim.low, found.kind: found.low}
    kinds = by_kind.keys()
    if kinds == {"times", "ratio"}:
        times, ratio = by_kind["times"], by_kind["ratio"]
        grown = any(_close(ratio, (times - less) * 100) for less in (0, 1))
        return grown or (times > 0 and abs(ratio * times - 100) <= 1)
    if kinds == {"discount", "ratio"}:  # 八五折 is 85 %, and 15 % off
        return any(
            _close(by_kind["ratio"], r) for r in (by_kind["discount"], 100 - by_kind["discount"])
        )
    if claim.family == "temperature":
        one, other = _celsius(claim), _celsius(found)
        return abs(one - other) <= max(0.6, CONVERSION * abs(one))
    return False


def _celsius(measure: Measure) -> float:
    if measure.kind == "fahrenheit":
        return (measure.low - 32) / 1.8
    return measure.low - 273.15 if measure.kind == "kelvin" else measure.low
