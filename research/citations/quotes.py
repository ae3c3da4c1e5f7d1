"""Whether a passage has a claim word for word, as a sentence of its own.

A stretch of a longer sentence may mean something else: "smoking is legal" stands in "smoking is legally
restricted", 门票免费 in 门票免费的说法不实.
"""

from __future__ import annotations

import re
from functools import lru_cache

from research.core.text.quantities import plain
from research.core.text.sentences import levelled
from research.core.text.words import HAN

# Characters of Chinese text: between them, and beside one, a space or the end of a line says nothing.
_WIDE = re.compile(f"[{HAN}\u3000-\u303f\uff00-\uffef“”‘’]")
_BREAK = r"[ \t]*\n?[ \t]*"
LONGEST = 1_000  # characters of a claim that is looked for
_STOPS = "。.．!！;；… "
_BEGINS = r"(?:^|(?<=[。！？!?；;\n])|(?<=[.!?]\s))[\s“‘\"'「『]*"
_GOES_ON = r"(?:(?<=[a-z])[a-z]|(?<=\d)[.,]?\d)"
_ENDS = r"[”’\"'」』]*\s*(?:[。！!；;\n]|[.．](?!\d)|$)"


@lru_cache(4_096)
def _folded(text: str) -> tuple[str, str]:
    """A text as it is compared, and the same without spaces."""
    folded = plain(levelled(text))
    return folded, "".join(folded.split())


def _words(claim: str, passage: str) -> str:
    """A pattern for the words of a claim; "" if the passage does not have them in a row."""
    bare = _folded(claim)[0].strip().strip(_STOPS)
    if not 1 <= len(bare) <= LONGEST or "".join(bare.split()) not in _folded(passage)[1]:
        return ""  # most are not there, and a pattern costs much to make
    return r"\s*".join(map(_pattern, bare.split()))


def _pattern(word: str) -> str:
    wide = [_WIDE.match(char) is not None for char in word]
    beside = zip(word[1:], wide, wide[1:], strict=False)
    return re.escape(word[0]) + "".join(
        (_BREAK if one or other else "") + re.escape(char) for char, one, other in beside
    )


def stands_in(claim: str, passage: str) -> tuple[int, int] | None:
    """Where a sentence of the passage is the claim, spaces, width and capitals aside."""
    words = _words(claim, passage)
    match = words and re.search(rf"{_BEGINS}(?P<said>{words}){_ENDS}", _folded(passage)[0])
    return match.span("said") if match else None


def cuts_a_word(claim: str, passage: str) -> bool:
    """Whether the claim stands in the passage only as far as a part of its last word or number."""
    words = _words(claim, passage)
    folded = _folded(passage)[0]
    return (
        bool(words)
        and bool(re.search(rf"{words}{_GOES_ON}", folded))
        and not re.search(rf"{words}(?!{_GOES_ON})", folded)
    )
