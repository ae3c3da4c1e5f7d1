"""What a database holds: its tables and columns, their types, what they mean, some of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Text, cast, func, select
from sqlalchemy import column as named
from sqlalchemy import table as source_of
from sqlalchemy.exc import DBAPIError

from research.sources.database.allowed import Dialect
from research.sources.database.catalogue import HOMES, Catalogue, called
from research.sources.database.excess import excess, excessive_views

Comments = Callable[[str, str], str]
"""From a table and one of its columns ("" for the table itself) to what it means, or ""."""

Reads = Callable[[str, str], bool]
"""Whether a table may be read, by its schema and its name there."""

READING = 60  # seconds that finding out what a database holds may take
FEW = 40  # different values at most that are shown of a column
HANDFUL = 5  # of values that need not be repeated
NAME = 100  # characters of a name that is shown
SHORT = 40  # characters of a value that is shown


@dataclass(frozen=True, slots=True)
class Column:
    """`values` are all its different values, if they are few and short: data, never instructions. It is
    `needed` where no row is without a value, and `unique` where no two rows have the same."""

    name: str
    type: str
    comment: str = ""
    values: tuple[str, ...] = ()
    key: bool = False
    refers: str = ""  # "table.column" that a foreign key points to
    needed: bool = False
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view. `schema` is "" where its name alone is enough."""

    name: str
    columns: tuple[Column, ...]
    comment: str = ""
    view: bool = False
    schema: str = ""

    @property
    def called(self) -> str:
        """Its name, with the schema before it where that has to be told."""
        return called(self.name, self.schema, "")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A table, a view or a column (`table.column`) that is left out because the engine cannot read it,
    with the engine's reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Schema:
    """`home` and `path` are the schemas in which the engine looks for a name without one: see
    `names.Catalogue`."""

    dialect: Dialect
    tables: tuple[Table, ...]
    home: str = HOMES["sqlite"]
    path: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    def catalogue(self) -> Catalogue:
        """For the guard: the columns of each table and their types."""
        found: dict[str, dict[str, dict[str, str]]] = {}
        for table in self.tables:
            of = found.setdefault(table.schema, {})
            of[table.name] = {column.name: column.type for column in table.columns}
        unreadable = {each.name.lower(): each.reason for each in self.unreadable}
        return Catalogue(found.pop("", {}), self.home, found, self.path, unreadable)

    def described(self) -> str:
        """The schema for a reader, with what is known of each table."""
        return "\n".join(line for table in self.tables for line in described(table))


def described(table: Table, *, values: bool = True) -> list[str]:
    """A table for a reader: a line for it, and one for each column."""
    lines = [f"{_name(table.called)}{_note(table.comment)}"]
    for item in table.columns:
        line = f"  {_name(item.name)} {_name(item.type)}{' primary key' * item.key}"
        line += f" -> {_name(item.refers)}" if item.refers else ""
        line += _note(item.comment)
        if values and item.values:
            line += f" [{' | '.join(item.values)}]"
        lines.append(line)
    return lines


def _name(text: str) -> str:
    """A name on one line and not endless: whoever made the database could call things anything."""
    return tidy(text)[:NAME]


def _note(comment: str) -> str:
    return f" -- {' '.join(comment.split())[:200]}" if comment.strip() else ""


def of_postgres(
    connection: Connection,
    home: str,
    path: Sequence[str],
    reads: Reads | None,
    comments: Comments | None,
) -> Schema:
    """The tables and views of all schemas that the role of the connection may read, but no extension's
    and none of the server's own."""
    found = [ColumnRow(*row) for row in connection.exec_driver_sql(_CATALOG)]
    unfilled = {(schema, name) for schema, name in connection.exec_driver_sql(_UNFILLED)}

    def reason(row: ColumnRow) -> str:
        if (row.schema, row.table) in unfilled:
            return "the materialized view has not been populated"
        view = f"{_quoted(row.schema)}.{_quoted(row.table)}".replace("%", "%%")
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"explain select 1 from {view}").close()  # noqa: S608
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            return first_line(str(error.orig))
        return ""

    rows, unreadable = _readable(_chosen(found, reads), home, reason)
    return Schema("postgres", build_tables(rows, home, comments), home, tuple(path), unreadable)


def of_duckdb(raw: Any, catalog: str, reads: Reads | None, comments: Comments | None) -> Schema:
    """The tables and views of a file, which a connection of DuckDB's own has as a catalog. The tables
    of a full-text index follow the table that it is on, and are never listed."""
    from duckdb import Error, InterruptException  # a large engine, for those who use it

    found = [ColumnRow(*row) for row in raw.execute(_DUCKDB, [catalog]).fetchall()]
    indexes = {f"fts_{row.schema}_{row.table}" for row in found}
    chosen = _chosen((row for row in found if row.schema not in indexes), reads)
    wanted = {row.table for row in chosen if row.view}
    views = raw.execute("select view_name, sql from duckdb_views() where database_name = $1 and not internal", [catalog])  # fmt: skip
    excessive = excessive_views(raw, dict(views.fetchall())) if wanted else {}

    def reason(row: ColumnRow) -> str:
        view = ".".join(_quoted(part) for part in (catalog, row.schema, row.table))
        if why := excessive.get(row.table.lower()):
            return why
        try:
            raw.execute(f"describe select * from {view}")  # noqa: S608
            return excess(raw, f"select * from {view}")  # noqa: S608
        except InterruptException:
            raise
        except Error as error:
            return first_line(str(error))

    rows, unreadable = _readable(chosen, "main", reason)
    return Schema("duckdb", build_tables(rows, "main", comments), unreadable=unreadable)


def _chosen(rows: Iterable[ColumnRow], reads: Reads | None) -> list[ColumnRow]:
    return [row for row in rows if reads is None or reads(row.schema, row.table)]


def _readable(
    rows: Sequence[ColumnRow], home: str, reason: Callable[[ColumnRow], str]
) -> tuple[list[ColumnRow], tuple[Unreadable, ...]]:
    """The rows without those of views that the engine cannot read, and these views. `reason` says why
    a view cannot be read, "" if it can."""
    views = {(row.schema, row.table): row for row in rows if row.view}
    reasons = {key: reason(row) for key, row in views.items()}
    kept = [row for row in rows if not reasons.get((row.schema, row.table))]
    return kept, tuple(
        Unreadable(called(table, schema, home), why)
        for (schema, table), why in reasons.items()
        if why
    )


def first_line(message: str) -> str:
    """The first line of an engine's message, for a person."""
    return message.strip().partition("\n")[0].rstrip(". ")[:200]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class ColumnRow(NamedTuple):
    """One column, with what is known of its table."""

    schema: str
    table: str
    view: bool
    about: str
    name: str
    type: str
    comment: str
    key: bool
    schema_referred: str
    refers: str  # table.column
    needed: bool
    unique: bool


_CATALOG = """
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


_UNFILLED = """
select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'm' and not c.relispopulated
"""


_DUCKDB = """
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
    rows: Sequence[ColumnRow], home: str, comments: Comments | None
) -> tuple[Table, ...]:
    """The tables that rows of columns describe, those of `home` first. `comments` go before the
    database's own comments; a reference to a table that is not among them is dropped."""
    tables: dict[str, Table] = {}
    known_names = {called(row.table, row.schema, home).lower() for row in rows}
    for row in rows:
        name = called(row.table, row.schema, home)
        about, comment = row.about, row.comment
        if comments:
            about, comment = comments(name, "") or about, comments(name, row.name) or comment
        refers = called(row.refers, row.schema_referred, home) if row.refers else ""
        if refers.rpartition(".")[0].lower() not in known_names:
            refers = ""
        schema = "" if row.schema == home else row.schema
        known = tables.get(name, Table(row.table, (), about, row.view, schema))
        column = Column(row.name, row.type, comment, (), row.key, refers, row.needed, row.unique)
        tables[name] = replace(known, columns=(*known.columns, column))
    return tuple(sorted(tables.values(), key=lambda table: table.schema))


def values(
    connection: Connection, of: Table, name: str, *, few: int = FEW, repeated: bool = False
) -> tuple[str, ...]:
    """The different values of a column of text, sorted, if they are few and short; () if not.

    If they must be `repeated`, more than a handful count only where each is in two rows on average:
    an address that every row has one of its own of says nothing of the column.
    """
    source = source_of(of.name, named(name), schema=of.schema or None)
    present = select(source.c[name]).where(source.c[name].is_not(None))
    cut = func.substr(cast(source.c[name], Text), 1, SHORT + 1)  # a value can be a gigabyte
    found = connection.execute(present.with_only_columns(cut).distinct().limit(few + 1)).scalars().all()  # fmt: skip
    texts = sorted({tidy(str(value)) for value in found})
    if len(texts) > few or any(len(text) > SHORT for text in texts):
        return ()
    if repeated and len(texts) > HANDFUL:
        some = present.limit(2 * len(texts)).subquery()
        if connection.execute(select(func.count()).select_from(some)).scalar_one() < 2 * len(texts):
            return ()
    return tuple(text for text in texts if text)


def has(connection: Connection, of: Table, name: str, text: str) -> bool:
    """Whether a column has a value."""
    source = source_of(of.name, named(name), schema=of.schema or None)
    found = select(source.c[name]).where(source.c[name] == text).limit(1)
    return connection.execute(found).first() is not None


def tidy(text: str) -> str:
    """A value as it is shown: on one line."""
    return " ".join(text.split())


def is_text(kind: str) -> bool:
    """Whether a column of this type may be one of a few words: a level, a province."""
    return any(word in kind.upper() for word in ("CHAR", "TEXT", "CLOB", "ENUM"))
