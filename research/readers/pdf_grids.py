"""Tables on a PDF page whose cells lie between drawn lines, horizontal and vertical."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from research.readers.pdf_drawings import DrawnLines, RuledLine, UprightLine
from research.readers.pdf_lines import Row, build_rows
from research.readers.pdf_tables import PlacedTable, Strip, TableRegion, find_table_rows, join_cells, split_at_strips
from research.readers.pdf_words import Box, Word
from research.readers.table_text import Cell, CellTable, spread_cells

_MAX_CROSSINGS = 250_000  # of the lines of a page; graph paper has more
_TOUCH = 3.0  # points between lines that meet
_MAX_COLUMNS, _MAX_ROWS = 64, 400
_MAX_CELL_CHARACTERS = 300  # of a usual cell; frames around articles hold more
_MAX_CUT_WORDS = 0.05  # of the words of a table, through which its lines go
_MIN_SHARE = 0.3  # of the cells that hold text; diagrams have fewer
_MIN_LINES = 0.6  # of the lines of a cell that holds all rows of a table
_FEW_ROWS = 3  # of a table that has no lines between its rows


class _Grid(NamedTuple):
    """Lines that meet: the edges of columns and of rows, and the walls between neighbouring cells.

    A wall (row, column) in `upright` is the left one of this cell, in `ruled` the upper one.
    """

    xs: list[float]
    ys: list[float]
    upright: set[tuple[int, int]]
    ruled: set[tuple[int, int]]


def find_grids(words: Sequence[Word], lines: DrawnLines) -> list[PlacedTable]:
    """Return the tables between the lines of a page; of a table within another one only the inner one."""
    tables: list[PlacedTable] = []
    grids = (_make_grid(ruled, upright) for ruled, upright in _meeting_lines(lines))
    for grid in sorted(filter(None, grids), key=lambda grid: (grid.xs[-1] - grid.xs[0]) * (grid.ys[-1] - grid.ys[0])):
        box = (grid.xs[0], grid.ys[0], grid.xs[-1], grid.ys[-1])
        if any(overlap(box, table.box) for table in tables):
            continue
        inside = [word for word in words if _is_inside(word, box)]
        if inside and (region := _read_grid(inside, grid)):
            tables.append(PlacedTable(box, region))
    return tables


def overlap(one: Box, other: Box) -> bool:
    """Return True if two boxes have a part in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _middle(word: Word) -> tuple[float, float]:
    return (word.x0 + word.x1) / 2, word.baseline - 0.35 * word.size


def _is_inside(word: Word, box: Box) -> bool:
    x, y = _middle(word)
    return box[0] < x < box[2] and box[1] < y < box[3]


def _meeting_lines(lines: DrawnLines) -> Iterator[tuple[list[RuledLine], list[UprightLine]]]:
    """Yield groups of lines that meet each other, directly or by others."""
    ruled, upright = lines
    if not ruled or not upright or len(ruled) * len(upright) > _MAX_CROSSINGS:
        return
    parents = [*range(len(ruled) + len(upright))]

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    for index, rule in enumerate(ruled):
        for number, line in enumerate(upright, len(ruled)):
            if (
                rule.x0 - _TOUCH <= line.x <= rule.x1 + _TOUCH
                and line.y0 - _TOUCH <= rule.y <= line.y1 + _TOUCH
                and root(index) != root(number)
            ):
                parents[root(number)] = root(index)
    groups: dict[int, tuple[list[RuledLine], list[UprightLine]]] = defaultdict(lambda: ([], []))
    for index, rule in enumerate(ruled):
        groups[root(index)][0].append(rule)
    for number, line in enumerate(upright, len(ruled)):
        groups[root(number)][1].append(line)
    yield from (group for group in groups.values() if group[0] and group[1])


def _make_grid(ruled: Sequence[RuledLine], upright: Sequence[UprightLine]) -> _Grid | None:
    """Return the grid of lines that meet, None unless it has several columns and rows."""
    xs = _edges([*(line.x for line in upright), min(line.x0 for line in ruled), max(line.x1 for line in ruled)])
    ys = _edges([*(line.y for line in ruled), min(line.y0 for line in upright), max(line.y1 for line in upright)])
    if not (2 < len(xs) <= _MAX_COLUMNS + 1 and 2 < len(ys) <= _MAX_ROWS + 1):
        return None
    row_middles = [(one + other) / 2 for one, other in pairwise(ys)]
    column_middles = [(one + other) / 2 for one, other in pairwise(xs)]
    walls = {
        (row, _nearest(xs, line.x))
        for line in upright
        for row, y in enumerate(row_middles)
        if line.y0 - _TOUCH < y < line.y1 + _TOUCH
    }
    floors = {
        (_nearest(ys, line.y), column)
        for line in ruled
        for column, x in enumerate(column_middles)
        if line.x0 - _TOUCH < x < line.x1 + _TOUCH
    }
    return _Grid(xs, ys, walls, floors)


def _edges(places: Iterable[float]) -> list[float]:
    """Return the places in order, one for those that are close."""
    edges: list[float] = []
    for place in sorted(places):
        if not edges or place - edges[-1] > 2 * _TOUCH:
            edges.append(place)
    return edges


def _nearest(edges: Sequence[float], place: float) -> int:
    return min(range(len(edges)), key=lambda index: abs(edges[index] - place))


def _read_grid(words: Sequence[Word], grid: _Grid) -> TableRegion | None:
    """Return the table in a grid, None if it is no table: a frame, a diagram."""
    cell_of = _merged_cells(grid)
    contents: dict[tuple[int, int], list[Word]] = defaultdict(list)
    for word in words:
        x, y = _middle(word)
        contents[cell_of[bisect_right(grid.ys, y) - 1, bisect_right(grid.xs, x) - 1]].append(word)
    if not _is_table(words, contents, cell_of, grid):
        return None
    strips = tuple(Strip(x - _TOUCH, x + _TOUCH) for x in grid.xs[1:-1])
    if len(grid.ys) - 1 <= _FEW_ROWS and any(_holds_columns(build_rows(inside)) for inside in contents.values()):
        return None
    texts = {cell: join_cells(row.text for row in build_rows(inside)) for cell, inside in contents.items()}
    rows: list[list[Cell]] = []
    sizes = _cell_sizes(cell_of)
    for number in range(len(grid.ys) - 1):
        cells = [cell for cell in sizes if cell[0] == number]
        lines = build_rows([word for cell in cells for word in contents.get(cell, ())])
        is_single = len(cells) == len(grid.xs) - 1 and all(sizes[cell] == (1, 1) for cell in cells)
        if is_single and len(grid.ys) - 1 <= _FEW_ROWS and _holds_rows(lines, strips):
            rows += [[*map(Cell, texts_)] for texts_ in find_table_rows(lines, strips, ())]
        else:
            rows.append([Cell(texts.get(cell, ""), sizes[cell][1], sizes[cell][0]) for cell in sorted(cells)])
    heading_rows = CellTable(rows).heading_count
    table = spread_cells(rows, heading_rows)
    width = max(map(len, table))
    table = [row + [""] * (width - len(row)) for row in table]
    filled = [column for column in range(width) if any(row[column] for row in table)]
    return TableRegion(tuple(tuple(row[column] for column in filled) for row in table), strips, heading_rows)


def _merged_cells(grid: _Grid) -> dict[tuple[int, int], tuple[int, int]]:
    """Map each cell to the upper left cell of the rectangle without walls that it belongs to."""
    cells: dict[tuple[int, int], tuple[int, int]] = {}
    columns, rows = len(grid.xs) - 1, len(grid.ys) - 1
    for row, column in product(range(rows), range(columns)):
        if (row, column) in cells:
            continue
        end = column + 1
        while end < columns and (row, end) not in grid.upright and (row, end) not in cells:
            end += 1
        bottom = row + 1
        while (
            bottom < rows
            and not any((bottom, c) in grid.ruled or (bottom, c) in cells for c in range(column, end))
            and not any((bottom, c) in grid.upright for c in range(column + 1, end))
        ):
            bottom += 1
        cells.update(((r, c), (row, column)) for r in range(row, bottom) for c in range(column, end))
    return cells


def _cell_sizes(cell_of: dict[tuple[int, int], tuple[int, int]]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the rows and columns that each merged cell takes."""
    sizes: dict[tuple[int, int], tuple[int, int]] = {}
    for (row, column), (top, left) in cell_of.items():
        height, width = sizes.get((top, left), (1, 1))
        sizes[top, left] = max(height, row - top + 1), max(width, column - left + 1)
    return sizes


def _is_table(
    words: Sequence[Word],
    contents: dict[tuple[int, int], list[Word]],
    cell_of: dict[tuple[int, int], tuple[int, int]],
    grid: _Grid,
) -> bool:
    """Return True if several rows have text in several cells, the cells are short and no line goes through words."""
    filled_rows = Counter(row for row, _ in contents)
    strips = [Strip(x - _TOUCH, x + _TOUCH) for x in grid.xs[1:-1]]
    if sum(count > 1 for count in filled_rows.values()) < 2 and not _holds_rows(build_rows(words), strips):
        return False
    if len(contents) < _MIN_SHARE * len(set(cell_of.values())):
        return False
    if statistics.mean(sum(len(word.text) for word in inside) for inside in contents.values()) > _MAX_CELL_CHARACTERS:
        return False
    cut = sum(
        word.x0 < x - _TOUCH
        and word.x1 > x + _TOUCH
        and (bisect_right(grid.ys, _middle(word)[1]) - 1, k) in grid.upright
        for word in words
        for k, x in enumerate(grid.xs)
    )
    return cut <= _MAX_CUT_WORDS * len(words)


def _holds_rows(lines: Sequence[Row], strips: Sequence[Strip]) -> bool:
    """Return True if cells side by side hold all rows of a table, line by line: each has most of the lines."""
    columns = split_at_strips(lines, strips)
    return len(lines) > 2 and len(columns) > 1 and all(len(c) >= _MIN_LINES * len(lines) for c in columns)


def _holds_columns(lines: Sequence[Row]) -> bool:
    """Return True if a cell holds several columns, which no lines divide."""
    return len(lines) > 2 and sum(len(line.chunks) > 1 for line in lines) >= _MIN_LINES * len(lines)
