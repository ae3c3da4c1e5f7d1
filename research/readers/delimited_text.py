"""Encoding, first rows and types of CSV and TSV files that become tables."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from research.readers.table_layout import find_delimiter
from research.readers.table_records import SAMPLE_ROWS, FileColumnType, UnreadableTableError
from research.readers.text_encoding import detect_encoding

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


def find_file_encoding(stream: BinaryIO, file: str) -> str:
    """Return the encoding of a text file called `file`, in which the whole file can be decoded.

    Raises:
        UnreadableTableError: there is none, two are nearly as probable, or the file is binary.
    """
    head = stream.read(BLOCK_SIZE)
    is_complete = len(head) < BLOCK_SIZE
    guess = detect_encoding(head if is_complete else head[: head.rfind(b"\n") + 1] or head)
    if guess is None or not guess.is_sure:
        raise UnreadableTableError("encoding", file)
    decoder = codecs.getincrementaldecoder(guess.encoding)()
    stream.seek(0)
    try:
        while block := stream.read(BLOCK_SIZE):
            if "\x00" in decoder.decode(block):
                raise UnreadableTableError("broken", file)
        decoder.decode(b"", final=True)
    except UnicodeError:
        raise UnreadableTableError("encoding", file) from None
    return guess.encoding


def infer_type(values: Sequence[str]) -> FileColumnType:
    """Return the type that all values of a column have; text if there are no values."""
    filled = [value.strip() for value in values if value.strip()]
    for kind, pattern in _TYPE_PATTERNS.items():
        if filled and all(pattern.fullmatch(value) for value in filled):
            return kind
    return "text"


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
    delimiter = find_delimiter(text, kind).mark
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
