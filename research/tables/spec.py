"""The specification of a table in a TOML 1.0 file:

title = "Museums" rows = ["故宫博物院", { name = "Palace Museum", about = "Taipei" }]   # or rows_from =
"museums.csv" sources = ["library", "web"]                                          # without it,
the default ones since = 2026-01-01                                                    # search
again for older results

[[columns]] name = "Ticket" question = "What does a ticket for adults cost?" type = "number"
# text, number, date, yes or no, choice unit = "CNY"

[limits]               # searches, tokens, cost (US dollars), seconds cost = 0.5
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from research.core.records import Column, ColumnType, Grid, Row
from research.readers.table_records import FileTable, UnreadableTableError
from research.tables.row_import import MAX_ROWS, rows_from_file, rows_from_lines

MAX_COLUMNS = 50
MAX_FILE_BYTES = 2_000_000


class TableSpecError(ValueError):
    """The file does not describe a table; the message names the problem."""


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _RowSpec(_StrictModel):
    name: str = Field(min_length=1, max_length=200)
    about: str = Field(default="", max_length=200)


class _ColumnSpec(_StrictModel):
    name: str = Field(min_length=1, max_length=120)
    question: str = Field(default="", max_length=500)
    type: ColumnType = "text"
    unit: str = Field(default="", max_length=40)
    choices: tuple[str, ...] = ()
    hint: str = Field(default="", max_length=500)
    sources: tuple[str, ...] = ()


class _LimitsSpec(_StrictModel):
    searches: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)
    seconds: float = Field(default=0.0, ge=0)


class _TableSpec(_StrictModel):
    title: str = Field(default="", max_length=300)
    rows: list[str | _RowSpec] = []
    rows_from: str = ""
    columns: list[_ColumnSpec] = Field(min_length=1, max_length=MAX_COLUMNS)
    sources: tuple[str, ...] = ()
    since: datetime | date | None = None
    limits: _LimitsSpec = _LimitsSpec()


def load_table_spec(
    path: Path, on_rows_read: Callable[[FileTable], None] = lambda table: None
) -> tuple[Grid, dict[str, Any]]:
    """Load a table from a file, with the options of a run that the file sets.

    `on_rows_read` receives how the file of the rows was read, if they come from a file.

    Raises:
        OSError: the file, or the file of its rows, cannot be read.
        TableSpecError: the file does not describe a table.
    """
    try:
        spec = _TableSpec.model_validate(tomllib.loads(_read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise TableSpecError(f"{path} is no TOML: {error}") from error
    except ValidationError as error:
        details = error.errors()[0]
        location = ".".join(map(str, details["loc"])) or "table"
        raise TableSpecError(f"{path}: {location}: {details['msg']}") from error
    rows = _load_rows(spec, path, on_rows_read)
    if not rows:
        raise TableSpecError(f"{path}: there are no rows")
    columns = tuple(Column(id=f"c{n}", **column_spec.model_dump()) for n, column_spec in enumerate(spec.columns, 1))
    for column in columns:
        if column.type == "choice" and len(column.choices) < 2:
            raise TableSpecError(f"{path}: {column.name}: a choice needs two choices or more")
    grid = Grid(title=spec.title, rows=rows, columns=columns, fresh_after=_to_utc(spec.since))
    options: dict[str, Any] = {k: v for k, v in spec.limits.model_dump().items() if v}
    return grid, options | ({"sources": spec.sources} if spec.sources else {})


def _read_text(path: Path) -> str:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise TableSpecError(f"{path} is too large")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableSpecError(f"{path} is no text in UTF-8") from error


def _load_rows(spec: _TableSpec, path: Path, on_rows_read: Callable[[FileTable], None]) -> tuple[Row, ...]:
    if spec.rows and spec.rows_from:
        raise TableSpecError(f"{path}: rows and rows_from exclude each other")
    if spec.rows_from:
        try:
            imported = rows_from_file(path.parent / spec.rows_from)
        except UnreadableTableError as error:
            raise TableSpecError(f"{spec.rows_from}: {error}") from error
        on_rows_read(imported.table)
        return imported.rows
    lines = (row if isinstance(row, str) else f"{row.name}\t{row.about}" for row in spec.rows[:MAX_ROWS])
    return rows_from_lines("\n".join(" ".join(line.split("\n")) for line in lines))


def _to_utc(since: date | None) -> datetime | None:
    if since is None or isinstance(since, datetime):
        return since.astimezone(UTC) if since else None
    return datetime(since.year, since.month, since.day, tzinfo=UTC)


def describe_table(grid: Grid) -> str:
    """Describe a table in one line: its title, else its rows and columns."""
    comma = "、" if any("\u4e00" <= character <= "\u9fff" for character in grid.rows[0].name) else ", "
    names = comma.join(row.name for row in grid.rows[:5]) + ("…" if len(grid.rows) > 5 else "")
    return grid.title or f"{names}: {comma.join(column.name for column in grid.columns)}"[:300]
