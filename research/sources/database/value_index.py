"""Names in a question as the database has them: 浙江 is '浙江省' in the column province.

A filter on a name that is in no column finds nothing and looks like an answer; so names are looked up
before a statement is written, and again when one has found nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from research.core.text.hanzi import to_simplified

MIN_SIMILARITY = 72.0  # of 100, from which a value may be what was meant
MAX_VALUES = 3  # values for each name
MAX_VALUE_CHARS = 80  # characters of a value that is compared


@dataclass(frozen=True)
class ValueHint:
    """What a name may be called: a value of a column, and how alike they are (0 to 100)."""

    name: str
    table: str
    column: str
    value: str
    similarity: float

    @property
    def text(self) -> str:
        """As a model or a person reads it."""
        return f"{self.name} → {self.table}.{self.column} = {self.value!r}"


class ValueIndex:
    """The values of the columns in which names are looked up."""

    def __init__(self, columns: Mapping[tuple[str, str], Iterable[str]]) -> None:
        """`columns` are the distinct texts of columns, by table and column."""
        self._columns = {
            key: {value: _normalize(value) for value in values if value and len(value) <= MAX_VALUE_CHARS}
            for key, values in columns.items()
        }

    def find_values(self, table: str, column: str, text: str) -> list[str]:
        """The values of one column that are most like a text, the likest first."""
        wanted = (table.lower(), column.lower())
        own = ValueIndex({})
        own._columns = {
            key: values for key, values in self._columns.items() if (key[0].lower(), key[1].lower()) == wanted
        }
        return [hint.value for hint in own.find_name_hints(text)]

    def find_hints(self, names: Sequence[str]) -> list[ValueHint]:
        """What each name may be called, the likest first; nothing for a name that is like none."""
        out: list[ValueHint] = []
        for name in dict.fromkeys(name.strip() for name in names):
            if name:
                out += self.find_name_hints(name)
        return out

    def find_name_hints(self, name: str) -> list[ValueHint]:
        """The values that are most like a name; one that is equal stands alone."""
        wanted = _normalize(name)
        if not wanted:
            return []
        found: list[ValueHint] = []
        for (table, column), values in self._columns.items():
            near = process.extract(
                wanted, values, scorer=_similarity, processor=None, limit=MAX_VALUES, score_cutoff=MIN_SIMILARITY
            )  # of a mapping it tells the key last
            found += [ValueHint(name, table, column, value, score) for _, score, value in near]
        found.sort(key=lambda hint: (-hint.similarity, len(hint.value), hint.value))
        exact = [hint for hint in found if hint.similarity == 100.0]
        return (exact or found)[:MAX_VALUES]


def _normalize(text: str) -> str:
    return re.sub(r"[\s\W_]+", "", to_simplified(unicodedata.normalize("NFKC", text)).lower())


def _similarity(one: str, other: str, *, score_cutoff: float | None = None) -> float:
    """How alike two names are: what begins with the other, as 浙江 and 浙江省 do, is very much so."""
    if one == other:
        return 100.0
    short, long = sorted((one, other), key=len)
    if len(short) > 1 and long.startswith(short):
        return 95.0
    if len(short) > 1 and short in long:
        return 85.0
    return float(fuzz.ratio(one, other))
