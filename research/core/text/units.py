"""The one table of units, currencies and scales, `research/data/units.tsv`, and how they are spelled.

A spelling may stand for several units (pounds, ¥, kr, degrees): the first is how it is read where
nothing else tells, the others are what it may be taken for.
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
    """A unit of a kind: `factor` of the kind's base units. `name` is the same for all its spellings."""

    kind: str
    name: str
    factor: float


def _expand_spellings(field: str) -> Iterable[str]:
    """A field's spellings; `metre(s)` is two, with and without its ending."""
    for word in filter(None, field.split("|")):
        start, _, ending = word.partition("(")
        if not ending:
            yield fold_text(word)
            continue
        ending, _, rest = ending.partition(")")
        yield fold_text(start + rest)
        yield fold_text(start + ending + rest)


def _load_units() -> tuple[dict[str, tuple[Unit, ...]], dict[str, tuple[Unit, ...]], dict[str, float]]:
    behind: dict[str, tuple[Unit, ...]] = {}
    before: dict[str, tuple[Unit, ...]] = {}
    scales: dict[str, float] = {}
    for kind, name, factor, after, *signs in data.rows("units.tsv"):
        for word in _expand_spellings(after):
            if kind == "scale":
                scales[word] = float(factor)
            else:
                unit = Unit(kind, word if name == "=" else name, float(factor))
                behind[word] = (*behind.get(word, ()), unit)
        for word in _expand_spellings("".join(signs)):
            before[word] = (*before.get(word, ()), Unit(kind, name, float(factor)))
    return behind, before, scales


UNITS, PREFIX_UNITS, SCALES = _load_units()
_LATIN_SPELLINGS = [word for word in UNITS if word.isascii() and word[0].isalpha()]


def alternation_pattern(words: Iterable[str]) -> str:
    """A pattern for one of several words, the longest first; a space may also be a hyphen."""
    found = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"[\s-]") for word in found)


def unit_pattern(*names_or_kinds: str) -> str:
    """A pattern for the spellings of the units that have one of some names or kinds."""
    return alternation_pattern(
        word
        for word, units in UNITS.items()
        if any(u.kind in names_or_kinds or u.name in names_or_kinds for u in units)
    )


def unit_factor(spelling: str, kind: str) -> float:
    """How many of a kind's base unit a unit is, by its spelling; 0 if it is none of the kind."""
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
    """The unit that begins at a position, with a space or a hyphen before it if any: its spelling, as
    in `UNITS`, and where it ends; "" if there is none."""
    start = position + (text[position : position + 1] in (" ", "-"))
    match = _UNIT_WORDS_PATTERN.match(text, start)
    said = match[0].replace("-", " ") if match else ""
    while said:
        end = start + len(said)
        if said in UNITS and not _WORD_CHARACTER_PATTERN.match(text, end):
            return said, end
        said = said[: max(said.rfind(" "), said.rfind("/"), said.rfind("."), 0)]
    for size in range(0 if match else min(_MAX_HAN_UNIT_CHARS, len(text) - start), 0, -1):
        if (said := text[start : start + size]) in UNITS:
            return said, start + size
    return "", position


def is_word_start(text: str, end: int, spelling: str) -> bool:
    """Whether a Chinese unit that ends at `end` is only the beginning of a word: 部署, 处理器."""
    if spelling == "个" or not "\u4e00" <= spelling[:1] <= "\u9fff":
        return False
    following = _HAN_WORD_PATTERN.match(text, end - len(spelling))
    word = _first_word(following[0]) if following else ""
    return len(word) > len(spelling) and word not in UNITS


@lru_cache(4_096)
def _first_word(text: str) -> str:
    """The word that a text begins with behind a number; "" if its beginning belongs to the number."""
    some, *words = cut(f"几{text}", False)
    return words[0] if some == "几" and words else ""


def match_prefix_unit(text: str, end: int) -> tuple[int, tuple[Unit, ...]]:
    """What stands before a number that begins at `end`: where it begins itself, and its units."""
    if text[end - 1 : end].strip()[-1:] not in _PREFIX_LAST_CHARS and text[end - 2 : end - 1] not in _PREFIX_LAST_CHARS:  # fmt: skip
        return end, ()
    match = _PREFIX_PATTERN.search(text, max(0, end - 8), end)
    return (match.start(), PREFIX_UNITS[match[0].strip()]) if match else (end, ())
