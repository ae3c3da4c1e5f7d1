"""About on which page of a Word file a paragraph stands, as its contents say until Word counts again.

Only a program that sets the file knows for sure, and none is at hand: lines are counted by the width of
an average letter, and heights are those of the file's styles. LibreOffice counts when it opens the file;
Word when it prints, or when its fields are updated (Ctrl-A, F9). Reads elements; changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from docx.oxml.ns import qn

from research.export.columns import ems

_HIGH = 711.0  # points between the margins above and below
_WIDE = 470.0
_LETTER = 0.9  # of the width that `ems` gives a Latin letter, in Calibri
_LATIN, _EAST = 1.22, 1.36  # heights of a line as multiples of its size, in Calibri and YaHei
_CELL = 4.5, 9.0  # points above and below the text of a cell, and beside it


class _Look(NamedTuple):
    size: float
    line: float
    before: float
    after: float


class Pages:
    """Counts the pages of a body with the styles of its file."""

    def __init__(self, file: Any) -> None:
        self._looks = {
            style.style_id: _Look(
                style.font.size.pt if style.font.size else 10.5,
                float(_own(style, "line_spacing") or 1.0),
                (_own(style, "space_before") or 0) / 12_700,
                (_own(style, "space_after") or 0) / 12_700,
            )
            for style in file.styles
            if getattr(style, "paragraph_format", None) is not None
        }

    def of(self, body: Iterable[Any]) -> dict[str, int]:
        """The pages of the bookmarks of a body, from 1."""
        found: dict[str, int] = {}
        page, used = 1, 0.0
        for element in body:
            *heights, after = self._heights(element)
            if element.find(f"{qn('w:pPr')}/{qn('w:pageBreakBefore')}") is not None:
                page, used = page + 1, 0.0
            whole = sum(heights)
            heading = next(element.iter(qn("w:bookmarkStart")), None) is not None
            if used and used + min(whole, heights[0] + 40.0 * heading) > _HIGH:
                page, used = page + 1, 0.0
            for mark in element.iter(qn("w:bookmarkStart")):
                found[mark.get(qn("w:name"))] = page
            for height in heights:
                if used + height > _HIGH:
                    page, used = page + 1, 0.0
                used += height
            used = min(used + after, _HIGH)  # a page ends without the space behind what ends it
        return found

    def _heights(self, element: Any) -> Iterator[float]:
        """What of an element is not parted, from above: its rows, or its lines; last, the space behind."""
        if element.tag == qn("w:tbl"):
            yield from (self._row(row) for row in element.iter(qn("w:tr")))
            yield 0.0
            return
        lines, each, look = self._lines(element, _WIDE)
        extent = next(element.iter(qn("wp:extent")), None)
        tall = int(extent.get("cy")) / 12_700 if extent is not None else 0.0
        yield look.before + max(each, tall)
        yield from (each for _ in range(lines - 1))
        yield look.after

    def _row(self, row: Any) -> float:
        tallest = 0.0
        for cell in row.iter(qn("w:tc")):
            wide = int(cell.find(f"{qn('w:tcPr')}/{qn('w:tcW')}").get(qn("w:w"))) / 20 - _CELL[1]
            lines, each, _ = self._lines(cell.find(qn("w:p")), wide)
            tallest = max(tallest, lines * each)
        return tallest + _CELL[0]

    def _lines(self, paragraph: Any, wide: float) -> tuple[int, float, _Look]:
        """How many lines a paragraph has, how high each is, and how it looks."""
        look = self._looks.get(_style(paragraph), self._looks["Normal"])
        inset = paragraph.find(f"{qn('w:pPr')}/{qn('w:ind')}")
        left = int(inset.get(qn("w:left"), 0)) / 20 if inset is not None else 0.0
        room = max(wide - left, 20.0)
        lines, eastern = 0, False
        for text in _texts(paragraph):
            width = ems(text)
            eastern = eastern or width > 0.6 * len(text)
            width *= 1.0 if width > 0.8 * len(text) else _LETTER
            lines += max(1, math.ceil(width * look.size / room))
        return max(lines, 1), look.size * look.line * (_EAST if eastern else _LATIN), look


def _own(style: Any, name: str) -> Any:
    """What a style says of its paragraphs, else the one that it is based on."""
    while style is not None:
        if (told := getattr(style.paragraph_format, name)) is not None:
            return told
        style = style.base_style
    return None


def _style(paragraph: Any) -> str:
    named = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
    return str(named.get(qn("w:val"))) if named is not None else "Normal"


def _texts(paragraph: Any) -> list[str]:
    """The text of a paragraph between its line breaks."""
    out = [""]
    for node in paragraph.iter():
        if node.tag == qn("w:br"):
            out.append("")
        elif node.tag.endswith("}t") and node.text:
            out[-1] += node.text
    return out
