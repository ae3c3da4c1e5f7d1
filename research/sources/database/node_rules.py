"""Rules for single nodes of a statement tree: their class, and their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Parser
from sqlglot.errors import SqlglotError

from research.sources.database.allowlist import (
    ALLOWED_CLASSES,
    CAST_TYPES,
    COLLATIONS,
    FORMAT_PATTERNS,
    FUNCTION_NAMES,
    Dialect,
)
from research.sources.database.distance import FUNCTION_NAME as DISTANCE
from research.sources.database.refusals import (
    MAX_SUGGESTIONS,
    RefusedError,
    StatementLimits,
    check_limit,
    unknown_function,
)
from research.sources.database.series import SERIES_HINT

_LIST_HINT = "A series stands in FROM, of values: (VALUES (2007), (2008)) AS series(year)."
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")
NO_TABLE_FUNCTION = "A function cannot stand for a table; read from a table of the schema."
_DATE_TYPES = {"DATE", "DATETIME", "TIMESTAMP", "TIME"}  # SQLite casts these to the number of the year
_NUMBER = re.compile(r"(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?")


def check_node(node: exp.Expr, dialect: Dialect, limits: StatementLimits, sql: str) -> None:
    """Check that the class of a node is listed, and its arguments are allowed.

    `sql` is the text that it was parsed from.

    Raises:
        RefusedError: the node is not allowed.
    """
    if node.depth > limits.max_depth:
        raise RefusedError("limit", "The statement is nested too deeply. Use WITH, or write a simpler one.")
    name = type(node).__name__
    if isinstance(node, exp.Anonymous):
        _check_function(node, dialect)
    elif name not in ALLOWED_CLASSES[dialect]:
        raise _unlisted_node(node, dialect, sql)
    if rule := _RULES.get(name):
        rule(node, dialect, limits)


def _unlisted_node(node: exp.Expr, dialect: Dialect, sql: str) -> RefusedError:
    """Create the refusal of a node whose class is not listed."""
    if isinstance(node, (exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.Unnest, exp.Explode)):
        return RefusedError("function", _LIST_HINT)
    name = _written_name(node, dialect, sql)
    if isinstance(node, exp.Func) and (name or not isinstance(node, exp.Binary)):
        return unknown_function(name or node.sql_name().lower(), dialect)
    if isinstance(node, (exp.Insert, exp.Update, exp.Delete, exp.Create, exp.Drop, exp.Into)):
        return RefusedError("statement", "Only reading is allowed: the statement writes.")
    if isinstance(node, (exp.Placeholder, exp.Parameter)):
        return RefusedError("syntax", "The statement has a placeholder in it; write the value itself.")
    if isinstance(node, exp.ObjectIdentifier):
        return RefusedError("type", f"A cast to {node.name.lower()} is not allowed.")
    if isinstance(node, (exp.Binary, exp.Operator)):
        hint = "a power is power(a, b)" if isinstance(node, exp.BitwiseXor) else "LIKE, =, <, IN and arithmetic are"
        return RefusedError("operator", f"The operator {_operator_sign(node, dialect)} is not allowed; {hint}.")
    return RefusedError("syntax", f"{node.key.upper()} is not allowed in a statement here.")


def _written_name(node: exp.Expr, dialect: Dialect, sql: str) -> str:
    """Return the name of a function as written, because the parser has one class for the functions
    of all engines; "" if no name was written."""
    start, end = node.meta_get("start"), node.meta_get("end")
    if start is not None and end is not None:
        return sql[start : end + 1].lower()
    special_names = Parser.get_or_raise(dialect).parser_class.FUNCTION_PARSERS  # these keep no positions
    words = re.findall(r"\b([a-z_]\w*)\s*\(", sql.lower())
    return next((w for w in words if w.upper() in special_names and w not in FUNCTION_NAMES[dialect]), "")


def _operator_sign(node: exp.Expr, dialect: Dialect) -> str:
    """Return the sign of an operator in the engine's syntax."""
    sides = {"this": exp.column("a"), "expression": exp.column("b")}
    try:
        return type(node)(**sides).sql(dialect).removeprefix("a ").removesuffix(" b")
    except (SqlglotError, ValueError, AttributeError):
        return node.key.upper()


def _check_function(node: exp.Anonymous, dialect: Dialect) -> None:
    """Check a call of a function for which the parser has no class."""
    name = node.this if isinstance(node.this, str) else node.name
    if isinstance(node.this, exp.Identifier) and node.this.args.get("quoted"):
        raise unknown_function(name, dialect)
    if name.lower() not in FUNCTION_NAMES[dialect]:
        raise unknown_function(name.lower(), dialect)
    if name.lower() == "jsonb_agg":
        _check_gathered_once(node)
    if name.lower() == "printf":
        _check_format_text(_format_argument(node), dialect)
    if name.lower() == DISTANCE:
        if len(node.expressions) != 4:
            raise RefusedError("function", "distance_km takes four values: longitude, latitude, longitude, latitude.")
        if any(part is not node and part.name.lower() == DISTANCE for part in node.find_all(exp.Anonymous)):
            raise RefusedError("function", "distance_km cannot be given to itself.")


def _check_format_text(argument: exp.Expr | None, dialect: Dialect) -> None:
    """Check the first argument of printf and format, which sets the width of the text.

    A name in double quotes may still turn out to be a text: see `check_formats`.
    """
    quoted = isinstance(argument, exp.Column) and argument.this.args.get("quoted") and not argument.table
    text = isinstance(argument, exp.Literal) and argument.is_string
    if argument is None or not (text or (quoted and dialect == "sqlite")):
        raise RefusedError("function", "The first argument of format() has to be a text.")
    if not FORMAT_PATTERNS[dialect].fullmatch(argument.name):
        raise RefusedError(
            "function",
            f"The format {argument.name[:60]!r} is not allowed: widths have two digits at most, and * and $ may not be.",
        )


def check_formats(tree: exp.Expr) -> None:
    """Check that all formats in a tree are texts.

    Raises:
        RefusedError: one is a name.
    """
    for call in tree.find_all(exp.Format, exp.Anonymous):
        first = _format_argument(call)
        if first is not None and not isinstance(first, exp.Literal):
            raise RefusedError("function", "The first argument of format() has to be a text.")


def _format_argument(call: exp.Expr) -> exp.Expr | None:
    """Return the format argument of a call; None for a call of another function."""
    if isinstance(call, exp.Format):
        argument = call.this
    else:
        argument = call.expressions[0] if call.name.lower() == "printf" and call.expressions else None
    return argument if isinstance(argument, exp.Expr) else None


def parse_whole_number(node: object, subject: str) -> int:
    """Return the value of a node that is a whole number. Raises RefusedError for any other."""
    if not (isinstance(node, exp.Literal) and node.is_int):
        raise RefusedError("limit", f"{subject} must be a whole number.")
    return int(node.name)


def _check_with(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if node.args.get("recursive"):
        raise RefusedError("statement", f"This WITH RECURSIVE is no series. {SERIES_HINT}")


def _check_table(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    check_plain_table(node)


def check_plain_table(node: exp.Expr, *allowed_clauses: str) -> None:
    """Raise RefusedError if a table has clauses other than a name, an alias and
    `allowed_clauses`."""
    known = ("this", "alias", "db", "catalog", "joins", *allowed_clauses)
    if extra := [key for key, value in node.args.items() if value and key not in known]:
        raise RefusedError("syntax", f"{extra[0].upper()} of a table is not allowed.")


def _check_join(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if (
        node.args.get("method")
        or node.args.get("side", "") not in ("", "LEFT", "RIGHT", "FULL")
        or node.args.get("kind", "") not in ("", "INNER", "OUTER", "CROSS")
    ):
        raise RefusedError("syntax", "Only plain joins are allowed: JOIN … ON or JOIN … USING.")


def _check_lateral(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if not isinstance(node.this, (exp.Subquery, exp.Unnest)) or dialect == "sqlite":
        raise RefusedError("table", NO_TABLE_FUNCTION)


def _check_in(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if node.args.get("field") is not None or node.args.get("unnest") is not None:
        raise RefusedError("syntax", "Write IN (SELECT … FROM …) or IN (value, value).")
    check_limit("values in one IN", len(node.expressions), limits.max_values)


def _check_values(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    check_limit("rows in VALUES", len(node.expressions), limits.max_values)


def _check_select(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if not node.expressions:
        raise RefusedError("statement", "SELECT must name what it selects.")
    if node.args.get("kind") or node.args.get("operation_modifiers"):
        raise RefusedError("syntax", "This form of SELECT is not allowed.")


def _check_array(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if any(isinstance(value, exp.Query) for value in node.expressions):
        raise RefusedError("syntax", "ARRAY may hold values only; write = ANY (SELECT …), or string_agg.")
    check_limit("values in one ARRAY", len(node.expressions), limits.max_values)


def _check_grouping_sets(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    maximum = 5 if isinstance(node, exp.Cube) else limits.max_grouping_sets
    check_limit(f"parts in one {node.key.upper()}", len(node.expressions), maximum)


def _check_decimals(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if (number := node.args.get("decimals")) is not None:
        bare = number.this if isinstance(number, exp.Neg) else number
        if parse_whole_number(bare, "The number of decimals") > 30:
            raise RefusedError("limit", "At most 30 decimals may be.")


def _check_star(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if any(node.args.values()):
        raise RefusedError("syntax", "* cannot be changed by EXCEPT or REPLACE; name the columns.")


def _check_literal(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if len(node.name) > limits.max_literal_characters:
        raise RefusedError(
            "limit", f"A value has {len(node.name)} characters; at most {limits.max_literal_characters} may be."
        )
    if not node.args.get("is_string") and not _NUMBER.fullmatch(node.name):
        raise RefusedError("syntax", f"{node.name[:40]!r} is no number.")


def _check_var(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if not re.fullmatch(r"\w{1,40}", node.name):
        raise RefusedError("syntax", f"{node.name[:40]!r} is not allowed here.")


def _check_cast_type(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    data_type = node.this
    name = data_type.name if isinstance(data_type, exp.DType) else str(data_type)
    if name not in CAST_TYPES[dialect] and not isinstance(data_type, exp.Interval):
        suggestions = ("date(…)",) if dialect == "sqlite" and name in _DATE_TYPES else ("TEXT", "INTEGER", "NUMERIC")
        raise RefusedError("type", f"A cast to {node.sql(dialect)[:60]} is not allowed.", suggestions)
    for parameter in node.expressions:
        if parse_whole_number(parameter.this, "The size of a type") > 1_000:
            raise RefusedError("type", "The size of a type may be at most 1000.")


def _check_collation(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    name = node.args["expression"].name
    if name.lower() not in COLLATIONS[dialect]:
        raise RefusedError(
            "operator", f"The collation {name[:40]!r} is not allowed.", sorted(COLLATIONS[dialect])[:MAX_SUGGESTIONS]
        )


def _check_fetch(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    options = node.args.get("limit_options")
    has_ties = options and options.args.get("with_ties") and dialect != "postgres"
    if has_ties or (options and options.args.get("percent")):
        raise RefusedError("limit", "FETCH may ask for a number of rows only; write LIMIT.")


def _check_date_arithmetic(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    """Refuse date arithmetic in SQLite, which takes a date in a sum for the number of its year."""
    today = isinstance(node.this, (exp.CurrentDate, exp.CurrentTimestamp))
    if today and dialect == "sqlite":
        raise RefusedError("operator", "A date plus or minus days is date('now', '-30 days') in SQLite.")


def _check_limit(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if any(value for key, value in node.args.items() if key != "expression"):
        raise RefusedError("limit", "LIMIT may have a number only.")
    number = node.args.get("expression")
    if isinstance(number, exp.Expr) and number.find(exp.Subquery) and node.find_ancestor(exp.Subquery):
        return  # as for a median; within a subquery it takes no more rows than exist
    parse_whole_number(number, "LIMIT")


def _check_offset(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    skipped = node.args.get("expression")
    if isinstance(skipped, exp.Expr) and skipped.find(exp.Subquery):
        return  # such as half of a count, which the time limit bounds
    if parse_whole_number(skipped, "OFFSET") > limits.max_offset:
        raise RefusedError("limit", f"OFFSET may be at most {limits.max_offset}.")


def _check_format(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    _check_format_text(node.this, dialect)


def _check_random(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if any(node.args.values()):
        raise RefusedError("function", "random() takes nothing.")


def _check_pad(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if parse_whole_number(node.args.get("expression"), "The width of lpad and rpad") > limits.max_width_characters:
        raise RefusedError("limit", f"A text may be filled up to {limits.max_width_characters} characters.")


def _check_unnest(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    lists = node.expressions or [node.this]
    source = lists[0] if len(lists) == 1 and not node.args.get("offset") else None
    if not isinstance(source, (exp.StringToArray, exp.Column)):
        raise RefusedError("table", "unnest takes one list here, such as unnest(string_to_array(text, ',')).")


def _check_bracket(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], (exp.Literal, exp.Neg)):
        raise RefusedError("syntax", "A part of a list is one of its places, such as (array_agg(x))[1].")


def _check_separator(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if not isinstance(node.args.get("expression"), exp.Literal):
        raise RefusedError("function", "The separator of a list has to be a text.")


def _check_list_aggregate(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    if dialect == "postgres":
        _check_gathered_once(node)


def _check_gathered_once(node: exp.Expr) -> None:
    """Check that a list gathered from rows goes into the result, and is not read by another part of the
    statement, because PostgreSQL does not bound the length of lists."""
    context = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    if isinstance(context, exp.Window) and context.this in (node, node.parent):
        raise RefusedError(
            "function", "A list is gathered by GROUP BY here, not OVER a window, where each row would have one."
        )
    if node.find_ancestor(exp.CTE, exp.From, exp.Join, exp.Lateral):
        raise RefusedError(
            "function",
            "Lists are gathered in the last SELECT only, in no part that is read again; there string_agg may be.",
        )


def _check_pattern(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    """Check that a regular expression is short and simple enough to need little memory when it is
    compiled. The time limit bounds its matching."""
    pattern = node.args.get("expression")
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise RefusedError("operator", "A regular expression has to be a text in quotes.")
    text, repetitions = pattern.name, 1
    if (
        len(text) > limits.max_pattern_characters
        or "\\" in re.sub(r"\\[wWsSdDmMyYbB.()\[\]{}*+?|^$/\\-]", "", text)
        or "(?" in text
        or "***" in text[:3]
    ):
        raise RefusedError(
            "operator",
            f"A regular expression has at most {limits.max_pattern_characters} characters here, and no look-around, options and references.",
        )
    for minimum, maximum in _REPETITION.findall(text):
        repetitions *= max(1, int(minimum), int(maximum or 1))
    if repetitions > limits.max_repetitions:
        raise RefusedError("operator", f"A regular expression repeats at most {limits.max_repetitions} times here.")
    if node.args.get("flag"):
        raise RefusedError("operator", "A regular expression takes no flags here.")
    if dialect == "sqlite":
        from research.sources.database.patterns import compile_pattern  # needs RE2, which only patterns on SQLite use

        try:
            compile_pattern(text)
        except ValueError as error:
            raise RefusedError("operator", f"The regular expression {text!r} cannot be read: {error}.") from None


def _check_regexp_replace(node: exp.Expr, dialect: Dialect, limits: StatementLimits) -> None:
    _check_pattern(node, dialect, limits)
    others = [node.args.get(key) for key in ("replacement", "modifiers")]
    if not all(part is None or isinstance(part, exp.Literal) for part in others) or node.args.get("position"):
        raise RefusedError("function", "regexp_replace takes a text, a pattern, what stands instead, and 'g'.")


_RULES: dict[str, Callable[[exp.Expr, Dialect, StatementLimits], None]] = {
    "With": _check_with,
    "Table": _check_table,
    "Join": _check_join,
    "Lateral": _check_lateral,
    "In": _check_in,
    "Values": _check_values,
    "Select": _check_select,
    "Array": _check_array,
    "Cube": _check_grouping_sets,
    "Rollup": _check_grouping_sets,
    "GroupingSets": _check_grouping_sets,
    "Round": _check_decimals,
    "Trunc": _check_decimals,
    "Star": _check_star,
    "Literal": _check_literal,
    "Var": _check_var,
    "DataType": _check_cast_type,
    "Collate": _check_collation,
    "Limit": _check_limit,
    "Fetch": _check_fetch,
    "Offset": _check_offset,
    "Format": _check_format,
    "Rand": _check_random,
    "Pad": _check_pad,
    "Unnest": _check_unnest,
    "Explode": _check_unnest,
    "Bracket": _check_bracket,
    "StringToArray": _check_separator,
    "ArrayToString": _check_separator,
    "ArrayAgg": _check_list_aggregate,
    "JSONArrayAgg": _check_list_aggregate,
    "JSONObjectAgg": _check_list_aggregate,
    "JSONBObjectAgg": _check_list_aggregate,
    "RegexpLike": _check_pattern,
    "RegexpILike": _check_pattern,
    "SimilarTo": _check_pattern,
    "RegexpReplace": _check_regexp_replace,
    "Add": _check_date_arithmetic,
    "Sub": _check_date_arithmetic,
}
