"""Any number of database rows as a CSV, Excel or Parquet file, written as the rows arrive.

Only one batch is held in memory. For formats that need the column types first, the rows are spooled
to a temporary file. The caller supplies the rows; no database is opened here.
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

from research.export import streaming_excel
from research.export.formats import EXPORT_FORMATS
from research.export.spreadsheet_text import csv_cell
from research.export.table_csv import note_lines
from research.export.table_model import ExportColumn, ExportTable, unique_names
from research.export.table_parquet import arrow_table

ROW_FILE_SUFFIXES = tuple(f".{item.suffix.rpartition('.')[2]}" for item in EXPORT_FORMATS if item.content == "rows")
BATCH_ROWS = 5_000
MAX_SHEET_ROWS = 1_048_576  # rows of an Excel sheet, including the headings
_INT64_LIMIT = 2**63
DatabaseRow = tuple[Any, ...]
ProgressCallback = Callable[[int], None]
"""Called with the number of rows done. With a temporary file, half of it counts reading, half writing."""


def write_rows_file(
    path: Path,
    names: Sequence[str],
    rows: Iterable[DatabaseRow],
    sql: str,
    report_progress: ProgressCallback = lambda n: None,
    notes: Sequence[str] = (),
) -> int:
    """Write rows to a file in the format of its suffix; return the number of rows written.

    Notes on the rows stand below them in CSV, beside the statement in the others.

    Raises:
        KeyError: the suffix is not one of `ROW_FILE_SUFFIXES`.
        OSError: the file cannot be written; a partial file is left behind.
    """
    write = {".csv": _write_csv, ".xlsx": _write_excel, ".parquet": _write_parquet}[path.suffix.lower()]
    return write(path, unique_names(names), _iter_batches(rows), sql, report_progress, notes)


def _iter_batches(rows: Iterable[DatabaseRow]) -> Iterator[list[DatabaseRow]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH_ROWS)):
        yield batch


def _write_csv(
    path: Path,
    names: Sequence[str],
    batches: Iterator[list[DatabaseRow]],
    sql: str,
    report_progress: ProgressCallback,
    notes: Sequence[str],
) -> int:
    """Write CSV with the cells of `research.export.table_csv`."""
    count = 0
    with path.open("w", encoding="utf-8-sig", errors="replace", newline="") as out:
        lines = writer(out)
        lines.writerow([csv_cell(name) for name in names])
        for batch in batches:
            lines.writerows([csv_cell(value) for value in row] for row in batch)
            count += len(batch)
            report_progress(count)
        lines.writerows(note_lines(notes))
    return count


def _write_parquet(
    path: Path,
    names: Sequence[str],
    batches: Iterator[list[DatabaseRow]],
    sql: str,
    report_progress: ProgressCallback,
    notes: Sequence[str],
) -> int:
    """Write Parquet with a row group per batch and the statement in the metadata."""
    with tempfile.TemporaryFile() as spool:
        table, count = _spool_rows(batches, spool, names, report_progress)
        metadata = {"sql": sql} | ({"notes": "\n".join(notes)} if notes else {})
        schema = arrow_table(table._replace(metadata=metadata)).schema
        with files.ParquetWriter(path, schema) as out:
            for batch in _read_spooled(spool, table, count, report_progress):
                out.write_table(batch.cast(schema))
    return count


def _write_excel(
    path: Path,
    names: Sequence[str],
    batches: Iterator[list[DatabaseRow]],
    sql: str,
    report_progress: ProgressCallback,
    notes: Sequence[str],
) -> int:
    """Write a sheet of typed cells, up to Excel's row limit, and a sheet with the statement."""
    with tempfile.TemporaryFile() as spool:
        table, count = _spool_rows(batches, spool, names, report_progress)

        def typed() -> Iterator[DatabaseRow]:
            for batch in _read_spooled(spool, table, count, report_progress):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

        streaming_excel.write_workbook(path, names, islice(typed(), MAX_SHEET_ROWS - 1), [sql, *notes])
    return min(count, MAX_SHEET_ROWS - 1)


# Spooling


def _spool_rows(
    batches: Iterator[list[DatabaseRow]], spool: BinaryIO, names: Sequence[str], report_progress: ProgressCallback
) -> tuple[ExportTable, int]:
    """Spool rows to a file; return a table without rows, with their common types, and their number."""
    types: list[set[str]] = [set() for _ in names]
    count = 0
    for batch in batches:
        for column_types, values in zip(types, zip(*batch, strict=True), strict=True):
            if "text" not in column_types:
                column_types.update(map(_value_type, values))
        pickle.dump(batch, spool, pickle.HIGHEST_PROTOCOL)
        count += len(batch)
        report_progress(count // 2)
    spool.seek(0)
    columns = [ExportColumn(name, _common_type(kinds)) for name, kinds in zip(names, types, strict=True)]
    return ExportTable("rows", columns, ()), count


def _read_spooled(
    spool: BinaryIO, table: ExportTable, row_count: int, report_progress: ProgressCallback
) -> Iterator[Any]:
    """Yield the spooled rows as Arrow tables with the columns of a table."""
    done = 0
    while done < row_count:
        batch = pickle.load(spool)  # noqa: S301 - written by _spool_rows
        yield arrow_table(table._replace(rows=batch))
        done += len(batch)
        report_progress((row_count + done) // 2)


def _value_type(value: Any) -> str:
    """Return the column type that fits a value, "" for None."""
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
