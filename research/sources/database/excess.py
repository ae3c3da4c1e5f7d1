"""Estimate of the largest text and expression that DuckDB would build for a statement, from its
plan, before anything runs.

DuckDB limits its memory in general, but not in two cases: a single text, which a function builds in
one call that cannot be interrupted, and the expressions of views, which DuckDB expands within one
another. `repeat('x', 500000000)` takes a gigabyte, and so do twenty views that each join the text
of the view before with itself. A statement may not contain such a call, but a view may.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

LENGTH = 20_000_000  # characters of the longest text that DuckDB may build
PARTS = 10_000  # expressions at most within one expression
UNIT = 100  # assumed characters of a stored text, whose length is unknown
UNKNOWN = 10**12  # assumed value of a computed number
Node = Mapping[str, Any]


def excess(raw: Any, sql: str) -> str:
    """Describe the text or expression of a statement that would be too large for DuckDB; return ""
    if there is none.

    The sizes are upper bounds for constants; a stored text counts as `UNIT` characters.
    """
    (told,) = raw.execute("select system.main.json_serialize_plan(?)", [sql]).fetchone() or ("{}",)
    estimate = _Estimate()
    for plan in json.loads(told).get("plans") or ():
        estimate.outputs(plan)
    return _excess(estimate.largest)


def excessive_views(raw: Any, views: Mapping[str, str]) -> dict[str, str]:
    """Return the views that would build too much, by name in lower case, each with the reason.

    `views` maps names to CREATE statements. A view counts if its own definition is too large, or if
    it reads such a view. The definitions are only parsed, not planned: DuckDB evaluates some
    constants, those of a WHERE and a LIMIT, as soon as it plans.
    """
    found: dict[str, str] = {}
    read: dict[str, set[str]] = {}
    for name, sql in views.items():
        select = _VIEW.sub("", sql, count=1).rstrip("; \n")
        told = raw.execute("select system.main.json_serialize_sql(?)", [select]).fetchone()
        tree, estimate = json.loads(told[0] if told else "{}"), _Estimate()
        estimate.look(tree)
        if why := _excess(estimate.largest):
            found[name.lower()] = why
        read[name.lower()] = {path[-1].lower() for path in _tables(tree)}
    while more := {name: found[min(below & found.keys())] for name, below in read.items() if name not in found and below & found.keys()}:  # fmt: skip
        found |= more
    return found


def _excess(size: Size) -> str:
    if size.length > LENGTH:
        return f"it makes a text of about {size.length:,} characters"
    return f"it is made of {size.parts:,} expressions" if size.parts > PARTS else ""


_NAME = r'(?:"(?:[^"]|"")*"|[^\s("])+'
_VIEW = re.compile(
    rf'\s*CREATE\s[\sA-Z]*?VIEW\s+{_NAME}\s*(?:\((?:"(?:[^"]|"")*"|[^)"])*\))?\s*AS\s', re.I
)


def _tables(node: Any) -> Iterator[list[str]]:
    """Yield the path of each table in a parsed statement: its name, preceded by catalog and schema
    if given."""
    if isinstance(node, Mapping) and node.get("type") == "BASE_TABLE":
        yield [str(part) for part in (node.get("qualified_name") or {}).get("path") or [""]]
    for value in node.values() if isinstance(node, Mapping) else node:
        if isinstance(value, (Mapping, list)):
            yield from _tables(value)


class Size(NamedTuple):
    """Size of an expression: `length` in characters of the text it produces, and `parts`, the
    number of expressions in it once DuckDB has expanded the views that it reads."""

    length: int
    parts: int = 1


_LOOKED_AT = ("children", "groups", "expressions")


class _Estimate:
    def __init__(self) -> None:
        self.largest = Size(0, 0)
        self._with: dict[object, list[Size]] = {}  # the columns of WITH parts, by their index

    def outputs(self, operator: Node) -> list[Size]:
        """Return the sizes of the columns that a plan operator produces."""
        kind = str(operator.get("type"))
        if kind == "LOGICAL_CTE_REF":
            return self._with.get(operator.get("cte_index"), [])
        inputs: list[list[Size]] = []
        for child in operator.get("children") or ():
            inputs.append(self.outputs(child))
            if "CTE" in kind:
                self._with.setdefault(operator.get("table_index"), inputs[0])
        joined = [size for columns in inputs for size in columns]
        given = [each for key in ("groups", "expressions") for each in operator.get(key) or ()]
        own = [self.size(each, joined) for each in given if isinstance(each, Mapping)]
        self.look([each for each in given if not isinstance(each, Mapping)])  # the rows of VALUES
        self.look([value for key, value in operator.items() if key not in _LOOKED_AT])
        if kind == "LOGICAL_PROJECTION" or "AGGREGATE" in kind:
            return own
        if kind == "LOGICAL_WINDOW":
            return [*joined, *own]
        if kind in ("LOGICAL_UNION", "LOGICAL_EXCEPT", "LOGICAL_INTERSECT"):
            return [max(sizes) for sizes in zip(*inputs, strict=False)]
        return inputs[-1] if "CTE" in kind and inputs else joined

    def look(self, node: Any) -> None:
        """Include the size of every expression within a node in the estimate."""
        for expression in _within(node):
            self.size(expression, ())

    def size(self, expression: Node, inputs: Sequence[Size]) -> Size:
        """Return the size of an expression, given the sizes of its input columns."""
        if _of_a_row(expression):
            at = expression.get("index")
            known = isinstance(at, int) and at < len(inputs)
            return inputs[int(str(at))] if known else max(inputs, default=Size(UNIT))
        if _constant(expression):
            return Size(len(_text(expression)))
        parts = _within(expression)
        sizes = [self.size(part, inputs) for part in parts]
        lengths = [size.length for size in sizes]
        rule = _GROWING.get(_name(expression))
        length = rule(parts, lengths) if rule and lengths else max(lengths, default=UNIT)
        found = Size(length, 1 + sum(size.parts for size in sizes))
        self.largest = Size(*map(max, self.largest, found))
        return found


# Parsed and planned expressions have the same JSON in DuckDB, except for the names of the keys.


def _within(node: Any) -> list[Node]:
    """Return the outermost expressions within a node."""
    found: list[Node] = []
    for value in node.values() if isinstance(node, Mapping) else node:
        if isinstance(value, Mapping) and ("expression_class" in value or "class" in value):
            found.append(value)
        elif isinstance(value, (Mapping, list)):
            found += _within(value)
    return found


def _kind(expression: Node) -> str:
    return str(expression.get("expression_class") or expression.get("class")).removeprefix("BOUND_")


def _constant(expression: Node) -> bool:
    return _kind(expression) == "CONSTANT"


def _text(expression: Node) -> str:
    """Return the value of a constant as text; "" if it has none."""
    literal = expression.get("literal") or {}
    said = literal.get("text", (expression.get("value") or {}).get("value"))
    return "" if said is None else str(said)


def _of_a_row(expression: Node) -> bool:
    return _kind(expression) in ("REF", "COLUMN_REF")


def _name(expression: Node) -> str:
    path = (expression.get("qname") or {}).get("path") or [expression.get("function_name")]
    return str(path[-1]).lower()


def _number(expression: Node) -> int:
    """Return an upper bound of a number: the value of a constant, or `UNIT` where it depends on
    stored rows, as in repeat('*', stars)."""
    if _constant(expression):
        text = _text(expression)
        return (
            int(text) if re.fullmatch(r"\d{1,15}", text) else UNKNOWN if text[:1].isdigit() else 0
        )
    if _has_rows(expression):
        return UNIT
    parts = _within(expression)
    if parts and (_name(expression) == "__cast" or _kind(expression) == "CAST"):
        return _number(parts[0])
    return prod(map(_number, parts)) if parts and _name(expression) == "*" else UNKNOWN


def _has_rows(expression: Node) -> bool:
    return _of_a_row(expression) or any(map(_has_rows, _within(expression)))


def _joined(parts: Sequence[Node], lengths: Sequence[int]) -> int:
    return sum(lengths)


def _repeated(parts: Sequence[Node], lengths: Sequence[int]) -> int:
    return lengths[0] * max((_number(part) for part in parts[1:2]), default=1)


def _filled(parts: Sequence[Node], lengths: Sequence[int]) -> int:
    return max(max(map(_number, parts[1:]), default=0), *lengths)


def _replaced(parts: Sequence[Node], lengths: Sequence[int]) -> int:
    return lengths[0] * max(1, lengths[-1] if len(lengths) > 2 else 1)


def _formatted(parts: Sequence[Node], lengths: Sequence[int]) -> int:
    widths = [int(digits[:12]) for digits in re.findall(r"\d+", _text(parts[0]) if parts else "")]
    return sum(lengths) + max(widths, default=0)


_GROWING: dict[str, Callable[[Sequence[Node], Sequence[int]], int]] = {
    "||": _joined, "concat": _joined, "concat_ws": _joined, "list_concat": _joined,
    "repeat": _repeated,
    "lpad": _filled, "rpad": _filled, "bar": _filled, "bitstring": _filled, "to_base": _filled,
    "list_resize": _filled, "array_resize": _filled,
    "printf": _formatted, "format": _formatted,
    "replace": _replaced,
}  # fmt: skip
"""Functions whose result is longer than what they are given, with how long it becomes."""
