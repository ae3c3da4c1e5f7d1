"""Which tables there are and what they are called. Knows no statement and no parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from research.sources.database.allowlist import Dialect

TableColumns = Mapping[str, Mapping[str, str]]
"""The columns of tables and their types, by the names that the database has for them."""
DEFAULT_SCHEMAS: dict[Dialect, str] = {"sqlite": "main", "postgres": "public", "duckdb": "main"}


@dataclass(frozen=True, slots=True)
class Catalog:
    """What may be read. `tables` are those of the schema `home`, in which the engine looks first: they
    are written without it. Those of other schemas are `elsewhere`, by schema; `path` are the schemas
    in which a name without one is looked for after `home`. `unreadable` are the tables that are left
    out because the engine cannot read them, with its reasons."""

    tables: TableColumns
    default_schema: str
    other_schemas: Mapping[str, TableColumns] = field(default_factory=dict)
    search_path: Sequence[str] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)


def qualified_name(table: str, schema: str, default_schema: str) -> str:
    """What a table is called: by its name, with the schema before it unless that is the first one."""
    return table if schema == default_schema else f"{schema}.{table}"
