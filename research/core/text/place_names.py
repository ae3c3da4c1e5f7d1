"""Names of places that are known: `research/data/names.tsv`, which says where they are from, and its one
reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from research import data

_MAX_NAME_WORDS = 5  # of a name at most
_MAX_NAME_CHARS = 12
_WORD_PATTERN = re.compile(r"[^\W_][\w'’.-]*")


@cache
def _load_names() -> frozenset[str]:
    return frozenset(n.casefold() for _, row in data.rows("names.tsv") for n in row.split("|"))


def is_place_name(name: str) -> bool:
    """Whether a whole name is known."""
    return name.casefold() in _load_names()


def find_place_names(text: str) -> Iterator[tuple[int, int]]:
    """Where known names stand in a text, the longest at each place."""
    edges = {m.start(): m.end() for m in _WORD_PATTERN.finditer(text)}
    at = 0
    while at < len(text):
        ends = [at + n for n in range(_MAX_NAME_CHARS, 1, -1)] if text[at] > "\u2fff" else []
        if at in edges:
            later = sorted(end for start, end in edges.items() if start >= at)[:_MAX_NAME_WORDS]
            ends += reversed(later)
        end = next((e for e in ends if e <= len(text) and is_place_name(text[at:e])), 0)
        if end:
            yield at, end
        at = end or at + 1
