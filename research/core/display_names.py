"""The shipped database as people read it: headings for its columns, English names for its regions.

Statements, and files for programs, keep the names of the database. A database of the analyst's own is
shown as it is. The words are `data/headings.tsv` and `data/regions.tsv`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from research import data
from research.core.records import Language, QueryResult

_SHIPPED_TABLE_PATTERN = re.compile(r"\b(?:a_sight|tourist_spot)\b", re.I)


_COLUMN_HEADINGS = {column: (zh, en) for column, zh, en in data.rows("headings.tsv")}
PROVINCES_EN = {zh: en for sort, zh, en in data.rows("regions.tsv") if sort == "province"}
CITIES_EN = {zh: en for sort, zh, en in data.rows("regions.tsv") if sort == "city"}
_REGIONS_EN = CITIES_EN | PROVINCES_EN
_AMBIGUOUS_NAMES = {en for en, n in Counter(_REGIONS_EN.values()).items() if n > 1}


def english_region(name: str) -> str:
    """A province or a city as an English sentence has it, its own name if that is not known."""
    return _REGIONS_EN.get(name, name)


def region_label(name: str, language: Language) -> str:
    """`english` for a cell of a table, in which cities of one English name have to be told apart."""
    told = english_region(name) if language == "en" else name
    return f"{told} ({name})" if told in _AMBIGUOUS_NAMES else told


def column_heading(column: str, language: Language) -> str:
    """What a column of the shipped database is called above a table, or its own name."""
    return _COLUMN_HEADINGS.get(column.lower(), (column, column))[language == "en"]


def localise_rows(rows: QueryResult, language: Language) -> QueryResult:
    """The rows of a statement on the shipped database with headings for names, and with regions in
    the reader's language; others with the headings that they bring along. Types and the order of rows and
    columns stay."""
    if rows.headings:
        return _apply_own_headings(rows, language)
    if not _SHIPPED_TABLE_PATTERN.search(rows.sql):
        return rows
    return rows.model_copy(
        update={
            "names": _column_headings(rows.names, language),
            "rows": tuple(tuple(_localise_value(value, language) for value in row) for row in rows.rows),
            "coverage": tuple(
                each.model_copy(update={"columns": _column_headings(each.columns, language)}) for each in rows.coverage
            ),
        }
    )


def _apply_own_headings(rows: QueryResult, language: Language) -> QueryResult:
    """The rows with the headings that they bring along, each of them once: a name that two columns would
    have is that of neither."""
    told = [rows.headings.get(name, {}).get(language, name) for name in rows.names]
    names = tuple(told[n] if told.count(told[n]) == 1 else name for n, name in enumerate(rows.names))
    return rows.model_copy(update={"names": names})


def _column_headings(columns: tuple[str, ...], language: Language) -> tuple[str, ...]:
    return tuple(column_heading(column, language) for column in columns)


def _localise_value(value: Any, language: Language) -> Any:
    return region_label(value, language) if isinstance(value, str) else value
