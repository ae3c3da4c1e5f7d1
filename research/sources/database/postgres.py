"""PostgreSQL backend: read-only transactions that are rolled back, with limits that the server
enforces.

The limits are set within the transaction, so they hold behind a connection pooler too and leave
nothing behind. They are no security boundary: anyone who can run `SET` can lift them, and only the
guard keeps `SET` out. The boundary is a role that may do nothing but SELECT; `privileges` reports
when the address has another one.

A name without a schema is looked for along the role's own search path. The server resolves
functions and operators by that path too, and a stranger's `lower(varchar)` in it would be called in
place of the server's. So a schema with any function or operator of its own that statements may call
is left out of the path of our transactions, and its tables are written with its name. Temporary
tables, which a pooler may have left behind, come last.

The memory that a statement needs here is bounded: the server sends the rows of a cursor in small
batches, with their texts cut. On the server it is bounded by time and `work_mem`, which does not
cover a text gathered from rows; the guard cuts those (`rewrites.limit_texts`). The server looks at
its clock between rows, not within one call of a function, so a second clock runs here: when it has
run out, the connection is closed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import URL, Connection, ExceptionContext, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from research.core.errors import register_secrets
from research.sources.database.allowlist import FUNCTION_NAMES, Dialect
from research.sources.database.backend import Backend
from research.sources.database.distance import FUNCTION_NAME as DISTANCE
from research.sources.database.results import ExecutionError, ResultLimits, RowStream
from research.sources.database.schema import (
    SCHEMA_TIMEOUT_SECONDS,
    FindComment,
    RunQuery,
    Schema,
    TableFilter,
    read_postgres_schema,
)

CONNECT_TIMEOUT_SECONDS = 8  # seconds to connect
GRACE_SECONDS = 0.5  # seconds beyond its timeout after which a statement is abandoned
LOCK_TIMEOUT_MS = 500  # milliseconds to wait for another session's lock
MAX_BATCH_CHARS = 2_000_000  # characters of one batch of rows
WORK_MEMORY, TEMPORARY_FILES = "8MB", "256MB"

# Types that are sent unchanged, by their number in pg_type; all others are sent as text, and cut.
_UNCHANGED_TYPES = {16, 20, 21, 23, 26, 700, 701}  # dates are sent as text: they may exceed Python's range
_NUMERIC_TYPE = 1700  # up to 130,000 digits: sent as text and converted back here

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
    """The schemas in which the name of a table is looked for if it is written without a schema.

    `safe_schemas` are the ones in which the server may also look for functions and operators.
    """

    schemas: tuple[str, ...]
    safe_schemas: tuple[str, ...]

    @property
    def default_schema(self) -> str:
        """Schema whose tables the server finds by their names without it; "" if there is none."""
        return self.schemas[0] if self.schemas[:1] == self.safe_schemas[:1] and self.safe_schemas else ""


class PostgreSQL(Backend):
    """A PostgreSQL database, limited to the tables that its role may read."""

    dialect: Dialect = "postgres"

    def __init__(self, url: URL, limits: ResultLimits) -> None:
        """Create the engine; nothing is connected yet.

        `url` is any that PostgreSQL's own tools accept; its password appears in no message.

        Raises:
            ExecutionError: the driver is not installed, or the address is not understood.
        """
        super().__init__(limits)
        register_secrets([url.password] if url.password else [])
        self._location = f"{url.host or 'the local server'}/{url.database or ''}"
        try:
            self._engine = create_engine(
                url.set(drivername="postgresql+psycopg"),
                poolclass=NullPool,
                connect_args={"connect_timeout": CONNECT_TIMEOUT_SECONDS, "application_name": "sightline"},
            )
        except ImportError as error:
            raise ExecutionError(
                "address",
                f"The driver for PostgreSQL is not installed ({error}); python -m pip install 'psycopg[binary]>=3.2' installs it.",
            ) from None
        except (SQLAlchemyError, ValueError) as error:
            raise ExecutionError("address", f"The address of the database is not understood: {error}.") from None
        self._search_path: _SearchPath | None = None
        event.listen(self._engine, "connect", _set_read_only)
        event.listen(self._engine, "handle_error", _close_failed_cursor)

    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema:
        """Read the schema of the database, with its own comments.

        Raises:
            ExecutionError: the server cannot be reached, or refuses.
        """
        with self.open_connection() as connection:
            connection.exec_driver_sql(f"set local statement_timeout = '{SCHEMA_TIMEOUT_SECONDS}s'")
            path = self._search_path or _SearchPath((), ())
            return read_postgres_schema(connection, path.default_schema, path.schemas, table_filter, find_comment)

    def privileges(self) -> str:
        """Return the privileges of the role beyond reading: "superuser", "write" or "" if none was
        found.

        Raises:
            ExecutionError: the server cannot be reached, or refuses.
        """
        with self.open_connection() as connection:
            row = connection.exec_driver_sql(_PRIVILEGES_QUERY).one()
        return "superuser" if row[0] else "write" if row[1] else ""

    @contextmanager
    def stream(self, sql: str, cte_names: Collection[str] = ()) -> Iterator[RowStream]:
        """Yield the column names of a statement and an iterator of its rows, until the deadline.

        With too many columns there are no rows.

        Raises:
            ExecutionError: it has no result.
        """
        started = time.monotonic()
        with self.open_connection() as connection, self._enforce_deadline(connection):
            names, types = self._describe_columns(connection, sql)
            if len(names) > self._limits.max_columns:
                yield names, iter(())
                return
            with closing(self._fetch_rows(connection, self._shorten_values(sql, types), types, started)) as rows:
                yield names, rows

    @contextmanager
    def open_query(self) -> Iterator[RunQuery]:
        with self.open_connection() as connection:
            yield lambda sql: connection.exec_driver_sql(_escape_percents(sql)).fetchall()

    @contextmanager
    def open_connection(self) -> Iterator[Connection]:
        """Open a read-only transaction within the limits, which is rolled back in the end.

        Raises:
            ExecutionError: a statement in it fails.
        """
        try:
            with self._engine.connect() as connection:
                if self._search_path is None:
                    self._search_path = self._read_search_path(connection)
                self._set_limits(connection, self._search_path.safe_schemas)
                # SHOW is no function, so it works for a role without `set_config` too.
                if connection.exec_driver_sql("show is_superuser").scalar_one() == "on":
                    connection.exec_driver_sql(_SET_SUPERUSER_LIMIT.format(limit=TEMPORARY_FILES))
                yield connection
        except DBAPIError as error:
            raise self._convert_error(error) from None

    def _set_limits(self, connection: Connection, schemas: Sequence[str]) -> None:
        """Set the limits of a transaction and its search path."""
        milliseconds = max(1, int(self._limits.timeout_seconds * 1000))
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        path = ", ".join([*map(quote, schemas), "pg_temp"]) if schemas else _SERVER_SCHEMAS
        limits = _SET_LIMITS.format(
            milliseconds=milliseconds,
            lock=min(LOCK_TIMEOUT_MS, milliseconds),
            idle=milliseconds + 10_000,
            memory=WORK_MEMORY,
            path=path,
        )
        connection.exec_driver_sql(_escape_percents(limits))

    def _read_search_path(self, connection: Connection) -> _SearchPath:
        """Read the search path of the role before ours is set."""
        role_path = connection.exec_driver_sql(_SEARCH_PATH_QUERY).scalar_one()
        self._set_limits(connection, ())
        functions = ", ".join(f"'{name}'" for name in sorted(FUNCTION_NAMES[self.dialect] - {DISTANCE}))
        safe = set(connection.exec_driver_sql(_SAFE_SCHEMAS_QUERY.format(functions=functions)).scalars())
        schemas = tuple(name for name in role_path if not name.startswith("pg_"))
        return _SearchPath(schemas, tuple(name for name in schemas if name in safe))

    @contextmanager
    def _enforce_deadline(self, connection: Connection) -> Iterator[None]:
        """Close the connection if the server has not ended a statement `GRACE_SECONDS` after its timeout.

        Raises:
            ExecutionError: the statement ran too long.
        """
        raw: Any = connection.connection.driver_connection
        connection_socket = socket.socket(fileno=os.dup(raw.fileno()))
        expired = threading.Event()

        def close_socket() -> None:
            expired.set()
            with suppress(OSError):
                connection_socket.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self._limits.timeout_seconds + GRACE_SECONDS, close_socket)
        timer.daemon = True
        timer.start()
        try:
            yield
        except DBAPIError:
            if expired.is_set():
                raise self._timeout_error() from None
            raise
        finally:
            timer.cancel()
            timer.join()
            connection_socket.close()

    def _describe_columns(self, connection: Connection, sql: str) -> tuple[list[str], list[int]]:
        """Return the names and type numbers of the columns, which the server reports without
        running the statement."""
        result = connection.exec_driver_sql(_escape_percents(f"select * from ({sql}) as asked limit 0"))  # noqa: S608
        cursor: Any = result.cursor
        columns = [(item.name, item.type_code) for item in cursor.description or ()]
        result.close()
        if not columns:
            raise ExecutionError("refused", "The statement has no columns.")
        return [name for name, _ in columns], [type_number for _, type_number in columns]

    def _shorten_values(self, sql: str, types: Sequence[int]) -> str:
        """Wrap a statement so that the server cuts its texts and none is sent in full."""
        names = [f"c{index}" for index in range(len(types))]
        columns = ", ".join(
            name if type_number in _UNCHANGED_TYPES else f"left({name}::text, {self._limits.max_cell_characters + 1})"
            for name, type_number in zip(names, types, strict=True)
        )
        return f"select {columns} from ({sql}) as asked({', '.join(names)})"  # noqa: S608

    def _fetch_rows(
        self, connection: Connection, sql: str, types: Sequence[int], started: float
    ) -> Generator[Sequence[object]]:
        """Yield the rows, in batches that stay small even if every text has the maximum length."""
        batch = max(
            1, min(self._limits.max_rows + 1, MAX_BATCH_CHARS // (len(types) * self._limits.max_cell_characters))
        )
        numeric = [index for index, type_number in enumerate(types) if type_number == _NUMERIC_TYPE]
        streaming = connection.execution_options(stream_results=True, max_row_buffer=batch)
        with closing(streaming.exec_driver_sql(_escape_percents(sql))) as result, ExitStack() as cleanup:
            cleanup.callback(_close_cursor, result.cursor)
            while rows := result.fetchmany(batch):
                for row in rows:
                    yield self._restore_numbers(row, numeric) if numeric else row
                if time.monotonic() - started > self._limits.timeout_seconds:
                    raise self._timeout_error()

    def _restore_numbers(self, row: Sequence[object], indexes: Sequence[int]) -> list[object]:
        """Convert numerics that were sent as text to numbers again; one that was too long stays a
        text."""
        values = list(row)
        for index in indexes:
            text = values[index]
            if isinstance(text, str) and len(text) <= self._limits.max_cell_characters:
                values[index] = Decimal(text)
        return values

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
            return ExecutionError("value", f"A number grows too large here: {text}. Use CAST(… AS NUMERIC).")
        if state[:2] in ("53", "54") or state == "22023":
            return ExecutionError("size", f"The statement needs too much of the server: {text}. Ask for less.")
        if state[:2] == "22":
            return ExecutionError("value", f"PostgreSQL says: {text}.")
        if not state or state[:2] in ("08", "28", "3D", "57"):
            return ExecutionError("unreachable", f"{self._location} cannot be used: {text}.")
        return ExecutionError("other", f"PostgreSQL says: {text}.")


def _set_read_only(connection: Any, _: object) -> None:
    connection.read_only = True


def _close_failed_cursor(context: ExceptionContext) -> None:
    """Close the cursor that SQLAlchemy leaves open after the connection was cut."""
    if context.execution_context:
        _close_cursor(context.execution_context.cursor)


def _close_cursor(cursor: Any) -> None:
    """Close a cursor of the driver; after the connection was cut, only the second attempt works."""
    for _ in range(2):
        with suppress(Exception):
            cursor.close()


def _escape_percents(sql: str) -> str:
    """Double every %, which the driver reads as the mark of a parameter."""
    return sql.replace("%", "%%")
