"""Order of reading on a PDF page: columns, headings across columns, and tables.

A gutter is an upright strip without words between words on both sides, over several rows. The tallest
gutter splits its rows into parts, left before right; the rows above and below are split in turn. Gutters
between short or aligned cells make a table instead. (A recursive XY cut, after Nagy and Seth 1984,
whose upright cuts are found first.)
"""

from __future__ import annotations

import re
import statistics
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from research.readers.pdf_drawings import RuledLine
from research.readers.pdf_lines import Row
from research.readers.pdf_paragraphs import CAPTION
from research.readers.pdf_tables import (
    Strip,
    TableRegion,
    count_columns,
    find_table_rows,
    join_close,
    split_at_strips,
)

MIN_GUTTER = 0.5  # in font sizes
_MIN_COLUMN_ROWS = 4  # of text columns; shorter ones need a wide gutter
_MIN_TABLE_ROWS = 3  # without ruled lines
_PROSE_CHARACTERS = 16  # of a usual line in a text column; Chinese ones count twice
_NARROW_CHARACTERS, _NARROW_ROWS = 10, 8  # of a usual line in a narrow column, which has more rows than loose lines
_PROSE_FILL = 0.55  # of the column's width that a usual line takes
_HEADING_RATIO = 1.08  # of the font size of a heading across columns to that of the text
_HEADING_HOLE = 2.0  # line distances without text in the other columns, where the heading is
_SEPARATING_GAP = 3.5  # line distances without any text, as where a figure spans the columns
_MAX_REST = 3  # lines of a cell that goes on from the page before
_MAX_DEPTH = 12
_KNOWN_GUTTERS = 3
_MARKER = re.compile(r"[\[(（]?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4}|[一二三四五六七八九十]{1,2})[\])）.:、]*|[^\w\s]{1,2}")
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


class TextRegion(NamedTuple):
    """Rows of one column."""

    rows: tuple[Row, ...]


class _Gutter(NamedTuple):
    """A strip that is clear from row `first` to before row `end`."""

    strip: Strip
    first: int
    end: int


def split_page(
    rows: Sequence[Row], rules: Sequence[RuledLine], known: list[Strip], depth: int = 0
) -> Iterator[TextRegion | TableRegion]:
    """Yield the regions of a page, or of a part of it, in the order of reading.

    `known` are the last gutters between columns of text, also of the page before, where a few lines are enough
    to see them again; those of this page are added.
    """
    if not rows:
        return
    if depth < _MAX_DEPTH:
        left, right = min(row.x0 for row in rows), max(row.x1 for row in rows)
        for gutter in find_gutters(rows):
            if is_loose_text(rows[gutter.first : gutter.end], left, right):
                continue
            split = _classify(rows, gutter, rules, is_known=_is_known(gutter, known))
            if split is None:
                continue
            yield from split_page(rows[: split.first], rules, known, depth + 1)
            part = rows[split.first : split.end]
            if split.is_table:
                yield TableRegion(tuple(map(tuple, find_table_rows(part, split.strips, rules))), tuple(split.strips))
            else:
                known[:] = [*known[-_KNOWN_GUTTERS:], gutter.strip]
                for band in _cut_bands(part, gutter.strip):
                    for column in split_at_strips(band, [gutter.strip]):
                        yield from split_page(column, rules, known, depth + 1)
            yield from split_page(rows[split.end :], rules, known, depth + 1)
            return
    yield TextRegion(tuple(rows))


# Gutters


def is_loose_text(rows: Sequence[Row], left: float, right: float) -> bool:
    """Return True if most rows are justified lines from `left` to `right`, whose words are far apart but all alike."""
    return 2 * sum(_is_loose(row, left, right) for row in rows) > len(rows)


def _is_loose(row: Row, left: float, right: float) -> bool:
    gaps = [after.x0 - before.x1 for before, after in pairwise(row.words)]
    is_justified = row.x1 > right - row.size and row.x0 < left + 3 * row.size
    return is_justified and len(gaps) > 1 and max(gaps) < 1.4 * min(gaps) + 0.5


def find_gutters(rows: Sequence[Row]) -> list[_Gutter]:
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
        x0 = max((other.x1 for other in below.chunks if other.x1 + size <= chunk.x0), default=None)
        x1 = min((other.x0 for other in below.chunks if other.x0 - size >= chunk.x1), default=None)
        if x0 is not None and all(other.x1 <= x0 or other.x0 >= chunk.x0 for other in row.chunks):
            yield Strip(x0, chunk.x0)
        if x1 is not None and all(other.x0 >= x1 or other.x1 <= chunk.x1 for other in row.chunks):
            yield Strip(chunk.x1, x1)


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


def all_strips(rows: Sequence[Row]) -> list[Strip]:
    """Return the strips that are clear over most rows, from left to right."""
    strips: list[Strip] = []
    for gutter in find_gutters(rows):
        is_apart = all(gutter.strip.x1 <= strip.x0 or gutter.strip.x0 >= strip.x1 for strip in strips)
        if is_apart and gutter.end - gutter.first >= 0.7 * len(rows):
            strips.append(gutter.strip)
    return sorted(strips)


def _without_empty(rows: Sequence[Row], strips: Sequence[Strip]) -> list[Strip]:
    """Leave out the narrower strip beside a column with words in one row only, as a part of a centred heading."""
    kept = [*strips]
    while len(kept) > 1:
        middles = [(strip.x0 + strip.x1) / 2 for strip in kept]
        counts = Counter(n for row in rows for n in {bisect_left(middles, (w.x0 + w.x1) / 2) for w in row.words})
        index = next((index for index in range(len(kept) + 1) if counts[index] < 2), None)
        if index is None or len(rows) < _MIN_TABLE_ROWS:
            break
        beside = kept[max(0, index - 1) : index + 1]
        kept.remove(min(beside, key=lambda strip: strip.x1 - strip.x0))
    return kept


# Columns or table


class _Split(NamedTuple):
    """A decision to read the rows from `first` to before `end` as columns, or as a table with these strips."""

    first: int
    end: int
    is_table: bool
    strips: list[Strip]


def _is_known(gutter: _Gutter, known: Sequence[Strip]) -> bool:
    """Return True if the columns above, or on the page before, have the same gutter."""
    widths = [min(strip.x1, gutter.strip.x1) - max(strip.x0, gutter.strip.x0) for strip in known]
    return any(2 * width > gutter.strip.x1 - gutter.strip.x0 for width in widths)


def _few_lines(rows: Sequence[Row], gutter: _Gutter) -> _Split | None:
    """Return the split of a few lines of text at a known gutter."""
    sides = split_at_strips(rows[gutter.first : gutter.end], [gutter.strip])
    if len(sides) < 2 or _usual_length(sides[0]) < _PROSE_CHARACTERS:  # the last column may have less
        return None
    return _Split(gutter.first, gutter.end, False, [gutter.strip])


def _usual_length(rows: Sequence[Row]) -> float:
    """Return the median number of characters of a line; Chinese ones count twice."""
    return statistics.median(len(row.text) + len(_WIDE.findall(row.text)) for row in rows)


def _classify(rows: Sequence[Row], gutter: _Gutter, rules: Sequence[RuledLine], *, is_known: bool) -> _Split | None:
    """Decide whether a gutter divides columns of text or cells of a table; None for neither."""
    crossing = [rule for rule in rules if rule.x0 < gutter.strip.x0 and rule.x1 > gutter.strip.x1]
    if gutter.end - gutter.first < (2 if crossing else _MIN_TABLE_ROWS):
        return _few_lines(rows, gutter) if is_known and not crossing else None
    first, end = _tallest_between(rows, gutter, crossing)
    columns = text_columns(rows, gutter, first, end, is_known=is_known)
    if columns and 5 * (end - first) > 3 * (gutter.end - gutter.first):
        if (first, end) != (gutter.first, gutter.end):
            return columns
    elif (first, end) != (gutter.first, gutter.end):
        columns = text_columns(rows, gutter, gutter.first, gutter.end, is_known=is_known)
    first, end = gutter.first, gutter.end
    strips = _without_empty(rows[first:end], all_strips(rows[first:end]))
    if columns and not (len(crossing) > 1 and any(_is_between(rows[first:end], rule) for rule in crossing)):
        pitch = min(_line_distance(part) for part in split_at_strips(rows[first:end], strips))
        if not _rows_are_apart(rows[first:end], strips, pitch):
            return columns
    first, end = _trim_table(rows, first, end, strips)
    while 0 < first < end and (wider := _add_heading(rows[first - 1], rows[first:end], strips)):
        first, strips = first - 1, wider
    part = rows[first:end]
    if _is_table(rows, first, end, strips, has_rules=_count_inside(part, crossing) > 0):
        return _Split(first, end, True, strips)
    sides = split_at_strips(rows[gutter.first : gutter.end], [gutter.strip])
    if len(sides) == 2 and min(map(len, sides)) >= _MIN_COLUMN_ROWS and not is_list(sides[0]):
        beside = len({row.baseline for row in sides[0]} & {row.baseline for row in sides[1]})
        if 5 * beside < 2 * (gutter.end - gutter.first):  # lines side by side, but not of one table or paragraph
            return _Split(gutter.first, gutter.end, False, strips)
    return None


def _tallest_between(rows: Sequence[Row], gutter: _Gutter, rules: Sequence[RuledLine]) -> tuple[int, int]:
    """Return the first row and the end of the tallest part of a gutter between ruled lines that cross it."""
    starts = [gutter.first]
    for index in range(gutter.first + 1, gutter.end):
        if any(rows[index - 1].baseline < rule.y < rows[index].baseline - 0.4 * rows[index].size for rule in rules):
            starts.append(index)
    parts = [*pairwise([*starts, gutter.end])]
    return max(parts, key=lambda part: rows[part[1] - 1].y1 - rows[part[0]].y0)


def _count_inside(rows: Sequence[Row], rules: Sequence[RuledLine]) -> int:
    """Return the number of ruled lines between rows, or right above or below them."""
    margin = 1.5 * rows[0].size if rows else 0.0
    return len({round(rule.y) for rule in rules if rows and rows[0].y0 - margin < rule.y < rows[-1].y1 + margin})


def _is_between(rows: Sequence[Row], rule: RuledLine) -> bool:
    """Return True if a ruled line has rows above and below it, as those of a frame have not."""
    return rows[0].baseline < rule.y < rows[-1].baseline - rows[-1].size


def text_columns(rows: Sequence[Row], gutter: _Gutter, first: int, end: int, *, is_known: bool) -> _Split | None:
    """Return the split into columns of running text, if most of the text is in such."""
    part = rows[first:end]
    strips = all_strips(part)
    parts = split_at_strips(part, strips or [gutter.strip])
    if len(parts) < 2:
        return None
    pitch = min(_line_distance(column) for column in parts)
    columns = [_Column.of(column, pitch) for column in parts]
    prose = [column for column in columns if column.is_prose]
    if len(prose) < 2 or 5 * sum(c.characters for c in prose) < 3 * sum(c.characters for c in columns):
        return None
    sides = split_at_strips(part, [gutter.strip])
    is_wide = gutter.strip.x1 - gutter.strip.x0 >= 1.5 * part[0].size
    if len(sides) < 2 or min(map(len, sides)) < (1 if is_known else 2 if is_wide else _MIN_COLUMN_ROWS):
        return None
    return _Split(*_trim_columns(rows, first, end, pitch), False, strips)


def _is_table(rows: Sequence[Row], first: int, end: int, strips: list[Strip], *, has_rules: bool) -> bool:
    """Return True if rows are a table: most have several cells, or the sparse columns stand beside others."""
    part = rows[first:end]
    columns = split_at_strips(part, strips)
    if len(part) < 2 or len(columns) < 2 or (len(columns) == 2 and is_list(columns[0])):
        return False
    goes_on = 2 * sum(row.text[0].islower() for row in columns[0]) >= len(columns[0])  # lines of a text, not rows
    if not has_rules and (len(part) < _MIN_TABLE_ROWS or goes_on or not _is_set_off(rows, first, end)):
        return False
    baselines = [{row.baseline for row in column} for column in columns]
    lines = join_close(part)
    if 5 * sum(count_columns(line, strips) > 1 for line in lines) >= 2 * len(lines):
        return True
    pitch = min(_line_distance(column) for column in columns)
    sparse = [index for index, column in enumerate(columns) if len(column) > 1 and _density(column, pitch) < 0.6]
    beside = [baseline in set().union(*baselines[:i], *baselines[i + 1 :]) for i in sparse for baseline in baselines[i]]
    return bool(sparse) and 5 * sum(beside) >= 4 * len(beside)


def is_list(rows: Sequence[Row]) -> bool:
    """Return True if rows hold nothing but the marks of a list."""
    return all(_MARKER.fullmatch(row.text) for row in rows)


def _is_set_off(rows: Sequence[Row], first: int, end: int) -> bool:
    """Return True if more space than between lines, or a caption, divides rows from the text above and below."""
    above, below = rows[:first], rows[end:]
    outside = [_line_distance(part) for part in (above, below) if len(part) > 1]
    pitch = min(outside, default=0.0)
    return (
        not above
        or bool(CAPTION.match(above[-1].text))
        or abs(above[-1].size - rows[first].size) > 0.5
        or rows[first].baseline - above[-1].baseline > 1.2 * pitch
        or (len(above) > 1 and above[-1].baseline - above[-2].baseline > 1.5 * pitch)  # a title
    ) and (
        not below
        or abs(below[0].size - rows[end - 1].size) > 0.5
        or below[0].baseline - rows[end - 1].baseline > 1.2 * pitch
    )


def _trim_table(rows: Sequence[Row], first: int, end: int, strips: list[Strip]) -> tuple[int, int]:
    """Leave out rows above and below a table that fill one column only, as captions do."""
    start = first
    while first < end and len(rows[first].chunks) < 2:
        first += 1
    if start == 0 and first < end and _is_rest(rows[: first + 1], strips):
        first = 0
    pitch = _line_distance(rows[first:end])
    while end - first > 1 and len(rows[end - 1].chunks) < 2 and _is_below(rows, end, strips, pitch):
        end -= 1
    return first, end


def _add_heading(above: Row, rows: Sequence[Row], strips: Sequence[Strip]) -> list[Strip] | None:
    """Return the strips narrowed by a row of headings above a table, whose gaps are small; None for another row."""
    if len(strips) < 2 or rows[0].baseline - above.baseline > 2 * max(_line_distance(rows), above.size):
        return None
    gaps = sorted((Strip(left.x1, right.x0) for left, right in pairwise(above.words)), key=lambda gap: gap.x0 - gap.x1)
    widest, others = sorted(gaps[: len(strips)]), gaps[len(strips) :]
    if others and widest and min(x1 - x0 for x0, x1 in widest) < 1.3 * (others[0].x1 - others[0].x0):
        return None
    narrowed = [Strip(max(a.x0, b.x0), min(a.x1, b.x1)) for a, b in zip(strips, widest, strict=False)]
    return narrowed if len(narrowed) == len(strips) and all(strip.x1 - strip.x0 > 1 for strip in narrowed) else None


def _is_rest(rows: Sequence[Row], strips: Sequence[Strip]) -> bool:
    """Return True if the rows but the last are the rest of a cell on the page before: few, not in column one."""
    *rest, row = rows
    return 0 < len(rest) <= _MAX_REST and all(
        other.x0 >= strips[0].x1
        and count_columns(other, strips) == 1
        and abs(other.size - row.size) < 0.5
        and after.baseline - other.baseline <= 3 * row.size
        for other, after in pairwise(rows)
    )


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
        usual_length = statistics.median(lengths)
        begins_low = 5 * sum(text[0].islower() for text in texts) >= 2 * len(texts)  # as cells of a table seldom do
        is_prose = (
            len(rows) > 2
            and _density(rows, pitch) >= 0.6
            and (
                usual_length >= _PROSE_CHARACTERS
                or (begins_low and len(rows) >= _NARROW_ROWS and usual_length >= _NARROW_CHARACTERS)
            )
            and usual_width >= _PROSE_FILL * width
        )
        return cls(sum(lengths), is_prose)


def _density(rows: Sequence[Row], pitch: float) -> float:
    """Return the number of rows by the number that would fit between the first and the last one."""
    return len(rows) / ((rows[-1].baseline - rows[0].baseline) / max(pitch, rows[0].size) + 1)


def _rows_are_apart(rows: Sequence[Row], strips: list[Strip], pitch: float) -> bool:
    """Return True if gaps across all columns divide the rows into at least three parts that begin in all columns.

    The first part must be one row, that of the headings, since paragraphs side by side may end alike.
    """
    aligned = sum(count_columns(row, strips) > 1 for row in rows)
    if 2 * aligned < len(rows):
        return False
    parts = _split_at_gaps(rows, pitch)
    full = [count_columns(part[0], strips) == len(strips) + 1 for part in parts]
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


def _has_both_sides(rows: Sequence[Row], strip: Strip) -> bool:
    return any(row.x0 < strip.x0 for row in rows) and any(row.x1 > strip.x1 for row in rows)


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
        is_heading = (
            is_alone
            and row.size > _HEADING_RATIO * text_size
            and row.x1 <= strip.x0
            and below - bottom > _HEADING_HOLE * pitch
        )
        if band and ((is_heading and _has_both_sides(band, strip)) or row.y0 - bottom > _SEPARATING_GAP * pitch):
            yield band
            band = []
        band.append(row)
        bottom = max(bottom, row.y1)
    if band:
        yield band
