"""Cuts sections into passages short enough to read at a glance and whole enough to quote from.

Passages end where sentences end. The rule here is fast and careful (it would rather not cut): exact
sentences are found later, in the few passages that a search returns.
"""

from __future__ import annotations

import re

from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.sentences import find_soft_breaks

PASSAGE_CHARS = 300  # characters

_LINE = re.compile("\n")


def split_passages(text: str, start: int, end: int, size_characters: int = PASSAGE_CHARS) -> list[tuple[int, int]]:
    """Start and end of the passages of `text[start:end]`, trimmed, in order, none empty."""
    if end - start <= size_characters:
        return _split_long_span(text, start, end, size_characters)
    passages: list[tuple[int, int]] = []
    begin = start
    last = start
    for cut in _find_cuts(text, start, end):
        if cut - begin > size_characters and last > begin:
            passages.append((begin, last))
            begin = last
        last = cut
    passages.append((begin, end))
    return [piece for a, b in passages for piece in _split_long_span(text, a, b, size_characters)]


def _find_cuts(text: str, start: int, end: int) -> list[int]:
    ends = set(sentence_ends(text, start, end))
    broken = {start + at for at in find_soft_breaks(text[start:end])}
    ends |= {match.start() for match in _LINE.finditer(text, start, end)} - broken
    return [*sorted(ends), end]


def _split_long_span(text: str, start: int, end: int, size_characters: int) -> list[tuple[int, int]]:
    """A stretch without any sentence end is cut at white space, or where the size is reached."""
    out: list[tuple[int, int]] = []
    while end - start > 2 * size_characters:
        at = text.rfind(" ", start + size_characters, start + 2 * size_characters)
        at = at if at > 0 else start + 2 * size_characters
        out.append((start, at))
        start = at
    out.append((start, end))
    return [(a, b) for a, b in (_trim_span(text, a, b) for a, b in out) if a < b]


def _trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
