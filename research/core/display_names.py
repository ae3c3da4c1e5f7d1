"""Display names of the shipped database: headings of its columns, English names of its regions.

SQL statements and files for programs keep the names of the database. An analyst's own database is
shown as it is. The names are in `data/headings.tsv` and `data/regions.tsv`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from research import data
from research.core.records import Language, QueryResult

_SHIPPED_TABLE_PATTERN = re.compile(r"\b(?:a_sight|tourist_spot)\b", re.I)


_COLUMN_HEADINGS = {column: (zh, en) for column, zh, en in data.rows("headings.tsv")}
PROVINCES_EN = {zh: en for region_type, zh, en in data.rows("regions.tsv") if region_type == "province"}
CITIES_EN = {zh: en for region_type, zh, en in data.rows("regions.tsv") if region_type == "city"}
_REGIONS_EN = CITIES_EN | PROVINCES_EN
_AMBIGUOUS_NAMES = {en for en, n in Counter(_REGIONS_EN.values()).items() if n > 1}


def english_region(name: str) -> str:
    """Return the English name of a province or city; the name itself if that is unknown."""
    return _REGIONS_EN.get(name, name)


def region_label(name: str, language: Language) -> str:
    """Return the name of a region for a table cell; cities with the same English name get the
    Chinese one in brackets."""
    label = english_region(name) if language == "en" else name
    return f"{label} ({name})" if label in _AMBIGUOUS_NAMES else label


def column_heading(column: str, language: Language) -> str:
    """Return the heading of a column of the shipped database; the column's name if it has none."""
    return _COLUMN_HEADINGS.get(column.lower(), (column, column))[language == "en"]


def localise_rows(rows: QueryResult, language: Language) -> QueryResult:
    """Translate the column names and regions of a query result for display.

    Applies to queries on the shipped database; other results get the headings that they carry.
    Types and the order of rows and columns stay.
    """
    if rows.headings:
        return _apply_result_headings(rows, language)
    if not _SHIPPED_TABLE_PATTERN.search(rows.sql):
        return rows
    return rows.model_copy(
        update={
            "names": _column_headings(rows.names, language),
            "rows": tuple(tuple(_localise_value(value, language) for value in row) for row in rows.rows),
            "coverage": tuple(
                coverage.model_copy(update={"columns": _column_headings(coverage.columns, language)})
                for coverage in rows.coverage
            ),
        }
    )


def _apply_result_headings(rows: QueryResult, language: Language) -> QueryResult:
    """Apply the headings that a result carries. A heading of two columns is used for neither."""
    headings = [rows.headings.get(name, {}).get(language, name) for name in rows.names]
    names = tuple(headings[n] if headings.count(headings[n]) == 1 else name for n, name in enumerate(rows.names))
    return rows.model_copy(update={"names": names})


def _column_headings(columns: tuple[str, ...], language: Language) -> tuple[str, ...]:
    return tuple(column_heading(column, language) for column in columns)


def _localise_value(value: Any, language: Language) -> Any:
    return region_label(value, language) if isinstance(value, str) else value
