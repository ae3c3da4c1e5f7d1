"""Whether a figure follows from others by one step of arithmetic: a sum, a rest, a change, a share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from research import data
from research.language.measure import COARSEST, UNCONVERTED, Measure

_YEAR = 31_557_600.0  # seconds


def _near(one: float, other: float, claim: Measure) -> bool:
    """Whether a claim's value is one that was worked out, as far as it is rounded."""
    if claim.bound in ("least", "some") and one <= other < one * 1.1:
        return True
    if claim.bound == "most" and one / 1.1 < other <= one:
        return True
    step = claim.coarse if claim.bound else claim.step
    slack = max(step / 2, 1e-6 * abs(other))
    if claim.unit == "part":
        slack = 0.04 * max(abs(other), 1)
    return abs(one - other) <= min(slack, COARSEST * abs(other)) * (1 + 1e-9)


def _said(name: str) -> re.Pattern[str]:
    words = data.words("figures")
    return re.compile(rf"{words[name]}|\b(?:{words[f'{name} en']})\b")


_SUMS = _said("sums")
_GAPS = _said("gaps")
_TIMES_CUES = _said("times")


def derived(claim: Measure, text: str, given: Sequence[Measure]) -> bool:
    """Whether a figure follows from others by one step of arithmetic that the claim's words speak of:
    a sum, a difference, a rest, a change, a share."""
    value = claim.low
    if claim.low != claim.high or claim.dated or not value or len(given) > 40:
        return False
    same = [m.low for m in given if not m.dated and (m.kind == claim.kind or {m.kind, claim.kind} <= UNCONVERTED - {"ratio"}) and m.low == m.high]  # fmt: skip
    if _SUMS.search(text) and any(_near(value, total, claim) for total in _totals(same)):
        return True
    if _GAPS.search(text) and _gap(claim, given, same):
        return True
    return bool(_TIMES_CUES.search(text)) and _ratio(claim, given)


def _totals(values: list[float]) -> Iterator[float]:
    for size in range(2, len(values) + 1):
        for at in range(len(values) - size + 1):
            yield sum(values[at : at + size])
    for i, one in enumerate(values):
        yield from (one + other for other in values[i + 2 :])


def _gap(claim: Measure, given: Sequence[Measure], same: list[float]) -> bool:
    value = claim.low
    for i, one in enumerate(same):
        for other in same[i + 1 :]:
            if any(_near(value, result, claim) for result in (abs(one - other), one + other)):
                return True
    ratios = [m.low for m in given if m.kind == "ratio"]
    points = [m.low for m in given if m.kind == "points"]
    if claim.kind == "ratio":
        worked = [100 - r for r in ratios if r < 100]
        worked += [r + sign * p for r in ratios for p in points for sign in (1, -1)]
        return any(_near(value, result, claim) for result in worked)
    if claim.kind == "points":
        return any(_near(value, abs(a - b), claim) for a in ratios for b in ratios if a != b)
    if claim.kind == "duration":
        years = [m.parts[0] for m in given if m.dated and m.parts[0]]
        return any(_near(value, abs(a - b) * _YEAR, claim) for a in years for b in years if a != b)
    return any(_near(value, one / (1 + sign * r / 100), claim) for one in same for r in ratios for sign in (1, -1) if r < 100)  # fmt: skip


def _ratio(claim: Measure, given: Sequence[Measure]) -> bool:
    value = claim.low
    if claim.kind not in ("ratio", "times"):
        plain_ones = [m.low for m in given if m.kind == claim.kind and m.low == m.high]
        shares = [m.low for m in given if m.kind == "ratio"]
        if any(_near(value, one * share / 100, claim) for one in plain_ones for share in shares):
            return True
        counted = [m.low for m in given if m.kind in ("", "count", "people") and m.low > 1]
        counted += [m.bare for m in given if m.kind == "duration" and m.bare > 1]
        return any(_near(value, one / n, claim) for one in plain_ones for n in counted if one != n)
    figures = [m for m in given if m.low > 0 and m.low == m.high and not m.dated]
    for one in figures:
        for other in figures:
            alike = one.kind == other.kind or {one.kind, other.kind} <= {"", "count", "people"}
            if one is other or not alike or other.low == one.low:
                continue
            share = one.low / other.low
            worked = (share,) if claim.kind == "times" else (100 * share, 100 * abs(share - 1))
            if any(_near(value, result, claim) for result in worked):
                return True
    return False
