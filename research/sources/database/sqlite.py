"""SQLite backend, read only: rows of one file, within limits that SQLite itself enforces.

The statement runs in the calling thread, not in a process of its own. A progress handler ends it at
its deadline; it is called between steps of SQLite's virtual machine, never within one call of a
function, so no single call may take long. The lengths of texts (`LENGTH`) and of the statement are
limited, and every function that may be called is listed. Three of SQLite's own are quadratic in the
length of a text (`instr`, `replace`, `trim`: 0.3 seconds for one call at the limit, and a statement
has space for hundreds); they are replaced by Python's, which are not. `printf` pads to any width
before it finds the text too long; its widths are checked first. These limits bound the memory of a
statement. A call that makes a text takes at least 25 characters of the statement, so there are at most
`MAX_SQL_CHARS` / 25 texts of `MAX_TEXT_BYTES` at a time: about 130 MB; the attacks in the tests reach
40 MB.

SQLite inlines a part of a statement wherever it is used while parsing, before any limit applies.
For each use it calls the authorizer, which allows a limited number of calls. One thing is not
limited here: SQLite merges parts without a call if the column of each names the column of the part
before it several times. Only the guard limits these (`name_resolver.expanded_size`).

Opening the file read-only is not enough: ATTACH and PRAGMA undo it. The authorizer refuses both,
and everything else that is not a SELECT of known columns by listed functions.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError
from sqlglot.errors import SqlglotError

from research.core.sql_quoting import quote_identifier
from research.sources.database.allowlist import FORMAT_PATTERNS, Dialect
from research.sources.database.backend import Backend
from research.sources.database.distance import FUNCTION_NAME, distance_km
from research.sources.database.nearest_rows import narrow_to_boxes
from research.sources.database.results import ExecutionError, ResultLimits, RowStream
from research.sources.database.schema import (
    SCHEMA_TIMEOUT_SECONDS,
    FindComment,
    RunQuery,
    Schema,
    TableFilter,
    UnreadableObject,
)
from research.sources.database.sqlite_schema import (
    ALLOWED_FUNCTIONS,
    MAX_AUTHORIZER_CALLS,
    MAX_TEXT_BYTES,
    Inspection,
    inspect_schema,
    prepare_virtual_table,
)

MAX_SQL_CHARS = 16_000
STEPS_PER_CHECK = 100  # steps of the virtual machine between two looks at the clock
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


class SQLite(Backend):
    """The database of one SQLite file."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, limits: ResultLimits) -> None:
        super().__init__(limits)
        self._path = path
        self._engine = create_engine("sqlite://", creator=self._open_file, poolclass=NullPool)
        self._readable_columns: frozenset[tuple[str, str]] = frozenset()
        self._column_types: dict[str, dict[str, str]] = {}
        self._inspection = Inspection(Schema("sqlite", ()))

    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema:
        """Read the schema of the file; from then on only its tables may be read.

        Raises:
            ExecutionError: the file cannot be opened.
        """
        with self._open_unrestricted() as connection:
            raw: Any = connection.connection.driver_connection
            _set_deadline(raw, SCHEMA_TIMEOUT_SECONDS)
            raw.text_factory = lambda text: text.decode("utf-8", "replace")
            self._inspection = inspect_schema(connection, table_filter, find_comment)
        schema = self._inspection.schema
        self._column_types = {
            table.name.lower(): {column.name.lower(): column.type for column in table.columns}
            for table in schema.tables
            if not table.is_view
        }
        self._readable_columns = frozenset(
            (table.name.lower(), name)
            for table in schema.tables
            for name in ("", *(column.name.lower() for column in table.columns))
        )
        return self._remove_unreadable(schema)

    def _remove_unreadable(self, schema: Schema) -> Schema:
        """Remove virtual tables that read something that may not be read, such as the vocabulary of
        a full-text table that is left out."""
        refused: dict[str, UnreadableObject] = {}
        for table in schema.tables:
            if table.name in self._inspection.virtual_tables:
                try:
                    with self.open_connection() as connection:
                        connection.exec_driver_sql(f"select 1 from {quote_identifier(table.name)} limit 1").close()  # noqa: S608
                except ExecutionError as failed:
                    if failed.cause not in ("size", "timeout"):
                        refused[table.name] = UnreadableObject(table.name, failed.message)
        readable = tuple(table for table in schema.tables if table.name not in refused)
        return replace(schema, tables=readable, unreadable=(*schema.unreadable, *refused.values()))

    @contextmanager
    def stream(self, sql: str, cte_names: Collection[str] = ()) -> Iterator[RowStream]:
        """Yield the column names of a statement and an iterator of its rows, until the deadline.

        Raises:
            ExecutionError: it may not run, or has no result.
        """
        with self.open_connection(cte_names) as connection:
            result = connection.exec_driver_sql(self._narrow(connection, sql))
            if not result.returns_rows:
                raise ExecutionError("refused", "The statement has no rows.")
            yield list(result.keys()), result

    def _narrow(self, connection: Connection, statement: str) -> str:
        """Add conditions to a statement that exclude distant rows before their distance is computed; see
        `nearest_rows`."""
        try:
            return narrow_to_boxes(
                statement, self._column_types, lambda sql: connection.exec_driver_sql(sql).fetchall()
            )
        except (SqlglotError, RecursionError):  # a text that has not passed the guard
            return statement

    @contextmanager
    def open_query(self) -> Iterator[RunQuery]:
        with self.open_connection() as connection:
            yield lambda sql: connection.exec_driver_sql(sql).fetchall()

    @contextmanager
    def open_connection(self, cte_names: Collection[str] = ()) -> Iterator[Connection]:
        """Open a connection that can read the known tables, until the deadline.

        Raises:
            ExecutionError: a statement on it fails.
        """
        with self._open_unrestricted() as connection:
            raw: Any = connection.connection.driver_connection
            _set_deadline(raw, self._limits.timeout_seconds)
            for name in self._inspection.virtual_tables:
                prepare_virtual_table(raw, name)
            with closing(sqlite3.connect(":memory:", check_same_thread=False)) as printf_connection:
                self._restrict(raw, frozenset(cte_names), _create_printf(printf_connection))
                yield connection

    @contextmanager
    def _open_unrestricted(self) -> Iterator[Connection]:
        """Open a connection without authorizer: SQLAlchemy and the inspection of the schema need
        PRAGMA."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise self._convert_error(error.orig or error) from None
        except (sqlite3.Error, MemoryError, ValueError) as error:  # ValueError for a statement that is no text
            raise self._convert_error(error) from None

    def _open_file(self) -> sqlite3.Connection:
        """Open the file read-only; no deadline is set yet."""
        address = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, check_same_thread=False, timeout=1.0)
        try:
            connection.execute("pragma query_only = on")
            connection.execute("select 1 from sqlite_master limit 1").fetchall()
        except (sqlite3.Error, UnicodeError) as error:  # UnicodeError for a name that is no UTF-8
            if isinstance(error, UnicodeError) or "malformed database schema" in str(error):
                # Go on without definitions that cannot be parsed; the first statement fails anyway.
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
        """Set the limits, functions and authorizer of a connection."""
        max_bytes = 4 * (self._limits.max_cell_characters + 1)
        connection.text_factory = lambda raw: raw[:max_bytes].decode("utf-8", "replace")
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
        )
        for name, arguments, function in functions:
            connection.create_function(name, arguments, function, deterministic=True)
        connection.set_authorizer(self._create_authorizer(cte_names))  # last, because it refuses the calls above

    def _create_authorizer(self, cte_names: frozenset[str]) -> Callable[..., int]:
        """Create the callback that allows or denies each action of a statement."""
        readable_columns, inspection = self._readable_columns, self._inspection
        countable = cte_names - inspection.object_names  # count(*) of a WITH part reads column ""
        calls = count(1)

        def allow(action: int, raw_first: str | None, raw_second: str | None, _: object, view_name: str | None) -> int:
            # For READ a table and its column; for FUNCTION nothing and a name; for PRAGMA a name and a value.
            first, second = (raw_first or "").lower(), (raw_second or "").lower()
            if next(calls) > MAX_AUTHORIZER_CALLS:
                is_allowed = False
            elif action == sqlite3.SQLITE_SELECT:
                is_allowed = True
            elif action == sqlite3.SQLITE_READ:
                is_allowed = (
                    (first, second) in readable_columns
                    or first in inspection.shadow_tables
                    or (view_name and (view_name.lower(), first, second) in inspection.view_columns)
                    or (not second and first in countable)
                )
            elif action == sqlite3.SQLITE_FUNCTION:
                is_allowed = second in ALLOWED_FUNCTIONS
            else:  # FTS5 reads the version before it reads its shadow tables
                is_allowed = action == sqlite3.SQLITE_PRAGMA and (first, second) == ("data_version", "")
            return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

        return allow

    def _convert_error(self, error: BaseException) -> ExecutionError:
        text = str(error)
        if "interrupted" in text:
            return self._timeout_error()
        if any(
            word in text
            for word in ("prohibited", "not authorized", "authorization denied", "no such function", "one statement")
        ):
            return ExecutionError("refused", f"SQLite refused: {text}.")
        if "no such column" in text or "ambiguous column" in text:
            return ExecutionError("column", f"{text}.")
        if "no such table" in text:
            return ExecutionError("table", f"{text}.")
        if "integer overflow" in text:
            return ExecutionError(
                "value", f"A whole number grows too large here: {text}. Use TOTAL in place of SUM, or CAST(… AS REAL)."
            )
        if isinstance(error, MemoryError) or any(word in text for word in ("too big", "out of memory", "too many", "too large", "overflow", "user-defined function", "too long")):  # fmt: skip
            return ExecutionError(
                "size", f"A value or the statement is too large here: {text}. Choose fewer or shorter columns."
            )
        if "unable to open" in text or "not a database" in text or "malformed" in text:
            return ExecutionError("unreachable", f"{self._path.name} cannot be read as a SQLite database: {text}.")
        return ExecutionError("other", f"SQLite says: {text}.")


def _set_deadline(connection: sqlite3.Connection, timeout_seconds: float) -> None:
    """Interrupt the statements of a connection after a timeout."""
    deadline = time.monotonic() + timeout_seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_PER_CHECK)


# Python versions of SQLite's quadratic functions, and REGEXP, which SQLite leaves to applications.
# They convert numbers to texts, as SQLite does.

SQLiteValue = None | int | float | str | bytes


def _to_text(value: SQLiteValue) -> str:
    """Convert a value to a text as SQLite does: 1.0 and 1.0e+20 keep their point."""
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
    full_text, old_text = _to_text(text), _to_text(old)
    if not old_text:
        return text
    if new is None:
        return None
    new_text = _to_text(new)
    if len(full_text) + full_text.count(old_text) * (len(new_text) - len(old_text)) > MAX_TEXT_BYTES:
        raise ValueError("too big")
    return full_text.replace(old_text, new_text)


def _matches_pattern(pattern: SQLiteValue, text: SQLiteValue) -> bool | None:
    from research.sources.database.patterns import compile_pattern  # needs RE2, which only patterns use

    if pattern is None or text is None:
        return None
    return compile_pattern(_to_text(pattern)).search(_to_text(text)) is not None


def _create_printf(connection: sqlite3.Connection) -> Callable[..., SQLiteValue]:
    """Create the function behind PRINTF and FORMAT, with limited widths.

    SQLite does not limit them and spends half a minute padding a text to 900,000,000 characters,
    which is then too long. An allowed call runs on another connection.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)

    def printer(*values: SQLiteValue) -> SQLiteValue:
        if not values or values[0] is None:
            return None
        if not FORMAT_PATTERNS["sqlite"].fullmatch(_to_text(values[0])):
            raise ValueError("too big")
        placeholders = ", ".join("?" * len(values))
        result: SQLiteValue = connection.execute(f"select printf({placeholders})", values).fetchone()[0]
        return result

    return printer


def _create_trim(side: str) -> Callable[..., str | None]:
    """Create TRIM, LTRIM or RTRIM, which strip the characters of their second argument, or
    blanks."""
    strip = {"": str.strip, "l": str.lstrip, "r": str.rstrip}[side]

    def trim(text: SQLiteValue, characters: SQLiteValue = " ") -> str | None:
        if text is None or characters is None:
            return None
        stripped = _to_text(characters)
        return strip(_to_text(text), stripped) if stripped else _to_text(text)

    return trim
