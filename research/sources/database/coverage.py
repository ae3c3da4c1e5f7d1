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

from research.sources.database.allowed import Dialect
from research.sources.database.guard import SQLiteText
from research.sources.database.rewrites import named_columns
from research.sources.database.schema import Column, Schema, Table

SELECTS = 4  # of a statement that are counted
COLUMNS = 6  # of each
_AGGREGATES = ("total", "every", "regr_slope", "regr_intercept", "regr_r2")  # none to the parser

Name = tuple[str, str]  # of a column: what its table is called in the SELECT, and its own


@dataclass(frozen=True, slots=True)
class Count:
    """A statement that counts: for each of `columns` all rows, and those in which it is known. `part`
    says that they are those of a subquery or a WITH part."""

    sql: str
    columns: tuple[str, ...]
    part: bool


def counts(full: exp.Expr, schema: Schema) -> list[Count]:
    """The statements that count for a checked one, those of its outer SELECTs first.

    `full` is its tree, every column of which tells its table, and every table its schema.
    """
    tables = {(table.schema or schema.home, table.name): table for table in schema.tables}
    if schema.dialect != "postgres":  # the others mind no case
        tables = {(schema, name.lower()): table for (schema, name), table in tables.items()}
    out = []
    for scope in reversed(traverse_scope(full)):
        select = scope.expression
        if isinstance(select, exp.Select) and select.args.get("from_"):
            joined = _Joined.of(scope, tables)
            if count := _counting(scope, joined, full, schema.dialect):
                out.append(count)
    return out[:SELECTS]


def _counting(scope: Scope, joined: _Joined, full: exp.Expr, dialect: Dialect) -> Count | None:
    """The statement that counts for one SELECT; None if nothing that it asks for can be unknown."""
    select = scope.expression
    names = [n for n in dict.fromkeys(_asked(scope, joined.tests)) if not joined.surely_known(n)]
    if not names:
        return None
    names = names[:COLUMNS]
    shared = [test for test in joined.tests if not set(_columns(test, scope)) & set(names)]
    found = exp.Select().from_(joined.source).where(*shared)
    found.set("joins", joined.joins)
    for at, name in enumerate(names):
        rest: list[exp.Expr] = [
            exp.func("COALESCE", test.copy(), exp.true())  # what is unknown may meet it
            for test in joined.tests
            if test not in shared and name not in _columns(test, scope)
        ]
        rest += joined.present(name)
        value = exp.column(name[1], table=name[0], quoted=True)
        known = exp.Not(this=exp.Is(this=value, expression=exp.Null()))
        found = found.select(_number(rest, f"rows_{at}"), _number([*rest, known], f"known_{at}"))
    own = [] if select is full else [select.args.get("with_")]
    parts = [part for each in (full.args.get("with_"), *own) if each for part in each.expressions]
    if parts:
        found.set("with_", exp.With(expressions=[part.copy() for part in parts]))
    if dialect == "sqlite":
        for values in list(found.find_all(exp.Values)):
            named_columns(values)
    maker = SQLiteText(dialect="sqlite") if dialect == "sqlite" else None
    text = maker.generate(found) if maker else found.sql(dialect)
    return Count(text, tuple(column for _, column in names), _is_part(select, full))


def _is_part(select: exp.Expr, full: exp.Expr) -> bool:
    """Whether a SELECT is neither the statement nor a branch of it."""
    while select is not full and isinstance(select.parent, (exp.SetOperation, exp.Subquery)):
        if isinstance(select.parent, exp.Subquery) and select.parent is not full:
            return not isinstance(select.parent.parent, exp.SetOperation)
        select = select.parent
    return select is not full


def _number(tests: Sequence[exp.Expr], called: str) -> exp.Expr:
    """How many rows meet all tests."""
    if not tests:
        return exp.alias_(exp.Count(this=exp.Star()), called)
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    case = exp.Case(ifs=[exp.If(this=exp.and_(*tests), true=one)], default=none)
    return exp.alias_(exp.Sum(this=case), called)


# What a SELECT asks for


def _asked(scope: Scope, tests: Iterable[exp.Expr]) -> Iterator[Name]:
    """The columns that it filters, aggregates or ranks by."""
    select = scope.expression
    for test in tests:
        if not (_is_null(test) or _link(test)):
            yield from _columns(test, scope)
    for node in select.find_all(exp.AggFunc, exp.Filter, exp.Anonymous, exp.Order):
        aggregate = not isinstance(node, exp.Anonymous) or node.name.lower() in _AGGREGATES
        if aggregate and node.find_ancestor(exp.Select) is select:
            yield from _columns(node, scope)
    order = select.args.get("order")
    keys = {key.this.name for key in order.expressions if isinstance(key.this, exp.Column)} if order else set()  # fmt: skip
    for output in select.args.get("expressions", ()):
        if output.alias_or_name in keys and not output.find(exp.AggFunc):
            yield from _columns(output, scope)


def _columns(node: exp.Expr, scope: Scope) -> list[Name]:
    """The columns of the SELECT's own tables in a part of it, but not in its subqueries."""
    return [
        (column.table, column.name)
        for column in node.find_all(exp.Column)
        if column.table in scope.sources and column.find_ancestor(exp.Select) is scope.expression
    ]


def _is_null(test: exp.Expr) -> bool:
    """Whether what is unknown is asked for itself."""
    null = isinstance(test, exp.Is) and isinstance(test.expression, exp.Null)
    return null and not test.args.get("negate")


def _link(test: exp.Expr | None) -> tuple[exp.Column, exp.Column] | None:
    """The columns of two tables that must be equal."""
    if not isinstance(test, exp.EQ):
        return None
    one, other = test.this, test.expression
    if not (isinstance(one, exp.Column) and isinstance(other, exp.Column)):
        return None
    return (one, other) if one.table != other.table else None


def _conjuncts(test: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that must all be met."""
    if test is None:
        return []
    bare = test.unnest()
    return list(bare.flatten()) if isinstance(bare, exp.And) else [bare]


# What it looks at


@dataclass
class _Joined:
    """The tables of a SELECT as they are counted, and its conditions on them."""

    scope: Scope
    tables: Mapping[Name, Table]
    source: exp.Expr
    joins: list[exp.Join]
    tests: list[exp.Expr]
    optional: set[str] = field(
        default_factory=set
    )  # tables that may have no row for one of another
    many: dict[str, exp.Column] = field(default_factory=dict)  # those with many rows to one, by what links them  # fmt: skip

    @classmethod
    def of(cls, scope: Scope, tables: Mapping[Name, Table]) -> _Joined:
        select = scope.expression
        where = select.args.get("where")
        tests = [t for t in _conjuncts(where.this if where else None) if _within(t, scope)]
        joins = [join.copy() for join in select.args.get("joins") or ()]
        made = cls(scope, tables, select.args["from_"].this.copy(), joins, tests)
        for join, given in zip(joins, select.args.get("joins") or (), strict=True):
            made._join(join, _conjuncts(given.args.get("on")))
        return made

    def _join(self, join: exp.Join, on: list[exp.Expr]) -> None:
        """Keeps the rows that have none in a table that extends theirs; `on` are its conditions."""
        side, table = join.side, join.alias_or_name
        if side in ("RIGHT", "FULL"):
            self.optional |= set(self.scope.sources)
        if not on and not side:  # FROM a, b WHERE a.id = b.id
            on = [test for test in self.tests if (link := _link(test)) and table in (link[0].table, link[1].table)][:1]  # fmt: skip
        pair = next((link for test in on if (link := _link(test))), None)
        if not side and join.args.get("on"):  # what an inner join asks for besides is a condition
            self.tests += [test for test in on if not _link(test)]
            on = [test for test in on if _link(test)]
            join.set("on", exp.and_(*on) if on else exp.true())
        if pair is None:
            self.optional |= {table} if side == "LEFT" else set()
            return
        mine, other = pair if pair[0].table == table else pair[::-1]
        if self._extends(mine, other):
            self._outer(join, on)
        elif not side and join is self.joins[0] and self._extends(other, mine) and other.table == self.source.alias_or_name:  # fmt: skip
            self.source, outer = join.this.copy(), self.source
            join.set("this", outer)
            self._outer(join, on)
        elif side == "LEFT":
            self.optional.add(table)
            if self._refers(mine, other):
                self.many[table] = mine

    def _outer(self, join: exp.Join, on: Sequence[exp.Expr]) -> None:
        self.tests = [test for test in self.tests if test not in on]
        join.set("on", exp.and_(*on))
        join.set("kind", None)
        join.set("side", "LEFT")
        self.optional.add(join.alias_or_name)

    def _column(self, column: exp.Column) -> tuple[Table, Column] | None:
        """What is known of a column of a table of the database."""
        source = self.scope.sources.get(column.table)
        table = self.tables.get((source.db, source.name)) if isinstance(source, exp.Table) else None
        found = [c for c in table.columns if c.name.lower() == column.name.lower()] if table else []
        return (table, found[0]) if table and found else None

    def _refers(self, one: exp.Column, other: exp.Column) -> bool:
        """Whether a column is a foreign key to another."""
        here, there = self._column(one), self._column(other)
        return bool(here and there and here[1].refers.lower() == f"{there[0].called}.{there[1].name}".lower())  # fmt: skip

    def _extends(self, one: exp.Column, other: exp.Column) -> bool:
        here = self._column(one)
        return bool(here and here[1].unique and self._refers(one, other))

    def present(self, name: Name) -> list[exp.Expr]:
        """What is true of the rows that have one in the table of a column."""
        link = self.many.get(name[0])
        return [exp.Not(this=exp.Is(this=link.copy(), expression=exp.Null()))] if link else []

    def surely_known(self, name: Name) -> bool:
        if name[0] in self.optional and name[0] not in self.many:
            return False
        return _needed(exp.column(name[1], table=name[0]), self)


def _needed(column: exp.Column, joined: _Joined) -> bool:
    """Whether a column has a value in every row of its table."""
    found = joined._column(column)
    return bool(found and found[1].needed)


def _within(test: exp.Expr, scope: Scope) -> bool:
    """Whether a condition is about nothing but a SELECT's own tables."""
    inner = {part.alias_or_name for part in test.find_all(exp.Table, exp.Subquery)}
    return all(c.table in scope.sources or c.table in inner for c in test.find_all(exp.Column))
