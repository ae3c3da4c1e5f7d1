"""Fonts of printed reports, and the characters that they can draw.

The fonts in `FONT_FOLDER` ship with the program. They cover Latin, Greek, Cyrillic, Han, Hangul,
Arabic, Hebrew, Thai, Devanagari, signs and emoji. Other characters need a system font.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from unicodedata import normalize

import typst
from fontTools.ttLib import TTFont, TTLibError

FONT_FOLDER = Path(__file__).resolve().parent.parent / "data" / "fonts"
# Families in the folder, in order of preference.
WESTERN_FONT = "Noto Sans CJK KR"  # quotation marks and dashes of Latin width
EMOJI_FONT = "Noto Emoji"
TEXT_FONTS = (
    "Noto Sans CJK SC", EMOJI_FONT, "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Thai",
    "Noto Sans Devanagari", "DejaVu Sans", "Noto Sans Math",
)  # fmt: skip
ACCENTED_LETTERS_FONT = "DejaVu Sans"  # accented letters that the first font lacks
MONO_FONT = "Noto Sans Mono CJK SC"
_PLACEHOLDER_FONT = re.compile("last ?resort|adobe ?blank|tofu", re.IGNORECASE)  # fonts that draw boxes
# Control characters, also those that change text direction; but joiners and variation selectors
# shape their neighbours and are kept.
_INVISIBLE_CHAR = re.compile(
    "[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e001f\U000e0080-\U000e0fff\ufdd0-\ufdef\ufffe\uffff]"
)
_JOINER_OR_VARIANT = re.compile("[\u200c-\u200f\ufe00-\ufe0f\U000e0020-\U000e007f]")
_SPACES = re.compile("[\t\n\v\f\r\x1c-\x1f\x85\u1680\u2028\u2029]")


def visible_text(text: str) -> str:
    """Normalise text for drawing: NFC, plain spaces, no control characters."""
    text = _INVISIBLE_CHAR.sub("", _SPACES.sub(" ", text))
    return normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


@cache
def load_fonts() -> typst.Fonts:
    """Load the shipped and the system fonts once. Typst adds the fonts for formulas."""
    return typst.Fonts(include_system_fonts=True, font_paths=[str(FONT_FOLDER)])


def is_drawable(char: str) -> bool:
    """Return whether a font has the character, or it needs none."""
    if ord(char) in _shipped_chars() or char.isspace() or _JOINER_OR_VARIANT.match(char):
        return True
    return ord(char) in _system_chars()


def needs_accents_font(char: str) -> bool:
    """Return whether a letter with accents is missing in the first font, which would compose it from parts."""
    return ord(char) not in _regular_chars() and normalize("NFD", char) != char and is_drawable(char)


def needs_stroke(char: str) -> bool:
    """Return whether an East Asian character is in no bold font and needs a stroke instead."""
    if not char >= "\u2e80" or not char.isalpha() or ord(char) in _bold_chars():
        return False
    return ord(char) in _regular_chars() and ord(char) not in _system_chars(600)


@cache
def _bold_chars() -> frozenset[int]:
    return _font_chars(str(FONT_FOLDER / "bold.ttf"), 0)


@cache
def _regular_chars() -> frozenset[int]:
    return _font_chars(str(FONT_FOLDER / "regular.ttf"), 0)


@cache
def _shipped_chars() -> frozenset[int]:
    return frozenset().union(*(_font_chars(str(file), 0) for file in FONT_FOLDER.glob("*.ttf")))


@cache
def _system_chars(min_weight: int = 0) -> frozenset[int]:
    """Return the characters of system fonts of at least a weight; read only on demand."""
    chars: set[int] = set()
    files = {
        font.path: font.index
        for font in reversed(load_fonts().fonts())
        if font.path and font.weight >= min_weight and Path(font.path).parent != FONT_FOLDER
        if not _PLACEHOLDER_FONT.search(font.family)
    }
    for path, index in files.items():  # one font per file: the others draw the same characters
        chars |= _font_chars(path, index)
    return frozenset(chars)


def _font_chars(path: str, index: int) -> frozenset[int]:
    try:
        with TTFont(path, fontNumber=index, lazy=True) as font:
            return frozenset(font.getBestCmap() or ())
    except (
        OSError,
        TTLibError,
        KeyError,
        ValueError,
        AssertionError,
    ):  # a broken font draws nothing
        return frozenset()
