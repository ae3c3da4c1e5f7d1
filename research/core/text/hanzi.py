"""Traditional and simplified Chinese as one: what is compared or searched is folded to simplified.

Character for character, so that offsets stay. Only what is compared is folded, in an index and in a
question; what is shown, quoted, stored or exported stays as it was written. Where the right character
hangs on the word (著 of 隨著 is 着, that of 著名 is 著), a character stays what it is.

The table is a file and not a library's at run time, because indexes are built with it: one that
changed with an upgrade would fold questions otherwise than the documents before them.
"""

from __future__ import annotations

from functools import lru_cache

from research import data


class _CharacterTable(dict[int, str]):
    """Characters that are the same in both are learnt as they come: twice as fast as none of them."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, chr(code))


def to_simplified(text: str) -> str:
    """A text in simplified characters, each at the place that it had."""
    return text if text.isascii() else text.translate(_load_table())


@lru_cache(1)
def _load_table() -> _CharacterTable:
    return _CharacterTable(
        (ord(one), pair[0]) for line in data.lines("simplified.txt") for pair in line.split() for one in pair[1:]
    )
