"""Splitting of sections into passages short enough to read and complete enough to quote.

Passages end at sentence ends. The rule here is fast and conservative; exact sentences are found
later, in the few passages that a search returns.
"""

from __future__ import annotations

import re

from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.sentences import find_soft_breaks

PASSAGE_CHARS = 300

_LINE = re.compile("\n")


def split_passages(text: str, start: int, end: int, size_characters: int = PASSAGE_CHARS) -> list[tuple[int, int]]:
    """Return (start, end) of the trimmed, non-empty passages of `text[start:end]`, in order."""
    if end - start <= size_characters:
        return _split_long_span(text, start, end, size_characters)
    passages: list[tuple[int, int]] = []
    passage_start = start
    last_cut = start
    for cut in _find_cuts(text, start, end):
        if cut - passage_start > size_characters and last_cut > passage_start:
            passages.append((passage_start, last_cut))
            passage_start = last_cut
        last_cut = cut
    passages.append((passage_start, end))
    return [piece for a, b in passages for piece in _split_long_span(text, a, b, size_characters)]


def _find_cuts(text: str, start: int, end: int) -> list[int]:
    ends = set(sentence_ends(text, start, end))
    soft_breaks = {start + at for at in find_soft_breaks(text[start:end])}
    ends |= {match.start() for match in _LINE.finditer(text, start, end)} - soft_breaks
    return [*sorted(ends), end]


def _split_long_span(text: str, start: int, end: int, size_characters: int) -> list[tuple[int, int]]:
    """Cut a span without sentence ends at white space, or else at the size limit."""
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
