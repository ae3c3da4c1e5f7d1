"""The Excel writer of exported tables.

Text cells stay text, even when edited later. Values that Excel cannot hold become text: long
integers, days before March 1900, timestamps with a time zone. `streaming_excel` writes result sets
that are too large to be held in memory, with the cells of `to_excel_value`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from io import BytesIO
from typing import Any, NamedTuple

from openpyxl import Workbook
from openpyxl.comments import Comment
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.hyperlink import Hyperlink

from research.core.text.control_chars import replace_surrogates
from research.export.column_widths import width_in_ems
from research.export.spreadsheet_text import truncate_cell
from research.export.table_model import ExportCell, ExportTable

MAX_EXACT_INTEGER = 10**15  # spreadsheets keep only 15 digits
_OLDEST_EXCEL_DATE = datetime(1900, 3, 1)  # Excel miscounts the days of January and February 1900
_COLUMN_WIDTH_RANGE, _READING_WIDTH_RANGE = (8, 60), (10, 48)  # characters: minimum and maximum
_MAX_MEASURED_ROWS = 200  # rows that decide on the widths of a sheet for reading
_MAX_SHEET_NAME_CHARS = 31  # limit of Excel
_INVALID_SHEET_NAME_CHAR = re.compile(r"[\[\]:*?/\\\x00-\x1f']")
_MAX_NOTE_CHARS = 1_000
_HEADING_FONT, _LINK_FONT = Font(bold=True), Font(color="0563C1", underline="single")
_MISSING_FONT = Font(color="808080", italic=True)
_CONFLICT_FILL = PatternFill("solid", fgColor="FFE9C7")


class Sheet(NamedTuple):
    """A table as a sheet, named like the table. `freeze_at` is the first cell that scrolls.

    A sheet `for_reading` has wrapped text and a filter.
    """

    table: ExportTable
    freeze_at: str = "A2"
    for_reading: bool = False


def workbook_bytes(sheets: Sequence[Sheet], notes: Mapping[str, Sequence[str]]) -> bytes:
    """Build a workbook with a sheet for each table, and a sheet of lines for each entry of `notes`."""
    book = Workbook()
    book.remove(book.active)
    for entry in sheets:
        sheet = book.create_sheet(_sheet_name(entry.table.name))
        for at, column in enumerate(entry.table.columns, 1):
            _write_cell(sheet, 1, at, column.name).font = _HEADING_FONT
        for line, row in enumerate(entry.table.rows, 2):
            for at, value in enumerate(row, 1):
                if isinstance(value, ExportCell):
                    _write_table_cell(sheet, line, at, value)
                elif value is not None:
                    _write_cell(sheet, line, at, value)
        sheet.freeze_panes = entry.freeze_at
        if entry.for_reading:
            _format_for_reading(sheet)
        else:
            _fit_columns(sheet)
    for name, lines in notes.items():
        sheet = book.create_sheet(name)
        if name == ABOUT_SHEET:
            sheet.column_dimensions["A"].width = 2 * _COLUMN_WIDTH_RANGE[1]
        for at, text in enumerate(lines, 1):
            _write_cell(sheet, at, 1, text)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


ABOUT_SHEET = "About"  # name of the sheet on how a file was made


def _sheet_name(name: str) -> str:
    return _INVALID_SHEET_NAME_CHAR.sub(" ", replace_surrogates(name))[:_MAX_SHEET_NAME_CHARS].strip()


def _write_table_cell(sheet: Any, row: int, column: int, cell: ExportCell) -> None:
    """Write a value with its format, colour, note and link."""
    target = sheet.cell(row, column) if cell.value is None else _write_cell(sheet, row, column, cell.value)
    if cell.number_format:
        target.number_format = cell.number_format
    if cell.horizontal:
        target.alignment = Alignment(horizontal=cell.horizontal)
    if cell.style == "missing":
        target.font = _MISSING_FONT
    elif cell.style == "conflict":
        target.fill = _CONFLICT_FILL
    if note := truncate_cell(replace_surrogates(cell.note))[:_MAX_NOTE_CHARS]:
        target.comment = Comment(note, "Sightline", width=360, height=160)
    if cell.link or cell.address:
        link = {"location": cell.link} if cell.link else {"target": cell.address}
        target.hyperlink = Hyperlink(ref=target.coordinate, **link)
        target.font = _LINK_FONT


def _write_cell(sheet: Any, row: int, column: int, value: Any) -> Any:
    """Write a value into a cell, text never as a formula, and return the cell."""
    cell = sheet.cell(row, column)
    cell.value = value = to_excel_value(replace_surrogates(value) if isinstance(value, str) else value)
    if isinstance(value, str):
        cell.data_type = "s"  # otherwise "=…" is a formula and "#N/A" an error
        cell.quotePrefix = True
    return cell


def to_excel_value(value: Any) -> Any:
    """Convert a value to one that an Excel cell can hold, as described above."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= MAX_EXACT_INTEGER:
        return str(value)
    if isinstance(value, datetime) and (value.tzinfo or value < _OLDEST_EXCEL_DATE):
        return value.isoformat(" ")
    if isinstance(value, date) and not isinstance(value, datetime) and value < _OLDEST_EXCEL_DATE.date():
        return value.isoformat()
    return truncate_cell(value) if isinstance(value, str) else value


def _fit_columns(sheet: Any) -> None:
    """Fit each column to its longest value."""
    for at, cells in enumerate(sheet.iter_cols(), 1):
        widest = max((len(str(cell.value)) for cell in cells if cell.value is not None), default=0)
        _set_width(sheet, at, widest + 2, _COLUMN_WIDTH_RANGE)


def _format_for_reading(sheet: Any) -> None:
    """Fit columns to the first rows, wrap text and add a filter."""
    for at, cells in enumerate(sheet.iter_cols(max_row=min(sheet.max_row, _MAX_MEASURED_ROWS)), 1):
        widest = max((2 * width_in_ems(str(cell.value)) for cell in cells if cell.value is not None), default=0)
        _set_width(sheet, at, widest + 2, _READING_WIDTH_RANGE)
    sheet.auto_filter.ref = f"A1:{get_column_letter(sheet.max_column)}{sheet.max_row}"
    for line in sheet.iter_rows():
        for cell in line:
            cell.alignment = Alignment(horizontal=cell.alignment.horizontal, vertical="top", wrap_text=True)


def _set_width(sheet: Any, column: int, width: float, width_range: tuple[int, int]) -> None:
    fit = min(max(width, width_range[0]), width_range[1])
    sheet.column_dimensions[get_column_letter(column)].width = fit
