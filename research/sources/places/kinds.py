"""Kinds of places with their OpenStreetMap tags, Amap codes and search words in both languages.

The data is in the table `kinds.tsv`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from research import data
from research.core.text.folding import fold_text
from research.core.text.lexicon import lexicon_entries

_CONDITION = re.compile(r"([^=~!\s]+)(!=|=|~)(\S+)")
_NAMELESS_CATEGORIES = ("other", "transport")  # amenities of these categories seldom have a name
_PLURAL_ENDING = re.compile(r"(?<=[a-z]{2})(?:ies|(?P<kept>ch|sh|ss|x)es|(?<![su])s)$")
_BRITISH_ENDING = re.compile(r"tre\b")  # centre, theatre
_STORE_ENDING = re.compile(r"\bstore$")  # a toy store is a toy shop
_BUILDING_ENDINGS = "店馆厅屋吧铺房楼"  # interchangeable endings of Chinese words: 咖啡店, 咖啡馆


@dataclass(frozen=True, slots=True)
class PlaceKind:
    """A kind of place, identified by its tags in OpenStreetMap.

    Each of `tags` is a key, a comparison (=, !=, ~) and a value. `codes` are Amap's type codes,
    `words` the search words for this kind.
    """

    tags: tuple[tuple[str, str, str], ...]
    category: str
    zh: str
    en: str
    words: tuple[str, ...]
    codes: tuple[str, ...]

    def matches(self, tags: Mapping[str, str]) -> bool:
        return all(_matches_value(tags.get(key, ""), comparison, value) for key, comparison, value in self.tags)

    @property
    def can_be_nameless(self) -> bool:
        """True if a place of this kind is a useful result without a name."""
        return self.category in _NAMELESS_CATEGORIES and self.tags[0][0] == "amenity"

    @property
    def overpass_filter(self) -> str:
        """The kind as a filter in Overpass QL."""
        name_filter = "" if self.can_be_nameless else '["name"]'
        return "".join(f'["{key}"{comparison}"{value}"]' for key, comparison, value in self.tags) + name_filter


def _matches_value(tag_value: str, comparison: str, value: str) -> bool:
    if comparison == "~":
        return bool(re.search(value, tag_value))
    return (tag_value == value) is (comparison == "=")


@cache
def all_kinds() -> tuple[PlaceKind, ...]:
    """Return all kinds, more specific ones before general ones."""
    return tuple(
        PlaceKind(
            tuple((m[1], m[2], m[3]) for m in _CONDITION.finditer(tags)),
            category,
            zh,
            en,
            tuple(filter(None, words.split("|"))),
            tuple(filter(None, codes.split("|"))),
        )
        for tags, category, zh, en, words, codes in data.rows("kinds.tsv")
    )


def find_kind(tags: Mapping[str, str]) -> PlaceKind | None:
    """Return the first kind that matches the tags of a place, or None."""
    return next((kind for kind in all_kinds() if kind.matches(tags)), None)


def find_kinds(keywords: Sequence[str]) -> tuple[tuple[PlaceKind, ...], tuple[str, ...]]:
    """Return the kinds that keywords denote, and the keywords that denote none.

    A kind that is a special case of another one in the result is omitted.
    """
    kinds_by_word = {word: _kinds_of_word(word) for word in keywords}
    matched = {kind for candidates in kinds_by_word.values() for kind in candidates}
    candidates = [kind for kind in all_kinds() if kind in matched]
    general = [kind for kind in candidates if not any(set(other.tags) < set(kind.tags) for other in candidates)]
    return tuple(general), tuple(word for word in keywords if not kinds_by_word[word])


def find_codes(keywords: Sequence[str]) -> tuple[str, ...]:
    """Return Amap's codes for keywords; none if any keyword has no code, such as a name."""
    codes: dict[str, None] = {}
    for word in keywords:
        word_codes = [code for kind in _kinds_of_word(word) for code in kind.codes]
        if not word_codes:
            return ()
        codes |= dict.fromkeys(word_codes)
    return tuple(codes)


def _kinds_of_word(word: str) -> tuple[PlaceKind, ...]:
    """Return the kinds that a word denotes.

    Tried in order: a word of the table, a tag value, a lexicon entry, and the word without a
    building suffix.
    """
    words, values, stems = _build_index()
    key = _word_key(word)
    if matches := words.get(key) or values.get(key):
        return tuple(matches)
    for entry in lexicon_entries("venue", "food", "named", "deed"):
        if key in map(_word_key, (*entry.zh, *entry.en)):
            keys = [_word_key(keyword) for keyword in entry.keywords]
            matches = [kind for keyword_key in keys for kind in words.get(keyword_key, ())]
            if matches:
                return tuple(dict.fromkeys(matches))
    return tuple(stems.get(_without_ending(key), ()))


@cache
def _build_index() -> tuple[dict[str, list[PlaceKind]], dict[str, list[PlaceKind]], dict[str, list[PlaceKind]]]:
    """Return kinds by their words, by tag values, and by words without a building suffix."""
    words: dict[str, list[PlaceKind]] = defaultdict(list)
    values: dict[str, list[PlaceKind]] = defaultdict(list)
    stems: dict[str, list[PlaceKind]] = defaultdict(list)
    for kind in all_kinds():
        for key in {_word_key(word): None for word in (kind.zh, kind.en, *kind.words)}:
            words[key].append(kind)
            if _without_ending(key):
                stems[_without_ending(key)].append(kind)
        if len(kind.tags) == 1:
            name, _, value = kind.tags[0]
            for key in {_word_key(value), _word_key(f"{name}={value}")}:
                values[key].append(kind)
    return words, values, stems


def _word_key(word: str) -> str:
    """Normalise the case, accents, plural ending and spelling of a word for comparison."""
    folded = re.sub(r"[\s_-]+", " ", fold_text(word)).strip()
    folded = " ".join(_PLURAL_ENDING.sub(_singular_ending, part) for part in folded.split(" "))
    return _STORE_ENDING.sub("shop", _BRITISH_ENDING.sub("ter", folded))


def _singular_ending(ending: re.Match[str]) -> str:
    return {"ies": "y"}.get(ending[0], ending["kept"] or "")


def _without_ending(key: str) -> str:
    """Return a Chinese word without its building suffix; "" if too little remains to identify a
    kind."""
    stem = key.rstrip(_BUILDING_ENDINGS) if key[-1:] in tuple(_BUILDING_ENDINGS) else key
    return stem if len(stem) > 1 and not stem.isascii() else ""
