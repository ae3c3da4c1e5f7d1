"""Series that a statement makes of nothing, counted out here: twelve months, the years 2007 to 2024.

A recursive part that begins with a value, adds a step and ends by a comparison, and `generate_series`
between two values, are lists of values to the engines: neither ever recurses. What is no such series
(a tree of parts, an end that rows tell) is refused.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta

from sqlglot import exp

from research.database.allowed import Dialect
from research.database.refusals import Bounds, Refused, within

Value = int | date  # a datetime is a date too
_KINDS: dict[object, type[date]] = {
    exp.DType.DATE: date,
    exp.DType.TIMESTAMP: datetime,
    exp.DType.TIMESTAMPTZ: datetime,
}
_STEP = re.compile(r"\s*([+-]?)\s*(\d{1,4})\s*(day|week|month|year|hour)s?\s*", re.IGNORECASE)
_TESTS: dict[type[exp.Expr], Callable[[Value, Value], bool]] = {
    exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt, exp.GTE: operator.ge,
    exp.NEQ: operator.ne,
}  # fmt: skip
NO_SERIES = (
    "A series begins with a value, adds a step, and ends by a comparison, such as WITH RECURSIVE series(n) AS"
    " (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 12); or it is a list,"
    " such as (VALUES (2007), (2008)) AS series(year)."
)


class _Unread(Exception):
    """An expression is none that can be reckoned here."""


def counted(tree: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    """Recursive parts that are series become lists of values.

    Raises:
        Refused: one is no series, or longer than it may be.
    """
    for written in list(tree.find_all(exp.With)):
        if not written.args.get("recursive"):
            continue
        for part in written.expressions:
            name = part.alias.lower()
            if name in {table.name.lower() for table in part.this.find_all(exp.Table) if not table.db}:  # fmt: skip
                _count_out(part, dialect, bounds)
        written.set("recursive", False)


def _count_out(part: exp.CTE, dialect: Dialect, bounds: Bounds) -> None:
    union, alias = part.this, part.args["alias"]
    first, step = (union.left, union.right) if isinstance(union, exp.Union) else (None, None)
    if not (_is_plain(first, ("expressions",)) and _is_plain(step, ("expressions", "from_", "where"))):  # fmt: skip
        raise Refused("statement", f"This WITH RECURSIVE is no series. {NO_SERIES}")
    if {key for key, value in union.args.items() if value} - {"this", "expression", "distinct", "side", "kind"}:  # fmt: skip
        raise Refused("statement", f"This WITH RECURSIVE is no series. {NO_SERIES}")
    assert first and step
    (start,), (following,) = first.expressions, step.expressions
    column = alias.columns[0].name if alias.columns else start.alias_or_name
    source, where = step.args.get("from_"), step.args.get("where")
    own = (
        source.this.this
        if source
        and isinstance(source.this, exp.Table)
        and not {key for key, value in source.this.args.items() if value} - {"this", "alias"}
        else None
    )
    known = isinstance(own, exp.Identifier) and _folded(own, dialect) == _folded(
        alias.this, dialect
    )
    if not (known and where and column):
        raise Refused("statement", f"This WITH RECURSIVE is no series. {NO_SERIES}")
    try:
        value = _value(start.unalias(), None, "", dialect)
        values = [value]
        while len(values) <= bounds.series and _holds(where.this, value, column, dialect):
            value = _value(following.unalias(), value, column, dialect)
            values.append(value)
    except (_Unread, OverflowError, ValueError, TypeError):
        raise Refused("statement", f"This WITH RECURSIVE is no series. {NO_SERIES}") from None
    within("rows in a series", len(values), bounds.series)
    name = exp.to_identifier(column)
    listed = listing([_literal(value, dialect) for value in values], "listed", [name.copy()])
    part.set("this", exp.select(exp.column(column)).from_(listed))
    if dialect == "sqlite":  # which has no names for the columns of VALUES
        listed.args["alias"].set("columns", None)
        part.set("this", exp.select("*").from_(listed))
        alias.set("columns", [name])


def _is_plain(select: exp.Expr | None, parts: Sequence[str]) -> bool:
    """Whether a SELECT of one value has these parts and no others."""
    return (
        isinstance(select, exp.Select)
        and len(select.expressions) == 1
        and not any(value for key, value in select.args.items() if key not in parts)
    )


def spread(series: exp.Expr, dialect: Dialect, bounds: Bounds) -> list[exp.Expr]:
    """The values of `generate_series`, of whole numbers or of dates.

    Raises:
        Refused: it is none of these, or longer than it may be.
    """
    ends = [series.args.get("start"), series.args.get("end")]
    step = series.args.get("step")
    try:
        first, last = (_value(end, None, "", "postgres") for end in ends)
        dates = isinstance(first, date)
        if dates != isinstance(last, date) or (dates and step is None):
            raise _Unread
        values = list(_steps(first, last, step, bounds))
    except (_Unread, OverflowError, ValueError, TypeError):
        raise Refused("table", "generate_series takes values here, such as generate_series(2007, 2024) or generate_series(DATE '2024-01-01', DATE '2024-12-01', INTERVAL '1 month').") from None  # fmt: skip
    within("rows in a series", len(values), bounds.series)
    zoned = dialect == "postgres" and not isinstance(first, datetime)  # so the server has it
    zoned = zoned or _kind(ends[0]) == exp.DType.TIMESTAMPTZ
    kind = "timestamptz" if zoned else "timestamp"
    return [
        exp.cast(_literal(value, "sqlite"), kind) if dates else _literal(value, "postgres")
        for value in values
    ] or [exp.Null()]


def _steps(first: Value, last: Value, step: exp.Expr | None, bounds: Bounds) -> Iterator[Value]:
    """The values from one to another, one more at most than a series may have."""
    if isinstance(first, int):
        size = 1 if step is None else _value(step, None, "", "postgres")
        if not isinstance(size, int) or not isinstance(last, int) or size == 0:
            raise _Unread
        yield from range(first, last + (1 if size > 0 else -1), size)[: bounds.series + 1]
        return
    sign, number, unit = _interval(step)
    if not number or isinstance(last, int):
        raise _Unread
    now, end = _instant(first), _instant(last)
    for _ in range(bounds.series + 1):
        if now > end if sign > 0 else now < end:
            return
        yield now
        moved = _moved(now, sign * number, unit)
        assert isinstance(moved, datetime)
        now = moved


def _folded(name: exp.Expr, dialect: Dialect) -> str:
    return name.name if dialect == "postgres" and name.args.get("quoted") else name.name.lower()


def listing(
    values: Sequence[exp.Expr],
    name: str | exp.Identifier,
    columns: Sequence[exp.Expr],
    *,
    numbered: bool = False,
) -> exp.Values:
    """Values as a table of one column, or of two, the second of which numbers them from 1."""
    rows = ([value, exp.Literal.number(n)] if numbered else [value] for n, value in enumerate(values, 1))  # fmt: skip
    return exp.Values(
        expressions=[exp.Tuple(expressions=row) for row in rows],
        alias=exp.TableAlias(this=exp.to_identifier(name), columns=list(columns)),
    )


# Expressions that are reckoned here


def _holds(test: exp.Expr, value: Value, column: str, dialect: Dialect) -> bool:
    bare = test.unnest()
    compare = _TESTS.get(type(bare))
    if compare is None:
        raise _Unread
    one = _value(bare.this, value, column, dialect)
    other = _value(bare.expression, value, column, dialect)
    if isinstance(one, datetime) or isinstance(other, datetime):
        one, other = _instant(one), _instant(other)
    if isinstance(one, int) != isinstance(other, int):
        raise _Unread
    return compare(one, other)


def _value(node: exp.Expr | None, own: Value | None, column: str, dialect: Dialect) -> Value:
    """What an expression comes to, where `column` is `own`."""
    node = node.unnest() if node else None
    if isinstance(node, exp.Column) and own is not None and node.name.lower() == column.lower():
        return own
    if dialect == "sqlite" and (text := _quoted(node, column)):
        return _date(text)
    if isinstance(node, exp.Neg):
        return _whole(-_number(_value(node.this, own, column, dialect)))
    if isinstance(node, exp.Literal):
        return _date(node.name) if node.is_string else _whole(int(node.name))
    if isinstance(node, exp.Cast):
        return _cast(node, _value(node.this, own, column, dialect))
    if isinstance(node, (exp.Add, exp.Sub)):
        sign = 1 if isinstance(node, exp.Add) else -1
        value = _value(node.this, own, column, dialect)
        added = node.expression.unnest()
        if isinstance(added, exp.Interval) or (isinstance(added, exp.Cast) and added.is_type("interval")):  # fmt: skip
            way, number, unit = _interval(added)
            return _moved(_instant(value), sign * way * number, unit)
        number = sign * _number(_value(added, own, column, dialect))
        if isinstance(value, datetime) or (isinstance(value, date) and dialect == "sqlite"):
            raise _Unread
        return value + timedelta(days=number) if isinstance(value, date) else _whole(value + number)
    called = isinstance(node, exp.Anonymous) and node.name.lower() == "date"
    if isinstance(node, exp.Date) or called:
        assert node is not None
        return _modified(node, own, column, dialect)
    raise _Unread


def _quoted(node: exp.Expr | None, column: str) -> str:
    """What a name in double quotes says that is no column, which SQLite takes for a text."""
    quoted = isinstance(node, exp.Column) and not node.table and node.this.args.get("quoted")
    return node.name if node and quoted and node.name.lower() != column.lower() else ""


def _modified(node: exp.Expr, own: Value | None, column: str, dialect: Dialect) -> Value:
    """SQLite's date(value, '+1 month')."""
    given = node.expressions if isinstance(node, exp.Anonymous) else [*filter(None, (node.this, node.args.get("zone"))), *node.expressions]  # fmt: skip
    value = _value(given[0], own, column, dialect)
    for modifier in given[1:]:
        text = modifier.name if isinstance(modifier, exp.Literal) else _quoted(modifier, column)
        found = _STEP.fullmatch(text)
        if not found or not isinstance(value, date) or found[3].lower() in ("week", "hour"):
            raise _Unread
        value = _moved(value, int(f"{found[1]}{found[2]}"), found[3].lower())
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _Unread
    return value


def _cast(node: exp.Cast, value: Value) -> Value:
    kind = _KINDS.get(_kind(node))
    if kind is None and isinstance(value, int) and node.is_type(*exp.DataType.INTEGER_TYPES):
        return value
    if kind is None or isinstance(value, int):
        raise _Unread
    return _instant(value) if kind is datetime else date(value.year, value.month, value.day)


def _kind(node: exp.Expr | None) -> object:
    return node.to.this if isinstance(node, exp.Cast) else None


def _interval(step: exp.Expr | None) -> tuple[int, int, str]:
    """The sign of a step, its number and its unit."""
    text = ""
    if isinstance(step, exp.Interval) and isinstance(step.this, exp.Literal):
        text = f"{step.this.name} {step.args['unit'].name if step.args.get('unit') else ''}"
    elif isinstance(step, exp.Cast) and step.is_type("interval"):
        text = step.this.name
    elif isinstance(step, exp.Literal) and step.is_string:
        text = step.name
    found = _STEP.fullmatch(text)
    if not found:
        raise _Unread
    return -1 if found[1] == "-" else 1, int(found[2]), found[3].lower()


def _moved(value: Value, number: int, unit: str) -> Value:
    if isinstance(value, int):
        raise _Unread
    if unit in ("month", "year"):
        if value.day > 28:
            raise _Unread  # engines differ in what a month after the 31st is
        months = value.year * 12 + value.month - 1 + number * (12 if unit == "year" else 1)
        return value.replace(year=months // 12, month=months % 12 + 1)
    return value + timedelta(**{f"{unit}s": number})


def _date(text: str) -> date:
    """A date as it is written in full, without a time of the day or with one."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return date.fromisoformat(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", text):
        return datetime.fromisoformat(text)
    raise _Unread


def _instant(value: Value) -> datetime:
    if isinstance(value, int):
        raise _Unread
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise _Unread
    return value


def _whole(number: int) -> int:
    if abs(number) > 2**31 - 1:
        raise _Unread
    return number


def _literal(value: Value, dialect: Dialect) -> exp.Expr:
    if isinstance(value, int):
        return exp.Literal.number(value)
    text = exp.Literal.string(value.isoformat(" ") if isinstance(value, datetime) else value.isoformat())  # fmt: skip
    if dialect == "sqlite":
        return text
    return exp.cast(text, "timestamp" if isinstance(value, datetime) else "date")
