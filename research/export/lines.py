"""Text in lines: where a line may end, and what stands on it.

Chinese may be parted nearly anywhere, but no line begins with what closes and none ends with what
opens; Latin words stay whole unless one is longer than a line. Knows widths; draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from research.export.fonts import drawn, seen

# What never begins a line, and what never ends one.
_CLOSING = frozenset(
    "、。，．：；？！）】」』》〉〕〗｝］”’…—～·々ーぁぃぅぇぉっゃゅょァィゥェォッャュョ％‰℃°′″"
    ")]},.:;?!%»›"
)
_OPENING = frozenset("（【「『《〈〔〖｛［“‘([{«‹￥¥$€£#")
_PARTING = frozenset("/?&=._-%#+,;:@~|")  # where a long address may be parted: after these
_SHARED = frozenset("“”‘’—…·")  # marks of Chinese and of Latin, which are not as wide in both
_NEUTRAL = " “”‘’—…·0123456789()[]"
_JUSTIFIED = 0.06  # of the type size: the most that may come between two characters


class Style(NamedTuple):
    """How text looks and where it leads. `size` is in points; `goal` is a place within the file."""

    size: float
    colour: str = "#1f2328"
    bold: bool = False
    italic: bool = False
    mono: bool = False
    struck: bool = False
    raised: bool = False
    href: str = ""
    goal: str = ""

    @property
    def face(self) -> str:
        return "mono" if self.mono else "bold" if self.bold else "plain"

    @property
    def drawn_size(self) -> float:
        return self.size * (0.68 if self.raised else 0.92 if self.mono else 1)


class Stretch(NamedTuple):
    """Characters that are drawn at once."""

    text: str
    style: Style
    font: str
    stroked: bool
    width: float


class Line(NamedTuple):
    stretches: tuple[Stretch, ...]
    width: float
    spread: float = 0.0  # points to add after each character

    @property
    def text(self) -> str:
        return "".join(stretch.text for stretch in self.stretches)


class _Char(NamedTuple):
    char: str
    style: Style
    font: str
    stroked: bool
    width: float


Piece = tuple[str, Style]


def boxed(pieces: Iterable[Piece]) -> int:
    """How many characters are drawn as a box, for want of a glyph."""
    return sum(drawn(char, style.face).boxed for text, style in pieces for char in seen(text))


def lines(pieces: Iterable[Piece], width: float, *, keep_spaces: bool = False) -> list[Line]:
    """Pieces of text in lines at most `width` points wide; a line break in them begins a new one.

    With `keep_spaces` the lines begin as they do in the text, as code does. Lines that are nearly
    full and mostly Han are spread to the full width.
    """
    found: list[Line] = []
    for chars in _paragraphs(pieces):
        rows = list(_filled(_units(chars), width, keep_spaces=keep_spaces))
        last = len(rows) - 1
        for at, row in enumerate(rows):
            found.append(_line(row, width if at < last and not keep_spaces else 0.0))
    return found


def natural(pieces: Iterable[Piece]) -> tuple[float, float]:
    """The width of text on lines of its own, and that of its longest word."""
    longest = word = 0.0
    for chars in _paragraphs(pieces):
        units = list(_units(chars))
        longest = max(longest, sum(_width(unit) for unit in units))
        word = max([word, *(_width(unit) for unit in units)])
    return longest, word


def _paragraphs(pieces: Iterable[Piece]) -> Iterator[list[_Char]]:
    chars: list[_Char] = []
    for text, style in pieces:
        first = True
        for line in text.split("\n"):
            if not first:
                yield chars
                chars = []
            first = False
            chars += _measured(line, style)
    yield chars


def _measured(text: str, style: Style) -> Iterator[_Char]:
    size, face = style.drawn_size, style.face
    shown = seen(text)
    western = {"plain": "western", "bold": "western bold"}.get(face, face)
    for at, char in enumerate(shown):
        how = drawn(char, western if char in _SHARED and _is_western(shown, at) else face)
        yield _Char(char, style, how.font, how.stroked, how.width * size / 1000)


def _is_western(text: str, at: int) -> bool:
    """Whether a mark that both scripts have stands in Latin text: what is outside of it decides,
    else what is inside."""
    before, after = (
        text[max(0, at - 40) : at].strip(_NEUTRAL),
        text[at + 1 : at + 41].strip(_NEUTRAL),
    )
    outer, inner = (before[-1:], after[:1]) if text[at] in "“‘" else (after[:1], before[-1:])
    return not _wide(outer or inner or " ")


def _wide(char: str) -> bool:
    return char >= "\u2e80" and not "\ua4d0" <= char < "\uac00"


def _parts(a: _Char, b: _Char) -> bool:
    """Whether a line may end between two characters."""
    if b.char == " " or b.style.raised:
        return False
    if a.char in " \u200b":
        return True
    if b.char in _CLOSING or a.char in _OPENING or "\xa0" in (a.char, b.char):
        return False
    return (
        _wide(a.char)
        or _wide(b.char)
        or a.char in "-–"
        or (a.char in _CLOSING and ord(a.char) > 0xFF)
    )


def _units(chars: list[_Char]) -> Iterator[list[_Char]]:
    """What cannot be parted, with the spaces that follow it."""
    unit: list[_Char] = []
    for char in chars:
        if unit and _parts(unit[-1], char):
            yield unit
            unit = []
        unit.append(char)
    if unit:
        yield unit


def _width(unit: list[_Char]) -> float:
    """The width of a unit without the spaces at its end."""
    end = len(unit)
    while end and unit[end - 1].char == " ":
        end -= 1
    return sum(char.width for char in unit[:end])


def _filled(
    units: Iterable[list[_Char]], width: float, *, keep_spaces: bool
) -> Iterator[list[_Char]]:
    row: list[_Char] = []
    used = 0.0
    for unit in units:
        if used + _width(unit) > width + 0.01 and (_width(unit) <= width or used > width * 0.7):
            if row:
                yield row
            row, used = [], 0.0
        for part in _fitting(unit, width, used):
            if row and used + _width(part) > width + 0.01:
                yield row
                row, used = [], 0.0
            piece = part if row or keep_spaces else _stripped(part)
            row = [*row, *piece]
            used += sum(char.width for char in piece)
    yield row


def _stripped(unit: list[_Char]) -> list[_Char]:
    at = 0
    while at < len(unit) and unit[at].char == " ":
        at += 1
    return unit[at:]


def _fitting(unit: list[_Char], width: float, used: float) -> Iterator[list[_Char]]:
    """A unit as it is, or in parts if it is longer than a line: after a sign, else anywhere."""
    if _width(unit) <= width:
        yield unit
        return
    start, room = 0, width - used
    while start < len(unit):
        end, taken, sign = start, 0.0, 0
        while end < len(unit) and (taken + unit[end].width <= room or end == start):
            taken += unit[end].width
            end += 1
            if unit[end - 1].char in _PARTING and taken > room * 0.6:
                sign = end
        if end < len(unit) and sign:
            end = sign
        yield unit[start:end]
        start, room = end, width


def _line(row: list[_Char], full: float) -> Line:
    while row and row[-1].char == " ":
        row = row[:-1]
    alike = [list(group) for _, group in groupby(row, key=lambda char: char[1:4])]
    stretches = tuple(
        Stretch(
            text="".join(char.char for char in group),
            style=group[0].style,
            font=group[0].font,
            stroked=group[0].stroked,
            width=sum(char.width for char in group),
        )
        for group in alike
    )
    width = sum(stretch.width for stretch in stretches)
    slack = full - width
    if full and slack > 0 and sum(_wide(char.char) for char in row) * 2 > len(row):
        spread = slack / max(len(row) - 1, 1)
        if spread <= _JUSTIFIED * row[0].style.size:
            return Line(stretches, full, spread)
    return Line(stretches, width)
