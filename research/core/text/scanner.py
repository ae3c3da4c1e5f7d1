"""A text that is being read: which characters have been taken, and what has been found."""

from __future__ import annotations

import re

from research import data
from research.core.text.measure import Measure

_ABOUT, _MOST, _LEAST = (data.words("figures")[name] for name in ("about", "at most", "at least"))
_BEFORE = re.compile(
    rf"(?:(?P<most>{_MOST})|(?P<least>{_LEAST})|(?P<about>{_ABOUT}))\s?(?:了|达|为|the\s|a\s)?\s?$"
)
_LESS_THAN_A_DIGIT = ("多", "余", "出头", "有余")  # more by less than the last digit
_AFTER = re.compile(
    rf"\s?(?:(?P<least>{'|'.join(_LESS_THAN_A_DIGIT)}|以上|之多|plus\b|or more\b|\+)"
    r"|(?P<about>左右|上下|or so\b)|(?P<most>以下|以内|之内|or less\b|or fewer\b))"
)


def bounded(text: str, measure: Measure) -> tuple[int, int]:
    """Where a figure stands with the words that bound it."""
    before = _BEFORE.search(text, max(0, measure.start - 22), measure.start)
    after = _AFTER.match(text, measure.end)
    return before.start() if before else measure.start, after.end() if after else measure.end


class Scanner:
    """Reads one text; each character counts once, the more certain patterns come first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.taken = bytearray(len(text) + 1)
        self.found: list[Measure] = []

    def free(self, start: int, end: int) -> bool:
        return not any(self.taken[start:end])

    def keep(self, start: int, end: int, *measures: Measure | None) -> None:
        """Takes a stretch for what was read there, unless some of it is taken; None is nothing."""
        kept = [measure for measure in measures if measure]
        if kept and end > start and self.free(start, end):
            self.taken[start:end] = b"\x01" * (end - start)
            self.found += kept

    def skip(self, start: int, end: int) -> None:
        """Takes a stretch that only looks like a figure."""
        self.taken[start:end] = b"\x01" * (end - start)

    def bound(self, start: int, end: int) -> str:
        """What is said before and after a figure: an estimate, a least or a most, or that it is more
        by less than its last digit (some)."""
        before = _BEFORE.search(self.text, max(0, start - 22), start)
        after = _AFTER.match(self.text, end)
        for match in (before, after):
            if match:
                name = match.lastgroup or ""
                return "some" if match[0].strip() in _LESS_THAN_A_DIGIT else name
        return ""
