"""Questions on scenic areas as the rules have understood them, and the vocabulary of the database.

Shared by the rules that read a question (`rules`) and the builder of its statement
(`statement_builder`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from research.core.display_names import english_region
from research.core.records import Language
from research.core.text import numbers
from research.core.text.hanzi import to_simplified
from research.core.text.units import alternation_pattern
from research.sources.database.gazetteer import area_aliases, short_city, short_province

# Each recognised name is replaced in the text by one character of Unicode's private use area: the first
# name by FIRST_PLACEHOLDER, the next ones by the characters after it. So rules can match the context of a name.
FIRST_PLACEHOLDER = 0xE000
PLACEHOLDER_PATTERN = "[\ue000-\uefff]"
ENGLISH_NUMBER = rf"(?:\d+|{alternation_pattern(numbers.NUMBER_WORDS)})"

AnswerShape = Literal[
    "", "count", "list", "best", "group", "most", "nearest", "within", "distance", "average", "detail"
]


@dataclass(frozen=True)
class Vocabulary:
    """Names in the database: areas with their ids, provinces and cities.

    `short_names` are other names of areas; `locations` maps each id to its province and city, and
    `full_names` to its Chinese and its English name.
    """

    # gid by name in both languages, in simplified characters like the questions; names that several
    # areas have are left out
    areas: Mapping[str, int]
    provinces: Sequence[str]
    cities: Sequence[str]
    short_names: Mapping[str, int] = field(default_factory=dict)
    locations: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    full_names: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[object]]) -> Vocabulary:
        """Build the vocabulary from rows (gid, name, name_en, province, city)."""
        areas: dict[str, int] = {}
        ambiguous: set[str] = set()
        locations, full_names = {}, {}
        for number, name, name_en, province, city in rows:
            gid = int(str(number))
            locations[gid] = (str(province or ""), str(city or ""))
            full_names[gid] = (str(name or ""), str(name_en or name or ""))
            for text in {to_simplified(str(given_name)) for given_name in (name, name_en) if given_name}:
                ambiguous |= {text} & areas.keys()
                areas[text] = gid
        unique = {name: gid for name, gid in areas.items() if name not in ambiguous}
        provinces = list(dict.fromkeys(province for province, _ in locations.values() if province))
        cities = list(dict.fromkeys(city for _, city in locations.values() if city))
        forms = {form for name in provinces for form in (name, short_province(name))}
        forms |= {form for name in cities for form in (name, short_city(name))}
        forms |= {english_region(name) for name in (*provinces, *cities)}
        return cls(unique, provinces, cities, area_aliases(unique, forms), locations, full_names)


@dataclass(frozen=True)
class Interpretation:
    """A question with its statement. `sql` has named columns.

    `restatement` describes the result in the question's language, and `subject` the areas that it
    is about.
    """

    sql: str
    restatement: str
    language: Language
    shape: AnswerShape = ""
    subject: str = ""


class NotUnderstoodError(ValueError):
    """The rules do not know the shape of a question; `unrecognized` are the words they could not
    place.

    `area_counts` is the number of areas in the shipped database and of their provinces; (0, 0) for
    another database.
    """

    area_counts = (0, 0)

    def __init__(self, unrecognized: str) -> None:
        self.unrecognized = unrecognized
        super().__init__(unrecognized)


class NotCoveredError(NotUnderstoodError):
    """The question is understood, but `unrecognized` is something that the database has no
    rows of."""


class NameKind(IntEnum):
    """Kind of a name in a question. Of two names of the same length, the one with the lower kind wins."""

    AREA = 0
    PROVINCE = 1
    CITY = 2


@dataclass
class SightsQuestion:
    """The parts of a question found so far, and the text that remains to be read."""

    original: str
    remaining: str
    language: Language
    matched_names: list[str] = field(default_factory=list)  # as in the text, in the order of their placeholders
    # Kind of each of the matched names, with the gid of the area or the names of provinces or cities.
    name_kinds: list[tuple[NameKind, tuple[str, ...]]] = field(default_factory=list)
    provinces: list[str] = field(default_factory=list)
    cities: list[str] = field(default_factory=list)
    areas: list[tuple[str, int]] = field(default_factory=list)
    exclusions: list[tuple[str, str, str]] = field(default_factory=list)  # column, value, wording
    conditions: list[tuple[str, str]] = field(default_factory=list)  # SQL, wording
    intents: set[str] = field(default_factory=set)  # count, list, columns, average, distance
    columns: list[str] = field(default_factory=list)
    group_column: str = ""
    group_condition: tuple[str, str] | None = None
    ordering: tuple[str, str, str] | None = None  # order, column, wording
    orders_all: bool = False  # all rows in an order, not only the first ones
    max_rows: int = 0
    centre_mode: str = ""  # role of the named area: nearest, within
    radius_km: float = 0.0
    bare_year: str = ""  # a year without a word for rating
    needs_spots: bool = False  # a condition or column is of tourist_spot

    def consume(self, *patterns: str) -> re.Match[str] | None:
        """Remove the first match of the first pattern that has one from the remaining text, and
        return it. Case is ignored."""
        match = next(filter(None, (re.search(pattern, self.remaining, re.I) for pattern in patterns)), None)
        if match:
            self.remaining = f"{self.remaining[: match.start()]} {self.remaining[match.end() :]}"
        return match

    def add_price_columns(self) -> None:
        """Request the ticket prices, which are in `tourist_spot`."""
        self.needs_spots = True
        self.columns += ["t.ticket_cny", "t.ticket_year"]

    def choose_text(self, zh: str, en: str) -> str:
        """Return the text in the language of the question."""
        return zh if self.language == "zh" else en

    def interpretation(self, sql: str, shape: AnswerShape, subject: str, zh: str, en: str) -> Interpretation:
        """Combine a statement with its description in the language of the question."""
        restatement = " ".join(self.choose_text(zh, en).split())
        return Interpretation(sql, restatement, self.language, shape, subject)

    def not_understood(self, text: str) -> NotUnderstoodError:
        """Create the error for a text that was not understood, with the names restored in it."""
        restored = re.sub(
            PLACEHOLDER_PATTERN,
            lambda placeholder: f" {self.matched_names[ord(placeholder[0]) - FIRST_PLACEHOLDER]} ",
            text,
        )
        return NotUnderstoodError(" ".join(restored.split()))


def parse_number(text: str) -> float:
    """Parse a number in figures or words of either language.

    Raises:
        NotUnderstoodError: it is none, or several (三五).
    """
    value = numbers.parse_number(text.lower())
    if value is None:
        raise NotUnderstoodError(text)
    return value
