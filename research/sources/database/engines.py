"""A database that can be asked: one way in for SQLite, DuckDB and PostgreSQL.

Four layers stand between a statement and the data, each made as if the others were not there: the
guard's lists, the text written anew from the tree, the engine's own refusals, and limits on time,
rows and memory. `Database.run` takes only what `Database.check` gave.

Everything here blocks: ask from a thread. Connections are made for each statement, so threads do
not meet. Knows no settings, no model, no page.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import ArgumentError
from sqlglot import exp, parse_one

from research.core.errors import register_secrets
from research.core.records import ColumnCoverage
from research.sources.database.allowlist import Dialect
from research.sources.database.coverage import CoverageQuery, build_coverage_queries
from research.sources.database.name_resolver import NameResolver
from research.sources.database.postgres import PostgreSQL
from research.sources.database.refusals import RefusedError, similar_names
from research.sources.database.results import (
    ExecutionError,
    ExecutionResult,
    ResultLimits,
    RowRange,
    RowStream,
    Value,
    check_column_count,
    to_json_value,
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

Row = tuple[Value, ...]
SAMPLING_SECONDS = 10  # seconds after which no more values are looked up when a database is opened


class Backend(Protocol):
    """What an engine does for a database. Each of these raises `Failed`."""

    dialect: Dialect

    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema: ...

    def open_connection(self, cte_names: Collection[str] = ()) -> AbstractContextManager[Connection]: ...

    def run(self, sql: str, cte_names: Collection[str] = ()) -> ExecutionResult: ...

    def stream(self, sql: str, cte_names: Collection[str] = ()) -> AbstractContextManager[RowStream]: ...

    def with_limits(self, limits: ResultLimits) -> Backend: ...

    def privileges(self) -> str: ...


@dataclass(frozen=True, slots=True)
class UnmatchedFilter:
    """A text that a column was asked to equal and never does; `near` are values that are like it."""

    table: str
    column: str
    text: str
    similar_values: tuple[str, ...]


class Database:
    """A database, with its schema as it was when it was opened.

    `privileges` is "" if the address gives no more than reading, "write" or "superuser" if it does:
    then only the guard and a read-only transaction stand before the data.
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
        """The statement as it may run, or a part of the rows of one that has been checked before.

        Raises:
            Refused: it may not.
        """
        return validate(sql, self.dialect, self._catalog, max_rows=self.limits.max_rows, row_range=row_range)

    def with_limits(self, limits: ResultLimits) -> Database:
        """The same database within other limits."""
        other = copy(self)
        other._backend, other.limits = self._backend.with_limits(limits), limits
        return other

    @contextmanager
    def stream(self, query: ValidatedQuery) -> Iterator[tuple[Sequence[str], Iterator[Row]]]:
        """The names of the columns of a statement and its rows, one by one: no more are held than are
        taken. Texts are as long as a cell may be; as everywhere, there is one row more than the limit.

        Raises:
            Failed: the engine refused it, or took too long, or cannot be reached.
        """
        with self._backend.stream(query.sql, query.cte_names) as (names, rows):
            check_column_count(names, self.limits)
            yield names, _convert_rows(rows, self.limits)

    def explain(self, query: ValidatedQuery) -> None:
        """Has the engine read a statement without running it.

        Raises:
            Failed: the engine does not take it.
        """
        with self._backend.open_connection(query.cte_names) as connection:
            text = query.sql.replace("%", "%%") if self.dialect == "postgres" else query.sql
            connection.exec_driver_sql(f"explain {text}").close()

    def run(self, query: ValidatedQuery) -> ExecutionResult:
        """The rows of a statement.

        Raises:
            Failed: the engine refused it, or took too long, or cannot be reached.
        """
        return self._backend.run(query.sql, query.cte_names)

    def unmatched_filters(self, query: ValidatedQuery, *, asks_database: bool = False) -> tuple[UnmatchedFilter, ...]:
        """The filters of a statement that can find nothing, since their column has no such value.

        Told of columns whose values are all known; with `look`, the others are asked whether they
        have it. `= '杭州'` where the column says `杭州市` has no rows and is no error: this is how to
        tell it from "there are none".
        """
        tables = {table.qualified_name: table for table in self.schema.tables}
        fold = str if self.dialect == "postgres" else str.lower
        out = []
        for table, column, text in query.filters:
            of = tables[table]
            found = next((c.values for c in of.columns if fold(c.name) == column), ())
            if not to_single_line(text) or to_single_line(text) in found:
                continue
            if found or (asks_database and self._lacks_value(of, column, text)):
                out.append(UnmatchedFilter(table, column, text, tuple(similar_names(text, found, 40))))
        return tuple(out)

    def coverage(self, query: ValidatedQuery, result: ExecutionResult) -> tuple[ColumnCoverage, ...]:
        """For how many rows the columns are known that a statement compares, where some are unknown.

        What its result itself shows is not told again: all rows, with the column among theirs.
        """
        tree = parse_one(query.sql, read=self.dialect)
        assert isinstance(tree, exp.Query)
        out: list[ColumnCoverage] = []
        for count in build_coverage_queries(self._names.qualify_columns(tree), self.schema):
            found: dict[tuple[int | None, int], list[str]] = {}
            for column, known, rows in self._run_coverage_query(count):
                if known != rows and not _shows_unknown(result, column, known, rows):
                    found.setdefault((known, rows), []).append(column)
            for (known, rows), columns in found.items():
                names = tuple(dict.fromkeys(columns))
                if not any((each.columns, each.known, each.rows) == (names, known, rows) for each in out):
                    out.append(ColumnCoverage(columns=names, known=known, rows=rows, part=count.is_part))
        return tuple(out)

    def _run_coverage_query(self, coverage_query: CoverageQuery) -> Iterator[tuple[str, int | None, int]]:
        """Each column, with how many rows know it, and of how many; None if that cannot be counted."""
        try:
            (row,) = self.run(self.check(coverage_query.sql)).rows
        except (RefusedError, ExecutionError):
            yield from ((column, None, 0) for column in coverage_query.columns)
            return
        for at, column in enumerate(coverage_query.columns):
            yield column, int(row[2 * at + 1] or 0), int(row[2 * at] or 0)

    def _lacks_value(self, table: SchemaTable, column: str, text: str) -> bool:
        """Whether a column certainly has no such value."""
        try:
            with self._backend.open_connection() as connection:
                return not has_value(connection, table, column, text)
        except ExecutionError:
            return False

    def distinct_values(self, table: SchemaTable, column: str, *, max_values: int) -> tuple[str, ...]:
        """The different values of a column of the schema, sorted; () if they are more, or long.

        Raises:
            Failed: they cannot be read in time.
        """
        with self._backend.open_connection() as connection:
            return distinct_values(connection, table, column, max_values=max_values)


def open_database(
    address: str | Path,
    *,
    table_filter: TableFilter | None = None,
    find_comment: FindComment | None = None,
    includes_samples: bool = True,
    limits: ResultLimits | None = None,
) -> Database:
    """The database at an address: the path of a SQLite file or of a `.duckdb` one, `sqlite:///…`, `duckdb:///…` or
    `postgresql://…`.

    Its schema is read now: all tables and views, or those that `reads` lets pass; what `comments` says of them goes
    before the database's own comments. With `samples` the columns that have few different values
    carry them.

    Raises:
        Failed: it cannot be read.
    """
    limits = limits or ResultLimits()
    backend = _create_backend(address, limits)
    schema = backend.read_schema(table_filter, find_comment)
    if not schema.tables:
        why = "; ".join(f"{each.name}: {each.reason}" for each in schema.unreadable)
        raise ExecutionError("table", f"The database has no table that can be read{f' ({why})' if why else ''}.")  # fmt: skip
    if includes_samples:
        end = time.monotonic() + SAMPLING_SECONDS
        tables = (_add_samples(backend, t) if time.monotonic() < end else t for t in schema.tables)
        schema = replace(schema, tables=tuple(tables))
    return Database(backend, schema, limits)


def _create_backend(address: str | Path, limits: ResultLimits) -> Backend:
    if isinstance(address, Path) or "://" not in address:
        return _create_file_backend(Path(address), limits, is_duckdb=str(address).endswith(".duckdb"))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise ExecutionError("address", "The address of the database is not understood; write sqlite:///path, duckdb:///path or postgresql://user:password@host/name.") from None  # fmt: skip
    register_secrets([url.password] if url.password else [])
    kind = url.drivername.split("+")[0]
    if kind in ("sqlite", "duckdb") and url.database:
        return _create_file_backend(Path(url.database).expanduser(), limits, is_duckdb=kind == "duckdb")
    if kind in ("postgres", "postgresql"):
        return PostgreSQL(url, limits)
    raise ExecutionError("address", f"{kind[:40]} is no kind of database that can be asked; SQLite, DuckDB and PostgreSQL are.")  # fmt: skip


def _create_file_backend(path: Path, limits: ResultLimits, *, is_duckdb: bool) -> Backend:
    if is_duckdb:
        from research.sources.database.duckdb import DuckDB  # a large engine, for those who use it

        return DuckDB(path, limits)
    return SQLite(path, limits)


def _convert_rows(rows: Iterable[Sequence[object]], limits: ResultLimits) -> Iterator[Row]:
    """Rows as JSON knows them."""
    most = limits.max_cell_characters
    for row in rows:
        values = [to_json_value(value) for value in row]
        for place, value in enumerate(values):
            if isinstance(value, str) and len(value) > most:
                values[place] = value[:most] + "…"
        yield tuple(values)


def _shows_unknown(result: ExecutionResult, column: str, known_count: int | None, row_count: int) -> bool:
    """Whether a result has all rows, and shows in which of them a column is unknown."""
    if column not in result.columns or result.is_truncated or len(result.rows) != row_count:
        return False
    at = result.columns.index(column)
    return sum(row[at] is not None for row in result.rows) == known_count


def _add_samples(backend: Backend, table: SchemaTable) -> SchemaTable:
    """The table with the values of those columns that have few, as far as there is time for them."""
    columns = list(table.columns)
    with suppress(ExecutionError), backend.open_connection() as connection:
        for place, column in enumerate(columns):
            if is_text_type(column.type) and not column.is_key:
                found = distinct_values(connection, table, column.name, must_repeat=True)
                columns[place] = replace(column, values=found)
    return replace(table, columns=tuple(columns))
