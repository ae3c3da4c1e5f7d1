"""The words of a database: what its semantic model calls things, and the values that its rows have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from babel import Locale

from research import data
from research.sources.database.interpreter import Lexicon
from research.sources.database.mentions import Told, forms
from research.sources.database.refusals import Refused
from research.sources.database.results import Failed
from research.sources.database.schema import Column, is_text, tidy
from research.sources.database.semantics import SemanticModel, TableModel, is_id

if TYPE_CHECKING:
    from research.sources.database.engines import Database

VALUES = 5_000  # different values of a column, beyond which none is known
MOSTLY = 0.8  # of the values of a column that are countries, for it to be one of countries
KINDS = 200  # different values of a column, beyond which they are names
LONG = 80  # characters of a value that a question would name
READING = 10  # seconds after which no more values are read


def lexicon(database: Database, model: SemanticModel, *, samples: bool = True) -> Lexicon:
    """The words of a database, some of which are read from its rows, if `samples` may be."""
    told = values(database, model) if samples else ()
    return Lexicon(database.schema, model, forms(model, told))


def values(database: Database, model: SemanticModel) -> Iterator[Told]:
    """The values of columns of text, and the names that rows are told by; whether a column has few enough
    for them to be kinds. Countries come by their other names too."""
    end = time.monotonic() + READING
    for table in database.schema.tables:
        row = model.tables.get(table.called, TableModel()).row
        named = [column for column in table.columns if _named(column)]
        sets: list[tuple[str, ...]] = [(column.name,) for column in named]
        if len(row) > 1:
            sets.append(row)
        for columns in sets:
            if time.monotonic() > end:
                return
            listed = ", ".join(_quoted(name) for name in columns)
            of = ".".join(_quoted(part) for part in (table.schema, table.name) if part)
            with suppress(Refused, Failed):
                rows = _rows(database, f"SELECT DISTINCT {listed} FROM {of}")
                if len(columns) == 1:
                    yield from _countries(table.called, columns[0], [str(row[0]) for row in rows])
                for found in rows:
                    told = [tidy(str(value)) for value in found]
                    if None not in found and all(0 < len(text) <= LONG for text in told):
                        pairs = zip(columns, map(str, found), strict=True)
                        yield table.called, dict(pairs), len(rows) <= KINDS, ""


def _named(column: Column) -> bool:
    return is_text(column.type) and not (column.refers or is_id(column.name))


def _countries(table: str, column: str, values: list[str]) -> Iterator[Told]:
    """The other names of countries in both languages, for a column of nothing but countries."""
    known = _names()
    found = {value: known[value.lower()] for value in values if value.lower() in known}
    if len(found) > 1 and len(found) >= MOSTLY * len(values):
        for value, names in found.items():
            for name in names:
                if name != value:
                    yield table, {column: value}, True, name


@cache
def _names() -> dict[str, list[str]]:
    """All names of each country, by each of them in lower case: those of Unicode's CLDR, and others."""
    others = {code: names.split("|") for code, names in data.rows("countries.tsv")}
    found = {}
    territories = [Locale(language).territories for language in ("en", "zh")]
    for code in map(str, territories[0]):
        if len(code) == 2 and code.isalpha():
            names = [str(of[code]) for of in territories if code in of] + others.get(code, [])
            found.update({name.lower(): names for name in names})
    return found


def _rows(database: Database, sql: str) -> list[tuple[object, ...]]:
    """All rows of a statement, () if there are more than are kept."""
    size, out = database.limits.rows, list[tuple[object, ...]]()
    while len(out) <= VALUES:
        page = database.run(database.check(f"{sql} ORDER BY 1 LIMIT {size} OFFSET {len(out)}"))
        out += page.rows
        if len(page.rows) < size:
            return out
    return []


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
