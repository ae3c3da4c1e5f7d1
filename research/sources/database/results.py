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

from research.core.errors import concealed

Value = None | bool | int | float | str
Type = Literal["integer", "number", "text", "boolean", "date", "datetime", "bytes", "empty"]
Cause = Literal[
    "timeout", "refused", "table", "column", "value", "size", "address", "unreachable", "other"
]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?")  # fmt: skip
_EXACT = 2**53  # whole numbers up to here survive a float
SECONDS = 5.0  # of a statement
MESSAGE = 300  # characters of what an engine says


class Failed(Exception):
    """A statement that passed the guard and yet has no result. `cause` says of what kind the reason is."""

    def __init__(self, cause: Cause, message: str) -> None:
        self.cause = cause
        self.message = concealed(" ".join(message.split()))[:MESSAGE]
        super().__init__(f"{cause}: {self.message}")


class BinarySize(int):
    """The number of bytes of a binary value, in place of the value."""


class Part(NamedTuple):
    """Which rows of a statement are wanted that has passed before: those after the first `skip`, and
    none beyond `most`, the limit that it had itself. The limit in its text is the guard's."""

    skip: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may take. The defaults keep it well below 200 MB of this process."""

    seconds: float = SECONDS
    rows: int = 1_000
    columns: int = 100
    cell: int = 2_000  # characters that are kept of one
    total: int = 2_000_000  # characters of all cells


@dataclass(frozen=True, slots=True)
class Result:
    """The rows. `truncated` says that there are more; `cut` how many cells were shortened."""

    columns: tuple[str, ...]
    types: tuple[Type, ...]
    rows: tuple[tuple[Value, ...], ...]
    seconds: float
    truncated: bool
    cut: int = 0


Stream = tuple[Sequence[str], Iterable[Sequence[object]]]
"""The names of the columns of a statement, and its rows as the engine gives them, one by one."""


def collected(stream: AbstractContextManager[Stream], limits: Limits) -> Result:
    """The result of a statement, as far as it is taken.

    Raises:
        Failed: there is none.
    """
    started = time.monotonic()
    with stream as (names, rows):
        return gather(names, rows, limits, started)


def gather(
    columns: Sequence[str], rows: Iterable[Sequence[object]], limits: Limits, started: float
) -> Result:
    """The result of rows that are taken one by one, until there are enough or they are too long.

    Raises:
        Failed: there are too many columns.
    """
    bounded(columns, limits)
    kept: list[tuple[Value, ...]] = []
    length = cut = 0
    truncated = False
    binary: set[int] = set()
    for row in rows:
        if len(kept) == limits.rows:
            truncated = True
            break
        values = [plain(value) for value in row]
        for place, value in enumerate(values):
            if isinstance(row[place], (bytes, bytearray, memoryview, BinarySize)):
                binary.add(place)
            if isinstance(value, str) and len(value) > limits.cell:
                values[place] = value[: limits.cell] + "…"
                cut += 1
        length += sum(len(value) if isinstance(value, str) else 8 for value in values)
        if length > limits.total and kept:
            truncated = True
            break
        kept.append(tuple(values))
    types = tuple(
        "bytes" if place in binary else of_type([row[place] for row in kept])
        for place in range(len(columns))
    )
    return Result(tuple(columns), types, tuple(kept), time.monotonic() - started, truncated, cut)


def bounded(columns: Sequence[str], limits: Limits) -> None:
    """Raises Failed if there are too many columns."""
    if len(columns) > limits.columns:
        raise Failed("size", f"The result has {len(columns)} columns; at most {limits.columns} may be. Name those you need.")  # fmt: skip


def plain(value: object) -> Value:
    """A value of an engine as one that JSON knows: dates as ISO text, decimals as numbers."""
    if isinstance(value, BinarySize):
        return f"({value} bytes)"
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value) < _EXACT and value == value.to_integral_value():
            return int(value)
        return plain(float(value)) if math.isfinite(float(value)) else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (datetime, date, clock)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"({len(value)} bytes)"
    return str(value)


def of_type(values: Sequence[Value]) -> Type:
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
