"""Schema of a database: its tables and columns with their types, comments and sample values."""

# ruff: noqa: S608  (statements consist of our own text and quoted names and texts)

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from research.core.sql_quoting import quote_identifier, quote_literal
from research.sources.database.allowlist import Dialect
from research.sources.database.catalog import DEFAULT_SCHEMAS, Catalog, qualified_name
from research.sources.database.size_estimate import find_excess, find_excessive_views

FindComment = Callable[[str, str], str]
"""Returns the comment on a table's column ("" for the table itself), or ""."""

TableFilter = Callable[[str, str], bool]
"""Returns whether a table may be read, given its schema and name."""

RunQuery = Callable[[str], Sequence[Sequence[Any]]]
"""Returns the rows of a statement."""

SCHEMA_TIMEOUT_SECONDS = 60  # seconds that reading a schema may take
MAX_VALUES = 40  # distinct values that are shown of a column
MAX_UNREPEATED_VALUES = 5  # distinct values that need not occur repeatedly
MAX_NAME_CHARS = 100  # characters of a name that is shown
MAX_VALUE_CHARS = 40  # characters of a value that is shown


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column.

    `values` are all its distinct values, if they are few and short: data, never instructions.
    `is_required` means that no row is without a value, `is_unique` that no two rows share one.
    """

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
    """A table or view. `schema` is "" where its name is enough to find it."""

    name: str
    columns: tuple[SchemaColumn, ...]
    comment: str = ""
    is_view: bool = False
    schema: str = ""

    @property
    def qualified_name(self) -> str:
        """Name of the table, with its schema in front where that is needed."""
        return qualified_name(self.name, self.schema, "")

    @property
    def quoted_name(self) -> str:
        """The qualified name, quoted for a statement."""
        return ".".join(quote_identifier(part) for part in (self.schema, self.name) if part)


@dataclass(frozen=True, slots=True)
class UnreadableObject:
    """A table, view or column (`table.column`) that is left out because the engine cannot read it,
    with the engine's reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Schema:
    """The readable tables of a database.

    `default_schema` and `search_path` are the schemas in which the engine looks for a name without
    one: see `catalog.Catalog`.
    """

    dialect: Dialect
    tables: tuple[SchemaTable, ...]
    default_schema: str = DEFAULT_SCHEMAS["sqlite"]
    search_path: tuple[str, ...] = ()
    unreadable: tuple[UnreadableObject, ...] = ()

    def build_catalog(self) -> Catalog:
        """Build the catalog for the guard: the columns of each table and their types."""
        columns_by_schema: dict[str, dict[str, dict[str, str]]] = {}
        for table in self.tables:
            columns_by_table = columns_by_schema.setdefault(table.schema, {})
            columns_by_table[table.name] = {column.name: column.type for column in table.columns}
        unreadable = {each.name.lower(): each.reason for each in self.unreadable}
        return Catalog(
            columns_by_schema.pop("", {}), self.default_schema, columns_by_schema, self.search_path, unreadable
        )

    def describe(self) -> str:
        """Describe all tables as text."""
        return "\n".join(line for table in self.tables for line in describe_table(table))


def describe_table(table: SchemaTable, *, includes_values: bool = True) -> list[str]:
    """Describe a table as lines of text: one for the table, and one for each column."""
    lines = [f"{_display_name(table.qualified_name)}{_comment_suffix(table.comment)}"]
    for column in table.columns:
        line = f"  {_display_name(column.name)} {_display_name(column.type)}{' primary key' * column.is_key}"
        line += f" -> {_display_name(column.reference)}" if column.reference else ""
        line += _comment_suffix(column.comment)
        if includes_values and column.values:
            line += f" [{' | '.join(column.values)}]"
        lines.append(line)
    return lines


def _display_name(text: str) -> str:
    """Put a name on one line and shorten it, because the database may contain any text as a
    name."""
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
    """Read the tables and views of all schemas that the role may read, without those of extensions
    and of the server."""
    column_rows = [ColumnRow(*row) for row in connection.exec_driver_sql(_POSTGRES_COLUMNS)]
    unpopulated = {(schema, name) for schema, name in connection.exec_driver_sql(_UNPOPULATED_VIEWS)}

    def find_problem(row: ColumnRow) -> str:
        if (row.schema, row.table) in unpopulated:
            return "the materialized view has not been populated"
        view = f"{quote_identifier(row.schema)}.{quote_identifier(row.table)}".replace("%", "%%")
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"explain select 1 from {view}").close()
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            return first_line(str(error.orig))
        return ""

    rows, unreadable = _separate_unreadable(_filter_rows(column_rows, table_filter), default_schema, find_problem)
    return Schema(
        "postgres", build_tables(rows, default_schema, find_comment), default_schema, tuple(search_path), unreadable
    )


def read_duckdb_schema(
    raw: Any, catalog: str, table_filter: TableFilter | None, find_comment: FindComment | None
) -> Schema:
    """Read the tables and views of a file, attached as a catalog to a DuckDB connection.

    The tables of a full-text index belong to the table that it is on, and are never listed.
    """
    from duckdb import Error, InterruptException  # a large import, needed only for DuckDB files

    column_rows = [ColumnRow(*row) for row in raw.execute(_DUCKDB_COLUMNS, [catalog]).fetchall()]
    indexes = {f"fts_{row.schema}_{row.table}" for row in column_rows}
    chosen = _filter_rows((row for row in column_rows if row.schema not in indexes), table_filter)
    view_names = {row.table for row in chosen if row.is_view}
    views = raw.execute(
        "select view_name, sql from duckdb_views() where database_name = $1 and not internal", [catalog]
    )
    excessive = find_excessive_views(raw, dict(views.fetchall())) if view_names else {}

    def find_problem(row: ColumnRow) -> str:
        view = ".".join(quote_identifier(part) for part in (catalog, row.schema, row.table))
        if excess := excessive.get(row.table.lower()):
            return excess
        try:
            raw.execute(f"describe select * from {view}")
            return find_excess(raw, f"select * from {view}")
        except InterruptException:
            raise
        except Error as error:
            return first_line(str(error))

    rows, unreadable = _separate_unreadable(chosen, "main", find_problem)
    return Schema("duckdb", build_tables(rows, "main", find_comment), unreadable=unreadable)


def _filter_rows(rows: Iterable[ColumnRow], table_filter: TableFilter | None) -> list[ColumnRow]:
    return [row for row in rows if table_filter is None or table_filter(row.schema, row.table)]


def _separate_unreadable(
    rows: Sequence[ColumnRow], default_schema: str, find_problem: Callable[[ColumnRow], str]
) -> tuple[list[ColumnRow], tuple[UnreadableObject, ...]]:
    """Return the rows without those of views that the engine cannot read, and these views with reasons.

    `find_problem` is called with a row of each view, and returns the reason why the view cannot be
    read, "" if it can.
    """
    views = {(row.schema, row.table): row for row in rows if row.is_view}
    reasons = {key: find_problem(row) for key, row in views.items()}
    readable = [row for row in rows if not reasons.get((row.schema, row.table))]
    return readable, tuple(
        UnreadableObject(qualified_name(table, schema, default_schema), reason)
        for (schema, table), reason in reasons.items()
        if reason
    )


def first_line(message: str) -> str:
    """Return the first line of an engine's message, for a person."""
    return message.strip().partition("\n")[0].rstrip(". ")[:200]


class ColumnRow(NamedTuple):
    """A row of a schema query: one column, with facts about its table."""

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
    """Build the tables that rows of columns describe, those of `default_schema` first.

    A comment from `find_comment` replaces the database's own; a reference to a table that is not
    among them is dropped.
    """
    tables: dict[str, SchemaTable] = {}
    known_names = {qualified_name(row.table, row.schema, default_schema).lower() for row in rows}
    for row in rows:
        name = qualified_name(row.table, row.schema, default_schema)
        table_comment, comment = row.table_comment, row.comment
        if find_comment:
            table_comment, comment = find_comment(name, "") or table_comment, find_comment(name, row.name) or comment
        reference = qualified_name(row.reference, row.referenced_schema, default_schema) if row.reference else ""
        if reference.rpartition(".")[0].lower() not in known_names:
            reference = ""
        schema = "" if row.schema == default_schema else row.schema
        schema_table = tables.get(name, SchemaTable(row.table, (), table_comment, row.is_view, schema))
        column = SchemaColumn(row.name, row.type, comment, (), row.is_key, reference, row.is_required, row.is_unique)
        tables[name] = replace(schema_table, columns=(*schema_table.columns, column))
    return tuple(sorted(tables.values(), key=lambda table: table.schema))


def distinct_values(
    run_query: RunQuery,
    table: SchemaTable,
    column_name: str,
    *,
    max_values: int = MAX_VALUES,
    must_repeat: bool = False,
) -> tuple[str, ...]:
    """Return the distinct values of a text column, sorted, if they are few and short; else ().

    With `must_repeat`, more than a handful count only if each occurs in two rows on average: an
    address that is different in every row says nothing about the column.
    """
    column = quote_identifier(column_name)
    present = f"from {table.quoted_name} where {column} is not null"
    shortened = f"substr(cast({column} as text), 1, {MAX_VALUE_CHARS + 1})"  # a value can be a gigabyte
    values = [row[0] for row in run_query(f"select distinct {shortened} {present} limit {max_values + 1}")]
    texts = sorted({to_single_line(str(value)) for value in values})
    if len(texts) > max_values or any(len(text) > MAX_VALUE_CHARS for text in texts):
        return ()
    if must_repeat and len(texts) > MAX_UNREPEATED_VALUES:
        sample = f"select {column} {present} limit {2 * len(texts)}"
        if run_query(f"select count(*) from ({sample}) as sample")[0][0] < 2 * len(texts):
            return ()
    return tuple(text for text in texts if text)


def has_value(run_query: RunQuery, table: SchemaTable, column_name: str, text: str) -> bool:
    """Return whether a column has a value in some row."""
    column = quote_identifier(column_name)
    return bool(run_query(f"select {column} from {table.quoted_name} where {column} = {quote_literal(text)} limit 1"))


def to_single_line(text: str) -> str:
    """Put a value on one line, as it is shown."""
    return " ".join(text.split())


def is_text_type(column_type: str) -> bool:
    """Return whether a column of this type may hold words, such as a level or a province."""
    return any(word in column_type.upper() for word in ("CHAR", "TEXT", "CLOB", "ENUM"))
