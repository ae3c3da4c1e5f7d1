"""Whether a passage has a claim word for word, as a sentence of its own.

A stretch of a longer sentence may mean something else: "smoking is legal" stands in "smoking is legally
restricted", 门票免费 in 门票免费的说法不实.
"""

from __future__ import annotations

import re
from functools import lru_cache

from research.core.text.quantities import fold_text
from research.core.text.sentences import replace_soft_breaks
from research.core.text.tokenizer import HAN_RANGES

# Characters of Chinese text: between them, and beside one, a space or the end of a line says nothing.
_WIDE_CHAR = re.compile(f"[{HAN_RANGES}\u3000-\u303f\uff00-\uffef“”‘’]")
_OPTIONAL_BREAK = r"[ \t]*\n?[ \t]*"
MAX_CLAIM_CHARS = 1_000  # characters of a claim that is looked for
_STOPS = "。.．!！;；… "
_SENTENCE_START = r"(?:^|(?<=[。！？!?；;\n])|(?<=[.!?]\s))[\s“‘\"'「『]*"
_WORD_CONTINUES = r"(?:(?<=[a-z])[a-z]|(?<=\d)[.,]?\d)"
_SENTENCE_END = r"[”’\"'」』]*\s*(?:[。！!；;\n]|[.．](?!\d)|$)"


@lru_cache(4_096)
def _fold(text: str) -> tuple[str, str]:
    """A text as it is compared, and the same without spaces."""
    folded = fold_text(replace_soft_breaks(text))
    return folded, "".join(folded.split())


def _claim_pattern(claim: str, passage: str) -> str:
    """A pattern for the words of a claim; "" if the passage does not have them in a row."""
    bare = _fold(claim)[0].strip().strip(_STOPS)
    if not 1 <= len(bare) <= MAX_CLAIM_CHARS or "".join(bare.split()) not in _fold(passage)[1]:
        return ""  # most are not there, and a pattern costs much to make
    return r"\s*".join(map(_word_pattern, bare.split()))


def _word_pattern(word: str) -> str:
    wide = [_WIDE_CHAR.match(char) is not None for char in word]
    beside = zip(word[1:], wide, wide[1:], strict=False)
    return re.escape(word[0]) + "".join(
        (_OPTIONAL_BREAK if one or other else "") + re.escape(char) for char, one, other in beside
    )


def find_verbatim_sentence(claim: str, passage: str) -> tuple[int, int] | None:
    """Where a sentence of the passage is the claim, spaces, width and capitals aside."""
    words = _claim_pattern(claim, passage)
    match = words and re.search(rf"{_SENTENCE_START}(?P<said>{words}){_SENTENCE_END}", _fold(passage)[0])
    return match.span("said") if match else None


def cuts_word(claim: str, passage: str) -> bool:
    """Whether the claim stands in the passage only as far as a part of its last word or number."""
    words = _claim_pattern(claim, passage)
    folded = _fold(passage)[0]
    return (
        bool(words)
        and bool(re.search(rf"{words}{_WORD_CONTINUES}", folded))
        and not re.search(rf"{words}(?!{_WORD_CONTINUES})", folded)
    )
