"""PostgreSQL: transactions that read and are rolled back, with limits that the server keeps.

The limits are set within the transaction, so they hold behind a pooler too and leave nothing behind.
They are no wall: whoever can run `SET` can lift them, and only the guard keeps `SET` out. A role that
may do nothing but SELECT is the wall; `privileges` says when the address has another one.

A name without a schema is looked for where the role's own search path says. The server resolves
functions and operators by that path too, and a stranger's `lower(varchar)` in it would be called in
place of the server's: a schema that has any of its own that statements may call is left out of the
path of our transactions, and its tables are written with its name. Temporary tables, which a pooler
may have left behind, come last.

What a statement takes here is bounded: the server sends the rows of a cursor in small batches, and
the texts in them cut. What it takes on the server is bounded by time and `work_mem`, which a text
that is gathered from rows does not heed; the guard cuts those (`rewrites.shorter`). The server looks
at its clock between rows, not within one call of a function, so there is a clock here too: when it
has run out, nobody waits for the server any longer.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import URL, Connection, ExceptionContext, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from research.core.errors import register_secrets
from research.sources.database.allowlist import FUNCTION_NAMES, Dialect
from research.sources.database.distance import FUNCTION_NAME as DISTANCE
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits, RowStream, collect_result
from research.sources.database.schema import (
    SCHEMA_TIMEOUT_SECONDS,
    FindComment,
    Schema,
    TableFilter,
    read_postgres_schema,
)

CONNECT_TIMEOUT_SECONDS = 8  # seconds to connect
GRACE_SECONDS = 0.5  # seconds beyond its time after which a statement is given up
LOCK_TIMEOUT_MS = 500  # milliseconds to wait for somebody else's lock
MAX_BATCH_CHARS = 2_000_000  # characters that may be on their way at once
WORK_MEMORY, TEMPORARY_FILES = "8MB", "256MB"

# Types that are sent as they are, by their number in pg_type; all others are sent as text, and cut.
_UNCHANGED_TYPES = {16, 20, 21, 23, 26, 700, 701}  # so are dates, which may lie beyond what Python has
_NUMERIC_TYPE = 1700  # may have 130 000 digits: a text too, and a number again here

_SET_LIMITS = """
set local statement_timeout = {milliseconds};
set local lock_timeout = {lock};
set local idle_in_transaction_session_timeout = {idle};
set local work_mem = '{memory}';
set local search_path = {path};
set local standard_conforming_strings = on;
set local max_parallel_workers_per_gather = 0;
set local cursor_tuple_fraction = 1.0;
set local jit = off;
set local timezone = 'UTC';
set local datestyle = 'ISO, YMD'
"""
_SET_SUPERUSER_LIMIT = "set local temp_file_limit = '{limit}'"
_SEARCH_PATH_QUERY = "select pg_catalog.array_to_json(pg_catalog.current_schemas(false))"
_SERVER_SCHEMAS = "pg_catalog, pg_temp"
_SAFE_SCHEMAS_QUERY = """
select n.nspname from pg_namespace n
where not exists(select from pg_operator o
                 where o.oprnamespace = n.oid and not exists(select from pg_depend d
                     where d.classid = 'pg_operator'::regclass and d.objid = o.oid and d.deptype = 'e'))
  and not exists(select from pg_proc p
                 where p.pronamespace = n.oid and p.proname in ({functions}) and not exists(select from pg_depend d
                     where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'))
"""
_PRIVILEGES_QUERY = """
select r.rolsuper,
       exists(select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
              where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relkind in ('r', 'p')
                and pg_catalog.has_schema_privilege(n.oid, 'usage')
                and pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
from pg_catalog.pg_roles r where r.rolname = current_user
"""


@dataclass(frozen=True, slots=True)
class _SearchPath:
    """The schemas in which a name without one is looked for, and those of them in which the server may
    look for functions and operators too."""

    schemas: tuple[str, ...]
    safe_schemas: tuple[str, ...]

    @property
    def default_schema(self) -> str:
        """The schema whose tables the server finds by their names; "" if there is none."""
        return self.schemas[0] if self.schemas[:1] == self.safe_schemas[:1] and self.safe_schemas else ""


class PostgreSQL:
    """The tables of a database on a server that its role may read."""

    dialect: Dialect = "postgres"

    def __init__(self, url: URL, limits: ResultLimits) -> None:
        """`url` is any that PostgreSQL's own tools take; its password is in no message.

        Raises:
            Failed: the driver is not installed.
        """
        register_secrets([url.password] if url.password else [])
        self._limits = limits
        self._location = f"{url.host or 'the local server'}/{url.database or ''}"
        try:
            self._engine = create_engine(
                url.set(drivername="postgresql+psycopg"),
                poolclass=NullPool,
                connect_args={"connect_timeout": CONNECT_TIMEOUT_SECONDS, "application_name": "sightline"},
            )
        except ImportError as error:
            raise ExecutionError("address", f"The driver for PostgreSQL is not installed ({error}); python -m pip install 'psycopg[binary]>=3.2' installs it.") from None  # fmt: skip
        except (SQLAlchemyError, ValueError) as error:
            raise ExecutionError("address", f"The address of the database is not understood: {error}.") from None  # fmt: skip
        self._search_path: _SearchPath | None = None
        event.listen(self._engine, "connect", _set_read_only)
        event.listen(self._engine, "handle_error", _close_failed_cursor)

    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema:
        """What the database holds, with the comments that it has itself.

        Raises:
            Failed: the server cannot be reached, or refuses.
        """
        with self.open_connection() as connection:
            connection.exec_driver_sql(f"set local statement_timeout = '{SCHEMA_TIMEOUT_SECONDS}s'")
            path = self._search_path or _SearchPath((), ())
            return read_postgres_schema(connection, path.default_schema, path.schemas, table_filter, find_comment)

    def privileges(self) -> str:
        """What the role of the address may do besides reading; "" if nothing that was looked for.

        Raises:
            Failed: the server cannot be reached, or refuses.
        """
        with self.open_connection() as connection:
            row = connection.exec_driver_sql(_PRIVILEGES_QUERY).one()
        return "superuser" if row[0] else "write" if row[1] else ""

    def run(self, sql: str, cte_names: Collection[str] = ()) -> ExecutionResult:
        """Runs a SELECT and takes as many rows of it as a result may have.

        Raises:
            Failed: it has no result.
        """
        return collect_result(self.stream(sql), self._limits)

    @contextmanager
    def stream(self, sql: str, _: Collection[str] = ()) -> Iterator[RowStream]:
        """The names of the columns of a text and its rows, one by one, until the deadline. Of too many
        columns there are no rows.

        Raises:
            Failed: it has no result.
        """
        started = time.monotonic()
        with self.open_connection() as connection, self._enforce_deadline(connection):
            names, types = self._describe_columns(connection, sql)
            if len(names) > self._limits.max_columns:
                yield names, iter(())
                return
            with closing(self._fetch_rows(connection, self._shorten_values(sql, types), types, started)) as rows:
                yield names, rows

    def with_limits(self, limits: ResultLimits) -> PostgreSQL:
        """The same database within other limits."""
        other = copy(self)
        other._limits = limits
        return other

    @contextmanager
    def open_connection(self, _: Collection[str] = ()) -> Iterator[Connection]:
        """A transaction that only reads, within the limits, and is rolled back.

        Raises:
            Failed: what is done with it fails.
        """
        try:
            with self._engine.connect() as connection:
                if self._search_path is None:
                    self._search_path = self._read_search_path(connection)
                self._set_limits(connection, self._search_path.safe_schemas)
                # SHOW is no function, so a role without `set_config` may ask too.
                if connection.exec_driver_sql("show is_superuser").scalar_one() == "on":
                    connection.exec_driver_sql(_SET_SUPERUSER_LIMIT.format(limit=TEMPORARY_FILES))
                yield connection
        except DBAPIError as error:
            raise self._convert_error(error) from None

    def _set_limits(self, connection: Connection, schemas: Sequence[str]) -> None:
        """Sets the limits of a transaction, and where its statements look for names."""
        milliseconds = max(1, int(self._limits.timeout_seconds * 1000))
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        path = ", ".join([*map(quote, schemas), "pg_temp"]) if schemas else _SERVER_SCHEMAS
        limits = _SET_LIMITS.format(
            milliseconds=milliseconds, lock=min(LOCK_TIMEOUT_MS, milliseconds), idle=milliseconds + 10_000,
            memory=WORK_MEMORY, path=path,
        )  # fmt: skip
        connection.exec_driver_sql(_escape_percents(limits))

    def _read_search_path(self, connection: Connection) -> _SearchPath:
        """The search path that the role has before ours is set."""
        own = connection.exec_driver_sql(_SEARCH_PATH_QUERY).scalar_one()
        self._set_limits(connection, ())
        functions = ", ".join(f"'{name}'" for name in sorted(FUNCTION_NAMES[self.dialect] - {DISTANCE}))
        quiet = set(connection.exec_driver_sql(_SAFE_SCHEMAS_QUERY.format(functions=functions)).scalars())
        schemas = tuple(name for name in own if not name.startswith("pg_"))
        return _SearchPath(schemas, tuple(name for name in schemas if name in quiet))

    @contextmanager
    def _enforce_deadline(self, connection: Connection) -> Iterator[None]:
        """Hangs up when a statement is later than the server allows it to be.

        Raises:
            Failed: it was.
        """
        raw: Any = connection.connection.driver_connection
        line = socket.socket(fileno=os.dup(raw.fileno()))
        late = threading.Event()

        def hang_up() -> None:
            late.set()
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

        clock = threading.Timer(self._limits.timeout_seconds + GRACE_SECONDS, hang_up)
        clock.daemon = True
        clock.start()
        try:
            yield
        except DBAPIError:
            if late.is_set():
                raise self._timeout_error() from None
            raise
        finally:
            clock.cancel()
            clock.join()
            line.close()

    def _describe_columns(self, connection: Connection, sql: str) -> tuple[list[str], list[int]]:
        """The names and types of the columns, which the server tells without running the statement."""
        found = connection.exec_driver_sql(_escape_percents(f"select * from ({sql}) as asked limit 0"))  # noqa: S608
        cursor: Any = found.cursor
        shape = [(item.name, item.type_code) for item in cursor.description or ()]
        found.close()
        if not shape:
            raise ExecutionError("refused", "The statement has no columns.")
        return [name for name, _ in shape], [kind for _, kind in shape]

    def _shorten_values(self, sql: str, types: Sequence[int]) -> str:
        """The statement with its texts cut where they are made, so that none is sent in full."""
        names = [f"c{place}" for place in range(len(types))]
        kept = ", ".join(
            name if kind in _UNCHANGED_TYPES else f"left({name}::text, {self._limits.max_cell_characters + 1})"
            for name, kind in zip(names, types, strict=True)
        )  # fmt: skip
        return f"select {kept} from ({sql}) as asked({', '.join(names)})"  # noqa: S608

    def _fetch_rows(
        self, connection: Connection, sql: str, types: Sequence[int], started: float
    ) -> Generator[Sequence[object]]:
        """The rows, in batches that are small even if every text in them is as long as it may be."""
        batch = max(
            1, min(self._limits.max_rows + 1, MAX_BATCH_CHARS // (len(types) * self._limits.max_cell_characters))
        )
        numeric = [place for place, kind in enumerate(types) if kind == _NUMERIC_TYPE]
        streaming = connection.execution_options(stream_results=True, max_row_buffer=batch)
        with closing(streaming.exec_driver_sql(_escape_percents(sql))) as found, ExitStack() as end:
            end.callback(_close_cursor, found.cursor)
            while rows := found.fetchmany(batch):
                for row in rows:
                    yield self._restore_numbers(row, numeric) if numeric else row
                if time.monotonic() - started > self._limits.timeout_seconds:
                    raise self._timeout_error()

    def _restore_numbers(self, row: Sequence[object], indexes: Sequence[int]) -> list[object]:
        """A row with its numerics as numbers again; one that was too long stays a text."""
        values = list(row)
        for place in indexes:
            text = values[place]
            if isinstance(text, str) and len(text) <= self._limits.max_cell_characters:
                values[place] = Decimal(text)
        return values

    def _timeout_error(self) -> ExecutionError:
        return ExecutionError("timeout", f"The statement took more than {self._limits.timeout_seconds:g} seconds. Ask for less, or filter first.")  # fmt: skip

    def _convert_error(self, error: DBAPIError) -> ExecutionError:
        state = str(getattr(error.orig, "sqlstate", None) or "")
        text = str(error.orig).split("\nLINE ", 1)[0].strip().rstrip(".?")
        if state == "57014":
            return self._timeout_error()
        if state in ("42703", "42702"):
            return ExecutionError("column", f"{text}.")
        if state == "42P01":
            return ExecutionError("table", f"{text}.")
        if state in ("25006", "42501"):
            return ExecutionError("refused", f"PostgreSQL refused: {text}.")
        if state == "22003":
            return ExecutionError("value", f"A number grows too large here: {text}. Use CAST(… AS NUMERIC).")  # fmt: skip
        if state[:2] in ("53", "54") or state == "22023":
            return ExecutionError("size", f"The statement needs too much of the server: {text}. Ask for less.")  # fmt: skip
        if state[:2] == "22":
            return ExecutionError("value", f"PostgreSQL says: {text}.")
        if not state or state[:2] in ("08", "28", "3D", "57"):
            return ExecutionError("unreachable", f"{self._location} cannot be used: {text}.")
        return ExecutionError("other", f"PostgreSQL says: {text}.")


def _set_read_only(connection: Any, _: object) -> None:
    connection.read_only = True


def _close_failed_cursor(context: ExceptionContext) -> None:
    """Where the line is cut, SQLAlchemy leaves the cursor of the statement open."""
    if context.execution_context:
        _close_cursor(context.execution_context.cursor)


def _close_cursor(cursor: Any) -> None:
    """Closes a cursor of the driver also where the line is cut: there only a second time works."""
    for _ in range(2):
        with suppress(Exception):
            cursor.close()


def _escape_percents(sql: str) -> str:
    """The driver reads a single % as the mark of a value that is still to come."""
    return sql.replace("%", "%%")
