"""Rows of a database as a typed table and as CSV, Excel and Parquet files.

Values keep their types where the format has types, and NULL is an empty cell. Text stays text: no
file contains a formula. Writes no file.
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

from research.core.records import QueryResult
from research.core.text.control_chars import replace_surrogates
from research.export.database_rows_markdown import column_coverage_lines
from research.export.geo import spreadsheet_cell, truncate_cell
from research.export.report_texts import report_translator

MAX_EXACT_INTEGER = 10**15  # spreadsheets keep only 15 digits
_INT64_LIMIT = 2**63
_OLDEST_EXCEL_DATE = datetime(1900, 3, 1)  # Excel miscounts the days of January and February 1900
_COLUMN_WIDTH_RANGE = (8, 60)  # characters: minimum and maximum


def rows_arrow_table(rows: QueryResult) -> pa.Table:
    """Convert rows to an Arrow table with typed columns and unique names.

    A column becomes text if one of its values does not fit the type: a date that does not exist, an
    integer of more than 64 bits, or a timestamp with a time zone.
    """
    columns = list(zip(*rows.rows, strict=True)) if rows.rows else [()] * len(rows.names)
    types = rows.types or ("text",) * len(rows.names)
    arrays = [_typed_array(kind, column) for kind, column in zip(types, columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(unique_names(rows.names)))


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Make column names unique: a second `name` becomes `name (2)`."""
    taken: set[str] = set()
    out = []
    for name in map(replace_surrogates, names):
        candidates = (f"{name} ({n})" for n in count(2))
        unique = (
            name
            if name not in taken
            else next(candidate for candidate in candidates if candidate not in {*taken, *names})
        )
        taken.add(unique)
        out.append(unique)
    return tuple(out)


def rows_csv(rows: QueryResult) -> bytes:
    """Encode rows as UTF-8 CSV, column names first.

    A byte order mark keeps Excel from garbling Chinese. Text that a spreadsheet would read as a
    formula gets a leading apostrophe, as in `research.export.geo`.
    """
    out = StringIO()
    lines = writer(out)  # as in RFC 4180
    lines.writerow([spreadsheet_cell(name) for name in unique_names(rows.names)])
    lines.writerows([csv_text(value) for value in row] for row in rows.rows)
    return ("\ufeff" + out.getvalue()).encode("utf-8", "replace")


def rows_parquet(rows: QueryResult) -> bytes:
    """Encode rows as Parquet with typed columns.

    The file metadata holds the statement (`sql`) and in how many rows the compared columns have a
    value (`known`).
    """
    metadata = {"sql": replace_surrogates(rows.sql).encode()}
    if lines := _coverage_lines(rows):
        metadata["known"] = "\n".join(lines).encode()
    table = rows_arrow_table(rows).replace_schema_metadata(metadata)
    out = BytesIO()
    files.write_table(table, out)
    return out.getvalue()


def rows_excel(rows: QueryResult, provenance: Sequence[str] = ()) -> bytes:
    """Build an Excel workbook with a sheet of typed cells and a sheet with the statement.

    The sheet of the statement also says in how many rows the compared columns have a value.
    Provenance lines, if given, go to an "About" sheet. Text cells stay text, even when edited
    later. Values that Excel cannot hold become text: long integers, days before March 1900,
    timestamps with a time zone.
    """
    book = Workbook()
    sheet = book.active
    sheet.title = "rows"
    table = rows_arrow_table(rows)
    for at, name in enumerate(table.column_names, 1):
        write_cell(sheet, 1, at, name).font = Font(bold=True)
    widths = [len(name) for name in table.column_names]
    for line, row in enumerate(_iter_rows(table), 2):
        for at, value in enumerate(row, 1):
            if value is not None:
                cell = write_cell(sheet, line, at, value)
                widths[at - 1] = max(widths[at - 1], len(str(cell.value)))
    for at, width in enumerate(widths, 1):
        sheet.column_dimensions[get_column_letter(at)].width = min(
            max(width + 2, _COLUMN_WIDTH_RANGE[0]), _COLUMN_WIDTH_RANGE[1]
        )
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
    """Describe column coverage in Chinese and English, as these files have no language."""
    both = [column_coverage_lines(rows, report_translator(language)) for language in ("zh", "en")]
    return [replace_surrogates(" / ".join(lines)) for lines in zip(*both, strict=True)]


def add_about_sheet(book: Workbook, provenance: Sequence[str]) -> None:
    """Add an "About" sheet with the provenance lines."""
    notes = book.create_sheet("About")
    notes.column_dimensions["A"].width = 2 * _COLUMN_WIDTH_RANGE[1]
    for at, line in enumerate(provenance, 1):
        write_cell(notes, at, 1, replace_surrogates(line))


def _iter_rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def write_cell(sheet: Any, row: int, column: int, value: Any) -> Any:
    """Write a value into a cell, text never as a formula, and return the cell."""
    cell = sheet.cell(row, column)
    cell.value = value = to_excel_value(value)
    if isinstance(value, str):
        cell.data_type = "s"  # otherwise "=…" is a formula and "#N/A" an error
        cell.quotePrefix = True
    return cell


def to_excel_value(value: Any) -> Any:
    """Convert a value to one that an Excel cell can hold, as described in `rows_excel`."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= MAX_EXACT_INTEGER:
        return str(value)
    if isinstance(value, datetime) and (value.tzinfo or value < _OLDEST_EXCEL_DATE):
        return value.isoformat(" ")
    if isinstance(value, date) and not isinstance(value, datetime) and value < _OLDEST_EXCEL_DATE.date():
        return value.isoformat()
    return truncate_cell(value) if isinstance(value, str) else value


def csv_text(value: Any) -> str:
    """Format a value for a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return spreadsheet_cell(value)


# Columns


def _typed_array(kind: str, values: Sequence[Any]) -> pa.Array:
    """Build an array of the column's type, or of text if a value does not fit."""
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
    moment = datetime.fromisoformat(value)
    if moment.tzinfo:
        raise ValueError(value)  # viewers would convert it to their own time zone
    return moment


_ARROW_TYPES: dict[str, tuple[pa.DataType, Callable[[Any], Any]]] = {
    "integer": (pa.int64(), _as_int64),
    "number": (pa.float64(), float),
    "boolean": (pa.bool_(), bool),
    "date": (pa.date32(), date.fromisoformat),
    "datetime": (pa.timestamp("us"), _as_naive_datetime),
}
