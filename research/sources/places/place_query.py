"""Shared parts of the place query parsers: purposes, question frames, and the score of a reading.

The parts are independent of grammar: `questions_zh` and `questions_en` produce readings,
`questions` chooses one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal

from research import data
from research.core.records import Language
from research.core.text.lexicon import LexiconEntry, lexicon_entries
from research.core.text.quantities import find_measures

BESIDE_METRES, NEAR_METRES, WITHIN_METRES = 500, 2000, 5000  # radius for "beside", "near" and "in" a place
_MIN_RADIUS_METRES, _MAX_RADIUS_METRES = 100, 50_000  # limits of the map services
_METRES_PER_MINUTE = {"walking": 80, "bicycling": 250, "driving": 500}
_MAX_TRAVEL_SECONDS = 2 * 3600  # a longer duration is not a travel time, as in 24小时药店

_MOTION_VERB = r"(?:get|go|be|walk|drive|cycle|travel|reach|visit|see|take|come|head|the (?:way|road))\b"

PlaceIntent = Literal["near", "where", "details", "route", "distance", "between", "itinerary"]
RequestedMode = Literal["walking", "driving", "bicycling", "transit", ""]


@dataclass(frozen=True, slots=True)
class PlaceQuery:
    """A question for a map service.

    `intent` is one of: places of a kind around or in a place (near); the location of a place
    (where); its details, such as hours, phone or price (details); the route between two places
    (route); their distance (distance); places between the two (between); an itinerary for a day
    (itinerary). `place` is the centre, the origin or the place in question; empty if the question
    names none, which requires a follow-up question. `purpose` is the phrase for the kind of place,
    dish, activity or group of visitors to search for, and `keywords` are its search words.
    `destination` is the second place. `stops` are the places on an itinerary.
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
    """One interpretation of a question, with features for and against it.

    The weights of the features are fitted by `tests/sources/places/fit.py`.
    """

    query: PlaceQuery
    features: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Score of the reading; the question has this meaning if it is above 0."""
        bias, weights = _load_weights()
        return bias + sum(weights.get(name, 0.0) * value for name, value in self.features.items())


@cache
def _load_weights() -> tuple[float, Mapping[str, float]]:
    fitted = data.json_object("wishes.json")
    return fitted["bias"], fitted["weights"]


@dataclass(frozen=True, slots=True)
class PurposeMatch:
    """A purpose and the span of the text that names it.

    A purpose is what a place is searched for: a kind of place, a dish, an activity ("swim"), or a
    group of visitors ("for children").
    """

    purpose: LexiconEntry
    start: int
    end: int


def list_purposes() -> tuple[LexiconEntry, ...]:
    """Return the lexicon entries of all purposes."""
    return lexicon_entries("venue", "named", "food", "deed", "for", "any")


@lru_cache(2)
def _purpose_pattern(language: Language) -> tuple[re.Pattern[str], dict[str, LexiconEntry]]:
    """Compile a pattern of all purpose words, longest first, and map each word to its lexicon
    entry."""
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
    """Return the purposes that a text names, in order."""
    pattern, by_word = _purpose_pattern(language)
    entries = ((m, by_word.get(re.sub(r"[\s-]+", " ", m[0].lower()))) for m in pattern.finditer(text))
    entries = ((m, p or by_word.get(m[0].lower())) for m, p in entries)
    return [PurposeMatch(purpose, m.start(), m.end()) for m, purpose in entries if purpose]


def matched_text(text: str, matches: Sequence[PurposeMatch]) -> str:
    """Return the part of a text from the first to the last match; "" without matches."""
    return text[min(match.start for match in matches) : max(match.end for match in matches)] if matches else ""


def mask_texts(text: str, known_texts: Iterable[str], mark: str) -> str:
    """Replace each occurrence of the known texts by a mark, longer ones first."""
    for known_text in sorted(filter(None, known_texts), key=len, reverse=True):
        text = text.replace(known_text, mark)
    return text


def search_keywords(matches: Iterable[PurposeMatch]) -> tuple[str, ...]:
    """Return the keywords of the most specific purposes in a question.

    Kinds of place take precedence over activities, then target groups, then "any place".
    """
    matches = list(matches)
    for kinds in (("venue", "named", "food"), ("deed",), ("for",), ("any",)):
        words = [w for f in matches if f.purpose.primary_use in kinds for w in f.purpose.keywords]
        is_generic_sight = (
            kinds[0] == "venue" and "景点" in words and any(f.purpose.primary_use == "for" for f in matches)
        )
        if words and not (is_generic_sight and len({f.purpose for f in matches}) == 2):
            return tuple(dict.fromkeys(words))
    return ()


def parse_radius(text: str, default: int) -> int:
    """Return the radius in metres that a question gives, as a length or a travel time, or the
    default."""
    for measure in find_measures(text):
        if measure.kind == "length":
            return max(_MIN_RADIUS_METRES, min(_MAX_RADIUS_METRES, round(measure.high)))
        if measure.kind == "duration" and measure.high <= _MAX_TRAVEL_SECONDS:
            speed = _METRES_PER_MINUTE.get(parse_mode(text), _METRES_PER_MINUTE["walking"])
            return max(_MIN_RADIUS_METRES, min(_MAX_RADIUS_METRES, round(measure.high / 60) * speed))
    return default


def parse_mode(text: str) -> RequestedMode:
    """Return the travel mode that a question names, or ""."""
    modes: tuple[RequestedMode, ...] = ("walking", "bicycling", "driving", "transit")
    return next((mode for mode in modes if word_pattern(f"by {mode}", flags=re.I).search(text)), "")


def word_pattern(list_name: str, suffix: str = "", prefix: str = "", flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern that matches any word of a list of the `places` vocabulary."""
    return re.compile(f"{prefix}(?:{data.words('places')[list_name]}){suffix}", flags)


@cache
def _frame_patterns(language: Language) -> tuple[tuple[PlaceIntent, re.Pattern[str]], ...]:
    names = {"A": "(?P<a>.{1,48}?)", "B": "(?P<b>.{1,48}?)"}
    if language == "en":
        names = {key: rf"(?!{_MOTION_VERB}){value}(?![\w'])" for key, value in names.items()}
    return tuple(
        (intent, re.compile(pattern.replace("{A}", names["A"]).replace("{B}", names["B"]), re.I))  # type: ignore[misc]
        for frame_language, intent, pattern in data.rows("frames.tsv")
        if frame_language == language
    )


def match_frames(text: str, language: Language) -> Iterator[tuple[PlaceIntent, re.Match[str]]]:
    """Yield the intent and the match of each question frame that fits a text, most reliable first.

    A frame is a pattern of a question in which the groups `a` and `b` are names of places.
    """
    for intent, pattern in _frame_patterns(language):
        if match := pattern.search(text):
            yield intent, match
