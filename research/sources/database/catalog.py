"""Names of the tables and columns that may be read. This module depends on no statement and no
parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from research.sources.database.allowlist import Dialect

TableColumns = Mapping[str, Mapping[str, str]]
"""Types of columns, by table and column name as spelled in the database."""
DEFAULT_SCHEMAS: dict[Dialect, str] = {"sqlite": "main", "postgres": "public", "duckdb": "main"}


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables that may be read.

    `tables` are the tables of `default_schema`, which statements name without a schema.
    `other_schemas` are the tables of other schemas, by schema. `search_path` are the schemas in which
    the engine looks for a table without a schema after `default_schema`. `unreadable` maps the names,
    in lower case, of the tables that the engine cannot read to its reasons.
    """

    tables: TableColumns
    default_schema: str
    other_schemas: Mapping[str, TableColumns] = field(default_factory=dict)
    search_path: Sequence[str] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)


def qualified_name(table: str, schema: str, default_schema: str) -> str:
    """Return the name of a table, with its schema in front unless that is the default one."""
    return table if schema == default_schema else f"{schema}.{table}"
