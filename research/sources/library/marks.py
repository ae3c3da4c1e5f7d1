"""Where the words of a query stand in a passage, so that a reader sees why it was found."""

from __future__ import annotations

import re
import unicodedata

from research.core.text.hanzi import simplified
from research.core.text.words import HAN, STOP, characters, has_han, stem, tokens

_WORD = re.compile(rf"(?<![\d.])\d+\.\d+(?!\.?\d)|[^\W_{HAN}]+")


def marks(query: str, text: str) -> list[tuple[int, int]]:
    """Start and end of what answers the query's words, in order, none touching another.

    Words of the Latin script match in any of their forms. Of Chinese the words are marked, or, where
    the text has none of them, the characters that a search falls back on, in either script.
    """
    wanted = {token for token in tokens(query) if token not in STOP}
    text = simplified(text)
    found = [match.span() for match in _WORD.finditer(text) if _terms(match.group()) & wanted]
    han = [_places(word, text) for word in wanted if has_han(word)]
    if not any(han):
        han = [_places(character, text) for character in characters(query)]
    return _joined(sorted([*found, *(span for spans in han for span in spans)]))


def _terms(word: str) -> set[str]:
    folded = unicodedata.normalize("NFKC", word).lower()
    return {folded, stem(folded)} if folded.isascii() else {folded}


def _places(word: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(re.escape(word), text)]


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out
