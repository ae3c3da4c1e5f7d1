"""Reader of `research/data/units.tsv`, the table of units, currencies and scales.

A spelling may have several units (pounds, ¥, kr, degrees): the first is the default, the others are
alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from research import data
from research.core.text.folding import fold_text
from research.core.text.segment import cut


class Unit(NamedTuple):
    """A unit of a kind: `factor` of the kind's base units. All spellings share the `name`."""

    kind: str
    name: str
    factor: float


def _expand_spellings(field: str) -> Iterable[str]:
    """Yield a field's spellings; `metre(s)` is two, with and without the ending."""
    for word in filter(None, field.split("|")):
        start, _, ending = word.partition("(")
        if not ending:
            yield fold_text(word)
            continue
        ending, _, rest = ending.partition(")")
        yield fold_text(start + rest)
        yield fold_text(start + ending + rest)


def _load_units() -> tuple[dict[str, tuple[Unit, ...]], dict[str, tuple[Unit, ...]], dict[str, float]]:
    suffix_units: dict[str, tuple[Unit, ...]] = {}
    prefix_units: dict[str, tuple[Unit, ...]] = {}
    scales: dict[str, float] = {}
    for kind, name, factor, after, *signs in data.rows("units.tsv"):
        for word in _expand_spellings(after):
            if kind == "scale":
                scales[word] = float(factor)
            else:
                unit = Unit(kind, word if name == "=" else name, float(factor))
                suffix_units[word] = (*suffix_units.get(word, ()), unit)
        for word in _expand_spellings("".join(signs)):
            prefix_units[word] = (*prefix_units.get(word, ()), Unit(kind, name, float(factor)))
    return suffix_units, prefix_units, scales


UNITS, PREFIX_UNITS, SCALES = _load_units()
_LATIN_SPELLINGS = [word for word in UNITS if word.isascii() and word[0].isalpha()]


def alternation_pattern(words: Iterable[str]) -> str:
    """Return a pattern for one of several words, the longest first; a space may be a hyphen."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"[\s-]") for word in ordered)


def unit_pattern(*names_or_kinds: str) -> str:
    """Return a pattern for the spellings of units with one of some names or kinds."""
    return alternation_pattern(
        word
        for word, units in UNITS.items()
        if any(u.kind in names_or_kinds or u.name in names_or_kinds for u in units)
    )


def unit_factor(spelling: str, kind: str) -> float:
    """Return a unit's factor to the base unit of a kind, by spelling; 0 for another kind."""
    units = UNITS.get(fold_text(spelling).replace("-", " "), ())
    return next((unit.factor for unit in units if unit.kind == kind), 0.0)


ENGLISH_UNIT_PATTERN = rf"(?:{alternation_pattern(_LATIN_SPELLINGS)})(?![a-z0-9²³])"
_MAX_HAN_UNIT_CHARS = max(len(word) for word in UNITS if not word.isascii())
_HAN_WORD_PATTERN = re.compile("[\u4e00-\u9fff]{2,8}")
_UNIT_WORDS_PATTERN = re.compile(r"[a-zµμø][a-zµμøł0-9²³./]*(?:[ -][a-z]+){0,3}")
_WORD_CHARACTER_PATTERN = re.compile("[a-z0-9²³]")
_PREFIX_PATTERN = re.compile(
    rf"(?:(?<![a-z])(?:{alternation_pattern(word for word in PREFIX_UNITS if word[0].isalpha())})"
    rf"|(?:{alternation_pattern(word for word in PREFIX_UNITS if not word[0].isalpha())}))\s?$"
)
_PREFIX_LAST_CHARS = frozenset(word[-1] for word in PREFIX_UNITS)


def match_unit(text: str, position: int) -> tuple[str, int]:
    """Match a unit at a position, after an optional space or hyphen. Return its spelling, as in
    `UNITS`, and its end; "" if there is none."""
    start = position + (text[position : position + 1] in (" ", "-"))
    match = _UNIT_WORDS_PATTERN.match(text, start)
    spelling = match[0].replace("-", " ") if match else ""
    while spelling:
        end = start + len(spelling)
        if spelling in UNITS and not _WORD_CHARACTER_PATTERN.match(text, end):
            return spelling, end
        spelling = spelling[: max(spelling.rfind(" "), spelling.rfind("/"), spelling.rfind("."), 0)]
    for size in range(0 if match else min(_MAX_HAN_UNIT_CHARS, len(text) - start), 0, -1):
        if (spelling := text[start : start + size]) in UNITS:
            return spelling, start + size
    return "", position


def is_word_start(text: str, end: int, spelling: str) -> bool:
    """Return whether a Chinese unit that ends at `end` is only the beginning of a word: 部署, 处理器."""
    if spelling == "个" or not "\u4e00" <= spelling[:1] <= "\u9fff":
        return False
    following = _HAN_WORD_PATTERN.match(text, end - len(spelling))
    word = _first_word(following[0]) if following else ""
    return len(word) > len(spelling) and word not in UNITS


@lru_cache(4_096)
def _first_word(text: str) -> str:
    """Return the first word behind a number; "" if its beginning belongs to the number."""
    first, *words = cut(f"几{text}", False)
    return words[0] if first == "几" and words else ""


def match_prefix_unit(text: str, end: int) -> tuple[int, tuple[Unit, ...]]:
    """Match a unit before a number that begins at `end`. Return its start and possible units."""
    if text[end - 1 : end].strip()[-1:] not in _PREFIX_LAST_CHARS and text[end - 2 : end - 1] not in _PREFIX_LAST_CHARS:
        return end, ()
    match = _PREFIX_PATTERN.search(text, max(0, end - 8), end)
    return (match.start(), PREFIX_UNITS[match[0].strip()]) if match else (end, ())
