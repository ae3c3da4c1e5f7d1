"""Words and names of both languages that mean the same: `research/data/lexicon.tsv`, which says what its
columns are, and its one reader."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from research import data
from research.core.records import Language


class LexiconEntry(NamedTuple):
    """A row: all spellings of one thing in each language, and the keywords by which a map has it."""

    uses: tuple[str, ...]
    zh: tuple[str, ...]
    en: tuple[str, ...]
    keywords: tuple[str, ...]
    question_words: frozenset[str]  # the spellings that ask for it by themselves (when, 多少钱)

    @property
    def primary_use(self) -> str:
        """What it is for in the first place."""
        return self.uses[0]

    def spellings(self, language: Language) -> tuple[str, ...]:
        return self.zh if language == "zh" else self.en


@cache
def lexicon_entries(*uses: str) -> tuple[LexiconEntry, ...]:
    """The rows that are for one of some uses, in their order."""
    return tuple(entry for entry in _load_lexicon() if not set(uses).isdisjoint(entry.uses))


@cache
def _load_lexicon() -> tuple[LexiconEntry, ...]:
    return tuple(_parse_row(*cells) for cells in data.rows("lexicon.tsv"))


def _parse_row(uses: str, zh: str, en: str, keywords: str = "") -> LexiconEntry:
    written = [cell.split("|") for cell in (zh, en)]
    spelt = [tuple(word.removesuffix("?") for word in words) for words in written]
    asking = frozenset(word[:-1] for words in written for word in words if word.endswith("?"))
    found = tuple(keywords.split("|")) if keywords else ()
    return LexiconEntry(tuple(uses.split("|")), spelt[0], spelt[1], found, asking)
