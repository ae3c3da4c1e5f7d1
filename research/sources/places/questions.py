"""Decides without a model whether a question wants a map, and where and what it looks for.

A word alone decides nothing: 市场 and "in the area of" are no places, 咖啡的历史 looks for none. A question
is read as a way, a distance or a search around a place; each reading is weighed by what speaks for it (a
name that is known, a word for near, a kind of place) and against it (what it asks beside).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import has_han
from research.sources.places import questions_en, questions_zh
from research.sources.places.place_query import (
    BESIDE_METRES,
    NEAR_METRES,
    WITHIN_METRES,
    PlaceQuery,
    QuestionReading,
    find_purposes,
    list_purposes,
    search_keywords,
    word_pattern,
)

_MAX_QUESTION_CHARS = 600  # characters of a question that are read
_SENTENCE = re.compile(r"[^。？！?!\n]+(?:[。？！?!\n]+|$)")

__all__ = [
    "BESIDE_METRES",
    "NEAR_METRES",
    "WITHIN_METRES",
    "PlaceQuery",
    "find_readings",
    "list_purposes",
    "map_keywords",
    "parse_place_query",
]


def parse_place_query(question: str) -> PlaceQuery | None:
    """What a question wants of a map, if anything."""
    return next((reading.query for reading in find_readings(question) if reading.score > 0), None)


def find_readings(question: str) -> Iterator[QuestionReading]:
    """The ways to read a question as one for a map, the surest first: a sentence that says where by
    itself, then all sentences as one."""
    text = to_simplified(unicodedata.normalize("NFKC", question[:_MAX_QUESTION_CHARS]))
    text = text.replace("’", "'").replace("‘", "'")
    text = word_pattern("aside", flags=re.I).sub("", text).strip()
    read = questions_zh.find_readings if has_han(text) else questions_en.find_readings
    parts = [part for part in _SENTENCE.findall(text) if part.strip()]
    if len(parts) > 1:
        for part in parts:
            yield from (one for one in read(part) if one.query.place or one.query.destination)
    yield from read(text)


def map_keywords(text: str) -> tuple[str, ...]:
    """The keywords of a map search for what a text looks for; its own words if no table knows them."""
    text = to_simplified(text)
    found = find_purposes(text, "zh" if has_han(text) else "en")
    own = dict.fromkeys(word for word in re.split(r"[\s|,，、;；]+", text) if word)
    return search_keywords(found) or tuple(own)
