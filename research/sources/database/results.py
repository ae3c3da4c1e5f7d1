"""What comes back from an engine, and how much of it may: rows that are bounded on every side."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as clock
from decimal import Decimal
from typing import Literal, NamedTuple

from research.core.errors import mask_secrets

Value = None | bool | int | float | str
ValueType = Literal["integer", "number", "text", "boolean", "date", "datetime", "bytes", "empty"]
ErrorCause = Literal["timeout", "refused", "table", "column", "value", "size", "address", "unreachable", "other"]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?")  # fmt: skip
_MAX_EXACT_INTEGER = 2**53  # whole numbers up to here survive a float
DEFAULT_TIMEOUT_SECONDS = 5.0  # of a statement
MAX_MESSAGE_CHARS = 300  # characters of what an engine says


class ExecutionError(Exception):
    """A statement that passed the guard and yet has no result. `cause` says of what kind the reason is."""

    def __init__(self, cause: ErrorCause, message: str) -> None:
        self.cause = cause
        self.message = mask_secrets(" ".join(message.split()))[:MAX_MESSAGE_CHARS]
        super().__init__(f"{cause}: {self.message}")


class BinarySize(int):
    """The number of bytes of a binary value, in place of the value."""


class RowRange(NamedTuple):
    """Which rows of a statement are wanted that has passed before: those after the first `skip`, and
    none beyond `most`, the limit that it had itself. The limit in its text is the guard's."""

    offset: int = 0
    own_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """What one statement may take. The defaults keep it well below 200 MB of this process."""

    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    max_rows: int = 1_000
    max_columns: int = 100
    max_cell_characters: int = 2_000  # characters that are kept of one
    max_characters: int = 2_000_000  # characters of all cells


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The rows. `truncated` says that there are more; `cut` how many cells were shortened."""

    columns: tuple[str, ...]
    types: tuple[ValueType, ...]
    rows: tuple[tuple[Value, ...], ...]
    duration_seconds: float
    is_truncated: bool
    shortened_cells: int = 0


RowStream = tuple[Sequence[str], Iterable[Sequence[object]]]
"""The names of the columns of a statement, and its rows as the engine gives them, one by one."""


def collect_result(row_stream: AbstractContextManager[RowStream], limits: ResultLimits) -> ExecutionResult:
    """The result of a statement, as far as it is taken.

    Raises:
        Failed: there is none.
    """
    started = time.monotonic()
    with row_stream as (names, rows):
        return gather_rows(names, rows, limits, started)


def gather_rows(
    columns: Sequence[str], rows: Iterable[Sequence[object]], limits: ResultLimits, started: float
) -> ExecutionResult:
    """The result of rows that are taken one by one, until there are enough or they are too long.

    Raises:
        Failed: there are too many columns.
    """
    check_column_count(columns, limits)
    kept: list[tuple[Value, ...]] = []
    length = cut = 0
    truncated = False
    binary: set[int] = set()
    for row in rows:
        if len(kept) == limits.max_rows:
            truncated = True
            break
        values = [to_json_value(value) for value in row]
        for place, value in enumerate(values):
            if isinstance(row[place], (bytes, bytearray, memoryview, BinarySize)):
                binary.add(place)
            if isinstance(value, str) and len(value) > limits.max_cell_characters:
                values[place] = value[: limits.max_cell_characters] + "…"
                cut += 1
        length += sum(len(value) if isinstance(value, str) else 8 for value in values)
        if length > limits.max_characters and kept:
            truncated = True
            break
        kept.append(tuple(values))
    types = tuple(
        "bytes" if place in binary else infer_type([row[place] for row in kept]) for place in range(len(columns))
    )
    return ExecutionResult(tuple(columns), types, tuple(kept), time.monotonic() - started, truncated, cut)


def check_column_count(columns: Sequence[str], limits: ResultLimits) -> None:
    """Raises Failed if there are too many columns."""
    if len(columns) > limits.max_columns:
        raise ExecutionError("size", f"The result has {len(columns)} columns; at most {limits.max_columns} may be. Name those you need.")  # fmt: skip


def to_json_value(value: object) -> Value:
    """A value of an engine as one that JSON knows: dates as ISO text, decimals as numbers."""
    if isinstance(value, BinarySize):
        return f"({value} bytes)"
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value) < _MAX_EXACT_INTEGER and value == value.to_integral_value():
            return int(value)
        return to_json_value(float(value)) if math.isfinite(float(value)) else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (datetime, date, clock)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"({len(value)} bytes)"
    return str(value)


def infer_type(values: Sequence[Value]) -> ValueType:
    """The type of a column by its values, which is the same on every engine."""
    found = [value for value in values if value is not None]
    if not found:
        return "empty"
    if all(isinstance(value, bool) for value in found):
        return "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) for value in found):
        return "integer"
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in found):
        return "number"
    texts = [value if isinstance(value, str) else "" for value in found]
    if all(_DAY.fullmatch(text) for text in texts):
        return "date"
    if all(_MOMENT.fullmatch(text) for text in texts):
        return "datetime"
    return "text"
