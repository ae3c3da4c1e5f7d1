"""Whether one node of a tree is allowed: its class, and what its class leaves open."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Parser
from sqlglot.errors import SqlglotError

from research.sources.database.allowed import CLASSES, COLLATIONS, FORMATS, NAMES, TYPES, Dialect
from research.sources.database.distance import NAME as DISTANCE
from research.sources.database.refusals import NEAR, Bounds, Refused, no_function, within
from research.sources.database.series import NO_SERIES

_LIST = "A series stands in FROM, of values: (VALUES (2007), (2008)) AS series(year)."
_REPEATED = re.compile(r"\{(\d+)(?:,(\d*))?\}")
NO_TABLE = "A function cannot stand for a table; read from a table of the schema."
_DATES = {"DATE", "DATETIME", "TIMESTAMP", "TIME"}  # SQLite casts these to the number of the year
_NUMBER = re.compile(r"(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?")


def allow(node: exp.Expr, dialect: Dialect, bounds: Bounds, sql: str) -> None:
    """Passes over a node that is allowed; `sql` is the text that it was read from.

    Raises:
        Refused: it is not.
    """
    if node.depth > bounds.depth:
        raise Refused("limit", "The statement is nested too deeply. Use WITH, or write a simpler one.")  # fmt: skip
    name = type(node).__name__
    if isinstance(node, exp.Anonymous):
        _named(node, dialect)
    elif name not in CLASSES[dialect]:
        raise _unlisted(node, dialect, sql)
    if rule := _RULES.get(name):
        rule(node, dialect, bounds)


def _unlisted(node: exp.Expr, dialect: Dialect, sql: str) -> Refused:
    if isinstance(node, (exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.Unnest, exp.Explode)):
        return Refused("function", _LIST)
    called = _called(node, dialect, sql)
    if isinstance(node, exp.Func) and (called or not isinstance(node, exp.Binary)):
        return no_function(called or node.sql_name().lower(), dialect)
    if isinstance(node, (exp.Insert, exp.Update, exp.Delete, exp.Create, exp.Drop, exp.Into)):
        return Refused("statement", "Only reading is allowed: the statement writes.")
    if isinstance(node, (exp.Placeholder, exp.Parameter)):
        return Refused("syntax", "The statement has a placeholder in it; write the value itself.")  # fmt: skip
    if isinstance(node, exp.ObjectIdentifier):
        return Refused("type", f"A cast to {node.name.lower()} is not allowed.")
    if isinstance(node, (exp.Binary, exp.Operator)):
        instead = "a power is power(a, b)" if isinstance(node, exp.BitwiseXor) else "LIKE, =, <, IN and arithmetic are"  # fmt: skip
        return Refused("operator", f"The operator {_operator(node, dialect)} is not allowed; {instead}.")  # fmt: skip
    return Refused("syntax", f"{node.key.upper()} is not allowed in a statement here.")


def _called(node: exp.Expr, dialect: Dialect, sql: str) -> str:
    """The name of a function as it was written: the parser has one class for those of all engines. ""
    where none was."""
    start, end = node.meta_get("start"), node.meta_get("end")
    if start is not None and end is not None:
        return sql[start : end + 1].lower()
    special = Parser.get_or_raise(dialect).parser_class.FUNCTION_PARSERS  # these keep no places
    words = re.findall(r"\b([a-z_]\w*)\s*\(", sql.lower())
    return next((w for w in words if w.upper() in special and w not in NAMES[dialect]), "")


def _operator(node: exp.Expr, dialect: Dialect) -> str:
    """The sign of an operator, as the engine has it."""
    sides = {"this": exp.column("a"), "expression": exp.column("b")}
    try:
        return type(node)(**sides).sql(dialect).removeprefix("a ").removesuffix(" b")
    except (SqlglotError, ValueError, AttributeError):
        return node.key.upper()


def _named(node: exp.Anonymous, dialect: Dialect) -> None:
    """A function that the parser has no class for."""
    name = node.this if isinstance(node.this, str) else node.name
    if isinstance(node.this, exp.Identifier) and node.this.args.get("quoted"):
        raise no_function(name, dialect)
    if name.lower() not in NAMES[dialect]:
        raise no_function(name.lower(), dialect)
    if name.lower() == "jsonb_agg":
        _once(node)
    if name.lower() == "printf":
        _format(_first(node), dialect)
    if name.lower() == DISTANCE:
        if len(node.expressions) != 4:
            raise Refused("function", "distance_km takes four values: longitude, latitude, longitude, latitude.")  # fmt: skip
        if any(part is not node and part.name.lower() == DISTANCE for part in node.find_all(exp.Anonymous)):  # fmt: skip
            raise Refused("function", "distance_km cannot be given to itself.")


def _format(first: exp.Expr | None, dialect: Dialect) -> None:
    """The first argument of printf and format, which says how wide a text becomes.

    A name in double quotes may yet turn out to be a text: see `said`.
    """
    quoted = isinstance(first, exp.Column) and first.this.args.get("quoted") and not first.table
    text = isinstance(first, exp.Literal) and first.is_string
    if first is None or not (text or (quoted and dialect == "sqlite")):
        raise Refused("function", "The first argument of format() has to be a text.")
    if not FORMATS[dialect].fullmatch(first.name):
        raise Refused("function", f"The format {first.name[:60]!r} is not allowed: widths have two digits at most, and * and $ may not be.")  # fmt: skip


def said(tree: exp.Expr) -> None:
    """Passes over a tree all of whose formats are texts.

    Raises:
        Refused: one is a name.
    """
    for call in tree.find_all(exp.Format, exp.Anonymous):
        first = _first(call)
        if first is not None and not isinstance(first, exp.Literal):
            raise Refused("function", "The first argument of format() has to be a text.")


def _first(call: exp.Expr) -> exp.Expr | None:
    """The format of a call; None if it is of another function."""
    if isinstance(call, exp.Format):
        found = call.this
    else:
        found = call.expressions[0] if call.name.lower() == "printf" and call.expressions else None
    return found if isinstance(found, exp.Expr) else None


def whole(node: object, what: str) -> int:
    """The number of a node that is a whole number."""
    if not (isinstance(node, exp.Literal) and node.is_int):
        raise Refused("limit", f"{what} must be a whole number.")
    return int(node.name)


def _with(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if node.args.get("recursive"):
        raise Refused("statement", f"This WITH RECURSIVE is no series. {NO_SERIES}")


def _table(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    plain_table(node)


def plain_table(node: exp.Expr, *besides: str) -> None:
    """Raise Refused if a table has clauses other than a name, an alias and those `besides`."""
    known = ("this", "alias", "db", "catalog", "joins", *besides)
    if extra := [key for key, value in node.args.items() if value and key not in known]:
        raise Refused("syntax", f"{extra[0].upper()} of a table is not allowed.")


def _join(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if (
        node.args.get("method")
        or node.args.get("side", "") not in ("", "LEFT", "RIGHT", "FULL")
        or node.args.get("kind", "") not in ("", "INNER", "OUTER", "CROSS")
    ):
        raise Refused("syntax", "Only plain joins are allowed: JOIN … ON or JOIN … USING.")


def _lateral(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if not isinstance(node.this, (exp.Subquery, exp.Unnest)) or dialect == "sqlite":
        raise Refused("table", NO_TABLE)


def _in(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if node.args.get("field") is not None or node.args.get("unnest") is not None:
        raise Refused("syntax", "Write IN (SELECT … FROM …) or IN (value, value).")
    within("values in one IN", len(node.expressions), bounds.values)


def _values(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    within("rows in VALUES", len(node.expressions), bounds.values)


def _select(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if not node.expressions:
        raise Refused("statement", "SELECT must name what it selects.")
    if node.args.get("kind") or node.args.get("operation_modifiers"):
        raise Refused("syntax", "This form of SELECT is not allowed.")


def _array(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if any(isinstance(value, exp.Query) for value in node.expressions):
        raise Refused("syntax", "ARRAY may hold values only; write = ANY (SELECT …), or string_agg.")  # fmt: skip
    within("values in one ARRAY", len(node.expressions), bounds.values)


def _sets(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    most = 5 if isinstance(node, exp.Cube) else bounds.sets
    within(f"parts in one {node.key.upper()}", len(node.expressions), most)


def _digits(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if (number := node.args.get("decimals")) is not None:
        bare = number.this if isinstance(number, exp.Neg) else number
        if whole(bare, "The number of decimals") > 30:
            raise Refused("limit", "At most 30 decimals may be.")


def _star(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if any(node.args.values()):
        raise Refused("syntax", "* cannot be changed by EXCEPT or REPLACE; name the columns.")


def _literal(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if len(node.name) > bounds.literal:
        raise Refused("limit", f"A value has {len(node.name)} characters; at most {bounds.literal} may be.")  # fmt: skip
    if not node.args.get("is_string") and not _NUMBER.fullmatch(node.name):
        raise Refused("syntax", f"{node.name[:40]!r} is no number.")


def _var(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if not re.fullmatch(r"\w{1,40}", node.name):
        raise Refused("syntax", f"{node.name[:40]!r} is not allowed here.")


def _type(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    kind = node.this
    name = kind.name if isinstance(kind, exp.DType) else str(kind)
    if name not in TYPES[dialect] and not isinstance(kind, exp.Interval):
        near = ("date(…)",) if dialect == "sqlite" and name in _DATES else ("TEXT", "INTEGER", "NUMERIC")  # fmt: skip
        raise Refused("type", f"A cast to {node.sql(dialect)[:60]} is not allowed.", near)
    for parameter in node.expressions:
        if whole(parameter.this, "The size of a type") > 1_000:
            raise Refused("type", "The size of a type may be at most 1000.")


def _collate(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    name = node.args["expression"].name
    if name.lower() not in COLLATIONS[dialect]:
        raise Refused("operator", f"The collation {name[:40]!r} is not allowed.", sorted(COLLATIONS[dialect])[:NEAR])  # fmt: skip


def _fetch(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    options = node.args.get("limit_options")
    ties = options and options.args.get("with_ties") and dialect != "postgres"
    if ties or (options and options.args.get("percent")):
        raise Refused("limit", "FETCH may ask for a number of rows only; write LIMIT.")


def _days(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    """SQLite takes a date in a sum for the number of its year."""
    today = isinstance(node.this, (exp.CurrentDate, exp.CurrentTimestamp))
    if today and dialect == "sqlite":
        raise Refused("operator", "A date plus or minus days is date('now', '-30 days') in SQLite.")


def _limit(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if any(value for key, value in node.args.items() if key != "expression"):
        raise Refused("limit", "LIMIT may have a number only.")
    number = node.args.get("expression")
    if (
        isinstance(number, exp.Expr)
        and number.find(exp.Subquery)
        and node.find_ancestor(exp.Subquery)
    ):
        return  # the two in the middle of an even number: it takes no more rows than there are
    whole(number, "LIMIT")


def _offset(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    skipped = node.args.get("expression")
    if isinstance(skipped, exp.Expr) and skipped.find(exp.Subquery):
        return  # such as half of a count: the clock bounds it, as it does what is counted
    if whole(skipped, "OFFSET") > bounds.offset:
        raise Refused("limit", f"OFFSET may be at most {bounds.offset}.")


def _formatted(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    _format(node.this, dialect)


def _random(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if any(node.args.values()):
        raise Refused("function", "random() takes nothing.")


def _pad(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if whole(node.args.get("expression"), "The width of lpad and rpad") > bounds.width:
        raise Refused("limit", f"A text may be filled up to {bounds.width} characters.")


def _unnest(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    lists = node.expressions or [node.this]
    one = lists[0] if len(lists) == 1 and not node.args.get("offset") else None
    if not isinstance(one, (exp.StringToArray, exp.Column)):
        raise Refused("table", "unnest takes one list here, such as unnest(string_to_array(text, ',')).")  # fmt: skip


def _bracket(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], (exp.Literal, exp.Neg)):
        raise Refused("syntax", "A part of a list is one of its places, such as (array_agg(x))[1].")


def _separated(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if not isinstance(node.args.get("expression"), exp.Literal):
        raise Refused("function", "The separator of a list has to be a text.")


def _gathered(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    if dialect == "postgres":
        _once(node)


def _once(node: exp.Expr) -> None:
    """What rows are gathered into stays in the result: PostgreSQL bounds no list, so none is read again."""
    above = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    if isinstance(above, exp.Window) and above.this in (node, node.parent):
        raise Refused("function", "A list is gathered by GROUP BY here, not OVER a window, where each row would have one.")  # fmt: skip
    if node.find_ancestor(exp.CTE, exp.From, exp.Join, exp.Lateral):
        raise Refused("function", "Lists are gathered in the last SELECT only, in no part that is read again; there string_agg may be.")  # fmt: skip


def _pattern(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    """A regular expression that can be prepared in little memory; on a server, matching it heeds the
    clock."""
    pattern = node.args.get("expression")
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise Refused("operator", "A regular expression has to be a text in quotes.")
    text, times = pattern.name, 1
    if len(text) > bounds.pattern or "\\" in re.sub(r"\\[wWsSdDmMyYbB.()\[\]{}*+?|^$/\\-]", "", text) or "(?" in text or "***" in text[:3]:  # fmt: skip
        raise Refused("operator", f"A regular expression has at most {bounds.pattern} characters here, and no look-around, options and references.")  # fmt: skip
    for least, most in _REPEATED.findall(text):
        times *= max(1, int(least), int(most or 1))
    if times > bounds.repeated:
        raise Refused("operator", f"A regular expression repeats at most {bounds.repeated} times here.")  # fmt: skip
    if node.args.get("flag"):
        raise Refused("operator", "A regular expression takes no flags here.")
    if dialect == "sqlite":
        from research.sources.database.patterns import compiled  # a library, for those who use it

        try:
            compiled(text)
        except ValueError as error:
            raise Refused("operator", f"The regular expression {text!r} cannot be read: {error}.") from None  # fmt: skip


def _regexp_replace(node: exp.Expr, dialect: Dialect, bounds: Bounds) -> None:
    _pattern(node, dialect, bounds)
    rest = [node.args.get(key) for key in ("replacement", "modifiers")]
    if not all(part is None or isinstance(part, exp.Literal) for part in rest) or node.args.get("position"):  # fmt: skip
        raise Refused("function", "regexp_replace takes a text, a pattern, what stands instead, and 'g'.")  # fmt: skip


_RULES: dict[str, Callable[[exp.Expr, Dialect, Bounds], None]] = {
    "With": _with,
    "Table": _table,
    "Join": _join,
    "Lateral": _lateral,
    "In": _in,
    "Values": _values,
    "Select": _select,
    "Array": _array,
    "Cube": _sets,
    "Rollup": _sets,
    "GroupingSets": _sets,
    "Round": _digits,
    "Trunc": _digits,
    "Star": _star,
    "Literal": _literal,
    "Var": _var,
    "DataType": _type,
    "Collate": _collate,
    "Limit": _limit,
    "Fetch": _fetch,
    "Offset": _offset,
    "Format": _formatted,
    "Rand": _random,
    "Pad": _pad,
    "Unnest": _unnest,
    "Explode": _unnest,
    "Bracket": _bracket,
    "StringToArray": _separated,
    "ArrayToString": _separated,
    "ArrayAgg": _gathered,
    "JSONArrayAgg": _gathered,
    "JSONObjectAgg": _gathered,
    "JSONBObjectAgg": _gathered,
    "RegexpLike": _pattern,
    "RegexpILike": _pattern,
    "SimilarTo": _pattern,
    "RegexpReplace": _regexp_replace,
    "Add": _days,
    "Sub": _days,
}
