"""What a database holds: its tables and columns, their types, what they mean, some of their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, column, inspect, select
from sqlalchemy import table as source_of
from sqlalchemy.engine.interfaces import ReflectedColumn

from research.database.allowed import Dialect

Comments = Callable[[str, str], str]
"""From a table and one of its columns ("" for the table itself) to what it means, or ""."""

TABLES = 60  # that are read of one database
FEW = 24  # different values at most that are shown of a column
SCANNED = 20_000  # rows that are looked at for them
SHORT = 40  # characters of a value that is shown


@dataclass(frozen=True, slots=True)
class Column:
    """`values` are all its different values, if they are few and short: data, never instructions."""

    name: str
    type: str
    comment: str = ""
    values: tuple[str, ...] = ()
    key: bool = False
    refers: str = ""  # "table.column" that a foreign key points to


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    comment: str = ""
    view: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    dialect: Dialect
    tables: tuple[Table, ...]

    def names(self) -> dict[str, dict[str, str]]:
        """For the guard: the columns of each table and their types."""
        return {t.name: {c.name: c.type for c in t.columns} for t in self.tables}

    def described(self, *, values: bool = True) -> str:
        """The schema for a reader: one line a table, one a column, with what is known of each."""
        lines = []
        for table in self.tables:
            lines.append(f"{table.name}{_note(table.comment)}")
            for item in table.columns:
                line = f"  {item.name} {item.type}{' primary key' * item.key}"
                line += f" -> {item.refers}" if item.refers else ""
                line += _note(item.comment)
                if values and item.values:
                    line += f" [{' | '.join(item.values)}]"
                lines.append(line)
        return "\n".join(lines)


def _note(comment: str) -> str:
    return f" -- {' '.join(comment.split())[:200]}" if comment.strip() else ""


def read(
    connection: Connection,
    dialect: Dialect,
    *,
    namespace: str | None = None,
    only: Collection[str] | None = None,
    comments: Comments | None = None,
) -> Schema:
    """The tables and views of a database, or of its schema `namespace`; `only` those named, if any are."""
    found: Any = inspect(connection)
    names = [(name, False) for name in sorted(found.get_table_names(schema=namespace))]
    names += [(name, True) for name in sorted(found.get_view_names(schema=namespace))]
    tables: list[Table] = []
    for name, view in names:
        if (only is not None and name not in only) or len(tables) == TABLES:
            continue
        if dialect == "sqlite" and name.lower().startswith("sqlite_"):
            continue
        keys = set(found.get_pk_constraint(name, schema=namespace)["constrained_columns"])
        refers = {
            here: f"{key['referred_table']}.{there}"
            for key in found.get_foreign_keys(name, schema=namespace)
            for here, there in zip(
                key["constrained_columns"], key["referred_columns"], strict=False
            )
        }
        own = comments(name, "") if comments else ""
        if not own and dialect == "postgres":
            own = found.get_table_comment(name, schema=namespace)["text"] or ""
        columns = tuple(
            _column(name, item, keys, refers, comments)
            for item in found.get_columns(name, schema=namespace)
        )
        if columns:
            tables.append(Table(name, columns, own, view))
    return Schema(dialect, tuple(tables))


def _column(
    table: str,
    found: ReflectedColumn,
    keys: Collection[str],
    refers: Mapping[str, str],
    comments: Comments | None,
) -> Column:
    name = found["name"]
    comment = (comments(table, name) if comments else "") or found.get("comment") or ""
    kind = str(found["type"]).split(" COLLATE", 1)[0]
    return Column(name, kind, comment, (), name in keys, refers.get(name, ""))


def values(connection: Connection, of: str, name: str, *, few: int = FEW) -> tuple[str, ...]:
    """The different values of a column of text, sorted, if they are few and short; () if not."""
    source = source_of(of, column(name))
    rows = select(source.c[name]).where(source.c[name].is_not(None)).limit(SCANNED).subquery()
    found = connection.execute(select(rows.c[name]).distinct().limit(few + 1)).scalars().all()
    texts = sorted(" ".join(str(value).split()) for value in found)
    if len(texts) > few or any(len(text) > SHORT for text in texts):
        return ()
    return tuple(text for text in texts if text)


def is_text(kind: str) -> bool:
    """Whether a column of this type may be one of a few words: a level, a province."""
    return any(word in kind.upper() for word in ("CHAR", "TEXT", "CLOB", "ENUM"))
