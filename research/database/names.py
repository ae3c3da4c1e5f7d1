"""What the names in a statement stand for: tables and columns of the schema, or parts of the statement."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Parser
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from research.database.allowed import Dialect
from research.database.nodes import NO_TABLE
from research.database.refusals import NEAR, Bounds, Refused, alike, first_line, parsing, within

Tables = Mapping[str, Mapping[str, str]]
Filter = tuple[str, str, str]
"""A table, its column, and a text that the column is asked to equal."""
NAMESPACES: dict[Dialect, str] = {"sqlite": "main", "postgres": "public"}


class Names:
    """The names of a schema, as the engine compares them."""

    def __init__(self, dialect: Dialect, tables: Tables) -> None:
        self._dialect = dialect
        fold = str.lower if dialect == "sqlite" else str
        self._tables = {
            fold(name): {fold(column): kind for column, kind in columns.items()}
            for name, columns in tables.items()
        }
        self._spelled = {fold(name): name for name in tables}
        self._parser = Parser.get_or_raise(dialect)

    def folded(self, name: exp.Expr) -> str:
        """A name as the engine compares it: SQLite never minds case, PostgreSQL not if unquoted."""
        plain = self._dialect == "sqlite" or not name.args.get("quoted")
        return name.name.lower() if plain else name.name

    def known(self, table: exp.Table) -> str:
        """The name of a table as the database spells it."""
        return self._spelled[self.folded(table.this)]

    def columns_of(self, table: exp.Table) -> Collection[str] | None:
        """The columns of a table of the schema; None for a WITH part or a table that is unknown."""
        found = self._tables.get(self.folded(table.this))
        parts = self.parts(table.root())
        return None if found is None or self.folded(table.this) in parts else tuple(found)

    def parts(self, tree: exp.Expr) -> frozenset[str]:
        """The names of the WITH parts of a statement."""
        return frozenset(self.folded(cte.args["alias"].this) for cte in tree.find_all(exp.CTE))

    def aliases(self, tree: exp.Expr) -> frozenset[str]:
        """The names that a statement gives to tables."""
        return frozenset(self.folded(a.this) for a in tree.find_all(exp.TableAlias) if a.this)

    def _normalized(self, tree: exp.Expr) -> exp.Expr:
        """A copy of a tree with its names as the engine compares them."""
        return normalize_identifiers(tree.copy(), dialect=self._parser)

    def strip(self, tree: exp.Expr) -> None:
        """Names qualified with the schema that is read lose the qualifier; others are refused."""
        parts = self.parts(tree)
        for name in tree.find_all(exp.Table, exp.Column):
            schema = name.args.get("db")
            if name.args.get("catalog") or (schema and self.folded(schema) != NAMESPACES[self._dialect]):  # fmt: skip
                raise Refused("table", f"{name.sql(self._dialect)[:120]} is not of this database; write names without a schema.")  # fmt: skip
            if schema and isinstance(name, exp.Table) and self.folded(name.this) in parts:
                raise Refused("table", f"A WITH part is called {name.name[:60]!r} like a table; call it otherwise.")  # fmt: skip
            if schema:
                name.set("db", None)

    def resolve(self, tree: exp.Expr) -> None:
        """Every table is a CTE of its own scope, or in the schema; no table is left out."""
        normalized = self._normalized(tree)
        seen: set[int] = set()
        for scope in traverse_scope(normalized):
            for table in scope.tables:
                seen.add(id(table))
                if not isinstance(table.this, exp.Identifier):
                    raise Refused("table", NO_TABLE)
                if table.name not in scope.cte_sources and table.name not in self._tables:
                    raise Refused("table", f"There is no table {table.name[:60]!r}.", alike(table.name, sorted(self._spelled.values())))  # fmt: skip
        for table in normalized.find_all(exp.Table):
            if id(table) not in seen:
                raise Refused("table", f"What {table.name[:60]!r} stands for here is not clear; write it as FROM or JOIN.")  # fmt: skip

    def tables(self, tree: exp.Expr) -> Iterator[exp.Table]:
        """The tables of the database that a vetted tree reads."""
        for scope in traverse_scope(self._normalized(tree)):
            yield from (t for t in scope.tables if t.name not in scope.cte_sources)

    # Columns

    def columns(
        self, tree: exp.Query, bounds: Bounds
    ) -> tuple[tuple[tuple[str, str], ...], tuple[Filter, ...]]:
        """The columns of tables that a vetted tree reads, and the texts they must equal, sorted.

        Raises:
            Refused: a column is unknown.
        """
        schema = MappingSchema(
            {name: dict(columns) for name, columns in self._tables.items()},
            dialect=self._parser,
            normalize=False,
        )
        try:
            with parsing():
                full = qualify(tree.copy(), schema=schema, dialect=self._parser)
        except OptimizeError as error:
            raise self._no_column(str(error), tree) from None
        if row := full.find(exp.TableColumn):
            raise Refused("column", f"{row.name[:60]!r} is a table, not a column; name its columns.")  # fmt: skip
        outputs = len(full.selects) if isinstance(full, exp.Query) else 0
        within("columns in its result", outputs, bounds.outputs)
        within("parts when its WITH parts are written out", expansion(full), bounds.expansion)  # fmt: skip
        found: set[tuple[str, str]] = set()
        filters: set[Filter] = set()
        for scope in traverse_scope(full):
            for column in scope.columns:
                source = scope.sources.get(column.table)
                if isinstance(source, exp.Table) and self.folded(source.this) in self._tables:
                    name = (self.known(source), column.name)
                    found.add(name)
                    filters.update((*name, text) for text in _compared(column))
        return tuple(sorted(found)), tuple(sorted(filters))

    def _no_column(self, message: str, tree: exp.Expr) -> Refused:
        """The refusal for what `qualify` could not resolve."""
        name = next(iter(re.findall(r"(?:Column '|Unknown column: |Unknown table: )([^'\s]+)", message)), "")  # fmt: skip
        if not name:
            return Refused("syntax", f"The statement does not hold together: {first_line(message)}")
        if "table" in message:
            of = re.findall(r"for table: '([^']+)'|Unknown table: (\S+)", message)
            wanted = "".join(of[0]) if of else name
            return Refused("column", f"{wanted[:60]!r} is not in the FROM of this part of the statement.")  # fmt: skip
        own: dict[str, list[str]] = {}
        for table in self.tables(tree):
            for column in self._tables[self.folded(table.this)]:
                own.setdefault(column, []).append(table.alias_or_name)
        if len(homes := sorted(set(own.get(name, ())))) > 1:
            ways = [f"{home}.{name}" for home in homes[:NEAR]]
            return Refused("column", f"The column {name[:60]!r} is in more than one table.", ways)
        if homes:
            return Refused("column", f"The column {name[:60]!r} cannot be reached here; it is one of {homes[0]}.")  # fmt: skip
        if re.fullmatch(r"column\d+", name) and tree.find(exp.Values):
            told = "Name the columns of VALUES, such as (VALUES (1), (2)) AS v(n)."
            return Refused("column", told)
        near = [f"{own[column][0]}.{column}" for column in alike(name, sorted(own))]
        return Refused("column", f"There is no column {name[:60]!r} in the tables of this statement.", near)  # fmt: skip


def expansion(tree: exp.Expr) -> int:
    """How many columns and SELECTs a qualified tree has once its parts are merged.

    Engines write a part out wherever it is used, before they run anything and heedless of any limit:
    ten parts that each name the column of the one before four times are a million columns.
    """
    whole: dict[int, int] = {}  # of a scope
    outputs: dict[int, dict[str, int]] = {}  # of each of its columns
    last = 0
    for scope in traverse_scope(tree):
        parts = [source for source in scope.sources.values() if isinstance(source, Scope)]
        branches = scope.set_operation_scopes
        inner = sum(whole.get(id(part), 1) for part in (*scope.subquery_scopes, *branches))
        sizes = {
            (name, column): size
            for name, source in scope.sources.items()
            for column, size in outputs.get(id(source), {}).items()
        }

        def size(columns: Iterable[exp.Expr], sizes: dict[tuple[str, str], int] = sizes) -> int:
            return sum(sizes.get((_of(column), column.name), 1) for column in columns)

        last = 1 + inner + sum(whole.get(id(part), 1) for part in parts) + size(scope.columns)
        whole[id(scope)] = last
        own: dict[str, int] = {}
        if isinstance(scope.expression, exp.Select):
            for output in scope.expression.selects:
                nested = inner if output.find(exp.Select) else 0
                own[output.alias_or_name] = 1 + nested + size(output.find_all(exp.Column))
        elif isinstance(scope.expression, exp.SetOperation):
            sides = [list(outputs.get(id(branch), {}).values()) for branch in branches]
            names = scope.expression.named_selects
            own = {name: sum(side[i] for side in sides if i < len(side)) for i, name in enumerate(names)}  # fmt: skip
        outputs[id(scope)] = own
    return last


def _of(column: exp.Expr) -> str:
    """The name of the table of a qualified column."""
    table = column.args.get("table")
    return table.name if table else ""


def _compared(column: exp.Column) -> Iterator[str]:
    """The texts that a column is compared with by = or IN."""
    parent = column.parent
    others: list[exp.Expr] = []
    if isinstance(parent, exp.EQ):
        others = [parent.expression if parent.this is column else parent.this]
    elif isinstance(parent, exp.In) and parent.this is column:
        others = parent.expressions
    yield from (
        other.name for other in others if isinstance(other, exp.Literal) and other.is_string
    )
