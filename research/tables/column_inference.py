"""The column that a phrase asks for, with its type inferred from the words."""

from __future__ import annotations

import re
from functools import cache
from typing import get_args

from research import data
from research.core.records import Column, ColumnType
from research.core.text.hanzi import to_simplified


@cache
def _type_patterns() -> tuple[tuple[re.Pattern[str], ColumnType], ...]:
    known = {str(kind): kind for kind in get_args(ColumnType)}
    return tuple((re.compile(words), known[kind]) for words, kind in data.rows("column_types.tsv"))


def infer_column_type(text: str) -> ColumnType:
    """Infer the type of the values that a heading or a question asks for."""
    folded = to_simplified(text).lower()
    return next((kind for words, kind in _type_patterns() if words.search(folded)), "text")


def infer_column(number: int, text: str) -> Column:
    """Make a column from the words that ask for it."""
    return Column(id=f"c{number}", name=text, type=infer_column_type(text))
