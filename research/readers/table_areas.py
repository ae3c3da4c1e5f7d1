"""Separation of several tables in one sheet or text file, by blank rows, titles, blank columns and repeated headings.

Rows after blank ones or a title are a table of their own if they begin with headings: words above figures in columns
that have figures above them, or another number of columns. Equal headings without a title, or rows of the
same kind, go on with the table above.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from research.core.records import Record
from research.readers.table_layout import filled_count, find_headings, is_figure

MAX_TITLE_CHARS = 40
MAX_PAIR_CELLS = 3  # of a row with a name and a value, above a table
_COMPARED_ROWS = 200  # on both sides of a title
MIN_BAND_COLUMNS = 2  # of tables beside each other
MAX_REPEATED_TABLES = 4  # beside each other under the same headings
_TOTAL_LABEL = re.compile(r"[计計]\s*$|[总總総]\s*[额額数和]|\btotal|summe|gesamt|합\s*계|총\s*계", re.IGNORECASE)


class TableArea(Record):
    """The cells of a table in its sheet or text file, numbered from 1; a last row or column of 0 means to the end."""

    first_row: int = 1
    last_row: int = 0
    first_column: int = 1
    last_column: int = 0
    title: str = ""

    @property
    def reference(self) -> str:
        """Return the cells as in A8:C12."""
        end = f"{_letters(self.last_column) if self.last_column else ''}{self.last_row or ''}"
        return f"{_letters(self.first_column)}{self.first_row}:{end}"

    def contains(self, row: int) -> bool:
        """Return True if a row is in the area."""
        return self.first_row <= row and (not self.last_row or row <= self.last_row)

    def cut(self, row: Sequence[str]) -> list[str]:
        """Return the cells of a row that are in the area."""
        return list(row[self.first_column - 1 : self.last_column or None])


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


class _Block(NamedTuple):
    """Rows without blank ones between them: the number of the first one, from 1, and their cells."""

    first: int
    rows: list[list[str]]

    @property
    def title_count(self) -> int:
        """Return the number of rows at the top that hold one text each."""
        return next((n for n, row in enumerate(self.rows) if filled_count(row) > 1), len(self.rows))

    @property
    def body(self) -> list[list[str]]:
        """Return the rows below the titles."""
        return self.rows[self.title_count :]


def find_areas(rows: Sequence[Sequence[str]], *, is_complete: bool = True) -> list[TableArea]:
    """Return the areas of the tables in the first rows of a sheet; one area for a single table.

    `is_complete` is False if further rows follow, which then belong to the last area.
    """
    areas: list[TableArea] = []
    bands = _find_bands(rows) if is_complete else [(1, 0)]
    cut = [[list(row[first - 1 : last or None]) for row in rows] for first, last in bands]
    own_titles = _own_titles(cut) if len(cut) > 1 else [""] * len(cut)
    for (first_column, last_column), band, own_title in zip(bands, cut, own_titles, strict=True):
        for first, last, title in _split_rows(band):
            title = own_title if first == 1 and own_title else title
            areas.append(
                TableArea(
                    first_row=first, last_row=last, first_column=first_column, last_column=last_column, title=title
                )
            )
    if len(areas) > 1 and is_complete:
        areas = [_close(area, rows) for area in areas]
    return areas or [TableArea()]


def _own_titles(bands: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """Return for tables beside each other the text above its headings that the others do not have, "" for none."""
    texts = []
    for band in bands:
        above = [row for row in band[: max(0, find_headings(band).first - 1)] if filled_count(row) == 1]
        cells = [next(" ".join(cell.split()) for cell in row if cell.strip()) for row in above]
        texts.append([text for text in cells if len(text) <= MAX_TITLE_CHARS and ":" not in text.replace("：", ":")])
    return [
        next((text for text in own if not any(text in other for other in texts if other is not own)), "")
        for own in texts
    ]


def _close(area: TableArea, rows: Sequence[Sequence[str]]) -> TableArea:
    """Return an area with the numbers of its last filled row and column."""
    filled = [n for n, row in enumerate(rows, 1) if area.contains(n) and any(map(str.strip, area.cut(row)))]
    width = max(
        (
            column
            for n in filled
            for column, cell in enumerate(area.cut(rows[n - 1]), area.first_column)
            if cell.strip()
        ),
        default=area.first_column,
    )
    first = next((n for n in filled), area.first_row)
    return area.model_copy(
        update={"first_row": first, "last_row": max(filled, default=first), "last_column": area.last_column or width}
    )


def _find_bands(rows: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the first and last columns, from 1, of tables that stand beside each other."""
    rows = [row for row in rows if not _is_merged_title(row)] or rows
    width = max(map(len, rows), default=0)
    used = [any(n < len(row) and row[n].strip() for row in rows) for n in range(width)]
    spans: list[tuple[int, int]] = []
    start = None
    for n, is_used in enumerate([*used, False], 1):
        if is_used and start is None:
            start = n
        elif not is_used and start is not None:
            spans.append((start, n - 1))
            start = None
    if len(spans) == 1:
        return _find_repeated_headings(rows, *spans[0]) or [(spans[0][0], 0)]
    if len(spans) < 2 or any(last - first + 1 < MIN_BAND_COLUMNS for first, last in spans):
        return [(1, 0)]
    bands = [[list(row[first - 1 : last]) for row in rows] for first, last in spans]
    if any(find_headings(band).height == 0 for band in bands) or not _are_separate(bands):
        return [(1, 0)]
    return spans


def _is_merged_title(row: Sequence[str]) -> bool:
    """Return True for a row with one text in three or more cells, as of a title that is merged above several tables."""
    return len([cell for cell in row if cell.strip()]) > 2 and filled_count(row) == 1


def _find_repeated_headings(rows: Sequence[Sequence[str]], first: int, last: int) -> list[tuple[int, int]]:
    """Return the columns of tables without a blank column between them, as of income beside expenditure.

    Their headings repeat but for the first, each table begins with a column of words that hardly repeat, and
    their rows end differently or both have rows of totals.
    """
    found = find_headings(rows)
    if not found.height:
        return []
    heading = ["".join(cell.split()) for cell in rows[found.last - 1][first - 1 : last]]
    width = len(heading)
    for count in range(2, MAX_REPEATED_TABLES + 1):
        size = width // count
        if size < MIN_BAND_COLUMNS or size * count != width or not all(heading):
            continue
        parts = [heading[n : n + size] for n in range(0, width, size)]
        if any(part[1:] != parts[0][1:] for part in parts):
            continue
        spans = [(first + n * size, first + (n + 1) * size - 1) for n in range(count)]
        bands = [[list(row[start - 1 : end]) for row in rows[found.last :]] for start, end in spans]
        if all(map(_begins_with_words, bands)) and _are_independent(bands):
            return spans
    return []


def _begins_with_words(band: Sequence[Sequence[str]]) -> bool:
    """Return True if a table has words that hardly repeat in its first column, and figures in the others."""
    labels = [row[0].strip() for row in band if row and row[0].strip()]
    others = [cell.strip() for row in band for cell in row[1:] if cell.strip()]
    are_words = len(set(labels)) > 0.8 * len(labels) > 0 and not any(map(is_figure, labels))
    return are_words and sum(map(is_figure, others)) > len(others) / 2


def _are_independent(bands: Sequence[Sequence[Sequence[str]]]) -> bool:
    """Return True if the rows of bands differ in being blank, or each band has a total."""
    extents = {tuple(n for n, row in enumerate(band) if any(map(str.strip, row))) for band in bands}
    return len(extents) > 1 or all(any(_TOTAL_LABEL.search(row[0]) for row in band if row) for band in bands)


def _are_separate(bands: Sequence[Sequence[Sequence[str]]]) -> bool:
    """Return True if bands of columns differ in their rows, repeat headings, or begin with words each."""
    extents = {tuple(n for n, row in enumerate(band) if filled_count(row) > 1) for band in bands}
    if len(extents) > 1:
        return True
    headings = [tuple(band[find_headings(band).last - 1]) for band in bands]
    if len(set(headings)) < len(headings):
        return True
    for band in bands:
        first_cells = [row[0] for row in band[find_headings(band).last :] if row and row[0].strip()]
        if len(set(first_cells)) < max(2, len(first_cells)) or any(map(is_figure, first_cells)):
            return False
    return True


def _split_rows(rows: Sequence[Sequence[str]]) -> list[tuple[int, int, str]]:
    """Return the first and last rows, from 1 and 0 for open, and the titles of the tables below each other."""
    blocks: list[_Block] = []
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        follows = bool(blocks) and blocks[-1].first + len(blocks[-1].rows) == number
        if not follows or _is_title_between(rows, number, blocks[-1].rows):
            blocks.append(_Block(number, []))
        blocks[-1].rows.append(list(row))
    starts: list[tuple[int, str]] = []
    current: list[list[str]] = []
    pending: tuple[int, str] | None = None  # a title in a block of its own
    for block in blocks:
        title = _title(block.rows[: block.title_count])
        if not block.body:
            pending = pending or (block.first, title)
            current.extend(block.rows)
            continue
        has_title = bool(title or (pending and pending[1]))
        if not starts:
            starts.append((1, title or (pending[1] if pending else "")))
            current = []
        elif len(starts) == 1 and _is_preamble(current, block.body):
            starts = [pending or (block.first, title)]
            current = []
        elif _starts_table(block.body, current, has_title=has_title):
            first, earlier = pending or (block.first, "")
            starts.append((first, title or earlier))
            current = []
        current.extend(block.body)
        pending = None
    if not starts:
        return []
    ends = [first - 1 for first, _ in starts[1:]] + [0]
    return [(first, last, title) for (first, title), last in zip(starts, ends, strict=True)]


def _is_title_between(rows: Sequence[Sequence[str]], number: int, current: Sequence[Sequence[str]]) -> bool:
    """Return True if a row is a title without a blank row above it, between a table and the headings of another."""
    if filled_count(rows[number - 1]) != 1 or number + 2 > len(rows) or filled_count(rows[number]) < 2:
        return False
    if any(is_figure(cell.strip()) for cell in rows[number] if cell.strip()) or not any(
        is_figure(cell.strip()) for row in current for cell in row if cell.strip()
    ):
        return False
    end = next((n for n in range(number, len(rows)) if filled_count(rows[n]) < 2), len(rows))
    following = rows[number : min(end, number + _COMPARED_ROWS)]
    titles = next((n for n, row in enumerate(current) if filled_count(row) > 1), len(current))
    return _starts_table(following, current[titles:][:_COMPARED_ROWS], has_title=True)


def _title(rows: Sequence[Sequence[str]]) -> str:
    """Return the first of the texts of rows, if it is short and no remark."""
    texts = [next(" ".join(cell.split()) for cell in row if cell.strip()) for row in rows]
    return next((text for text in texts if len(text) <= MAX_TITLE_CHARS and not is_figure(text)), "")


def _is_preamble(rows: Sequence[Sequence[str]], body: Sequence[Sequence[str]]) -> bool:
    """Return True if rows are pairs of a name and a value above a wider table, as in the exports of banks."""
    width = max(map(filled_count, rows))
    found = find_headings(body)
    if width > MAX_PAIR_CELLS or not found.height or filled_count(body[found.last - 1]) < max(4, width + 2):
        return False
    known = find_headings(rows)
    below = [row[1].strip() for row in rows[known.last :] if len(row) > 1 and row[1].strip()]
    return not (known.height and len(below) > 1 and all(map(is_figure, below)))


def _starts_table(body: Sequence[Sequence[str]], current: Sequence[Sequence[str]], *, has_title: bool) -> bool:
    """Return True if rows after a blank row are a table of their own, and not more rows of the current one."""
    if len(body) < 2:
        return False
    found = find_headings(body)
    if not found.height or found.first != 1:
        return False
    heading = [cell.strip() for cell in body[found.last - 1]]
    known = find_headings(current)
    if known.height and [cell.strip() for cell in current[known.last - 1]][: len(heading)] == heading:
        return has_title
    data = [row for row in current[known.last :] if filled_count(row) > 1]
    for index, cell in enumerate(heading):
        above = [row[index] for row in data if index < len(row) and row[index].strip()]
        if cell and not is_figure(cell) and above and sum(map(is_figure, above)) > len(above) / 2:
            return True
    columns = {n for n, cell in enumerate(heading) if cell}
    known_columns = {n for row in data for n, cell in enumerate(row) if cell.strip()}
    is_same = columns == known_columns
    return not is_same and (found.is_sure or has_title) and len(body) - found.height > 0


def blank_row_doubts(rows: Sequence[Sequence[str]], header: int) -> int:
    """Return the number of the first row after a blank one below the headings whose words may be headings, else 0.

    Only where no figures tell: all cells are words.
    """
    data = [row for row in rows[header:] if any(cell.strip() for cell in row)]
    if any(is_figure(cell.strip()) for row in data for cell in row):
        return 0
    was_blank, seen = False, False
    for number, row in enumerate(rows, 1):
        if number <= header:
            continue
        if not any(cell.strip() for cell in row):
            was_blank = seen
        elif was_blank and filled_count(row) > 1:
            return number
        else:
            seen, was_blank = True, False
    return 0
