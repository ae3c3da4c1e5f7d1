"""Kinds of places by the tags of OpenStreetMap and the codes of Amap, as the table `kinds.tsv` has them,
and the words of both languages that ask for them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from research import data
from research.core.text.folding import fold_text
from research.core.text.lexicon import lexicon_entries

_CONDITION = re.compile(r"([^=~!\s]+)(!=|=|~)(\S+)")
_NAMELESS_CATEGORIES = ("other", "transport")  # categories of amenities that seldom have a name
_PLURAL_ENDING = re.compile(r"(?<=[a-z]{2})(?:ies|(?P<kept>ch|sh|ss|x)es|(?<![su])s)$")
_BRITISH_ENDING = re.compile(r"tre\b")  # centre, theatre
_STORE_ENDING = re.compile(r"\bstore$")  # a toy store is a toy shop
_BUILDING_ENDINGS = "店馆厅屋吧铺房楼"  # endings that Chinese names of one kind differ in: 咖啡店, 咖啡馆


@dataclass(frozen=True, slots=True)
class PlaceKind:
    """A kind of place, recognised by its tags in OpenStreetMap.

    Each of the `tags` is a key, a comparison (=, !=, ~) and a value. `codes` are those of Amap for
    this kind; `words` are the words that ask for it.
    """

    tags: tuple[tuple[str, str, str], ...]
    category: str
    zh: str
    en: str
    words: tuple[str, ...]
    codes: tuple[str, ...]

    def matches(self, tags: Mapping[str, str]) -> bool:
        return all(_matches_value(tags.get(key, ""), how, value) for key, how, value in self.tags)

    @property
    def can_be_nameless(self) -> bool:
        """Whether one without a name is still worth finding."""
        return self.category in _NAMELESS_CATEGORIES and self.tags[0][0] == "amenity"

    @property
    def overpass_filter(self) -> str:
        """The kind in the language of Overpass."""
        named = "" if self.can_be_nameless else '["name"]'
        return "".join(f'["{key}"{how}"{value}"]' for key, how, value in self.tags) + named


def _matches_value(tag_value: str, comparison: str, value: str) -> bool:
    if comparison == "~":
        return bool(re.search(value, tag_value))
    return (tag_value == value) is (comparison == "=")


@cache
def all_kinds() -> tuple[PlaceKind, ...]:
    """All kinds, the more exact before the plainer."""
    return tuple(_load_kinds())


def _load_kinds() -> Iterator[PlaceKind]:
    for tags, category, zh, en, words, codes in data.rows("kinds.tsv"):
        yield PlaceKind(
            tuple((m[1], m[2], m[3]) for m in _CONDITION.finditer(tags)),
            category, zh, en, tuple(filter(None, words.split("|"))),
            tuple(filter(None, codes.split("|"))),
        )  # fmt: skip


def find_kind(tags: Mapping[str, str]) -> PlaceKind | None:
    """The kind of a place with these tags."""
    return next((kind for kind in all_kinds() if kind.matches(tags)), None)


def find_kinds(keywords: Sequence[str]) -> tuple[tuple[PlaceKind, ...], tuple[str, ...]]:
    """The kinds that some keywords of a map search ask for, and the keywords that ask for none.

    A kind is left out that one of the others holds already.
    """
    meant = {word: _kinds_of_word(word) for word in keywords}
    sought = {kind for found in meant.values() for kind in found}
    found = [kind for kind in all_kinds() if kind in sought]
    plainest = [
        kind for kind in found
        if not any(set(other.tags) < set(kind.tags) for other in found)
    ]  # fmt: skip
    return tuple(plainest), tuple(word for word in keywords if not meant[word])


def find_codes(keywords: Sequence[str]) -> tuple[str, ...]:
    """The codes of Amap for what some keywords ask for; none if one of them asks for a name, or for
    what Amap has no code for."""
    found: dict[str, None] = {}
    for word in keywords:
        own = [code for kind in _kinds_of_word(word) for code in kind.codes]
        if not own:
            return ()
        found |= dict.fromkeys(own)
    return tuple(found)


def _kinds_of_word(word: str) -> tuple[PlaceKind, ...]:
    """The kinds that a word asks for: as the table has it, as a value of a tag, as the lexicon has it
    for a map search, or with another word for a house at its end."""
    words, values, endless = _build_index()
    key = _word_key(word)
    if found := words.get(key) or values.get(key):
        return tuple(found)
    for entry in lexicon_entries("venue", "food", "named", "deed"):
        if key in map(_word_key, (*entry.zh, *entry.en)):
            keys = [_word_key(keyword) for keyword in entry.keywords]
            found = [kind for one in keys for kind in words.get(one, ())]
            if found:
                return tuple(dict.fromkeys(found))
    return tuple(endless.get(_without_ending(key), ()))


@cache
def _build_index() -> tuple[dict[str, list[PlaceKind]], dict[str, list[PlaceKind]], dict[str, list[PlaceKind]]]:
    """Kinds by their words, by the values of their tags, and by their words without an ending."""
    words: dict[str, list[PlaceKind]] = defaultdict(list)
    values: dict[str, list[PlaceKind]] = defaultdict(list)
    endless: dict[str, list[PlaceKind]] = defaultdict(list)
    for kind in all_kinds():
        for key in {_word_key(word): None for word in (kind.zh, kind.en, *kind.words)}:
            words[key].append(kind)
            if _without_ending(key):
                endless[_without_ending(key)].append(kind)
        if len(kind.tags) == 1:
            name, _, value = kind.tags[0]
            for key in {_word_key(value), _word_key(f"{name}={value}")}:
                values[key].append(kind)
    return words, values, endless


def _word_key(word: str) -> str:
    """A word as it is compared: without capitals, accents, endings of the plural and other spellings."""
    bare = re.sub(r"[\s_-]+", " ", fold_text(word)).strip()
    bare = " ".join(_PLURAL_ENDING.sub(_singular_ending, one) for one in bare.split(" "))
    return _STORE_ENDING.sub("shop", _BRITISH_ENDING.sub("ter", bare))


def _singular_ending(ending: re.Match[str]) -> str:
    return {"ies": "y"}.get(ending[0], ending["kept"] or "")


def _without_ending(key: str) -> str:
    """A Chinese word without what it is a house of; "" if that leaves too little to tell it by."""
    bare = key.rstrip(_BUILDING_ENDINGS) if key[-1:] in tuple(_BUILDING_ENDINGS) else key
    return bare if len(bare) > 1 and not bare.isascii() else ""
