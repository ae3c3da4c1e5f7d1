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

from research.sources.database.allowlist import FORMAT_PATTERNS, Dialect
from research.sources.database.distance import FUNCTION_NAME, distance_km
from research.sources.database.nearest_rows import narrow_to_boxes
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits, RowStream, collect_result
from research.sources.database.schema import SCHEMA_TIMEOUT_SECONDS, FindComment, Schema, TableFilter, UnreadableObject
from research.sources.database.sqlite_schema import (
    ALLOWED_FUNCTIONS,
    MAX_AUTHORIZER_CALLS,
    MAX_TEXT_BYTES,
    inspect_schema,
    prepare_virtual_table,
)

MAX_SQL_CHARS = 16_000
STEPS_PER_CHECK = 100  # of the machine between two looks at the clock
SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_TEXT_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_SQL_CHARS,
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

    def __init__(self, path: Path, limits: ResultLimits) -> None:
        self._path = path
        self._limits = limits
        self._engine = create_engine("sqlite://", creator=self._open_file, poolclass=NullPool)
        self._readable_columns: frozenset[tuple[str, str]] = frozenset()
        self._column_types: dict[str, dict[str, str]] = {}
        self._view_columns: frozenset[tuple[str, str, str]] = frozenset()
        self._object_names: frozenset[str] = frozenset()
        self._shadow_tables: frozenset[str] = frozenset()
        self._virtual_tables: tuple[str, ...] = ()

    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema:
        """What the file holds; from here on that is what may be read.

        Raises:
            Failed: it cannot be opened.
        """
        with self._open_unrestricted() as connection:
            raw: Any = connection.connection.driver_connection
            _set_deadline(raw, SCHEMA_TIMEOUT_SECONDS)
            raw.text_factory = lambda text: text.decode("utf-8", "replace")
            found, self._object_names, self._view_columns, self._shadow_tables, self._virtual_tables = inspect_schema(
                connection, table_filter, find_comment
            )
        self._column_types = {
            table.name.lower(): {column.name.lower(): column.type for column in table.columns}
            for table in found.tables
            if not table.is_view
        }
        self._readable_columns = frozenset(
            (table.name.lower(), name)
            for table in found.tables
            for name in ("", *(column.name.lower() for column in table.columns))
        )
        return self._remove_unreadable(found)

    def _remove_unreadable(self, schema: Schema) -> Schema:
        """The schema without virtual tables that read what may not be read, such as the words of one
        that is left out."""
        refused: dict[str, UnreadableObject] = {}
        for table in schema.tables:
            if table.name in self._virtual_tables:
                quoted = table.name.replace('"', '""')
                try:
                    with self.open_connection() as connection:
                        connection.exec_driver_sql(f'select 1 from "{quoted}" limit 1').close()  # noqa: S608
                except ExecutionError as failed:
                    if failed.cause not in ("size", "timeout"):
                        refused[table.name] = UnreadableObject(table.name, failed.message)
        kept = tuple(table for table in schema.tables if table.name not in refused)
        return replace(schema, tables=kept, unreadable=(*schema.unreadable, *refused.values()))

    def run(self, sql: str, cte_names: Collection[str] = ()) -> ExecutionResult:
        """Runs a text, whatever it is, as far as it only reads what it may.

        Raises:
            Failed: it may not, or has no result.
        """
        return collect_result(self.stream(sql, cte_names), self._limits)

    @contextmanager
    def stream(self, sql: str, cte_names: Collection[str] = ()) -> Iterator[RowStream]:
        """The names of the columns of a text and its rows, one by one, until the deadline.

        Raises:
            Failed: it may not be run, or has no result.
        """
        with self.open_connection(cte_names) as connection:
            found = connection.exec_driver_sql(self._narrow(connection, sql))
            if not found.returns_rows:
                raise ExecutionError("refused", "The statement has no rows.")
            yield list(found.keys()), found

    def _narrow(self, connection: Connection, statement: str) -> str:
        """The statement with what keeps far rows from being measured, if anything does."""
        try:
            return narrow_to_boxes(
                statement, self._column_types, lambda sql: connection.exec_driver_sql(sql).fetchall()
            )
        except (SqlglotError, RecursionError):  # a text that is not the guard's
            return statement

    def with_limits(self, limits: ResultLimits) -> SQLite:
        """The same database within other limits."""
        other = copy(self)
        other._limits = limits
        return other

    def privileges(self) -> str:
        """Nothing but reading: the file is opened so."""
        return ""

    @contextmanager
    def open_connection(self, cte_names: Collection[str] = ()) -> Iterator[Connection]:
        """A connection that can read the known tables, until the deadline.

        Raises:
            Failed: what is done with it fails.
        """
        with self._open_unrestricted() as connection:
            raw: Any = connection.connection.driver_connection
            _set_deadline(raw, self._limits.timeout_seconds)
            for name in self._virtual_tables:
                prepare_virtual_table(raw, name)
            with closing(sqlite3.connect(":memory:", check_same_thread=False)) as apart:
                self._restrict(raw, frozenset(cte_names), _create_printf(apart))
                yield connection

    @contextmanager
    def _open_unrestricted(self) -> Iterator[Connection]:
        """A connection that is not guarded yet: SQLAlchemy and the reading of the schema need PRAGMA."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise self._convert_error(error.orig or error) from None
        except (sqlite3.Error, MemoryError, ValueError) as error:  # the last for what is no text
            raise self._convert_error(error) from None

    def _open_file(self) -> sqlite3.Connection:
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

    def _restrict(
        self,
        connection: sqlite3.Connection,
        cte_names: frozenset[str],
        printf: Callable[..., SQLiteValue],
    ) -> None:
        bytes_kept = 4 * (self._limits.max_cell_characters + 1)
        connection.text_factory = lambda raw: raw[:bytes_kept].decode("utf-8", "replace")
        for limit, value in SQLITE_LIMITS.items():
            connection.setlimit(limit, value)
        functions: tuple[tuple[str, int, Callable[..., SQLiteValue]], ...] = (
            (FUNCTION_NAME, 4, distance_km),
            ("instr", 2, _find_text),
            ("replace", 3, _replace_text),
            ("regexp", 2, _matches_pattern),
            ("printf", -1, printf),
            ("format", -1, printf),
            *((f"{side}trim", number, _create_trim(side)) for side in ("", "l", "r") for number in (1, 2)),
        )  # fmt: skip
        for name, arguments, function in functions:
            connection.create_function(name, arguments, function, deterministic=True)
        connection.set_authorizer(self._create_authorizer(cte_names))  # last: it refuses what stands above

    def _create_authorizer(self, cte_names: frozenset[str]) -> Callable[..., int]:
        """Says of each thing that a statement wants whether it may."""
        reads, views, objects = self._readable_columns, self._view_columns, self._object_names
        shadows = self._shadow_tables
        nameless = {name for name in cte_names if name not in objects}  # counting the rows of a WITH part

        asked = count(1)

        def allow(action: int, one: str | None, two: str | None, _: object, via: str | None) -> int:
            first, second = (one or "").lower(), (two or "").lower()
            if next(asked) > MAX_AUTHORIZER_CALLS:
                ok = False
            elif action == sqlite3.SQLITE_SELECT:
                ok = True
            elif action == sqlite3.SQLITE_READ:
                ok = (first, second) in reads or first in shadows or (via and (via.lower(), first, second) in views) or (not second and first in nameless)  # fmt: skip
            elif action == sqlite3.SQLITE_FUNCTION:
                ok = second in ALLOWED_FUNCTIONS
            else:  # FTS5 asks for the version before it reads its shadow tables
                ok = action == sqlite3.SQLITE_PRAGMA and (first, second) == ("data_version", "")
            return sqlite3.SQLITE_OK if ok else sqlite3.SQLITE_DENY

        return allow

    def _convert_error(self, error: BaseException) -> ExecutionError:
        text = str(error)
        if "interrupted" in text:
            return ExecutionError("timeout", f"The statement took more than {self._limits.timeout_seconds:g} seconds. Ask for less, or filter first.")  # fmt: skip
        if any(word in text for word in ("prohibited", "not authorized", "authorization denied", "no such function", "one statement")):  # fmt: skip
            return ExecutionError("refused", f"SQLite refused: {text}.")
        if "no such column" in text or "ambiguous column" in text:
            return ExecutionError("column", f"{text}.")
        if "no such table" in text:
            return ExecutionError("table", f"{text}.")
        if "integer overflow" in text:
            return ExecutionError("value", f"A whole number grows too large here: {text}. Use TOTAL in place of SUM, or CAST(… AS REAL).")  # fmt: skip
        if isinstance(error, MemoryError) or any(word in text for word in ("too big", "out of memory", "too many", "too large", "overflow", "user-defined function", "too long")):  # fmt: skip
            return ExecutionError("size", f"A value or the statement is too large here: {text}. Choose fewer or shorter columns.")  # fmt: skip
        if "unable to open" in text or "not a database" in text or "malformed" in text:
            return ExecutionError("unreachable", f"{self._path.name} cannot be read as a SQLite database: {text}.")  # fmt: skip
        return ExecutionError("other", f"SQLite says: {text}.")


def _set_deadline(connection: sqlite3.Connection, timeout_seconds: float) -> None:
    """Ends what a connection does when the time is over."""
    end = time.monotonic() + timeout_seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, STEPS_PER_CHECK)


# SQLite's functions that are quadratic, as Python has them, and one that it leaves to others. Numbers are texts to them, as in SQLite.

SQLiteValue = None | int | float | str | bytes


def _to_text(value: SQLiteValue) -> str:
    if isinstance(value, float):
        digits = f"{value:.15g}"
        mantissa, mark, exponent = digits.partition("e")
        return f"{mantissa if '.' in mantissa or 'n' in mantissa else mantissa + '.0'}{mark}{exponent}"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def _find_text(text: SQLiteValue, part: SQLiteValue) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _to_text(text).find(_to_text(part)) + 1


def _replace_text(text: SQLiteValue, old: SQLiteValue, new: SQLiteValue) -> SQLiteValue:
    if text is None or old is None:
        return None
    whole, before = _to_text(text), _to_text(old)
    if not before:
        return text
    if new is None:
        return None
    after = _to_text(new)
    if len(whole) + whole.count(before) * (len(after) - len(before)) > MAX_TEXT_BYTES:
        raise ValueError("too big")
    return whole.replace(before, after)


def _matches_pattern(pattern: SQLiteValue, text: SQLiteValue) -> bool | None:
    from research.sources.database.patterns import compile_pattern  # a library, for those who use it

    if pattern is None or text is None:
        return None
    return compile_pattern(_to_text(pattern)).search(_to_text(text)) is not None


def _create_printf(connection: sqlite3.Connection) -> Callable[..., SQLiteValue]:
    """PRINTF and FORMAT, whose widths SQLite does not bound: half a minute is spent on filling up to
    900,000,000 characters that are too many. What is allowed is given to another connection."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)

    def printer(*values: SQLiteValue) -> SQLiteValue:
        if not values or values[0] is None:
            return None
        if not FORMAT_PATTERNS["sqlite"].fullmatch(_to_text(values[0])):
            raise ValueError("too big")
        marks = ", ".join("?" * len(values))
        found: SQLiteValue = connection.execute(f"select printf({marks})", values).fetchone()[0]
        return found

    return printer


def _create_trim(side: str) -> Callable[..., str | None]:
    """TRIM, LTRIM or RTRIM; by their second argument's characters, or by blanks."""
    strip = {"": str.strip, "l": str.lstrip, "r": str.rstrip}[side]

    def trim(text: SQLiteValue, characters: SQLiteValue = " ") -> str | None:
        if text is None or characters is None:
            return None
        wanted = _to_text(characters)
        return strip(_to_text(text), wanted) if wanted else _to_text(text)

    return trim
