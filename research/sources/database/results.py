"""Results of statements: their values, types, rows and limits."""

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
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?")
_MAX_EXACT_INTEGER = 2**53  # whole numbers up to here are exact as floats
DEFAULT_TIMEOUT_SECONDS = 5.0  # seconds for a statement
MAX_MESSAGE_CHARS = 300  # characters of an engine's message


class ExecutionError(Exception):
    """A statement that passed the guard has no result. `cause` is the kind of the reason."""

    def __init__(self, cause: ErrorCause, message: str) -> None:
        self.cause = cause
        self.message = mask_secrets(" ".join(message.split()))[:MAX_MESSAGE_CHARS]
        super().__init__(f"{cause}: {self.message}")


class BinarySize(int):
    """The number of bytes of a binary value, in place of the value."""


class RowRange(NamedTuple):
    """Range of rows of a statement that was checked before: those after the first `offset` rows, up to
    row `own_limit`.

    `own_limit` is the LIMIT with which the statement was written, None if it had none. The LIMIT in the
    checked text may be the guard's.
    """

    offset: int = 0
    own_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """Limits on a statement and its result. The defaults keep it well below 200 MB of this
    process."""

    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    max_rows: int = 1_000
    max_columns: int = 100
    max_cell_characters: int = 2_000  # characters of one cell
    max_characters: int = 2_000_000  # characters of all cells


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """Rows of a statement.

    `is_truncated` means that there are more rows; `shortened_cells` counts the cells that were cut.
    """

    columns: tuple[str, ...]
    types: tuple[ValueType, ...]
    rows: tuple[tuple[Value, ...], ...]
    duration_seconds: float
    is_truncated: bool
    shortened_cells: int = 0


RowStream = tuple[Sequence[str], Iterable[Sequence[object]]]
"""Column names of a statement, and an iterable of its rows as the engine returns them."""


def collect_result(row_stream: AbstractContextManager[RowStream], limits: ResultLimits) -> ExecutionResult:
    """Collect the rows of a stream one by one until a limit is reached.

    Raises:
        ExecutionError: there is no result, or there are too many columns.
    """
    started = time.monotonic()
    with row_stream as (columns, rows):
        check_column_count(columns, limits)
        gathered: list[tuple[Value, ...]] = []
        total_characters = shortened = 0
        truncated = False
        binary_columns: set[int] = set()
        for row in rows:
            if len(gathered) == limits.max_rows:
                truncated = True
                break
            values, shortened_cells = convert_row(row, limits)
            shortened += shortened_cells
            binary_columns.update(
                index
                for index, value in enumerate(row)
                if isinstance(value, (bytes, bytearray, memoryview, BinarySize))
            )
            total_characters += sum(len(value) if isinstance(value, str) else 8 for value in values)
            if total_characters > limits.max_characters and gathered:
                truncated = True
                break
            gathered.append(values)
        types = tuple(
            "bytes" if index in binary_columns else infer_type([row[index] for row in gathered])
            for index in range(len(columns))
        )
        return ExecutionResult(tuple(columns), types, tuple(gathered), time.monotonic() - started, truncated, shortened)


def convert_row(row: Sequence[object], limits: ResultLimits) -> tuple[tuple[Value, ...], int]:
    """Convert the values of a row to JSON types, and cut long texts.

    Returns:
        The values, and the number of cells that were cut.
    """
    values = [to_json_value(value) for value in row]
    shortened = 0
    for index, value in enumerate(values):
        if isinstance(value, str) and len(value) > limits.max_cell_characters:
            values[index] = value[: limits.max_cell_characters] + "…"
            shortened += 1
    return tuple(values), shortened


def check_column_count(columns: Sequence[str], limits: ResultLimits) -> None:
    """Raise ExecutionError if there are too many columns."""
    if len(columns) > limits.max_columns:
        raise ExecutionError(
            "size", f"The result has {len(columns)} columns; at most {limits.max_columns} may be. Name those you need."
        )


def to_json_value(value: object) -> Value:
    """Convert a value of an engine to a JSON value: dates to ISO text, decimals to numbers."""
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
    """Infer the type of a column from its values, the same way for every engine."""
    present = [value for value in values if value is not None]
    if not present:
        return "empty"
    if all(isinstance(value, bool) for value in present):
        return "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return "integer"
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
        return "number"
    texts = [value if isinstance(value, str) else "" for value in present]
    if all(_DAY.fullmatch(text) for text in texts):
        return "date"
    if all(_MOMENT.fullmatch(text) for text in texts):
        return "datetime"
    return "text"
