"""Paragraphs of a PDF: lines joined within sentences, over the ends of columns and pages too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from research.core.text.tokenizer import HAN_RANGES
from research.readers.pdf_lines import Row

_WIDE = rf"{HAN_RANGES}\u3000-\u30ff\uff00-\uffef"
_WIDE_START, _WIDE_END = re.compile(f"[“‘]?[{_WIDE}]"), re.compile(f"[{_WIDE}][”’…—]*$")
_STOPPED = re.compile(r"[.。!！?？:：;；…][\"'”’」』）)\]】]*(?:\s?\[?\d{1,2}\]?)?$")
_ABBREVIATION = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Nos?|Figs?|Eqs?|Sect?|Vol|pp|cf|e\.g|i\.e|ca|vs|approx|[A-Z])\.$"
)
_ITEM = re.compile(
    r"(?:[-*•·▪●○◦‣■□–—]\s|\(?\d{1,3}[.)、．]\s?(?!\d)|[(（]?[a-zA-Z][.)]\s|[（(][一二三四五六七八九十\d]+[)）])"
)
CAPTION = re.compile(
    r"(?:fig(?:ure|\.)|table|tab\.|chart|box|abbildung|tabelle|图|圖|表)\s*[\dIVX一二三四五六七八九十]", re.I
)
_LABEL = re.compile(r"[^\s:：][^:：，。,.]{0,20}(?::\s|：)")
_HEADING_RATIO = 1.04  # of the font size of a heading to that of the text below it
_MAX_LINE_DISTANCE = 2.0  # in font sizes, of lines of a paragraph
_HYPHEN_END = re.compile(r"\w[-\u2010]$")
LINE_HYPHEN = (
    "\ufdd0"  # no character of any text; stands for a hyphen at a line end until it is known whether the word has one
)


@dataclass
class Paragraph:
    """Lines of a paragraph with the page of each; `is_open` if it may go on in the next column or page."""

    lines: list[str]
    pages: list[int]
    size: float
    is_caption: bool = False
    is_open: bool = False
    is_full: bool = False  # the last line leaves no space for another word
    may_continue: bool = False  # nothing but captions and small print stands above it in its column
    line_starts: list[int] = field(default_factory=list)

    def extend(self, other: Paragraph) -> None:
        """Add the lines of the paragraph that goes on with this one."""
        self.lines += other.lines
        self.pages += other.pages
        self.is_open, self.is_full = other.is_open, other.is_full

    def text(self) -> str:
        """Join the lines; `line_starts` then has the offset of each."""
        text = ""
        self.line_starts = []
        for line in self.lines:
            text = join_line(text, line) if text else ""
            self.line_starts.append(len(text))
            text += line
        return text


def is_stopped(line: str) -> bool:
    """Return True if a sentence may end with this line."""
    return bool(_STOPPED.search(line)) and not _ABBREVIATION.search(line)


def join_line(text: str, line: str) -> str:
    """Return the text as it must end before the next line: with a space, without, or with an open hyphen."""
    if _HYPHEN_END.search(text):
        return text[:-1] + LINE_HYPHEN if line[:1].islower() and text[-2:-1].isalpha() else text
    if _WIDE_END.search(text) or _WIDE_START.match(line) or (text[-1] in "–—" and text[-2:-1].isdigit()):
        return text
    return f"{text} "


def build_paragraphs(rows: Sequence[Row], page: int) -> list[Paragraph]:
    """Put the rows of a column together to paragraphs."""
    lines: list[list[Row]] = []
    pitch, left, right = _line_distance(rows), min(row.x0 for row in rows), max(row.x1 for row in rows)
    for row in rows:
        if lines and _goes_on(lines[-1], row, pitch, left, right):
            lines[-1].append(row)
        else:
            lines.append([row])
    paragraphs: list[Paragraph] = []
    for part in lines:
        texts = [row.text for row in part]
        paragraph = Paragraph(texts, [page] * len(part), part[0].size)
        paragraph.is_caption = CAPTION.match(texts[0]) is not None
        paragraph.is_open = not is_stopped(texts[-1])
        paragraph.is_full = right - part[-1].x1 < max(0.2 * (right - left), 2 * part[-1].size)
        paragraph.may_continue = all(
            other.is_caption or other.size < 0.95 * paragraph.size for other in paragraphs
        ) and not _ITEM.match(texts[0])
        paragraphs.append(paragraph)
    return paragraphs


def _line_distance(rows: Sequence[Row]) -> float:
    distances = sorted(b.baseline - a.baseline for a, b in pairwise(rows) if b.baseline - a.baseline > 0.8 * a.size)
    return distances[len(distances) // 4] if distances else 1.3 * rows[0].size


def _goes_on(lines: Sequence[Row], row: Row, pitch: float, left: float, right: float) -> bool:
    """Return True if a row goes on with the paragraph of these lines, in a column from `left` to `right`."""
    last, size = lines[-1], row.size
    if abs(size - last.size) > 0.1 * max(size, last.size):
        return False
    if row.baseline - last.baseline > max(1.35 * min(pitch, _MAX_LINE_DISTANCE * size), 1.1 * size):
        return False
    if _LABEL.match(row.text) and _LABEL.match(lines[0].text):
        return False
    text = last.text
    ends = is_stopped(text)
    space = right - last.x1
    is_short = space > _first_width(row) + 0.5 * size
    if is_short and last.size > _HEADING_RATIO * size and not row.text[0].islower():
        return False
    if _ITEM.match(row.text) and (ends or is_short or abs(row.x0 - last.x0) > 0.5 * size):
        return False
    if is_short and ends:
        return False
    begins_high = not row.text[0].islower() and not row.text[0].isdigit()
    if is_short and begins_high and space > 0.35 * (right - left) and not re.search(r"[,，、\-(（]$", text):
        return False
    is_indented = row.x0 - left > 0.8 * size and last.x0 - left < 0.5 * size
    return not (is_indented and ends and not _ITEM.match(lines[0].text))


def _first_width(row: Row) -> float:
    """Return the width that the first word of a row needs: one character if it is Chinese."""
    word = row.chunks[0].words[0]
    return row.size if _WIDE_START.match(word.text) else word.x1 - word.x0


def continues(last: Paragraph, paragraph: Paragraph) -> bool:
    """Return True if a paragraph at the top of a column goes on with the last one before it."""
    if not (last.is_open and paragraph.may_continue) or paragraph.is_caption:
        return False
    before, after = last.lines[-1], paragraph.lines[0]
    if last.is_caption:
        return after[0].islower() and last.pages[-1] == paragraph.pages[0]
    if after[0].islower() or re.search(r"[,，、(（]$|\w-$", before):
        return True
    if not last.is_full:
        return False
    if after[0].isdigit() and before[-1].islower():
        return True
    if _WIDE_START.match(after) or _WIDE_END.search(before):
        return len(last.lines) > 1 or len(paragraph.lines) > 1
    return len(last.lines) > 1 and (len(paragraph.lines) > 1 or is_stopped(after))
