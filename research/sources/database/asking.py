"""What a question has been found to ask for, and the words that it may be asked in.

Shared by what reads a question (`rules`) and what writes the statement for it (`statements`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from research.core.readable import english_region
from research.core.records import Language
from research.core.text.hanzi import simplified
from research.sources.database.gazetteer import aliases, short_city, short_province

# A name that was read stands in the text as one sign, so that rules see what is around it.
FIRST = 0xE000
SIGN = "[\ue000-\uefff]"

Shape = Literal[
    "", "count", "list", "best", "group", "most", "nearest", "within", "distance", "average", "detail"
]  # fmt: skip


@dataclass(frozen=True)
class Vocabulary:
    """What the rows of the database are called: areas by their ids, provinces and cities.

    `shorter` are other names of areas; `where` tells the province and the city of each id, and
    `called` its Chinese and its English name.
    """

    areas: Mapping[
        str, int
    ]  # names in both languages to gid, in simplified characters as questions
    # are read; those that several have are left out
    provinces: Sequence[str]
    cities: Sequence[str]
    shorter: Mapping[str, int] = field(default_factory=dict)
    where: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    called: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Sequence[object]]) -> Vocabulary:
        """The words of rows (gid, name, name_en, province, city)."""
        areas: dict[str, int] = {}
        double: set[str] = set()
        where, called = {}, {}
        for number, name, other, province, city in rows:
            gid = int(str(number))
            where[gid] = (str(province or ""), str(city or ""))
            called[gid] = (str(name or ""), str(other or name or ""))
            for text in {simplified(str(told)) for told in (name, other) if told}:
                double |= {text} & areas.keys()
                areas[text] = gid
        known = {name: gid for name, gid in areas.items() if name not in double}
        provinces = list(dict.fromkeys(province for province, _ in where.values() if province))
        cities = list(dict.fromkeys(city for _, city in where.values() if city))
        forms = {form for name in provinces for form in (name, short_province(name))}
        forms |= {form for name in cities for form in (name, short_city(name))}
        forms |= {english_region(name) for name in (*provinces, *cities)}
        return cls(known, provinces, cities, aliases(known, forms), where, called)


@dataclass(frozen=True)
class Interpretation:
    """A question as the rules have understood it. `sql` has named columns; `meant` says in the
    question's language what is looked for, of which `things` are the areas it is about."""

    sql: str
    meant: str
    language: Language
    shape: Shape = ""
    things: str = ""


class NotUnderstood(ValueError):
    """The rules do not know this shape; `rest` are the words that they could not place.

    `holds` is how many areas the shipped database has, and in how many provinces; (0, 0) for another.
    """

    holds = (0, 0)

    def __init__(self, rest: str) -> None:
        self.rest = rest
        super().__init__(rest)


class NotHeld(NotUnderstood):
    """The question is understood, but `rest` is something that the database has no rows of."""


@dataclass
class Asked:
    """What was found in a question so far."""

    whole: str
    text: str
    language: Language
    names: list[str] = field(default_factory=list)  # as they stood in the text, by their sign
    kinds: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    provinces: list[str] = field(default_factory=list)
    cities: list[str] = field(default_factory=list)
    areas: list[tuple[str, int]] = field(default_factory=list)
    without: list[tuple[str, str, str]] = field(default_factory=list)  # column, value, in words
    conditions: list[tuple[str, str]] = field(default_factory=list)  # SQL, and in words
    wants: set[str] = field(default_factory=set)  # count, list, columns, average, distance
    columns: list[str] = field(default_factory=list)
    group: str = ""
    having: tuple[str, str] | None = None
    order: tuple[str, str, str] | None = None  # how, by what, in words
    sorted: bool = False  # all of them in an order, not those that are most so
    limit: int = 0
    centre: str = ""  # how the area that was named is meant: nearest, within
    radius: float = 0.0
    year: str = ""  # a year alone, of which nobody says that something was rated in it
    details: bool = False  # a condition or a column is of tourist_spot

    def take(self, pattern: str, flags: int = re.I) -> re.Match[str] | None:
        """Takes the first match out of what is left."""
        match = re.search(pattern, self.text, flags)
        if match:
            self.text = f"{self.text[: match.start()]} {self.text[match.end() :]}"
        return match

    def say(self, zh: str, en: str) -> str:
        return zh if self.language == "zh" else en

    def lost(self, text: str) -> NotUnderstood:
        """With the names back in a text that was not understood."""
        back = re.sub(SIGN, lambda sign: f" {self.names[ord(sign[0]) - FIRST]} ", text)
        return NotUnderstood(" ".join(back.split()))
