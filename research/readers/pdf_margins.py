"""Running heads, running feet and page numbers: lines in the margin that neighbouring pages repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from research.readers.pdf_lines import Row

NEIGHBOURS = (-2, -1, 1, 2)  # left and right pages may have different heads
_MAX_ROWS = 4  # of a head or foot
_MAX_SHIFT = 2.0  # points between the baselines of a repeated line
_MARGIN_GAP = 1.4  # distances of lines that at least divide a head from the text
_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]+|[IVXLC]+")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def without_running_rows(rows: Sequence[Row], number: int, neighbours: Mapping[int, Sequence[Row]]) -> list[Row]:
    """Leave out the running heads and feet of the page `number`.

    `neighbours` are the rows of the pages around it by their distance, as -1 for the page before. A page
    never loses all of its rows.
    """
    if not rows:
        return []
    top = _running_count(rows, number, neighbours)
    bottom = _running_count(rows[::-1], number, {distance: other[::-1] for distance, other in neighbours.items()})
    return [*rows[top : len(rows) - bottom]] if top + bottom < len(rows) else [*rows]


def _running_count(rows: Sequence[Row], number: int, neighbours: Mapping[int, Sequence[Row]]) -> int:
    """Return the number of outermost rows that are running; the outermost row comes first."""
    pitch = _line_distance(rows)
    count = 0
    for index, row in enumerate(rows[:_MAX_ROWS]):
        gap = abs(rows[index + 1].baseline - row.baseline) if index + 1 < len(rows) else 0.0
        is_apart = gap >= _MARGIN_GAP * pitch
        is_number = index == 0 and gap > 1.5 * pitch and row.text.strip("-–— ") == str(number)
        if not is_number and not any(
            _is_repeated(row, other, distance, by_number=is_apart and index == 0)
            for distance, other_rows in neighbours.items()
            for other in other_rows[:_MAX_ROWS]
        ):
            break
        if is_apart and not (index + 1 < len(rows) and gap < 2 * pitch and _heads_table(row, rows[index + 1])):
            count = index + 1
    return count


def _line_distance(rows: Sequence[Row]) -> float:
    """Return the distance of text lines: the lower quartile, which gaps and side-by-side columns change little."""
    distances = sorted(
        abs(b.baseline - a.baseline) for a, b in pairwise(rows) if abs(b.baseline - a.baseline) > 0.8 * a.size
    )
    return distances[len(distances) // 4] if len(distances) > 3 else 1.3 * rows[-1].size


def _heads_table(row: Row, inner: Row) -> bool:
    """Return True if a row looks like the headings of the row below it."""
    starts = [chunk.x0 for chunk in inner.chunks]
    return len(starts) > 1 and sum(any(abs(c.x0 - x) < 3 for x in starts) for c in row.chunks) > 1


def _is_repeated(row: Row, other: Row, distance: int, *, by_number: bool) -> bool:
    """Return True if a row is at the same height as one of another page and says the same.

    Numbers may go up by the distance of the pages. With `by_number`, a page number at either end is enough.
    """
    if abs(row.baseline - other.baseline) > _MAX_SHIFT or abs(row.size - other.size) > 0.5:
        return False
    text, other_text = row.text, other.text
    if _NUMBER.split(text) == _NUMBER.split(other_text):
        pairs = zip(map(int, _NUMBER.findall(text)), map(int, _NUMBER.findall(other_text)), strict=True)
        return all(theirs - ours in (0, distance) for ours, theirs in pairs)
    if not by_number:
        return False
    numbers = [*_edge_numbers(other_text)]
    return any(number + distance in numbers for number in _edge_numbers(text))


def _edge_numbers(text: str) -> Iterator[int]:
    """Yield the page numbers, Arabic or Roman, that a line begins or ends with."""
    words = text.split()
    for word in {words[0], words[-1]} if words else ():
        if _NUMBER.fullmatch(word) and len(word) < 6:
            yield int(word)
        elif _ROMAN.fullmatch(word):
            values = [_ROMAN_VALUES[letter] for letter in word.lower()]
            yield sum(-a if a < b else a for a, b in pairwise([*values, 0]))
