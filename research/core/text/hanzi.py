"""Folds traditional Chinese to simplified for comparison and search.

Works character by character, so that offsets stay. Only text for comparison is folded, in an index
and in a query; text that is shown, quoted, stored or exported stays as written. A character whose
conversion depends on the word (著 of 隨著 is 着, that of 著名 is 著) is left unchanged.

The table is a file rather than a library, because indexes are built with it: a table that changed
with an upgrade would fold queries differently from the documents indexed before.
"""

from __future__ import annotations

from functools import lru_cache

from research import data


class _CharacterTable(dict[int, str]):
    """Translation table that caches unchanged characters, which doubles the speed."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, chr(code))


def to_simplified(text: str) -> str:
    """Convert a text to simplified characters. Offsets stay."""
    return text if text.isascii() else text.translate(_load_table())


@lru_cache(1)
def _load_table() -> _CharacterTable:
    return _CharacterTable(
        (ord(traditional), pair[0])
        for line in data.lines("simplified.txt")
        for pair in line.split()
        for traditional in pair[1:]
    )
