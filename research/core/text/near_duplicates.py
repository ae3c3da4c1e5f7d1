"""Detection of near-duplicate texts by shared character shingles."""

from __future__ import annotations

import re
import zlib

from research.core.text.folding import fold_text

MIN_LETTERS = 35  # letters; a shorter text proves nothing
SHINGLE_LETTERS = 6
MIN_CONTAINMENT = 0.75  # share of the shorter text's shingles in the longer one


def shingles(text: str) -> frozenset[int]:
    """Return the hashed character shingles of a text; none if it is too short."""
    letters = re.sub(r"[\W_]+", "", fold_text(text))
    if len(letters) < MIN_LETTERS:
        return frozenset()
    return frozenset(
        zlib.crc32(letters[i : i + SHINGLE_LETTERS].encode("utf-8", "surrogatepass"))
        for i in range(len(letters) - SHINGLE_LETTERS + 1)
    )


def is_near_duplicate(first: frozenset[int], second: frozenset[int]) -> bool:
    """Return whether most shingles of the shorter of two texts are in the longer one (Broder 1997)."""
    smaller = min(len(first), len(second))
    return smaller > 0 and len(first & second) >= MIN_CONTAINMENT * smaller
