"""Rough tone of a headline by counting words, used when no model is asked.

It knows the words of `data/tones.tsv` and negation, but no irony, context or point of view: falling
prices count as bad news even for buyers.
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

_NEGATION_WINDOW_WORDS = 2
_NEGATION_WINDOW_CHARS = 6


@cache
def _load_words(kind: str, language: Language) -> tuple[str, ...]:
    rows = data.rows("tones.tsv")
    return tuple(word for *key, words in rows if key == [kind, language] for word in words.split())


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
    """Return the rough tone of a headline in Chinese, English or both."""
    text = to_simplified(unicodedata.normalize("NFKC", headline)).lower().replace("’", "'")
    balance = sum(_score_chinese(text)) + sum(_score_english(text))
    return "positive" if balance > 0 else "negative" if balance < 0 else "neutral"


def _score_chinese(text: str) -> Iterator[int]:
    values, form = _chinese_values()
    for run in re.findall(f"[{HAN_RANGES}]+", text):
        previous_end = 0
        for match in form.finditer(run):
            before = run[max(previous_end, match.start() - _NEGATION_WINDOW_CHARS) : match.start()]
            is_negated = any(mark in before for mark in _load_words("negated", "zh"))
            yield -values[match[0]] if is_negated else values[match[0]]
            previous_end = match.end()


def _score_english(text: str) -> Iterator[int]:
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", text)
    values = [_english_values().get(stem(word.removesuffix("'s")), 0) for word in words]
    negated = [word in _load_words("negated", "en") or word.endswith("n't") for word in words]
    for index, value in enumerate(values):
        # A word such as "ends", which negates following ones, has no value of its own.
        negates_following = negated[index] and any(values[index + 1 : index + 1 + _NEGATION_WINDOW_WORDS])
        if value and not negates_following:
            yield -value if any(negated[max(0, index - _NEGATION_WINDOW_WORDS) : index]) else value
