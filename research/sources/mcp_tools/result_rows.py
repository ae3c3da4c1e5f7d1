"""Conversion of the records and tables in tool results into lines, one for each row.

A line contains all values of its row with the names of their fields, so that no value is taken for
one of another row: `name: Copper Tower; finished: 1924`. Records are recognised in JSON (structured
content, a text that is JSON or contains some, lines of JSON), in Python literals, in tables within
a text (Markdown, terminal output, separated values), and where a text repeats the same fields.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from research.sources.mcp_tools.text_tables import ResultLine, label_row, read_text_lines

MAX_DEPTH = 8  # levels of JSON
MAX_ROWS = 5_000  # rows of one value
MAX_JSON_FAILURES = 20  # failed attempts to find JSON in a text; after so many it is read as prose
MAX_INLINE_CHARS = 60  # a list whose texts are longer is not written on one line
# Names that carry no information beyond announcing records.
_WRAPPER_NAMES = frozenset(
    {"content", "data", "docs", "documents", "entries", "hits", "items", "list", "output", "page", "records",
     "response", "result", "results", "rows", "value", "values"}
)  # fmt: skip
_EMPTY_VALUES = ("[]", "{}", "null", "None", '""')
_LABEL_FIELDS = ("name", "title", "label", "id", "名称", "标题", "名字", "姓名")
_HEADING_FIELDS = ("columns", "headers", "header", "fields")
_AXIS_FIELDS = ("time", "date", "day", "month", "year", "timestamp", "datetime", "index", *_LABEL_FIELDS)
_JSON_START = re.compile(r"^[ \t]*(?=[\[{])", re.M)
_FENCE_BEFORE, _FENCE_AFTER = re.compile(r"```\w*\s*\Z"), re.compile(r"\s*```[ \t]*(?=\n|\Z)")
_LINE = re.compile(".*")
# Records as Python literals, with their texts, dates and other objects, constants, tuples.
_PYTHON_START = re.compile(r"[\[(]\s*[{\[(]\s*['\"]|\{\s*'")
_PYTHON_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?)
    |(?:datetime\.)?(?:date|datetime)\((?P<day>\d{1,4}(?:,\s?\d{1,6}){2,6})[^()]{0,60}\)
    |\b(?:Decimal|UUID)\((?P<inner>'[^'\\\n]{0,60}')\)
    |\b(?P<word>None|True|False)\b
    |(?P<end>,?\s*[)\]}])|(?P<tuple>\()""",
    re.X,
)
_JSON_CONSTANTS = {"None": "null", "True": "true", "False": "false"}


def read_text(text: str) -> list[ResultLine]:
    """Return the lines of a text, with its records and tables as rows."""
    if text.lstrip()[:1] == '"' and isinstance(inner := parse_json(text), str):  # JSON in JSON
        text = inner
    if text.strip() in _EMPTY_VALUES:
        return []
    lines: list[ResultLine] = []
    for part in _split_json(text):
        lines += read_text_lines(part) if isinstance(part, str) else read_value(part)
    return lines


def read_value(value: Any) -> list[ResultLine]:
    """Return a JSON value as lines, with its records as rows; at most `MAX_ROWS` lines."""
    return [*islice(_value_lines(value, (), 0), MAX_ROWS)]


# JSON


def parse_json(text: str) -> Any:
    """Return the value that a text encodes as JSON, or the text itself if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _split_json(text: str) -> Iterator[Any]:
    """Yield the parts of a text in order: prose as strings, and JSON objects and lists as
    values."""
    decoder, position, failures = json.JSONDecoder(), 0, 0
    tried_python = False
    for start in _JSON_START.finditer(text):
        if start.start() < position or failures == MAX_JSON_FAILURES:
            continue
        try:
            value, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            failures += 1
            value = None if tried_python else _parse_python(text[start.end() :])
            tried_python = tried_python or bool(_PYTHON_START.match(text, start.end()))
            if value is None:
                continue
            end = len(text)
        rest = _LINE.match(text, end)[0]  # type: ignore[index]
        if not value or rest.strip(" \t\r,`"):  # as in [1] Smith et al.
            failures += 1
            continue
        yield _FENCE_BEFORE.sub("", text[position : start.start()])
        yield value
        position = end + len(rest) - len(rest.lstrip(" \t\r,"))
        if fence := _FENCE_AFTER.match(text, position):
            position = fence.end()
    yield text[position:]


def _parse_python(text: str) -> Any:
    """Parse records that are written as Python literals, as some database servers do.

    Return None if the text does not begin with such records.
    """
    if not _PYTHON_START.match(text):
        return None
    try:
        return json.loads(_PYTHON_TOKEN.sub(_python_to_json, text.strip()))
    except (ValueError, RecursionError, SyntaxError):
        return None


def _python_to_json(match: re.Match[str]) -> str:
    """Convert one part of a Python literal to JSON."""
    if literal := match["text"] or match["inner"]:
        return json.dumps(ast.literal_eval(literal))
    if match["day"]:
        day = [f"{int(part):02}" for part in match["day"].split(",")]
        time = ":".join(day[3:6])
        return json.dumps("-".join(day[:3]) + (f" {time}" if time else ""))
    if match["word"]:
        return _JSON_CONSTANTS[match["word"]]
    return "[" if match["tuple"] else match["end"].strip(", \n").replace(")", "]")


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _scalar_text(value: Any) -> str:
    """Return a scalar as text on one line; "" for null."""
    if value is None:
        return ""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)


def _unwrap(value: Any) -> Any:
    """Return a value without its wrapping, and the items of a list likewise.

    A text that is JSON becomes its object or list. A value that comes with its type, such as
    {"type": "number", "number": 40}, and rich text become the bare value. Anything else is returned
    as it is.
    """
    value = _unwrap_item(value)
    return [*map(_unwrap_item, value)] if isinstance(value, list) else value


def _unwrap_item(value: Any) -> Any:
    while isinstance(value, dict):
        if isinstance(value.get("plain_text"), str):
            return value["plain_text"]
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in value or kind == "type":
            return value
        value = value[kind]
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        parsed = parse_json(value)
        return parsed if parsed else value
    return value


def _value_lines(value: Any, path: tuple[str, ...], depth: int, headings: Sequence[str] = ()) -> Iterator[ResultLine]:
    value = _unwrap(value)
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield from _record_lines(value, path, depth)
    elif not isinstance(value, list):
        if text := _scalar_text(value):
            yield ResultLine(f"{_path_prefix(path, ': ')}{text}")
    elif value and all(map(_is_scalar, value)):
        yield from _scalar_lines(value, path)
    elif _is_grid(value):
        yield from _grid_lines(value, path, headings)
    else:
        for item in value:
            yield from _value_lines(item, path, depth + 1)


def _scalar_lines(values: Sequence[Any], path: tuple[str, ...]) -> Iterator[ResultLine]:
    """Yield short scalars joined on one line, or long ones and sentences on a line each."""
    texts = [text for value in values if (text := _scalar_text(value))]
    if _can_inline(texts):
        yield ResultLine(_path_prefix(path, ": ") + ", ".join(texts))
    else:
        yield from map(ResultLine, texts)


def _is_grid(value: Sequence[Any]) -> bool:
    return len(value) > 0 and all(isinstance(row, list) and row and all(map(_is_scalar, row)) for row in value)


def _grid_lines(rows: Sequence[Sequence[Any]], path: tuple[str, ...], headings: Sequence[str]) -> Iterator[ResultLine]:
    """Yield the lists within a list as rows.

    Without `headings` the first list becomes the headings, if all its cells are words and later
    rows have numbers.
    """
    widths = {len(row) for row in rows}
    if not headings and len(rows) > 1 and len(widths) == 1:
        words = all(isinstance(cell, str) and cell.strip() for cell in rows[0])
        if words and any(isinstance(cell, int | float) for row in rows[1:] for cell in row):
            headings, rows = [str(cell) for cell in rows[0]], rows[1:]
    for row in rows:
        yield ResultLine(_path_prefix(path, " — ") + label_row(headings, [_scalar_text(cell) for cell in row]), True)


def _record_lines(record: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[ResultLine]:
    """Yield an object as a row, then the records within it as rows of their own, prefixed with the
    object's label."""
    if columns := _read_columns(record):
        names, rows = columns
        for row in rows:
            yield ResultLine(_path_prefix(path, " — ") + label_row(names, row), True)
        return
    if _is_index(record):
        for name, inner in record.items():
            yield from _record_lines(inner, (*path, name), depth + 1)
        return
    cells: list[str] = []
    nested: list[tuple[str, Any]] = []
    _collect_cells(record, "", depth, cells, nested)
    if cells:
        yield ResultLine(_path_prefix(path, " — ") + "; ".join(cells), True)
    label = next(
        (text for name in _LABEL_FIELDS if _is_scalar(v := record.get(name)) and (text := _scalar_text(v))), ""
    )
    inside = (*path, label[:MAX_INLINE_CHARS]) if label else path
    headings = next((_column_names(record[name]) for name in _HEADING_FIELDS if name in record), ())
    for name, inner in nested:
        if name.lower() not in _HEADING_FIELDS or not headings:
            yield from _value_lines(inner, (*inside, name), depth + 1, headings)


def _collect_cells(
    record: Mapping[str, Any], prefix: str, depth: int, cells: list[str], nested: list[tuple[str, Any]]
) -> None:
    """Add the values of an object and of the objects within it to `cells`, and values that contain
    records of their own to `nested`."""
    for key, value in record.items():
        name, value = f"{prefix}{key}", _unwrap(value)
        if isinstance(value, dict):
            if depth < MAX_DEPTH and not _is_index(value) and not _read_columns(value):
                _collect_cells(value, f"{name}.", depth + 1, cells, nested)
            else:
                nested.append((name, value))
        elif not isinstance(value, list):
            if text := _scalar_text(value):
                cells.append(f"{name}: {text}")
        elif texts := _inline_texts(value):
            if (not prefix and key.lower() in _HEADING_FIELDS) or not _can_inline(texts):
                nested.append((name, value))
            else:
                cells.append(f"{name}: {', '.join(texts)}")
        elif value:
            nested.append((name, value))


def _inline_texts(values: Sequence[Any]) -> list[str]:
    """Return scalars, or objects with one text each, as texts; an empty list if there is any other
    value."""
    scalars = [_single_text(value) for value in values]
    return [text for scalar in scalars if (text := _scalar_text(scalar))] if all(map(_is_scalar, scalars)) else []


def _single_text(value: Any) -> Any:
    """Return the text of an object whose only field is a text, such as an author with a name; any
    other value as it is."""
    single_value = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    return single_value if isinstance(single_value, str) else value


def _can_inline(texts: Sequence[str]) -> bool:
    """Return whether the texts of a list fit on one line: none is long, and none ends like a
    sentence."""
    return all(len(text) <= MAX_INLINE_CHARS and text[-1] not in ".!?。！？" for text in texts)


def _is_index(record: Mapping[str, Any]) -> bool:
    """Return whether an object maps names to records: all its values are objects with fields in
    common."""
    inner = [value for value in map(_unwrap, record.values()) if isinstance(value, dict)]
    if len(inner) < 2 or len(inner) < len(record):
        return False
    return bool(set(inner[0]).intersection(*inner[1:]))


def _read_columns(record: Mapping[str, Any]) -> tuple[list[str], list[list[str]]] | None:
    """Return the column names and rows of an object whose fields are columns, as in hourly weather.

    Return None for any other object. One of the columns has to be an axis, which names the rows.
    """
    values = [*record.values()]
    size = len(values[0]) if values and isinstance(values[0], list) else 0
    is_table = (
        size > 1
        and len(values) > 1
        and all(isinstance(v, list) and len(v) == size and all(map(_is_scalar, v)) for v in values)
    )
    if not is_table or not any(str(name).lower() in _AXIS_FIELDS for name in record):
        return None
    return [*map(str, record)], [[_scalar_text(v[n]) for v in values] for n in range(size)]


def _column_names(value: Any) -> list[str]:
    """Return the names of columns, each given as a text or as an object with a name."""
    items = value if isinstance(value, list) else []
    return [str(i.get("name") or i.get("title") or "") if isinstance(i, dict) else str(i) for i in items]


def _path_prefix(path: Sequence[str], separator: str) -> str:
    """Return the names that lead to a row, followed by the separator; "" if none carries
    information."""
    names = [" ".join(str(name).split()) for name in path if str(name).lower() not in _WRAPPER_NAMES]
    return ", ".join(filter(None, names)) + separator if any(names) else ""
