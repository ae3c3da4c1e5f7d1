"""Tables as text for the library: a line a row, each cell with the name of its column."""

from __future__ import annotations

import csv
import io
import struct
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
from research.readers.open_document import check_open_document
from research.readers.table_layout import find_headings, join_headings
from research.readers.table_text import row_lines, title_lines

MAX_ROWS = 100_000
MAX_CELLS = 10_000_000  # spanned by a spreadsheet, including blank cells
ROWS_PER_SECTION = 50
_FILE_PASS_RECORD = 0x2F  # follows the first records of an encrypted .xls file
_FIRST_RECORD_BYTES = 1024


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
    return draft


def read_workbook(data: bytes) -> FileDraft:
    """Read the stored values of a workbook in another format than .xlsx, sheet by sheet.

    Raises:
        UnreadableFileError: the workbook is protected or too large.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

    if _is_protected(data):
        raise UnreadableFileError("encrypted", "The workbook is protected with a password; save it without.")
    draft = FileDraft()
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        for sheet in book.sheets_metadata:
            if sheet.typ == SheetTypeEnum.WorkSheet:
                _add_rows(draft, _calamine_rows(book.get_sheet_by_name(sheet.name)), (one_line(sheet.name),))
    except CalamineError as error:
        raise ValueError("damaged workbook") from error
    return draft


def _is_protected(data: bytes) -> bool:
    """Return True for a compound file that holds an encrypted workbook.

    Source: Microsoft, [MS-XLS], 2.4.117 (FilePass), [MS-OFFCRYPTO].
    """
    import olefile

    if not olefile.isOleFile(data=data):
        return False
    with olefile.OleFileIO(data) as file:
        if file.exists("EncryptedPackage"):
            return True
        name = next((name for name in ("Workbook", "Book") if file.exists(name)), "")
        records = file.openstream(name).read(_FIRST_RECORD_BYTES) if name else b""
    position = 0
    while position + 4 <= len(records):
        kind, size = struct.unpack_from("<HH", records, position)
        if kind == _FILE_PASS_RECORD:
            return True
        position += 4 + size
    return False


def _calamine_rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows of a worksheet as texts."""
    if sheet.total_height * sheet.total_width > MAX_CELLS:
        detail = f"A sheet of the workbook spans more than {MAX_CELLS:,} cells; split it."
        raise UnreadableFileError("too large", detail, "cells")
    for row in sheet.iter_rows():
        yield [_format_cell(value) for value in row]


def read_ods(data: bytes) -> FileDraft:
    """Read the stored values of an OpenDocument spreadsheet."""
    check_open_document(data, "workbook")
    return read_workbook(data)
