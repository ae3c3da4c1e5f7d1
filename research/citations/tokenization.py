"""Tokenization of texts for the judge: sentences, and tokens with their offsets.

Each Han character is a token; other words are reduced to their English stem, numbers to their
digits. So nothing depends on how a dictionary segments Chinese.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from research.core.text.quantities import Measure, find_measures, fold_text
from research.core.text.sentences import find_sentence_ends, replace_soft_breaks
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, has_han, stem

MAX_CHARS = 60_000  # the rest of a passage is not read
MAX_FIGURES = 60  # further figures of a sentence are ignored
MAX_WORD_CHARS = 60  # longer tokens are not stemmed
_TOKEN = re.compile(rf"[{HAN_RANGES}]|\d+(?:[.,]\d+)*|n['’]t\b|[^\W\d_{HAN_RANGES}]+(?=n['’]t\b)|[^\W\d_{HAN_RANGES}]+")


@dataclass(frozen=True)
class TokenizedSentence:
    """A sentence of a text from `start` to `end`, with its folded text and its tokens."""

    start: int
    end: int
    folded: str
    tokens: frozenset[str]

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Figures and dates of the sentence, at most `MAX_FIGURES`; offsets count from its
        start."""
        return _find_measures(self.folded)


@lru_cache(20_000)
def _find_measures(text: str) -> tuple[Measure, ...]:
    return tuple(find_measures(text)[:MAX_FIGURES])


@dataclass(frozen=True)
class TokenizedText:
    """A text with its tokens, the offset of each token, and its sentences."""

    text: str
    folded: str
    tokens: tuple[str, ...]
    token_starts: tuple[int, ...]
    sentences: tuple[TokenizedSentence, ...]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The distinct tokens."""
        return frozenset(self.tokens)

    @cached_property
    def content_tokens(self) -> tuple[str, ...]:
        """Distinct tokens that are no stop words; all tokens if there are none."""
        content = dict.fromkeys(token for token in self.tokens if token not in STOP_WORDS)
        return tuple(content) or tuple(dict.fromkeys(self.tokens))

    @cached_property
    def is_chinese(self) -> bool:
        """True if the text is mainly Chinese, counting two Han characters as a word."""
        han = sum(has_han(token) for token in self.tokens)
        return han > 2 * sum(token.isalpha() and not has_han(token) for token in self.tokens)

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [sentence.start for sentence in self.sentences]

    def sentence_index(self, offset: int) -> int:
        """Return the index of the sentence that contains a character offset."""
        return max(0, bisect_right(self._sentence_starts, offset) - 1)


@lru_cache(4_096)
def tokenize_text(text: str, as_one_sentence: bool = False) -> TokenizedText:
    """Tokenize at most `MAX_CHARS` characters of a text.

    A claim is not divided into sentences (`as_one_sentence`).
    """
    text = text[:MAX_CHARS]
    folded = fold_text(replace_soft_breaks(text))
    matches = [*_TOKEN.finditer(folded)]
    tokens = tuple(_normalise_token(match[0]) for match in matches)
    starts = tuple(match.start() for match in matches)
    spans = [(0, len(text))] if as_one_sentence else [*_sentence_spans(replace_soft_breaks(text))]
    sentences = tuple(
        TokenizedSentence(
            start,
            end,
            folded[start:end],
            frozenset(tokens[bisect_left(starts, start) : bisect_left(starts, end)]),
        )
        for start, end in spans
    )
    return TokenizedText(text, folded, tokens, starts, sentences)


@lru_cache(100_000)
def _normalise_token(word: str) -> str:
    if word[0].isdigit():
        return re.sub(r"^0+(?=\d)", "", word.replace(",", ""))
    return word if has_han(word) or len(word) > MAX_WORD_CHARS else stem(word.replace("’", "'"))


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    lines = (match.end() for match in re.finditer("\n", text))
    for end in sorted({*find_sentence_ends(text), *lines, len(text)}):
        core = text[at:end].strip()
        if core:
            start = text.index(core, at)
            yield start, start + len(core)
        at = end
