"""JSON files as text for the library: records as lines, each value with its path of names.

Source of JSON lines: https://jsonlines.org.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from research.readers.drafts import FileDraft, TextBlock, UnreadableFileError, decode_text, one_line, too_deep_error
from research.readers.table_text import row_lines
from research.readers.tabular_text import add_lines

MAX_INTEGER_DIGITS = 1_000  # longer ones stay text
MAX_DEPTH = 50  # of nested objects; what is deeper stays JSON in a cell


def read_json(data: bytes) -> FileDraft:
    """Read a JSON document: arrays of objects are tables, and other objects are lists of names and values.

    Raises:
        UnreadableFileError: it is not JSON, or it is nested too deep.
    """
    text = decode_text(data)
    draft = FileDraft()
    try:
        document = _parse(text)
    except ValueError:
        document = list(_parse_lines(text))  # some programs write JSON lines with the suffix .json
    _add_value(draft, document, ())
    return draft


def read_json_lines(data: bytes) -> FileDraft:
    """Read JSON lines: each line is an object, or another value.

    Raises:
        UnreadableFileError: a line is not JSON, or it is nested too deep.
    """
    draft = FileDraft()
    _add_value(draft, list(_parse_lines(decode_text(data))), ())
    return draft


def _parse_lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield _parse(line)
            except ValueError:
                raise UnreadableFileError("unreadable", f"Line {number:,} of the file is not JSON.") from None


class _Decimal(float):
    """A number with decimals, which keeps the text that stands in the file."""

    written: str

    def __new__(cls, text: str) -> _Decimal:
        number = super().__new__(cls, text)
        number.written = text
        return number


def _parse_integer(text: str) -> int | str:
    return int(text) if len(text) <= MAX_INTEGER_DIGITS else text


def _parse(text: str) -> Any:
    """Parse JSON; numbers stay as they are written."""
    try:
        return json.loads(text, parse_float=_Decimal, parse_int=_parse_integer, parse_constant=str)
    except RecursionError:
        raise too_deep_error() from None


def _add_value(draft: FileDraft, value: Any, path: tuple[str, ...]) -> None:
    """Add a value under a path of names; arrays of objects within an object have paths of their own."""
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        _add_records(draft, value, path)
    elif isinstance(value, dict):
        tables = {name: entry for name, entry in value.items() if _is_table(entry)}
        cells = _flatten({name: entry for name, entry in value.items() if name not in tables})
        if lines := [f"{one_line(name)}: {text}" for name, text in cells.items() if text]:
            draft.blocks.append(TextBlock("\n".join(lines), path))
        for name, entry in tables.items():
            _add_value(draft, entry, (*path, one_line(name)))
    elif isinstance(value, list):
        add_lines(draft, (one_line(text) for text in map(_cell_text, value)), path)
    elif text := _cell_text(value):
        draft.blocks.append(TextBlock(text, path))


def _is_table(value: Any) -> bool:
    """Return True for an array of objects, or an object that holds one at some depth."""
    for _ in range(MAX_DEPTH):
        if isinstance(value, list):
            return any(isinstance(entry, dict) for entry in value)
        if not isinstance(value, dict) or len(value) != 1:
            break
        (value,) = value.values()
    return isinstance(value, dict) and any(
        isinstance(entry, list) and any(isinstance(item, dict) for item in entry) for entry in value.values()
    )


def _add_records(draft: FileDraft, records: Sequence[Any], path: tuple[str, ...]) -> None:
    """Add an array of objects as a table; the columns are all names in the order of their first appearance."""
    rows = [_flatten(record) if isinstance(record, dict) else {"": _cell_text(record)} for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    add_lines(draft, row_lines(names, ([row.get(name, "") for name in names] for row in rows)), path)


def _flatten(record: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, str]:
    """Return the values of an object as texts, those of nested objects by names such as `address.city`."""
    cells: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, dict) and depth < MAX_DEPTH:
            cells |= _flatten(value, f"{prefix}{name}.", depth + 1)
        else:
            cells[f"{prefix}{name}"] = _cell_text(value)
    return cells


def _cell_text(value: Any) -> str:
    """Return a value as text: an array of plain values joined by commas, anything more complex as JSON."""
    if isinstance(value, list) and not any(isinstance(entry, list | dict) for entry in value):
        return ", ".join(filter(None, map(_cell_text, value)))
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _Decimal):
        return value.written
    return "" if value is None else re.sub(r"\s+", " ", str(value))
