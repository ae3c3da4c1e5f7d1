"""Greetings, which are answered at once instead of being searched.

The list of them is `research/data/greetings.txt`.
"""

from __future__ import annotations

from research import data
from research.core.records import normalise_query

_GREETINGS = frozenset(map(normalise_query, data.lines("greetings.txt")))


def is_greeting(text: str) -> bool:
    """Return whether a text is only a greeting, whatever its case and punctuation."""
    return normalise_query(text) in _GREETINGS
