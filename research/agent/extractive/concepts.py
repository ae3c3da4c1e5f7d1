"""Concepts of questions: words with the same meaning, in Chinese and English.

A concept is an entry of the lexicon with all words for one thing (门票, 票价, ticket, admission …).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from research.core.text.hanzi import to_simplified
from research.core.text.lexicon import LexiconEntry, lexicon_entries
from research.core.text.tokenizer import has_han, stem, tokenize


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept and the span that names it; `literal` is the span in simplified characters."""

    concept: LexiconEntry
    start: int
    end: int
    literal: str

    @property
    def is_question_word(self) -> bool:
        """True for question words (when, 多少钱): an answer only has to have the right form."""
        return self.literal.lower() in self.concept.question_words


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], LexiconEntry], ...]:
    """Compile one pattern for each concept of the lexicon."""
    patterns = []
    for concept in lexicon_entries("ask"):
        zh = "|".join(re.escape(w) for w in sorted(concept.zh, key=len, reverse=True))
        en = "|".join(_inflection_pattern(w) for w in sorted(concept.en, key=len, reverse=True))
        patterns.append((re.compile(rf"(?:{zh})|\b(?:{en})\b", re.I), concept))
    return tuple(patterns)


def _inflection_pattern(phrase: str) -> str:
    """Return a pattern of a phrase with the usual endings: `ticket` also matches `tickets`."""
    words = []
    for word in phrase.split():
        root = stem(word.lower())
        safe = re.escape(root if len(root) >= 4 and word.lower().startswith(root) else word)
        words.append(rf"{safe}(?:d|e|es|s|ed|er|est|ing|ren|y|ies|ation|ment|’s|'s)?")
    return r"\s+".join(words)


def find_concepts(text: str) -> list[ConceptMatch]:
    """Find the concepts of a text without overlap: the longest match wins, then the first."""
    text = to_simplified(text)
    candidates = [
        ConceptMatch(concept, m.start(), m.end(), m.group())
        for pattern, concept in _patterns()
        for m in pattern.finditer(text)
    ]
    candidates.sort(key=lambda m: (m.start - m.end, m.start))
    chosen: list[ConceptMatch] = []
    for match in candidates:
        if all(match.end <= other.start or match.start >= other.end for other in chosen):
            chosen.append(match)
    return sorted(chosen, key=lambda m: m.start)


def remove_concepts(text: str, matches: Sequence[ConceptMatch]) -> str:
    """Replace each of the matches, which are in order, by a space."""
    for match in reversed(matches):
        text = f"{text[: match.start]} {text[match.end :]}"
    return text


def is_generic(name: str) -> bool:
    """Return whether a name consists of concepts only (门票, Tickets), and so is no subject."""
    rest = remove_concepts(name, find_concepts(name))
    return not (tokenize(rest) or (has_han(rest) and rest.strip()))
