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

from research.storage import files
from research.storage.files import StoreError


class Upsert:
    """A row that takes the place of the one with its key, or some columns of it, or none."""

    def __init__(self, table: Table, changes: Mapping[str, Any] | None = None) -> None:
        self.table, self.changes = table, changes

    def built(self, dialect: Dialect) -> Executable:
        row: Any
        if dialect.name == "sqlite":
            row = sqlite.insert(self.table)
        else:
            from sqlalchemy.dialects import postgresql  # 40 ms of a start without PostgreSQL

            row = postgresql.insert(self.table)
        key = [column.name for column in self.table.primary_key]
        changes = self.changes
        if changes is None:
            changes = {c.name: row.excluded[c.name] for c in self.table.c if c.name not in key}
        if not changes:
            return row.on_conflict_do_nothing()  # type: ignore[no-any-return]
        return row.on_conflict_do_update(index_elements=key, set_=changes)  # type: ignore[no-any-return]


Statement = Executable | Upsert


class Compiled:
    """Statements as text for a driver, each with the values that it brings itself."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._known: dict[Statement, tuple[str, dict[str, Any]]] = {}

    def __call__(self, statement: Statement) -> tuple[str, dict[str, Any]]:
        found = self._known.get(statement)
        if found is None:
            built: Any = statement
            if isinstance(statement, Upsert):
                built = statement.built(self._dialect)
            made = built.compile(dialect=self._dialect)
            own = {
                name: made.params[name]
                for bind, name in made.bind_names.items()
                if not bind.required
            }
            found = self._known[statement] = str(made), own
        return found


class Work:
    """One transaction. What is done in it stays all together or not at all."""

    def __init__(self, connection: Any, compiled: Compiled) -> None:
        self.connection, self._compiled = connection, compiled

    def do(self, statement: Statement, **values: object) -> int:
        """Runs a statement; returns how many rows it touched."""
        return int(self._run(statement, values).rowcount)

    def all(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self._run(statement, values).fetchall()  # type: ignore[no-any-return]

    def many(self, statement: Statement, rows: Sequence[Mapping[str, object]]) -> None:
        """Runs a statement once for each row of values."""
        text, own = self._compiled(statement)
        given = [{**own, **self._fit(row)} for row in rows]
        self.connection.cursor().executemany(text, given)

    def added(self, statement: Statement, **values: object) -> int:
        """Inserts a row; returns the number that it was given."""
        return int(self._run(statement, values).lastrowid)

    def lock(self, statement: Statement, **values: object) -> None:
        """Waits for others that work on the same thing. Here there are none: a file has one writer."""

    def _run(self, statement: Statement, values: Mapping[str, object]) -> Any:
        text, own = self._compiled(statement)
        return self.connection.execute(text, {**own, **self._fit(values)})

    def _fit(self, values: Mapping[str, object]) -> Mapping[str, object]:
        return values


class Database(Protocol):
    """Where the store keeps its rows. Safe for several threads and processes."""

    errors: tuple[type[Exception], ...]

    def write(self) -> AbstractContextManager[Work]:
        """A context with the `Work` of a transaction; inside of another one, that one's.

        Raises:
            StoreError: the database cannot be used.
        """
        ...

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; within a transaction of the same thread, as it sees them."""
        ...

    def explained(self, error: Exception) -> StoreError:
        """One of `errors` as a trouble of a known kind."""
        ...

    def text(self, text: str) -> str:
        """A text as it comes back when it was stored."""
        ...

    def reclaim(self) -> None:
        """Gives the room of what was deleted back, as far as that can be done beside others."""
        ...

    def close(self) -> None: ...


class File:
    """A SQLite file: one writer at a time, and a connection for each thread."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """Opens or creates the file.

        Raises:
            StoreError: the file cannot be used.
        """
        self.path = path
        self.file = files.Database(path, migrations)
        self._compiled = Compiled(sqlite.dialect(paramstyle="named"))

    @contextmanager
    def write(self) -> Iterator[Work]:
        with self.file.write() as connection:
            yield Work(connection, self._compiled)

    def read(self, statement: Statement, **values: object) -> list[tuple[Any, ...]]:
        text, own = self._compiled(statement)
        return self.file.read(text, {**own, **values})

    def explained(self, error: Exception) -> StoreError:
        assert isinstance(error, sqlite3.Error)
        return files.explained(error, self.path.parent)

    def text(self, text: str) -> str:
        return text

    def reclaim(self) -> None:
        self.file.reclaim()

    def close(self) -> None:
        self.file.close()
