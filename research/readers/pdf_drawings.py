"""Horizontal and vertical lines that a PDF page draws, as rules, borders and edges of boxes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from research.readers.pdf_words import Box, shown_box

if TYPE_CHECKING:
    import pypdfium2

_MAX_OBJECTS = 5_000  # of a page; a map may have more, but no table
_MAX_SEGMENTS = 20_000  # of its paths
_BOX_SEGMENTS = 5  # of a path that is one line or one box
_MIN_WIDTH, _MIN_HEIGHT = 15, 6  # points
_MAX_THICKNESS = 3  # points
_SAME_PLACE = 2.0  # points between parallel lines that are one
_MAX_HOLE = 3.0  # points between two parts of a line


class RuledLine(NamedTuple):
    """A horizontal line that is drawn on the page."""

    x0: float
    x1: float
    y: float


class UprightLine(NamedTuple):
    """A vertical line that is drawn on the page."""

    x: float
    y0: float
    y1: float


class DrawnLines(NamedTuple):
    """The lines of a page, with parts of one line joined."""

    ruled: list[RuledLine]
    upright: list[UprightLine]


def read_drawn_lines(page: pypdfium2.PdfPage) -> DrawnLines:
    """Return the horizontal and vertical lines of a page, and the edges of its boxes."""
    ruled: list[tuple[float, float, float]] = []
    upright: list[tuple[float, float, float]] = []
    for x0, y0, x1, y1 in _drawn_boxes(page):
        if x1 - x0 >= _MIN_WIDTH:
            ruled += [(y, x0, x1) for y in ((y0 + y1) / 2,) * (y1 - y0 < _MAX_THICKNESS) or (y0, y1)]
        if y1 - y0 >= _MIN_HEIGHT:
            upright += [(x, y0, y1) for x in ((x0 + x1) / 2,) * (x1 - x0 < _MAX_THICKNESS) or (x0, x1)]
    return DrawnLines(
        [RuledLine(x0, x1, y) for y, x0, x1 in _join_parts(ruled)],
        [UprightLine(x, y0, y1) for x, y0, y1 in _join_parts(upright)],
    )


def _join_parts(lines: Iterable[tuple[float, float, float]]) -> Iterator[tuple[float, float, float]]:
    """Join parts, given as (position, start, end), that lie on one line and touch."""
    groups: list[list[tuple[float, float, float]]] = []
    for line in sorted(lines):
        if not groups or line[0] - groups[-1][0][0] > _SAME_PLACE:
            groups.append([])
        groups[-1].append(line)
    for group in groups:
        place, start, end = None, 0.0, 0.0
        for at, first, last in sorted(group, key=lambda line: line[1:]):
            if place is not None and first - end <= _MAX_HOLE:
                end = max(end, last)
                continue
            if place is not None:
                yield place, start, end
            place, start, end = at, first, last
        if place is not None:
            yield place, start, end


def _drawn_boxes(page: pypdfium2.PdfPage) -> Iterator[Box]:
    """Yield the box of each line or box that is drawn, as (x0, y0, x1, y1) of the shown page."""
    import pypdfium2.raw as pdfium

    to_shown = shown_box(page)
    bounds = [ctypes.c_float() for _ in range(4)]
    mode, is_stroked = ctypes.c_int(), ctypes.c_int()
    segments = 0
    for index in range(min(pdfium.FPDFPage_CountObjects(page.raw), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page.raw, index)
        if pdfium.FPDFPageObj_GetType(item) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        pdfium.FPDFPath_GetDrawMode(item, mode, is_stroked)
        if not mode.value and not is_stroked.value:
            continue
        count = pdfium.FPDFPath_CountSegments(item)
        if count <= _BOX_SEGMENTS:
            if pdfium.FPDFPageObj_GetBounds(item, *bounds):
                left, bottom, right, top = (bound.value for bound in bounds)
                yield to_shown(left, bottom, right, top)
        elif (segments := segments + count) <= _MAX_SEGMENTS:
            yield from _segment_boxes(item, count, to_shown)


def _segment_boxes(item: Any, count: int, to_shown: Callable[[float, float, float, float], Box]) -> Iterator[Box]:
    """Yield the box of each straight segment of a path."""
    import pypdfium2.raw as pdfium

    matrix, x, y = pdfium.FS_MATRIX(), ctypes.c_float(), ctypes.c_float()
    pdfium.FPDFPageObj_GetMatrix(item, matrix)
    start = last = (0.0, 0.0)
    for index in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(item, index)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = pdfium.FPDFPathSegment_GetType(segment)
        ends = [(last, point)] if kind == pdfium.FPDF_SEGMENT_LINETO else []
        start = point if kind == pdfium.FPDF_SEGMENT_MOVETO else start
        if pdfium.FPDFPathSegment_GetClose(segment):
            ends.append((point, start))
        for (ax, ay), (bx, by) in ends:
            if abs(ax - bx) < 1 or abs(ay - by) < 1:
                yield to_shown(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
        last = point
