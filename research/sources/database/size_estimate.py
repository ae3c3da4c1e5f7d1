"""Estimate of the largest text and expression that DuckDB would build for a statement, made from its
plan before anything runs.

DuckDB limits its memory in general, but not in two cases: a single text, which a function builds in
one call that cannot be interrupted, and the expressions of views, which DuckDB expands within one
another. `repeat('x', 500000000)` takes a gigabyte, and so do twenty views that each join the text
of the view before with itself. A statement may not contain such a call, but a view may.

Parsed and planned expressions have the same JSON in DuckDB, except for the names of the keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

MAX_TEXT_CHARS = 20_000_000  # characters of the longest text that DuckDB may build
MAX_EXPRESSIONS = 10_000  # expressions at most within one expression
STORED_TEXT_CHARS = 100  # assumed characters of a stored text, whose length is unknown
UNKNOWN_NUMBER = 10**12  # assumed value of a computed number
Node = Mapping[str, Any]


def find_excess(raw: Any, sql: str) -> str:
    """Describe the text or expression of a statement that would be too large for DuckDB; return ""
    if there is none.

    The sizes are upper bounds for constants; a stored text counts as `STORED_TEXT_CHARS`
    characters.
    """
    (plan_json,) = raw.execute("select system.main.json_serialize_plan(?)", [sql]).fetchone() or ("{}",)
    estimate = _SizeEstimate()
    for plan in json.loads(plan_json).get("plans") or ():
        estimate.output_sizes(plan)
    return _describe_excess(estimate.largest)


def find_excessive_views(raw: Any, views: Mapping[str, str]) -> dict[str, str]:
    """Return the views that would build too much, by name in lower case, each with the reason.

    `views` maps names to CREATE statements. A view counts if its own definition is too large, or if
    it reads such a view. The definitions are only parsed, not planned: DuckDB evaluates some
    constants, those of a WHERE and a LIMIT, as soon as it plans.
    """
    excessive: dict[str, str] = {}
    tables_by_view: dict[str, set[str]] = {}
    for name, sql in views.items():
        select = _VIEW_HEADER.sub("", sql, count=1).rstrip("; \n")
        row = raw.execute("select system.main.json_serialize_sql(?)", [select]).fetchone()
        tree, estimate = json.loads(row[0] if row else "{}"), _SizeEstimate()
        estimate.include(tree)
        if reason := _describe_excess(estimate.largest):
            excessive[name.lower()] = reason
        tables_by_view[name.lower()] = set(_table_names(tree))
    while readers := {
        name: excessive[min(tables & excessive.keys())]
        for name, tables in tables_by_view.items()
        if name not in excessive and tables & excessive.keys()
    }:
        excessive |= readers
    return excessive


def _describe_excess(size: ExpressionSize) -> str:
    """Describe the limit that a size exceeds, for a person; return "" if it exceeds none."""
    if size.characters > MAX_TEXT_CHARS:
        return f"it makes a text of about {size.characters:,} characters"
    return f"it is made of {size.expression_count:,} expressions" if size.expression_count > MAX_EXPRESSIONS else ""


_NAME = r'(?:"(?:[^"]|"")*"|[^\s("])+'
_VIEW_HEADER = re.compile(rf'\s*CREATE\s[\sA-Z]*?VIEW\s+{_NAME}\s*(?:\((?:"(?:[^"]|"")*"|[^)"])*\))?\s*AS\s', re.I)


def _table_names(node: Any) -> Iterator[str]:
    """Yield the name of each table in a parsed statement in lower case, without catalog and schema."""
    if isinstance(node, Mapping) and node.get("type") == "BASE_TABLE":
        path = (node.get("qualified_name") or {}).get("path") or [""]
        yield str(path[-1]).lower()
    for value in node.values() if isinstance(node, Mapping) else node:
        if isinstance(value, (Mapping, list)):
            yield from _table_names(value)


class ExpressionSize(NamedTuple):
    """Size of an expression.

    `characters` is the length of the text it produces, and `expression_count` the number of
    expressions in it once DuckDB has expanded the views that it reads.
    """

    characters: int
    expression_count: int = 1


_EXPRESSION_KEYS = ("children", "groups", "expressions")


class _SizeEstimate:
    """Sizes of the expressions of a plan or a parsed statement, and the largest of them."""

    def __init__(self) -> None:
        self.largest = ExpressionSize(0, 0)
        self._cte_columns: dict[object, list[ExpressionSize]] = {}  # the columns of WITH parts, by their index

    def output_sizes(self, operator: Node) -> list[ExpressionSize]:
        """Return the sizes of the columns that a plan operator produces, and include the sizes of all
        expressions below it in the estimate."""
        kind = str(operator.get("type"))
        if kind == "LOGICAL_CTE_REF":
            return self._cte_columns.get(operator.get("cte_index"), [])
        inputs: list[list[ExpressionSize]] = []
        for child in operator.get("children") or ():
            inputs.append(self.output_sizes(child))
            if "CTE" in kind:
                self._cte_columns.setdefault(operator.get("table_index"), inputs[0])
        joined = [size for columns in inputs for size in columns]
        expressions = [each for key in ("groups", "expressions") for each in operator.get(key) or ()]
        own_sizes = [self.expression_size(each, joined) for each in expressions if isinstance(each, Mapping)]
        self.include([each for each in expressions if not isinstance(each, Mapping)])  # the rows of VALUES
        self.include([value for key, value in operator.items() if key not in _EXPRESSION_KEYS])
        if kind == "LOGICAL_PROJECTION" or "AGGREGATE" in kind:
            return own_sizes
        if kind == "LOGICAL_WINDOW":
            return [*joined, *own_sizes]
        if kind in ("LOGICAL_UNION", "LOGICAL_EXCEPT", "LOGICAL_INTERSECT"):
            return [max(sizes) for sizes in zip(*inputs, strict=False)]
        return inputs[-1] if "CTE" in kind and inputs else joined

    def include(self, node: Any) -> None:
        """Include the size of every expression within a node in the estimate."""
        for expression in _outermost_expressions(node):
            self.expression_size(expression, ())

    def expression_size(self, expression: Node, inputs: Sequence[ExpressionSize]) -> ExpressionSize:
        """Return the size of an expression, given the sizes of its input columns, and include it in the
        estimate."""
        if _expression_kind(expression) in _COLUMN_KINDS:
            index = expression.get("index")
            is_known = isinstance(index, int) and index < len(inputs)
            return inputs[int(str(index))] if is_known else max(inputs, default=ExpressionSize(STORED_TEXT_CHARS))
        if _expression_kind(expression) == "CONSTANT":
            return ExpressionSize(len(_constant_text(expression)))
        parts = _outermost_expressions(expression)
        sizes = [self.expression_size(part, inputs) for part in parts]
        length = _result_length(_function_name(expression), parts, [size.characters for size in sizes])
        result = ExpressionSize(length, 1 + sum(size.expression_count for size in sizes))
        self.largest = ExpressionSize(*map(max, self.largest, result))
        return result


def _outermost_expressions(node: Any) -> list[Node]:
    """Return the outermost expressions within a node."""
    expressions: list[Node] = []
    for value in node.values() if isinstance(node, Mapping) else node:
        if isinstance(value, Mapping) and ("expression_class" in value or "class" in value):
            expressions.append(value)
        elif isinstance(value, (Mapping, list)):
            expressions += _outermost_expressions(value)
    return expressions


_COLUMN_KINDS = ("REF", "COLUMN_REF")


def _expression_kind(expression: Node) -> str:
    """Return the class of a parsed or planned expression: CONSTANT, CAST, FUNCTION, …"""
    return str(expression.get("expression_class") or expression.get("class")).removeprefix("BOUND_")


def _constant_text(expression: Node) -> str:
    """Return the value of a constant as text; "" if it has none."""
    literal = expression.get("literal") or {}
    value = literal.get("text", (expression.get("value") or {}).get("value"))
    return "" if value is None else str(value)


def _function_name(expression: Node) -> str:
    """Return the name of a function in lower case, without its schema; "none" for other expressions."""
    path = (expression.get("qname") or {}).get("path") or [expression.get("function_name")]
    return str(path[-1]).lower()


def _number_bound(expression: Node) -> int:
    """Return an upper bound of a number: the value of a constant, the product of such bounds,
    `STORED_TEXT_CHARS` where the number depends on stored rows, as in repeat('*', stars), and else
    `UNKNOWN_NUMBER`."""
    if _expression_kind(expression) == "CONSTANT":
        text = _constant_text(expression)
        return int(text) if re.fullmatch(r"\d{1,15}", text) else UNKNOWN_NUMBER if text[:1].isdigit() else 0
    if _reads_columns(expression):
        return STORED_TEXT_CHARS
    parts = _outermost_expressions(expression)
    if parts and (_function_name(expression) == "__cast" or _expression_kind(expression) == "CAST"):
        return _number_bound(parts[0])
    return prod(map(_number_bound, parts)) if parts and _function_name(expression) == "*" else UNKNOWN_NUMBER


def _reads_columns(expression: Node) -> bool:
    is_column = _expression_kind(expression) in _COLUMN_KINDS
    return is_column or any(map(_reads_columns, _outermost_expressions(expression)))


_JOINING_FUNCTIONS = ("||", "concat", "concat_ws", "list_concat")
_FILLING_FUNCTIONS = ("lpad", "rpad", "bar", "bitstring", "to_base", "list_resize", "array_resize")


def _result_length(function: str, parts: Sequence[Node], lengths: Sequence[int]) -> int:
    """Return an upper bound of the length of a result in characters.

    `lengths` are those of the parts of the expression. Without parts, the result is taken for a stored
    text; the result of a function that is not listed here is no longer than the longest part.
    """
    if not lengths:
        return STORED_TEXT_CHARS
    if function in _JOINING_FUNCTIONS:
        return sum(lengths)
    if function == "repeat":
        return lengths[0] * max((_number_bound(part) for part in parts[1:2]), default=1)
    if function in _FILLING_FUNCTIONS:
        return max(max(map(_number_bound, parts[1:]), default=0), *lengths)
    if function in ("printf", "format"):
        widths = [int(digits[:12]) for digits in re.findall(r"\d+", _constant_text(parts[0]))]
        return sum(lengths) + max(widths, default=0)
    if function == "replace":
        return lengths[0] * max(1, lengths[-1] if len(lengths) > 2 else 1)
    return max(lengths)
