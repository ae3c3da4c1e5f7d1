"""What questions ask about: words that mean the same, in Chinese and English.

A `Concept` has all forms of one thing (门票, 票价, ticket, admission …). A form is a tuple of tokens;
a text has the concept if it has all tokens of one form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from research.hanzi import simplified
from research.records import Language
from research.text import has_han, idle, stem, tokens

Form = tuple[str, ...]

# What an answer of a kind looks like; a sentence without it is less likely to be the answer.
LOOKS = {
    "price": re.compile(r"\d\s*(?:元|块|yuan|rmb|cny|per cent|%)|[¥￥]\s*\d|免费|免票|半价|free|half", re.I),
    "time": re.compile(r"\d{1,2}[:：]\d{2}|\d\s*(?:点|时|am|pm|a\.m|p\.m|o'clock)", re.I),
    "day": re.compile(r"周[一二三四五六日末]|星期|每[周天日]|[a-z]+days?\b", re.I),
    "year": re.compile(r"\d{3,4}\s*年|\b1\d{3}\b|\b20\d{2}\b|世纪|century|公元|BC|AD"),
    "number": re.compile(r"[0-9０-９]|[一二三四五六七八九十百千万亿]{2,}"),
    "way": re.compile(
        r"地铁|公交|号线|车站|乘坐|换乘|步行|驾车|缆车|metro|subway|bus\b|line \d|station|walk|taxi|drive",
        re.I,
    ),
    "place": re.compile(r"位于|坐落|地处|located|situated|lies (?:in|on|at)|stands (?:in|on|at)", re.I),
    "length": re.compile(
        r"\d\s*(?:多|余)?\s*(?:米|公里|千米|厘米|公分|metres?|meters?|km|kilomet|cm\b|feet|ft\b|m\b)", re.I
    ),
    "area": re.compile(r"平方|公顷|亩|square|hectare|acre", re.I),
    "people": re.compile(r"\d.{0,3}(?:人|万|亿|million|people|inhabitants|residents)", re.I),
    "age": re.compile(r"\d\s*(?:周?岁|米|厘米|years?|cm)|aged?\b|under \d", re.I),
    "duration": re.compile(
        r"[\d一二两三四五六七八九十半]\s*(?:个)?(?:小时|天|日|分钟)|\b(?:hours?|days?|minutes?)\b", re.I
    ),
    "free": re.compile(r"免费|免票|free", re.I),
    "discount": re.compile(r"半价|半票|折|优惠|优待|减免|half|discount|reduced|%", re.I),
}  # fmt: skip


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
    text = (resources.files("research") / "data" / "concepts.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
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
