"""A figure or a date as a value, and comparisons between such values.

Knows nothing of spelling: `research.core.text.quantities` parses text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product, starmap

from research.core.text.units import UNITS, Unit

CONVERSION_TOLERANCE = 0.02  # relative tolerance of a value converted between units
MAX_ROUNDING_SHARE = 0.1  # largest relative change by rounding
MAX_BOUND_RATIO = 1.3  # "more than 100" may describe up to 130
ESTIMATE_TOLERANCE = 0.1  # relative tolerance of an estimate or a bound

DateParts = tuple[int | None, int | None, int | None]

# Kinds that can be compared with each other: money of any currency, any form of a share.
_FAMILIES = {unit.kind: "money" for units in UNITS.values() for unit in units if unit.kind[:5] == "money"}
_FAMILIES |= {"points": "ratio", "times": "ratio", "discount": "ratio"}
_FAMILIES |= {"fahrenheit": "temperature", "kelvin": "temperature"}
_TIME_KINDS = frozenset(("clock", "weekday", "quarter", "half", "decade", "century", "score", "edition", "until"))
_RANK_KINDS = frozenset(("ordinal", "edition", "duration", "count"))
_COUNT_KINDS = frozenset(("count", "people"))
UNCONVERTED_KINDS = frozenset(("count", "people", "ratio", ""))


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure from `low` to `high` in base units of its kind, or a date in `date_parts`.

    `resolution` is the value of its last digit, `coarse_resolution` of its last digit other than 0.
    `date_parts` are year, month and day, None where not given.

    An ambiguous measure holds the most likely interpretation and the alternatives: `other_units`
    (¥, pounds) or `swapped_date_parts` (3/4/2026 as another day).
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
    unit_factor: float = 1.0  # factor of the written unit
    is_small_word: bool = False  # a small number written as a word
    other_units: tuple[Unit, ...] = ()
    swapped_date_parts: DateParts | None = None

    @property
    def written_value(self) -> float:
        """The number as written, regardless of its unit."""
        year = self.date_parts[0]
        return float(year or 0) if self.is_date else self.low / self.unit_factor

    @property
    def family(self) -> str:
        """The kinds it is comparable with: money of any currency, any form of a share."""
        return _FAMILIES.get(self.kind, self.kind)

    @property
    def is_date(self) -> bool:
        return self.kind == "date"

    def with_unit(self, unit: Unit) -> Measure:
        """Return the same written number with another unit."""
        ratio = unit.factor / self.unit_factor
        return replace(
            self,
            kind=unit.kind,
            unit=unit.name,
            low=self.low * ratio,
            high=self.high * ratio,
            resolution=self.resolution * ratio,
            coarse_resolution=self.coarse_resolution * ratio,
            unit_factor=unit.factor,
        )

    def interpretations(self) -> Iterator[Measure]:
        """Yield all interpretations, the most likely first."""
        yield self
        for unit in self.other_units:
            yield self.with_unit(unit)
        if self.swapped_date_parts:
            yield replace(self, date_parts=self.swapped_date_parts)


_NO_UNIT = Unit("", "", 1.0)


def measures_agree(claim: Measure, source: Measure) -> bool:
    """Return whether a source's figure supports a claim's: equal, or rounded by the claim."""
    return any(starmap(_interpretations_agree, product(claim.interpretations(), source.interpretations())))


def are_compatible(first: Measure, second: Measure) -> bool:
    """Return whether two figures for the same thing can both be true.

    They can if one supports the other, if their ranges overlap, or if they are close and one is an
    estimate or a bound. Two dates can unless they conflict.
    """
    if first.is_date and second.is_date:
        return not dates_conflict(first, second)
    if measures_agree(first, second) or measures_agree(second, first):
        return True
    if first.is_date or second.is_date or first.kind != second.kind:
        return False
    gap = max(first.low, second.low) - min(first.high, second.high)
    if gap <= 0 and (first.low, second.low) != (first.high, second.high):
        return True
    size = max(abs(first.low), abs(first.high), abs(second.low), abs(second.high))
    return bool(first.bound or second.bound) and gap <= ESTIMATE_TOLERANCE * size


def dates_agree(claim: Measure, source: Measure) -> bool:
    """Return whether the source has every part of the claim's date."""
    return any(all(part is None or part == other for part, other in pairs) for pairs in _date_part_pairs(claim, source))


def dates_conflict(claim: Measure, source: Measure) -> bool:
    """Return whether two dates differ in a part that both give, in every interpretation."""
    return all(
        any(None not in pair and pair[0] != pair[1] for pair in pairs) for pairs in _date_part_pairs(claim, source)
    )


def _date_part_pairs(claim: Measure, source: Measure) -> Iterator[list[tuple[int | None, int | None]]]:
    """Yield the pairs of years, months and days of two dates in each pair of interpretations."""
    for claim_date, source_date in product(claim.interpretations(), source.interpretations()):
        yield list(zip(claim_date.date_parts, source_date.date_parts, strict=True))


def _is_close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-12)


def _interpretations_agree(claim: Measure, source: Measure) -> bool:
    if claim.kind != source.kind:
        return _mixed_kinds_agree(claim, source)
    if claim.is_date:
        return dates_agree(replace(claim, swapped_date_parts=None), replace(source, swapped_date_parts=None))
    if claim.kind == "clock":
        is_ambiguous = "?" in (claim.unit, source.unit)  # before or after noon
        return _is_close(claim.low, source.low) or (is_ambiguous and _is_close(claim.low % 720, source.low % 720))
    return _figures_agree(claim, source)


def _figures_agree(claim: Measure, source: Measure) -> bool:
    if {claim.bound, source.bound} == {"least", "most"} and claim.kind != "temperature":
        return False
    if claim.low != claim.high or source.low != source.high:
        return _ranges_agree(claim, source)
    is_growth = claim.kind == "times" and claim.low > 2 and _is_close(abs(claim.low - source.low), 1)
    return _values_agree(claim, source) or is_growth


def _mixed_kinds_agree(claim: Measure, source: Measure) -> bool:
    """Return whether figures of different kinds agree, such as 200 % and twice."""
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
    """Return whether a number without a unit is that of a figure with a unit, or of a year."""
    claim_value, source_value = claim.written_value, source.written_value
    if abs(claim_value - source_value) > (MAX_BOUND_RATIO - 1) * max(abs(claim_value), abs(source_value)):
        return False
    if claim.is_date or source.is_date:
        date = claim if claim.is_date else source
        return date.date_parts[1] is None and _is_close(claim_value, source_value)
    if claim.kind in _TIME_KINDS or source.kind in _TIME_KINDS:
        return False
    if source.is_small_word and claim.family in ("ratio", "money"):
        return False
    return _interpretations_agree(claim.with_unit(_NO_UNIT), source.with_unit(_NO_UNIT))


def _values_agree(claim: Measure, source: Measure) -> bool:
    claim_value, source_value = claim.low, source.low
    if _is_close(claim_value, source_value):
        return True
    gap, size = abs(claim_value - source_value), max(abs(claim_value), abs(source_value))
    if claim.bound == "some" and claim_value <= source_value < claim_value + claim.coarse_resolution:
        return True
    if claim.unit != source.unit and gap <= CONVERSION_TOLERANCE * size and claim.kind not in UNCONVERTED_KINDS:
        return True
    if not source.bound and source_value:
        share = (
            claim_value / source_value if claim.bound == "most" else source_value / claim_value if claim_value else 0
        )
        if claim.bound in ("least", "most") and 1 <= share <= MAX_BOUND_RATIO:
            return True
    step = claim.coarse_resolution if claim.bound == "about" else claim.resolution
    source_step = source.coarse_resolution if source.bound == "about" else source.resolution
    if source.unit == "part":  # a third is exact, 33 % is its rounding, 66 % is two thirds truncated
        source_step = 0.0
        if 0 < source_value - claim_value < step <= 1 and claim.unit == "%":
            return True
    if step <= source_step or gap > MAX_ROUNDING_SHARE * size:
        return False
    return gap < step / 2 or (claim_value > source_value and _is_close(gap, step / 2))


def _ranges_agree(claim: Measure, source: Measure) -> bool:
    if claim.low == claim.high:
        ends = {"most": (source.high,), "least": (source.low,)}.get(claim.bound, ())
        if claim.bound == "about":
            return source.low <= claim.low <= source.high
        return any(_is_close(claim.low, end) for end in ends)
    if source.low == source.high:
        return claim.low <= source.low <= claim.high
    tolerance = CONVERSION_TOLERANCE if claim.unit != source.unit else 1e-6
    pairs = ((claim.low, source.low), (claim.high, source.high))
    return all(abs(a - b) <= tolerance * max(abs(a), abs(b)) for a, b in pairs)


def _family_kinds_agree(claim: Measure, source: Measure) -> bool:
    """Compare kinds of one family: twice is 200 % or +100 %; points are not per cent."""
    by_kind = {claim.kind: claim.low, source.kind: source.low}
    kinds = by_kind.keys()
    if kinds == {"times", "ratio"}:
        times, ratio = by_kind["times"], by_kind["ratio"]
        is_growth = any(_is_close(ratio, (times - offset) * 100) for offset in (0, 1))
        return is_growth or (times > 0 and abs(ratio * times - 100) <= 1)
    if kinds == {"discount", "ratio"}:  # 八五折 is 85 %, and 15 % off
        return any(_is_close(by_kind["ratio"], r) for r in (by_kind["discount"], 100 - by_kind["discount"]))
    if claim.family == "temperature":
        claim_celsius, source_celsius = _to_celsius(claim), _to_celsius(source)
        return abs(claim_celsius - source_celsius) <= max(0.6, CONVERSION_TOLERANCE * abs(claim_celsius))
    return False


def _to_celsius(measure: Measure) -> float:
    if measure.kind == "fahrenheit":
        return (measure.low - 32) / 1.8
    return measure.low - 273.15 if measure.kind == "kelvin" else measure.low
