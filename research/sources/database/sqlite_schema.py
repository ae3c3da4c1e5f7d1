"""Inspection of a SQLite file: its permitted and readable tables and views.

Only tables and views that the settings permit are inspected. Those that SQLite cannot read are left
out and reported with SQLite's reason: a view over a dropped table, a table of a module that is not
loaded, a column computed by a function of another program.

A virtual table keeps its rows in shadow tables, whose names begin with its own. Shadow tables are
never listed as tables. See https://www.sqlite.org/vtab.html#the_xshadowname_method.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DBAPIError, NoSuchTableError, SQLAlchemyError

from research.core.sql_quoting import quote_identifier
from research.sources.database.allowlist import FUNCTION_NAMES
from research.sources.database.catalog import DEFAULT_SCHEMAS
from research.sources.database.schema import (
    ColumnRow,
    FindComment,
    Schema,
    TableFilter,
    UnreadableObject,
    build_tables,
    first_line,
)

MAX_AUTHORIZER_CALLS = 20_000  # calls of the authorizer that one statement may cause
ALLOWED_FUNCTIONS = FUNCTION_NAMES["sqlite"] | {"regexp"}  # the function behind REGEXP
MAX_TEXT_BYTES = 200_000  # bytes of a text or a row, including intermediate ones
_FTS_SUFFIXES = frozenset(["content", "segments", "segdir", "docsize", "stat"])
_RTREE_SUFFIXES = frozenset(["node", "rowid", "parent"])
_SHADOW_SUFFIXES = {
    "fts1": _FTS_SUFFIXES, "fts2": _FTS_SUFFIXES, "fts3": _FTS_SUFFIXES, "fts4": _FTS_SUFFIXES,
    "fts5": frozenset(["data", "idx", "content", "docsize", "config"]), "fts5vocab": frozenset[str](),
    "fts4aux": frozenset[str](), "rtree": _RTREE_SUFFIXES, "rtree_i32": _RTREE_SUFFIXES, "geopoly": _RTREE_SUFFIXES,
}  # fmt: skip
"""For each module of virtual tables, the suffixes of its shadow tables: the part of their names
after the name of the virtual table and "_"."""
_MODULE_NAME = re.compile(r"create\s+virtual\s+table\b.*?\busing\s+[\"'`\[]?(\w+)", re.I | re.S)

ViewColumn = tuple[str, str, str]
"""A view, and a table and column that SQLite reads for it, in lower case."""


class Inspection(NamedTuple):
    """Contents of a SQLite file, with names in lower case except in `schema` and `virtual_tables`."""

    schema: Schema
    object_names: frozenset[str] = frozenset()  # all tables, views and indexes of the file
    view_columns: frozenset[ViewColumn] = frozenset()  # the columns that each view reads
    shadow_tables: frozenset[str] = frozenset()  # those that SQLite reads for the tables and views of the schema
    virtual_tables: tuple[str, ...] = ()  # virtual tables whose modules this SQLite has


def inspect_schema(
    connection: Connection, table_filter: TableFilter | None, find_comment: FindComment | None
) -> Inspection:
    """Inspect the tables and views that may be read.

    Raises:
        DBAPIError: the file cannot be read at all, or not in time.
    """
    raw: Any = connection.connection.driver_connection
    entries = raw.execute(
        "select name, type = 'view', sql from sqlite_master where type in ('table', 'view') "
        "and name not like 'sqlite~_%' escape '~' order by 2, 1"
    ).fetchall()
    modules = {name: match[1].lower() for name, _, sql in entries if (match := _MODULE_NAME.match(sql or ""))}
    owners = _shadow_owners(raw, [name for name, _, _ in entries], modules)
    virtual = tuple(name for name in modules if prepare_virtual_table(raw, name))
    rows: list[ColumnRow] = []
    views = set[ViewColumn]()
    unreadable: list[UnreadableObject] = []
    for name, view, _ in entries:
        if name.lower() in owners or (table_filter and not table_filter(DEFAULT_SCHEMAS["sqlite"], name)):
            continue
        try:
            if view:
                views |= _view_columns(raw, name)
            columns = _read_columns(connection, name, is_view=bool(view))
        except (SQLAlchemyError, sqlite3.Error, PermissionError, UnicodeError) as error:
            parts = sorted(shadow for shadow, owner in owners.items() if owner == name.lower())
            suffix = f"; with it go {', '.join(parts)}" if parts else ""
            unreadable.append(UnreadableObject(name, f"{_unreadable_reason(error, name)}{suffix}"))
            continue
        broken = [] if view else list(_broken_columns(raw, name))
        broken_names = {column.name for column in broken}
        rows += [row for row in columns if f"{name}.{row.name}" not in broken_names]
        unreadable += broken
    schema = Schema("sqlite", build_tables(rows, "", find_comment), unreadable=tuple(unreadable))
    read_tables = {row.table.lower() for row in rows} | {table for _, table, _ in views}
    return Inspection(
        schema,
        frozenset(str(name).lower() for (name,) in raw.execute("select name from sqlite_master")),
        frozenset(views),
        frozenset(shadow for shadow, owner in owners.items() if owner in read_tables),
        virtual,
    )


def prepare_virtual_table(raw: sqlite3.Connection, table_name: str) -> bool:
    """Have SQLite load a virtual table, before an authorizer restricts the connection: loading needs
    rights that no statement has. Return False if SQLite does not have its module.

    Raises:
        sqlite3.Error: SQLite was interrupted because time was up.
    """
    try:
        raw.execute(f"select 1 from {quote_identifier(table_name)} limit 0")  # noqa: S608
    except sqlite3.Error as error:
        if "interrupted" in str(error):
            raise
        return False
    return True


def _shadow_owners(raw: sqlite3.Connection, names: list[str], modules: Mapping[str, str]) -> dict[str, str]:
    """Map each shadow table to the virtual table it belongs to, in lower case.

    For the modules it has, SQLite from version 3.37 reports the shadow tables itself; for other
    known modules they are recognised by their suffixes. For an unknown module, every table whose
    name begins with the name of the virtual table and "_" counts as its shadow table.
    """
    shadow_tables, loaded = set[str](), set[str]()
    with suppress(sqlite3.Error, UnicodeError):
        loaded = {name.lower() for (name,) in raw.execute("pragma module_list")}
        shadow_tables = {row[1].lower() for row in raw.execute("pragma main.table_list") if row[2] == "shadow"}
    owners: dict[str, str] = {}
    for virtual, module in sorted(modules.items(), key=lambda item: len(item[0])):
        owner = virtual.lower()
        suffixes = _SHADOW_SUFFIXES.get(module)
        for name in map(str.lower, names):
            suffix = name.removeprefix(f"{owner}_")
            if suffix == name or name == owner:
                continue
            if name in shadow_tables or (module not in loaded if suffixes is None else suffix in suffixes):
                owners[name] = owner
    return owners


def _read_columns(connection: Connection, name: str, *, is_view: bool) -> list[ColumnRow]:
    """Return the columns of a table or view.

    Raises:
        NoSuchTableError: it has no column that can be read.
    """
    raw: Any = connection.connection.driver_connection
    descriptions: list[Any] = list(inspect(connection).get_columns(name))
    if not descriptions:
        raise NoSuchTableError(name)
    if not is_view:
        raw.execute(f"select 1 from {quote_identifier(name)} limit 1").fetchall()  # noqa: S608
    keys = {item["name"] for item in descriptions if item["primary_key"]}
    references = _references(raw, name)
    unique = {names[0] for names in (*_unique_indexes(raw, name), list(keys)) if len(names) == 1}
    rows = []
    for item in descriptions:
        column, column_type = item["name"], str(item["type"]).split(" COLLATE", 1)[0]
        is_required = not item["nullable"] or keys == {column}
        rows.append(ColumnRow("", name, is_view, "", column, column_type, "", column in keys, "", references.get(column, ""), is_required, column in unique))  # fmt: skip
    return rows


def _references(raw: sqlite3.Connection, name: str) -> dict[str, str]:
    """Map each column of a table that refers to another table to its target, as "table.column"."""
    references: dict[str, str] = {}
    for _, position, table, column_name, target, *_ in raw.execute(
        f"pragma foreign_key_list({quote_identifier(name)})"
    ):
        if target is None:  # the reference is to the table's primary key
            with suppress(sqlite3.Error, StopIteration):
                columns = raw.execute(f"pragma table_info({quote_identifier(table)})").fetchall()
                target = next(column[1] for column in columns if column[5] == position + 1)
        if target is not None:
            references.setdefault(column_name, f"{table}.{target}")
    return references


def _unique_indexes(raw: sqlite3.Connection, name: str) -> list[list[str | None]]:
    """Return the columns of each complete unique index of a table."""
    indexes = raw.execute(f"pragma index_list({quote_identifier(name)})").fetchall()
    return [
        [column for _, _, column in raw.execute(f"pragma index_info({quote_identifier(index)})")]
        for _, index, unique, _, partial in indexes
        if unique and not partial
    ]


def _broken_columns(raw: sqlite3.Connection, name: str) -> list[UnreadableObject]:
    """Return the computed columns of a table that SQLite cannot compute, each with the reason."""
    computed = [row[1] for row in raw.execute(f"pragma table_xinfo({quote_identifier(name)})") if row[6] == 2]
    broken = []
    previous_limit = raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)
    for column in computed:
        try:
            raw.execute(f"select {quote_identifier(column)} from {quote_identifier(name)} limit 1").fetchall()  # noqa: S608
        except sqlite3.Error as error:
            if "function" in str(error):
                broken.append(UnreadableObject(f"{name}.{column}", _unreadable_reason(error, column)))
    raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, previous_limit)
    return broken


def _view_columns(raw: sqlite3.Connection, view: str) -> set[ViewColumn]:
    """Return the columns that SQLite reads for a view.

    Raises:
        sqlite3.Error: the view cannot be read.
        PermissionError: the view is too large, recursive, or calls a function that is not allowed.
    """
    columns: set[ViewColumn] = set()
    refused: list[str] = []
    calls = count(1)

    def record(action: int, first: str | None, second: str | None, _: object, view_name: str | None) -> int:
        if next(calls) > MAX_AUTHORIZER_CALLS:
            refused.append("it is too large")
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ and view_name:  # `first` is a table and `second` its column
            columns.add((view_name.lower(), (first or "").lower(), (second or "").lower()))
        elif action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in ALLOWED_FUNCTIONS:
            refused.append(f"it calls {second}(), which no statement may")
        elif action == sqlite3.SQLITE_RECURSIVE:
            refused.append("it is recursive, which no statement may be")
        return sqlite3.SQLITE_OK

    raw.set_authorizer(record)
    try:
        raw.execute(f"select * from {quote_identifier(view)} limit 0")  # noqa: S608
    finally:
        raw.set_authorizer(None)
        if refused:
            raise PermissionError(refused[0])
    return columns


def _unreadable_reason(error: Exception, name: str) -> str:
    """Return the reason why a table, view or column cannot be read, in SQLite's words.

    Raises:
        Exception: the `error` itself, if SQLite was interrupted because time was up.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    if "interrupted" in str(cause):
        raise error
    if isinstance(cause, NoSuchTableError) or str(cause) == f"no such table: {name}":
        return "it has no columns, or its definition is damaged"
    return first_line(str(cause))
