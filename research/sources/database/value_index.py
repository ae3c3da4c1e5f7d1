"""Index of the database's values, in which the names of a question are looked up.

浙江 in a question is '浙江省' in the column province. A filter on a name that no column has finds
nothing and looks like an answer. So names are looked up before a statement is written, and again
when a statement has found nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from research.core.text.hanzi import to_simplified

MIN_SIMILARITY = 72.0  # of 100: from here on a value may be the one that was meant
MAX_VALUES = 3  # values for each name
MAX_VALUE_CHARS = 80  # characters of a value that is compared


@dataclass(frozen=True)
class ValueHint:
    """A value of a column that a name may mean, with their similarity (0 to 100)."""

    name: str
    table: str
    column: str
    value: str
    similarity: float

    @property
    def text(self) -> str:
        """The hint as a line for a model or a person."""
        return f"{self.name} → {self.table}.{self.column} = {self.value!r}"


class ValueIndex:
    """The values of the columns in which names are looked up."""

    def __init__(self, columns: Mapping[tuple[str, str], Iterable[str]]) -> None:
        """Index `columns`, the distinct texts of columns by table and column."""
        self._columns = {
            key: {value: normalize_text(value) for value in values if value and len(value) <= MAX_VALUE_CHARS}
            for key, values in columns.items()
        }

    def find_values(self, table: str, column: str, text: str) -> tuple[str, ...]:
        """Return the values of one column that are most similar to a text, the most similar
        first."""
        column_key = (table.lower(), column.lower())
        columns = {
            key: values for key, values in self._columns.items() if (key[0].lower(), key[1].lower()) == column_key
        }
        return tuple(hint.value for hint in _find_similar_values(text, columns))

    def find_hints(self, names: Sequence[str]) -> list[ValueHint]:
        """Return hints for each name, the most similar values first; none for a name without
        similar values."""
        hints: list[ValueHint] = []
        for name in dict.fromkeys(name.strip() for name in names):
            if name:
                hints += _find_similar_values(name, self._columns)
        return hints


def _find_similar_values(name: str, columns: Mapping[tuple[str, str], Mapping[str, str]]) -> list[ValueHint]:
    """Return the values that are most similar to a name; only equal ones if there are any.

    `columns` maps each table and column to its values, and these to their normalised texts.
    """
    normalized = normalize_text(name)
    if not normalized:
        return []
    hints: list[ValueHint] = []
    for (table, column), values in columns.items():
        matches = process.extract(
            normalized, values, scorer=_similarity, processor=None, limit=MAX_VALUES, score_cutoff=MIN_SIMILARITY
        )  # for a mapping, each match ends with the key
        hints += [ValueHint(name, table, column, value, score) for _, score, value in matches]
    hints.sort(key=lambda hint: (-hint.similarity, len(hint.value), hint.value))
    exact = [hint for hint in hints if hint.similarity == 100.0]
    return (exact or hints)[:MAX_VALUES]


def normalize_text(text: str) -> str:
    """Reduce a text to its letters and digits, in lower case and simplified characters."""
    return re.sub(r"[\s\W_]+", "", to_simplified(unicodedata.normalize("NFKC", text)).lower())


def _similarity(name: str, value: str, *, score_cutoff: float | None = None) -> float:
    """Return the similarity (0 to 100) of a name and a value, both normalised: 95 if one begins with the
    other, as of 浙江 and 浙江省, 85 if one contains the other."""
    if name == value:
        return 100.0
    short, long = sorted((name, value), key=len)
    if len(short) > 1 and long.startswith(short):
        return 95.0
    if len(short) > 1 and short in long:
        return 85.0
    return float(fuzz.ratio(name, value))
