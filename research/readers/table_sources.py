"""Rows of workbooks, and the DuckDB engine that reads Parquet, JSON lines and CSV."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import duckdb
from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from research.core.sql_quoting import quote_literal
from research.readers.column_formats import DateCell, NumberCell
from research.readers.duckdb_config import ENGINE_CONFIG
from research.readers.table_records import DOCUMENT_SUFFIXES, UnreadableTableError
from research.readers.workbook_details import read_ods_areas

MAX_SHEETS = 50
MAX_JSON_LINE_BYTES = 16_777_216
_YEAR = re.compile(r"(?:19|20)\d\d")
MAX_ROWS_ABOVE = 1_000  # blank rows above a sheet's first cell that count in the numbers of rows
JSON_SAMPLE_ROWS = 20_000  # JSON lines from which columns are detected


class Sheet(NamedTuple):
    """A sheet with its rows as texts; `first_column` is the number of their first column.

    `skipped_sheets` is the number of the sheets of the workbook that are too many to be read. `merged_numbers`
    gets the numbers of merged cells, which are left in the first of them, while the rows are read.
    """

    name: str
    rows: Iterator[list[str]]
    first_column: int = 1
    is_hidden: bool = False
    skipped_sheets: int = 0
    merged_numbers: Sequence[str] = ()


def read_sheets(path: Path, kind: str, file: str) -> Iterator[Sheet]:
    """Yield the sheets of a workbook; formulas give their stored values. The tables of a document are its sheets."""
    if kind in DOCUMENT_SUFFIXES:
        from research.readers.document_tables import read_document_tables

        yield from (
            Sheet(table.name, iter(table.rows)) for table in read_document_tables(path, kind, file)[:MAX_SHEETS]
        )
        return
    try:
        # By its path, the library expects the format of the suffix; by its content, it finds that of the content.
        has_suffix = path.suffix.lower() == kind
        book = CalamineWorkbook.from_path(str(path)) if has_suffix else CalamineWorkbook.from_filelike(path.open("rb"))
        ods_areas = read_ods_areas(path) if _is_ods(path) else {}
        for metadata in book.sheets_metadata[:MAX_SHEETS]:
            name = metadata.name
            try:
                sheet = book.get_sheet_by_name(name)
            except Exception:
                if metadata.typ == SheetTypeEnum.WorkSheet:
                    raise
                continue  # a chart sheet has no rows
            rows = ([_format_cell(value) for value in row] for row in sheet.iter_rows())
            first_row, first_column = sheet.start or (0, 0)  # rows begin in the first row, but in the first used column
            merged = [
                (top, left - first_column, bottom, right - first_column)
                for (top, left), (bottom, right) in (sheet.merged_cell_ranges or ods_areas.get(name) or ())
            ]
            merged_numbers: list[str] = []
            filled = _fill_merged(rows, merged, merged_numbers) if merged else rows
            if first_row > MAX_ROWS_ABOVE:
                filled = islice(filled, first_row, None)
            is_hidden = metadata.visible != SheetVisibleEnum.Visible
            skipped_sheets = max(0, len(book.sheets_metadata) - MAX_SHEETS)
            yield Sheet(name, filled, first_column + 1, is_hidden, skipped_sheets, merged_numbers)
    except UnreadableTableError:
        raise
    except Exception:  # noqa: BLE001 - the library raises many kinds of errors
        raise UnreadableTableError("broken", file) from None


def _is_ods(path: Path) -> bool:
    """Return True for a package with the content of an ods file."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as package:
        return "content.xml" in package.namelist()


def _fill_merged(
    rows: Iterator[list[str]], merged: Sequence[tuple[int, int, int, int]], merged_numbers: list[str]
) -> Iterator[list[str]]:
    """Fill each merged area (top, left, bottom, right, from 0) with its text.

    Numbers are left in their first cell alone, as a sum would count them again, but for years above each other;
    they are added to `merged_numbers`.
    """
    areas = sorted(merged, reverse=True)
    open_areas: list[tuple[int, int, int, str]] = []  # left, bottom, right, text
    for number, row in enumerate(rows):
        while areas and areas[-1][0] <= number:
            top, left, bottom, right = areas.pop()
            text = row[left] if top == number and 0 <= left < len(row) else ""
            if text and (not isinstance(text, NumberCell) or (left == right and _YEAR.fullmatch(text))):
                open_areas.append((left, bottom, right, text))
            elif text:
                merged_numbers.append(text)
        open_areas = [area for area in open_areas if area[1] >= number]
        for left, _, right, text in open_areas:
            for column in range(left, min(right + 1, len(row))):
                row[column] = row[column] or text
        yield row


def _format_cell(value: object) -> str:
    if type(value) is str:  # the most frequent type
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e22:
        return NumberCell(int(value))
    if isinstance(value, (int, float)):
        return NumberCell(value)
    if isinstance(value, datetime):
        is_midnight = value.time() == time()
        return DateCell(value.date().isoformat() if is_midnight else value.isoformat(sep=" ", timespec="seconds"))
    if isinstance(value, date):
        return DateCell(value.isoformat())
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
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
            raise UnreadableTableError("broken", file, row=int(row[1]) if row else 0) from None
