"""One way to use the database of the store, and a SQLite file used that way.

Statements are written once, in SQLAlchemy's expression language. Each is compiled once for the kind
of database that is there, and then run by the driver itself: through a connection of SQLAlchemy's a
short statement takes SQLite several times as long. Knows nothing of what is stored.
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
    """A row that takes the place of the one with its key, or some columns of it, or none."""

    def __init__(self, table: Table, updates: Mapping[str, Any] | None = None) -> None:
        self.table, self.updates = table, updates

    def build(self, dialect: Dialect) -> Executable:
        row: Any
        if dialect.name == "sqlite":
            row = sqlite.insert(self.table)
        else:
            from sqlalchemy.dialects import postgresql  # 40 ms of a start without PostgreSQL

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
    """Statements as text for a driver, each with the values that it brings itself."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._cache: dict[Statement, tuple[str, dict[str, Any]]] = {}

    def __call__(self, statement: Statement) -> tuple[str, dict[str, Any]]:
        found = self._cache.get(statement)
        if found is None:
            built: Any = statement
            if isinstance(statement, Upsert):
                built = statement.build(self._dialect)
            made = built.compile(dialect=self._dialect)
            own = {name: made.params[name] for bind, name in made.bind_names.items() if not bind.required}
            found = self._cache[statement] = str(made), own
        return found


class Transaction:
    """One transaction. What is done in it stays all together or not at all."""

    def __init__(self, connection: Any, compiler: StatementCompiler) -> None:
        self.connection, self._compile = connection, compiler

    def execute(self, statement: Statement, **values: object) -> int:
        """Runs a statement; returns how many rows it touched."""
        return int(self._execute(statement, values).rowcount)

    def fetch_all(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self._execute(statement, values).fetchall()  # type: ignore[no-any-return]

    def execute_many(self, statement: Statement, rows: Sequence[Mapping[str, object]]) -> None:
        """Runs a statement once for each row of values."""
        text, own = self._compile(statement)
        given = [{**own, **self._convert_values(row)} for row in rows]
        self.connection.cursor().executemany(text, given)

    def insert(self, statement: Statement, **values: object) -> int:
        """Inserts a row; returns the number that it was given."""
        return int(self._execute(statement, values).lastrowid)

    def lock(self, statement: Statement, **values: object) -> None:
        """Waits for others that work on the same thing. Here there are none: a file has one writer."""

    def _execute(self, statement: Statement, values: Mapping[str, object]) -> Any:
        text, own = self._compile(statement)
        return self.connection.execute(text, {**own, **self._convert_values(values)})

    def _convert_values(self, values: Mapping[str, object]) -> Mapping[str, object]:
        return values


class StoreDatabase(Protocol):
    """Where the store keeps its rows. Safe for several threads and processes."""

    driver_errors: tuple[type[Exception], ...]

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A context with the `Work` of a transaction; inside of another one, that one's.

        Raises:
            StoreError: the database cannot be used.
        """
        ...

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; within a transaction of the same thread, as it sees them."""
        ...

    def to_store_error(self, error: Exception) -> StoreError:
        """One of `errors` as a trouble of a known kind."""
        ...

    def storable_text(self, text: str) -> str:
        """A text as it comes back when it was stored."""
        ...

    def reclaim(self) -> None:
        """Gives the room of what was deleted back, as far as that can be done beside others."""
        ...

    def close(self) -> None: ...


class SQLiteDatabase:
    """A SQLite file: one writer at a time, and a connection for each thread."""

    driver_errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """Opens or creates the file.

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
        text, own = self._compile(statement)
        return self.sqlite_file.read(text, {**own, **values})

    def to_store_error(self, error: Exception) -> StoreError:
        assert isinstance(error, sqlite3.Error)
        return sqlite_files.to_store_error(error, self.path.parent)

    def storable_text(self, text: str) -> str:
        return text

    def reclaim(self) -> None:
        self.sqlite_file.reclaim()

    def close(self) -> None:
        self.sqlite_file.close()
