"""Toneless pinyin of Chinese characters."""

from __future__ import annotations

from functools import cache

from research import data


@cache
def load_syllables() -> dict[str, str]:
    """Return the most common reading of each character of GB 2312, without its tone."""
    rows = (line.split(" ") for line in data.lines("pinyin.txt"))
    return {character: syllable for syllable, characters in rows for character in characters}
