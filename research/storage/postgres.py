"""A PostgreSQL database for the store. The drivers are imported only if one is used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from sqlalchemy import URL, make_url

from research.core.errors import mask_secrets
from research.storage.databases import Statement, StatementCompiler, StoreDatabase, Transaction
from research.storage.sqlite_files import APPLICATION_ID, StoreError, StoreProblem

MAX_IDLE_CONNECTIONS = 8  # idle connections that are kept
MAX_CONNECTIONS = 24  # connections at once, besides those of the checkpoints
CONNECT_TIMEOUT_SECONDS = 10  # seconds to wait for a connection, unless the address says otherwise
MAX_DETAIL_CHARS = 300  # characters of a server's message that are shown
_T = TypeVar("_T")

# A dead connection is noticed within half a minute instead of two hours.
_KEEPALIVE_OPTIONS = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_PROBLEM_BY_SQLSTATE: dict[str, StoreProblem] = {  # by SQLSTATE code or class
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


class PostgresDatabase(StoreDatabase):
    """A PostgreSQL database with a pool of idle connections."""

    def __init__(self, address: str, migrations: Sequence[str]) -> None:
        """Connect, and create or migrate the tables.

        Raises:
            StoreError: the server cannot be used.
        """
        from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

        url = make_url(address)
        public_url = URL.create("postgresql", host=url.host, port=url.port, database=url.database)
        self.location = public_url.render_as_string()
        self._driver = self.import_driver("psycopg")
        self.driver_errors: tuple[type[Exception], ...] = (self._driver.Error,)
        dialect: Any = PGDialect_psycopg()  # type: ignore[no-untyped-call]
        default_arguments = {
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "application_name": "sightline",
            **_KEEPALIVE_OPTIONS,
        }
        self.connect_arguments: dict[str, Any] = {**default_arguments, **dialect.create_connect_args(url)[1]}
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
        """Import a module that is installed only for PostgreSQL.

        Raises:
            StoreError: it is not installed.
        """
        try:
            return import_module(name)
        except ImportError as error:
            raise StoreError("driver", self.location, str(error)) from error

    def connect(self) -> Any:
        """Open an autocommit connection that the caller closes.

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
        """Open a durable transaction; within one of the same thread, join it.

        Raises:
            StoreError: the server cannot be used.
        """
        outer: Transaction | None = getattr(self._thread_state, "transaction", None)
        if outer is not None:
            yield outer
            return
        with self._connection_slots:
            connection, _ = self._run_on_connection(lambda new: new.execute("begin isolation level read committed"))
            inner = self._thread_state.transaction = _PostgresTransaction(connection, self._compile)
            try:
                yield inner
                connection.execute("commit")
            except BaseException as error:
                with suppress(self._driver.Error):
                    connection.execute("rollback")
                raise self._convert_error(error) from error
            finally:
                self._thread_state.transaction = None
                self._release_connection(connection)

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query, which sees the open transaction of the same thread.

        Raises:
            StoreError: the server cannot be used.
        """
        outer: Transaction | None = getattr(self._thread_state, "transaction", None)
        if outer is not None:
            return outer.fetch_all(statement, **values)
        with self._connection_slots:
            connection, rows = self._run_on_connection(
                lambda new: _PostgresTransaction(new, self._compile).fetch_all(statement, **values)
            )
            self._release_connection(connection)
            return rows

    def _run_on_connection(self, execute: Callable[[Any], _T]) -> tuple[Any, _T]:
        """Take a connection, execute a function on it, and return both connection and result.

        An idle connection that has died is replaced, so that a server restart goes unnoticed.
        """
        while True:
            try:
                connection, is_new = self._idle_connections.pop(), False
            except IndexError:
                connection, is_new = self.connect(), True
            try:
                return connection, execute(connection)
            except BaseException as error:
                self._release_connection(connection)
                if is_new or not connection.closed:
                    raise self._convert_error(error) from error

    def _release_connection(self, connection: Any) -> None:
        """Return a connection to the pool, or close it if it is not reusable."""
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
        """Do nothing: the server's autovacuum makes the space of deleted rows reusable."""

    def close(self) -> None:
        self._is_closed = True
        while self._idle_connections:
            self._idle_connections.pop().close()

    # Errors

    def to_store_error(self, error: Exception) -> StoreError:
        """Convert an error of the driver to a store error."""
        detail = mask_secrets(" ".join(str(error).split()))[:MAX_DETAIL_CHARS]
        return StoreError(_classify_error(error), self.location, detail)

    def _convert_error(self, error: BaseException) -> BaseException:
        """Return the error to raise: a store error, or the original one if it is a bug."""
        if not isinstance(error, Exception) or not isinstance(error, self._driver.Error):
            return error
        bug_types = (self._driver.IntegrityError, self._driver.ProgrammingError, self._driver.DataError)
        store_error = self.to_store_error(error)
        return error if isinstance(error, bug_types) and store_error.problem == "server" else store_error

    def storable_text(self, text: str) -> str:
        return str(_replace_nul(text))

    # Tables

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.transaction() as transaction:
            execute = transaction.connection.execute
            if execute("show transaction_read_only").fetchone()[0] == "on":
                raise StoreError("standby", self.location)
            execute("select pg_advisory_xact_lock(%s)", (APPLICATION_ID,))  # other processes may start at the same time
            if not execute("select to_regclass('sightline_version')").fetchone()[0]:
                execute("create table sightline_version(version integer not null)")
                execute("insert into sightline_version values(0)")
            version = execute("select version from sightline_version").fetchone()[0]
            if version > len(migrations):
                raise StoreError("newer", self.location)
            for script in migrations[version:]:
                try:
                    execute(script)
                except self._driver.Error as error:
                    raise self.to_store_error(error) from error
            execute("update sightline_version set version=%s", (len(migrations),))


class _PostgresTransaction(Transaction):
    """A transaction on a server, concurrent with others."""

    def insert(self, statement: Statement, **values: object) -> int:
        return int(self._execute(statement, values).fetchone()[0])

    def lock(self, statement: Statement, **values: object) -> None:
        self._execute(statement, values)

    def _convert_values(self, values: Mapping[str, object]) -> Mapping[str, object]:
        return {name: _replace_nul(value) for name, value in values.items()}


def _replace_nul(value: object) -> object:
    """Replace NUL characters, which PostgreSQL's text cannot hold."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


def _classify_error(error: Exception) -> StoreProblem:
    """Return the kind of problem of a server or of the connection to it."""
    code = str(getattr(error, "sqlstate", None) or "")
    for prefix, problem in _PROBLEM_BY_SQLSTATE.items():
        if code.startswith(prefix):
            return problem
    text = str(error)
    if "No space left" in text:
        return "full"
    if code or type(error).__name__ == "ProgrammingError":
        return "server"
    is_refused = "FATAL" in text and not any(words in text for words in _TEMPORARY_MESSAGES)
    return "refused" if is_refused or "no password supplied" in text else "unreachable"
