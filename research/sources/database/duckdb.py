"""DuckDB, read only: the file's own rows, within limits that DuckDB and a clock keep.

Each statement has an engine of its own, in memory, to which the file is attached for reading alone.
The engine may then touch no other file and no network, load no extension and see no variable of this
process; its settings are locked, and its memory, threads and room for spilling are bounded. A timer
interrupts it, also within one call of a function.

DuckDB knows no permissions: whoever may read may read every table, its catalogs and settings, and run
a text that is made within a statement (`query`). So what runs is read a second time, by DuckDB's own
parser: its tree may hold nothing but listed nodes, functions and types over known tables. This check
shares no line with the guard's.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import duckdb
from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import DBAPIError

from research.readers.duckdb_config import ENGINE_CONFIG
from research.sources.database.allowlist import FUNCTION_NAMES, Dialect
from research.sources.database.results import (
    BinarySize,
    ExecutionError,
    ExecutionResult,
    ResultLimits,
    RowStream,
    collect_result,
)
from research.sources.database.schema import (
    SCHEMA_TIMEOUT_SECONDS,
    FindComment,
    Schema,
    TableFilter,
    read_duckdb_schema,
)
from research.sources.database.size_estimate import find_excess

CATALOG = "attached_file"  # what the file is called within its engine
BATCH_ROWS = 16  # rows that are taken at once
_SHORT_TYPES = re.compile(
    r"BOOLEAN|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)|DATE|TIME[A-Z_ ]*|INTERVAL|UUID|ENUM\(.*\)|.?NULL.?"
)
"""Types of values that are short, and are taken as they are."""


def _split_words(sql: str) -> frozenset[str]:
    return frozenset(sql.split())


# What DuckDB's parser may make of a statement, by the names in `json_serialize_sql`.

_NODE_TYPES = _split_words("""
    SELECT_NODE SET_OPERATION_NODE BASE_TABLE SUBQUERY JOIN EMPTY EXPRESSION_LIST
    ORDER_MODIFIER LIMIT_MODIFIER DISTINCT_MODIFIER
    COLUMN_REF VALUE_CONSTANT STAR FUNCTION GROUPING_FUNCTION CASE_EXPR OPERATOR_CAST COLLATE TYPE
    CONJUNCTION_AND CONJUNCTION_OR COMPARE_EQUAL COMPARE_NOTEQUAL COMPARE_LESSTHAN
    COMPARE_GREATERTHAN COMPARE_LESSTHANOREQUALTO COMPARE_GREATERTHANOREQUALTO COMPARE_IN
    COMPARE_NOT_IN COMPARE_BETWEEN COMPARE_NOT_BETWEEN COMPARE_DISTINCT_FROM
    COMPARE_NOT_DISTINCT_FROM OPERATOR_NOT OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL
    OPERATOR_COALESCE OPERATOR_NULLIF
    ASCENDING DESCENDING ORDER_DEFAULT
    WINDOW_AGGREGATE WINDOW_RANK WINDOW_RANK_DENSE WINDOW_NTILE WINDOW_PERCENT_RANK
    WINDOW_CUME_DIST WINDOW_ROW_NUMBER WINDOW_FIRST_VALUE WINDOW_LAST_VALUE WINDOW_NTH_VALUE
    WINDOW_LEAD WINDOW_LAG
""")
_OPERATORS = _split_words("+ - * / // % ** ^ || ~~ !~~ ~~* !~~* ~~~ & | ~")
_SYNTAX_FUNCTIONS = _split_words("""
    count_star like_escape not_like_escape ilike_escape not_ilike_escape row list_value
    to_years to_quarters to_months to_weeks to_days to_hours to_minutes to_seconds
    current_date current_timestamp
""")
"""Functions that are no words of a statement: DuckDB's parser puts them in place of its syntax."""
_CAST_TYPES = _split_words("""
    boolean bool tinyint smallint integer bigint hugeint int int1 int2 int4 int8 float real double
    float4 float8 decimal numeric text varchar char string date time timestamp interval
""")


class DuckDB:
    """The database of one file."""

    dialect: Dialect = "duckdb"

    def __init__(self, path: Path, limits: ResultLimits) -> None:
        self._path = path
        self._limits = limits
        self._readable_tables: frozenset[tuple[str, ...]] = frozenset()
        self._object_names: frozenset[str] = frozenset()
        self._function_names: frozenset[str] = frozenset()

    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema:
        """What the file holds; from here on that is what may be read.

        Raises:
            Failed: it cannot be opened.
        """
        with self._open_engine(SCHEMA_TIMEOUT_SECONDS, uses_file_catalog=False) as raw:
            found = read_duckdb_schema(raw, CATALOG, table_filter, find_comment)
            self._object_names = frozenset(
                str(name).lower()
                for (name,) in raw.execute(
                    "select table_name from duckdb_tables() union select view_name from duckdb_views()"
                ).fetchall()
            )
            own = raw.execute("select function_name from duckdb_functions() where not internal")
            macros = {str(name).lower() for (name,) in own.fetchall()}
            self._function_names = (FUNCTION_NAMES["duckdb"] | _SYNTAX_FUNCTIONS | _OPERATORS) - macros
        self._readable_tables = frozenset(
            path
            for table in found.tables
            for path in (
                (table.schema.lower() or "main", table.name.lower()),
                *([] if table.schema else [(table.name.lower(),)]),
            )
        )
        return found

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
        with self._open_engine(self._limits.timeout_seconds) as raw:
            self._check_tree(raw, sql)
            if why := find_excess(raw, sql):
                raise ExecutionError("size", f"The statement, with the views that it reads, is too large: {why}. Choose other columns.")  # fmt: skip
            columns = raw.execute(f"describe {sql}").fetchall()
            names, types = (
                [str(column[0]) for column in columns],
                [str(column[1]) for column in columns],
            )
            if len(names) > self._limits.max_columns:
                yield names, iter(())
                return
            yield names, _fetch_rows(raw.execute(self._shorten_values(sql, types)), types)

    def with_limits(self, limits: ResultLimits) -> DuckDB:
        """The same database within other limits."""
        other = copy(self)
        other._limits = limits
        return other

    def privileges(self) -> str:
        """Nothing but reading: the file is attached so."""
        return ""

    @contextmanager
    def open_connection(self, cte_names: Collection[str] = ()) -> Iterator[Connection]:
        """A connection that can read the file, until the deadline, for statements of ours.

        Raises:
            Failed: what is done with it fails.
        """
        with self._open_engine(self._limits.timeout_seconds) as raw:
            engine = create_engine("sightline_duckdb://", creator=lambda: _DBAPIConnection(raw), poolclass=NullPool)  # fmt: skip
            try:
                with engine.connect() as connection:
                    yield connection
            except DBAPIError as error:
                raise error.orig or error from None

    @contextmanager
    def _open_engine(
        self, timeout_seconds: float, *, uses_file_catalog: bool = True
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """An engine that has the file, is locked, and ends what it does when the time is over.

        Names are looked up `within` the file, or else in the engine alone: a function of the file may
        be called as one of DuckDB's own.
        """
        if not self._path.is_file():  # its own error would tell more of the folders
            raise ExecutionError("unreachable", f"{self._path.name} cannot be read as a DuckDB database: there is no such file.")  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True) as spill:
            raw, timer = None, None
            try:
                raw = duckdb.connect(":memory:", config={**ENGINE_CONFIG, "temp_directory": spill})
                timer = threading.Timer(timeout_seconds, raw.interrupt)
                timer.daemon = True
                timer.start()
                file = str(self._path.absolute()).replace("'", "''")
                raw.execute(f"attach '{file}' as {CATALOG} (type duckdb, read_only)")
                if uses_file_catalog:
                    raw.execute(f"use {CATALOG}")
                raw.execute("set enable_external_access = false")
                raw.execute("set lock_configuration = true")
                yield raw
            except (duckdb.Error, MemoryError, ValueError, OverflowError, RecursionError) as error:
                raise self._convert_error(error) from None
            finally:
                if timer:
                    timer.cancel()
                if raw:
                    raw.close()

    def _check_tree(self, raw: duckdb.DuckDBPyConnection, sql: str) -> None:
        """DuckDB's own reading of a text holds nothing but what is listed and known.

        Raises:
            Failed: it does.
        """
        (told,) = raw.execute("select system.main.json_serialize_sql(?)", [sql]).fetchone() or ("{}",)
        tree = json.loads(told)
        if tree.get("error") or len(tree.get("statements", ())) != 1:
            raise _refusal(str(tree.get("error_message", "this is not one statement")))
        nodes = list(_walk_objects(tree["statements"]))
        parts = {entry["key"].lower() for node in nodes for entry in _cte_entries(node)}
        for node in nodes:
            kind, what = str(node.get("class", "")), node.get("type")
            if isinstance(what, str) and what not in _NODE_TYPES:
                raise _refusal(f"{what} is not allowed")
            path = tuple(str(name).lower() for name in (node.get("qualified_name") or {}).get("path") or ())  # fmt: skip
            if what == "BASE_TABLE":
                part = path[:1] if len(path) == 1 and path[0] in parts - self._object_names else ()
                if path not in self._readable_tables and not part:
                    raise _refusal(f"there is no table {'.'.join(path)} that may be read")
            elif kind in ("FUNCTION", "WINDOW"):
                name = str(node.get("function_name", "")).lower()
                if name not in self._function_names or path not in ((), (name,)):
                    raise _refusal(f"the function {name} is not allowed")
            elif kind == "TYPE" and (len(path) != 1 or path[0] not in _CAST_TYPES):
                raise _refusal(f"a cast to {'.'.join(path)} is not allowed")
            elif kind == "STAR" and node.get("expr"):
                raise _refusal("COLUMNS is not allowed")

    def _shorten_values(self, sql: str, types: Sequence[str]) -> str:
        """The statement with its texts cut where they are made, and of binary values the size alone. What
        is made of parts is a text as DuckDB writes it."""
        names = [f"c{place}" for place in range(len(types))]
        kept = ", ".join(
            name if _SHORT_TYPES.fullmatch(kind) else f"octet_length({name})" if kind == "BLOB"
            else f"left(cast({name} as varchar), {self._limits.max_cell_characters + 1})"
            for name, kind in zip(names, types, strict=True)
        )  # fmt: skip
        return f"select {kept} from ({sql}) as asked({', '.join(names)})"  # noqa: S608

    def _convert_error(self, error: BaseException) -> ExecutionError:
        text = str(error).split("\n", 1)[0]
        if isinstance(error, duckdb.InterruptException):
            return ExecutionError("timeout", f"The statement took more than {self._limits.timeout_seconds:g} seconds. Ask for less, or filter first.")  # fmt: skip
        if isinstance(error, (duckdb.OutOfMemoryException, MemoryError, RecursionError)):
            return ExecutionError("size", "The statement needs more memory than it may have. Choose fewer or shorter columns, or filter first.")  # fmt: skip
        if isinstance(error, duckdb.BinderException) and "column" in text.lower():
            return ExecutionError("column", f"{text}.")
        if isinstance(error, duckdb.CatalogException) and "Table with name" in text:
            return ExecutionError("table", f"{text}.")
        if isinstance(error, (duckdb.PermissionException, duckdb.ParserException, duckdb.CatalogException)):  # fmt: skip
            return _refusal(text)
        if isinstance(error, (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException)):  # fmt: skip
            return ExecutionError("unreachable", f"{self._path.name} cannot be read as a DuckDB database.")
        if isinstance(error, (duckdb.DataError, ValueError, OverflowError)):
            return ExecutionError("value", f"DuckDB says: {text}.")
        return ExecutionError("other", f"DuckDB says: {text}.")


def _refusal(reason: str) -> ExecutionError:
    return ExecutionError("refused", f"DuckDB refused: {reason}.")


def _walk_objects(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of a tree, whatever it lies in."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _cte_entries(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The WITH parts of a node."""
    return (node.get("cte_map") or {}).get("map") or []


def _fetch_rows(result: duckdb.DuckDBPyConnection, types: Sequence[str]) -> Iterator[Sequence[object]]:
    binary = [place for place, kind in enumerate(types) if kind == "BLOB"]
    while rows := result.fetchmany(BATCH_ROWS):
        for row in rows:
            values = list(row)
            for place in binary:
                values[place] = None if row[place] is None else BinarySize(row[place])
            yield values


class _DBAPIConnection:
    """A connection as SQLAlchemy wants it: its cursor is the connection itself, so that one interrupt
    ends both, and closing it is left to who opened it."""

    def __init__(self, raw: duckdb.DuckDBPyConnection) -> None:
        self._raw = raw
        self.rowcount, self.lastrowid, self.arraysize = -1, None, 1

    @property
    def description(self) -> Any:
        return self._raw.description

    def cursor(self) -> _DBAPIConnection:
        return self

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        self._raw.execute(sql, list(parameters))

    def fetchone(self) -> Any:
        return self._raw.fetchone()

    def fetchmany(self, size: int = 1) -> Any:
        return self._raw.fetchmany(size)

    def fetchall(self) -> Any:
        return self._raw.fetchall()

    def close(self) -> None:
        """The cursor is."""

    commit = rollback = close


class _DuckDBDialect(DefaultDialect):
    """The plainest SQL that SQLAlchemy writes, for a driver of this kind."""

    name = "sightline_duckdb"
    default_paramstyle = "qmark"
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:
        return duckdb

    def initialize(self, connection: Any) -> None:
        """Nothing is asked of the engine."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Nothing was written."""


registry.register("sightline_duckdb", __name__, _DuckDBDialect.__name__)
