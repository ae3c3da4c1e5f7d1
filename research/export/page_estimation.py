"""Estimates of the page of a paragraph in a Word file, for its table of contents.

Only a layout program knows the exact pages. Here lines are estimated from the width of an average
letter, and heights from the styles of the file. LibreOffice counts again when it opens the file;
Word when it prints, or when its fields are updated (Ctrl-A, F9).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from docx.oxml.ns import qn

from research.export.column_widths import width_in_ems

_TEXT_HEIGHT_POINTS = 711.0  # text height of A4
_TEXT_WIDTH_POINTS = 470.0
_LATIN_WIDTH_FACTOR = 0.9  # width of Calibri relative to `width_in_ems`
_LATIN_LINE_HEIGHT, _EAST_ASIAN_LINE_HEIGHT = (
    1.22,
    1.36,
)  # line height in font sizes, in Calibri and YaHei
_CELL_PADDING_POINTS = 4.5, 9.0  # above and below the text of a cell, and beside it


class _ParagraphStyle(NamedTuple):
    font_size_points: float
    line_spacing: float
    space_before_points: float
    space_after_points: float


class PageEstimator:
    """Estimates the pages of a body with the styles of its file."""

    def __init__(self, file: Any) -> None:
        self._styles = {
            style.style_id: _ParagraphStyle(
                style.font.size.pt if style.font.size else 10.5,
                float(_inherited(style, "line_spacing") or 1.0),
                (_inherited(style, "space_before") or 0) / 12_700,
                (_inherited(style, "space_after") or 0) / 12_700,
            )
            for style in file.styles
            if getattr(style, "paragraph_format", None) is not None
        }

    def bookmark_pages(self, body: Iterable[Any]) -> dict[str, int]:
        """Return the page of each bookmark of a body, counted from 1."""
        pages: dict[str, int] = {}
        page, used = 1, 0.0
        for element in body:
            *heights, after = self._unbreakable_heights(element)
            if element.find(f"{qn('w:pPr')}/{qn('w:pageBreakBefore')}") is not None:
                page, used = page + 1, 0.0
            whole = sum(heights)
            heading = next(element.iter(qn("w:bookmarkStart")), None) is not None
            if used and used + min(whole, heights[0] + 40.0 * heading) > _TEXT_HEIGHT_POINTS:
                page, used = page + 1, 0.0
            for mark in element.iter(qn("w:bookmarkStart")):
                pages[mark.get(qn("w:name"))] = page
            for height in heights:
                if used + height > _TEXT_HEIGHT_POINTS:
                    page, used = page + 1, 0.0
                used += height
            used = min(used + after, _TEXT_HEIGHT_POINTS)  # space after the last element of a page is dropped
        return pages

    def _unbreakable_heights(self, element: Any) -> Iterator[float]:
        """Yield the heights in points of the rows or lines, then the space after the element."""
        if element.tag == qn("w:tbl"):
            yield from (self._row_height(row) for row in element.iter(qn("w:tr")))
            yield 0.0
            return
        lines, line_height, style = self._line_metrics(element, _TEXT_WIDTH_POINTS)
        extent = next(element.iter(qn("wp:extent")), None)
        picture_height = int(extent.get("cy")) / 12_700 if extent is not None else 0.0
        yield style.space_before_points + max(line_height, picture_height)
        yield from (line_height for _ in range(lines - 1))
        yield style.space_after_points

    def _row_height(self, row: Any) -> float:
        tallest = 0.0
        for cell in row.iter(qn("w:tc")):
            width = int(cell.find(f"{qn('w:tcPr')}/{qn('w:tcW')}").get(qn("w:w"))) / 20 - _CELL_PADDING_POINTS[1]
            lines, line_height, _ = self._line_metrics(cell.find(qn("w:p")), width)
            tallest = max(tallest, lines * line_height)
        return tallest + _CELL_PADDING_POINTS[0]

    def _line_metrics(self, paragraph: Any, width_points: float) -> tuple[int, float, _ParagraphStyle]:
        """Return the number of lines, the line height in points and the style of a paragraph."""
        style = self._styles.get(_style_id(paragraph), self._styles["Normal"])
        inset = paragraph.find(f"{qn('w:pPr')}/{qn('w:ind')}")
        left = int(inset.get(qn("w:left"), 0)) / 20 if inset is not None else 0.0
        available_points = max(width_points - left, 20.0)
        lines, is_east_asian = 0, False
        for text in _text_lines(paragraph):
            width = width_in_ems(text)
            is_east_asian = is_east_asian or width > 0.6 * len(text)
            width *= 1.0 if width > 0.8 * len(text) else _LATIN_WIDTH_FACTOR
            lines += max(1, math.ceil(width * style.font_size_points / available_points))
        return (
            max(lines, 1),
            style.font_size_points
            * style.line_spacing
            * (_EAST_ASIAN_LINE_HEIGHT if is_east_asian else _LATIN_LINE_HEIGHT),
            style,
        )


def _inherited(style: Any, name: str) -> Any:
    """Return a paragraph property of a style, else that of the style it is based on."""
    while style is not None:
        if (value := getattr(style.paragraph_format, name)) is not None:
            return value
        style = style.base_style
    return None


def _style_id(paragraph: Any) -> str:
    named = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
    return str(named.get(qn("w:val"))) if named is not None else "Normal"


def _text_lines(paragraph: Any) -> list[str]:
    """Return the text of a paragraph, split at its line breaks."""
    out = [""]
    for node in paragraph.iter():
        if node.tag == qn("w:br"):
            out.append("")
        elif node.tag.endswith("}t") and node.text:
            out[-1] += node.text
    return out
