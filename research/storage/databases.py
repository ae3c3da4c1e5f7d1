"""A common interface to the databases of the store, and its implementation for SQLite files.

Statements are written once in SQLAlchemy's expression language, compiled once per dialect, and
executed by the driver itself: through a SQLAlchemy connection, a short statement takes SQLite
several times as long. This module is independent of what is stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Dialect, Executable, Table
from sqlalchemy.dialects import sqlite

from research.storage import sqlite_files
from research.storage.sqlite_files import StoreError


class Upsert:
    """An insert into a table that handles a row with the same primary key.

    `updates` are the columns that the existing row then gets, with their values; {} leaves that row
    as it is, and None replaces all of it.
    """

    def __init__(self, table: Table, updates: Mapping[str, Any] | None = None) -> None:
        self.table, self.updates = table, updates

    def build(self, dialect: Dialect) -> Executable:
        row: Any
        if dialect.name == "sqlite":
            row = sqlite.insert(self.table)
        else:
            from sqlalchemy.dialects import postgresql  # saves 40 ms of a start without PostgreSQL

            row = postgresql.insert(self.table)
        key = [column.name for column in self.table.primary_key]
        changes = self.updates
        if changes is None:
            changes = {c.name: row.excluded[c.name] for c in self.table.c if c.name not in key}
        if not changes:
            return row.on_conflict_do_nothing()  # type: ignore[no-any-return]
        return row.on_conflict_do_update(index_elements=key, set_=changes)  # type: ignore[no-any-return]


Statement = Executable | Upsert


class StatementCompiler:
    """Compiles statements to the driver's SQL text and their own parameter values, with a cache."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._cache: dict[Statement, tuple[str, dict[str, Any]]] = {}

    def __call__(self, statement: Statement) -> tuple[str, dict[str, Any]]:
        compiled = self._cache.get(statement)
        if compiled is None:
            executable: Any = statement
            if isinstance(statement, Upsert):
                executable = statement.build(self._dialect)
            result = executable.compile(dialect=self._dialect)
            values = {name: result.params[name] for bind, name in result.bind_names.items() if not bind.required}
            compiled = self._cache[statement] = str(result), values
        return compiled


class Transaction:
    """A transaction, committed or rolled back as a whole."""

    def __init__(self, connection: Any, compiler: StatementCompiler) -> None:
        self.connection, self._compile = connection, compiler

    def execute(self, statement: Statement, **values: object) -> int:
        """Execute a statement and return the number of affected rows."""
        return int(self._execute(statement, values).rowcount)

    def fetch_all(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self._execute(statement, values).fetchall()  # type: ignore[no-any-return]

    def execute_many(self, statement: Statement, rows: Sequence[Mapping[str, object]]) -> None:
        """Execute a statement once for each row of values."""
        text, defaults = self._compile(statement)
        values = [{**defaults, **self._convert_values(row)} for row in rows]
        self.connection.cursor().executemany(text, values)

    def insert(self, statement: Statement, **values: object) -> int:
        """Insert a row and return its generated id."""
        return int(self._execute(statement, values).lastrowid)

    def lock(self, statement: Statement, **values: object) -> None:
        """Wait for concurrent work on the same thing. SQLite needs no lock: it has one writer."""

    def _execute(self, statement: Statement, values: Mapping[str, object]) -> Any:
        text, defaults = self._compile(statement)
        return self.connection.execute(text, {**defaults, **self._convert_values(values)})

    def _convert_values(self, values: Mapping[str, object]) -> Mapping[str, object]:
        return values


class StoreDatabase(Protocol):
    """The database of the store. Safe for several threads and processes."""

    driver_errors: tuple[type[Exception], ...]

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction; within one of the same thread, join it.

        Raises:
            StoreError: the database cannot be used.
        """
        ...

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query, which sees the open transaction of the same thread."""
        ...

    def write(self, statement: Statement, **values: object) -> int:
        """Execute one statement in a transaction, and return the number of affected rows."""
        with self.transaction() as transaction:
            return transaction.execute(statement, **values)

    def to_store_error(self, error: Exception) -> StoreError:
        """Convert one of `driver_errors` to a store error."""
        ...

    def storable_text(self, text: str) -> str:
        """Return a text as it will read after storage."""
        ...

    def reclaim(self) -> None:
        """Return the disk space of deleted rows, as far as other users of the database allow it."""
        ...

    def close(self) -> None: ...


class SQLiteDatabase(StoreDatabase):
    """A SQLite file with one writer at a time and a connection per thread."""

    driver_errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """Open or create the file.

        Raises:
            StoreError: the file cannot be used.
        """
        self.path = path
        self.sqlite_file = sqlite_files.SQLiteFile(path, migrations)
        self._compile = StatementCompiler(sqlite.dialect(paramstyle="named"))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.sqlite_file.transaction() as connection:
            yield Transaction(connection, self._compile)

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        text, defaults = self._compile(statement)
        return self.sqlite_file.read(text, {**defaults, **values})

    def to_store_error(self, error: Exception) -> StoreError:
        assert isinstance(error, sqlite3.Error)
        return sqlite_files.to_store_error(error, self.path.parent)

    def storable_text(self, text: str) -> str:
        return text

    def reclaim(self) -> None:
        self.sqlite_file.reclaim()

    def close(self) -> None:
        self.sqlite_file.close()
