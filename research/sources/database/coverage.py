"""Coverage of a statement: for each column that it compares, the number of rows with a known value.

A statement compares the columns that it filters, aggregates or ranks by. A row whose price is
unknown matches no `price > 50`, enters no average and is among no first ten, so a result covers
only the rows whose values are known. To measure this, the rows of each SELECT are counted without
its conditions on a column: all rows that the other conditions do not rule out, and the part of them
in which the column has a value. The counting statement is derived from the checked one, and goes
through the guard like any other.

An inner join drops rows that have no partner in the other table. Where that table has at most one
row for each row of the first (a unique foreign key), a missing partner counts as unknown; where it
has many, only rows with a partner are counted.

Columns that are only selected are not counted, because their empty cells can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from research.sources.database.allowlist import Dialect
from research.sources.database.rewrites import rewrite_named_values
from research.sources.database.schema import Schema, SchemaColumn, SchemaTable
from research.sources.database.validator import generate_sqlite

MAX_SELECTS = 4  # SELECTs of a statement for which rows are counted
MAX_COLUMNS = 6  # columns of each SELECT
# Aggregates for which the parser has no class.
_UNPARSED_AGGREGATES = ("total", "every", "regr_slope", "regr_intercept", "regr_r2")

ColumnName = tuple[str, str]  # alias of the column's table in the SELECT, and name of the column
TablesByName = Mapping[tuple[str, str], SchemaTable]  # by schema and name


@dataclass(frozen=True, slots=True)
class CoverageQuery:
    """A counting statement, whose single row has two numbers for each of `columns`: the number of all
    rows, and the number of rows in which the column is known.

    `is_part` is true if the rows are those of a subquery or a WITH part.
    """

    sql: str
    columns: tuple[str, ...]
    is_part: bool


def build_coverage_queries(qualified: exp.Expr, schema: Schema) -> list[CoverageQuery]:
    """Build the counting statements for a checked statement, those of its outer SELECTs first.

    `qualified` is the statement's tree, in which every column names its table and every table its
    schema.
    """
    tables = {(table.schema or schema.default_schema, table.name): table for table in schema.tables}
    if schema.dialect != "postgres":  # the other engines ignore case
        tables = {(schema_name, name.lower()): table for (schema_name, name), table in tables.items()}
    queries = []
    for scope in reversed(traverse_scope(qualified)):
        select = scope.expression
        if isinstance(select, exp.Select) and select.args.get("from_"):
            joined = _JoinedTables.from_scope(scope, tables)
            if query := _build_query(scope, joined, qualified, schema.dialect):
                queries.append(query)
    return queries[:MAX_SELECTS]


def _build_query(scope: Scope, joined: _JoinedTables, qualified: exp.Expr, dialect: Dialect) -> CoverageQuery | None:
    """Build the counting statement for one SELECT; return None if none of the columns that it compares
    can be NULL."""
    select = scope.expression
    names = [n for n in dict.fromkeys(_compared_columns(scope, joined.conditions)) if not joined.is_never_null(n)]
    if not names:
        return None
    names = names[:MAX_COLUMNS]
    shared = [condition for condition in joined.conditions if not set(_local_columns(condition, scope)) & set(names)]
    query = exp.Select().from_(joined.source).where(*shared)
    query.set("joins", joined.joins)
    for index, name in enumerate(names):
        conditions: list[exp.Expr] = [
            exp.func("COALESCE", condition.copy(), exp.true())  # an unknown value may meet the condition
            for condition in joined.conditions
            if condition not in shared and name not in _local_columns(condition, scope)
        ]
        conditions += joined.partner_conditions(name)
        known = _has_value(exp.column(name[1], table=name[0], quoted=True))
        query = query.select(
            _count_expression(conditions, f"rows_{index}"), _count_expression([*conditions, known], f"known_{index}")
        )
    ctes = [] if select is qualified else [select.args.get("with_")]
    parts = [part for each in (qualified.args.get("with_"), *ctes) if each for part in each.expressions]
    if parts:
        query.set("with_", exp.With(expressions=[part.copy() for part in parts]))
    if dialect == "sqlite":
        for values in list(query.find_all(exp.Values)):
            rewrite_named_values(values)
    text = generate_sqlite(query) if dialect == "sqlite" else query.sql(dialect)
    return CoverageQuery(text, tuple(column for _, column in names), _is_subquery(select, qualified))


def _is_subquery(select: exp.Expr, qualified: exp.Expr) -> bool:
    """Return whether a SELECT is a subquery or a WITH part: neither the whole statement nor a branch of
    its UNION."""
    while select is not qualified and isinstance(select.parent, (exp.SetOperation, exp.Subquery)):
        if isinstance(select.parent, exp.Subquery) and select.parent is not qualified:
            return not isinstance(select.parent.parent, exp.SetOperation)
        select = select.parent
    return select is not qualified


def _count_expression(conditions: Sequence[exp.Expr], alias: str) -> exp.Expr:
    """Build an expression that counts the rows which meet all conditions."""
    if not conditions:
        return exp.alias_(exp.Count(this=exp.Star()), alias)
    case = exp.case().when(exp.and_(*conditions), "1").else_("0")
    return exp.alias_(exp.Sum(this=case), alias)


# Columns and conditions of a SELECT


def _compared_columns(scope: Scope, conditions: Iterable[exp.Expr]) -> Iterator[ColumnName]:
    """Yield the columns that a SELECT filters, aggregates or ranks by."""
    select = scope.expression
    for condition in conditions:
        if not (_is_null_test(condition) or _equated_columns(condition)):
            yield from _local_columns(condition, scope)
    for node in select.find_all(exp.AggFunc, exp.Filter, exp.Anonymous, exp.Order):
        aggregate = not isinstance(node, exp.Anonymous) or node.name.lower() in _UNPARSED_AGGREGATES
        if aggregate and node.find_ancestor(exp.Select) is select:
            yield from _local_columns(node, scope)
    order = select.args.get("order")
    keys = {key.this.name for key in order.expressions if isinstance(key.this, exp.Column)} if order else set()
    for output in select.args.get("expressions", ()):
        if output.alias_or_name in keys and not output.find(exp.AggFunc):
            yield from _local_columns(output, scope)


def _local_columns(node: exp.Expr, scope: Scope) -> list[ColumnName]:
    """Return the columns in a node that belong to the SELECT's own tables, without those in its
    subqueries."""
    return [
        (column.table, column.name)
        for column in node.find_all(exp.Column)
        if column.table in scope.sources and column.find_ancestor(exp.Select) is scope.expression
    ]


def _has_value(column: exp.Expr) -> exp.Expr:
    """Build the condition that a column is not NULL."""
    return column.is_(exp.null()).not_()


def _is_null_test(condition: exp.Expr) -> bool:
    """Return whether a condition is IS NULL, which selects the unknown values themselves."""
    null = isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)
    return null and not condition.args.get("negate")


def _equated_columns(condition: exp.Expr | None) -> tuple[exp.Column, exp.Column] | None:
    """Return the two columns of a join condition `a.x = b.y`; None for any other condition."""
    if not isinstance(condition, exp.EQ):
        return None
    left, right = condition.this, condition.expression
    if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
        return None
    return (left, right) if left.table != right.table else None


def _split_at_and(condition: exp.Expr | None) -> list[exp.Expr]:
    """Split a condition at its top-level ANDs; [] for None."""
    if condition is None:
        return []
    condition = condition.unnest()
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


# Joins of a SELECT


@dataclass
class _JoinedTables:
    """The tables of a SELECT joined for counting, and its conditions on them."""

    scope: Scope
    tables: TablesByName
    source: exp.Expr
    joins: list[exp.Join]
    conditions: list[exp.Expr]
    optional_tables: set[str] = field(default_factory=set)  # tables of outer joins, which may have no partner row
    # Foreign keys of tables that have many rows for one row of another table, by alias.
    linking_columns: dict[str, exp.Column] = field(default_factory=dict)

    @classmethod
    def from_scope(cls, scope: Scope, tables: TablesByName) -> _JoinedTables:
        """Collect the tables, joins and conditions of a SELECT."""
        select = scope.expression
        where = select.args.get("where")
        conditions = [t for t in _split_at_and(where.this if where else None) if _is_local(t, scope)]
        joins = [join.copy() for join in select.args.get("joins") or ()]
        joined = cls(scope, tables, select.args["from_"].this.copy(), joins, conditions)
        for join, original_join in zip(joins, select.args.get("joins") or (), strict=True):
            joined._convert_join(join, _split_at_and(original_join.args.get("on")))
        return joined

    def _convert_join(self, join: exp.Join, on_conditions: list[exp.Expr]) -> None:
        """Turn a join into an outer join if the joined table extends another one, so that rows
        without a partner are counted as unknown. `on_conditions` are the conditions of its ON."""
        side, table = join.side, join.alias_or_name
        if side in ("RIGHT", "FULL"):
            self.optional_tables |= set(self.scope.sources)
        if not on_conditions and not side:  # FROM a, b WHERE a.id = b.id
            on_conditions = [
                condition
                for condition in self.conditions
                if (link := _equated_columns(condition)) and table in (link[0].table, link[1].table)
            ][:1]
        pair = next((link for condition in on_conditions if (link := _equated_columns(condition))), None)
        if not side and join.args.get("on"):  # other conditions of an inner join count as WHERE conditions
            self.conditions += [condition for condition in on_conditions if not _equated_columns(condition)]
            on_conditions = [condition for condition in on_conditions if _equated_columns(condition)]
            join.set("on", exp.and_(*on_conditions) if on_conditions else exp.true())
        if pair is None:
            self.optional_tables |= {table} if side == "LEFT" else set()
            return
        own_column, other_column = pair if pair[0].table == table else pair[::-1]
        if self._is_unique_foreign_key(own_column, other_column):
            self._make_left_join(join, on_conditions)
        elif (
            not side
            and join is self.joins[0]
            and self._is_unique_foreign_key(other_column, own_column)
            and other_column.table == self.source.alias_or_name
        ):
            self.source, outer = join.this.copy(), self.source
            join.set("this", outer)
            self._make_left_join(join, on_conditions)
        elif side == "LEFT":
            self.optional_tables.add(table)
            if self._is_foreign_key(own_column, other_column):
                self.linking_columns[table] = own_column

    def _make_left_join(self, join: exp.Join, on_conditions: Sequence[exp.Expr]) -> None:
        """Turn a join into a LEFT JOIN on these conditions, which then no longer count as conditions of
        WHERE."""
        self.conditions = [condition for condition in self.conditions if condition not in on_conditions]
        join.set("on", exp.and_(*on_conditions))
        join.set("kind", None)
        join.set("side", "LEFT")
        self.optional_tables.add(join.alias_or_name)

    def _find_column(self, column: exp.Column) -> tuple[SchemaTable, SchemaColumn] | None:
        """Return a column's table and its entry in the schema; None if it belongs to no table of the
        schema."""
        source = self.scope.sources.get(column.table)
        table = self.tables.get((source.db, source.name)) if isinstance(source, exp.Table) else None
        matches = [c for c in table.columns if c.name.lower() == column.name.lower()] if table else []
        return (table, matches[0]) if table and matches else None

    def _is_foreign_key(self, column: exp.Column, target: exp.Column) -> bool:
        """Return whether a column is a foreign key to another column."""
        own, other = self._find_column(column), self._find_column(target)
        return bool(own and other and own[1].reference.lower() == f"{other[0].qualified_name}.{other[1].name}".lower())

    def _is_unique_foreign_key(self, column: exp.Column, target: exp.Column) -> bool:
        """Return whether a column is a unique foreign key to another column."""
        source = self._find_column(column)
        return bool(source and source[1].is_unique and self._is_foreign_key(column, target))

    def partner_conditions(self, name: ColumnName) -> list[exp.Expr]:
        """Return the condition that a row has a partner in the table of a column, as a list; [] if the
        column needs no partner."""
        link = self.linking_columns.get(name[0])
        return [_has_value(link.copy())] if link else []

    def is_never_null(self, name: ColumnName) -> bool:
        """Return whether a column has a value in every joined row."""
        if name[0] in self.optional_tables and name[0] not in self.linking_columns:
            return False
        match = self._find_column(exp.column(name[1], table=name[0]))
        return bool(match and match[1].is_required)


def _is_local(condition: exp.Expr, scope: Scope) -> bool:
    """Return whether a condition refers to no table of an outer SELECT."""
    inner = {part.alias_or_name for part in condition.find_all(exp.Table, exp.Subquery)}
    return all(c.table in scope.sources or c.table in inner for c in condition.find_all(exp.Column))
