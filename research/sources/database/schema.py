"""What a database holds: its tables and columns, their types, what they mean, some of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Text, cast, func, select
from sqlalchemy import column as named
from sqlalchemy import table as source_of
from sqlalchemy.exc import DBAPIError

from research.sources.database.allowlist import Dialect
from research.sources.database.catalog import DEFAULT_SCHEMAS, Catalog, qualified_name
from research.sources.database.size_estimate import find_excess, find_excessive_views

FindComment = Callable[[str, str], str]
"""From a table and one of its columns ("" for the table itself) to what it means, or ""."""

TableFilter = Callable[[str, str], bool]
"""Whether a table may be read, by its schema and its name there."""

SCHEMA_TIMEOUT_SECONDS = 60  # seconds that finding out what a database holds may take
MAX_VALUES = 40  # different values at most that are shown of a column
MAX_UNREPEATED_VALUES = 5  # of values that need not be repeated
MAX_NAME_CHARS = 100  # characters of a name that is shown
MAX_VALUE_CHARS = 40  # characters of a value that is shown


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """`values` are all its different values, if they are few and short: data, never instructions. It is
    `needed` where no row is without a value, and `unique` where no two rows have the same."""

    name: str
    type: str
    comment: str = ""
    values: tuple[str, ...] = ()
    is_key: bool = False
    reference: str = ""  # "table.column" that a foreign key points to
    is_required: bool = False
    is_unique: bool = False


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """A table or a view. `schema` is "" where its name alone is enough."""

    name: str
    columns: tuple[SchemaColumn, ...]
    comment: str = ""
    is_view: bool = False
    schema: str = ""

    @property
    def qualified_name(self) -> str:
        """Its name, with the schema before it where that has to be told."""
        return qualified_name(self.name, self.schema, "")


@dataclass(frozen=True, slots=True)
class UnreadableObject:
    """A table, a view or a column (`table.column`) that is left out because the engine cannot read it,
    with the engine's reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Schema:
    """`home` and `path` are the schemas in which the engine looks for a name without one: see
    `names.Catalogue`."""

    dialect: Dialect
    tables: tuple[SchemaTable, ...]
    default_schema: str = DEFAULT_SCHEMAS["sqlite"]
    search_path: tuple[str, ...] = ()
    unreadable: tuple[UnreadableObject, ...] = ()

    def build_catalog(self) -> Catalog:
        """For the guard: the columns of each table and their types."""
        found: dict[str, dict[str, dict[str, str]]] = {}
        for table in self.tables:
            of = found.setdefault(table.schema, {})
            of[table.name] = {column.name: column.type for column in table.columns}
        unreadable = {each.name.lower(): each.reason for each in self.unreadable}
        return Catalog(found.pop("", {}), self.default_schema, found, self.search_path, unreadable)

    def describe(self) -> str:
        """The schema for a reader, with what is known of each table."""
        return "\n".join(line for table in self.tables for line in describe_table(table))


def describe_table(table: SchemaTable, *, includes_values: bool = True) -> list[str]:
    """A table for a reader: a line for it, and one for each column."""
    lines = [f"{_display_name(table.qualified_name)}{_comment_suffix(table.comment)}"]
    for item in table.columns:
        line = f"  {_display_name(item.name)} {_display_name(item.type)}{' primary key' * item.is_key}"
        line += f" -> {_display_name(item.reference)}" if item.reference else ""
        line += _comment_suffix(item.comment)
        if includes_values and item.values:
            line += f" [{' | '.join(item.values)}]"
        lines.append(line)
    return lines


def _display_name(text: str) -> str:
    """A name on one line and not endless: whoever made the database could call things anything."""
    return to_single_line(text)[:MAX_NAME_CHARS]


def _comment_suffix(comment: str) -> str:
    return f" -- {' '.join(comment.split())[:200]}" if comment.strip() else ""


def read_postgres_schema(
    connection: Connection,
    default_schema: str,
    search_path: Sequence[str],
    table_filter: TableFilter | None,
    find_comment: FindComment | None,
) -> Schema:
    """The tables and views of all schemas that the role of the connection may read, but no extension's
    and none of the server's own."""
    found = [ColumnRow(*row) for row in connection.exec_driver_sql(_POSTGRES_COLUMNS)]
    unfilled = {(schema, name) for schema, name in connection.exec_driver_sql(_UNPOPULATED_VIEWS)}

    def reason(row: ColumnRow) -> str:
        if (row.schema, row.table) in unfilled:
            return "the materialized view has not been populated"
        view = f"{_quote_name(row.schema)}.{_quote_name(row.table)}".replace("%", "%%")
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"explain select 1 from {view}").close()  # noqa: S608
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            return first_line(str(error.orig))
        return ""

    rows, unreadable = _separate_unreadable(_filter_rows(found, table_filter), default_schema, reason)
    return Schema(
        "postgres", build_tables(rows, default_schema, find_comment), default_schema, tuple(search_path), unreadable
    )


def read_duckdb_schema(
    raw: Any, catalog: str, table_filter: TableFilter | None, find_comment: FindComment | None
) -> Schema:
    """The tables and views of a file, which a connection of DuckDB's own has as a catalog. The tables
    of a full-text index follow the table that it is on, and are never listed."""
    from duckdb import Error, InterruptException  # a large engine, for those who use it

    found = [ColumnRow(*row) for row in raw.execute(_DUCKDB_COLUMNS, [catalog]).fetchall()]
    indexes = {f"fts_{row.schema}_{row.table}" for row in found}
    chosen = _filter_rows((row for row in found if row.schema not in indexes), table_filter)
    wanted = {row.table for row in chosen if row.is_view}
    views = raw.execute("select view_name, sql from duckdb_views() where database_name = $1 and not internal", [catalog])  # fmt: skip
    excessive = find_excessive_views(raw, dict(views.fetchall())) if wanted else {}

    def reason(row: ColumnRow) -> str:
        view = ".".join(_quote_name(part) for part in (catalog, row.schema, row.table))
        if why := excessive.get(row.table.lower()):
            return why
        try:
            raw.execute(f"describe select * from {view}")  # noqa: S608
            return find_excess(raw, f"select * from {view}")  # noqa: S608
        except InterruptException:
            raise
        except Error as error:
            return first_line(str(error))

    rows, unreadable = _separate_unreadable(chosen, "main", reason)
    return Schema("duckdb", build_tables(rows, "main", find_comment), unreadable=unreadable)


def _filter_rows(rows: Iterable[ColumnRow], table_filter: TableFilter | None) -> list[ColumnRow]:
    return [row for row in rows if table_filter is None or table_filter(row.schema, row.table)]


def _separate_unreadable(
    rows: Sequence[ColumnRow], default_schema: str, find_reason: Callable[[ColumnRow], str]
) -> tuple[list[ColumnRow], tuple[UnreadableObject, ...]]:
    """The rows without those of views that the engine cannot read, and these views. `reason` says why
    a view cannot be read, "" if it can."""
    views = {(row.schema, row.table): row for row in rows if row.is_view}
    reasons = {key: find_reason(row) for key, row in views.items()}
    kept = [row for row in rows if not reasons.get((row.schema, row.table))]
    return kept, tuple(
        UnreadableObject(qualified_name(table, schema, default_schema), why)
        for (schema, table), why in reasons.items()
        if why
    )


def first_line(message: str) -> str:
    """The first line of an engine's message, for a person."""
    return message.strip().partition("\n")[0].rstrip(". ")[:200]


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class ColumnRow(NamedTuple):
    """One column, with what is known of its table."""

    schema: str
    table: str
    is_view: bool
    table_comment: str
    name: str
    type: str
    comment: str
    is_key: bool
    referenced_schema: str
    reference: str  # table.column
    is_required: bool
    is_unique: bool


_POSTGRES_COLUMNS = """
select n.nspname, c.relname, c.relkind in ('v', 'm'), coalesce(obj_description(c.oid, 'pg_class'), ''),
       a.attname, format_type(a.atttypid, a.atttypmod), coalesce(col_description(c.oid, a.attnum), ''),
       exists(select from pg_constraint k
              where k.conrelid = c.oid and k.contype = 'p' and a.attnum = any(k.conkey)),
       coalesce(f.schema, ''), coalesce(f.refers, ''), a.attnotnull,
       exists(select from pg_index i
              where i.indrelid = c.oid and i.indisunique and i.indpred is null
                and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join lateral (select s.nspname as schema, t.relname || '.' || o.attname as refers
                   from pg_constraint k join pg_class t on t.oid = k.confrelid
                   join pg_namespace s on s.oid = t.relnamespace
                   join pg_attribute o on o.attrelid = t.oid
                        and o.attnum = k.confkey[array_position(k.conkey, a.attnum)]
                   where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any(k.conkey)
                   order by k.oid limit 1) f on true
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and has_schema_privilege(n.oid, 'usage') and c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
  and has_column_privilege(c.oid, a.attnum, 'select')
  and not exists(select from pg_depend d
                 where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by n.nspname, c.relkind in ('v', 'm'), c.relname, a.attnum
"""


_UNPOPULATED_VIEWS = """
select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'm' and not c.relispopulated
"""


_DUCKDB_COLUMNS = """
with keys as (select schema_name, table_name, constraint_type as kind, constraint_column_names as own,
                     referenced_table as other, referenced_column_names as theirs
              from duckdb_constraints() where database_name = $1),
views as (select schema_name, view_name as table_name, true as view, comment from duckdb_views()
          where database_name = $1 and not internal
          union all
          select schema_name, table_name, false, comment from duckdb_tables()
          where database_name = $1 and not internal)
select c.schema_name, c.table_name, v.view, coalesce(v.comment, ''), c.column_name, c.data_type,
       coalesce(c.comment, ''),
       exists(from keys k where k.schema_name = c.schema_name and k.table_name = c.table_name
              and k.kind = 'PRIMARY KEY' and list_contains(k.own, c.column_name)),
       c.schema_name,
       coalesce((select min(k.other || '.' || k.theirs[list_position(k.own, c.column_name)]) from keys k
                 where k.schema_name = c.schema_name and k.table_name = c.table_name
                   and k.kind = 'FOREIGN KEY' and list_contains(k.own, c.column_name)), ''),
       not c.is_nullable,
       exists(from keys k where k.schema_name = c.schema_name and k.table_name = c.table_name
              and k.kind in ('PRIMARY KEY', 'UNIQUE') and k.own = [c.column_name])
from duckdb_columns() c join views v using (schema_name, table_name)
where c.database_name = $1
order by c.schema_name, v.view, c.table_name, c.column_index
"""


def build_tables(
    rows: Sequence[ColumnRow], default_schema: str, find_comment: FindComment | None
) -> tuple[SchemaTable, ...]:
    """The tables that rows of columns describe, those of `home` first. `comments` go before the
    database's own comments; a reference to a table that is not among them is dropped."""
    tables: dict[str, SchemaTable] = {}
    known_names = {qualified_name(row.table, row.schema, default_schema).lower() for row in rows}
    for row in rows:
        name = qualified_name(row.table, row.schema, default_schema)
        about, comment = row.table_comment, row.comment
        if find_comment:
            about, comment = find_comment(name, "") or about, find_comment(name, row.name) or comment
        refers = qualified_name(row.reference, row.referenced_schema, default_schema) if row.reference else ""
        if refers.rpartition(".")[0].lower() not in known_names:
            refers = ""
        schema = "" if row.schema == default_schema else row.schema
        known = tables.get(name, SchemaTable(row.table, (), about, row.is_view, schema))
        column = SchemaColumn(row.name, row.type, comment, (), row.is_key, refers, row.is_required, row.is_unique)
        tables[name] = replace(known, columns=(*known.columns, column))
    return tuple(sorted(tables.values(), key=lambda table: table.schema))


def distinct_values(
    connection: Connection,
    table: SchemaTable,
    column_name: str,
    *,
    max_values: int = MAX_VALUES,
    must_repeat: bool = False,
) -> tuple[str, ...]:
    """The different values of a column of text, sorted, if they are few and short; () if not.

    If they must be `repeated`, more than a handful count only where each is in two rows on average:
    an address that every row has one of its own of says nothing of the column.
    """
    source = source_of(table.name, named(column_name), schema=table.schema or None)
    present = select(source.c[column_name]).where(source.c[column_name].is_not(None))
    cut = func.substr(cast(source.c[column_name], Text), 1, MAX_VALUE_CHARS + 1)  # a value can be a gigabyte
    found = connection.execute(present.with_only_columns(cut).distinct().limit(max_values + 1)).scalars().all()  # fmt: skip
    texts = sorted({to_single_line(str(value)) for value in found})
    if len(texts) > max_values or any(len(text) > MAX_VALUE_CHARS for text in texts):
        return ()
    if must_repeat and len(texts) > MAX_UNREPEATED_VALUES:
        some = present.limit(2 * len(texts)).subquery()
        if connection.execute(select(func.count()).select_from(some)).scalar_one() < 2 * len(texts):
            return ()
    return tuple(text for text in texts if text)


def has_value(connection: Connection, table: SchemaTable, column_name: str, text: str) -> bool:
    """Whether a column has a value."""
    source = source_of(table.name, named(column_name), schema=table.schema or None)
    found = select(source.c[column_name]).where(source.c[column_name] == text).limit(1)
    return connection.execute(found).first() is not None


def to_single_line(text: str) -> str:
    """A value as it is shown: on one line."""
    return " ".join(text.split())


def is_text_type(column_type: str) -> bool:
    """Whether a column of this type may be one of a few words: a level, a province."""
    return any(word in column_type.upper() for word in ("CHAR", "TEXT", "CLOB", "ENUM"))
