"""Detection of the layout of a table in a text file or sheet: delimiter, preamble and heading rows.

A delimiter is judged by how many rows it splits into the same number of cells, with the quoting rules of
CSV, so that marks inside quotes or inside the text of a cell do not count. Heading rows are judged by
what is below them: a row of words above numbers, or of years above figures, is a heading.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

DELIMITERS = (",", ";", "\t", "|")
_CELL_CHARS = 60  # of a cell, to judge it
LAYOUT_ROWS = 200  # rows by which the delimiter and the headings are judged
_SEP_LINE = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)  # Excel's own line before the table
_PERIOD = re.compile(
    r"(?:1[89]|20|21)\d\d(?:年度?|E|F|A)?"
    r"|(?:1[89]|20|21)\d\d[-/.年]\s?(?:0?[1-9]|1[0-2])月?(?:[-/.月]\s?(?:0?[1-9]|[12]\d|3[01])日?)?"
    r"|(?:FY|Q[1-4][ -]?|H[12][ -]?)?(?:1[89]|20|21)\d\d(?:[ -]?(?:Q[1-4]|H[12]))?"
    r"|(?:0?[1-9]|1[0-2])月(?:份)?",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"[(（]?[-+−–]?\s?[$€£¥￥]?\s?\d[\d\s.,'’  ]*(?:[%％‰]|万|亿|e[-+]?\d+)?\s?[)）]?", re.IGNORECASE)


class Delimiter(NamedTuple):
    """The delimiter of a text, with the number of lines before the table that only name it (`sep=;`)."""

    mark: str
    skipped_lines: int = 0


class Headings(NamedTuple):
    """The rows of the headings: `height` rows from row `first`, counted from 1; `height` 0 for none."""

    first: int = 0
    height: int = 0

    @property
    def last(self) -> int:
        """Return the number of the last heading row, 0 for none."""
        return self.first + self.height - 1 if self.height else 0


def find_delimiter(text: str, suffix: str) -> Delimiter:
    """Return the delimiter of the text of a file with this suffix."""
    if (line := _SEP_LINE.match(text)) and line[1] not in '\r\n"':
        return Delimiter(line[1], 1)
    usual = "\t" if suffix == ".tsv" else ","
    lines = text.splitlines(keepends=True)[: 4 * LAYOUT_ROWS]
    scores = {mark: _consistency(lines, mark) for mark in DELIMITERS}
    return Delimiter(max(DELIMITERS, key=lambda mark: (scores[mark], mark == usual)))


def _consistency(lines: Sequence[str], mark: str) -> tuple[float, int]:
    """Return the share of rows that have the most frequent number of cells, and that number.

    Both are 0 if no row is split.
    """
    rows = []
    try:
        for row in csv.reader(lines, delimiter=mark):
            if any(cell.strip() for cell in row):
                rows.append(len(row))
            if len(rows) >= LAYOUT_ROWS:
                break
    except csv.Error:
        return (0.0, 0)
    widths = Counter(width for width in rows if width > 1)
    if not widths:
        return (0.0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    return (round(count / len(rows), 2), width)


def find_headings(rows: Iterable[Sequence[str]]) -> Headings:
    """Return the heading rows of a table, whose first rows are given; two if the upper one groups columns.

    A preamble (a title, a remark, comments with #) stands in rows that fill fewer columns than the table
    has, or that have one text in all of them.
    """
    first_rows = [
        [cell.strip()[:_CELL_CHARS] for cell in row] for row, _ in zip(rows, range(LAYOUT_ROWS), strict=False)
    ]
    comment_count = next((n for n, row in enumerate(first_rows) if any(row) and not row[0].startswith("#")), 0)
    filled = [0 if n < comment_count else _filled_count(row) for n, row in enumerate(first_rows)]
    widths = Counter(width for width in filled if width)
    if not widths:
        return Headings()
    width = max(widths, key=lambda n: (widths[n], n))
    start = next(index for index, count in enumerate(filled) if count >= width)
    body = [row for row in first_rows[start + 1 :] if any(row)]
    if len(body) > 1 and _groups_columns(first_rows[start], first_rows[start + 1], body[1:]):
        return Headings(start + 1, 2)
    if start and filled[start - 1] > 1 and _groups_columns(first_rows[start - 1], first_rows[start], body):
        return Headings(start, 2)
    if _is_heading(first_rows[start], body):
        return Headings(start + 1, 1)
    body = [first_rows[start], *body]
    if start > 1 and filled[start - 2] > 1 and _groups_columns(first_rows[start - 2], first_rows[start - 1], body):
        return Headings(start - 1, 2)
    if start and 2 * filled[start - 1] >= width > 1 and _stands_above_figures(first_rows[start - 1], body):
        return Headings(start, 1)
    return Headings()


def join_headings(rows: Sequence[Sequence[str]], headings: Headings) -> list[str]:
    """Return the headings of the columns: those of several rows joined, as in 第一季度数量 or "Q1 units"."""
    if not headings.height:
        return []
    names = list(rows[headings.last - 1])
    for upper in reversed(rows[headings.first - 1 : headings.last - 1]):
        pairs = zip(_fill_groups(upper, names), names, strict=True)
        names = [_join_pair(above.strip(), below.strip()) for above, below in pairs]
    return names


def _join_pair(above: str, below: str) -> str:
    if not above or not below or above == below:
        return below or above
    is_han = "\u3400" <= above[-1] <= "\u9fff" and "\u3400" <= below[0] <= "\u9fff"
    return above + below if is_han else f"{above} {below}"


def _fill_groups(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Return the upper headings, one for each lower one; a blank one continues the group to its left."""
    filled: list[str] = []
    for index, below in enumerate(lower):
        above = upper[index] if index < len(upper) else ""
        filled.append(above or (filled[-1] if filled and below.strip() and index and lower[index - 1].strip() else ""))
    return filled


def _filled_count(row: Sequence[str]) -> int:
    """Return the number of filled cells; 1 if all of several have the same text, as in a merged title."""
    cells = [cell for cell in row if cell]
    return 1 if len(cells) > 1 and len(set(cells)) == 1 else len(cells)


def _groups_columns(upper: Sequence[str], lower: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return True if `upper` is a row of headings for groups of the columns that `lower` names."""
    if any(_FIGURE.fullmatch(cell) and not _PERIOD.fullmatch(cell) for cell in (*upper, *lower) if cell):
        return False
    names = [cell for cell in upper if cell]
    has_groups = len(set(names)) < len(names) or len(names) < len([cell for cell in lower if cell])
    pairs = [pair for pair in zip(_fill_groups(upper, lower), lower, strict=True) if any(pair)]
    repeats = len({below for _, below in pairs}) < len(pairs)
    return (
        has_groups
        and repeats
        and len(set(pairs)) == len(pairs)
        and _stands_above_figures(
            [above if below in ("", above) or not _FIGURE.fullmatch(above) else below for above, below in pairs], body
        )
    )


def _is_heading(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return True if a row is the heading of the rows below it."""
    cells = [cell for cell in row if cell]
    figures = [cell for cell in cells if _FIGURE.fullmatch(cell)]
    if not figures:  # words, or nothing
        return len(set(cells)) == len(cells) or _stands_above_figures(row, body)
    periods = [cell for cell in cells if _PERIOD.fullmatch(cell)]
    if set(figures) - set(periods) or len(set(periods)) != len(periods):
        return False
    # Years as headings: no column may hold years itself.
    columns = [index for index, cell in enumerate(row) if _PERIOD.fullmatch(cell)]
    below = [cells[index] for cells in body for index in columns if index < len(cells) and cells[index]]
    return bool(below) and sum(bool(_PERIOD.fullmatch(cell)) for cell in below) <= len(below) / 10


def is_figure(text: str) -> bool:
    """Return True if a cell holds a number, with its sign or unit, or a year, month or day."""
    return bool(_FIGURE.fullmatch(text.strip()) or _PERIOD.fullmatch(text.strip()))


def _stands_above_figures(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return True if a column has a word in this row and figures below it."""
    for index, cell in enumerate(row):
        below = [cells[index] for cells in body if index < len(cells) and cells[index]]
        if cell and below and not _FIGURE.fullmatch(cell) and all(map(_FIGURE.fullmatch, below)):
            return True
    return False
