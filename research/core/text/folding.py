"""Text in the one spelling in which figures and dates are read, character for character."""

from __future__ import annotations

import unicodedata

from research.core.text.hanzi import to_simplified

_EQUIVALENT_CHARS = {
    **dict.fromkeys("’‘", "'"),
    **dict.fromkeys("\u00a0\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u2011\u2212\ufe63\uff0d", "-"),
}


class _FoldingTable(dict[int, str]):
    """Width, case, accents and digits; offsets stay, and so does Chinese punctuation."""

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
    """Lower case, half width, simplified characters; offsets are those of the text."""
    return text.translate(_FOLDING_TABLE)
