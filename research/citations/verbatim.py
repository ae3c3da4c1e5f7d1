"""Search for a claim word for word in a passage, as a sentence of its own.

A part of a longer sentence may mean something else: "smoking is legal" is part of "smoking is
legally restricted", and 门票免费 of 门票免费的说法不实.
"""

from __future__ import annotations

import re
from functools import lru_cache

from research.core.text.quantities import fold_text
from research.core.text.sentences import replace_soft_breaks
from research.core.text.tokenizer import HAN_RANGES

# Characters of Chinese text: a space or a line end next to one has no meaning.
_WIDE_CHAR = re.compile(f"[{HAN_RANGES}\u3000-\u303f\uff00-\uffef“”‘’]")
_OPTIONAL_BREAK = r"[ \t]*\n?[ \t]*"
MAX_CLAIM_CHARS = 1_000  # longer claims are not searched
_STOPS = "。.．!！;；… "
_SENTENCE_START = r"(?:^|(?<=[。！？!?；;\n])|(?<=[.!?]\s))[\s“‘\"'「『]*"
_WORD_CONTINUES = r"(?:(?<=[a-z])[a-z]|(?<=\d)[.,]?\d)"
_SENTENCE_END = r"[”’\"'」』]*\s*(?:[。！!；;\n]|[.．](?!\d)|$)"


@lru_cache(4_096)
def _fold(text: str) -> tuple[str, str]:
    """Fold a text for comparison; return it with and without spaces."""
    folded = fold_text(replace_soft_breaks(text))
    return folded, "".join(folded.split())


def _claim_pattern(claim: str, passage: str) -> str:
    """Build a pattern for the words of a claim; "" if the passage does not contain them in a row."""
    bare = _fold(claim)[0].strip().strip(_STOPS)
    if not 1 <= len(bare) <= MAX_CLAIM_CHARS or "".join(bare.split()) not in _fold(passage)[1]:
        return ""  # most claims are absent, and compiling a pattern is expensive
    return r"\s*".join(map(_word_pattern, bare.split()))


def _word_pattern(word: str) -> str:
    """Build a pattern for a word that allows spaces and one line end beside Chinese characters."""
    is_wide = [_WIDE_CHAR.match(char) is not None for char in word]
    triples = zip(word[1:], is_wide, is_wide[1:], strict=False)
    return re.escape(word[0]) + "".join(
        (_OPTIONAL_BREAK if left_wide or right_wide else "") + re.escape(char)
        for char, left_wide, right_wide in triples
    )


def find_verbatim_sentence(claim: str, passage: str) -> tuple[int, int] | None:
    """Return the range of a sentence that equals the claim, ignoring spaces, width and case.

    Offsets refer to the folded passage.
    """
    words = _claim_pattern(claim, passage)
    match = words and re.search(rf"{_SENTENCE_START}(?P<claim>{words}){_SENTENCE_END}", _fold(passage)[0])
    return match.span("claim") if match else None


def cuts_last_word(claim: str, passage: str) -> bool:
    """Return whether every occurrence of the claim in the passage ends within a word or a number."""
    words = _claim_pattern(claim, passage)
    folded = _fold(passage)[0]
    return (
        bool(words)
        and bool(re.search(rf"{words}{_WORD_CONTINUES}", folded))
        and not re.search(rf"{words}(?!{_WORD_CONTINUES})", folded)
    )
