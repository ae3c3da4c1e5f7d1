"""Detection of the delimiter of a text file.

A delimiter is judged by how many rows it splits into the same number of cells, with the quoting rules of
CSV, so that marks inside quotes or inside the text of a cell do not count.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

DELIMITERS = (",", ";", "\t", "|")
RARE_DELIMITERS = ("，", "^", "~", "\x01")  # where no other one splits the rows alike
LAYOUT_ROWS = 200  # rows by which the delimiter and the headings are judged
MIN_SPACED_ROWS = 3  # that spaces must split alike, to be a delimiter
_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)  # Excel's own line before the table
_SINGLE_QUOTED = re.compile(r"(?:^|[,;\t|])'[^'\r\n]*'(?:[,;\t|]|\r?\n?$)")
_DOUBLE_QUOTED = re.compile(r'(?:^|[,;\t|])"[^"\r\n]*"(?:[,;\t|]|\r?\n?$)')
_NUMBER = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?|NA|NaN")


class Delimiter(NamedTuple):
    """The delimiter of a text, with the number of lines before the table that only name it (`sep=;`)."""

    mark: str
    skipped_lines: int = 0


def find_delimiter(text: str, suffix: str) -> Delimiter:
    """Return the delimiter of the text of a file with this suffix."""
    if (line := _SEP_LINE.match(text)) and line[1] not in '\r\n"':
        return Delimiter(line[1], 1)
    usual = "\t" if suffix == ".tsv" else ","
    lines = text.splitlines(keepends=True)[: 4 * LAYOUT_ROWS]
    quote = find_quote(lines)
    scores = {mark: _consistency(_split(lines, mark, quote)) for mark in DELIMITERS}
    best = max(DELIMITERS, key=lambda mark: (scores[mark], mark == usual))
    if scores[best] <= (0.5, 0):
        rare = next((mark for mark in RARE_DELIMITERS if _consistency(_split(lines, mark))[0] == 1), "")
        if rare or _is_spaced(_split(lines, " ")):
            return Delimiter(rare or " ")
    return Delimiter(best)


def find_quote(lines: Sequence[str]) -> str:
    """Return "'" if half of the lines have cells between single quotes and no line has a cell between double ones."""
    single = sum(bool(_SINGLE_QUOTED.search(line)) for line in lines)
    double = any(_DOUBLE_QUOTED.search(line) for line in lines)
    return "'" if 2 * single >= len(lines) > 1 and not double else '"'


def _split(lines: Sequence[str], mark: str, quote: str = '"') -> list[list[str]]:
    """Return the first rows that are not blank, none if the text breaks the rules of CSV."""
    rows = []
    try:
        for row in csv.reader(lines, delimiter=mark, quotechar=quote, skipinitialspace=mark == " "):
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) >= LAYOUT_ROWS:
                break
    except csv.Error:
        return []
    return rows


def _consistency(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    """Return the share of rows that have the most frequent number of cells, and that number.

    Both are 0 if no row is split.
    """
    widths = Counter(len(row) for row in rows if len(row) > 1)
    if not widths:
        return (0.0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    return (round(count / len(rows), 2), width)


def _is_spaced(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if spaces split all rows but the first alike, with numbers below each other."""
    body = [row for row in rows[1:] if set("".join(row)) - set("-=")]
    if len(body) < MIN_SPACED_ROWS or len({len(row) for row in body}) != 1 or len(body[0]) < 2:
        return False
    if len(rows[0]) not in (len(body[0]), len(body[0]) - 1):
        return False
    return any(all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*body, strict=True))
