"""One interface to SQLite, DuckDB and PostgreSQL databases.

Four layers stand between a statement and the data, each made as if the others were missing: the
lists of the guard, the text written anew from the tree, the engine's own refusals, and limits on
time, rows and memory. `Database.run` accepts only the result of `Database.check`.

Every call blocks, so call from a thread. Each statement has its own connection, so threads do not
share any. This module depends on no settings, model or page.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from sqlglot import exp, parse_one

from research.core.errors import register_secrets
from research.core.records import ColumnCoverage
from research.sources.database.backend import Backend
from research.sources.database.coverage import CoverageQuery, build_coverage_queries
from research.sources.database.name_resolver import NameResolver
from research.sources.database.postgres import PostgreSQL
from research.sources.database.refusals import RefusedError, similar_names
from research.sources.database.results import (
    ExecutionError,
    ExecutionResult,
    ResultLimits,
    RowRange,
    Value,
    check_column_count,
    convert_row,
)
from research.sources.database.schema import (
    FindComment,
    Schema,
    SchemaTable,
    TableFilter,
    distinct_values,
    has_value,
    is_text_type,
    to_single_line,
)
from research.sources.database.sqlite import SQLite
from research.sources.database.validator import ValidatedQuery, validate

SAMPLING_SECONDS = 10  # seconds after which no more sample values are read on opening a database


@dataclass(frozen=True, slots=True)
class UnmatchedFilter:
    """A text that a column is compared with but never has.

    `similar_values` are values of the column that resemble the text.
    """

    table: str
    column: str
    text: str
    similar_values: tuple[str, ...]


class Database:
    """A database, with its schema as of the time when it was opened.

    `privileges` is "" if the address allows nothing but reading, else "write" or "superuser": then
    only the guard and a read-only transaction protect the data.
    """

    def __init__(self, backend: Backend, schema: Schema, limits: ResultLimits) -> None:
        self._backend = backend
        self._catalog = schema.build_catalog()
        self._names = NameResolver(schema.dialect, self._catalog)
        self.limits = limits
        self.schema = schema
        self.dialect = schema.dialect
        self.privileges = backend.privileges()

    def check(self, sql: str, row_range: RowRange | None = None) -> ValidatedQuery:
        """Check a statement, or a range of rows of a statement that was checked before.

        Raises:
            RefusedError: it may not run.
        """
        return validate(sql, self.dialect, self._catalog, max_rows=self.limits.max_rows, row_range=row_range)

    def with_limits(self, limits: ResultLimits) -> Database:
        """Return the same database with other limits."""
        other = copy(self)
        other._backend, other.limits = self._backend.with_limits(limits), limits
        return other

    @contextmanager
    def stream(self, query: ValidatedQuery) -> Iterator[tuple[Sequence[str], Iterator[tuple[Value, ...]]]]:
        """Yield the column names of a statement and an iterator of its rows.

        Rows are read as they are consumed. Texts are cut to the limit of a cell. There is one row more
        than the limit if the statement has more rows.

        Raises:
            ExecutionError: the engine refused the statement, took too long or cannot be reached.
        """
        with self._backend.stream(query.sql, query.cte_names) as (names, rows):
            check_column_count(names, self.limits)
            yield names, (convert_row(row, self.limits)[0] for row in rows)

    def run(self, query: ValidatedQuery) -> ExecutionResult:
        """Run a statement and return its rows.

        Raises:
            ExecutionError: the engine refused it, took too long or cannot be reached.
        """
        return self._backend.run(query.sql, query.cte_names)

    def unmatched_filters(self, query: ValidatedQuery, *, looks_up_values: bool = False) -> tuple[UnmatchedFilter, ...]:
        """Return the filters of a statement that can match nothing, because their column has no
        such value.

        Columns whose values are all known are checked in memory; the others are looked up in the
        database if `looks_up_values` is true. `= '杭州'` where the column holds `杭州市` finds no rows and
        is no error: this distinguishes it from "there are none".
        """
        tables = {table.qualified_name: table for table in self.schema.tables}
        fold = str if self.dialect == "postgres" else str.lower
        unmatched = []
        for table, column, text in query.filters:
            schema_table = tables[table]
            values = next((c.values for c in schema_table.columns if fold(c.name) == column), ())
            if not to_single_line(text) or to_single_line(text) in values:
                continue
            if values or (looks_up_values and self._is_value_missing(schema_table, column, text)):
                unmatched.append(UnmatchedFilter(table, column, text, tuple(similar_names(text, values, 40))))
        return tuple(unmatched)

    def coverage(self, query: ValidatedQuery, result: ExecutionResult) -> tuple[ColumnCoverage, ...]:
        """Return the coverage of the columns that a statement compares; see the module `coverage`.

        Left out are columns without NULLs, and columns whose NULLs can all be seen in the result.
        """
        tree = parse_one(query.sql, read=self.dialect)
        assert isinstance(tree, exp.Query)
        coverages: list[ColumnCoverage] = []
        for count_query in build_coverage_queries(self._names.qualify_columns(tree), self.schema):
            groups: dict[tuple[int | None, int], list[str]] = {}
            for column, known, rows in self._run_coverage_query(count_query):
                if known != rows and not _shows_unknown(result, column, known, rows):
                    groups.setdefault((known, rows), []).append(column)
            for (known, rows), columns in groups.items():
                names = tuple(dict.fromkeys(columns))
                if not any(
                    (coverage.columns, coverage.known, coverage.rows) == (names, known, rows) for coverage in coverages
                ):
                    coverages.append(
                        ColumnCoverage(columns=names, known=known, rows=rows, subquery=count_query.is_part)
                    )
        return tuple(coverages)

    def _run_coverage_query(self, coverage_query: CoverageQuery) -> Iterator[tuple[str, int | None, int]]:
        """Yield each column, the number of rows in which it is known, and the number of all rows; None and
        0 if the rows cannot be counted."""
        try:
            (row,) = self.run(self.check(coverage_query.sql)).rows
        except (RefusedError, ExecutionError):
            yield from ((column, None, 0) for column in coverage_query.columns)
            return
        for index, column in enumerate(coverage_query.columns):
            yield column, int(row[2 * index + 1] or 0), int(row[2 * index] or 0)

    def _is_value_missing(self, table: SchemaTable, column: str, text: str) -> bool:
        """Return whether a column does not have a value; False if that cannot be looked up."""
        try:
            with self._backend.open_query() as run_query:
                return not has_value(run_query, table, column, text)
        except ExecutionError:
            return False

    def distinct_values(self, table: SchemaTable, column: str, *, max_values: int) -> tuple[str, ...]:
        """Return the distinct values of a column, sorted; () if there are more than `max_values`,
        or long ones.

        Raises:
            ExecutionError: they cannot be read in time.
        """
        with self._backend.open_query() as run_query:
            return distinct_values(run_query, table, column, max_values=max_values)


def open_database(
    address: str | Path,
    *,
    table_filter: TableFilter | None = None,
    find_comment: FindComment | None = None,
    includes_samples: bool = True,
    limits: ResultLimits | None = None,
) -> Database:
    """Open a database and read its schema.

    Args:
        address: path of a SQLite or `.duckdb` file, or a URL `sqlite:///…`, `duckdb:///…` or
            `postgresql://…`.
        table_filter: selects the tables and views that may be read; None for all.
        find_comment: finds a comment on a table or column, preferred to the database's own.
        includes_samples: whether columns with few distinct values list them in the schema.
        limits: limits on each statement and its result.

    Raises:
        ExecutionError: it cannot be read.
    """
    limits = limits or ResultLimits()
    backend = _create_backend(address, limits)
    schema = backend.read_schema(table_filter, find_comment)
    if not schema.tables:
        reasons = "; ".join(f"{entry.name}: {entry.reason}" for entry in schema.unreadable)
        raise ExecutionError(
            "table", f"The database has no table that can be read{f' ({reasons})' if reasons else ''}."
        )
    if includes_samples:
        deadline = time.monotonic() + SAMPLING_SECONDS
        tables = (_add_samples(backend, table) if time.monotonic() < deadline else table for table in schema.tables)
        schema = replace(schema, tables=tuple(tables))
    return Database(backend, schema, limits)


def _create_backend(address: str | Path, limits: ResultLimits) -> Backend:
    """Create the backend for a path or URL, which decides the engine. Raise ExecutionError for any
    other address."""
    if isinstance(address, Path) or "://" not in address:
        return _create_file_backend(Path(address), limits, is_duckdb=str(address).endswith(".duckdb"))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise ExecutionError(
            "address",
            "The address of the database is not understood; write sqlite:///path, duckdb:///path or postgresql://user:password@host/name.",
        ) from None
    register_secrets([url.password] if url.password else [])
    kind = url.drivername.split("+")[0]
    if kind in ("sqlite", "duckdb") and url.database:
        return _create_file_backend(Path(url.database).expanduser(), limits, is_duckdb=kind == "duckdb")
    if kind in ("postgres", "postgresql"):
        return PostgreSQL(url, limits)
    raise ExecutionError(
        "address", f"{kind[:40]} is no kind of database that can be asked; SQLite, DuckDB and PostgreSQL are."
    )


def _create_file_backend(path: Path, limits: ResultLimits, *, is_duckdb: bool) -> Backend:
    if is_duckdb:
        from research.sources.database.duckdb import DuckDB  # a large import, needed only for DuckDB files

        return DuckDB(path, limits)
    return SQLite(path, limits)


def _shows_unknown(result: ExecutionResult, column: str, known_count: int | None, row_count: int) -> bool:
    """Return whether a result has all counted rows and the column, so that all NULLs of the column can
    be seen in it."""
    if column not in result.columns or result.is_truncated or len(result.rows) != row_count:
        return False
    index = result.columns.index(column)
    return sum(row[index] is not None for row in result.rows) == known_count


def _add_samples(backend: Backend, table: SchemaTable) -> SchemaTable:
    """Add the values of columns that have few of them, as far as they can be read in time."""
    columns = list(table.columns)
    with suppress(ExecutionError), backend.open_query() as run_query:
        for index, column in enumerate(columns):
            if is_text_type(column.type) and not column.is_key:
                values = distinct_values(run_query, table, column.name, must_repeat=True)
                columns[index] = replace(column, values=values)
    return replace(table, columns=tuple(columns))
