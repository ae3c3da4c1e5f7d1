"""Bounds on workbooks, checked before a library opens them: xlsx, xlsb, ods and xls.

The library holds the whole rectangle of a sheet in memory, from the first filled cell to the last. A file of
a kilobyte with one cell in the last corner asks for 500 GB, so the rectangle is found first, in the bytes
of the file. Of each part the first `SCANNED` bytes or `RECORDS` records are looked at, which bounds the time;
behind that stands the limit on the memory of the process, which grows with the size of the file.

Sources of the formats: ECMA-376 (xlsx), MS-XLSB, MS-XLS, MS-CFB, ODF 1.2.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from research.readers.packages import check_package, has_doctype

FREE_CELLS = 3_000_000  # cells that any sheet may span, about 100 MB
MAX_CELLS_PER_FILLED_CELL = 20  # cells that a sheet may span for each one that is filled
MAX_PART_BYTES = 16 * 1024**2  # bytes of a part of XML
MAX_TOTAL_BYTES = 128 * 1024**2  # bytes of all parts
MAX_RECORDS = 200_000  # of xlsb or xls
BLOCK_BYTES = 1 << 20
MAX_TAG_BYTES = 8_192  # bytes that a tag may have


class ExtentError(ValueError):
    """A sheet that spans far more cells than are filled."""


class CellRun(NamedTuple):
    """Filled cells side by side, and so many rows of them: the first row and column, their numbers."""

    row: int
    column: int
    column_count: int = 1
    row_count: int = 1


def check_workbook(path: Path, suffix: str, max_bytes: int) -> int:
    """Refuses a workbook that would unpack to more than `most` bytes or spans far more cells than are
    filled; returns the bytes that it unpacks to.

    Raises:
        ExtentError, research.readers.packages.PackageError: it is refused.
        ValueError, LookupError, struct.error, zipfile.BadZipFile: it is damaged.
    """
    with path.open("rb") as file:
        if suffix == ".xls" and not zipfile.is_zipfile(file):
            _check_sheets(_xls_cells(file))
            return path.stat().st_size
        total = check_package(file, max_bytes)
        left = MAX_TOTAL_BYTES
        with zipfile.ZipFile(file) as package:
            for entry in package.infolist():
                if entry.file_size and left > 0:
                    left -= min(MAX_PART_BYTES, entry.file_size)
                    with package.open(entry) as part:
                        _check_sheets(_part_cells(part))
    return total


def _check_sheets(sheets: Iterable[Iterable[CellRun]]) -> None:
    """Refuses a sheet whose rectangle is much larger than the cells that fill it."""
    for cells in sheets:
        top = left = 1 << 62
        bottom = right = filled = 0
        for row, column, columns, rows in cells:
            filled += 1
            if row < top:
                top = row
            if column < left:
                left = column
            if row + rows > bottom:
                bottom = row + rows
            if column + columns > right:
                right = column + columns
        if filled and (bottom - top) * (right - left) > FREE_CELLS + MAX_CELLS_PER_FILLED_CELL * filled:
            raise ExtentError


def _part_cells(part: IO[bytes]) -> Iterator[Iterator[CellRun]]:
    """The cells of each sheet in a part of a package, whatever its name says."""
    head = part.read(BLOCK_BYTES)
    if b"<" not in head[:MAX_TAG_BYTES]:
        yield _xlsb_cells(head + part.read(MAX_PART_BYTES - len(head)))
    elif b"table-row" in head or b":opendocument:" in head[:MAX_TAG_BYTES]:
        yield from _ods_sheets(part, head)
    else:
        yield _xlsx_cells(_read_blocks(part, head))


def _read_blocks(part: IO[bytes], block: bytes) -> Iterator[bytes]:
    """The first bytes of XML in blocks that end with a tag.

    Raises:
        ValueError: it declares a document type, or a tag has no end.
    """
    seen, rest = 0, b""
    while block and seen < MAX_PART_BYTES:
        seen += len(block)
        block = rest + block
        if has_doctype(block):
            raise ValueError("a document type")
        end = block.rfind(b">") + 1
        rest = block[end:]
        if len(rest) > BLOCK_BYTES:
            raise ValueError("a tag without an end")
        yield block[:end]
        block = part.read(BLOCK_BYTES)


# xlsx: <row r="3"><c r="A3"><v>1</v></c></row>; without r, a row or a cell follows the one before

_XLSX_TAG_PATTERN = re.compile(
    rb"""<(?:[\w.-]{1,99}:)?(?:(c)|row)(?=[\s/>])(?:[^<>]*?\sr\s*=\s*["']\s*([A-Za-z]*)(\d+))?[^<>]*?(/?)>"""
)


def _xlsx_cells(blocks: Iterator[bytes]) -> Iterator[CellRun]:
    row = column = 0
    numbers: dict[bytes, int] = {}
    for block in blocks:
        for cell, letters, digits, closed in _XLSX_TAG_PATTERN.findall(block):
            if not cell:
                row, column = int(digits) if digits else row + 1, 0
                continue
            if digits:
                row = int(digits)
                column = numbers.get(letters) or numbers.setdefault(letters, _column_number(letters))
            else:
                column += 1
            if not closed:  # a cell without content is no value
                yield CellRun(row, column)


def _column_number(letters: bytes) -> int:
    """The number of a column: A is 1, XFD is 16,384."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


# ods: rows and cells may be repeated; empty ones at the end count for nothing

_ODS_TAG_PATTERN = re.compile(
    rb"""<(?:[\w.-]{1,99}:)?(?:(table)|(table-row)|(?:covered-)?table-cell)(?=[\s/>])([^<>]*?)(/?)>"""
)
_ROWS_REPEATED_PATTERN = re.compile(rb"""number-rows-repeated\s*=\s*["']\s*(\d+)""")
_COLUMNS_REPEATED_PATTERN = re.compile(rb"""number-columns-repeated\s*=\s*["']\s*(\d+)""")


def _ods_sheets(part: IO[bytes], head: bytes) -> Iterator[Iterator[CellRun]]:
    sheet: list[CellRun] = []
    row, rows, column = 1, 0, 1
    for block in _read_blocks(part, head):
        for table, new_row, attributes, closed in _ODS_TAG_PATTERN.findall(block):
            if table:
                yield iter(sheet)
                sheet, row, rows, column = [], 1, 0, 1
            elif new_row:
                row, rows, column = row + rows, _repeat_count(_ROWS_REPEATED_PATTERN, attributes), 1
            else:
                times = _repeat_count(_COLUMNS_REPEATED_PATTERN, attributes)
                if not closed or b"value" in attributes:
                    sheet.append(CellRun(row, column, times, rows))
                column += times
    yield iter(sheet)


def _repeat_count(pattern: re.Pattern[bytes], attributes: bytes) -> int:
    found = pattern.search(attributes) if attributes else None
    return int(found[1]) if found else 1


# xlsb: records of a type, a length and data; a row's record holds its number, a cell's that of its column

_ROW_RECORD = 0
_VALUE_RECORDS = range(2, 12)  # BrtCellRk to BrtFmlaError


def _xlsb_cells(data: bytes) -> Iterator[CellRun]:
    at = row = 0
    for _ in range(MAX_RECORDS):
        if at + 2 > len(data):
            return
        kind, at = _read_variable_integer(data, at, 2)
        size, at = _read_variable_integer(data, at, 4)
        if size >= 4 and (kind == _ROW_RECORD or kind in _VALUE_RECORDS) and at + 4 <= len(data):
            (number,) = struct.unpack_from("<I", data, at)
            if kind == _ROW_RECORD:
                row = number
            else:
                yield CellRun(row, number)
        at += size


def _read_variable_integer(data: bytes, offset: int, max_bytes: int) -> tuple[int, int]:
    """A number of up to `most` bytes with seven bits in each, and where it ends."""
    number = 0
    for n in range(max_bytes):
        byte = data[offset + n]
        number |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return number, offset + n + 1
    return number, offset + max_bytes


# xls: the stream of records in a compound file; each cell's record begins with its row and column

_CELL_RECORDS = {0x0203, 0x0204, 0x0205, 0x0006, 0x00FD, 0x027E, 0x00BD, 0x00D6, 0x0003, 0x0002, 0x0004, 0x0005, 0x007E}  # fmt: skip
_BOF_RECORDS = {0x0809, 0x0409, 0x0209, 0x0009}  # BOF: a sheet, or the workbook itself


def _xls_cells(file: IO[bytes]) -> Iterator[list[CellRun]]:
    data = _workbook_stream(file)
    cells: list[CellRun] = []
    at = 0
    for _ in range(MAX_RECORDS):
        if at + 4 > len(data):
            break
        kind, size = struct.unpack_from("<HH", data, at)
        at += 4
        if kind in _BOF_RECORDS:
            yield cells
            cells = []
        elif kind in _CELL_RECORDS and size >= 6 and at + size <= len(data):
            row, column = struct.unpack_from("<HH", data, at)
            last = struct.unpack_from("<H", data, at + size - 2)[0] if kind == 0x00BD else column
            cells.append(CellRun(row, column, max(1, last - column + 1)))
        at += size
    yield cells


def _workbook_stream(file: IO[bytes]) -> bytes:
    """The first bytes of the stream of a workbook in a compound file."""
    file.seek(0)
    head = file.read(512)
    if head[:2] == b"\x09\x08" or head[:1] == b"\x09":  # an old file is its stream alone
        return head + file.read(MAX_PART_BYTES)
    shift, small = struct.unpack_from("<HH", head, 30)
    count, first = struct.unpack_from("<I", head, 44)[0], struct.unpack_from("<I", head, 48)[0]
    if head[:4] != b"\xd0\xcf\x11\xe0" or shift not in (9, 12) or small != 6:
        raise ValueError("no compound file")
    size = 1 << shift

    def sector(number: int) -> bytes:
        file.seek((number + 1) << shift)
        return file.read(size)

    tables = struct.unpack_from("<109I", head, 76)[: min(count, 109)]
    each = size // 4
    table = b"".join(sector(number) for number in tables if number < 0xFFFFFFFA)

    def chain(number: int) -> bytes:
        out: list[bytes] = []
        while number < 0xFFFFFFFA and len(out) * size < MAX_PART_BYTES:
            out.append(sector(number))
            if number >= each * len(tables):
                break
            (number,) = struct.unpack_from("<I", table, 4 * number)
        return b"".join(out)

    folder = chain(first)
    for at in range(0, len(folder) - 127, 128):
        length = struct.unpack_from("<H", folder, at + 64)[0]
        name = folder[at : at + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        if name.lower() in ("workbook", "book"):
            return chain(struct.unpack_from("<I", folder, at + 116)[0])
    raise ValueError("no workbook in it")
