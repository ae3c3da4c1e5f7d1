"""Words of a PDF page with their boxes, from the characters that PDFium places.

Boxes are in points from the top left corner of the page as it is shown, rotation included, so that
they fit a picture of the page: a point is 1/72 inch, times the scale of the picture.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from research.readers.cjk_radicals import IDEOGRAPHS

if TYPE_CHECKING:
    import pypdfium2

MAX_PAGE_CHARACTERS = 300_000  # a page of a newspaper has about 50,000

Box = tuple[float, float, float, float]
_WORD_GAP = 0.15  # in font sizes, where a file writes no spaces: justified lines have gaps of at least 0.2
_WORD_GAP_BESIDE_SPACES = 0.2  # where it writes them: smaller gaps come from kerning
_MIN_SPACE_SHARE = 0.04  # of spaces among the characters of a page, from which on it is taken to write them
_HYPHEN_AT_LINE_END = 2  # PDFium's code for a hyphen before a line break
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# Characters of TeX's fonts that some files do not name: ligatures, quotes and dashes (OT1 and T1 encodings).
_TEX_CHARACTERS = {
    **dict(zip(range(0x0B, 0x10), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)),
    **dict(zip(range(0x10, 0x17), "“”„«»–—", strict=True)),
    **dict(zip(range(0x1B, 0x20), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)),
}
_LIGATURES = dict(zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True))
_CHARACTERS = {**IDEOGRAPHS, **_TEX_CHARACTERS, **_LIGATURES, _HYPHEN_AT_LINE_END: "-", 0: "\ufffd"}
_BLANK_LEFT, _BLANK_RIGHT = frozenset("（《〈「『【〔［｛"), frozenset("，。、；：！？）》〉」』】〕］｝")
_SPACES = {0x09, 0x0A, 0x0D, 0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, *range(0x2000, 0x200B)}


class PageTooLargeError(Exception):
    """A page has more than `MAX_PAGE_CHARACTERS` characters."""


class Word(NamedTuple):
    """A word, or a run of characters without gaps where the script has no spaces.

    The box is (x0, y0) top left to (x1, y1) bottom right and `size` the font size, in points. `angle` is
    the direction of the text, in degrees clockwise: 0, 90, 180 or 270. `baseline` is the position of the
    baseline across this direction: y for an upright word. `before_space` is True if the file has a space
    behind the word.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    baseline: float
    angle: int = 0
    before_space: bool = False


class _Character(NamedTuple):
    """A character; its box is that of the page turned so that the character is upright."""

    text: str
    box: Box
    size: float
    baseline: float
    angle: int


def page_words(page: pypdfium2.PdfPage) -> list[Word]:
    """Return the words of a page in the order in which the file draws them.

    Raises:
        PageTooLargeError: the page has too many characters.
    """
    return [_make_word(run, before_space=space) for run, space in _split_runs([*_read_characters(page)])]


def turn_upright(box: Box, angle: int) -> Box:
    """Turn a box of the shown page about its top left corner so that text of this angle is upright."""
    x0, y0, x1, y1 = box
    if angle == 90:
        return y0, -x1, y1, -x0
    if angle == 180:
        return -x1, -y1, -x0, -y0
    if angle == 270:
        return -y1, x0, -y0, x1
    return box


def shown_box(page: pypdfium2.PdfPage) -> Callable[[float, float, float, float], Box]:
    """Return a function that converts (left, bottom, right, top) of PDF's user space to a box of the shown page."""
    left, bottom, right, top = page.get_bbox()
    rotation = page.get_rotation()
    if rotation == 90:
        return lambda x0, y0, x1, y1: (y0 - bottom, x0 - left, y1 - bottom, x1 - left)
    if rotation == 180:
        return lambda x0, y0, x1, y1: (right - x1, y0 - bottom, right - x0, y1 - bottom)
    if rotation == 270:
        return lambda x0, y0, x1, y1: (top - y1, right - x1, top - y0, right - x0)
    return lambda x0, y0, x1, y1: (x0 - left, top - y1, x1 - left, top - y0)


def _without_blank_half(text: str, box: Box, size: float) -> Box:
    """Narrow the box of Chinese punctuation to the half that is not blank, which may reach into a gutter."""
    x0, y0, x1, y1 = box
    if x1 - x0 < 0.8 * size:
        return box
    return (x1 - size / 2, y0, x1, y1) if text in _BLANK_LEFT else (x0, y0, x0 + size / 2, y1)


def _make_word(run: list[_Character], *, before_space: bool) -> Word:
    largest = max(run, key=lambda character: character.size)  # not a raised figure before or behind the word
    x0, y0, x1, y1 = zip(*(character.box for character in run), strict=True)
    box = turn_upright((min(x0), min(y0), max(x1), max(y1)), -largest.angle % 360)
    return Word("".join(c.text for c in run), *box, largest.size, largest.baseline, largest.angle, before_space)


def _split_runs(characters: list[_Character | None]) -> Iterator[tuple[list[_Character], bool]]:
    """Yield the characters of each word, and True if a space follows; None stands for a space."""
    has_spaces = characters.count(None) > _MIN_SPACE_SHARE * len(characters)
    max_gap = _WORD_GAP_BESIDE_SPACES if has_spaces else _WORD_GAP
    run: list[_Character] = []
    for character in characters:
        if run and (character is None or not _continues(run[-1], character, max_gap)):
            yield run, character is None
            run = []
        if character is not None:
            run.append(character)
    if run:
        yield run, False


def _continues(last: _Character, character: _Character, max_gap: float) -> bool:
    """Return True if a character stands right behind another one, perhaps raised or lowered."""
    size = max(last.size, character.size)
    gap = character.box[0] - last.box[2]
    if RIGHT_TO_LEFT.match(character.text) and RIGHT_TO_LEFT.match(last.text):
        gap = last.box[0] - character.box[2]
    if last.size < 0.8 * character.size and last.text.isdigit():  # the figure of a note, then its text
        return False
    return (
        last.angle == character.angle
        and abs(last.baseline - character.baseline) < 0.5 * size
        and -0.6 * size < gap < max_gap * size
    )


def _read_characters(page: pypdfium2.PdfPage) -> Iterator[_Character | None]:
    """Yield the visible characters of a page as PDFium orders them, and None for each space of the file.

    Spaces and line breaks that PDFium adds are left out.
    """
    import pypdfium2.raw as pdfium

    text_page = page.get_textpage()
    try:
        count = text_page.count_chars()
        if count > MAX_PAGE_CHARACTERS:
            raise PageTooLargeError
        to_shown, rotation = shown_box(page), page.get_rotation()
        box, matrix, x, y = pdfium.FS_RECTF(), pdfium.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
        handle = text_page.raw
        font_height, angle, high_half, size = -1.0, 0, 0, 0.0
        for index in range(count):
            code = pdfium.FPDFText_GetUnicode(handle, index)
            if code in _SPACES:
                is_generated = pdfium.FPDFText_IsGenerated(handle, index) == 1
                if is_generated or code not in _TEX_CHARACTERS:
                    if not is_generated:
                        yield None
                    continue
            if 0xD800 <= code < 0xDC00:  # the first half of a character beyond 16 bits
                high_half = code
                continue
            if high_half and 0xDC00 <= code < 0xE000:
                code = 0x10000 + ((high_half - 0xD800) << 10) + code - 0xDC00
            high_half = 0
            if not pdfium.FPDFText_GetLooseCharBox(handle, index, box):
                continue
            pdfium.FPDFText_GetCharOrigin(handle, index, x, y)
            if abs(box.top - box.bottom - font_height) > 0.01:  # another font
                font_height = box.top - box.bottom
                pdfium.FPDFText_GetMatrix(handle, index, matrix)
                scale = math.hypot(matrix.c, matrix.d)
                size = pdfium.FPDFText_GetFontSize(handle, index) * scale or abs(font_height)
                angle = (rotation - round(math.degrees(math.atan2(matrix.b, matrix.a)) / 90) * 90) % 360
            origin = to_shown(x.value, y.value, x.value, y.value)
            shown = to_shown(box.left, box.bottom, box.right, box.top)
            if angle:
                origin, shown = turn_upright(origin, angle), turn_upright(shown, angle)
            text = _CHARACTERS.get(code) or chr(code)
            if text in _BLANK_LEFT or text in _BLANK_RIGHT:
                shown = _without_blank_half(text, shown, size)
            yield _Character(text, shown, size, origin[1], angle)
    finally:
        text_page.close()
