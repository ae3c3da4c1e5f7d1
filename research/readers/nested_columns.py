"""Columns of files with nested values: those of an object become columns such as `address.city`.

JSON, JSON lines and Parquet can nest. Arrays of plain values become text, joined by commas, and arrays of
objects stay JSON. If a JSON document is an object around one array of objects, its rows are those of the
array, and its other values are repeated in each row.
"""

# ruff: noqa: S608  (statements consist of our own text and quoted names)

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
from duckdb.sqltypes import DuckDBPyType

from research.core.sql_quoting import quote_identifier, quote_literal
from research.readers.table_records import unique_name
from research.readers.table_sources import JSON_SAMPLE_ROWS, open_engine, source_expression

MAX_DEPTH = 20  # of nested objects; deeper ones stay JSON


class _Value(NamedTuple):
    """A value of a row: the SQL that yields it, the path of names to it, and its type."""

    expression: str
    name: str
    type: DuckDBPyType


def flat_expression(path: Path, file: str, kind: str, sample_size: int = JSON_SAMPLE_ROWS) -> str:
    """Return the SQL that reads a file with types of its own, without nested objects.

    Raises:
        SchemaMismatchError: a line of JSON differs from the sampled lines.
        UnreadableTableError: the file is broken, or needs too much memory.
    """
    source = source_expression(path, kind, sample_size)
    with open_engine(path, file) as raw:
        relation = raw.sql(f"select * from {source}")
        values = [_Value(quote_identifier(n), n, t) for n, t in zip(relation.columns, relation.types, strict=True)]
        leaves = [leaf for value in values for leaf in _leaves(value)]
        arrays = [leaf for leaf in leaves if _is_array_of_objects(leaf.type)]
        if kind == ".json" and len(arrays) == 1 and _has_one_row(raw, source):
            (array,) = arrays
            source = f"(select unnest({array.expression}) as record_of_array, * from {source})"
            record = _Value("record_of_array", "", _parts(array.type)["child"])
            leaves = [*_leaves(record), *(leaf for leaf in leaves if leaf is not array)]
    used_names: set[str] = set()
    columns = ", ".join(f"{_plain(leaf)} as {quote_identifier(unique_name(leaf.name, used_names))}" for leaf in leaves)
    return f"(select {columns} from {source})"


def _has_one_row(raw: duckdb.DuckDBPyConnection, source: str) -> bool:
    (count,) = raw.execute(f"select count(*) from (from {source} limit 2)").fetchone() or (0,)
    return bool(count == 1)


def _leaves(value: _Value, depth: int = 0) -> Iterator[_Value]:
    """Yield the values within an object, at any depth, or the value itself if it is none."""
    if value.type.id != "struct" or depth >= MAX_DEPTH:
        yield value
        return
    for name, kind in _parts(value.type).items():
        path = f"{value.name}.{name}" if value.name else name
        yield from _leaves(_Value(f"struct_extract({value.expression}, {quote_literal(name)})", path, kind), depth + 1)


def _parts(kind: DuckDBPyType) -> dict[str, DuckDBPyType]:
    """Return the types within a type by name: the values of an object, or the "child" of an array."""
    return {name: part for name, part in kind.children if isinstance(part, DuckDBPyType)}


def _is_array_of_objects(kind: DuckDBPyType) -> bool:
    return kind.id == "list" and _parts(kind)["child"].id == "struct"


def _plain(value: _Value) -> str:
    """Return the SQL of a value that no column can hold as it is, as text."""
    if value.type.id == "list" and _parts(value.type)["child"].id not in ("struct", "list", "map", "array"):
        return f"nullif(array_to_string({value.expression}, ', '), '')"
    if value.type.id in ("list", "struct", "map", "array", "union"):
        return f"cast(to_json({value.expression}) as varchar)"
    return value.expression
