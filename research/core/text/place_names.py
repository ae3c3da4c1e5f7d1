"""Reader of `research/data/names.tsv`, the known place names. The file names its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from research import data

_MAX_NAME_WORDS = 5  # maximum of a name
_MAX_NAME_CHARS = 12
_WORD_PATTERN = re.compile(r"[^\W_][\w'’.-]*")


@cache
def _load_names() -> frozenset[str]:
    return frozenset(n.casefold() for _, row in data.rows("names.tsv") for n in row.split("|"))


def is_place_name(name: str) -> bool:
    """Return whether a complete name is known."""
    return name.casefold() in _load_names()


def find_place_names(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of known names in a text, the longest at each position."""
    word_ends = {m.start(): m.end() for m in _WORD_PATTERN.finditer(text)}
    position = 0
    while position < len(text):
        ends = [position + n for n in range(_MAX_NAME_CHARS, 1, -1)] if text[position] > "\u2fff" else []
        if position in word_ends:
            following_ends = sorted(end for start, end in word_ends.items() if start >= position)[:_MAX_NAME_WORDS]
            ends += reversed(following_ends)
        end = next((e for e in ends if e <= len(text) and is_place_name(text[position:e])), 0)
        if end:
            yield position, end
        position = end or position + 1
