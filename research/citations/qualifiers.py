"""Qualifiers of figures (adult, daily, planned), read from `data/qualifiers.tsv`."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from research import data

PERIODIC_QUALIFIERS = frozenset({"daily", "monthly", "yearly"})  # of figures that change from year to year


@cache
def _load_qualifiers() -> dict[str, tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Load the qualifiers with their group, Chinese pattern and English pattern."""
    return {
        name: (group, re.compile(chinese), re.compile(rf"\b(?:{english})\b"))
        for name, group, chinese, english in data.rows("qualifiers.tsv")
    }


def qualifier_group(qualifier: str) -> str:
    """Return the group of a qualifier."""
    return _load_qualifiers()[qualifier][0].rstrip("!")


@lru_cache(4_000)
def find_qualifiers(text: str) -> tuple[tuple[str, int, int], ...]:
    """Return each qualifier in a folded text with its start and end, one entry for each occurrence."""
    return tuple(
        (name, *match.span())
        for name, (_, *patterns) in _load_qualifiers().items()
        for pattern in patterns
        for match in pattern.finditer(text)
    )


@lru_cache(20_000)
def qualifiers_in(text: str) -> frozenset[str]:
    """Return the qualifiers of a folded text."""
    return frozenset(name for name, (_, zh, en) in _load_qualifiers().items() if zh.search(text) or en.search(text))


def has_clashing_qualifiers(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two sets have different qualifiers of one group: adults and children."""
    groups: dict[str, tuple[set[str], set[str]]] = {}
    for side, names in enumerate((first, second)):
        for name in names:
            groups.setdefault(qualifier_group(name), (set(), set()))[side].add(name)
    return any(a and b and not a & b for a, b in groups.values())


def has_exclusive_qualifiers(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two sets of qualifiers clash, or only one has a qualifier of an exclusive group.

    Exclusive groups end in "!" in the table.
    """
    has_exclusive = any(_load_qualifiers()[name][0].endswith("!") for name in first ^ second)
    return has_exclusive or has_clashing_qualifiers(first, second)
