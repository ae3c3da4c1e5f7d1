"""Rows of a database as a typed table, and as files: CSV, Excel and Parquet.

The values keep their types where a format has any, and NULL is an empty cell. What a cell says is text
and stays text: no file has a formula in it. Knows the record of rows; writes no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from csv import writer
from datetime import date, datetime
from io import BytesIO, StringIO
from itertools import count
from typing import Any

import pyarrow as pa
from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter
from pyarrow import parquet as files

from research.citations.model_markdown import replace_surrogates
from research.core.records import QueryResult
from research.export.database_rows_markdown import column_coverage_lines
from research.export.geo import spreadsheet_cell, truncate_cell
from research.export.report_texts import report_translator

MAX_EXACT_INTEGER = 10**15  # whole numbers below it survive a spreadsheet, whose numbers have 15 digits
_INT64_LIMIT = 2**63
_OLDEST_EXCEL_DATE = datetime(1900, 3, 1)  # spreadsheets count days from 1900, and the first two months wrongly
_COLUMN_WIDTH_RANGE = (8, 60)  # characters of a column of a spreadsheet, at least and at most


def rows_arrow_table(rows: QueryResult) -> pa.Table:
    """The rows as columns with a type and a name of their own each.

    A column whose values are not all of what its type says is one of text: a date that is on no
    calendar, a whole number of more than 64 bits, moments with and without a time zone.
    """
    columns = list(zip(*rows.rows, strict=True)) if rows.rows else [()] * len(rows.names)
    types = rows.types or ("text",) * len(rows.names)
    arrays = [_typed_array(kind, column) for kind, column in zip(types, columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(unique_names(rows.names)))


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, each once: a second `name` is `name (2)`."""
    taken: set[str] = set()
    out = []
    for name in map(replace_surrogates, names):
        free = (f"{name} ({n})" for n in count(2))
        own = name if name not in taken else next(one for one in free if one not in {*taken, *names})
        taken.add(own)
        out.append(own)
    return tuple(out)


def rows_csv(rows: QueryResult) -> bytes:
    """The rows as UTF-8 with the names of their columns first, to be opened in a spreadsheet.

    It begins with a byte order mark, without which Excel garbles Chinese. A text that a spreadsheet
    would take for a formula has an apostrophe in front, as in `research.export.geo`.
    """
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    lines.writerow([spreadsheet_cell(name) for name in unique_names(rows.names)])
    lines.writerows([csv_text(value) for value in row] for row in rows.rows)
    return ("\ufeff" + out.getvalue()).encode("utf-8", "replace")


def rows_parquet(rows: QueryResult) -> bytes:
    """The rows as a Parquet file with the types of their columns; the statement is in its metadata,
    with for how many rows the columns are known that it compares."""
    told = {"sql": replace_surrogates(rows.sql).encode()}
    if lines := _coverage_lines(rows):
        told["known"] = "\n".join(lines).encode()
    found = rows_arrow_table(rows).replace_schema_metadata(told)
    out = BytesIO()
    files.write_table(found, out)
    return out.getvalue()


def rows_excel(rows: QueryResult, provenance: Sequence[str] = ()) -> bytes:
    """The rows as an Excel workbook: a sheet of typed cells, one with the statement and for how many
    rows the columns are known that it compares, and, if lines on how it came about are given, one
    with those.

    A text is a text cell whatever it begins with, also when it is edited later. What Excel cannot
    hold as it is becomes text: long whole numbers, days before March 1900, moments with a time zone.
    """
    book = Workbook()
    sheet = book.active
    sheet.title = "rows"
    found = rows_arrow_table(rows)
    for at, name in enumerate(found.column_names, 1):
        write_cell(sheet, 1, at, name).font = Font(bold=True)
    widths = [len(name) for name in found.column_names]
    for line, row in enumerate(_iter_rows(found), 2):
        for at, value in enumerate(row, 1):
            if value is not None:
                placed = write_cell(sheet, line, at, value)
                widths[at - 1] = max(widths[at - 1], len(str(placed.value)))
    for at, width in enumerate(widths, 1):
        sheet.column_dimensions[get_column_letter(at)].width = min(max(width + 2, _COLUMN_WIDTH_RANGE[0]), _COLUMN_WIDTH_RANGE[1])  # fmt: skip
    sheet.freeze_panes = "A2"
    statement = book.create_sheet("SQL")
    for at, text in enumerate([rows.sql, *_coverage_lines(rows)], 1):
        write_cell(statement, at, 1, text)
    if provenance:
        add_about_sheet(book, provenance)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _coverage_lines(rows: QueryResult) -> list[str]:
    """For how many rows columns are known, in both languages: these files have none of their own."""
    both = [column_coverage_lines(rows, report_translator(tongue)) for tongue in ("zh", "en")]
    return [replace_surrogates(" / ".join(lines)) for lines in zip(*both, strict=True)]


def add_about_sheet(book: Workbook, provenance: Sequence[str]) -> None:
    """Adds a sheet with lines on how a workbook came about."""
    notes = book.create_sheet("About")
    notes.column_dimensions["A"].width = 2 * _COLUMN_WIDTH_RANGE[1]
    for at, line in enumerate(provenance, 1):
        write_cell(notes, at, 1, replace_surrogates(line))


def _iter_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def write_cell(sheet: Any, row: int, column: int, value: Any) -> Any:
    """Puts a value into a cell, so that a text is a text whatever it begins with; returns the cell."""
    place = sheet.cell(row, column)
    place.value = value = to_excel_value(value)
    if isinstance(value, str):
        place.data_type = "s"  # else one that begins with "=" is a formula, and "#N/A" an error
        place.quotePrefix = True
    return place


def to_excel_value(value: Any) -> Any:
    """A value as a cell of Excel can hold it: see `excel`."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= MAX_EXACT_INTEGER:
        return str(value)
    if isinstance(value, datetime) and (value.tzinfo or value < _OLDEST_EXCEL_DATE):
        return value.isoformat(" ")
    if isinstance(value, date) and not isinstance(value, datetime) and value < _OLDEST_EXCEL_DATE.date():
        return value.isoformat()
    return truncate_cell(value) if isinstance(value, str) else value


def csv_text(value: Any) -> str:
    """A value in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return spreadsheet_cell(value)


# Columns


def _typed_array(kind: str, values: Sequence[Any]) -> pa.Array:
    """The values of a column as its type, or as text if they are not of it."""
    type_, read = _ARROW_TYPES.get(kind, (pa.string(), _as_text))
    try:
        return pa.array([None if value is None else read(value) for value in values], type_)
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _as_text(value: Any) -> str:
    return replace_surrogates(value) if isinstance(value, str) else str(value)


def _as_int64(value: Any) -> int:
    if not isinstance(value, int) or not -_INT64_LIMIT <= value < _INT64_LIMIT:
        raise ValueError(value)
    return value


def _as_naive_datetime(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo:
        raise ValueError(value)  # a table would show it in the time zone of who looks
    return found


_ARROW_TYPES: dict[str, tuple[pa.DataType, Callable[[Any], Any]]] = {
    "integer": (pa.int64(), _as_int64),
    "number": (pa.float64(), float),
    "boolean": (pa.bool_(), bool),
    "date": (pa.date32(), date.fromisoformat),
    "datetime": (pa.timestamp("us"), _as_naive_datetime),
}
