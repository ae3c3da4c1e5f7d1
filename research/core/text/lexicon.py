"""Reader of `research/data/lexicon.tsv`, synonyms in both languages. It explains its columns."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from research import data
from research.core.records import Language


class LexiconEntry(NamedTuple):
    """A row: all spellings of one thing in each language, and its map keywords."""

    uses: tuple[str, ...]
    zh: tuple[str, ...]
    en: tuple[str, ...]
    keywords: tuple[str, ...]
    question_words: frozenset[str]  # spellings that are a question for it by themselves (when, 多少钱)

    @property
    def primary_use(self) -> str:
        """The first of its uses."""
        return self.uses[0]

    def spellings(self, language: Language) -> tuple[str, ...]:
        """Return the spellings in a language."""
        return self.zh if language == "zh" else self.en


@cache
def lexicon_entries(*uses: str) -> tuple[LexiconEntry, ...]:
    """Return the entries that have one of some uses, in order."""
    return tuple(entry for entry in _load_lexicon() if not set(uses).isdisjoint(entry.uses))


@cache
def _load_lexicon() -> tuple[LexiconEntry, ...]:
    return tuple(_parse_row(*cells) for cells in data.rows("lexicon.tsv"))


def _parse_row(uses: str, zh: str, en: str, keywords: str = "") -> LexiconEntry:
    cells = [cell.split("|") for cell in (zh, en)]
    spellings = [tuple(word.removesuffix("?") for word in words) for words in cells]
    question_words = frozenset(word[:-1] for words in cells for word in words if word.endswith("?"))
    map_keywords = tuple(keywords.split("|")) if keywords else ()
    return LexiconEntry(tuple(uses.split("|")), spellings[0], spellings[1], map_keywords, question_words)
