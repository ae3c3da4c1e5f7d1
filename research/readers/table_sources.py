"""Rows of workbooks, and the DuckDB engine that reads Parquet, JSON lines and CSV."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path

import duckdb
from python_calamine import CalamineWorkbook, SheetTypeEnum

from research.core.sql_quoting import quote_literal
from research.readers.duckdb_config import ENGINE_CONFIG
from research.readers.table_records import DOCUMENT_SUFFIXES, UnreadableTableError

MAX_SHEETS = 50
MAX_JSON_LINE_BYTES = 16_777_216
JSON_SAMPLE_ROWS = 20_000  # JSON lines from which columns are detected


def read_sheets(path: Path, file: str) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """Yield the sheets of an Excel file with their rows as texts; formulas give their stored
    values. The tables of a document are its sheets.
    """
    if Path(file).suffix.lower() in DOCUMENT_SUFFIXES:
        from research.readers.document_tables import read_document_tables

        yield from ((table.name, iter(table.rows)) for table in read_document_tables(path, file)[:MAX_SHEETS])
        return
    try:
        book = CalamineWorkbook.from_path(str(path))
        for metadata in book.sheets_metadata[:MAX_SHEETS]:
            name = metadata.name
            try:
                sheet = book.get_sheet_by_name(name)
            except Exception:
                if metadata.typ == SheetTypeEnum.WorkSheet:
                    raise
                continue  # a chart sheet has no rows
            rows = ([_format_cell(value) for value in row] for row in sheet.iter_rows())
            first_row, first_column = sheet.start or (0, 0)
            merged = [
                (top - first_row, left - first_column, bottom - first_row, right - first_column)
                for (top, left), (bottom, right) in (sheet.merged_cell_ranges or ())
            ]
            yield name, _fill_merged(rows, merged) if merged else rows
    except UnreadableTableError:
        raise
    except Exception:  # noqa: BLE001 - the library raises many kinds of errors
        raise UnreadableTableError("broken", file) from None


def _fill_merged(rows: Iterator[list[str]], merged: Sequence[tuple[int, int, int, int]]) -> Iterator[list[str]]:
    """Fill each merged area (top, left, bottom, right, from 0) with its text.

    Numbers are left in their first cell alone, as a sum would count them again.
    """
    areas = sorted(merged, reverse=True)
    open_areas: list[tuple[int, int, int, str]] = []  # left, bottom, right, text
    for number, row in enumerate(rows):
        while areas and areas[-1][0] <= number:
            top, left, bottom, right = areas.pop()
            text = row[left] if top == number and 0 <= left < len(row) else ""
            if text and not _is_number(text):
                open_areas.append((left, bottom, right, text))
        open_areas = [area for area in open_areas if area[1] >= number]
        for left, _, right, text in open_areas:
            for column in range(left, min(right + 1, len(row))):
                row[column] = row[column] or text
        yield row


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _format_cell(value: object) -> str:
    if type(value) is str:  # the most frequent type
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        is_midnight = value.time() == time()
        return value.date().isoformat() if is_midnight else value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value)


class SchemaMismatchError(Exception):
    """A line of JSON has a key or a type that is missing from the sampled lines."""


def source_expression(path: Path, kind: str, sample_size: int = JSON_SAMPLE_ROWS) -> str:
    """Return the SQL that reads a Parquet file, a JSON document, or JSON lines with the columns of the first
    `sample_size` lines; -1 means all lines."""
    path_literal = quote_literal(str(path.absolute()))
    if kind == ".parquet":
        return f"read_parquet({path_literal})"
    if kind == ".json":
        size = max(MAX_JSON_LINE_BYTES, path.stat().st_size + 1)  # the document may be one object
        return f"read_json({path_literal}, format = 'auto', maximum_object_size = {size}, sample_size = -1)"
    return f"read_json({path_literal}, format = 'newline_delimited', maximum_object_size = {MAX_JSON_LINE_BYTES}, sample_size = {sample_size})"


@contextmanager
def open_engine(path: Path, file: str, target: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an engine that may read one file, and write into `target`, or into memory if it is None.

    Raises:
        duckdb.ConversionException: a value cannot be converted to the type of its column.
        SchemaMismatchError: a line of JSON differs from the sampled lines.
        UnreadableTableError: the file is broken, or needs too much memory.
    """
    with tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True) as spill_folder:
        config = {**ENGINE_CONFIG, "temp_directory": spill_folder, "preserve_insertion_order": True}
        try:
            with duckdb.connect(str(target or ":memory:"), config=config) as raw:
                raw.execute(f"set allowed_paths = [{quote_literal(str(path.absolute()))}]")
                raw.execute("set enable_progress_bar = true")
                raw.execute("set enable_progress_bar_print = false")
                raw.execute("set enable_external_access = false")
                raw.execute("set lock_configuration = true")
                yield raw
        except duckdb.ConversionException:
            raise
        except duckdb.OutOfMemoryException:
            raise UnreadableTableError("memory", file) from None
        except (duckdb.Error, UnicodeError) as error:
            if isinstance(error, duckdb.BinderException) or "JSON transform error" in str(error):
                raise SchemaMismatchError from None  # columns differ from the sample
            row = re.search(r"Line: (\d+)", str(error))
            ragged = "Expected Number of Columns" in str(error)
            raise UnreadableTableError("ragged" if ragged else "broken", file, row=int(row[1]) if row else 0) from None
