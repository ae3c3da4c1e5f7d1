"""Hyphens at line ends: part of the word, or only of the layout.

The document decides: a word that it has elsewhere without hyphen loses it, one that it has with a hyphen
keeps it. Otherwise a hyphen between two words of the document, or of common English, is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from research import data
from research.core.text.tokenizer import stem
from research.readers.pdf_paragraphs import LINE_HYPHEN

_BROKEN = re.compile(rf"([^\W\d_]+){LINE_HYPHEN}([^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_MIN_PART = 4  # letters of each part of a compound, to be told from a syllable, unless the first is one of these
_SHORT_WORDS_TEXT = """
act add age aid aim air all arm art bad bar bed big box bus buy car cut day dog dry ear egg end eye fan far fat few fit
fly fog fox gap gas gun hat hot ice ill ink jet job key lab law leg low man map mid mix mud net new nut off oil old one
out own pay pen pig pot raw red rib rig row run sea set shy sky sub sun tax tea ten tie tin tip top toy two use van war
wax way web wet win zip
"""
_SHORT_WORDS = frozenset(_SHORT_WORDS_TEXT.split())
# First parts that are hyphenated in nearly all compounds, and those that also begin other words as a syllable.
_HYPHENATED = frozenset({"cross", "half", "high", "long", "quasi", "self", "semi", "short", "well"})
_HYPHENATED_BEFORE_WORDS = frozenset({"all", "ex", "low", "mid"})
# Words that begin many others, unhyphenated.
_PREFIXES = frozenset(
    {
        "after", "back", "counter", "down", "every", "fore", "here", "hyper", "inter", "micro", "mini", "multi",
        "over", "post", "some", "super", "there", "trans", "under", "where", "with",
    }
)  # fmt: skip


@cache
def _english_stems() -> frozenset[str]:
    return frozenset(" ".join(data.lines("english.txt")).split())


class HyphenResolver:
    """Decides on hyphens at line ends by the words of a document."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for text in texts:
            self._words.update(word.lower().replace("\u2010", "-") for word in _WORD.findall(_BROKEN.sub(" ", text)))
        self._parts = {part for word in self._words if "-" in word for part in word.split("-")}

    def resolve(self, text: str) -> str:
        """Return the text with each hyphen at a line end kept or removed."""
        while LINE_HYPHEN in text:
            text, count = _BROKEN.subn(lambda match: match[1] + self._hyphen(match[1], match[2]) + match[2], text)
            if not count:
                return text.replace(LINE_HYPHEN, "-")
        return text

    def _hyphen(self, first: str, second: str) -> str:
        """Return "-" if a word broken into these parts has a hyphen, else ""."""
        is_name = first[0].isupper()
        first, second = first.lower(), second.lower()
        joined, hyphenated = self._words[first + second], self._words[f"{first}-{second}"]
        if joined or hyphenated:
            return "-" if hyphenated > joined else ""
        if stem(first + second) in _english_stems():
            return ""
        if first in _HYPHENATED or (first in _HYPHENATED_BEFORE_WORDS and self._is_word(second)):
            return "-"
        if first in _PREFIXES or is_name or len(second) < _MIN_PART:
            return ""
        is_first_word = first in _SHORT_WORDS or (len(first) >= _MIN_PART and self._is_word(first))
        return "-" if is_first_word and self._is_word(second) else ""

    def _is_word(self, part: str) -> bool:
        return bool(self._words[part]) or part in self._parts or stem(part) in _english_stems()
