"""Rows of a database as a file, however many: CSV, Excel or Parquet, written as the rows come.

Nothing is held in memory but a batch. Where a format wants the type of a column beforehand, the rows
lie in a file of their own until all are there. Knows no database: the rows are given to it.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from csv import writer
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from pyarrow import parquet as files

from research.citations.markup import encodable
from research.core.records import Rows
from research.export import sheets
from research.export.geo import cell
from research.export.rows import named, rows_table, text_of

ROW_FILES = (".csv", ".xlsx", ".parquet")
BATCH = 5_000  # rows
SHEET = 1_048_576  # rows of a sheet of Excel, that of the headings included
_LONG = 2**63
Row = tuple[Any, ...]
Say = Callable[[int], None]
"""Told how many rows are done so far; with a file in between, a row that lies there is half done."""


def write(path: Path, names: Sequence[str], rows: Iterable[Row], sql: str, say: Say = lambda n: None) -> int:  # fmt: skip
    """Writes rows into a file of the kind that its name says; returns how many.

    Raises:
        OSError: it cannot be written; what there is of it is left.
    """
    made = {".csv": _csv, ".xlsx": _excel, ".parquet": _parquet}[path.suffix.lower()]
    return made(path, named(names), _batches(rows), sql, say)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    there = iter(rows)
    while batch := list(islice(there, BATCH)):
        yield batch


def _csv(path: Path, names: Sequence[str], batches: Iterator[list[Row]], sql: str, say: Say) -> int:
    """As `research.export.rows.csv`."""
    count = 0
    with path.open("w", encoding="utf-8-sig", errors="replace", newline="") as out:
        lines = writer(out)
        lines.writerow([cell(name) for name in names])
        for batch in batches:
            lines.writerows([text_of(value) for value in row] for row in batch)
            count += len(batch)
            say(count)
    return count


def _parquet(
    path: Path, names: Sequence[str], batches: Iterator[list[Row]], sql: str, say: Say
) -> int:
    """As `research.export.rows.parquet`, a group of rows for each batch."""
    with tempfile.TemporaryFile() as spool:
        kinds, count = _spooled(batches, spool, len(names), say)
        empty = rows_table(Rows(sql=sql, names=tuple(names), types=kinds, rows=()))
        told = empty.schema.with_metadata({"sql": encodable(sql).encode()})
        with files.ParquetWriter(path, told) as out:
            for made in _tables(spool, names, kinds, sql, count, say):
                out.write_table(made.cast(told))
    return count


def _excel(
    path: Path, names: Sequence[str], batches: Iterator[list[Row]], sql: str, say: Say
) -> int:
    """A sheet of typed cells, as far as one goes, and one with the statement."""
    with tempfile.TemporaryFile() as spool:
        kinds, count = _spooled(batches, spool, len(names), say)

        def typed() -> Iterator[Row]:
            for made in _tables(spool, names, kinds, sql, count, say):
                yield from zip(*(column.to_pylist() for column in made.columns), strict=True)

        sheets.write(path, names, islice(typed(), SHEET - 1), sql)
    return min(count, SHEET - 1)


# Until all rows are there


def _spooled(
    batches: Iterator[list[Row]], spool: BinaryIO, width: int, say: Say
) -> tuple[tuple[str, ...], int]:
    """Keeps rows in a file; the type of each column, by all its values, and how many rows there are."""
    found: list[set[str]] = [set() for _ in range(width)]
    count = 0
    for batch in batches:
        for at, values in enumerate(zip(*batch, strict=True)):
            if "text" not in found[at]:
                found[at].update(map(_kind, values))
        pickle.dump(batch, spool, pickle.HIGHEST_PROTOCOL)
        count += len(batch)
        say(count // 2)
    spool.seek(0)
    return tuple(map(_together, found)), count


def _tables(
    spool: BinaryIO, names: Sequence[str], kinds: tuple[str, ...], sql: str, count: int, say: Say
) -> Iterator[Any]:
    """The rows that were kept, as tables with one type for each column."""
    done = 0
    while done < count:
        batch = pickle.load(spool)  # noqa: S301 - our own, of before
        yield rows_table(
            Rows.model_construct(sql=sql, names=tuple(names), types=kinds, rows=tuple(batch))
        )
        done += len(batch)
        say((count + done) // 2)


def _kind(value: Any) -> str:
    """The type that a column of such values can have."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -_LONG <= value < _LONG else "text"
    if isinstance(value, float):
        return "number"
    if value[4:5] != "-" or value[7:8] != "-" or value[10:11] not in ("", " ", "T"):
        return "text"
    try:
        if len(value) == 10:
            date.fromisoformat(value)
            return "date"
        return "text" if datetime.fromisoformat(value).tzinfo else "datetime"
    except ValueError:
        return "text"


def _together(kinds: set[str]) -> str:
    kinds = kinds - {""}
    if kinds == {"integer", "number"}:
        return "number"
    return next(iter(kinds)) if len(kinds) == 1 else "text" if kinds else "empty"
