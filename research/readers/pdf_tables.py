"""Tables on a PDF page: rows and cells from the gutters between columns and the ruled lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from research.readers.pdf_drawings import RuledLine
from research.readers.pdf_lines import Row, make_row
from research.readers.pdf_paragraphs import is_stopped, join_line
from research.readers.pdf_words import Box, Word
from research.readers.table_layout import Headings, find_headings, is_figure, join_headings
from research.readers.table_text import marked_headings, row_lines, table_lines

_MIN_SHIFT = 50  # points between columns of a page
_CLOSE = 0.9  # of the font size
_ROW_GAP = 1.25  # of the distance of lines in a cell, from which on a gap divides rows


class Strip(NamedTuple):
    """A strip of the page between x0 and x1, clear of words."""

    x0: float
    x1: float


class TableRegion(NamedTuple):
    """The cells of a table, row by row, with the strips between its columns.

    `heading_rows` is the number of heading rows where merged cells show it, else 0.
    """

    cells: tuple[tuple[str, ...], ...]
    strips: tuple[Strip, ...]
    heading_rows: int = 0


class PlacedTable(NamedTuple):
    """A table in a box of the page."""

    box: Box
    region: TableRegion


def split_at_strips(rows: Sequence[Row], strips: Sequence[Strip]) -> list[list[Row]]:
    """Split rows into the columns between strips; columns without words are left out."""
    middles = [(strip.x0 + strip.x1) / 2 for strip in strips]
    columns: list[list[Row]] = [[] for _ in range(len(strips) + 1)]
    for row in rows:
        for column, words in zip(columns, _split_words(row, middles), strict=True):
            if words:
                column.append(make_row(words))
    return [column for column in columns if column]


def count_columns(row: Row, strips: Sequence[Strip]) -> int:
    """Return the number of columns between strips in which a row has words."""
    middles = [(strip.x0 + strip.x1) / 2 for strip in strips]
    return len({bisect_left(middles, (word.x0 + word.x1) / 2) for word in row.words})


def _split_words(row: Row, middles: Sequence[float]) -> list[list[Word]]:
    cells: list[list[Word]] = [[] for _ in range(len(middles) + 1)]
    for word in row.words:
        cells[bisect_left(middles, (word.x0 + word.x1) / 2)].append(word)
    return cells


def find_table_rows(rows: Sequence[Row], strips: Sequence[Strip], rules: Iterable[RuledLine]) -> list[list[str]]:
    """Return the cells of a table; lines of one cell are joined."""
    middles = [(strip.x0 + strip.x1) / 2 for strip in strips]
    lines = [[make_row(words).text if words else "" for words in _split_words(row, middles)] for row in rows]
    parts = _group_lines(rows, lines, strips, rules)
    return [[join_cells(column) for column in zip(*(lines[index] for index in part), strict=True)] for part in parts]


def join_close(rows: Sequence[Row]) -> list[Row]:
    """Join rows that are too close to be lines of one column."""
    groups: list[list[Row]] = []
    for row in rows:
        if groups and is_close(groups[-1][-1], row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return [group[0] if len(group) == 1 else make_row(w for row in group for w in row.words) for group in groups]


def is_close(upper: Row, lower: Row) -> bool:
    """Return True if two lines are too close to be lines of one column, as where cells are centred in their rows."""
    return lower.baseline - upper.baseline < _CLOSE * min(upper.size, lower.size)


def join_cells(lines: Iterable[str]) -> str:
    """Join the lines of a cell."""
    cell = ""
    for text in lines:
        cell = join_line(cell, text) + text if cell and text else cell or text
    return cell


def _group_lines(
    rows: Sequence[Row], lines: Sequence[Sequence[str]], strips: Sequence[Strip], rules: Iterable[RuledLine]
) -> list[list[int]]:
    """Group the lines of a table to its rows.

    Rows end at ruled lines if most rows have one, or at gaps that are larger than those between other lines;
    else a line without a first cell, or of fewer cells that all begin with small letters, continues the row above.
    """
    ruled = _ends_at_rules(rows, strips, rules)
    if 3 * sum(ruled) < len(rows) or sum(ruled) < 2:
        distances = [after.baseline - before.baseline for before, after in pairwise(rows)]
        limit = _ROW_GAP * min(distances, default=0.0)
        apart = [distance > limit for distance in distances]
        ruled = apart if _is_wrapped(lines, apart) else _row_starts(lines)
        ruled = [ends and not is_close(*pair) for ends, pair in zip(ruled, pairwise(rows), strict=True)]
    groups: list[list[int]] = [[0]]
    for index, ends in enumerate(ruled, 1):
        if ends:
            groups.append([])
        groups[-1].append(index)
    return groups


def _row_starts(lines: Sequence[Sequence[str]]) -> list[bool]:
    """Return, for each line but the first, True if it begins a row."""
    first = lines[0]
    starts: list[bool] = []
    for line in lines[1:]:
        pairs = [(above, cell) for above, cell in zip(first, line, strict=True) if cell]
        are_figures = any(is_figure(above) and is_figure(cell) for above, cell in pairs)  # never one cell
        goes_on = not line[0] or (len(pairs) < sum(map(bool, first)) and all(cell[0].islower() for _, cell in pairs))
        starts.append(are_figures or not goes_on)
        first = line if starts[-1] else first
    return starts


def _is_wrapped(lines: Sequence[Sequence[str]], apart: Sequence[bool]) -> bool:
    """Return True if gaps below the headings divide rows: many lines of a row have fewer cells than another of it."""
    parts: list[list[int]] = [[sum(map(bool, lines[0]))]]
    for line, gap in zip(lines[1:], apart, strict=True):
        if gap:
            parts.append([])
        parts[-1].append(sum(map(bool, line)))
    rows = parts[1:]
    close = sum(len(part) - 1 for part in rows)
    shorter = sum(count < max(part) for part in rows for count in part)
    return any(apart[1:]) and 10 * shorter > 3 * close


def _ends_at_rules(rows: Sequence[Row], strips: Sequence[Strip], rules: Iterable[RuledLine]) -> list[bool]:
    """Return, for each row but the first, True if a ruled line across a strip separates it from the row above."""
    across = [rule.y for rule in rules if any(rule.x0 <= strip.x0 and rule.x1 >= strip.x1 for strip in strips)]
    return [
        any(before.baseline - 0.1 * before.size < y < after.baseline - 0.4 * after.size for y in across)
        for before, after in pairwise(rows)
    ]


class FormattedTable(NamedTuple):
    """The lines of a table; `last_row` replaces the last line of the page before, if its row goes on on this page."""

    lines: list[str]
    last_row: str = ""


class TableFormatter:
    """Formats tables as lines; a table that goes on over a page end keeps its headings, and a row its cells."""

    def __init__(self) -> None:
        self._strips: tuple[Strip, ...] = ()
        self._heading_rows: list[Sequence[str]] = []
        self._last_row: Sequence[str] = ()

    def format(self, table: TableRegion, *, is_page_start: bool) -> FormattedTable:
        """Return the lines of a table: what stands above the headings, then `Heading: cell; Heading: cell` a row.

        `is_page_start` is True for a table with nothing above it, which may go on with the table before.
        """
        cells, strips, heading_rows = table
        goes_on = self._has_columns(strips, is_page_start=is_page_start)
        last_row = self._last_row
        self._strips, self._last_row = strips, cells[-1]
        if goes_on and self._heading_rows:
            repeated = len(self._heading_rows)
            body = cells[repeated:] if [*map(list, cells[:repeated])] == [*map(list, self._heading_rows)] else cells
            names = join_headings(self._heading_rows, Headings(1, repeated))
            if body and _row_goes_on(last_row, body[0]):
                joined = [join_cells(pair) for pair in zip(last_row, body[0], strict=True)]
                self._last_row = joined if len(body) == 1 else self._last_row
                return FormattedTable([*row_lines(names, body[1:])], next(row_lines(names, [joined]), ""))
            return FormattedTable([*row_lines(names, body)])
        headings = marked_headings(cells, heading_rows) if heading_rows else find_headings(cells)
        has_names = headings.height > 0 and len(strips) > 1  # two columns may be names and values
        self._heading_rows = [*cells[headings.first - 1 : headings.last]] if has_names else []
        return FormattedTable(table_lines(cells, heading_rows))

    def end(self) -> None:
        """Note that other text follows, so that the next table is another one."""
        self._strips = ()

    def _has_columns(self, strips: tuple[Strip, ...], *, is_page_start: bool) -> bool:
        """Return True if the last table has columns at the same places, perhaps all moved to another column or page."""
        if not strips or len(strips) != len(self._strips):
            return False
        shift = strips[0].x0 - self._strips[0].x0
        return any(
            all(
                min(one.x1, other.x1 + by) > max(one.x0, other.x0 + by)
                for one, other in zip(strips, self._strips, strict=True)
            )
            for by, may_go_on in ((0.0, is_page_start), (shift, is_page_start or abs(shift) > _MIN_SHIFT))
            if may_go_on
        )


def _row_goes_on(last: Sequence[str], first: Sequence[str]) -> bool:
    """Return True if the first row on a page is the rest of the last one before it: of one cell, or without capitals."""
    if len(last) != len(first):
        return False
    pairs = [(above, cell) for above, cell in zip(last, first, strict=True) if cell]
    if len(pairs) >= sum(map(bool, last)) or any(
        not above or (is_figure(above) and is_figure(cell)) for above, cell in pairs
    ):
        return False
    if all(cell[0].islower() for _, cell in pairs):
        return True
    return len(pairs) == 1 and not first[0] and not is_stopped(pairs[0][0])
