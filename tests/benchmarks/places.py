"""Whether rules see that a question wants places on a map: a labelled set, half of it traps.

`place` counts a wish if the place is exactly the labelled one, `keyword` if the labelled keyword is
among those of the map search.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from research.reasoners.places import Wish, wanted
from tests.benchmarks.figures import Figure

TARGET = 0.95
LANGUAGES = {"zh": "Chinese", "en": "English"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and the place and one keyword of its wish if it wants places."""

    id: str
    language: str
    question: str
    wanted: bool
    place: str = ""
    keyword: str = ""


def questions() -> list[Labelled]:
    path = Path(__file__).with_name("places.json")
    return [Labelled(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def figures() -> Iterator[Figure]:
    asked = questions()
    for language, title in LANGUAGES.items():
        read = [(q, wanted(q.question)) for q in asked if q.language == language]
        right = [(q, wish) for q, wish in read if q.wanted and wish]
        missed = [q.id for q, wish in read if q.wanted and not wish]
        false = [q.id for q, wish in read if wish and not q.wanted]
        yield _figure(f"precision, {title}", len(right), false)
        yield _figure(f"recall, {title}", len(right), missed)
        yield _share(f"place, {title}", right, [q.id for q, w in right if w.place != q.place])
        yield _share(
            f"keyword, {title}", right, [q.id for q, w in right if q.keyword not in w.keywords]
        )


def _share(name: str, right: list[tuple[Labelled, Wish]], wrong: list[str]) -> Figure:
    return _figure(name, len(right) - len(wrong), wrong)


def _figure(name: str, good: int, wrong: list[str]) -> Figure:
    measured = good / max(1, good + len(wrong))
    return Figure(name, measured, target=TARGET, more=True, note=" ".join(wrong))
