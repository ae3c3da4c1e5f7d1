"""What questions ask about: words that mean the same, in Chinese and English.

A concept is an entry of the lexicon and has all words of one thing (门票, 票价, ticket, admission …).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from research.core.text.hanzi import to_simplified
from research.core.text.lexicon import LexiconEntry, lexicon_entries
from research.core.text.tokenizer import has_han, stem, tokenize


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """A concept and the stretch of the text that names it; `literal` is that in simplified characters."""

    concept: LexiconEntry
    start: int
    end: int
    literal: str

    @property
    def is_question_word(self) -> bool:
        """Whether it is a question word (when, 多少钱): an answer need only look right."""
        return self.literal.lower() in self.concept.question_words


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], LexiconEntry], ...]:
    out = []
    for concept in lexicon_entries("ask"):
        zh = "|".join(re.escape(w) for w in sorted(concept.zh, key=len, reverse=True))
        en = "|".join(_inflection_pattern(w) for w in sorted(concept.en, key=len, reverse=True))
        out.append((re.compile(rf"(?:{zh})|\b(?:{en})\b", re.I), concept))
    return tuple(out)


def _inflection_pattern(phrase: str) -> str:
    """The phrase with its words' usual endings: `ticket` also matches `tickets`."""
    words = []
    for word in phrase.split():
        root = stem(word.lower())
        safe = re.escape(root if len(root) >= 4 and word.lower().startswith(root) else word)
        words.append(rf"{safe}(?:d|e|es|s|ed|er|est|ing|ren|y|ies|ation|ment|’s|'s)?")
    return r"\s+".join(words)


def find_concepts(text: str) -> list[ConceptMatch]:
    """The concepts that a text names, without overlap: the longest stretch wins, then the first."""
    text = to_simplified(text)
    found = [
        ConceptMatch(concept, m.start(), m.end(), m.group())
        for pattern, concept in _patterns()
        for m in pattern.finditer(text)
    ]
    found.sort(key=lambda m: (m.start - m.end, m.start))
    kept: list[ConceptMatch] = []
    for match in found:
        if all(match.end <= k.start or match.start >= k.end for k in kept):
            kept.append(match)
    return sorted(kept, key=lambda m: m.start)


def is_generic(name: str) -> bool:
    """Whether a name says nothing but what questions ask about (门票, Tickets): no subject."""
    rest = name
    for match in reversed(find_concepts(name)):
        rest = rest[: match.start] + " " + rest[match.end :]
    return not (tokenize(rest) or (has_han(rest) and rest.strip()))
