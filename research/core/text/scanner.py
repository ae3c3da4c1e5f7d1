"""Scanner of a text for measures: records the used characters and the measures found."""

from __future__ import annotations

import re

from research import data
from research.core.text.measure import Measure

_ABOUT_WORDS, _AT_MOST_WORDS, _AT_LEAST_WORDS = (
    data.words("figures")[name] for name in ("about", "at most", "at least")
)
_BOUND_BEFORE_PATTERN = re.compile(
    rf"(?:(?P<most>{_AT_MOST_WORDS})|(?P<least>{_AT_LEAST_WORDS})|(?P<about>{_ABOUT_WORDS}))\s?(?:了|达|为|the\s|a\s)?\s?$"
)
_SLIGHTLY_MORE_WORDS = ("多", "余", "出头", "有余")  # exceeds by less than the last digit
_BOUND_AFTER_PATTERN = re.compile(
    rf"\s?(?:(?P<least>{'|'.join(_SLIGHTLY_MORE_WORDS)}|以上|之多|plus\b|or more\b|\+)"
    r"|(?P<about>左右|上下|or so\b)|(?P<most>以下|以内|之内|or less\b|or fewer\b))"
)


def span_with_bound(text: str, measure: Measure) -> tuple[int, int]:
    """Return the span of a figure including the words that bound it."""
    before = _BOUND_BEFORE_PATTERN.search(text, max(0, measure.start - 22), measure.start)
    after = _BOUND_AFTER_PATTERN.match(text, measure.end)
    return before.start() if before else measure.start, after.end() if after else measure.end


class MeasureScanner:
    """State of scanning one text. Each character is used once; more certain patterns come first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.taken_positions = bytearray(len(text) + 1)
        self.measures: list[Measure] = []

    def is_free(self, start: int, end: int) -> bool:
        """Return whether no character of a span is used."""
        return not any(self.taken_positions[start:end])

    def add(self, *measures: Measure | None) -> None:
        """Record measures with one span and mark it as used, unless part of it is. None is ignored."""
        present = [measure for measure in measures if measure]
        if present and (first := present[0]).end > first.start and self.is_free(first.start, first.end):
            self.skip(first.start, first.end)
            self.measures += present

    def skip(self, start: int, end: int) -> None:
        """Mark a span that only looks like a figure as used."""
        self.taken_positions[start:end] = b"\x01" * (end - start)

    def find_bound(self, start: int, end: int) -> str:
        """Return the bound that the words around a figure express: about, least, most, or "some"
        for a value exceeded by less than its last digit."""
        before = _BOUND_BEFORE_PATTERN.search(self.text, max(0, start - 22), start)
        after = _BOUND_AFTER_PATTERN.match(self.text, end)
        for match in (before, after):
            if match:
                name = match.lastgroup or ""
                return "some" if match[0].strip() in _SLIGHTLY_MORE_WORDS else name
        return ""
