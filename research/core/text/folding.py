"""Folding of text to one spelling, character by character, before figures and dates are read."""

from __future__ import annotations

import unicodedata

from research.core.text.hanzi import to_simplified

_EQUIVALENT_CHARS = {
    **dict.fromkeys("’‘", "'"),
    **dict.fromkeys("\u00a0\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u2011\u2212\ufe63\uff0d", "-"),
}


class _FoldingTable(dict[int, str]):
    """Table that folds width, case, accents and digits; Chinese punctuation stays."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if (0xFF10 <= code <= 0xFF5A and char.isalnum()) or char in "％．＄＋／＝":
            char = chr(code - 0xFEE0)
        char = _EQUIVALENT_CHARS.get(char, to_simplified(char))
        if char.isdecimal():
            char = str(unicodedata.decimal(char))
        bare = unicodedata.normalize("NFD", char.lower())
        self[code] = bare[0] if unicodedata.combining(bare[-1]) or len(bare) == 1 else char
        return self[code]


_FOLDING_TABLE = _FoldingTable()


def fold_text(text: str) -> str:
    """Fold a text to lower case, half width and simplified characters. Offsets stay."""
    return text.translate(_FOLDING_TABLE)
