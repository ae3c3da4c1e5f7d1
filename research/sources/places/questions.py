"""Decides without a model whether a question wants a map, and where and what it looks for.

A word alone decides nothing: 市场 and "in the area of" are no places, 咖啡的历史 looks for none. A question
is read as a way, a distance or a search around a place; each reading is weighed by what speaks for it (a
name that is known, a word for near, a kind of place) and against it (what it asks beside).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from research.core.text.hanzi import simplified
from research.core.text.words import has_han
from research.sources.places import questions_en, questions_zh
from research.sources.places.wishes import (
    BESIDE,
    NEAR,
    WITHIN,
    Reading,
    Wish,
    find,
    keywords,
    purposes,
    words,
)

_LONGEST = 600  # characters of a question that are read
_SENTENCE = re.compile(r"[^。？！?!\n]+(?:[。？！?!\n]+|$)")

__all__ = ["BESIDE", "NEAR", "WITHIN", "Wish", "kinds", "purposes", "readings", "wanted"]


def wanted(question: str) -> Wish | None:
    """What a question wants of a map, if anything."""
    return next((reading.wish for reading in readings(question) if reading.score > 0), None)


def readings(question: str) -> Iterator[Reading]:
    """The ways to read a question as one for a map, the surest first: a sentence that says where by
    itself, then all sentences as one."""
    text = simplified(unicodedata.normalize("NFKC", question[:_LONGEST]))
    text = text.replace("’", "'").replace("‘", "'")
    text = words("aside", flags=re.I).sub("", text).strip()
    read = questions_zh.readings if has_han(text) else questions_en.readings
    parts = [part for part in _SENTENCE.findall(text) if part.strip()]
    if len(parts) > 1:
        for part in parts:
            yield from (one for one in read(part) if one.wish.place or one.wish.to)
    yield from read(text)


def kinds(text: str) -> tuple[str, ...]:
    """The keywords of a map search for what a text looks for; its own words if no table knows them."""
    text = simplified(text)
    found = find(text, "zh" if has_han(text) else "en")
    own = dict.fromkeys(word for word in re.split(r"[\s|,，、;；]+", text) if word)
    return keywords(found) or tuple(own)
