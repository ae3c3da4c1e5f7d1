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

from research.core.errors import conceal
from research.sources.database.allowed import NAMES, Dialect
from research.sources.database.distance import NAME as DISTANCE
from research.sources.database.results import Failed, Limits, Result, Stream, collected
from research.sources.database.schema import READING, Comments, Reads, Schema, of_postgres

WAIT = 8  # seconds to connect
GRACE = 0.5  # seconds beyond its time after which a statement is given up
LOCK = 500  # milliseconds to wait for somebody else's lock
BATCH = 2_000_000  # characters that may be on their way at once
WORK_MEMORY, TEMPORARY = "8MB", "256MB"

# Types that are sent as they are, by their number in pg_type; all others are sent as text, and cut.
_PLAIN = {16, 20, 21, 23, 26, 700, 701}  # so are dates, which may lie beyond what Python has
_NUMERIC = 1700  # may have 130 000 digits: a text too, and a number again here

_LIMITS = """
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
_BY_SUPERUSERS = "set local temp_file_limit = '{limit}'"
_OWN_PATH = "select pg_catalog.array_to_json(pg_catalog.current_schemas(false))"
_SERVER_ONLY = "pg_catalog, pg_temp"
_QUIET = """
select n.nspname from pg_namespace n
where not exists(select from pg_operator o
                 where o.oprnamespace = n.oid and not exists(select from pg_depend d
                     where d.classid = 'pg_operator'::regclass and d.objid = o.oid and d.deptype = 'e'))
  and not exists(select from pg_proc p
                 where p.pronamespace = n.oid and p.proname in ({functions}) and not exists(select from pg_depend d
                     where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'))
"""
_PRIVILEGES = """
select r.rolsuper,
       exists(select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
              where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relkind in ('r', 'p')
                and pg_catalog.has_schema_privilege(n.oid, 'usage')
                and pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
from pg_catalog.pg_roles r where r.rolname = current_user
"""


@dataclass(frozen=True, slots=True)
class _Path:
    """The schemas in which a name without one is looked for, and those of them in which the server may
    look for functions and operators too."""

    schemas: tuple[str, ...]
    quiet: tuple[str, ...]

    @property
    def home(self) -> str:
        """The schema whose tables the server finds by their names; "" if there is none."""
        return self.schemas[0] if self.schemas[:1] == self.quiet[:1] and self.quiet else ""


class PostgreSQL:
    """The tables of a database on a server that its role may read."""

    dialect: Dialect = "postgres"

    def __init__(self, url: URL, limits: Limits) -> None:
        """`url` is any that PostgreSQL's own tools take; its password is in no message.

        Raises:
            Failed: the driver is not installed.
        """
        conceal([url.password] if url.password else [])
        self._limits = limits
        self._where = f"{url.host or 'the local server'}/{url.database or ''}"
        try:
            self._engine = create_engine(
                url.set(drivername="postgresql+psycopg"),
                poolclass=NullPool,
                connect_args={"connect_timeout": WAIT, "application_name": "sightline"},
            )
        except ImportError as error:
            raise Failed("address", f"The driver for PostgreSQL is not installed ({error}); python -m pip install 'psycopg[binary]>=3.2' installs it.") from None  # fmt: skip
        except (SQLAlchemyError, ValueError) as error:
            raise Failed("address", f"The address of the database is not understood: {error}.") from None  # fmt: skip
        self._path: _Path | None = None
        event.listen(self._engine, "connect", _read_only)
        event.listen(self._engine, "handle_error", _failing)

    def schema(self, reads: Reads | None, comments: Comments | None) -> Schema:
        """What the database holds, with the comments that it has itself.

        Raises:
            Failed: the server cannot be reached, or refuses.
        """
        with self.reading() as connection:
            connection.exec_driver_sql(f"set local statement_timeout = '{READING}s'")
            path = self._path or _Path((), ())
            return of_postgres(connection, path.home, path.schemas, reads, comments)

    def privileges(self) -> str:
        """What the role of the address may do besides reading; "" if nothing that was looked for.

        Raises:
            Failed: the server cannot be reached, or refuses.
        """
        with self.reading() as connection:
            row = connection.exec_driver_sql(_PRIVILEGES).one()
        return "superuser" if row[0] else "write" if row[1] else ""

    def run(self, text: str, ctes: Collection[str] = ()) -> Result:
        """Runs a SELECT and takes as many rows of it as a result may have.

        Raises:
            Failed: it has no result.
        """
        return collected(self.stream(text), self._limits)

    @contextmanager
    def stream(self, text: str, _: Collection[str] = ()) -> Iterator[Stream]:
        """The names of the columns of a text and its rows, one by one, until the deadline. Of too many
        columns there are no rows.

        Raises:
            Failed: it has no result.
        """
        started = time.monotonic()
        with self.reading() as connection, self._clock(connection):
            names, types = self._shape(connection, text)
            if len(names) > self._limits.columns:
                yield names, iter(())
                return
            with closing(self._rows(connection, self._cut(text, types), types, started)) as rows:
                yield names, rows

    def within(self, limits: Limits) -> PostgreSQL:
        """The same database within other limits."""
        other = copy(self)
        other._limits = limits
        return other

    @contextmanager
    def reading(self, _: Collection[str] = ()) -> Iterator[Connection]:
        """A transaction that only reads, within the limits, and is rolled back.

        Raises:
            Failed: what is done with it fails.
        """
        try:
            with self._engine.connect() as connection:
                if self._path is None:
                    self._path = self._own_path(connection)
                self._limit(connection, self._path.quiet)
                # SHOW is no function, so a role without `set_config` may ask too.
                if connection.exec_driver_sql("show is_superuser").scalar_one() == "on":
                    connection.exec_driver_sql(_BY_SUPERUSERS.format(limit=TEMPORARY))
                yield connection
        except DBAPIError as error:
            raise self._failed(error) from None

    def _limit(self, connection: Connection, schemas: Sequence[str]) -> None:
        """Sets the limits of a transaction, and where its statements look for names."""
        milliseconds = max(1, int(self._limits.seconds * 1000))
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        path = ", ".join([*map(quote, schemas), "pg_temp"]) if schemas else _SERVER_ONLY
        limits = _LIMITS.format(
            milliseconds=milliseconds, lock=min(LOCK, milliseconds), idle=milliseconds + 10_000,
            memory=WORK_MEMORY, path=path,
        )  # fmt: skip
        connection.exec_driver_sql(_percents(limits))

    def _own_path(self, connection: Connection) -> _Path:
        """The search path that the role has before ours is set."""
        own = connection.exec_driver_sql(_OWN_PATH).scalar_one()
        self._limit(connection, ())
        functions = ", ".join(f"'{name}'" for name in sorted(NAMES[self.dialect] - {DISTANCE}))
        quiet = set(connection.exec_driver_sql(_QUIET.format(functions=functions)).scalars())
        schemas = tuple(name for name in own if not name.startswith("pg_"))
        return _Path(schemas, tuple(name for name in schemas if name in quiet))

    @contextmanager
    def _clock(self, connection: Connection) -> Iterator[None]:
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

        clock = threading.Timer(self._limits.seconds + GRACE, hang_up)
        clock.daemon = True
        clock.start()
        try:
            yield
        except DBAPIError:
            if late.is_set():
                raise self._late() from None
            raise
        finally:
            clock.cancel()
            clock.join()
            line.close()

    def _shape(self, connection: Connection, text: str) -> tuple[list[str], list[int]]:
        """The names and types of the columns, which the server tells without running the statement."""
        found = connection.exec_driver_sql(_percents(f"select * from ({text}) as asked limit 0"))  # noqa: S608
        cursor: Any = found.cursor
        shape = [(item.name, item.type_code) for item in cursor.description or ()]
        found.close()
        if not shape:
            raise Failed("refused", "The statement has no columns.")
        return [name for name, _ in shape], [kind for _, kind in shape]

    def _cut(self, text: str, types: Sequence[int]) -> str:
        """The statement with its texts cut where they are made, so that none is sent in full."""
        names = [f"c{place}" for place in range(len(types))]
        kept = ", ".join(
            name if kind in _PLAIN else f"left({name}::text, {self._limits.cell + 1})"
            for name, kind in zip(names, types, strict=True)
        )  # fmt: skip
        return f"select {kept} from ({text}) as asked({', '.join(names)})"  # noqa: S608

    def _rows(
        self, connection: Connection, text: str, types: Sequence[int], started: float
    ) -> Generator[Sequence[object]]:
        """The rows, in batches that are small even if every text in them is as long as it may be."""
        batch = max(1, min(self._limits.rows + 1, BATCH // (len(types) * self._limits.cell)))
        numeric = [place for place, kind in enumerate(types) if kind == _NUMERIC]
        streaming = connection.execution_options(stream_results=True, max_row_buffer=batch)
        with closing(streaming.exec_driver_sql(_percents(text))) as found, ExitStack() as end:
            end.callback(_shut, found.cursor)
            while rows := found.fetchmany(batch):
                for row in rows:
                    yield self._numbers(row, numeric) if numeric else row
                if time.monotonic() - started > self._limits.seconds:
                    raise self._late()

    def _numbers(self, row: Sequence[object], places: Sequence[int]) -> list[object]:
        """A row with its numerics as numbers again; one that was too long stays a text."""
        values = list(row)
        for place in places:
            text = values[place]
            if isinstance(text, str) and len(text) <= self._limits.cell:
                values[place] = Decimal(text)
        return values

    def _late(self) -> Failed:
        return Failed("timeout", f"The statement took more than {self._limits.seconds:g} seconds. Ask for less, or filter first.")  # fmt: skip

    def _failed(self, error: DBAPIError) -> Failed:
        state = str(getattr(error.orig, "sqlstate", None) or "")
        text = str(error.orig).split("\nLINE ", 1)[0].strip().rstrip(".?")
        if state == "57014":
            return self._late()
        if state in ("42703", "42702"):
            return Failed("column", f"{text}.")
        if state == "42P01":
            return Failed("table", f"{text}.")
        if state in ("25006", "42501"):
            return Failed("refused", f"PostgreSQL refused: {text}.")
        if state == "22003":
            return Failed("value", f"A number grows too large here: {text}. Use CAST(… AS NUMERIC).")  # fmt: skip
        if state[:2] in ("53", "54") or state == "22023":
            return Failed("size", f"The statement needs too much of the server: {text}. Ask for less.")  # fmt: skip
        if state[:2] == "22":
            return Failed("value", f"PostgreSQL says: {text}.")
        if not state or state[:2] in ("08", "28", "3D", "57"):
            return Failed("unreachable", f"{self._where} cannot be used: {text}.")
        return Failed("other", f"PostgreSQL says: {text}.")


def _read_only(connection: Any, _: object) -> None:
    connection.read_only = True


def _failing(error: ExceptionContext) -> None:
    """Where the line is cut, SQLAlchemy leaves the cursor of the statement open."""
    if error.execution_context:
        _shut(error.execution_context.cursor)


def _shut(cursor: Any) -> None:
    """Closes a cursor of the driver also where the line is cut: there only a second time works."""
    for _ in range(2):
        with suppress(Exception):
            cursor.close()


def _percents(text: str) -> str:
    """The driver reads a single % as the mark of a value that is still to come."""
    return text.replace("%", "%%")
