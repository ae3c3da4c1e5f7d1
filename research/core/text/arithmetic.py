"""Whether a figure follows from others by one step of arithmetic: a sum, a rest, a change, a share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from research.core.text.measure import COARSEST, UNCONVERTED, Measure

_YEAR = 31_557_600.0  # seconds
_COUNTED = frozenset({"", "count", "people"})
_MOST = 40  # figures; among more some sum comes out by chance


def derived(claim: Measure, given: Sequence[Measure]) -> bool:
    """Whether a figure follows from others by one step of arithmetic: a sum, a difference, a rest, a
    change, a share."""
    if claim.low != claim.high or claim.dated or not claim.low or len(given) > _MOST:
        return False
    exact = [m for m in given if m.low == m.high and not m.dated]
    ways = (_totals, _gaps, _shares if claim.kind in ("ratio", "times") else _parts)
    return any(_near(result, claim) for way in ways for result in way(claim, exact, given))


def _near(other: float, claim: Measure) -> bool:
    """Whether a claim's value is one that was worked out, as far as it is rounded."""
    one = claim.low
    if claim.bound in ("least", "some") and one <= other < one * 1.1:
        return True
    if claim.bound == "most" and one / 1.1 < other <= one:
        return True
    step = claim.coarse if claim.bound else claim.step
    slack = max(step / 2, 1e-6 * abs(other))
    if claim.unit == "part":
        slack = 0.04 * max(abs(other), 1)
    return abs(one - other) <= min(slack, COARSEST * abs(other)) * (1 + 1e-9)


def _alike(claim: Measure, exact: Sequence[Measure]) -> list[float]:
    mixed = UNCONVERTED - {"ratio"}
    return [m.low for m in exact if m.kind == claim.kind or {m.kind, claim.kind} <= mixed]


def _totals(claim: Measure, exact: Sequence[Measure], _: object) -> Iterator[float]:
    """Sums of two, and of more that stand in a row."""
    values = _alike(claim, exact)
    yield from (one + other for one, other in combinations(values, 2))
    for start, end in combinations(range(len(values) + 1), 2):
        if end - start > 2:
            yield sum(values[start:end])


def _gaps(claim: Measure, exact: Sequence[Measure], given: Sequence[Measure]) -> Iterator[float]:
    """Differences, what is left of a whole, and what there was before a change."""
    values = _alike(claim, exact)
    yield from (abs(one - other) for one, other in combinations(values, 2))
    ratios = [m.low for m in given if m.kind == "ratio"]
    points = [m.low for m in given if m.kind == "points"]
    years = [m.parts[0] for m in given if m.dated and m.parts[0]]
    if claim.kind == "ratio":
        yield from (100 - ratio for ratio in ratios if ratio < 100)
        yield from (ratio + change for ratio in ratios for p in points for change in (p, -p))
    elif claim.kind == "points":
        yield from (abs(one - other) for one, other in combinations(ratios, 2) if one != other)
    elif claim.kind == "duration":
        yield from (
            abs(one - other) * _YEAR for one, other in combinations(years, 2) if one != other
        )
    else:
        changes = [1 + sign * ratio / 100 for ratio in ratios if ratio < 100 for sign in (1, -1)]
        yield from (value / change for value in values for change in changes)


def _parts(claim: Measure, exact: Sequence[Measure], given: Sequence[Measure]) -> Iterator[float]:
    """A share of a figure, and what falls to one of so many."""
    values = [m.low for m in exact if m.kind == claim.kind]
    counted = [m.low for m in given if m.kind in _COUNTED and m.low > 1]
    counted += [m.bare for m in given if m.kind == "duration" and m.bare > 1]
    yield from (value * m.low / 100 for value in values for m in given if m.kind == "ratio")
    yield from (value / n for value in values for n in counted if value != n)


def _shares(claim: Measure, exact: Sequence[Measure], _: object) -> Iterator[float]:
    """How many times as much one figure is as another, or how many per cent, or by how many more."""
    for one, other in permutations((m for m in exact if m.low > 0), 2):
        if one.low != other.low and (one.kind == other.kind or {one.kind, other.kind} <= _COUNTED):
            share = one.low / other.low
            yield from (share,) if claim.kind == "times" else (100 * share, 100 * abs(share - 1))
