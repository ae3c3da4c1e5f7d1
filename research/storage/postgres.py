"""A PostgreSQL database for the store. Its drivers are loaded only here, and only when there is one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from sqlalchemy import URL, make_url

from research.core.errors import mask_secrets
from research.storage.databases import Statement, StatementCompiler, Transaction
from research.storage.sqlite_files import APPLICATION_ID, StoreError, StoreProblem

MAX_IDLE_CONNECTIONS = 8  # connections that are kept for whoever comes next
MAX_CONNECTIONS = 24  # connections at once, besides those of the checkpoints
CONNECT_TIMEOUT_SECONDS = 10  # seconds to wait for a connection, unless the address says otherwise
MAX_DETAIL_CHARS = 300  # characters that are shown of what a server says
_T = TypeVar("_T")

# A connection whose other end is gone is noticed within half a minute, not after two hours.
_KEEPALIVE_OPTIONS = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_PROBLEM_BY_SQLSTATE: dict[str, StoreProblem] = {  # by the code of the error, or its class
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
_TEMPORARY_MESSAGES = ("too many", "starting up", "shutting down", "recovery")


class PostgresDatabase:
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
        self._driver = self.import_driver("psycopg")
        self.driver_errors: tuple[type[Exception], ...] = (self._driver.Error,)
        dialect: Any = PGDialect_psycopg()  # type: ignore[no-untyped-call]
        own = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "application_name": "sightline", **_KEEPALIVE_OPTIONS}
        self.connect_arguments: dict[str, Any] = {**own, **dialect.create_connect_args(url)[1]}
        self._compile = StatementCompiler(dialect)
        self._thread_state = threading.local()
        self._idle_connections: list[Any] = []
        self._connection_slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._is_closed = False
        try:
            self._migrate(migrations)
        except BaseException:
            self.close()
            raise

    def import_driver(self, name: str) -> Any:
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
            return self._driver.connect(**self.connect_arguments, autocommit=True)
        except self._driver.Error as error:
            raise self.to_store_error(error) from error

    # Transactions

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction: all of the block or nothing. It survives the end of the process.

        Raises:
            StoreError: the server cannot be used.
        """
        outer: Transaction | None = getattr(self._thread_state, "work", None)
        if outer is not None:
            yield outer
            return
        with self._connection_slots:
            connection, _ = self._run_on_connection(lambda new: new.execute("begin isolation level read committed"))
            work = self._thread_state.work = _PostgresTransaction(connection, self._compile)
            try:
                yield work
                connection.execute("commit")
            except BaseException as error:
                with suppress(self._driver.Error):
                    connection.execute("rollback")
                raise self._convert_error(error) from error
            finally:
                self._thread_state.work = None
                self._release_connection(connection)

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; within a transaction of the same thread, as it sees them.

        Raises:
            StoreError: the server cannot be used.
        """
        outer: Transaction | None = getattr(self._thread_state, "work", None)
        if outer is not None:
            return outer.fetch_all(statement, **values)
        with self._connection_slots:
            connection, rows = self._run_on_connection(
                lambda new: _PostgresTransaction(new, self._compile).fetch_all(statement, **values)
            )
            self._release_connection(connection)
            return rows

    def _run_on_connection(self, execute: Callable[[Any], _T]) -> tuple[Any, _T]:
        """A connection and what is done first on it. One that has died while it was idle is replaced:
        a server that was started again goes unnoticed."""
        while True:
            try:
                connection, fresh = self._idle_connections.pop(), False
            except IndexError:
                connection, fresh = self.connect(), True
            try:
                return connection, execute(connection)
            except BaseException as error:
                self._release_connection(connection)
                if fresh or not connection.closed:
                    raise self._convert_error(error) from error

    def _release_connection(self, connection: Any) -> None:
        """Keeps a connection for the next one, if it is of use."""
        idle = self._driver.pq.TransactionStatus.IDLE
        if (
            self._is_closed
            or len(self._idle_connections) >= MAX_IDLE_CONNECTIONS
            or connection.info.transaction_status != idle
        ):
            connection.close()
        else:
            self._idle_connections.append(connection)

    def reclaim(self) -> None:
        """Nothing: the server's autovacuum makes the room of deleted rows free for others."""

    def close(self) -> None:
        self._is_closed = True
        while self._idle_connections:
            self._idle_connections.pop().close()

    # Troubles

    def to_store_error(self, error: Exception) -> StoreError:
        """An error of the driver as a trouble of a known kind."""
        detail = mask_secrets(" ".join(str(error).split()))[:MAX_DETAIL_CHARS]
        return StoreError(_classify_error(error), self.location, detail)

    def _convert_error(self, error: BaseException) -> BaseException:
        """What is raised for an error: a mistake of ours stays what it is."""
        if not isinstance(error, Exception) or not isinstance(error, self._driver.Error):
            return error
        ours = (self._driver.IntegrityError, self._driver.ProgrammingError, self._driver.DataError)
        told = self.to_store_error(error)
        return error if isinstance(error, ours) and told.problem == "server" else told

    def storable_text(self, text: str) -> str:
        return str(_replace_nul(text))

    # Tables

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.transaction() as work:
            run = work.connection.execute
            if run("show transaction_read_only").fetchone()[0] == "on":
                raise StoreError("standby", self.location)
            run("select pg_advisory_xact_lock(%s)", (APPLICATION_ID,))  # others may begin just now
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
                    raise self.to_store_error(error) from error
            run("update sightline_version set version=%s", (len(migrations),))


class _PostgresTransaction(Transaction):
    """A transaction beside those of others."""

    def insert(self, statement: Statement, **values: object) -> int:
        return int(self._execute(statement, values).fetchone()[0])

    def lock(self, statement: Statement, **values: object) -> None:
        self._execute(statement, values)

    def _convert_values(self, values: Mapping[str, object]) -> Mapping[str, object]:
        return {name: _replace_nul(value) for name, value in values.items()}


def _replace_nul(value: object) -> object:
    """PostgreSQL's text has no character of the number 0."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


def _classify_error(error: Exception) -> StoreProblem:
    """What kind of trouble a server or the way to it has."""
    code = str(getattr(error, "sqlstate", None) or "")
    for known, trouble in _PROBLEM_BY_SQLSTATE.items():
        if code.startswith(known):
            return trouble
    text = str(error)
    if "No space left" in text:
        return "full"
    if code or type(error).__name__ == "ProgrammingError":
        return "server"
    refused = "FATAL" in text and not any(words in text for words in _TEMPORARY_MESSAGES)
    return "refused" if refused or "no password supplied" in text else "unreachable"
