"""Kinds of places by the tags of OpenStreetMap, as the table `kinds.tsv` has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from research import data

_CONDITION = re.compile(r"([^=~!\s]+)(!=|=|~)(\S+)")
_NAMELESS = ("other", "transport")  # categories of amenities that seldom have a name


@dataclass(frozen=True, slots=True)
class Kind:
    """What a place is that has these tags. `tags` are key, comparison (=, !=, ~) and value."""

    tags: tuple[tuple[str, str, str], ...]
    category: str
    zh: str
    en: str
    keywords: tuple[str, ...]

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
    for tags, category, zh, en, keywords in data.rows("kinds.tsv"):
        yield Kind(
            tuple((m[1], m[2], m[3]) for m in _CONDITION.finditer(tags)),
            category, zh, en, tuple(filter(None, keywords.split("|"))),
        )  # fmt: skip


def of(tags: Mapping[str, str]) -> Kind | None:
    """The kind of a place with these tags."""
    return next((kind for kind in known() if kind.fits(tags)), None)


def asked(keywords: Sequence[str]) -> tuple[tuple[Kind, ...], tuple[str, ...]]:
    """The kinds that some keywords of a map search ask for, and the keywords that ask for none.

    A kind is left out that one of the others holds already.
    """
    found = [kind for kind in known() if any(word in kind.keywords for word in keywords)]
    plain = [
        kind for kind in found
        if not any(set(other.tags) < set(kind.tags) for other in found)
    ]  # fmt: skip
    named = {word for kind in found for word in kind.keywords}
    return tuple(plain), tuple(word for word in keywords if word not in named)
