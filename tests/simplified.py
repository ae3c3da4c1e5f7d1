"""Writes research/data/simplified.txt from OpenCC's tables: `python -m tests.simplified`.

An index of documents holds words that the table has folded. If the table changes, indexes have to be
built anew: add a migration like the one in research/sources/library/schema.py that says so.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import opencc

import research

FILE = Path(research.__file__).parent / "data" / "simplified.txt"
BLOCKS = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0x20000, 0x2F800),
    range(0x30000, 0x323B0),
)
HEAD = """\
# Simplified characters, each with the traditional ones and variants that are folded to it. From the
# dictionaries of OpenCC (https://github.com/BYVoid/OpenCC, Apache License 2.0), which
# tests/simplified.py reads; only what changes one to one, whatever stands around it.
"""
ROW = 16


def pairs() -> dict[str, str]:
    """Every Han character that OpenCC changes by itself, with what becomes of it in the end. From the
    forms of Hong Kong, for which it knows those of elsewhere and some more."""
    characters = [chr(code) for block in BLOCKS for code in block]
    changed = _converted(characters)
    changed = {one: other for one, other in changed.items() if one != other and len(other) == 1}
    return {one: changed.get(other, other) for one, other in changed.items()}


def _converted(characters: list[str]) -> dict[str, str]:
    lines = opencc.OpenCC("hk2s").convert("\n".join(characters)).split("\n")
    return dict(zip(characters, lines, strict=True))


def main() -> None:
    by_simple: defaultdict[str, str] = defaultdict(str)
    for traditional, simple in sorted(pairs().items()):
        by_simple[simple] += traditional
    words = [simple + many for simple, many in sorted(by_simple.items())]
    rows = [" ".join(words[at : at + ROW]) for at in range(0, len(words), ROW)]
    FILE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
