"""What questions ask about: words that mean the same, in Chinese and English.

A `Concept` has all forms of one thing (门票, 票价, ticket, admission …). A form is a tuple of tokens;
a text has the concept if it has all tokens of one form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from research import data
from research.language.hanzi import simplified
from research.language.text import has_han, idle, stem, tokens
from research.records import Language

Form = tuple[str, ...]

ASKING = frozenset(
    """when|what year|which year|how much|how many people|how high|how tall|how long|how far|how big
    |how large|how deep|how old|how much time|how many days|how many hours|what time|which day|who
    |where|哪年|哪一年|什么时候|何时|什么时候开|什么时候去|多少钱|几点|周几|星期几|多高|多大|多长|多远|多深|多少人
    |多久|几天|几小时|几岁|是谁|谁的|在哪|在哪里|怎么去|怎么走|怎么到|如何到达|如何前往|get there
    |getting there|how to get|get to""".replace("\n", "")
    .replace("    ", "")
    .split("|")
)


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing that can be asked about, with its words in each language."""

    kind: str
    zh: tuple[str, ...]
    en: tuple[str, ...]
    forms: frozenset[Form]

    def words(self, language: Language) -> tuple[str, ...]:
        return self.zh if language == "zh" else self.en

    def occurs(self, present: frozenset[str]) -> bool:
        """Whether a text with these tokens has the concept."""
        return any(all(token in present for token in form) for form in self.forms)


@lru_cache(1)
def concepts() -> tuple[Concept, ...]:
    """All concepts that ship with the package."""
    rows = data.rows("concepts.tsv")
    return tuple(_concept(kind, zh.split("|"), en.split("|")) for kind, zh, en in rows)


def _concept(kind: str, zh: list[str], en: list[str]) -> Concept:
    forms = {tuple(tokens(word)) for word in (*zh, *en)}
    forms |= {(word,) for word in zh if len(word) > 1}
    forms = {form for form in forms if not all(idle(token) for token in form)}
    return Concept(kind, tuple(zh), tuple(en), frozenset(forms))


@dataclass(frozen=True, slots=True)
class Match:
    """A concept and the stretch of the text that names it; `literal` is that in simplified characters."""

    concept: Concept
    start: int
    end: int
    literal: str

    @property
    def asking(self) -> bool:
        """Whether it is a question word (when, 多少钱): an answer need only look right."""
        return self.literal.lower() in ASKING


@lru_cache(1)
def _patterns() -> tuple[tuple[re.Pattern[str], Concept], ...]:
    out = []
    for concept in concepts():
        zh = "|".join(re.escape(w) for w in sorted(concept.zh, key=len, reverse=True))
        en = "|".join(_inflected(w) for w in sorted(concept.en, key=len, reverse=True))
        out.append((re.compile(rf"(?:{zh})|\b(?:{en})\b", re.I), concept))
    return tuple(out)


def _inflected(phrase: str) -> str:
    """The phrase with its words' usual endings: `ticket` also matches `tickets`."""
    words = []
    for word in phrase.split():
        root = stem(word.lower())
        safe = re.escape(root if len(root) >= 4 and word.lower().startswith(root) else word)
        words.append(rf"{safe}(?:d|e|es|s|ed|er|est|ing|ren|y|ies|ation|ment|’s|'s)?")
    return r"\s+".join(words)


def matches(text: str) -> list[Match]:
    """The concepts that a text names, without overlap: the longest stretch wins, then the first."""
    text = simplified(text)
    found = [
        Match(concept, m.start(), m.end(), m.group())
        for pattern, concept in _patterns()
        for m in pattern.finditer(text)
    ]
    found.sort(key=lambda m: (m.start - m.end, m.start))
    kept: list[Match] = []
    for match in found:
        if all(match.end <= k.start or match.start >= k.end for k in kept):
            kept.append(match)
    return sorted(kept, key=lambda m: m.start)


def generic(name: str) -> bool:
    """Whether a name says nothing but what questions ask about (门票, Tickets): no subject."""
    rest = name
    for match in reversed(matches(name)):
        rest = rest[: match.start] + " " + rest[match.end :]
    return not (tokens(rest) or (has_han(rest) and rest.strip()))
