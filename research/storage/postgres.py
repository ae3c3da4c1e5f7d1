"""A PostgreSQL database for the store. Its drivers are loaded only here, and only when there is one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from sqlalchemy import URL, make_url

from research.core.errors import concealed
from research.storage.databases import Compiled, Statement, Work
from research.storage.files import APPLICATION, StoreError, Trouble

KEPT = 8  # connections that are kept for whoever comes next
MOST = 24  # connections at once, besides those of the checkpoints
WAIT = 10  # seconds to wait for a connection, unless the address says otherwise
DETAIL = 300  # characters that are shown of what a server says
_T = TypeVar("_T")

# A connection whose other end is gone is noticed within half a minute, not after two hours.
_LIVELY = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_KNOWN: dict[str, Trouble] = {  # by the code of the error, or its class
    "08": "unreachable",
    "53300": "unreachable",
    "57P": "unreachable",
    "28": "refused",
    "3D": "refused",
    "42501": "refused",
    "25006": "standby",
    "53100": "full",
    "40": "locked",
    "55P03": "locked",
    "57014": "locked",
}
_BUSY = ("too many", "starting up", "shutting down", "recovery")


class Server:
    """A PostgreSQL database. Connections are made when they are needed, and kept for a while."""

    def __init__(self, address: str, migrations: Sequence[str]) -> None:
        """Connects, and makes the tables or brings them up to date.

        Raises:
            StoreError: the server cannot be used.
        """
        from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

        url = make_url(address)
        shown = URL.create("postgresql", host=url.host, port=url.port, database=url.database)
        self.location = shown.render_as_string()
        self._driver = self.module("psycopg")
        self.errors: tuple[type[Exception], ...] = (self._driver.Error,)
        dialect: Any = PGDialect_psycopg()  # type: ignore[no-untyped-call]
        own = {"connect_timeout": WAIT, "application_name": "sightline", **_LIVELY}
        self.arguments: dict[str, Any] = {**own, **dialect.create_connect_args(url)[1]}
        self._compiled = Compiled(dialect)
        self._local = threading.local()
        self._idle: list[Any] = []
        self._free = threading.BoundedSemaphore(MOST)
        self._closed = False
        try:
            self._migrate(migrations)
        except BaseException:
            self.close()
            raise

    def module(self, name: str) -> Any:
        """A module that is only installed where there is a server.

        Raises:
            StoreError: it is not installed.
        """
        try:
            return import_module(name)
        except ImportError as error:
            raise StoreError("driver", self.location, str(error)) from error

    def connect(self) -> Any:
        """A connection for the caller to keep and to close; each statement on it counts at once.

        Raises:
            StoreError: the server cannot be reached, or refuses.
        """
        try:
            return self._driver.connect(**self.arguments, autocommit=True)
        except self._driver.Error as error:
            raise self.explained(error) from error

    # Transactions

    @contextmanager
    def write(self) -> Iterator[Work]:
        """A transaction: all of the block or nothing. It survives the end of the process.

        Raises:
            StoreError: the server cannot be used.
        """
        outer: Work | None = getattr(self._local, "work", None)
        if outer is not None:
            yield outer
            return
        with self._free:
            connection, _ = self._first(
                lambda new: new.execute("begin isolation level read committed")
            )
            work = self._local.work = _Work(connection, self._compiled)
            try:
                yield work
                connection.execute("commit")
            except BaseException as error:
                with suppress(self._driver.Error):
                    connection.execute("rollback")
                raise self._told(error) from error
            finally:
                self._local.work = None
                self._give(connection)

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; within a transaction of the same thread, as it sees them.

        Raises:
            StoreError: the server cannot be used.
        """
        outer: Work | None = getattr(self._local, "work", None)
        if outer is not None:
            return outer.all(statement, **values)
        with self._free:
            connection, rows = self._first(
                lambda new: _Work(new, self._compiled).all(statement, **values)
            )
            self._give(connection)
            return rows

    def _first(self, act: Callable[[Any], _T]) -> tuple[Any, _T]:
        """A connection and what is done first on it. One that has died while it was idle is replaced:
        a server that was started again goes unnoticed."""
        while True:
            try:
                connection, fresh = self._idle.pop(), False
            except IndexError:
                connection, fresh = self.connect(), True
            try:
                return connection, act(connection)
            except BaseException as error:
                self._give(connection)
                if fresh or not connection.closed:
                    raise self._told(error) from error

    def _give(self, connection: Any) -> None:
        """Keeps a connection for the next one, if it is of use."""
        idle = self._driver.pq.TransactionStatus.IDLE
        if self._closed or len(self._idle) >= KEPT or connection.info.transaction_status != idle:
            connection.close()
        else:
            self._idle.append(connection)

    def reclaim(self) -> None:
        """Nothing: the server's autovacuum makes the room of deleted rows free for others."""

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    # Troubles

    def explained(self, error: Exception) -> StoreError:
        """An error of the driver as a trouble of a known kind."""
        detail = concealed(" ".join(str(error).split()))[:DETAIL]
        return StoreError(_trouble(error), self.location, detail)

    def _told(self, error: BaseException) -> BaseException:
        """What is raised for an error: a mistake of ours stays what it is."""
        if not isinstance(error, Exception) or not isinstance(error, self._driver.Error):
            return error
        ours = (self._driver.IntegrityError, self._driver.ProgrammingError, self._driver.DataError)
        told = self.explained(error)
        return error if isinstance(error, ours) and told.trouble == "server" else told

    def text(self, text: str) -> str:
        return str(_storable(text))

    # Tables

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.write() as work:
            run = work.connection.execute
            if run("show transaction_read_only").fetchone()[0] == "on":
                raise StoreError("standby", self.location)
            run("select pg_advisory_xact_lock(%s)", (APPLICATION,))  # others may begin just now
            if not run("select to_regclass('sightline_version')").fetchone()[0]:
                run("create table sightline_version(version integer not null)")
                run("insert into sightline_version values(0)")
            version = run("select version from sightline_version").fetchone()[0]
            if version > len(migrations):
                raise StoreError("newer", self.location)
            for script in migrations[version:]:
                try:
                    run(script)
                except self._driver.Error as error:
                    raise self.explained(error) from error
            run("update sightline_version set version=%s", (len(migrations),))


class _Work(Work):
    """A transaction beside those of others."""

    def added(self, statement: Statement, **values: object) -> int:
        return int(self._run(statement, values).fetchone()[0])

    def lock(self, statement: Statement, **values: object) -> None:
        self._run(statement, values)

    def _fit(self, values: Mapping[str, object]) -> Mapping[str, object]:
        return {name: _storable(value) for name, value in values.items()}


def _storable(value: object) -> object:
    """PostgreSQL's text has no character of the number 0."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


def _trouble(error: Exception) -> Trouble:
    """What kind of trouble a server or the way to it has."""
    code = str(getattr(error, "sqlstate", None) or "")
    for known, trouble in _KNOWN.items():
        if code.startswith(known):
            return trouble
    text = str(error)
    if "No space left" in text:
        return "full"
    if code or type(error).__name__ == "ProgrammingError":
        return "server"
    refused = "FATAL" in text and not any(words in text for words in _BUSY)
    return "refused" if refused or "no password supplied" in text else "unreachable"
