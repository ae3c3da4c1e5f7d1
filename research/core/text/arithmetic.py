"""Checks whether a figure follows from others by one step of arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from research.core.text.measure import MAX_ROUNDING_SHARE, UNCONVERTED_KINDS, Measure

_YEAR_SECONDS = 31_557_600.0
_COUNT_KINDS = frozenset({"", "count", "people"})
_MAX_FIGURES = 40  # among more figures some sum matches by chance


def is_derivable(claim: Measure, measures: Sequence[Measure]) -> bool:
    """Return whether a figure follows from others by one step of arithmetic: a sum, a difference, a
    remainder, a change or a share."""
    if claim.low != claim.high or claim.is_date or not claim.low or len(measures) > _MAX_FIGURES:
        return False
    exact = [measure for measure in measures if measure.low == measure.high and not measure.is_date]
    methods = (_sums, _differences, _ratios if claim.kind in ("ratio", "times") else _fractions)
    return any(_is_close(result, claim) for method in methods for result in method(claim, exact, measures))


def _is_close(result: float, claim: Measure) -> bool:
    """Return whether a claim states a computed result within its rounding."""
    value = claim.low
    if claim.bound in ("least", "some") and value <= result < value * 1.1:
        return True
    if claim.bound == "most" and value / 1.1 < result <= value:
        return True
    step = claim.coarse_resolution if claim.bound else claim.resolution
    tolerance = max(step / 2, 1e-6 * abs(result))
    if claim.unit == "part":
        tolerance = 0.04 * max(abs(result), 1)
    return abs(value - result) <= min(tolerance, MAX_ROUNDING_SHARE * abs(result)) * (1 + 1e-9)


def _same_kind_values(claim: Measure, exact: Sequence[Measure]) -> list[float]:
    mixed = UNCONVERTED_KINDS - {"ratio"}
    return [m.low for m in exact if m.kind == claim.kind or {m.kind, claim.kind} <= mixed]


def _sums(claim: Measure, exact: Sequence[Measure], _: object) -> Iterator[float]:
    """Yield the sums of two values, and of three or more consecutive ones."""
    values = _same_kind_values(claim, exact)
    yield from (first + second for first, second in combinations(values, 2))
    for start, end in combinations(range(len(values) + 1), 2):
        if end - start > 2:
            yield sum(values[start:end])


def _differences(claim: Measure, exact: Sequence[Measure], measures: Sequence[Measure]) -> Iterator[float]:
    """Yield differences, remainders of a whole, and values before a change."""
    values = _same_kind_values(claim, exact)
    yield from (abs(first - second) for first, second in combinations(values, 2))
    ratios = [m.low for m in measures if m.kind == "ratio"]
    points = [m.low for m in measures if m.kind == "points"]
    years = [m.date_parts[0] for m in measures if m.is_date and m.date_parts[0]]
    if claim.kind == "ratio":
        yield from (100 - ratio for ratio in ratios if ratio < 100)
        yield from (ratio + change for ratio in ratios for p in points for change in (p, -p))
    elif claim.kind == "points":
        yield from (abs(first - second) for first, second in combinations(ratios, 2) if first != second)
    elif claim.kind == "duration":
        yield from (abs(first - second) * _YEAR_SECONDS for first, second in combinations(years, 2) if first != second)
    else:
        changes = [1 + sign * ratio / 100 for ratio in ratios if ratio < 100 for sign in (1, -1)]
        yield from (value / change for value in values for change in changes)


def _fractions(claim: Measure, exact: Sequence[Measure], measures: Sequence[Measure]) -> Iterator[float]:
    """Yield shares of a figure, and figures per unit of a count."""
    values = [m.low for m in exact if m.kind == claim.kind]
    counted = [m.low for m in measures if m.kind in _COUNT_KINDS and m.low > 1]
    counted += [m.written_value for m in measures if m.kind == "duration" and m.written_value > 1]
    yield from (value * m.low / 100 for value in values for m in measures if m.kind == "ratio")
    yield from (value / n for value in values for n in counted if value != n)


def _ratios(claim: Measure, exact: Sequence[Measure], _: object) -> Iterator[float]:
    """Yield the ratio of two figures, or its percentage and the percentage of change."""
    for first, second in permutations((m for m in exact if m.low > 0), 2):
        if first.low != second.low and (first.kind == second.kind or {first.kind, second.kind} <= _COUNT_KINDS):
            share = first.low / second.low
            yield from (share,) if claim.kind == "times" else (100 * share, 100 * abs(share - 1))
