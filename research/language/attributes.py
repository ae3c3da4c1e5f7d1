"""What figures and dates are of, such as the height of a thing or the day it opened: `research/data/columns.tsv`,
which says what its columns are, and its one reader."""

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

    def places(self, folded: str) -> Iterator[tuple[int, int]]:
        """Where its words stand in a folded text."""
        for pattern in (self.zh, self.en):
            yield from (match.span() for match in pattern.finditer(folded))


@cache
def attributes() -> tuple[Attribute, ...]:
    """The rows of the table, in their order."""
    return tuple(
        Attribute(kind, name, re.compile(zh), re.compile(rf"\b(?:{en})\b"))
        for kind, name, zh, en in data.rows("columns.tsv")
    )
