"""Order of reading on a PDF page: columns, headings across columns, and tables.

A gutter is an upright strip without words between words on both sides, over several rows. The tallest
gutter splits its rows into parts, left before right; the rows above and below are split in turn. Gutters
between short or aligned cells make a table instead. (A recursive XY cut, after Nagy and Seth 1984,
whose upright cuts are found first.)
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from research.readers.pdf_lines import Row
from research.readers.pdf_tables import RuledLine, Strip, find_table_rows, split_at_strips

MIN_GUTTER = 0.6  # in font sizes
_MIN_COLUMN_ROWS = 4  # of text columns; shorter ones need a wide gutter
_MIN_TABLE_ROWS = 3  # without ruled lines
_PROSE_CHARACTERS = 16  # of a usual line in a text column; Chinese ones count twice
_PROSE_FILL = 0.55  # of the column's width that a usual line takes
_HEADING_RATIO = 1.08  # of the font size of a heading across columns to that of the text
_SEPARATING_GAP = 3.5  # line distances without any text, as where a figure spans the columns
_MAX_DEPTH = 12
_MARKER = re.compile(r"[\[(（]?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4}|[一二三四五六七八九十]{1,2})[\])）.:、]*|[^\w\s]{1,2}")
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


class TextRegion(NamedTuple):
    """Rows of one column."""

    rows: tuple[Row, ...]


class TableRegion(NamedTuple):
    """The cells of a table, row by row, with the strips between its columns."""

    cells: tuple[tuple[str, ...], ...]
    strips: tuple[Strip, ...]


class _Gutter(NamedTuple):
    """A strip that is clear from row `first` to before row `end`."""

    strip: Strip
    first: int
    end: int


def split_page(rows: Sequence[Row], rules: Sequence[RuledLine], depth: int = 0) -> Iterator[TextRegion | TableRegion]:
    """Yield the regions of a page, or of a part of it, in the order of reading."""
    if not rows:
        return
    if depth < _MAX_DEPTH:
        left, right = min(row.x0 for row in rows), max(row.x1 for row in rows)
        for gutter in _find_gutters(rows):
            if _is_loose_text(rows[gutter.first : gutter.end], left, right):
                continue
            strips = _all_strips(rows, gutter)
            first, end, kind, strips = _classify(rows, gutter, strips, rules)
            if kind == "none":
                continue
            yield from split_page(rows[:first], rules, depth + 1)
            if kind == "table":
                yield TableRegion(tuple(map(tuple, find_table_rows(rows[first:end], strips, rules))), tuple(strips))
            else:
                for band in _cut_bands(rows[first:end], gutter.strip):
                    for part in split_at_strips(band, [gutter.strip]):
                        yield from split_page(part, rules, depth + 1)
            yield from split_page(rows[end:], rules, depth + 1)
            return
    yield TextRegion(tuple(rows))


# Gutters


def _is_loose_text(rows: Sequence[Row], left: float, right: float) -> bool:
    """Return True if most rows are justified lines from `left` to `right`, whose words are far apart but all alike."""
    return 2 * sum(_is_loose(row, left, right) for row in rows) > len(rows)


def _is_loose(row: Row, left: float, right: float) -> bool:
    gaps = [after.x0 - before.x1 for before, after in pairwise(row.words)]
    is_justified = row.x1 > right - row.size and row.x0 < left + 3 * row.size
    return is_justified and len(gaps) > 1 and max(gaps) < 1.4 * min(gaps) + 0.5


def _find_gutters(rows: Sequence[Row]) -> list[_Gutter]:
    """Return the gutters between chunks, the tallest first."""
    gutters: list[_Gutter] = []
    for index, row in enumerate(rows):
        for strip in _gaps(row, rows[index + 1] if index + 1 < len(rows) else row):
            known = any(
                gutter.first <= index < gutter.end
                and min(gutter.strip.x1, strip.x1) - max(gutter.strip.x0, strip.x0) >= MIN_GUTTER * row.size
                for gutter in gutters
            )
            if not known:
                gutters.append(_extend(rows, index, strip))
    return sorted(gutters, key=lambda gutter: -_height(rows, gutter))


def _gaps(row: Row, below: Row) -> Iterator[Strip]:
    """Yield the gaps between the chunks of a row, and those between it and the row below, if side by side."""
    for left, right in pairwise(row.chunks):
        yield Strip(left.x1, right.x0)
    size = MIN_GUTTER * row.size
    for chunk in row.chunks:
        left = max((other.x1 for other in below.chunks if other.x1 + size <= chunk.x0), default=None)
        right = min((other.x0 for other in below.chunks if other.x0 - size >= chunk.x1), default=None)
        if left is not None and all(other.x1 <= left or other.x0 >= chunk.x0 for other in row.chunks):
            yield Strip(left, chunk.x0)
        if right is not None and all(other.x0 >= right or other.x1 <= chunk.x1 for other in row.chunks):
            yield Strip(chunk.x1, right)


def _height(rows: Sequence[Row], gutter: _Gutter) -> float:
    return rows[gutter.end - 1].y1 - rows[gutter.first].y0


def _extend(rows: Sequence[Row], index: int, strip: Strip) -> _Gutter:
    """Extend a strip up and down as far as it stays clear and wide enough."""
    first, end = index, index + 1
    while end < len(rows) and (narrowed := _clear_part(rows[end], strip)):
        strip, end = narrowed, end + 1
    while first and (narrowed := _clear_part(rows[first - 1], strip)):
        strip, first = narrowed, first - 1
    return _Gutter(strip, first, end)


def _clear_part(row: Row, strip: Strip) -> Strip | None:
    """Return the widest part of a strip that a row leaves clear, if it is wide enough."""
    x0, x1 = strip
    for chunk in row.chunks:
        if chunk.x1 <= x0 or chunk.x0 >= x1:
            continue
        if chunk.x0 - x0 >= x1 - chunk.x1:
            x1 = chunk.x0
        else:
            x0 = chunk.x1
    return Strip(x0, x1) if x1 - x0 >= MIN_GUTTER * row.size else None


def _all_strips(rows: Sequence[Row], gutter: _Gutter) -> list[Strip]:
    """Return the strips that are clear over most of a gutter's rows, from left to right."""
    part = rows[gutter.first : gutter.end]
    strips: list[Strip] = []
    for other in _find_gutters(part):
        apart = all(other.strip.x1 <= strip.x0 or other.strip.x0 >= strip.x1 for strip in strips)
        if apart and other.end - other.first >= 0.7 * len(part):
            strips.append(other.strip)
    return sorted(strips)


# Columns or table


def _classify(
    rows: Sequence[Row], gutter: _Gutter, strips: list[Strip], rules: Sequence[RuledLine]
) -> tuple[int, int, str, list[Strip]]:
    """Return the first row, the end, the kind ("columns", "table" or "none") and the strips of a gutter's rows."""
    first, end = gutter.first, gutter.end
    part = rows[first:end]
    parts = split_at_strips(part, strips)
    pitch = min(_line_distance(column) for column in parts)
    columns = [_Column.of(column, pitch) for column in parts]
    rules = [rule for rule in rules if rule.x0 < gutter.strip.x0 and rule.x1 > gutter.strip.x1]
    around = sum(part[0].y0 - pitch < rule.y < part[-1].y1 + pitch for rule in rules)
    inside = sum(part[0].baseline < rule.y < part[-1].y0 for rule in rules)
    prose = [column for column in columns if column.is_prose]
    if len(prose) > 1 and sum(c.characters for c in prose) > 0.6 * sum(c.characters for c in columns):
        if inside > 1 or around > 2 or _rows_are_apart(part, strips, pitch):
            return _trim_table(rows, first, end, strips)
        wide = gutter.strip.x1 - gutter.strip.x0 >= 1.5 * part[0].size
        sides = [len(side) for side in split_at_strips(part, [gutter.strip])]
        if min(sides) >= _MIN_COLUMN_ROWS or (wide and min(sides) > 1):
            return *_trim_columns(rows, first, end, pitch), "columns", strips
        return first, end, "none", strips
    return _classify_short(rows, gutter, strips, around)


def _classify_short(
    rows: Sequence[Row], gutter: _Gutter, strips: list[Strip], rule_count: int
) -> tuple[int, int, str, list[Strip]]:
    """Classify rows with at most one column of running text."""
    first, end, kind, strips = _trim_table(rows, gutter.first, gutter.end, strips)
    part = rows[first:end]
    if not part:
        return first, end, "none", strips
    columns = split_at_strips(part, strips)
    if len(columns) == 2 and all(_MARKER.fullmatch(row.text) for row in columns[0]):
        return first, end, "none", strips  # a list
    aligned = sum(len(split_at_strips([row], strips)) > 1 for row in part) / len(part)
    if aligned >= 0.4 and (len(part) >= _MIN_TABLE_ROWS or (len(part) > 1 and rule_count)):
        return first, end, kind, strips
    sides = split_at_strips(rows[gutter.first : gutter.end], [gutter.strip])
    if len(sides) == 2 and min(map(len, sides)) >= _MIN_COLUMN_ROWS and aligned < 0.4:
        return gutter.first, gutter.end, "columns", strips
    return first, end, "none", strips


def _trim_table(rows: Sequence[Row], first: int, end: int, strips: list[Strip]) -> tuple[int, int, str, list[Strip]]:
    """Leave out rows above and below a table that fill one column only, as captions do."""
    while first < end and len(rows[first].chunks) < 2:
        first += 1
    pitch = _line_distance(rows[first:end])
    while end - first > 1 and len(rows[end - 1].chunks) < 2 and _is_below(rows, end, strips, pitch):
        end -= 1
    return first, end, "table", strips


def _trim_columns(rows: Sequence[Row], first: int, end: int, pitch: float) -> tuple[int, int]:
    """Leave out large rows above columns and rows below a gap, with nothing beside them."""
    text_size = statistics.median(row.size for row in rows[first:end])
    while end - first > 2 and rows[first].size > _HEADING_RATIO * text_size and rows[first + 1].y0 >= rows[first].y1:
        first += 1
    while end - first > 2 and rows[end - 1].baseline - rows[end - 2].baseline > 1.8 * pitch:
        end -= 1
    return first, end


def _is_below(rows: Sequence[Row], end: int, strips: list[Strip], pitch: float) -> bool:
    """Return True if the last row before `end` is text below a table: behind a gap, or across its columns."""
    last = rows[end - 1]
    across = any(last.x0 < strip.x0 and last.x1 > strip.x1 for strip in strips)
    return across or last.baseline - rows[end - 2].baseline > 1.2 * pitch


class _Column(NamedTuple):
    """Measures of a column: the number of its lines and characters, and whether it is running text."""

    characters: int
    is_prose: bool

    @classmethod
    def of(cls, rows: Sequence[Row], pitch: float) -> _Column:
        texts = [row.text for row in rows]
        lengths = [len(text) + len(_WIDE.findall(text)) for text in texts]
        width = max(row.x1 for row in rows) - min(row.x0 for row in rows)
        usual_width = statistics.median(row.x1 - row.x0 for row in rows)
        extent = (rows[-1].baseline - rows[0].baseline) / max(pitch, rows[0].size) + 1
        is_prose = (
            len(rows) > 2
            and len(rows) >= 0.6 * extent
            and statistics.median(lengths) >= _PROSE_CHARACTERS
            and usual_width >= _PROSE_FILL * width
        )
        return cls(sum(lengths), is_prose)


def _rows_are_apart(rows: Sequence[Row], strips: list[Strip], pitch: float) -> bool:
    """Return True if gaps across all columns divide the rows into at least three parts that begin in all columns.

    The first part must be one row, that of the headings, since paragraphs side by side may end alike.
    """
    aligned = sum(len(split_at_strips([row], strips)) > 1 for row in rows)
    if 2 * aligned < len(rows):
        return False
    parts = _split_at_gaps(rows, pitch)
    full = [len(split_at_strips([part[0]], strips)) == len(strips) + 1 for part in parts]
    return len(parts) > 2 and len(parts[0]) == 1 and sum(full) >= 0.8 * len(parts)


def _split_at_gaps(rows: Sequence[Row], pitch: float) -> list[list[Row]]:
    """Split rows where the distance to the next row is larger than usual for lines of a paragraph."""
    parts: list[list[Row]] = [[rows[0]]]
    for before, after in pairwise(rows):
        if after.baseline - before.baseline > 1.25 * pitch:
            parts.append([])
        parts[-1].append(after)
    return parts


def _line_distance(rows: Sequence[Row]) -> float:
    """Return the usual distance of baselines."""
    distances = [b.baseline - a.baseline for a, b in pairwise(rows) if b.baseline - a.baseline > 0.5 * a.size]
    return statistics.median(distances) if distances else 1.2 * (rows[0].size if rows else 10.0)


def _cut_bands(rows: Sequence[Row], strip: Strip) -> Iterator[list[Row]]:
    """Cut columns where all of them are interrupted: by a heading with nothing beside it, or a large gap."""
    text_size = statistics.median(row.size for row in rows)
    columns = split_at_strips(rows, [strip])
    pitch = min(_line_distance(column) for column in columns)
    band: list[Row] = []
    bottom = rows[0].y0
    for index, row in enumerate(rows):
        below = rows[index + 1].y0 if index + 1 < len(rows) else row.y1 + pitch
        is_alone = row.y0 > bottom - 0.1 * pitch and below > row.y1 - 0.1 * pitch and len(row.chunks) == 1
        is_heading = is_alone and row.size > _HEADING_RATIO * text_size and row.x1 <= strip.x0
        has_both = len(split_at_strips(band, [strip])) > 1 if band else False
        if band and ((is_heading and has_both) or row.y0 - bottom > _SEPARATING_GAP * pitch):
            yield band
            band = []
        band.append(row)
        bottom = max(bottom, row.y1)
    if band:
        yield band
