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

from research.core.errors import conceal
from research.core.records import Known
from research.sources.database.allowed import Dialect
from research.sources.database.coverage import Count, counts
from research.sources.database.guard import Query, check
from research.sources.database.names import Names
from research.sources.database.postgres import PostgreSQL
from research.sources.database.refusals import Refused, alike
from research.sources.database.results import (
    Failed,
    Limits,
    Part,
    Result,
    Stream,
    Value,
    bounded,
    plain,
)
from research.sources.database.schema import (
    Comments,
    Reads,
    Schema,
    Table,
    has,
    is_text,
    tidy,
    values,
)
from research.sources.database.sqlite import SQLite

Row = tuple[Value, ...]
SAMPLING = 10  # seconds after which no more values are looked up when a database is opened


class Backend(Protocol):
    """What an engine does for a database. Each of these raises `Failed`."""

    dialect: Dialect

    def schema(self, reads: Reads | None, comments: Comments | None) -> Schema: ...

    def reading(self, ctes: Collection[str] = ()) -> AbstractContextManager[Connection]: ...

    def run(self, text: str, ctes: Collection[str] = ()) -> Result: ...

    def stream(self, text: str, ctes: Collection[str] = ()) -> AbstractContextManager[Stream]: ...

    def within(self, limits: Limits) -> Backend: ...

    def privileges(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Missed:
    """A text that a column was asked to equal and never does; `near` are values that are like it."""

    table: str
    column: str
    text: str
    near: tuple[str, ...]


class Database:
    """A database, with its schema as it was when it was opened.

    `privileges` is "" if the address gives no more than reading, "write" or "superuser" if it does:
    then only the guard and a read-only transaction stand before the data.
    """

    def __init__(self, backend: Backend, schema: Schema, limits: Limits) -> None:
        self._backend = backend
        self._catalogue = schema.catalogue()
        self._names = Names(schema.dialect, self._catalogue)
        self.limits = limits
        self.schema = schema
        self.dialect = schema.dialect
        self.privileges = backend.privileges()

    def check(self, sql: str, part: Part | None = None) -> Query:
        """The statement as it may run, or a part of the rows of one that has been checked before.

        Raises:
            Refused: it may not.
        """
        return check(sql, self.dialect, self._catalogue, rows=self.limits.rows, part=part)

    def within(self, limits: Limits) -> Database:
        """The same database within other limits."""
        other = copy(self)
        other._backend, other.limits = self._backend.within(limits), limits
        return other

    @contextmanager
    def stream(self, query: Query) -> Iterator[tuple[Sequence[str], Iterator[Row]]]:
        """The names of the columns of a statement and its rows, one by one: no more are held than are
        taken. Texts are as long as a cell may be; as everywhere, there is one row more than the limit.

        Raises:
            Failed: the engine refused it, or took too long, or cannot be reached.
        """
        with self._backend.stream(query.text, query.ctes) as (names, rows):
            bounded(names, self.limits)
            yield names, _plain(rows, self.limits)

    def plan(self, query: Query) -> None:
        """Has the engine read a statement without running it.

        Raises:
            Failed: the engine does not take it.
        """
        with self._backend.reading(query.ctes) as connection:
            text = query.text.replace("%", "%%") if self.dialect == "postgres" else query.text
            connection.exec_driver_sql(f"explain {text}").close()

    def run(self, query: Query) -> Result:
        """The rows of a statement.

        Raises:
            Failed: the engine refused it, or took too long, or cannot be reached.
        """
        return self._backend.run(query.text, query.ctes)

    def missed(self, query: Query, *, look: bool = False) -> tuple[Missed, ...]:
        """The filters of a statement that can find nothing, since their column has no such value.

        Told of columns whose values are all known; with `look`, the others are asked whether they
        have it. `= '杭州'` where the column says `杭州市` has no rows and is no error: this is how to
        tell it from "there are none".
        """
        tables = {table.called: table for table in self.schema.tables}
        fold = str if self.dialect == "postgres" else str.lower
        out = []
        for table, column, text in query.filters:
            of = tables[table]
            found = next((c.values for c in of.columns if fold(c.name) == column), ())
            if not tidy(text) or tidy(text) in found:
                continue
            if found or (look and self._lacks(of, column, text)):
                out.append(Missed(table, column, text, tuple(alike(text, found, 40))))
        return tuple(out)

    def coverage(self, query: Query, result: Result) -> tuple[Known, ...]:
        """For how many rows the columns are known that a statement compares, where some are unknown.

        What its result itself shows is not told again: all rows, with the column among theirs.
        """
        tree = parse_one(query.text, read=self.dialect)
        assert isinstance(tree, exp.Query)
        out: list[Known] = []
        for count in counts(self._names.qualified(tree), self.schema):
            found: dict[tuple[int | None, int], list[str]] = {}
            for column, known, rows in self._counted(count):
                if known != rows and not _shown(result, column, known, rows):
                    found.setdefault((known, rows), []).append(column)
            for (known, rows), columns in found.items():
                names = tuple(dict.fromkeys(columns))
                if not any(
                    (each.columns, each.known, each.rows) == (names, known, rows) for each in out
                ):
                    out.append(Known(columns=names, known=known, rows=rows, part=count.part))
        return tuple(out)

    def _counted(self, count: Count) -> Iterator[tuple[str, int | None, int]]:
        """Each column, with how many rows know it, and of how many; None if that cannot be counted."""
        try:
            (row,) = self.run(self.check(count.sql)).rows
        except (Refused, Failed):
            yield from ((column, None, 0) for column in count.columns)
            return
        for at, column in enumerate(count.columns):
            yield column, int(row[2 * at + 1] or 0), int(row[2 * at] or 0)

    def _lacks(self, table: Table, column: str, text: str) -> bool:
        """Whether a column certainly has no such value."""
        try:
            with self._backend.reading() as connection:
                return not has(connection, table, column, text)
        except Failed:
            return False

    def values(self, table: Table, column: str, *, few: int) -> tuple[str, ...]:
        """The different values of a column of the schema, sorted; () if they are more, or long.

        Raises:
            Failed: they cannot be read in time.
        """
        with self._backend.reading() as connection:
            return values(connection, table, column, few=few)


def open_database(
    address: str | Path,
    *,
    reads: Reads | None = None,
    comments: Comments | None = None,
    samples: bool = True,
    limits: Limits | None = None,
) -> Database:
    """The database at an address: the path of a SQLite file or of a `.duckdb` one, `sqlite:///…`, `duckdb:///…` or
    `postgresql://…`.

    Its schema is read now: all tables and views, or those that `reads` lets pass; what `comments` says of them goes
    before the database's own comments. With `samples` the columns that have few different values
    carry them.

    Raises:
        Failed: it cannot be read.
    """
    limits = limits or Limits()
    backend = _backend(address, limits)
    schema = backend.schema(reads, comments)
    if not schema.tables:
        why = "; ".join(f"{each.name}: {each.reason}" for each in schema.unreadable)
        raise Failed("table", f"The database has no table that can be read{f' ({why})' if why else ''}.")  # fmt: skip
    if samples:
        end = time.monotonic() + SAMPLING
        tables = (_sampled(backend, t) if time.monotonic() < end else t for t in schema.tables)
        schema = replace(schema, tables=tuple(tables))
    return Database(backend, schema, limits)


def _backend(address: str | Path, limits: Limits) -> Backend:
    if isinstance(address, Path) or "://" not in address:
        return _of_file(Path(address), limits, duck=str(address).endswith(".duckdb"))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise Failed("address", "The address of the database is not understood; write sqlite:///path, duckdb:///path or postgresql://user:password@host/name.") from None  # fmt: skip
    conceal([url.password] if url.password else [])
    kind = url.drivername.split("+")[0]
    if kind in ("sqlite", "duckdb") and url.database:
        return _of_file(Path(url.database).expanduser(), limits, duck=kind == "duckdb")
    if kind in ("postgres", "postgresql"):
        return PostgreSQL(url, limits)
    raise Failed("address", f"{kind[:40]} is no kind of database that can be asked; SQLite, DuckDB and PostgreSQL are.")  # fmt: skip


def _of_file(path: Path, limits: Limits, *, duck: bool) -> Backend:
    if duck:
        from research.sources.database.duckdb import DuckDB  # a large engine, for those who use it

        return DuckDB(path, limits)
    return SQLite(path, limits)


def _plain(rows: Iterable[Sequence[object]], limits: Limits) -> Iterator[Row]:
    """Rows as JSON knows them."""
    most = limits.cell
    for row in rows:
        values = [plain(value) for value in row]
        for place, value in enumerate(values):
            if isinstance(value, str) and len(value) > most:
                values[place] = value[:most] + "…"
        yield tuple(values)


def _shown(result: Result, column: str, known: int | None, rows: int) -> bool:
    """Whether a result has all rows, and shows in which of them a column is unknown."""
    if column not in result.columns or result.truncated or len(result.rows) != rows:
        return False
    at = result.columns.index(column)
    return sum(row[at] is not None for row in result.rows) == known


def _sampled(backend: Backend, table: Table) -> Table:
    """The table with the values of those columns that have few, as far as there is time for them."""
    columns = list(table.columns)
    with suppress(Failed), backend.reading() as connection:
        for place, column in enumerate(columns):
            if is_text(column.type) and not column.key:
                found = values(connection, table, column.name, repeated=True)
                columns[place] = replace(column, values=found)
    return replace(table, columns=tuple(columns))
