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
from research.core.text.folding import plain
from research.core.text.segment import cut


class Unit(NamedTuple):
    """A unit of a kind: `factor` of the kind's base units. `name` is the same for all its spellings."""

    kind: str
    name: str
    factor: float


def _spellings(field: str) -> Iterable[str]:
    """A field's spellings; `metre(s)` is two, with and without its ending."""
    for word in filter(None, field.split("|")):
        start, _, ending = word.partition("(")
        if not ending:
            yield plain(word)
            continue
        ending, _, rest = ending.partition(")")
        yield plain(start + rest)
        yield plain(start + ending + rest)


def _read() -> tuple[dict[str, tuple[Unit, ...]], dict[str, tuple[Unit, ...]], dict[str, float]]:
    behind: dict[str, tuple[Unit, ...]] = {}
    before: dict[str, tuple[Unit, ...]] = {}
    scales: dict[str, float] = {}
    for kind, name, factor, after, *signs in data.rows("units.tsv"):
        for word in _spellings(after):
            if kind == "scale":
                scales[word] = float(factor)
            else:
                unit = Unit(kind, word if name == "=" else name, float(factor))
                behind[word] = (*behind.get(word, ()), unit)
        for word in _spellings("".join(signs)):
            before[word] = (*before.get(word, ()), Unit(kind, name, float(factor)))
    return behind, before, scales


UNITS, SIGNS, SCALES = _read()
_LETTERED = [word for word in UNITS if word.isascii() and word[0].isalpha()]


def either(words: Iterable[str]) -> str:
    """A pattern for one of several words, the longest first; a space may also be a hyphen."""
    found = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\ ", r"[\s-]") for word in found)


def spelled(*of: str) -> str:
    """A pattern for the spellings of the units that have one of some names or kinds."""
    return either(
        word for word, units in UNITS.items() if any(u.kind in of or u.name in of for u in units)
    )


def factor(said: str, kind: str) -> float:
    """How many of a kind's base unit a unit is, by its spelling; 0 if it is none of the kind."""
    units = UNITS.get(plain(said).replace("-", " "), ())
    return next((unit.factor for unit in units if unit.kind == kind), 0.0)


ENGLISH = rf"(?:{either(_LETTERED)})(?![a-z0-9²³])"
_LONGEST = max(len(word) for word in UNITS if not word.isascii())
_HAN_WORD = re.compile("[\u4e00-\u9fff]{2,8}")
_WORDS = re.compile(r"[a-zµμø][a-zµμøł0-9²³./]*(?:[ -][a-z]+){0,3}")
_GOES_ON = re.compile("[a-z0-9²³]")
_SIGN = re.compile(
    rf"(?:(?<![a-z])(?:{either(word for word in SIGNS if word[0].isalpha())})"
    rf"|(?:{either(word for word in SIGNS if not word[0].isalpha())}))\s?$"
)
_SIGN_ENDS = frozenset(word[-1] for word in SIGNS)


def behind(text: str, at: int) -> tuple[str, int]:
    """The unit that begins at a position, with a space or a hyphen before it if any: its spelling, as
    in `UNITS`, and where it ends; "" if there is none."""
    start = at + (text[at : at + 1] in (" ", "-"))
    match = _WORDS.match(text, start)
    said = match[0].replace("-", " ") if match else ""
    while said:
        end = start + len(said)
        if said in UNITS and not _GOES_ON.match(text, end):
            return said, end
        said = said[: max(said.rfind(" "), said.rfind("/"), said.rfind("."), 0)]
    for size in range(0 if match else min(_LONGEST, len(text) - start), 0, -1):
        if (said := text[start : start + size]) in UNITS:
            return said, start + size
    return "", at


def begins_word(text: str, end: int, spelling: str) -> bool:
    """Whether a Chinese unit that ends at `end` is only the beginning of a word: 部署, 处理器."""
    if spelling == "个" or not "\u4e00" <= spelling[:1] <= "\u9fff":
        return False
    following = _HAN_WORD.match(text, end - len(spelling))
    word = _word(following[0]) if following else ""
    return len(word) > len(spelling) and word not in UNITS


@lru_cache(4_096)
def _word(text: str) -> str:
    """The word that a text begins with behind a number; "" if its beginning belongs to the number."""
    some, *words = cut(f"几{text}", False)
    return words[0] if some == "几" and words else ""


def sign(text: str, end: int) -> tuple[int, tuple[Unit, ...]]:
    """What stands before a number that begins at `end`: where it begins itself, and its units."""
    if text[end - 1 : end].strip()[-1:] not in _SIGN_ENDS and text[end - 2 : end - 1] not in _SIGN_ENDS:  # fmt: skip
        return end, ()
    match = _SIGN.search(text, max(0, end - 8), end)
    return (match.start(), SIGNS[match[0].strip()]) if match else (end, ())
