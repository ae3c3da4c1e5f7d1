"""What questions for a map are read from: kinds of place, frames of questions, and the score of a reading.

Knows no language's grammar: `questions_zh` and `questions_en` make readings, `questions` chooses one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal

from research import data
from research.core.records import Language
from research.core.text.lexicon import LexiconEntry, lexicon_entries
from research.core.text.quantities import find_measures

BESIDE_METRES, NEAR_METRES, WITHIN_METRES = 500, 2000, 5000  # metres around a place: right beside it, near it, in it
_MIN_RADIUS_METRES, _MAX_RADIUS_METRES = 100, 50_000  # what a map service takes
_METRES_PER_MINUTE = {"walking": 80, "bicycling": 250, "driving": 500}
_MAX_TRAVEL_SECONDS = 2 * 3600  # seconds; what is longer is no way, as in 24小时药店

_MOTION_VERB = r"(?:get|go|be|walk|drive|cycle|travel|reach|visit|see|take|come|head|the (?:way|road))\b"

PlaceIntent = Literal["near", "where", "details", "way", "distance", "between", "route"]
RequestedMode = Literal["walking", "driving", "bicycling", "transit", ""]


@dataclass(frozen=True, slots=True)
class PlaceQuery:
    """What a question wants of a map.

    `act`: places of a kind around a place or in it; where a place is; what is known of a named place
    (hours, phone, price); the way from one to another; how far it is; what lies between two; a day's
    route. `place` is the centre or the origin, or the place that is asked about, and empty if the
    question names none: to be asked back. `to` is the destination or the second place. `stops` are the
    places a route is to pass.
    """

    place: str
    purpose: str = ""
    keywords: tuple[str, ...] = ()
    radius: int = WITHIN_METRES  # metres
    intent: PlaceIntent = "near"
    destination: str = ""
    mode: RequestedMode = ""
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """One way to read a question, and what speaks for and against it: see `tests/sources/places/fit.py`."""

    query: PlaceQuery
    features: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Above 0 the question wants this."""
        bias, weights = _load_weights()
        return bias + sum(weights.get(name, 0.0) * value for name, value in self.features.items())


@cache
def _load_weights() -> tuple[float, Mapping[str, float]]:
    fitted = json.loads(data.text("wishes.json"))
    return fitted["bias"], fitted["weights"]


@dataclass(frozen=True, slots=True)
class PurposeMatch:
    """A purpose and the stretch of the text that names it."""

    purpose: LexiconEntry
    start: int
    end: int


def list_purposes() -> tuple[LexiconEntry, ...]:
    """What may be looked for, as the lexicon has it."""
    return lexicon_entries("venue", "named", "food", "deed", "for", "any")


@lru_cache(2)
def _purpose_pattern(language: Language) -> tuple[re.Pattern[str], dict[str, LexiconEntry]]:
    """Finds the words of all purposes, the longest first, and tells whose they are."""
    by_word: dict[str, LexiconEntry] = {}
    for purpose in list_purposes():
        for word in purpose.spellings(language):
            by_word.setdefault(word, purpose)
            if language == "en":
                by_word.setdefault(_pluralise(word), purpose)
    words = "|".join(re.escape(word) for word in sorted(by_word, key=len, reverse=True))
    words = words.replace(r"\ ", r"[\s-]+")
    edges = words if language == "zh" else rf"(?<![\w'])(?:{words})(?![\w'])"
    return re.compile(edges, re.I), by_word


def _pluralise(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(?:ch|sh|s|x)$", word) else "s")


def find_purposes(text: str, language: Language) -> list[PurposeMatch]:
    pattern, by_word = _purpose_pattern(language)
    found = ((m, by_word.get(re.sub(r"[\s-]+", " ", m[0].lower()))) for m in pattern.finditer(text))
    found = ((m, p or by_word.get(m[0].lower())) for m, p in found)
    return [PurposeMatch(purpose, m.start(), m.end()) for m, purpose in found if purpose]


def search_keywords(matches: Iterable[PurposeMatch]) -> tuple[str, ...]:
    """Kinds of place before things to do, these before whom it is for, these before any place."""
    matches = list(matches)
    for kinds in (("venue", "named", "food"), ("deed",), ("for",), ("any",)):
        words = [w for f in matches if f.purpose.primary_use in kinds for w in f.purpose.keywords]
        sights = kinds[0] == "venue" and "景点" in words and any(f.purpose.primary_use == "for" for f in matches)
        if words and not (sights and len({f.purpose for f in matches}) == 2):
            return tuple(dict.fromkeys(words))
    return ()


def parse_radius(text: str, default: int) -> int:
    """How far the question says, else as far as its words usually mean."""
    for measure in find_measures(text):
        if measure.kind == "length":
            return max(_MIN_RADIUS_METRES, min(_MAX_RADIUS_METRES, round(measure.high)))
        if measure.kind == "duration" and measure.high <= _MAX_TRAVEL_SECONDS:
            pace = _METRES_PER_MINUTE.get(parse_mode(text), _METRES_PER_MINUTE["walking"])
            return max(_MIN_RADIUS_METRES, min(_MAX_RADIUS_METRES, round(measure.high / 60) * pace))
    return default


def parse_mode(text: str) -> RequestedMode:
    """How one wants to go, as a question says."""
    ways: tuple[RequestedMode, ...] = ("walking", "bicycling", "driving", "transit")
    return next((way for way in ways if word_pattern(f"by {way}", flags=re.I).search(text)), "")


def word_pattern(list_name: str, suffix: str = "", prefix: str = "", flags: int = 0) -> re.Pattern[str]:
    """A pattern for one of the words of a list."""
    return re.compile(f"{prefix}(?:{data.words('places')[list_name]}){suffix}", flags)


@cache
def _frame_patterns(language: Language) -> tuple[tuple[PlaceIntent, re.Pattern[str]], ...]:
    names = {"A": "(?P<a>.{1,48}?)", "B": "(?P<b>.{1,48}?)"}
    if language == "en":
        names = {key: rf"(?!{_MOTION_VERB}){value}(?![\w'])" for key, value in names.items()}
    return tuple(
        (act, re.compile(pattern.replace("{A}", names["A"]).replace("{B}", names["B"]), re.I))  # type: ignore[misc]
        for own, act, pattern in data.rows("frames.tsv")
        if own == language
    )


def match_frames(text: str, language: Language) -> Iterator[tuple[PlaceIntent, re.Match[str]]]:
    """What a text asks by its form, the surest first."""
    for act, pattern in _frame_patterns(language):
        if match := pattern.search(text):
            yield act, match
