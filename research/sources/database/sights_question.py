"""What a question has been found to ask for, and the words that it may be asked in.

Shared by what reads a question (`rules`) and what writes the statement for it (`statements`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from research.core.display_names import english_region
from research.core.records import Language
from research.core.text.hanzi import to_simplified
from research.sources.database.gazetteer import area_aliases, short_city, short_province

# A name that was read stands in the text as one sign, so that rules see what is around it.
FIRST_SIGN = 0xE000
SIGN_PATTERN = "[\ue000-\uefff]"

AnswerShape = Literal[
    "", "count", "list", "best", "group", "most", "nearest", "within", "distance", "average", "detail"
]  # fmt: skip


@dataclass(frozen=True)
class Vocabulary:
    """What the rows of the database are called: areas by their ids, provinces and cities.

    `shorter` are other names of areas; `where` tells the province and the city of each id, and
    `called` its Chinese and its English name.
    """

    areas: Mapping[str, int]  # names in both languages to gid, in simplified characters as questions
    # are read; those that several have are left out
    provinces: Sequence[str]
    cities: Sequence[str]
    short_names: Mapping[str, int] = field(default_factory=dict)
    locations: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    full_names: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[object]]) -> Vocabulary:
        """The words of rows (gid, name, name_en, province, city)."""
        areas: dict[str, int] = {}
        double: set[str] = set()
        where, called = {}, {}
        for number, name, other, province, city in rows:
            gid = int(str(number))
            where[gid] = (str(province or ""), str(city or ""))
            called[gid] = (str(name or ""), str(other or name or ""))
            for text in {to_simplified(str(told)) for told in (name, other) if told}:
                double |= {text} & areas.keys()
                areas[text] = gid
        known = {name: gid for name, gid in areas.items() if name not in double}
        provinces = list(dict.fromkeys(province for province, _ in where.values() if province))
        cities = list(dict.fromkeys(city for _, city in where.values() if city))
        forms = {form for name in provinces for form in (name, short_province(name))}
        forms |= {form for name in cities for form in (name, short_city(name))}
        forms |= {english_region(name) for name in (*provinces, *cities)}
        return cls(known, provinces, cities, area_aliases(known, forms), where, called)


@dataclass(frozen=True)
class Interpretation:
    """A question as the rules have understood it. `sql` has named columns; `meant` says in the
    question's language what is looked for, of which `things` are the areas it is about."""

    sql: str
    restatement: str
    language: Language
    shape: AnswerShape = ""
    subject: str = ""


class NotUnderstoodError(ValueError):
    """The rules do not know this shape; `rest` are the words that they could not place.

    `holds` is how many areas the shipped database has, and in how many provinces; (0, 0) for another.
    """

    area_counts = (0, 0)

    def __init__(self, unrecognized: str) -> None:
        self.unrecognized = unrecognized
        super().__init__(unrecognized)


class NotCoveredError(NotUnderstoodError):
    """The question is understood, but `rest` is something that the database has no rows of."""


@dataclass
class SightsQuestion:
    """What was found in a question so far."""

    original: str
    remaining: str
    language: Language
    matched_names: list[str] = field(default_factory=list)  # as they stood in the text, by their sign
    name_kinds: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    provinces: list[str] = field(default_factory=list)
    cities: list[str] = field(default_factory=list)
    areas: list[tuple[str, int]] = field(default_factory=list)
    exclusions: list[tuple[str, str, str]] = field(default_factory=list)  # column, value, in words
    conditions: list[tuple[str, str]] = field(default_factory=list)  # SQL, and in words
    intents: set[str] = field(default_factory=set)  # count, list, columns, average, distance
    columns: list[str] = field(default_factory=list)
    group_column: str = ""
    group_condition: tuple[str, str] | None = None
    ordering: tuple[str, str, str] | None = None  # how, by what, in words
    orders_all: bool = False  # all of them in an order, not those that are most so
    max_rows: int = 0
    centre_mode: str = ""  # how the area that was named is meant: nearest, within
    radius_km: float = 0.0
    bare_year: str = ""  # a year alone, of which nobody says that something was rated in it
    needs_spots: bool = False  # a condition or a column is of tourist_spot

    def consume(self, pattern: str, flags: int = re.I) -> re.Match[str] | None:
        """Takes the first match out of what is left."""
        match = re.search(pattern, self.remaining, flags)
        if match:
            self.remaining = f"{self.remaining[: match.start()]} {self.remaining[match.end() :]}"
        return match

    def choose_text(self, zh: str, en: str) -> str:
        return zh if self.language == "zh" else en

    def not_understood(self, text: str) -> NotUnderstoodError:
        """With the names back in a text that was not understood."""
        back = re.sub(SIGN_PATTERN, lambda sign: f" {self.matched_names[ord(sign[0]) - FIRST_SIGN]} ", text)
        return NotUnderstoodError(" ".join(back.split()))
