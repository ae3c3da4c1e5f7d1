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

from research.citations.model_markdown import replace_surrogates
from research.core.records import QueryResult
from research.export import streaming_excel
from research.export.database_rows import csv_text, rows_arrow_table, unique_names
from research.export.geo import spreadsheet_cell

ROW_FILE_SUFFIXES = (".csv", ".xlsx", ".parquet")
BATCH_ROWS = 5_000  # rows
MAX_SHEET_ROWS = 1_048_576  # rows of a sheet of Excel, that of the headings included
_INT64_LIMIT = 2**63
DatabaseRow = tuple[Any, ...]
ProgressCallback = Callable[[int], None]
"""Told how many rows are done so far; with a file in between, a row that lies there is half done."""


def write_rows_file(path: Path, names: Sequence[str], rows: Iterable[DatabaseRow], sql: str, report_progress: ProgressCallback = lambda n: None) -> int:  # fmt: skip
    """Writes rows into a file of the kind that its name says; returns how many.

    Raises:
        OSError: it cannot be written; what there is of it is left.
    """
    made = {".csv": _write_csv, ".xlsx": _write_excel, ".parquet": _write_parquet}[path.suffix.lower()]
    return made(path, unique_names(names), _iter_batches(rows), sql, report_progress)


def _iter_batches(rows: Iterable[DatabaseRow]) -> Iterator[list[DatabaseRow]]:
    there = iter(rows)
    while batch := list(islice(there, BATCH_ROWS)):
        yield batch


def _write_csv(
    path: Path, names: Sequence[str], batches: Iterator[list[DatabaseRow]], sql: str, report_progress: ProgressCallback
) -> int:
    """As `research.export.database_rows.csv`."""
    count = 0
    with path.open("w", encoding="utf-8-sig", errors="replace", newline="") as out:
        lines = writer(out)
        lines.writerow([spreadsheet_cell(name) for name in names])
        for batch in batches:
            lines.writerows([csv_text(value) for value in row] for row in batch)
            count += len(batch)
            report_progress(count)
    return count


def _write_parquet(
    path: Path, names: Sequence[str], batches: Iterator[list[DatabaseRow]], sql: str, report_progress: ProgressCallback
) -> int:
    """As `research.export.database_rows.parquet`, a group of rows for each batch."""
    with tempfile.TemporaryFile() as spool:
        kinds, count = _spool_rows(batches, spool, len(names), report_progress)
        empty = rows_arrow_table(QueryResult(sql=sql, names=tuple(names), types=kinds, rows=()))
        told = empty.schema.with_metadata({"sql": replace_surrogates(sql).encode()})
        with files.ParquetWriter(path, told) as out:
            for made in _read_spooled(spool, names, kinds, sql, count, report_progress):
                out.write_table(made.cast(told))
    return count


def _write_excel(
    path: Path, names: Sequence[str], batches: Iterator[list[DatabaseRow]], sql: str, report_progress: ProgressCallback
) -> int:
    """A sheet of typed cells, as far as one goes, and one with the statement."""
    with tempfile.TemporaryFile() as spool:
        kinds, count = _spool_rows(batches, spool, len(names), report_progress)

        def typed() -> Iterator[DatabaseRow]:
            for made in _read_spooled(spool, names, kinds, sql, count, report_progress):
                yield from zip(*(column.to_pylist() for column in made.columns), strict=True)

        streaming_excel.write_workbook(path, names, islice(typed(), MAX_SHEET_ROWS - 1), sql)
    return min(count, MAX_SHEET_ROWS - 1)


# Until all rows are there


def _spool_rows(
    batches: Iterator[list[DatabaseRow]], spool: BinaryIO, column_count: int, report_progress: ProgressCallback
) -> tuple[tuple[str, ...], int]:
    """Keeps rows in a file; the type of each column, by all its values, and how many rows there are."""
    found: list[set[str]] = [set() for _ in range(column_count)]
    count = 0
    for batch in batches:
        for at, values in enumerate(zip(*batch, strict=True)):
            if "text" not in found[at]:
                found[at].update(map(_value_type, values))
        pickle.dump(batch, spool, pickle.HIGHEST_PROTOCOL)
        count += len(batch)
        report_progress(count // 2)
    spool.seek(0)
    return tuple(map(_common_type, found)), count


def _read_spooled(
    spool: BinaryIO,
    names: Sequence[str],
    kinds: tuple[str, ...],
    sql: str,
    row_count: int,
    report_progress: ProgressCallback,
) -> Iterator[Any]:
    """The rows that were kept, as tables with one type for each column."""
    done = 0
    while done < row_count:
        batch = pickle.load(spool)  # noqa: S301 - our own, of before
        yield rows_arrow_table(QueryResult.model_construct(sql=sql, names=tuple(names), types=kinds, rows=tuple(batch)))
        done += len(batch)
        report_progress((row_count + done) // 2)


def _value_type(value: Any) -> str:
    """The type that a column of such values can have."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -_INT64_LIMIT <= value < _INT64_LIMIT else "text"
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


def _common_type(kinds: set[str]) -> str:
    kinds = kinds - {""}
    if kinds == {"integer", "number"}:
        return "number"
    return next(iter(kinds)) if len(kinds) == 1 else "text" if kinds else "empty"
