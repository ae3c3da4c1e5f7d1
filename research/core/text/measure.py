"""A figure or a date as a value, and whether two of them are the same.

Knows nothing of how they are spelled: `research.core.text.quantities` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from research.core.text.units import UNITS, Unit

CONVERSION_TOLERANCE = 0.02  # how far a value may lie off that was converted between units
MAX_ROUNDING_SHARE = 0.1  # rounding changes a value by less than this share
MAX_BOUND_RATIO = 1.3  # "more than 100" may be said of up to 130
ESTIMATE_TOLERANCE = 0.1  # how far an estimate or a bound may lie off

DateParts = tuple[int | None, int | None, int | None]

# What may stand in the place of what: money of any currency, a share however it is said.
_FAMILIES = {unit.kind: "money" for of in UNITS.values() for unit in of if unit.kind[:5] == "money"}
_FAMILIES |= {"points": "ratio", "times": "ratio", "discount": "ratio"}
_FAMILIES |= {"fahrenheit": "temperature", "kelvin": "temperature"}
_TIME_KINDS = frozenset(("clock", "weekday", "quarter", "half", "decade", "century", "score", "edition", "until"))
_RANK_KINDS = frozenset(("ordinal", "edition", "duration", "count"))
_COUNT_KINDS = frozenset(("count", "people"))
UNCONVERTED_KINDS = frozenset(("count", "people", "ratio", ""))


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
    resolution: float = 1.0
    coarse_resolution: float = 1.0
    bound: str = ""  # about, some, least, most
    unit: str = ""
    date_parts: DateParts = (None, None, None)
    unit_factor: float = 1.0  # of the unit as it is written
    is_small_word: bool = False  # a small number written as a word
    other_units: tuple[Unit, ...] = ()
    swapped_date_parts: DateParts | None = None

    @property
    def written_value(self) -> float:
        """The number as it is written, whatever it counts."""
        year = self.date_parts[0]
        return float(year or 0) if self.is_date else self.low / self.unit_factor

    @property
    def family(self) -> str:
        """What may stand in its place: money of any currency, a share however it is said."""
        return _FAMILIES.get(self.kind, self.kind)

    @property
    def is_date(self) -> bool:
        return self.kind == "date"

    def with_unit(self, unit: Unit) -> Measure:
        """The same number as so much of another unit."""
        by = unit.factor / self.unit_factor
        return replace(
            self,
            kind=unit.kind,
            unit=unit.name,
            low=self.low * by,
            high=self.high * by,
            resolution=self.resolution * by,
            coarse_resolution=self.coarse_resolution * by,
            unit_factor=unit.factor,
        )

    def interpretations(self) -> Iterator[Measure]:
        """All that it may mean, the likeliest first."""
        yield self
        for unit in self.other_units:
            yield self.with_unit(unit)
        if self.swapped_date_parts:
            yield replace(self, date_parts=self.swapped_date_parts)


_NO_UNIT = Unit("", "", 1.0)


def measures_agree(claim: Measure, source: Measure) -> bool:
    """Whether what is found bears the claim's figure out: equal, or rounded by the claim."""
    return any(
        _interpretations_agree(one, other) for one in claim.interpretations() for other in source.interpretations()
    )


def are_compatible(one: Measure, other: Measure) -> bool:
    """Whether two figures of one thing may both be true, whoever gives them: one bears the other
    out, both span a common value, or one is called an estimate or a bound and lies close."""
    if measures_agree(one, other) or measures_agree(other, one):
        return True
    if one.is_date or other.is_date or one.kind != other.kind:
        return False
    gap = max(one.low, other.low) - min(one.high, other.high)
    if gap <= 0 and (one.low, other.low) != (one.high, other.high):
        return True
    size = max(abs(one.low), abs(one.high), abs(other.low), abs(other.high))
    return bool(one.bound or other.bound) and gap <= ESTIMATE_TOLERANCE * size


def dates_agree(claim: Measure, source: Measure) -> bool:
    """Whether every part that the claim gives is given and the same."""
    return any(
        all(mine is None or mine == its for mine, its in zip(one.date_parts, other.date_parts, strict=True))
        for one in claim.interpretations()
        for other in source.interpretations()
    )


def dates_conflict(claim: Measure, source: Measure) -> bool:
    """Whether a part that both give is another, however they are read."""
    return all(
        any(
            mine is not None and its is not None and mine != its
            for mine, its in zip(one.date_parts, other.date_parts, strict=True)
        )
        for one in claim.interpretations()
        for other in source.interpretations()
    )


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1e-12)


def _interpretations_agree(claim: Measure, source: Measure) -> bool:
    if claim.kind != source.kind:
        return _mixed_kinds_agree(claim, source)
    if claim.is_date:
        return dates_agree(replace(claim, swapped_date_parts=None), replace(source, swapped_date_parts=None))
    if claim.kind == "clock":
        either = "?" in (claim.unit, source.unit)  # morning or evening
        return _is_close(claim.low, source.low) or (either and _is_close(claim.low % 720, source.low % 720))
    return _figures_agree(claim, source)


def _figures_agree(claim: Measure, source: Measure) -> bool:
    if {claim.bound, source.bound} == {"least", "most"} and claim.kind != "temperature":
        return False
    if claim.low != claim.high or source.low != source.high:
        return _ranges_agree(claim, source)
    grown = claim.kind == "times" and claim.low > 2 and _is_close(abs(claim.low - source.low), 1)
    return _values_agree(claim, source) or grown


def _mixed_kinds_agree(claim: Measure, source: Measure) -> bool:
    """Whether figures of two kinds are the same: a number of what is counted, 200 % and twice."""
    kinds = {claim.kind, source.kind}
    if "" in kinds:
        return _unitless_agree(claim, source)
    if claim.family == source.family:
        return _family_kinds_agree(claim, source)
    if "ordinal" in kinds:
        return kinds <= _RANK_KINDS and _is_close(claim.written_value, source.written_value)
    counted = claim if claim.kind == "count" else source
    return kinds == _COUNT_KINDS and counted.unit in ("个", "口") and _figures_agree(claim, source)


def _unitless_agree(claim: Measure, source: Measure) -> bool:
    """Whether a number without a unit is the number of a figure with one, or of a year."""
    one, other = claim.written_value, source.written_value
    if abs(one - other) > (MAX_BOUND_RATIO - 1) * max(abs(one), abs(other)):
        return False
    if claim.is_date or source.is_date:
        date = claim if claim.is_date else source
        return date.date_parts[1] is None and _is_close(one, other)
    if claim.kind in _TIME_KINDS or source.kind in _TIME_KINDS:
        return False
    if source.is_small_word and claim.family in ("ratio", "money"):
        return False
    return _interpretations_agree(claim.with_unit(_NO_UNIT), source.with_unit(_NO_UNIT))


def _values_agree(claim: Measure, source: Measure) -> bool:
    one, other = claim.low, source.low
    if _is_close(one, other):
        return True
    gap, size = abs(one - other), max(abs(one), abs(other))
    if claim.bound == "some" and one <= other < one + claim.coarse_resolution:
        return True
    if claim.unit != source.unit and gap <= CONVERSION_TOLERANCE * size and claim.kind not in UNCONVERTED_KINDS:
        return True
    if not source.bound and other:
        share = one / other if claim.bound == "most" else other / one if one else 0
        if claim.bound in ("least", "most") and 1 <= share <= MAX_BOUND_RATIO:
            return True
    step = claim.coarse_resolution if claim.bound == "about" else claim.resolution
    known = source.coarse_resolution if source.bound == "about" else source.resolution
    if source.unit == "part":  # a third is known exactly, 33 % is its rounding, 66 % is two thirds cut off
        known = 0.0
        if 0 < other - one < step <= 1 and claim.unit == "%":
            return True
    if step <= known or gap > MAX_ROUNDING_SHARE * size:
        return False
    return gap < step / 2 or (one > other and _is_close(gap, step / 2))


def _ranges_agree(claim: Measure, source: Measure) -> bool:
    if claim.low == claim.high:
        ends = {"most": (source.high,), "least": (source.low,)}.get(claim.bound, ())
        if claim.bound == "about":
            return source.low <= claim.low <= source.high
        return any(_is_close(claim.low, end) for end in ends)
    if source.low == source.high:
        return claim.low <= source.low <= claim.high
    slack = CONVERSION_TOLERANCE if claim.unit != source.unit else 1e-6
    pairs = ((claim.low, source.low), (claim.high, source.high))
    return all(abs(a - b) <= slack * max(abs(a), abs(b)) for a, b in pairs)


def _family_kinds_agree(claim: Measure, source: Measure) -> bool:
    """Twice is 200 %, and so is a growth by 100 %; points are no per cent."""
    by_kind = {claim.kind: claim.low, source.kind: source.low}
    kinds = by_kind.keys()
    if kinds == {"times", "ratio"}:
        times, ratio = by_kind["times"], by_kind["ratio"]
        grown = any(_is_close(ratio, (times - less) * 100) for less in (0, 1))
        return grown or (times > 0 and abs(ratio * times - 100) <= 1)
    if kinds == {"discount", "ratio"}:  # 八五折 is 85 %, and 15 % off
        return any(_is_close(by_kind["ratio"], r) for r in (by_kind["discount"], 100 - by_kind["discount"]))
    if claim.family == "temperature":
        one, other = _to_celsius(claim), _to_celsius(source)
        return abs(one - other) <= max(0.6, CONVERSION_TOLERANCE * abs(one))
    return False


def _to_celsius(measure: Measure) -> float:
    if measure.kind == "fahrenheit":
        return (measure.low - 32) / 1.8
    return measure.low - 273.15 if measure.kind == "kelvin" else measure.low
