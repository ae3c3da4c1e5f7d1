"""SQLite, read only: the file's own rows, within limits that SQLite itself keeps.

The statement runs in the calling thread, not in a process of its own. A progress handler ends it at
its deadline; that handler is asked between steps of SQLite's machine, never within one call of a
function, so no single call may last. Texts are bounded (`LENGTH`), so is the statement, and every
function that may be called is listed. Three of SQLite's own are quadratic in the length of a text
(`instr`, `replace`, `trim`: 0.3 seconds for one call at the bound, and a statement has room for
hundreds); they are replaced by Python's, which are not. `printf` fills up to any width before it
finds that too much; its widths are looked at first. What memory a statement can hold follows:
one text for each few characters of the statement, `SQL_LENGTH` / 25 × `LENGTH`, about 130 MB at the
very worst; the attacks of the tests come to 40.

SQLite writes a part of a statement out wherever it is used while it reads it, before any limit. For
each it asks the authorizer, which has an end of its patience. One thing is not bounded here: columns
of parts that each name that of the one before several times are merged without a question. The guard
counts them (`names.expansion`); past it, only a process of its own could be stopped.

Opening read-only is not enough: ATTACH and PRAGMA undo it. The authorizer refuses both, with all
that is not a SELECT of known columns by listed functions.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from copy import copy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError
from sqlglot.errors import SqlglotError

from research.sources.database.allowed import FORMATS, Dialect
from research.sources.database.distance import NAME, distance_km
from research.sources.database.nearest import narrowed
from research.sources.database.results import Failed, Limits, Result, Stream, collected
from research.sources.database.schema import READING, Comments, Reads, Schema, Unreadable
from research.sources.database.sqlite_schema import (
    ASKED,
    FUNCTIONS,
    LENGTH,
    connect,
    inspect_schema,
)

SQL_LENGTH = 16_000
STEPS = 100  # of the machine between two looks at the clock
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LENGTH,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: SQL_LENGTH,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 9,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class SQLite:
    """The database of one file."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self._engine = create_engine("sqlite://", creator=self._open, poolclass=NullPool)
        self._reads: frozenset[tuple[str, str]] = frozenset()
        self._types: dict[str, dict[str, str]] = {}
        self._views: frozenset[tuple[str, str, str]] = frozenset()
        self._objects: frozenset[str] = frozenset()
        self._shadows: frozenset[str] = frozenset()
        self._virtual: tuple[str, ...] = ()

    def schema(self, reads: Reads | None, comments: Comments | None) -> Schema:
        """What the file holds; from here on that is what may be read.

        Raises:
            Failed: it cannot be opened.
        """
        with self._connection() as connection:
            raw: Any = connection.connection.driver_connection
            _until(raw, READING)
            raw.text_factory = lambda text: text.decode("utf-8", "replace")
            found, self._objects, self._views, self._shadows, self._virtual = inspect_schema(
                connection, reads, comments
            )
        self._types = {
            table.name.lower(): {column.name.lower(): column.type for column in table.columns}
            for table in found.tables
            if not table.view
        }
        self._reads = frozenset(
            (table.name.lower(), name)
            for table in found.tables
            for name in ("", *(column.name.lower() for column in table.columns))
        )
        return self._without_refused(found)

    def _without_refused(self, found: Schema) -> Schema:
        """The schema without virtual tables that read what may not be read, such as the words of one
        that is left out."""
        refused: dict[str, Unreadable] = {}
        for table in found.tables:
            if table.name in self._virtual:
                quoted = table.name.replace('"', '""')
                try:
                    with self.reading() as connection:
                        connection.exec_driver_sql(f'select 1 from "{quoted}" limit 1').close()  # noqa: S608
                except Failed as failed:
                    if failed.cause not in ("size", "timeout"):
                        refused[table.name] = Unreadable(table.name, failed.message)
        kept = tuple(table for table in found.tables if table.name not in refused)
        return replace(found, tables=kept, unreadable=(*found.unreadable, *refused.values()))

    def run(self, text: str, ctes: Collection[str] = ()) -> Result:
        """Runs a text, whatever it is, as far as it only reads what it may.

        Raises:
            Failed: it may not, or has no result.
        """
        return collected(self.stream(text, ctes), self._limits)

    @contextmanager
    def stream(self, text: str, ctes: Collection[str] = ()) -> Iterator[Stream]:
        """The names of the columns of a text and its rows, one by one, until the deadline.

        Raises:
            Failed: it may not be run, or has no result.
        """
        with self.reading(ctes) as connection:
            found = connection.exec_driver_sql(self._narrowed(connection, text))
            if not found.returns_rows:
                raise Failed("refused", "The statement has no rows.")
            yield list(found.keys()), found

    def _narrowed(self, connection: Connection, text: str) -> str:
        """The statement with what keeps far rows from being measured, if anything does."""
        try:
            return narrowed(
                text, self._types, lambda sql: connection.exec_driver_sql(sql).fetchall()
            )
        except (SqlglotError, RecursionError):  # a text that is not the guard's
            return text

    def within(self, limits: Limits) -> SQLite:
        """The same database within other limits."""
        other = copy(self)
        other._limits = limits
        return other

    def privileges(self) -> str:
        """Nothing but reading: the file is opened so."""
        return ""

    @contextmanager
    def reading(self, ctes: Collection[str] = ()) -> Iterator[Connection]:
        """A connection that can read the known tables, until the deadline.

        Raises:
            Failed: what is done with it fails.
        """
        with self._connection() as connection:
            raw: Any = connection.connection.driver_connection
            _until(raw, self._limits.seconds)
            for name in self._virtual:
                connect(raw, name)
            with closing(sqlite3.connect(":memory:", check_same_thread=False)) as apart:
                self._guard(raw, frozenset(ctes), _printer(apart))
                yield connection

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection that is not guarded yet: SQLAlchemy and the reading of the schema need PRAGMA."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise self._failed(error.orig or error) from None
        except (sqlite3.Error, MemoryError, ValueError) as error:  # the last for what is no text
            raise self._failed(error) from None

    def _open(self) -> sqlite3.Connection:
        """The file, read only; no clock runs yet."""
        address = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, check_same_thread=False, timeout=1.0)
        try:
            connection.execute("pragma query_only = on")
            connection.execute("select 1 from sqlite_master limit 1").fetchall()
        except (sqlite3.Error, UnicodeError) as error:  # the latter where a name is no UTF-8
            if isinstance(error, UnicodeError) or "malformed database schema" in str(error):
                # go on without what cannot be parsed; the first statement fails nonetheless
                connection.execute("pragma writable_schema = on")
                with suppress(sqlite3.Error, UnicodeError):
                    connection.execute("select 1 from sqlite_master limit 1").fetchall()
        connection.execute("pragma trusted_schema = off")
        connection.execute("pragma cache_size = -2000")
        return connection

    def _guard(
        self,
        connection: sqlite3.Connection,
        ctes: frozenset[str],
        printer: Callable[..., Argument],
    ) -> None:
        bytes_kept = 4 * (self._limits.cell + 1)
        connection.text_factory = lambda raw: raw[:bytes_kept].decode("utf-8", "replace")
        for limit, value in LIMITS.items():
            connection.setlimit(limit, value)
        functions: tuple[tuple[str, int, Callable[..., Argument]], ...] = (
            (NAME, 4, distance_km),
            ("instr", 2, _instr),
            ("replace", 3, _replace),
            ("regexp", 2, _regexp),
            ("printf", -1, printer),
            ("format", -1, printer),
            *((f"{side}trim", number, _trimmer(side)) for side in ("", "l", "r") for number in (1, 2)),
        )  # fmt: skip
        for name, arguments, function in functions:
            connection.create_function(name, arguments, function, deterministic=True)
        connection.set_authorizer(self._authorizer(ctes))  # last: it refuses what stands above

    def _authorizer(self, ctes: frozenset[str]) -> Callable[..., int]:
        """Says of each thing that a statement wants whether it may."""
        reads, views, objects = self._reads, self._views, self._objects
        shadows = self._shadows
        nameless = {
            name for name in ctes if name not in objects
        }  # counting the rows of a WITH part

        asked = count(1)

        def allow(action: int, one: str | None, two: str | None, _: object, via: str | None) -> int:
            first, second = (one or "").lower(), (two or "").lower()
            if next(asked) > ASKED:
                ok = False
            elif action == sqlite3.SQLITE_SELECT:
                ok = True
            elif action == sqlite3.SQLITE_READ:
                ok = (first, second) in reads or first in shadows or (via and (via.lower(), first, second) in views) or (not second and first in nameless)  # fmt: skip
            elif action == sqlite3.SQLITE_FUNCTION:
                ok = second in FUNCTIONS
            else:  # FTS5 asks for the version before it reads its shadow tables
                ok = action == sqlite3.SQLITE_PRAGMA and (first, second) == ("data_version", "")
            return sqlite3.SQLITE_OK if ok else sqlite3.SQLITE_DENY

        return allow

    def _failed(self, error: BaseException) -> Failed:
        text = str(error)
        if "interrupted" in text:
            return Failed("timeout", f"The statement took more than {self._limits.seconds:g} seconds. Ask for less, or filter first.")  # fmt: skip
        if any(word in text for word in ("prohibited", "not authorized", "authorization denied", "no such function", "one statement")):  # fmt: skip
            return Failed("refused", f"SQLite refused: {text}.")
        if "no such column" in text or "ambiguous column" in text:
            return Failed("column", f"{text}.")
        if "no such table" in text:
            return Failed("table", f"{text}.")
        if "integer overflow" in text:
            return Failed("value", f"A whole number grows too large here: {text}. Use TOTAL in place of SUM, or CAST(… AS REAL).")  # fmt: skip
        if isinstance(error, MemoryError) or any(word in text for word in ("too big", "out of memory", "too many", "too large", "overflow", "user-defined function", "too long")):  # fmt: skip
            return Failed("size", f"A value or the statement is too large here: {text}. Choose fewer or shorter columns.")  # fmt: skip
        if "unable to open" in text or "not a database" in text or "malformed" in text:
            return Failed("unreachable", f"{self._path.name} cannot be read as a SQLite database: {text}.")  # fmt: skip
        return Failed("other", f"SQLite says: {text}.")


def _until(connection: sqlite3.Connection, seconds: float) -> None:
    """Ends what a connection does when the time is over."""
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)


# SQLite's functions that are quadratic, as Python has them, and one that it leaves to others. Numbers are texts to them, as in SQLite.

Argument = None | int | float | str | bytes


def _text(value: Argument) -> str:
    if isinstance(value, float):
        digits = f"{value:.15g}"
        mantissa, mark, exponent = digits.partition("e")
        return (
            f"{mantissa if '.' in mantissa or 'n' in mantissa else mantissa + '.0'}{mark}{exponent}"
        )
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def _instr(text: Argument, part: Argument) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _text(text).find(_text(part)) + 1


def _replace(text: Argument, old: Argument, new: Argument) -> Argument:
    if text is None or old is None:
        return None
    whole, before = _text(text), _text(old)
    if not before:
        return text
    if new is None:
        return None
    after = _text(new)
    if len(whole) + whole.count(before) * (len(after) - len(before)) > LENGTH:
        raise ValueError("too big")
    return whole.replace(before, after)


def _regexp(pattern: Argument, text: Argument) -> bool | None:
    from research.sources.database.patterns import compiled  # a library, for those who use it

    if pattern is None or text is None:
        return None
    return compiled(_text(pattern)).search(_text(text)) is not None


def _printer(apart: sqlite3.Connection) -> Callable[..., Argument]:
    """PRINTF and FORMAT, whose widths SQLite does not bound: half a minute is spent on filling up to
    900,000,000 characters that are too many. What is allowed is given to another connection."""
    apart.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH)

    def printer(*values: Argument) -> Argument:
        if not values or values[0] is None:
            return None
        if not FORMATS["sqlite"].fullmatch(_text(values[0])):
            raise ValueError("too big")
        marks = ", ".join("?" * len(values))
        found: Argument = apart.execute(f"select printf({marks})", values).fetchone()[0]
        return found

    return printer


def _trimmer(side: str) -> Callable[..., str | None]:
    """TRIM, LTRIM or RTRIM; by their second argument's characters, or by blanks."""
    strip = {"": str.strip, "l": str.lstrip, "r": str.rstrip}[side]

    def trim(text: Argument, characters: Argument = " ") -> str | None:
        if text is None or characters is None:
            return None
        wanted = _text(characters)
        return strip(_text(text), wanted) if wanted else _text(text)

    return trim
