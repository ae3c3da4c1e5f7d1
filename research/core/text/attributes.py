"""Reader of `research/data/columns.tsv`, the table of attributes that figures and dates describe,
such as the height of a building or the day it opened. The table explains its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from research import data


class Attribute(NamedTuple):
    """A row of the table: the kind of its figures, its name, and the patterns of its words."""

    kind: str
    name: str
    zh: re.Pattern[str]
    en: re.Pattern[str]

    def find_spans(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each occurrence of the attribute's words in a folded text."""
        for pattern in (self.zh, self.en):
            yield from (match.span() for match in pattern.finditer(folded))


@cache
def load_attributes() -> tuple[Attribute, ...]:
    """Return the rows of the table in order."""
    return tuple(
        Attribute(kind, name, re.compile(zh), re.compile(rf"\b(?:{en})\b"))
        for kind, name, zh, en in data.rows("columns.tsv")
    )
