"""The syllable that a Chinese character is read as, without its tone."""

from __future__ import annotations

from functools import cache

from research import data


@cache
def load_syllables() -> dict[str, str]:
    """The commonest reading of each character of GB 2312."""
    rows = (line.split(" ") for line in data.lines("pinyin.txt"))
    return {character: syllable for syllable, own in rows for character in own}
