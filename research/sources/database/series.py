"""Expansion of series that a statement generates, such as twelve months or the years 2007 to 2024.

A recursive part that begins with a value, adds a step and ends by a comparison, and
`generate_series` between two values, become lists of values: no engine ever recurses. Any other
recursion (a tree of parts, an end that depends on rows) is refused.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta

from sqlglot import exp

from research.sources.database.allowlist import Dialect
from research.sources.database.refusals import RefusedError, StatementLimits, check_limit

SeriesValue = int | date  # includes datetime, a subclass of date
_DATE_TYPES: dict[object, type[date]] = {
    exp.DType.DATE: date,
    exp.DType.TIMESTAMP: datetime,
    exp.DType.TIMESTAMPTZ: datetime,
}
_STEP_PATTERN = re.compile(r"\s*([+-]?)\s*(\d{1,4})\s*(day|week|month|year|hour)s?\s*", re.IGNORECASE)
_COMPARISONS: dict[type[exp.Expr], Callable[[SeriesValue, SeriesValue], bool]] = {
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.NEQ: operator.ne,
}
SERIES_HINT = (
    "A series begins with a value, adds a step, and ends by a comparison, such as WITH RECURSIVE series(n) AS"
    " (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 12); or it is a list,"
    " such as (VALUES (2007), (2008)) AS series(year)."
)


class _UnsupportedExpressionError(Exception):
    """An expression cannot be evaluated here."""


def expand_recursive_series(tree: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    """Replace recursive WITH parts that are series by lists of values.

    Raises:
        RefusedError: one is no series, or longer than allowed.
    """
    for with_clause in list(tree.find_all(exp.With)):
        if not with_clause.args.get("recursive"):
            continue
        for part in with_clause.expressions:
            name = part.alias.lower()
            if name in {table.name.lower() for table in part.this.find_all(exp.Table) if not table.db}:
                _expand_part(part, dialect, limits)
        with_clause.set("recursive", False)


def _expand_part(part: exp.CTE, dialect: Dialect, limits: StatementLimits) -> None:
    """Replace a recursive WITH part by a list of the values that it generates; raise RefusedError
    if it is no series."""
    alias = part.args["alias"]
    try:
        column, values = _evaluate_part(part.this, alias, dialect, limits)
    except (_UnsupportedExpressionError, OverflowError, ValueError, TypeError):
        raise RefusedError("statement", f"This WITH RECURSIVE is no series. {SERIES_HINT}") from None
    check_limit("rows in a series", len(values), limits.max_series_rows)
    name = exp.to_identifier(column)
    listed = build_values([_literal(value, dialect) for value in values], "listed", [name.copy()])
    part.set("this", exp.select(exp.column(column)).from_(listed))
    if dialect == "sqlite":  # SQLite cannot name the columns of VALUES
        listed.args["alias"].set("columns", None)
        part.set("this", exp.select("*").from_(listed))
        alias.set("columns", [name])


def _evaluate_part(
    union: exp.Expr, alias: exp.TableAlias, dialect: Dialect, limits: StatementLimits
) -> tuple[str, list[SeriesValue]]:
    """Return the column name of a recursive WITH part, and its values: at most one more than allowed.

    Raises:
        _UnsupportedExpressionError: it is no series.
    """
    first, step = (union.left, union.right) if isinstance(union, exp.Union) else (None, None)
    if not (
        _selects_one_value(first, ("expressions",)) and _selects_one_value(step, ("expressions", "from_", "where"))
    ) or _clauses(union) - {"this", "expression", "distinct", "side", "kind"}:
        raise _UnsupportedExpressionError
    assert first and step
    (start,), (next_value,) = first.expressions, step.expressions
    column = alias.columns[0].name if alias.columns else start.alias_or_name
    source, where = step.args.get("from_"), step.args.get("where")
    table = source.this if source and isinstance(source.this, exp.Table) else None
    if table is None or _clauses(table) - {"this", "alias"} or not isinstance(table.this, exp.Identifier):
        raise _UnsupportedExpressionError
    if fold_name(table.this, dialect) != fold_name(alias.this, dialect) or not (where and column):
        raise _UnsupportedExpressionError
    value = _evaluate(start.unalias(), None, "", dialect)
    values = [value]
    while len(values) <= limits.max_series_rows and _evaluate_condition(where.this, value, column, dialect):
        value = _evaluate(next_value.unalias(), value, column, dialect)
        values.append(value)
    return column, values


def _clauses(node: exp.Expr) -> set[str]:
    """Return the names of the arguments that a node has."""
    return {key for key, value in node.args.items() if value}


def _selects_one_value(select: exp.Expr | None, clauses: Sequence[str]) -> bool:
    """Return whether a node is a SELECT of a single value that has no clauses but these."""
    return isinstance(select, exp.Select) and len(select.expressions) == 1 and not _clauses(select) - {*clauses}


def expand_series(series: exp.Expr, dialect: Dialect, limits: StatementLimits) -> list[exp.Expr]:
    """Return the values of a `generate_series` of whole numbers or dates.

    Raises:
        RefusedError: it is none of these, or longer than allowed.
    """
    ends = [series.args.get("start"), series.args.get("end")]
    step = series.args.get("step")
    try:
        first, last = (_evaluate(end, None, "", "postgres") for end in ends)
        is_date = isinstance(first, date)
        if is_date != isinstance(last, date) or (is_date and step is None):
            raise _UnsupportedExpressionError
        values = list(_generate_values(first, last, step, limits))
    except (_UnsupportedExpressionError, OverflowError, ValueError, TypeError):
        raise RefusedError(
            "table",
            "generate_series takes values here, such as generate_series(2007, 2024) or generate_series(DATE '2024-01-01', DATE '2024-12-01', INTERVAL '1 month').",
        ) from None
    check_limit("rows in a series", len(values), limits.max_series_rows)
    has_time_zone = dialect == "postgres" and not isinstance(first, datetime)  # as PostgreSQL does for dates
    has_time_zone = has_time_zone or _cast_type(ends[0]) == exp.DType.TIMESTAMPTZ
    timestamp_type = "timestamptz" if has_time_zone else "timestamp"
    return [
        exp.cast(_literal(value, "sqlite"), timestamp_type) if is_date else _literal(value, "postgres")
        for value in values
    ] or [exp.Null()]


def _generate_values(
    first: SeriesValue, last: SeriesValue, step: exp.Expr | None, limits: StatementLimits
) -> Iterator[SeriesValue]:
    """Yield the values of a series, at most one more than allowed."""
    if isinstance(first, int):
        size = 1 if step is None else _evaluate(step, None, "", "postgres")
        if not isinstance(size, int) or not isinstance(last, int) or size == 0:
            raise _UnsupportedExpressionError
        yield from range(first, last + (1 if size > 0 else -1), size)[: limits.max_series_rows + 1]
        return
    sign, number, unit = _parse_interval(step)
    if not number or isinstance(last, int):
        raise _UnsupportedExpressionError
    current, end = _to_datetime(first), _to_datetime(last)
    for _ in range(limits.max_series_rows + 1):
        if current > end if sign > 0 else current < end:
            return
        yield current
        following = _add_interval(current, sign * number, unit)
        assert isinstance(following, datetime)
        current = following


def fold_name(name: exp.Expr, dialect: Dialect) -> str:
    """Fold a name as the engine does: PostgreSQL respects the case of quoted names, the others of
    none."""
    return name.name if dialect == "postgres" and name.args.get("quoted") else name.name.lower()


def build_values(
    values: Sequence[exp.Expr],
    name: str | exp.Identifier,
    columns: Sequence[exp.Expr],
    *,
    is_numbered: bool = False,
) -> exp.Values:
    """Build a table of one column from values; `is_numbered` adds a second column that numbers them
    from 1."""
    rows = ([value, exp.Literal.number(n)] if is_numbered else [value] for n, value in enumerate(values, 1))
    return exp.Values(
        expressions=[exp.Tuple(expressions=row) for row in rows],
        alias=exp.TableAlias(this=exp.to_identifier(name), columns=list(columns)),
    )


# Evaluation of expressions


def _evaluate_condition(condition: exp.Expr, value: SeriesValue, column: str, dialect: Dialect) -> bool:
    """Evaluate the comparison that ends a series, for one of its values."""
    condition = condition.unnest()
    compare = _COMPARISONS.get(type(condition))
    if compare is None:
        raise _UnsupportedExpressionError
    left = _evaluate(condition.this, value, column, dialect)
    right = _evaluate(condition.expression, value, column, dialect)
    if isinstance(left, datetime) or isinstance(right, datetime):
        left, right = _to_datetime(left), _to_datetime(right)
    if isinstance(left, int) != isinstance(right, int):
        raise _UnsupportedExpressionError
    return compare(left, right)


def _evaluate(node: exp.Expr | None, column_value: SeriesValue | None, column: str, dialect: Dialect) -> SeriesValue:
    """Evaluate an expression in which `column` has the value `column_value`."""
    node = node.unnest() if node else None
    if isinstance(node, exp.Column) and column_value is not None and node.name.lower() == column.lower():
        return column_value
    if dialect == "sqlite" and (text := _quoted_text(node, column)):
        return _parse_date(text)
    if isinstance(node, exp.Neg):
        return _check_range(-_require_integer(_evaluate(node.this, column_value, column, dialect)))
    if isinstance(node, exp.Literal):
        return _parse_date(node.name) if node.is_string else _check_range(int(node.name))
    if isinstance(node, exp.Cast):
        return _evaluate_cast(node, _evaluate(node.this, column_value, column, dialect))
    if isinstance(node, (exp.Add, exp.Sub)):
        sign = 1 if isinstance(node, exp.Add) else -1
        value = _evaluate(node.this, column_value, column, dialect)
        addend = node.expression.unnest()
        if isinstance(addend, exp.Interval) or (isinstance(addend, exp.Cast) and addend.is_type("interval")):
            interval_sign, number, unit = _parse_interval(addend)
            return _add_interval(_to_datetime(value), sign * interval_sign * number, unit)
        number = sign * _require_integer(_evaluate(addend, column_value, column, dialect))
        if isinstance(value, datetime) or (isinstance(value, date) and dialect == "sqlite"):
            raise _UnsupportedExpressionError
        return value + timedelta(days=number) if isinstance(value, date) else _check_range(value + number)
    is_date_call = isinstance(node, exp.Anonymous) and node.name.lower() == "date"
    if isinstance(node, exp.Date) or is_date_call:
        assert node is not None
        return _evaluate_date_call(node, column_value, column, dialect)
    raise _UnsupportedExpressionError


def _quoted_text(node: exp.Expr | None, column: str) -> str:
    """Return the text of a name in double quotes that is no column, which SQLite takes for
    a text."""
    is_quoted = isinstance(node, exp.Column) and not node.table and node.this.args.get("quoted")
    return node.name if node and is_quoted and node.name.lower() != column.lower() else ""


def _evaluate_date_call(node: exp.Expr, column_value: SeriesValue | None, column: str, dialect: Dialect) -> SeriesValue:
    """Evaluate SQLite's date(value, '+1 month')."""
    given = (
        node.expressions
        if isinstance(node, exp.Anonymous)
        else [*filter(None, (node.this, node.args.get("zone"))), *node.expressions]
    )
    value = _evaluate(given[0], column_value, column, dialect)
    for modifier in given[1:]:
        text = modifier.name if isinstance(modifier, exp.Literal) else _quoted_text(modifier, column)
        match = _STEP_PATTERN.fullmatch(text)
        if not match or not isinstance(value, date) or match[3].lower() in ("week", "hour"):
            raise _UnsupportedExpressionError
        value = _add_interval(value, int(f"{match[1]}{match[2]}"), match[3].lower())
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _UnsupportedExpressionError
    return value


def _evaluate_cast(node: exp.Cast, value: SeriesValue) -> SeriesValue:
    target = _DATE_TYPES.get(_cast_type(node))
    if target is None and isinstance(value, int) and node.is_type(*exp.DataType.INTEGER_TYPES):
        return value
    if target is None or isinstance(value, int):
        raise _UnsupportedExpressionError
    return _to_datetime(value) if target is datetime else date(value.year, value.month, value.day)


def _cast_type(node: exp.Expr | None) -> object:
    return node.to.this if isinstance(node, exp.Cast) else None


def _parse_interval(step: exp.Expr | None) -> tuple[int, int, str]:
    """Return the sign, number and unit of a step."""
    text = ""
    if isinstance(step, exp.Interval) and isinstance(step.this, exp.Literal):
        text = f"{step.this.name} {step.args['unit'].name if step.args.get('unit') else ''}"
    elif isinstance(step, exp.Cast) and step.is_type("interval"):
        text = step.this.name
    elif isinstance(step, exp.Literal) and step.is_string:
        text = step.name
    match = _STEP_PATTERN.fullmatch(text)
    if not match:
        raise _UnsupportedExpressionError
    return -1 if match[1] == "-" else 1, int(match[2]), match[3].lower()


def _add_interval(value: SeriesValue, number: int, unit: str) -> SeriesValue:
    """Add a number of units, such as 3 months, to a date."""
    if isinstance(value, int):
        raise _UnsupportedExpressionError
    if unit in ("month", "year"):
        if value.day > 28:
            raise _UnsupportedExpressionError  # engines differ on the month after the 31st
        months = value.year * 12 + value.month - 1 + number * (12 if unit == "year" else 1)
        return value.replace(year=months // 12, month=months % 12 + 1)
    return value + timedelta(**{f"{unit}s": number})


def _parse_date(text: str) -> date:
    """Parse a full date, or a date with a time of day."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return date.fromisoformat(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", text):
        return datetime.fromisoformat(text)
    raise _UnsupportedExpressionError


def _to_datetime(value: SeriesValue) -> datetime:
    if isinstance(value, int):
        raise _UnsupportedExpressionError
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _require_integer(value: SeriesValue) -> int:
    if not isinstance(value, int):
        raise _UnsupportedExpressionError
    return value


def _check_range(number: int) -> int:
    """Return a number that fits into 32 bits, as engines require; raise _UnsupportedExpressionError for
    any other."""
    if abs(number) > 2**31 - 1:
        raise _UnsupportedExpressionError
    return number


def _literal(value: SeriesValue, dialect: Dialect) -> exp.Expr:
    if isinstance(value, int):
        return exp.Literal.number(value)
    text = exp.Literal.string(value.isoformat(" ") if isinstance(value, datetime) else value.isoformat())
    if dialect == "sqlite":
        return text
    return exp.cast(text, "timestamp" if isinstance(value, datetime) else "date")
