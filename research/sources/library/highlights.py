"""Where the words of a query stand in a passage, so that a reader sees why it was found."""

from __future__ import annotations

import re
import unicodedata

from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, content_characters, has_han, stem, tokenize

_WORD = re.compile(rf"(?<![\d.])\d+\.\d+(?!\.?\d)|[^\W_{HAN_RANGES}]+")


def find_highlights(query: str, text: str) -> list[tuple[int, int]]:
    """Start and end of what answers the query's words, in order, none touching another.

    Words of the Latin script match in any of their forms. Of Chinese the words are marked, or, where
    the text has none of them, the characters that a search falls back on, in either script.
    """
    wanted = {token for token in tokenize(query) if token not in STOP_WORDS}
    text = to_simplified(text)
    found = [match.span() for match in _WORD.finditer(text) if _word_forms(match.group()) & wanted]
    han = [_find_spans(word, text) for word in wanted if has_han(word)]
    if not any(han):
        han = [_find_spans(character, text) for character in content_characters(query)]
    return _merge_spans(sorted([*found, *(span for spans in han for span in spans)]))


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
