"""Positions of a query's words in a passage, for highlighting search matches."""

from __future__ import annotations

import re
import unicodedata

from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, content_characters, has_han, stem, tokenize

_WORD = re.compile(rf"(?<![\d.])\d+\.\d+(?!\.?\d)|[^\W_{HAN_RANGES}]+")


def find_highlights(query: str, text: str) -> list[tuple[int, int]]:
    """Return the sorted, disjoint (start, end) offsets of the query's words in `text`.

    Latin words match in any inflected form. For Chinese, whole words are marked; if the text
    contains none of them, the single characters that search falls back on are marked instead. Both
    simplified and traditional characters match.
    """
    query_words = {token for token in tokenize(query) if token not in STOP_WORDS}
    text = to_simplified(text)
    latin_spans = [match.span() for match in _WORD.finditer(text) if _word_forms(match.group()) & query_words]
    han_spans = [_find_spans(word, text) for word in query_words if has_han(word)]
    if not any(han_spans):
        han_spans = [_find_spans(character, text) for character in content_characters(query)]
    return _merge_spans(sorted([*latin_spans, *(span for spans in han_spans for span in spans)]))


def _word_forms(word: str) -> set[str]:
    folded = unicodedata.normalize("NFKC", word).lower()
    return {folded, stem(folded)} if folded.isascii() else {folded}


def _find_spans(word: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(re.escape(word), text)]


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
