"""DuckDB backend, read only: rows of one file, within limits that DuckDB and a timer enforce.

Each statement has an in-memory engine of its own, to which the file is attached read-only. The
engine may then access no other file and no network, load no extension and see no variable of this
process; its settings are locked, and its memory, threads and spill space are bounded. A timer
interrupts it, also within one call of a function.

DuckDB has no permissions: a reader may read every table, its catalogs and settings, and run a text
that is built within a statement (`query`). So the final text is parsed a second time, by DuckDB's
own parser: its tree may contain only listed nodes, functions and types over known tables. This
check shares no code with the guard's.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from research.core.sql_quoting import quote_literal
from research.readers.duckdb_config import ENGINE_CONFIG
from research.sources.database.allowlist import FUNCTION_NAMES, Dialect, word_set
from research.sources.database.backend import Backend
from research.sources.database.results import BinarySize, ExecutionError, ResultLimits, RowStream
from research.sources.database.schema import (
    SCHEMA_TIMEOUT_SECONDS,
    FindComment,
    RunQuery,
    Schema,
    TableFilter,
    read_duckdb_schema,
)
from research.sources.database.size_estimate import find_excess

CATALOG = "attached_file"  # catalog name of the file within its engine
BATCH_ROWS = 16  # rows that are fetched at once
_SHORT_TYPES = re.compile(
    r"BOOLEAN|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)|DATE|TIME[A-Z_ ]*|INTERVAL|UUID|ENUM\(.*\)|.?NULL.?"
)
"""Types of short values, which are fetched unchanged."""


# Node types that DuckDB's parse tree may contain, as named by `json_serialize_sql`.

_NODE_TYPES = word_set("""
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
_OPERATORS = word_set("+ - * / // % ** ^ || ~~ !~~ ~~* !~~* ~~~ & | ~")
_SYNTAX_FUNCTIONS = word_set("""
    count_star like_escape not_like_escape ilike_escape not_ilike_escape row list_value
    to_years to_quarters to_months to_weeks to_days to_hours to_minutes to_seconds
    current_date current_timestamp
""")
"""Functions that DuckDB's parser substitutes for syntax; statements cannot contain their names."""
_CAST_TYPES = word_set("""
    boolean bool tinyint smallint integer bigint hugeint int int1 int2 int4 int8 float real double
    float4 float8 decimal numeric text varchar char string date time timestamp interval
""")


class DuckDB(Backend):
    """The database of one DuckDB file."""

    dialect: Dialect = "duckdb"

    def __init__(self, path: Path, limits: ResultLimits) -> None:
        super().__init__(limits)
        self._path = path
        self._readable_tables: frozenset[tuple[str, ...]] = frozenset()
        self._object_names: frozenset[str] = frozenset()
        self._function_names: frozenset[str] = frozenset()

    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema:
        """Read the schema of the file; from then on only its tables may be read.

        Raises:
            ExecutionError: the file cannot be opened.
        """
        with self._open_engine(SCHEMA_TIMEOUT_SECONDS, uses_file_catalog=False) as raw:
            schema = read_duckdb_schema(raw, CATALOG, table_filter, find_comment)
            self._object_names = frozenset(
                str(name).lower()
                for (name,) in raw.execute(
                    "select table_name from duckdb_tables() union select view_name from duckdb_views()"
                ).fetchall()
            )
            user_functions = raw.execute("select function_name from duckdb_functions() where not internal")
            macros = {str(name).lower() for (name,) in user_functions.fetchall()}
            self._function_names = (FUNCTION_NAMES["duckdb"] | _SYNTAX_FUNCTIONS | _OPERATORS) - macros
        self._readable_tables = frozenset(
            path
            for table in schema.tables
            for path in (
                (table.schema.lower() or "main", table.name.lower()),
                *([] if table.schema else [(table.name.lower(),)]),
            )
        )
        return schema

    @contextmanager
    def stream(self, sql: str, cte_names: Collection[str] = ()) -> Iterator[RowStream]:
        """Yield the column names of a statement and an iterator of its rows, until the deadline.

        Raises:
            ExecutionError: it may not run, or has no result.
        """
        with self._open_engine(self._limits.timeout_seconds) as raw:
            self._check_tree(raw, sql)
            if reason := find_excess(raw, sql):
                raise ExecutionError(
                    "size",
                    f"The statement, with the views that it reads, is too large: {reason}. Choose other columns.",
                )
            columns = raw.execute(f"describe {sql}").fetchall()
            names, types = ([str(column[index]) for column in columns] for index in (0, 1))
            if len(names) > self._limits.max_columns:
                yield names, iter(())
                return
            yield names, _fetch_rows(raw.execute(self._shorten_values(sql, types)), types)

    @contextmanager
    def open_query(self) -> Iterator[RunQuery]:
        with self._open_engine(self._limits.timeout_seconds) as raw:
            yield lambda sql: raw.execute(sql).fetchall()

    @contextmanager
    def _open_engine(
        self, timeout_seconds: float, *, uses_file_catalog: bool = True
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a locked engine with the file attached, which is interrupted when the time is over.

        Names are looked up in the file, or in the engine only if `uses_file_catalog` is false: a
        function of the file may have the name of one of DuckDB's own.
        """
        if not self._path.is_file():  # DuckDB's own error would reveal the folders
            raise ExecutionError(
                "unreachable", f"{self._path.name} cannot be read as a DuckDB database: there is no such file."
            )
        with tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True) as spill:
            raw, timer = None, None
            try:
                raw = duckdb.connect(":memory:", config={**ENGINE_CONFIG, "temp_directory": spill})
                timer = threading.Timer(timeout_seconds, raw.interrupt)
                timer.daemon = True
                timer.start()
                file = quote_literal(str(self._path.absolute()))
                raw.execute(f"attach {file} as {CATALOG} (type duckdb, read_only)")
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
        """Check that DuckDB's own parse tree of a text contains only what is listed and known.

        Raises:
            ExecutionError: it contains something else.
        """
        (tree_json,) = raw.execute("select system.main.json_serialize_sql(?)", [sql]).fetchone() or ("{}",)
        tree = json.loads(tree_json)
        if tree.get("error") or len(tree.get("statements", ())) != 1:
            raise _refusal(str(tree.get("error_message", "this is not one statement")))
        nodes = list(_walk_objects(tree["statements"]))
        cte_names = {entry["key"].lower() for node in nodes for entry in _cte_entries(node)}
        for node in nodes:
            node_class, node_type = str(node.get("class", "")), node.get("type")
            if isinstance(node_type, str) and node_type not in _NODE_TYPES:
                raise _refusal(f"{node_type} is not allowed")
            path = tuple(str(name).lower() for name in (node.get("qualified_name") or {}).get("path") or ())
            if node_type == "BASE_TABLE":
                cte_path = path[:1] if len(path) == 1 and path[0] in cte_names - self._object_names else ()
                if path not in self._readable_tables and not cte_path:
                    raise _refusal(f"there is no table {'.'.join(path)} that may be read")
            elif node_class in ("FUNCTION", "WINDOW"):
                name = str(node.get("function_name", "")).lower()
                if name not in self._function_names or path not in ((), (name,)):
                    raise _refusal(f"the function {name} is not allowed")
            elif node_class == "TYPE" and (len(path) != 1 or path[0] not in _CAST_TYPES):
                raise _refusal(f"a cast to {'.'.join(path)} is not allowed")
            elif node_class == "STAR" and node.get("expr"):
                raise _refusal("COLUMNS is not allowed")

    def _shorten_values(self, sql: str, types: Sequence[str]) -> str:
        """Wrap a statement so that DuckDB cuts its texts and returns only the size of binary
        values.

        Nested values are cast to text.
        """
        names = [f"c{index}" for index in range(len(types))]
        columns = ", ".join(
            name
            if _SHORT_TYPES.fullmatch(column_type)
            else f"octet_length({name})"
            if column_type == "BLOB"
            else f"left(cast({name} as varchar), {self._limits.max_cell_characters + 1})"
            for name, column_type in zip(names, types, strict=True)
        )
        return f"select {columns} from ({sql}) as asked({', '.join(names)})"  # noqa: S608

    def _convert_error(self, error: BaseException) -> ExecutionError:
        text = str(error).split("\n", 1)[0]
        if isinstance(error, duckdb.InterruptException):
            return self._timeout_error()
        if isinstance(error, (duckdb.OutOfMemoryException, MemoryError, RecursionError)):
            return ExecutionError(
                "size",
                "The statement needs more memory than it may have. Choose fewer or shorter columns, or filter first.",
            )
        if isinstance(error, duckdb.BinderException) and "column" in text.lower():
            return ExecutionError("column", f"{text}.")
        if isinstance(error, duckdb.CatalogException) and "Table with name" in text:
            return ExecutionError("table", f"{text}.")
        if isinstance(error, (duckdb.PermissionException, duckdb.ParserException, duckdb.CatalogException)):
            return _refusal(text)
        if isinstance(error, (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException)):
            return ExecutionError("unreachable", f"{self._path.name} cannot be read as a DuckDB database.")
        if isinstance(error, (duckdb.DataError, ValueError, OverflowError)):
            return ExecutionError("value", f"DuckDB says: {text}.")
        return ExecutionError("other", f"DuckDB says: {text}.")


def _refusal(reason: str) -> ExecutionError:
    return ExecutionError("refused", f"DuckDB refused: {reason}.")


def _walk_objects(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a JSON tree."""
    stack = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack += item.values()
        elif isinstance(item, list):
            stack += item


def _cte_entries(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the WITH parts of a node."""
    return (node.get("cte_map") or {}).get("map") or []


def _fetch_rows(result: duckdb.DuckDBPyConnection, types: Sequence[str]) -> Iterator[Sequence[object]]:
    """Yield the rows of a result, with sizes of binary values in place of the values."""
    binary = [index for index, column_type in enumerate(types) if column_type == "BLOB"]
    while rows := result.fetchmany(BATCH_ROWS):
        for row in rows:
            values = list(row)
            for index in binary:
                values[index] = None if row[index] is None else BinarySize(row[index])
            yield values
