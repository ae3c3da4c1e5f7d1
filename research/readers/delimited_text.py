"""Encoding and rows of CSV and TSV files that become tables."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from research.readers.delimiters import find_delimiter, find_quote
from research.readers.drafts import UnreadableFileError, reject_binary
from research.readers.table_records import SAMPLE_ROWS, UnreadableTableError
from research.readers.text_encoding import detect_encoding

BLOCK_SIZE = 1 << 20
STYLE_LINES = 50  # by which quotation marks are judged
MAX_LINE_CHARS = 4_194_304  # longest line of a text file


def find_file_encoding(stream: BinaryIO, file: str) -> str:
    """Return the encoding of a text file called `file`, in which the whole file can be decoded.

    Raises:
        UnreadableTableError: there is none, two are nearly as probable, or the file is binary.
    """
    head = stream.read(BLOCK_SIZE)
    is_complete = len(head) < BLOCK_SIZE
    guess = detect_encoding(head if is_complete else head[: head.rfind(b"\n") + 1] or head)
    if guess is None or not guess.is_sure:
        raise UnreadableTableError("broken" if b"\0" in head else "encoding", file)
    try:
        reject_binary(head.decode(guess.encoding, "replace"))
    except UnreadableFileError:
        raise UnreadableTableError("broken", file) from None
    decoder = codecs.getincrementaldecoder(guess.encoding)()
    stream.seek(0)
    try:
        while block := stream.read(BLOCK_SIZE):
            if "\x00" in decoder.decode(block):
                raise UnreadableTableError("broken", file)
        if decoder.getstate()[0]:  # the last character is incomplete
            raise UnreadableTableError("broken", file)
    except UnicodeError:
        raise UnreadableTableError("encoding", file) from None
    return guess.encoding


def read_rows(path: Path, encoding: str, delimiter: str, file: str) -> Iterator[list[str]]:
    """Yield the rows of a text file.

    Raises:
        UnreadableTableError: a row breaks the rules of CSV, or a line is endless.
    """
    csv.field_size_limit(MAX_LINE_CHARS)  # a field may be as long as a line
    number = 0
    try:
        with path.open(encoding=encoding, newline="") as opened:
            lines = _read_lines(opened, file)
            first = list(islice(lines, STYLE_LINES))
            style = _find_style(first, delimiter)
            for row in csv.reader(chain(first, lines), delimiter=delimiter, strict=True, **style):
                number += 1
                yield row
    except csv.Error:
        raise UnreadableTableError("broken", file, row=number + 1) from None
    except UnicodeError:
        raise UnreadableTableError("encoding", file) from None


def _find_style(lines: Sequence[str], delimiter: str) -> dict[str, Any]:
    """Return the quotation mark and if spaces after delimiters are skipped, as arguments of `csv.reader`."""
    skips_spaces = delimiter in ("|", " ") or any(f'{delimiter} "' in line for line in lines)
    return {"quotechar": find_quote(lines), "skipinitialspace": skips_spaces}


def has_usual_style(path: Path, encoding: str, delimiter: str) -> bool:
    """Return True if cells are between double quotation marks, without spaces before them."""
    with path.open(encoding=encoding, newline="") as opened:
        lines = [opened.readline(MAX_LINE_CHARS) for _ in range(STYLE_LINES)]
    return _find_style(lines, delimiter) == {"quotechar": '"', "skipinitialspace": False}


def _read_lines(opened: TextIO, file: str) -> Iterator[str]:
    """Yield the lines of a text file, refusing endless ones."""
    number = 0
    while line := opened.readline(MAX_LINE_CHARS + 1):
        number += 1
        if len(line) > MAX_LINE_CHARS:
            raise UnreadableTableError("broken", file, row=number)
        yield line


def read_first_rows(
    path: Path, encoding: str, kind: str, file: str, delimiter: str = ""
) -> tuple[list[list[str]], str]:
    """Return the first rows of a text file, and its delimiter, which is detected if it is "".

    Raises:
        UnreadableTableError: it is empty, cannot be decoded, or breaks the rules of CSV.
    """
    if not delimiter:
        try:
            with path.open(encoding=encoding, newline="") as opened:
                delimiter = find_delimiter(opened.read(200_000), kind).mark
        except UnicodeError:
            raise UnreadableTableError("encoding", file) from None
    rows = list(islice(read_rows(path, encoding, delimiter, file), SAMPLE_ROWS))
    if not any(cell.strip() for row in rows for cell in row):
        raise UnreadableTableError("empty", file)
    return rows, delimiter
