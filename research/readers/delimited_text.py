"""Encoding, delimiter, heading row and types of CSV and TSV files."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol, TextIO

from research.readers.drafts import find_encoding
from research.readers.table_records import SAMPLE_ROWS, FileColumnType, UnreadableTableError

BLOCK_SIZE = 1 << 20
MAX_LINE_CHARS = 4_194_304  # longest line of a text file
_DAY_PATTERN = r"\d{4}(?:-\d{1,2}-\d{1,2}|/\d{1,2}/\d{1,2}|\.\d{1,2}\.\d{1,2}|年\d{1,2}月\d{1,2}日)"
_TYPE_PATTERNS: dict[FileColumnType, re.Pattern[str]] = {
    "integer": re.compile(r"[+-]?(?:0|[1-9]\d{0,17})"),
    "number": re.compile(r"[+-]?(?:0|[1-9]\d{0,17})?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?<=\d)"),
    "date": re.compile(_DAY_PATTERN),
    "datetime": re.compile(_DAY_PATTERN + r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"),
    "boolean": re.compile(r"true|false", re.IGNORECASE),
}


class TableTextDetector(Protocol):
    """Detects how a text file writes a table: its encoding, delimiter and heading row.

    The library (`LibraryTables`) and the import of files into a database (`DatabaseTables`) detect
    these in different ways today. Both are used through this interface only, so that one detector
    can replace them.
    """

    def find_encoding(self, stream: BinaryIO, file: str) -> str:
        """Return the encoding of a file called `file`.

        Raises:
            UnreadableFileError: the library does not know the encoding, or the file is binary.
            UnreadableTableError: the same for the import into a database.
        """
        ...

    def find_delimiter(self, text: str, suffix: str) -> str:
        """Return the delimiter of a text, which begins a file with this suffix."""
        ...

    def find_header(self, rows: Iterable[Sequence[str]]) -> int:
        """Return the number of the heading row, from 1, or 0 if there is none."""
        ...


class LibraryTables(TableTextDetector):
    """Detection for documents of the library, whose rows become text.

    Encoding: UTF-8, UTF-16 with a byte order mark, or GB18030 with mostly common characters.
    Delimiter: that of `csv.Sniffer`, else the usual one for the suffix. Heading: the first filled
    row, whatever it contains.
    """

    def find_encoding(self, stream: BinaryIO, file: str) -> str:
        return find_encoding(stream.read())

    def find_delimiter(self, text: str, suffix: str) -> str:
        try:
            return csv.Sniffer().sniff(text[:8_192], delimiters=",;\t|").delimiter
        except csv.Error:
            return "\t" if suffix == ".tsv" else ","

    def find_header(self, rows: Iterable[Sequence[str]]) -> int:
        return next((n for n, row in enumerate(rows, 1) if any(map(str.strip, row))), 0)


class DatabaseTables(TableTextDetector):
    """Detection for files that become tables of a database.

    Encoding: UTF-8, UTF-16 with or without a byte order mark, or GB18030, verified by decoding the
    whole file in blocks. Delimiter: the most frequent of comma, tab, semicolon and bar in the first
    50 lines; always a tab for .tsv. Heading: the first row as wide as the table, if it has no
    numbers, dates or repeated values.
    """

    def find_encoding(self, stream: BinaryIO, file: str) -> str:
        head = stream.read(4096)
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            candidates = ["utf-16"]
        elif b"\x00" in head and not _is_single_byte(head):
            candidates = ["utf-16-le" if head[1::2].count(0) >= head[0::2].count(0) else "utf-16-be"]
        else:
            candidates = ["utf-8-sig", "gb18030"]
        for encoding in candidates:
            decoder = codecs.getincrementaldecoder(encoding)()
            stream.seek(0)
            with suppress(UnicodeError):
                while block := stream.read(BLOCK_SIZE):
                    if "\x00" in decoder.decode(block):
                        raise UnreadableTableError("broken", file)
                decoder.decode(b"", final=True)
                return encoding
        raise UnreadableTableError("encoding", file)

    def find_delimiter(self, text: str, suffix: str) -> str:
        head = "\n".join(text.splitlines()[:50])
        return max(("\t",) if suffix == ".tsv" else (",", "\t", ";", "|"), key=head.count)

    def find_header(self, rows: Iterable[Sequence[str]]) -> int:
        first_rows = [[value for value in row if value] for row in islice(rows, 100)]
        widths = Counter(len(row) for row in first_rows if row)
        if not widths:
            return 0
        width = max(widths, key=lambda n: (widths[n], n))
        number, row = next((n, row) for n, row in enumerate(first_rows, 1) if len(row) >= width)
        is_text = all(infer_type([value]) == "text" for value in row)
        return number if is_text and len(set(row)) == len(row) else 0


LIBRARY_TABLES, DATABASE_TABLES = LibraryTables(), DatabaseTables()


def infer_type(values: Sequence[str]) -> FileColumnType:
    """Return the type that all values of a column have; text if there are no values."""
    filled = [value.strip() for value in values if value.strip()]
    for kind, pattern in _TYPE_PATTERNS.items():
        if filled and all(pattern.fullmatch(value) for value in filled):
            return kind
    return "text"


def _is_single_byte(head: bytes) -> bool:
    """Return True if a text with zero bytes has a single-byte encoding rather than UTF-16.

    In UTF-16, every comma and every line break contains a zero byte.
    """
    rest = head.replace(b"\x00", b"")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(rest)  # the last character may be cut
    except UnicodeError:
        return False
    return 4 * (len(head) - len(rest)) < len(head)


def _read_lines(opened: TextIO, file: str) -> Iterator[str]:
    """Yield the lines of a text file, refusing endless ones."""
    number = 0
    while line := opened.readline(MAX_LINE_CHARS + 1):
        number += 1
        if len(line) > MAX_LINE_CHARS:
            raise UnreadableTableError("broken", file, row=number)
        yield line


def read_first_rows(path: Path, encoding: str, kind: str, file: str) -> tuple[list[list[str]], str]:
    """Return the first rows of a text file, and its delimiter."""
    with path.open(encoding=encoding, newline="") as opened:
        text = opened.read(200_000)
    delimiter = DATABASE_TABLES.find_delimiter(text, kind)
    rows: list[list[str]] = []
    csv.field_size_limit(MAX_LINE_CHARS)  # a field may be as long as a line
    try:
        with path.open(encoding=encoding, newline="") as opened:
            for row in csv.reader(_read_lines(opened, file), delimiter=delimiter):
                rows.append(row)
                if len(rows) >= SAMPLE_ROWS:
                    break
    except csv.Error:
        raise UnreadableTableError("broken", file, row=len(rows) + 1) from None
    if not any(any(row) for row in rows):
        raise UnreadableTableError("empty", file)
    return rows, delimiter
