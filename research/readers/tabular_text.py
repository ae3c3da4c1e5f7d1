"""Tables as text for the library: a line a row, each cell with the name of its column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any

from research.readers.delimiters import LAYOUT_ROWS, find_delimiter
from research.readers.drafts import (
    MAX_CHARACTERS,
    FileDraft,
    TextBlock,
    UnreadableFileError,
    decode_text,
    label_cells,
    one_line,
    too_long_error,
)
from research.readers.office_files import check_container
from research.readers.table_layout import find_headings, join_headings
from research.readers.table_text import row_lines, title_lines
from research.readers.workbook_details import read_details

MAX_ROWS = 100_000
MAX_CELLS = 10_000_000  # spanned by a spreadsheet, including blank cells
ROWS_PER_SECTION = 50


def _add_rows(draft: FileDraft, rows: Iterable[Sequence[str]], path: tuple[str, ...] = ()) -> None:
    """Add the rows of a table under a heading path, labelled with their columns."""
    rows = iter(rows)
    first_rows = list(islice(rows, LAYOUT_ROWS))
    headings = find_headings(first_rows)
    draft.blocks += [TextBlock(line, path) for line in title_lines(first_rows, headings)]
    header = join_headings(first_rows, headings)
    count = add_lines(draft, row_lines(header, chain(first_rows[headings.last :], rows)), path)
    if header and not count:
        draft.blocks.append(TextBlock(label_cells((), header), path))


def add_lines(draft: FileDraft, lines: Iterable[str], path: tuple[str, ...] = ()) -> int:
    """Add the lines of a table under a heading path, in sections of `ROWS_PER_SECTION`, and return their number.

    Raises:
        UnreadableFileError: there are too many.
    """
    kept: list[str] = []
    size = 0
    for line in lines:
        kept.append(line)
        size += len(line)
        if size > MAX_CHARACTERS:
            raise too_long_error()
        if len(kept) > MAX_ROWS:
            detail = f"The table has more than {MAX_ROWS:,} rows; split it."
            raise UnreadableFileError("too large", detail, "rows")
    for start in range(0, len(kept), ROWS_PER_SECTION):
        part = kept[start : start + ROWS_PER_SECTION]
        draft.blocks.append(TextBlock("\n".join(part), (*path, f"{start + 1}–{start + len(part)}")))
    return len(kept)


def read_csv(data: bytes, suffix: str = ".csv") -> FileDraft:
    """Read separated values; the separator and the row that names the columns are detected."""
    text = decode_text(data)
    delimiter = find_delimiter(text, suffix).mark
    draft = FileDraft()
    _add_rows(draft, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return draft


def read_tsv(data: bytes) -> FileDraft:
    return read_csv(data, ".tsv")


def _format_cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return format(value, ".15g")
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return "" if value is None else str(value)


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows of a worksheet as texts."""
    # The declared size is not trusted: it would decide how many blank cells are generated.
    sheet.reset_dimensions()
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row) + 1
        if cells > MAX_CELLS:
            detail = f"A sheet of the workbook spans more than {MAX_CELLS:,} cells; split it."
            raise UnreadableFileError("too large", detail, "cells")
        yield [_format_cell(value) for value in row]


def read_xlsx(data: bytes) -> FileDraft:
    """Read the stored values of a workbook; each sheet's first filled row names its columns."""
    import openpyxl

    check_container(data, "workbook")
    draft = FileDraft()
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        _add_rows(draft, _sheet_rows(sheet), (one_line(sheet.title),))
    draft.uncalculated = _count_uncalculated(data, ".xlsx")
    return draft


def _count_uncalculated(data: bytes, kind: str) -> int:
    """Return the number of formulas without a stored result."""
    try:
        return sum(sheet.uncalculated for sheet in read_details(io.BytesIO(data), kind).values())
    except Exception:  # noqa: BLE001 - damaged parts raise anything, and the values have been read
        return 0


def read_workbook(data: bytes) -> FileDraft:
    """Read the stored values of a workbook in another format than .xlsx, sheet by sheet.

    Raises:
        UnreadableFileError: the workbook is too large.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

    draft = FileDraft()
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        for sheet in book.sheets_metadata:
            if sheet.typ == SheetTypeEnum.WorkSheet:
                _add_rows(draft, _calamine_rows(book.get_sheet_by_name(sheet.name)), (one_line(sheet.name),))
    except CalamineError as error:
        raise ValueError("damaged workbook") from error
    return draft


def _calamine_rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows of a worksheet as texts."""
    if sheet.total_height * sheet.total_width > MAX_CELLS:
        detail = f"A sheet of the workbook spans more than {MAX_CELLS:,} cells; split it."
        raise UnreadableFileError("too large", detail, "cells")
    for row in sheet.iter_rows():
        yield [_format_cell(value) for value in row]


def read_ods(data: bytes) -> FileDraft:
    """Read the stored values of an OpenDocument spreadsheet."""
    check_container(data, "workbook")
    draft = read_workbook(data)
    draft.uncalculated = _count_uncalculated(data, ".ods")
    return draft
