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
from research.core.text.hanzi import simplified
from research.core.text.words import HAN, stem

_WINDOW_EN = 2  # words
_WINDOW_ZH = 6  # characters


@cache
def _words(kind: str, language: Language) -> tuple[str, ...]:
    told = (
        words for own, tongue, words in data.rows("tones.tsv") if (own, tongue) == (kind, language)
    )
    return tuple(word for words in told for word in words.split())


@cache
def _english_tones() -> dict[str, int]:
    good, bad = ({stem(word) for word in _words(kind, "en")} for kind in ("good", "bad"))
    return dict.fromkeys(good, 1) | dict.fromkeys(bad, -1)


@cache
def _chinese_tones() -> tuple[dict[str, int], re.Pattern[str]]:
    values = dict.fromkeys(_words("good", "zh"), 1) | dict.fromkeys(_words("bad", "zh"), -1)
    return values, re.compile("|".join(sorted(values, key=len, reverse=True)))


@lru_cache(4_000)
def tone(headline: str) -> Tone:
    """The rough tone of one headline in Chinese or English, or in both."""
    text = simplified(unicodedata.normalize("NFKC", headline)).lower().replace("’", "'")
    balance = sum(_chinese(text)) + sum(_english(text))
    return "positive" if balance > 0 else "negative" if balance < 0 else "neutral"


def _chinese(text: str) -> Iterator[int]:
    values, form = _chinese_tones()
    for run in re.findall(f"[{HAN}]+", text):
        last = 0
        for match in form.finditer(run):
            before = run[max(last, match.start() - _WINDOW_ZH) : match.start()]
            denied = any(mark in before for mark in _words("negated", "zh"))
            yield -values[match[0]] if denied else values[match[0]]
            last = match.end()


def _english(text: str) -> Iterator[int]:
    spoken = re.findall(r"[a-z]+(?:'[a-z]+)?", text)
    values = [_english_tones().get(stem(word.removesuffix("'s")), 0) for word in spoken]
    negated = [word in _words("negated", "en") or word.endswith("n't") for word in spoken]
    for at, value in enumerate(values):
        governs = negated[at] and any(
            values[at + 1 : at + 1 + _WINDOW_EN]
        )  # "ends": none of its own
        if value and not governs:
            yield -value if any(negated[max(0, at - _WINDOW_EN) : at]) else value
