"""Tables that drawn lines show on a PDF page, taken out of it before its columns are looked for.

Such a table is a grid of cells (`pdf_grids`), or stands between horizontal lines of the same width, as
LaTeX's booktabs draw them. Lines of text as wide as the table stand in its place while the columns of the
page are found, so that a table in a column, or across columns, is no hole in them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from research.readers.pdf_drawings import DrawnLines, RuledLine
from research.readers.pdf_grids import find_grids, overlap
from research.readers.pdf_layout import TextRegion, find_gutters, is_list, text_columns
from research.readers.pdf_lines import Row, make_row
from research.readers.pdf_paragraphs import CAPTION
from research.readers.pdf_tables import (
    PlacedTable,
    Strip,
    TableRegion,
    count_columns,
    find_table_rows,
    join_cells,
    join_close,
    split_at_strips,
)
from research.readers.pdf_words import Box, Word

_PLACEHOLDER = "\ufdd1"  # no character of any text; begins the lines that stand for a table
_PLACEHOLDER_LENGTH = 30  # as of a line of running text
_SAME_WIDTH = 2.5  # points between the ends of the lines of a table
_MIN_RULE_WIDTH = 50  # points
_MAX_RULES = 300  # of a page
_MAX_HEADING_LINES = 6
_MAX_ABOVE = 8  # rows of a table above its lines
_MAX_ROW_DISTANCE, _MAX_LINE_DISTANCE = 2.5, 1.4  # in font sizes, of rows outside and of lines of their cells
_MIN_STRIP, _MIN_NARROW_STRIP = 0.5, 0.3  # in font sizes; narrow ones between columns that all have headings
_NARROW_ROWS = 5  # from which on a narrow strip is no chance
_MAX_CROSSING = 0.1  # of the rows of a table, whose words may stand in a strip
_MAX_ACROSS = 0.2  # of the rows of a table, which are not divided by its columns
_PROSE_ROWS = 5  # between two lines, which may be columns of running text


def take_tables(rows: Sequence[Row], lines: DrawnLines) -> tuple[list[Row], list[TableRegion]]:
    """Return the rows of a page with placeholders for its ruled tables, and the tables."""
    words = [word for row in rows for word in row.words]
    tables = find_grids(words, lines)
    for table in _tables_between_rules(rows, lines.ruled):
        if not any(overlap(table.box, other.box) for other in tables):
            tables.append(table)
    if not tables:
        return [*rows], []
    rest: list[Row] = []
    for row in rows:
        kept = [word for word in row.words if not any(is_inside(word, table.box) for table in tables)]
        if len(kept) == len(row.words):
            rest.append(row)
        elif kept:
            rest.append(make_row(kept))
    for index, table in enumerate(tables):
        rest += _placeholders(index, table.box, statistics.median(word.size for word in words))
    return sorted(rest, key=lambda row: (row.baseline, row.x0)), [table.region for table in tables]


def _placeholders(index: int, box: Box, size: float) -> Iterator[Row]:
    """Yield lines of text in the place of a table."""
    x0, y0, x1, y1 = box
    count = max(1, int((y1 - y0) / (1.2 * size)))
    step = (y1 - y0) / count
    text = f"{_PLACEHOLDER}{index:04}".ljust(_PLACEHOLDER_LENGTH, _PLACEHOLDER)
    for number in range(count):
        top = y0 + number * step
        baseline = top + 0.8 * step
        yield make_row([Word(text, x0 + size / 4, top, x1 - size / 4, top + step, size, baseline)])


def insert_tables(
    regions: Iterable[TextRegion | TableRegion], tables: Sequence[TableRegion]
) -> Iterator[TextRegion | TableRegion]:
    """Put the tables back in the place of their placeholders."""
    left = dict(enumerate(tables))
    for region in regions:
        if isinstance(region, TableRegion):
            yield region
            continue
        rows: list[Row] = []
        for row in region.rows:
            marks = [word for word in row.words if word.text.startswith(_PLACEHOLDER)]
            if not marks:
                rows.append(row)
                continue
            if rows:
                yield TextRegion(tuple(rows))
                rows = []
            for mark in marks:
                if table := left.pop(int(mark.text[1:5]), None):
                    yield table
            if others := [word for word in row.words if word not in marks]:
                rows.append(make_row(others))
        if rows:
            yield TextRegion(tuple(rows))


# Tables between horizontal lines


def _tables_between_rules(rows: Sequence[Row], ruled: Sequence[RuledLine]) -> Iterator[PlacedTable]:
    """Yield the tables between horizontal lines that begin and end at the same places."""
    left = sorted((rule for rule in ruled if rule.x1 - rule.x0 >= _MIN_RULE_WIDTH), key=lambda rule: rule.y)[
        :_MAX_RULES
    ]
    while left:
        first = left[0]
        same = [
            rule for rule in left if abs(rule.x0 - first.x0) < _SAME_WIDTH and abs(rule.x1 - first.x1) < _SAME_WIDTH
        ]
        left = [rule for rule in left if rule not in same]
        parts = [
            (upper.y, lower.y, part)
            for upper, lower in pairwise(same)
            if (part := [*_rows_between(rows, upper, lower)])
        ]
        for run in _runs(parts):
            if table := _place_table(rows, (first.x0, run[0][0], first.x1, run[-1][1]), [part for _, _, part in run]):
                yield table


def _place_table(rows: Sequence[Row], box: Box, parts: list[list[Row]]) -> PlacedTable | None:
    """Return the table of these parts, with the rows above and below that have no line outside."""
    strips = _strips_of(parts)
    x0, y0, x1, y1 = box
    around = [*_rows_between(rows, RuledLine(x0, x1, float("-inf")), RuledLine(x0, x1, float("inf")))]
    above = _rows_beside([row for row in around if row.baseline < y0][: -_MAX_ABOVE - 1 : -1], parts[0][0], strips)[
        ::-1
    ]
    below = _rows_beside([row for row in around if row.baseline - row.size / 2 > y1], parts[-1][-1], strips)
    parts = [*([above] if above else []), *parts, *([below] if below else [])]
    y0 = min([y0, *(row.baseline - row.size for row in above)])
    y1 = max([y1, *(row.baseline + row.size / 2 for row in below)])
    region = _read_table(parts)
    return PlacedTable((x0, y0, x1, y1), region) if region else None


def _rows_beside(rows: Sequence[Row], edge: Row, strips: Sequence[Strip]) -> list[Row]:
    """Return the rows of a table beside its outermost lines: without a large gap, of several columns."""
    beside: list[Row] = []
    for row in rows:
        last = beside[-1] if beside else edge
        distance = abs(row.baseline - last.baseline)
        is_part = len(row.chunks) > 1 or (bool(beside) and distance < _MAX_LINE_DISTANCE * row.size)
        is_near = distance < _MAX_ROW_DISTANCE * row.size
        if not is_part or not is_near or any(_crosses(row, strip) for strip in strips):
            break
        beside.append(row)
    return beside if len(strips) > 1 else []


def is_inside(word: Word, box: Box) -> bool:
    """Return True if the middle of a word is in a box."""
    return box[0] < (word.x0 + word.x1) / 2 < box[2] and box[1] < word.baseline - 0.35 * word.size < box[3]


def _rows_between(rows: Sequence[Row], upper: RuledLine, lower: RuledLine) -> Iterator[Row]:
    box = (upper.x0 - _SAME_WIDTH, upper.y, upper.x1 + _SAME_WIDTH, lower.y)
    for row in rows:
        if upper.y < row.baseline and row.y0 < lower.y:
            inside = [word for word in row.words if is_inside(word, box)]
            if inside:
                yield make_row(inside)


def _runs(parts: Sequence[tuple[float, float, list[Row]]]) -> Iterator[list[tuple[float, float, list[Row]]]]:
    """Yield runs of parts between two lines that may be one table."""
    run: list[tuple[float, float, list[Row]]] = []
    for index, part in enumerate(parts):
        rows = part[2]
        goes_on = not run or part[0] - run[-1][1] < 1.0
        is_title = (
            bool(run)
            and len(rows) == 1
            and not CAPTION.match(rows[0].text)
            and index + 1 < len(parts)
            and _is_tabular(parts[index + 1][2])
        )
        if run and not (goes_on and (_is_tabular(rows) or is_title)):
            yield run
            run = []
        if _is_tabular(rows) or (run and is_title):
            run.append(part)
    if run:
        yield run


def _is_tabular(rows: Sequence[Row]) -> bool:
    """Return True if half of the rows have several chunks, and no two columns are running text."""
    lines = join_close(rows)
    if 2 * sum(len(line.chunks) > 1 for line in lines) < len(lines):
        return False
    if len(rows) < _PROSE_ROWS:
        return True
    gutter = next(iter(find_gutters(rows)), None)
    return gutter is None or text_columns(rows, gutter, 0, len(rows), is_known=False) is None


def _heading_of(parts: Sequence[list[Row]]) -> list[Row]:
    """Return the lines of the headings if they are the first part, close to each other."""
    lines = parts[0]
    distances = [after.baseline - before.baseline for before, after in pairwise(lines)]
    is_even = max(distances, default=0.0) <= 1.25 * min(
        (d for d in distances if d > 0.9 * lines[0].size), default=999.0
    )
    return lines if len(parts) > 1 and len(lines) <= _MAX_HEADING_LINES and is_even else []


def _strips_of(parts: Sequence[list[Row]]) -> list[Strip]:
    rows = [*chain.from_iterable(parts)]
    heading = _heading_of(parts)
    body = rows[len(heading) :]
    return _find_strips(body if len(body) > 2 else rows, heading or rows[:1])


def _read_table(parts: Sequence[list[Row]]) -> TableRegion | None:
    """Return the table of these parts between lines, None if they have no columns."""
    rows = [*chain.from_iterable(parts)]
    if len(rows) < (2 if len(parts) > 1 else 3):
        return None
    heading, strips = _heading_of(parts), _strips_of(parts)
    body = rows[len(heading) :]
    lines = join_close(rows)
    aligned = sum(count_columns(line, strips) > 1 for line in lines)
    wide = [strip for strip in strips if strip.x1 - strip.x0 >= _MIN_STRIP * rows[0].size]
    across = sum(any(c.x0 < strip.x0 and c.x1 > strip.x1 for strip in wide for c in row.chunks) for row in rows)
    if across > _MAX_ACROSS * len(rows):
        return None
    if (
        not strips
        or (2 if len(parts) > 1 else 1.25) * aligned < len(lines)
        or (len(strips) == 1 and is_list(split_at_strips(rows, strips)[0]))
    ):
        return None
    cells: list[list[str]] = []
    if heading and len(heading) > 1 and not any(_crosses(row, strip) for row in heading for strip in strips):
        heading_cells = [find_table_rows([row], strips, ())[0] for row in heading]
        cells.append([join_cells(column) for column in zip(*heading_cells, strict=True)])
    elif heading:
        body = rows
    if len(parts) > 2:
        top = 0 if body is rows else 1
        ends = [
            RuledLine(float("-inf"), float("inf"), part[0].baseline - 0.5 * part[0].size) for part in parts[top + 1 :]
        ]
    else:
        ends = []
    cells += find_table_rows(body, strips, ends)
    return TableRegion(tuple(map(tuple, cells)), tuple(strips))


def _crosses(row: Row, strip: Strip) -> bool:
    return any(word.x0 < strip.x0 and word.x1 > strip.x1 for word in row.words)


def _find_strips(rows: Sequence[Row], heading: Sequence[Row]) -> list[Strip]:
    """Return the strips between columns, which (nearly) no word of rows with several chunks stands in."""
    several = [row for row in join_close(rows) if len(row.chunks) > 1] or [*rows]
    size = statistics.median(row.size for row in several)
    pieces = [piece for row in several for piece in (row.words if len(several) > 2 else row.chunks)]
    events = sorted(event for piece in pieces for event in ((piece.x0, 1), (piece.x1, -1)))
    limit = _MAX_CROSSING * len(several)
    strips: list[Strip] = []
    depth, last, start = 0, 0.0, None
    for x, change in events:
        depth += change
        if depth <= limit and start is None:
            start = x
        elif depth > limit and start is not None:
            if strips or last:
                strips.append(Strip(start, x))
            start = None
        last = x or 1.0
    return _with_headings(strips, heading, size, len(several))


def _with_headings(strips: Sequence[Strip], heading: Sequence[Row], size: float, count: int) -> list[Strip]:
    """Narrow strips by the words of the headings; drop narrow ones that do not divide two headings."""
    kept: list[Strip] = []
    words = sorted(word for row in heading for word in row.words)
    for index, strip in enumerate(strips):
        narrowed = _clear_part(strip, heading)
        if strip.x1 - strip.x0 >= _MIN_STRIP * size:
            kept.append(narrowed or strip)
        elif narrowed and count >= _NARROW_ROWS and strip.x1 - strip.x0 >= _MIN_NARROW_STRIP * size:
            left = kept[-1].x1 if kept else float("-inf")
            right = strips[index + 1].x0 if index + 1 < len(strips) else float("inf")
            has_left = any(left <= (word.x0 + word.x1) / 2 < strip.x0 for word in words)
            has_right = any(strip.x1 < (word.x0 + word.x1) / 2 <= right for word in words)
            if has_left and has_right:
                kept.append(narrowed)
    return kept


def _clear_part(strip: Strip, rows: Sequence[Row]) -> Strip | None:
    """Return the widest part of a strip without chunks of these rows, or else without words, if there is one."""
    for pieces in ([chunk for row in rows for chunk in row.chunks], [word for row in rows for word in row.words]):
        gaps: list[Strip] = []
        start = strip.x0
        for x0, x1 in sorted((piece.x0, piece.x1) for piece in pieces):
            if x1 > start and x0 < strip.x1:
                gaps.append(Strip(start, x0))
                start = max(start, x1)
        gaps.append(Strip(start, strip.x1))
        widest = max(gaps, key=lambda gap: gap.x1 - gap.x0)
        if widest.x1 - widest.x0 > 1:
            return widest
    return None
