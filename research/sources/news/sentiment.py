"""How good or bad the news of a headline sounds: a rough count of words, for when no model is asked.

It knows the words of `data/tones.tsv` and negation, no irony, no context and no side: a fall in prices is bad news in
it, whoever buys.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from research import data
from research.core.records import Language, Tone
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import HAN_RANGES, stem

_NEGATION_WINDOW_WORDS = 2  # words
_NEGATION_WINDOW_CHARS = 6  # characters


@cache
def _load_words(kind: str, language: Language) -> tuple[str, ...]:
    told = (words for own, tongue, words in data.rows("tones.tsv") if (own, tongue) == (kind, language))
    return tuple(word for words in told for word in words.split())


@cache
def _english_values() -> dict[str, int]:
    good, bad = ({stem(word) for word in _load_words(kind, "en")} for kind in ("good", "bad"))
    return dict.fromkeys(good, 1) | dict.fromkeys(bad, -1)


@cache
def _chinese_values() -> tuple[dict[str, int], re.Pattern[str]]:
    values = dict.fromkeys(_load_words("good", "zh"), 1) | dict.fromkeys(_load_words("bad", "zh"), -1)
    return values, re.compile("|".join(sorted(values, key=len, reverse=True)))


@lru_cache(4_000)
def headline_tone(headline: str) -> Tone:
    """The rough tone of one headline in Chinese or English, or in both."""
    text = to_simplified(unicodedata.normalize("NFKC", headline)).lower().replace("’", "'")
    balance = sum(_score_chinese(text)) + sum(_score_english(text))
    return "positive" if balance > 0 else "negative" if balance < 0 else "neutral"


def _score_chinese(text: str) -> Iterator[int]:
    values, form = _chinese_values()
    for run in re.findall(f"[{HAN_RANGES}]+", text):
        last = 0
        for match in form.finditer(run):
            before = run[max(last, match.start() - _NEGATION_WINDOW_CHARS) : match.start()]
            denied = any(mark in before for mark in _load_words("negated", "zh"))
            yield -values[match[0]] if denied else values[match[0]]
            last = match.end()


def _score_english(text: str) -> Iterator[int]:
    spoken = re.findall(r"[a-z]+(?:'[a-z]+)?", text)
    values = [_english_values().get(stem(word.removesuffix("'s")), 0) for word in spoken]
    negated = [word in _load_words("negated", "en") or word.endswith("n't") for word in spoken]
    for at, value in enumerate(values):
        governs = negated[at] and any(values[at + 1 : at + 1 + _NEGATION_WINDOW_WORDS])  # "ends": none of its own
        if value and not governs:
            yield -value if any(negated[max(0, at - _NEGATION_WINDOW_WORDS) : at]) else value
