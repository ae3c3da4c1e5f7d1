"""Lines of text for the rows of a table, each cell with the heading of its column, from any kind of file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from research.core.text.tokenizer import HAN_RANGES
from research.readers.column_formats import ColumnConverter, convert, detect_format
from research.readers.delimiters import LAYOUT_ROWS
from research.readers.drafts import MAX_CHARACTERS, label_cells, one_line
from research.readers.table_layout import Headings, find_headings, is_figure, join_headings
from research.readers.total_rows import RowSorter

_HAN_PATTERN = re.compile(f"[{HAN_RANGES}]")
BLOCK_ROWS = 100  # that are labelled at once
MAX_SPAN = 64  # columns of a merged cell that are counted
MAX_ROW_SPAN = 1_000
MAX_FILLED_CELLS = 2_000_000  # of a table, after which merged cells are not filled


def table_lines(rows: Sequence[Sequence[str]], heading_rows: int = 0) -> list[str]:
    """Format a table as lines; `heading_rows` is the number of heading rows that the file marks, 0 for none.

    Without marked headings they are detected; a table of two columns is then read as names and values,
    unless both hold figures below words.
    """
    rows = [row for row in rows if any(map(str.strip, row))]
    width = max(map(len, rows), default=0)
    if 0 < heading_rows < len(rows):
        headings = marked_headings(rows, heading_rows)
    else:
        headings = find_headings(rows)
        if width <= 2 and not all(is_figure(cell) for row in rows[headings.last :] for cell in row if cell.strip()):
            headings = Headings()
    if headings.last >= len(rows):  # a table of one row has no headings
        headings = Headings()
    if width <= 2 and not headings.height:
        pairs = [[text for cell in row if (text := one_line(cell, MAX_CHARACTERS))] for row in rows]
        return [(": " if len(pair) == 2 else "; ").join(pair) for pair in pairs]
    return [*title_lines(rows, headings), *row_lines(join_headings(rows, headings), rows[headings.last :])]


def marked_headings(rows: Sequence[Sequence[str]], heading_rows: int) -> Headings:
    """Return the headings of a table that marks so many rows, of which the first may be titles."""
    width = max(map(len, rows[:heading_rows]), default=0)
    first = 1
    while first < heading_rows and _is_title(rows[first - 1], width):
        first += 1
    return Headings(first, heading_rows - first + 1)


def _is_title(row: Sequence[str], width: int) -> bool:
    """Return True if a row of a wide table holds one text, in one cell or in a cell merged of several."""
    return width > 1 and len({cell.strip() for cell in row if cell.strip()}) == 1


def title_lines(rows: Sequence[Sequence[str]], headings: Headings) -> list[str]:
    """Return the lines above the headings: a title or a remark."""
    return [line for row in rows[: max(0, headings.first - 1)] if (line := label_cells((), list(dict.fromkeys(row))))]


def row_lines(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row that is not blank, with the names of the columns.

    A row that is the sum of others by its word and its figures begins with a mark that says so; a note has
    no names of columns.
    """
    names = [one_line(name) for name in names]
    rows = (row for row in rows if any(map(str.strip, row)))
    first_rows = list(islice(rows, LAYOUT_ROWS))
    width = max(map(len, first_rows), default=0)
    formats = [detect_format([row[n] for row in first_rows if n < len(row)]) for n in range(width)]
    numbers = [n for n, form in enumerate(formats) if form.kind in ("integer", "number")]
    sorter = RowSorter(numbers)
    converters = {n: ColumnConverter(formats[n]) for n in numbers}
    numbered = enumerate(chain(first_rows, rows), 1)
    while block := list(islice(numbered, BLOCK_ROWS)):
        is_even = sorter.accepts_blocks and all(len(row) == width for _, row in block)
        if is_even and sorter.add_data(_converted_columns([row for _, row in block], converters)):
            yield from (label_cells(names, row) for _, row in block)
            continue
        for number, row in block:
            values = list(row)
            for n in numbers:
                if n < len(values):
                    values[n] = convert(values[n], formats[n]) or ""
            kind = sorter.kind(number, values)
            if kind == "note":
                yield label_cells((), row)
            else:
                yield _total_mark(row) * (kind == "total") + label_cells(names, row)


def _converted_columns(rows: Sequence[Sequence[str]], converters: Mapping[int, ColumnConverter]) -> list[Sequence[str]]:
    """Return the columns of rows of equal length; a value of another type in a column of numbers is blank."""
    return [
        [value or "" for value in converters[n].convert(column)] if n in converters else column
        for n, column in enumerate(zip(*rows, strict=True))
    ]


def _total_mark(row: Sequence[str]) -> str:
    return "[合计行] " if any(map(_HAN_PATTERN.search, row)) else "[Total row] "


# Merged cells


class Cell(NamedTuple):
    """A cell of a document, which may be merged of several columns and rows."""

    text: str
    columns: int = 1
    rows: int = 1


class CellTable(NamedTuple):
    """The cells of a table by row, of which the first `heading_rows` are marked as headings."""

    cells: list[list[Cell]]
    heading_rows: int = 0
    caption: str = ""

    def lines(self) -> list[str]:
        """Return the table as lines, one a row."""
        return table_lines(spread_cells(self.cells, self.heading_count), self.heading_count)

    @property
    def heading_count(self) -> int:
        """Return the number of heading rows: those marked, or two if cells of the upper one span columns of words."""
        if self.heading_rows:
            return self.heading_rows
        top = next((n for n, row in enumerate(self.cells) if len(row) > 1), 0)
        upper, lower = self.cells[top : top + 1], self.cells[top + 1 : top + 2]
        spans_columns = any(cell.columns > 1 and cell.text.strip() for row in upper for cell in row)
        are_words = not any(is_figure(cell.text) for row in lower for cell in row)
        return top + 2 if spans_columns and are_words and len(self.cells) > top + 2 else 0


def spread_cells(
    rows: Iterable[Sequence[Cell]], heading_rows: int = 0, *, repeats_numbers: bool = True
) -> list[list[str]]:
    """Return the texts of a table by column; a merged cell repeats its text in each of its rows.

    It repeats it in each of its columns only within the first `heading_rows` rows, as there it names them.
    Without `repeats_numbers`, a number stands in the first row alone, as a sum would count it again.
    """
    grid: list[list[str]] = []
    filled = 0
    open_cells: dict[int, tuple[str, int]] = {}  # by column: the text, and the rows that it still fills
    for number, cells in enumerate(rows):
        row: list[str] = []

        def continue_from_above(row: list[str] = row) -> None:
            while len(row) in open_cells:
                text, left = open_cells.pop(len(row))
                if left > 1:
                    open_cells[len(row)] = (text, left - 1)
                row.append(text)

        for cell in cells:
            continue_from_above()
            for n in range(min(max(cell.columns, 1), MAX_SPAN)):
                text = cell.text if not n or number < heading_rows else ""
                if cell.rows > 1:
                    repeated = text if repeats_numbers or number < heading_rows or not is_figure(text) else ""
                    open_cells[len(row)] = (repeated, min(cell.rows, MAX_ROW_SPAN) - 1)
                row.append(text)
        continue_from_above()
        grid.append(row)
        filled += len(row)
        if filled > MAX_FILLED_CELLS:
            open_cells.clear()
    return grid
