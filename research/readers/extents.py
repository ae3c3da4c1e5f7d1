"""Limits on the extent of workbooks, checked before a library opens them: xlsx, xlsb, ods and xls.

The library holds the whole rectangle of a sheet in memory, from the first filled cell to the last.
A file of a kilobyte with one cell in the last corner would need 500 GB, so the rectangle is
determined from the file's bytes first. To bound the time, only the first `MAX_PART_BYTES` bytes or
`MAX_RECORDS` records of each part are scanned; the memory limit of the process covers the rest.

Sources of the formats: ECMA-376 (xlsx), MS-XLSB, MS-XLS, MS-CFB, ODF 1.2.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

from research.readers.packages import check_package, has_doctype

FREE_CELLS = 3_000_000  # cells that any sheet may span, about 100 MB of memory
MAX_CELLS_PER_FILLED_CELL = 20  # further cells spanned per filled cell
MAX_PART_BYTES = 16 * 1024**2  # scanned per part
MAX_TOTAL_BYTES = 128 * 1024**2  # scanned in all parts
MAX_RECORDS = 200_000  # scanned per part of xlsb or xls
BLOCK_BYTES = 1 << 20
MAX_TAG_BYTES = 8_192  # longest tag


class ExtentError(ValueError):
    """A sheet spans far more cells than it fills."""


class CellRun(NamedTuple):
    """A rectangle of filled cells: its first row and column, and its size."""

    row: int
    column: int
    column_count: int = 1
    row_count: int = 1


def check_workbook(path: Path, suffix: str, max_bytes: int) -> int:
    """Check a workbook's size and extent, and return its uncompressed size in bytes.

    Raises:
        ExtentError: a sheet spans far more cells than it fills.
        research.readers.packages.PackageError: it is refused, such as for a size over `max_bytes`.
        ValueError, LookupError, struct.error, zipfile.BadZipFile: the file is damaged.
    """
    with path.open("rb") as file:
        if suffix == ".xls" and not zipfile.is_zipfile(file):
            _check_sheets(_xls_cells(file))
            return path.stat().st_size
        total = check_package(file, max_bytes)
        remaining_bytes = MAX_TOTAL_BYTES
        with zipfile.ZipFile(file) as package:
            for entry in package.infolist():
                if entry.file_size and remaining_bytes > 0:
                    remaining_bytes -= min(MAX_PART_BYTES, entry.file_size)
                    with package.open(entry) as part:
                        _check_sheets(_part_cells(part))
    return total


def _check_sheets(sheets: Iterable[Iterable[CellRun]]) -> None:
    """Raise `ExtentError` for a sheet whose rectangle is much larger than its number of filled cells,
    where a run of repeated cells counts as one."""
    for cells in sheets:
        first_row = first_column = 1 << 62
        end_row = end_column = filled_count = 0
        for row, column, column_count, row_count in cells:
            filled_count += 1
            # Comparisons, because min() and max() take several times as long for millions of cells.
            if row < first_row:
                first_row = row
            if column < first_column:
                first_column = column
            if row + row_count > end_row:
                end_row = row + row_count
            if column + column_count > end_column:
                end_column = column + column_count
        spanned_count = (end_row - first_row) * (end_column - first_column)
        if filled_count and spanned_count > FREE_CELLS + MAX_CELLS_PER_FILLED_CELL * filled_count:
            raise ExtentError


def _part_cells(part: IO[bytes]) -> Iterator[Iterable[CellRun]]:
    """Yield the cells of each sheet in a part, whose format is detected from its content."""
    head = part.read(BLOCK_BYTES)
    if b"<" not in head[:MAX_TAG_BYTES]:
        yield _xlsb_cells(head + part.read(MAX_PART_BYTES - len(head)))
    elif b"table-row" in head or b":opendocument:" in head[:MAX_TAG_BYTES]:
        yield from _ods_sheets(part, head)
    else:
        yield _xlsx_cells(_read_blocks(part, head))


def _read_blocks(part: IO[bytes], block: bytes) -> Iterator[bytes]:
    """Yield the first bytes of an XML part in blocks that end with a tag.

    Raises:
        ValueError: it declares a document type, or a tag has no end.
    """
    bytes_read, rest = 0, b""
    while block and bytes_read < MAX_PART_BYTES:
        bytes_read += len(block)
        block = rest + block
        if has_doctype(block):
            raise ValueError("a document type")
        end = block.rfind(b">") + 1
        rest = block[end:]
        if len(rest) > BLOCK_BYTES:
            raise ValueError("a tag without an end")
        yield block[:end]
        block = part.read(BLOCK_BYTES)


# xlsx: <row r="3"><c r="A3"><v>1</v></c></row>; without r, it follows the row or cell before

_XLSX_TAG_PATTERN = re.compile(
    rb"""<(?:[\w.-]{1,99}:)?(?:(c)|row)(?=[\s/>])(?:[^<>]*?\sr\s*=\s*["']\s*([A-Za-z]*)(\d+))?[^<>]*?(/?)>"""
)


def _xlsx_cells(blocks: Iterator[bytes]) -> Iterator[CellRun]:
    """Yield the cells with content of a sheet of xlsx."""
    row = column = 0
    for block in blocks:
        for cell, letters, digits, is_self_closing in _XLSX_TAG_PATTERN.findall(block):
            if not cell:
                row, column = int(digits) if digits else row + 1, 0
                continue
            if digits:
                row, column = int(digits), _column_number(letters)
            else:
                column += 1
            if not is_self_closing:  # a cell without content has no value
                yield CellRun(row, column)


@lru_cache(1_024)
def _column_number(letters: bytes) -> int:
    """Return the number of a column: A is 1, XFD is 16,384."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


# ods: rows and cells may be repeated; empty ones at the end do not count

_ODS_TAG_PATTERN = re.compile(
    rb"""<(?:[\w.-]{1,99}:)?(?:(table)|(table-row)|(?:covered-)?table-cell)(?=[\s/>])([^<>]*?)(/?)>"""
)
_ROWS_REPEATED_PATTERN = re.compile(rb"""number-rows-repeated\s*=\s*["']\s*(\d+)""")
_COLUMNS_REPEATED_PATTERN = re.compile(rb"""number-columns-repeated\s*=\s*["']\s*(\d+)""")


def _ods_sheets(part: IO[bytes], head: bytes) -> Iterator[list[CellRun]]:
    """Yield the filled cells of each sheet of ods, repeated cells as one run."""
    sheet: list[CellRun] = []
    row, row_count, column = 1, 0, 1
    for block in _read_blocks(part, head):
        for table, new_row, attributes, is_self_closing in _ODS_TAG_PATTERN.findall(block):
            if table:
                yield sheet
                sheet, row, row_count, column = [], 1, 0, 1
            elif new_row:
                row, row_count, column = row + row_count, _repeat_count(_ROWS_REPEATED_PATTERN, attributes), 1
            else:
                column_count = _repeat_count(_COLUMNS_REPEATED_PATTERN, attributes)
                if not is_self_closing or b"value" in attributes:
                    sheet.append(CellRun(row, column, column_count, row_count))
                column += column_count
    yield sheet


def _repeat_count(pattern: re.Pattern[bytes], attributes: bytes) -> int:
    match = pattern.search(attributes) if attributes else None
    return int(match[1]) if match else 1


# xlsb: records of type, length and data; row records hold the row, cell records the column

_ROW_RECORD = 0
_VALUE_RECORDS = range(2, 12)  # BrtCellRk to BrtFmlaError


def _xlsb_cells(data: bytes) -> Iterator[CellRun]:
    """Yield the filled cells of a sheet of xlsb."""
    offset = row = 0
    for _ in range(MAX_RECORDS):
        if offset + 2 > len(data):
            return
        kind, offset = _read_variable_integer(data, offset, 2)
        size, offset = _read_variable_integer(data, offset, 4)
        if size >= 4 and (kind == _ROW_RECORD or kind in _VALUE_RECORDS) and offset + 4 <= len(data):
            (number,) = struct.unpack_from("<I", data, offset)
            if kind == _ROW_RECORD:
                row = number
            else:
                yield CellRun(row, number)
        offset += size


def _read_variable_integer(data: bytes, offset: int, max_bytes: int) -> tuple[int, int]:
    """Read an integer with seven bits per byte; return it and the offset after it."""
    number = 0
    for n in range(max_bytes):
        byte = data[offset + n]
        number |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return number, offset + n + 1
    return number, offset + max_bytes


# xls: a record stream in a compound file; each cell record begins with its row and column

_CELL_RECORDS = {0x0203, 0x0204, 0x0205, 0x0006, 0x00FD, 0x027E, 0x00BD, 0x00D6, 0x0003, 0x0002, 0x0004, 0x0005, 0x007E}
_MULTIPLE_RECORD = 0x00BD  # MulRk: several cells of a row, with the number of the last column at its end
_BOF_RECORDS = {0x0809, 0x0409, 0x0209, 0x0009}  # BOF: a sheet, or the workbook itself


def _xls_cells(file: IO[bytes]) -> Iterator[list[CellRun]]:
    """Yield the filled cells of each sheet of xls; the first ones are those of the workbook itself."""
    data = _workbook_stream(file)
    cells: list[CellRun] = []
    offset = 0
    for _ in range(MAX_RECORDS):
        if offset + 4 > len(data):
            break
        kind, size = struct.unpack_from("<HH", data, offset)
        offset += 4
        if kind in _BOF_RECORDS:
            yield cells
            cells = []
        elif kind in _CELL_RECORDS and size >= 6 and offset + size <= len(data):
            row, column = struct.unpack_from("<HH", data, offset)
            last_column = struct.unpack_from("<H", data, offset + size - 2)[0] if kind == _MULTIPLE_RECORD else column
            cells.append(CellRun(row, column, max(1, last_column - column + 1)))
        offset += size
    yield cells


def _workbook_stream(file: IO[bytes]) -> bytes:
    """Return the first bytes of the workbook stream in a compound file."""
    file.seek(0)
    head = file.read(512)
    if head[:2] == b"\x09\x08" or head[:1] == b"\x09":  # an old file is a bare stream
        return head + file.read(MAX_PART_BYTES)
    sector_shift, mini_sector_shift = struct.unpack_from("<HH", head, 30)
    fat_sector_count, first_directory_sector = struct.unpack_from("<II", head, 44)
    if head[:4] != b"\xd0\xcf\x11\xe0" or sector_shift not in (9, 12) or mini_sector_shift != 6:
        raise ValueError("no compound file")
    sector_size = 1 << sector_shift

    def read_sector(number: int) -> bytes:
        file.seek((number + 1) << sector_shift)
        return file.read(sector_size)

    fat_sectors = struct.unpack_from("<109I", head, 76)[: min(fat_sector_count, 109)]
    entries_per_sector = sector_size // 4
    fat = b"".join(read_sector(number) for number in fat_sectors if number < 0xFFFFFFFA)

    def read_chain(number: int) -> bytes:
        out: list[bytes] = []
        while number < 0xFFFFFFFA and len(out) * sector_size < MAX_PART_BYTES:
            out.append(read_sector(number))
            if number >= entries_per_sector * len(fat_sectors):
                break
            (number,) = struct.unpack_from("<I", fat, 4 * number)
        return b"".join(out)

    directory = read_chain(first_directory_sector)
    for entry_offset in range(0, len(directory) - 127, 128):
        length = struct.unpack_from("<H", directory, entry_offset + 64)[0]
        name = directory[entry_offset : entry_offset + max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        if name.lower() in ("workbook", "book"):
            return read_chain(struct.unpack_from("<I", directory, entry_offset + 116)[0])
    raise ValueError("no workbook in it")
