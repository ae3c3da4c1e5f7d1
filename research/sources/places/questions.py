"""Rule-based recognition of questions for a map, with the place and the purpose.

Single words decide nothing: 市场 and "in the area of" are not places, and 咖啡的历史 searches for none. A
question is read as a route, a distance or a search around a place. Each reading is scored by
features for it (a known name, a word for "near", a kind of place) and against it (other content of
the question).
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

_MAX_QUESTION_CHARS = 600  # the rest of a question is ignored
_SENTENCE = re.compile(r"[^。？！?!\n]+(?:[。？！?!\n]+|$)")

__all__ = [
    "BESIDE_METRES",
    "NEAR_METRES",
    "WITHIN_METRES",
    "PlaceQuery",
    "find_readings",
    "keywords_of_text",
    "list_purposes",
    "parse_place_query",
]


def parse_place_query(question: str) -> PlaceQuery | None:
    """Return the map query that a question contains, or None."""
    return next((reading.query for reading in find_readings(question) if reading.score > 0), None)


def find_readings(question: str) -> Iterator[QuestionReading]:
    """Yield the readings of a question as a map query, most reliable first.

    Sentences that name a place are read separately before the text as a whole.
    """
    text = to_simplified(unicodedata.normalize("NFKC", question[:_MAX_QUESTION_CHARS]))
    text = text.replace("’", "'").replace("‘", "'")
    text = word_pattern("aside", flags=re.I).sub("", text).strip()
    find_in_language = questions_zh.find_readings if has_han(text) else questions_en.find_readings
    parts = [part for part in _SENTENCE.findall(text) if part.strip()]
    if len(parts) > 1:
        for part in parts:
            yield from (
                reading for reading in find_in_language(part) if reading.query.place or reading.query.destination
            )
    yield from find_in_language(text)


def keywords_of_text(text: str) -> tuple[str, ...]:
    """Return the search keywords of the purposes that a text names, else the words of the text."""
    text = to_simplified(text)
    purposes = find_purposes(text, "zh" if has_han(text) else "en")
    words = dict.fromkeys(word for word in re.split(r"[\s|,，、;；]+", text) if word)
    return search_keywords(purposes) or tuple(words)
