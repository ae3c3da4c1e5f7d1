"""Kinds of places by the tags of OpenStreetMap and the codes of Amap, as the table `kinds.tsv` has them,
and the words of both languages that ask for them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from research import data
from research.core.text.folding import plain
from research.core.text.lexicon import entries

_CONDITION = re.compile(r"([^=~!\s]+)(!=|=|~)(\S+)")
_NAMELESS = ("other", "transport")  # categories of amenities that seldom have a name
_PLURAL = re.compile(r"(?<=[a-z]{2})(?:ies|(?P<kept>ch|sh|ss|x)es|(?<![su])s)$")
_BRITISH = re.compile(r"tre\b")  # centre, theatre
_STORE = re.compile(r"\bstore$")  # a toy store is a toy shop
_HOUSES = "店馆厅屋吧铺房楼"  # endings that Chinese names of one kind differ in: 咖啡店, 咖啡馆


@dataclass(frozen=True, slots=True)
class Kind:
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

    def fits(self, tags: Mapping[str, str]) -> bool:
        return all(_holds(tags.get(key, ""), how, value) for key, how, value in self.tags)

    @property
    def nameless(self) -> bool:
        """Whether one without a name is still worth finding."""
        return self.category in _NAMELESS and self.tags[0][0] == "amenity"

    @property
    def filters(self) -> str:
        """The kind in the language of Overpass."""
        named = "" if self.nameless else '["name"]'
        return "".join(f'["{key}"{how}"{value}"]' for key, how, value in self.tags) + named


def _holds(known: str, how: str, value: str) -> bool:
    if how == "~":
        return bool(re.search(value, known))
    return (known == value) is (how == "=")


@cache
def known() -> tuple[Kind, ...]:
    """All kinds, the more exact before the plainer."""
    return tuple(_kinds())


def _kinds() -> Iterator[Kind]:
    for tags, category, zh, en, words, codes in data.rows("kinds.tsv"):
        yield Kind(
            tuple((m[1], m[2], m[3]) for m in _CONDITION.finditer(tags)),
            category, zh, en, tuple(filter(None, words.split("|"))),
            tuple(filter(None, codes.split("|"))),
        )  # fmt: skip


def of(tags: Mapping[str, str]) -> Kind | None:
    """The kind of a place with these tags."""
    return next((kind for kind in known() if kind.fits(tags)), None)


def asked(keywords: Sequence[str]) -> tuple[tuple[Kind, ...], tuple[str, ...]]:
    """The kinds that some keywords of a map search ask for, and the keywords that ask for none.

    A kind is left out that one of the others holds already.
    """
    meant = {word: _meant(word) for word in keywords}
    sought = {kind for found in meant.values() for kind in found}
    found = [kind for kind in known() if kind in sought]
    plainest = [
        kind for kind in found
        if not any(set(other.tags) < set(kind.tags) for other in found)
    ]  # fmt: skip
    return tuple(plainest), tuple(word for word in keywords if not meant[word])


def codes(keywords: Sequence[str]) -> tuple[str, ...]:
    """The codes of Amap for what some keywords ask for; none if one of them asks for a name, or for
    what Amap has no code for."""
    found: dict[str, None] = {}
    for word in keywords:
        own = [code for kind in _meant(word) for code in kind.codes]
        if not own:
            return ()
        found |= dict.fromkeys(own)
    return tuple(found)


def _meant(word: str) -> tuple[Kind, ...]:
    """The kinds that a word asks for: as the table has it, as a value of a tag, as the lexicon has it
    for a map search, or with another word for a house at its end."""
    words, values, endless = _index()
    key = _key(word)
    if found := words.get(key) or values.get(key):
        return tuple(found)
    for entry in entries("venue", "food", "named", "deed"):
        if key in map(_key, (*entry.zh, *entry.en)):
            keys = [_key(keyword) for keyword in entry.keywords]
            found = [kind for one in keys for kind in words.get(one, ())]
            if found:
                return tuple(dict.fromkeys(found))
    return tuple(endless.get(_endless(key), ()))


@cache
def _index() -> tuple[dict[str, list[Kind]], dict[str, list[Kind]], dict[str, list[Kind]]]:
    """Kinds by their words, by the values of their tags, and by their words without an ending."""
    words: dict[str, list[Kind]] = defaultdict(list)
    values: dict[str, list[Kind]] = defaultdict(list)
    endless: dict[str, list[Kind]] = defaultdict(list)
    for kind in known():
        for key in {_key(word): None for word in (kind.zh, kind.en, *kind.words)}:
            words[key].append(kind)
            if _endless(key):
                endless[_endless(key)].append(kind)
        if len(kind.tags) == 1:
            name, _, value = kind.tags[0]
            for key in {_key(value), _key(f"{name}={value}")}:
                values[key].append(kind)
    return words, values, endless


def _key(word: str) -> str:
    """A word as it is compared: without capitals, accents, endings of the plural and other spellings."""
    bare = re.sub(r"[\s_-]+", " ", plain(word)).strip()
    bare = " ".join(_PLURAL.sub(_singular, one) for one in bare.split(" "))
    return _STORE.sub("shop", _BRITISH.sub("ter", bare))


def _singular(ending: re.Match[str]) -> str:
    return {"ies": "y"}.get(ending[0], ending["kept"] or "")


def _endless(key: str) -> str:
    """A Chinese word without what it is a house of; "" if that leaves too little to tell it by."""
    bare = key.rstrip(_HOUSES) if key[-1:] in tuple(_HOUSES) else key
    return bare if len(bare) > 1 and not bare.isascii() else ""
