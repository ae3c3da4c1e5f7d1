"""For how many rows the columns are known that a statement filters, aggregates or ranks by.

A row whose price is unknown is in no `price > 50`, in no average, and among no first ten: what a
statement says, it says of the rows whose values are known. So the rows of each SELECT are counted again
without its conditions on a column: how many are not ruled out by the others, and in how many of them the
column has a value.
The statement that counts is made from the checked one, and goes through the guard like any other.

An inner join drops what has no row in the other table. Where that table extends the first by one row to
a row (a foreign key that is unique), to have none is to be unknown; where it has many rows to one, they
alone are counted.

Says nothing of columns that are only selected: they can be seen to be empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from research.sources.database.allowlist import Dialect
from research.sources.database.rewrites import rewrite_named_values
from research.sources.database.schema import Schema, SchemaColumn, SchemaTable
from research.sources.database.validator import SQLiteTextGenerator

MAX_SELECTS = 4  # of a statement that are counted
MAX_COLUMNS = 6  # of each
_UNPARSED_AGGREGATES = ("total", "every", "regr_slope", "regr_intercept", "regr_r2")  # none to the parser

ColumnName = tuple[str, str]  # of a column: what its table is called in the SELECT, and its own


@dataclass(frozen=True, slots=True)
class CoverageQuery:
    """A statement that counts: for each of `columns` all rows, and those in which it is known. `part`
    says that they are those of a subquery or a WITH part."""

    sql: str
    columns: tuple[str, ...]
    is_part: bool


def build_coverage_queries(qualified: exp.Expr, schema: Schema) -> list[CoverageQuery]:
    """The statements that count for a checked one, those of its outer SELECTs first.

    `full` is its tree, every column of which tells its table, and every table its schema.
    """
    tables = {(table.schema or schema.default_schema, table.name): table for table in schema.tables}
    if schema.dialect != "postgres":  # the others mind no case
        tables = {(schema, name.lower()): table for (schema, name), table in tables.items()}
    out = []
    for scope in reversed(traverse_scope(qualified)):
        select = scope.expression
        if isinstance(select, exp.Select) and select.args.get("from_"):
            joined = _JoinedTables.from_scope(scope, tables)
            if count := _build_query(scope, joined, qualified, schema.dialect):
                out.append(count)
    return out[:MAX_SELECTS]


def _build_query(scope: Scope, joined: _JoinedTables, qualified: exp.Expr, dialect: Dialect) -> CoverageQuery | None:
    """The statement that counts for one SELECT; None if nothing that it asks for can be unknown."""
    select = scope.expression
    names = [n for n in dict.fromkeys(_compared_columns(scope, joined.conditions)) if not joined.is_never_null(n)]
    if not names:
        return None
    names = names[:MAX_COLUMNS]
    shared = [test for test in joined.conditions if not set(_own_columns(test, scope)) & set(names)]
    found = exp.Select().from_(joined.source).where(*shared)
    found.set("joins", joined.joins)
    for at, name in enumerate(names):
        rest: list[exp.Expr] = [
            exp.func("COALESCE", test.copy(), exp.true())  # what is unknown may meet it
            for test in joined.conditions
            if test not in shared and name not in _own_columns(test, scope)
        ]
        rest += joined.presence_conditions(name)
        value = exp.column(name[1], table=name[0], quoted=True)
        known = exp.Not(this=exp.Is(this=value, expression=exp.Null()))
        found = found.select(_count_expression(rest, f"rows_{at}"), _count_expression([*rest, known], f"known_{at}"))
    own = [] if select is qualified else [select.args.get("with_")]
    parts = [part for each in (qualified.args.get("with_"), *own) if each for part in each.expressions]
    if parts:
        found.set("with_", exp.With(expressions=[part.copy() for part in parts]))
    if dialect == "sqlite":
        for values in list(found.find_all(exp.Values)):
            rewrite_named_values(values)
    maker = SQLiteTextGenerator(dialect="sqlite") if dialect == "sqlite" else None
    text = maker.generate(found) if maker else found.sql(dialect)
    return CoverageQuery(text, tuple(column for _, column in names), _is_part(select, qualified))


def _is_part(select: exp.Expr, qualified: exp.Expr) -> bool:
    """Whether a SELECT is neither the statement nor a branch of it."""
    while select is not qualified and isinstance(select.parent, (exp.SetOperation, exp.Subquery)):
        if isinstance(select.parent, exp.Subquery) and select.parent is not qualified:
            return not isinstance(select.parent.parent, exp.SetOperation)
        select = select.parent
    return select is not qualified


def _count_expression(conditions: Sequence[exp.Expr], alias: str) -> exp.Expr:
    """How many rows meet all tests."""
    if not conditions:
        return exp.alias_(exp.Count(this=exp.Star()), alias)
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    case = exp.Case(ifs=[exp.If(this=exp.and_(*conditions), true=one)], default=none)
    return exp.alias_(exp.Sum(this=case), alias)


# What a SELECT asks for


def _compared_columns(scope: Scope, conditions: Iterable[exp.Expr]) -> Iterator[ColumnName]:
    """The columns that it filters, aggregates or ranks by."""
    select = scope.expression
    for test in conditions:
        if not (_is_null_test(test) or _equated_columns(test)):
            yield from _own_columns(test, scope)
    for node in select.find_all(exp.AggFunc, exp.Filter, exp.Anonymous, exp.Order):
        aggregate = not isinstance(node, exp.Anonymous) or node.name.lower() in _UNPARSED_AGGREGATES
        if aggregate and node.find_ancestor(exp.Select) is select:
            yield from _own_columns(node, scope)
    order = select.args.get("order")
    keys = {key.this.name for key in order.expressions if isinstance(key.this, exp.Column)} if order else set()  # fmt: skip
    for output in select.args.get("expressions", ()):
        if output.alias_or_name in keys and not output.find(exp.AggFunc):
            yield from _own_columns(output, scope)


def _own_columns(node: exp.Expr, scope: Scope) -> list[ColumnName]:
    """The columns of the SELECT's own tables in a part of it, but not in its subqueries."""
    return [
        (column.table, column.name)
        for column in node.find_all(exp.Column)
        if column.table in scope.sources and column.find_ancestor(exp.Select) is scope.expression
    ]


def _is_null_test(condition: exp.Expr) -> bool:
    """Whether what is unknown is asked for itself."""
    null = isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)
    return null and not condition.args.get("negate")


def _equated_columns(condition: exp.Expr | None) -> tuple[exp.Column, exp.Column] | None:
    """The columns of two tables that must be equal."""
    if not isinstance(condition, exp.EQ):
        return None
    one, other = condition.this, condition.expression
    if not (isinstance(one, exp.Column) and isinstance(other, exp.Column)):
        return None
    return (one, other) if one.table != other.table else None


def _conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that must all be met."""
    if condition is None:
        return []
    bare = condition.unnest()
    return list(bare.flatten()) if isinstance(bare, exp.And) else [bare]


# What it looks at


@dataclass
class _JoinedTables:
    """The tables of a SELECT as they are counted, and its conditions on them."""

    scope: Scope
    tables: Mapping[ColumnName, SchemaTable]
    source: exp.Expr
    joins: list[exp.Join]
    conditions: list[exp.Expr]
    optional_tables: set[str] = field(default_factory=set)  # tables that may have no row for one of another
    linking_columns: dict[str, exp.Column] = field(default_factory=dict)  # those with many rows to one, by what links them  # fmt: skip

    @classmethod
    def from_scope(cls, scope: Scope, tables: Mapping[ColumnName, SchemaTable]) -> _JoinedTables:
        select = scope.expression
        where = select.args.get("where")
        tests = [t for t in _conjuncts(where.this if where else None) if _is_local(t, scope)]
        joins = [join.copy() for join in select.args.get("joins") or ()]
        made = cls(scope, tables, select.args["from_"].this.copy(), joins, tests)
        for join, given in zip(joins, select.args.get("joins") or (), strict=True):
            made._convert_join(join, _conjuncts(given.args.get("on")))
        return made

    def _convert_join(self, join: exp.Join, on_conditions: list[exp.Expr]) -> None:
        """Keeps the rows that have none in a table that extends theirs; `on` are its conditions."""
        side, table = join.side, join.alias_or_name
        if side in ("RIGHT", "FULL"):
            self.optional_tables |= set(self.scope.sources)
        if not on_conditions and not side:  # FROM a, b WHERE a.id = b.id
            on_conditions = [test for test in self.conditions if (link := _equated_columns(test)) and table in (link[0].table, link[1].table)][:1]  # fmt: skip
        pair = next((link for test in on_conditions if (link := _equated_columns(test))), None)
        if not side and join.args.get("on"):  # what an inner join asks for besides is a condition
            self.conditions += [test for test in on_conditions if not _equated_columns(test)]
            on_conditions = [test for test in on_conditions if _equated_columns(test)]
            join.set("on", exp.and_(*on_conditions) if on_conditions else exp.true())
        if pair is None:
            self.optional_tables |= {table} if side == "LEFT" else set()
            return
        mine, other = pair if pair[0].table == table else pair[::-1]
        if self._is_extension(mine, other):
            self._make_outer(join, on_conditions)
        elif not side and join is self.joins[0] and self._is_extension(other, mine) and other.table == self.source.alias_or_name:  # fmt: skip
            self.source, outer = join.this.copy(), self.source
            join.set("this", outer)
            self._make_outer(join, on_conditions)
        elif side == "LEFT":
            self.optional_tables.add(table)
            if self._is_foreign_key(mine, other):
                self.linking_columns[table] = mine

    def _make_outer(self, join: exp.Join, on_conditions: Sequence[exp.Expr]) -> None:
        self.conditions = [test for test in self.conditions if test not in on_conditions]
        join.set("on", exp.and_(*on_conditions))
        join.set("kind", None)
        join.set("side", "LEFT")
        self.optional_tables.add(join.alias_or_name)

    def _find_column(self, column: exp.Column) -> tuple[SchemaTable, SchemaColumn] | None:
        """What is known of a column of a table of the database."""
        source = self.scope.sources.get(column.table)
        table = self.tables.get((source.db, source.name)) if isinstance(source, exp.Table) else None
        found = [c for c in table.columns if c.name.lower() == column.name.lower()] if table else []
        return (table, found[0]) if table and found else None

    def _is_foreign_key(self, one: exp.Column, other: exp.Column) -> bool:
        """Whether a column is a foreign key to another."""
        here, there = self._find_column(one), self._find_column(other)
        return bool(here and there and here[1].reference.lower() == f"{there[0].qualified_name}.{there[1].name}".lower())  # fmt: skip

    def _is_extension(self, one: exp.Column, other: exp.Column) -> bool:
        here = self._find_column(one)
        return bool(here and here[1].is_unique and self._is_foreign_key(one, other))

    def presence_conditions(self, name: ColumnName) -> list[exp.Expr]:
        """What is true of the rows that have one in the table of a column."""
        link = self.linking_columns.get(name[0])
        return [exp.Not(this=exp.Is(this=link.copy(), expression=exp.Null()))] if link else []

    def is_never_null(self, name: ColumnName) -> bool:
        if name[0] in self.optional_tables and name[0] not in self.linking_columns:
            return False
        return _is_required(exp.column(name[1], table=name[0]), self)


def _is_required(column: exp.Column, joined: _JoinedTables) -> bool:
    """Whether a column has a value in every row of its table."""
    found = joined._find_column(column)
    return bool(found and found[1].is_required)


def _is_local(condition: exp.Expr, scope: Scope) -> bool:
    """Whether a condition is about nothing but a SELECT's own tables."""
    inner = {part.alias_or_name for part in condition.find_all(exp.Table, exp.Subquery)}
    return all(c.table in scope.sources or c.table in inner for c in condition.find_all(exp.Column))
