"""Whether two texts are one: stretches of characters, most of which they have in common."""

from __future__ import annotations

import re
import zlib

from research.core.text.folding import fold_text

MIN_LETTERS = 35  # letters of a text, below which it proves nothing
SHINGLE_LETTERS = 6  # letters of a shingle
MIN_CONTAINMENT = 0.75  # of the shorter text's shingles are in the longer one: a copy


def shingles(text: str) -> frozenset[int]:
    """The stretches of letters of a text as numbers; none of a text that is too short."""
    letters = re.sub(r"[\W_]+", "", fold_text(text))
    if len(letters) < MIN_LETTERS:
        return frozenset()
    return frozenset(
        zlib.crc32(letters[i : i + SHINGLE_LETTERS].encode("utf-8", "surrogatepass"))
        for i in range(len(letters) - SHINGLE_LETTERS + 1)
    )


def is_near_duplicate(one: frozenset[int], other: frozenset[int]) -> bool:
    """Whether most of the shorter text is in the longer one (containment of shingles, Broder 1997)."""
    least = min(len(one), len(other))
    return least > 0 and len(one & other) >= MIN_CONTAINMENT * least
