"""Fits the score of readings: `python -m tests.sources.places.fit [--held-out]`.

Writes `research/data/wishes.json`. Fitted on the development half of `questions.jsonl`, the questions
known from use in it, and the labelled set of `tests/benchmarks/places.json`; the other half is only
counted, with `--held-out`, as is a batch of plain questions that was written last. Beside each figure stand two plain ways to decide: by n-grams fitted on the
same questions, and by any name of a place.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from research.core.text.place_names import find_place_names
from research.sources.places import place_query
from research.sources.places.questions import PlaceQuery, find_readings, parse_place_query
from tests.benchmarks.places import questions as benchmark

PATH = Path(__file__).with_name("questions.jsonl")
WEIGHTS = Path(__file__).parents[3] / "research" / "data" / "wishes.json"
RIDGE = 0.01
BIAS = 0.3  # what is rather read than missed, where precision is above .96 in a cross-validation
NGRAMS = 0.01  # ridge of the plain way
HALVES = ("development", "held out")
UNSEEN = ("held out", "plain")
Array = Any


@dataclass(frozen=True)
class Asked:
    """A question, and what a right reading of it says; each list holds what is as good."""

    id: str
    half: str
    language: str
    question: str
    wanted: bool
    act: Sequence[str] = ()
    place: Sequence[str] = ()
    to: Sequence[str] = ()
    keywords: Sequence[str] = ()
    means: str = ""
    stops: Sequence[str] = ()

    def centred(self, wish: PlaceQuery) -> bool:
        """Whether what is asked, from where and to where are read right."""
        to = wish.destination in self.to if self.to else not wish.destination
        return wish.intent in self.act and wish.place in self.place and to

    def worded(self, wish: PlaceQuery) -> bool:
        """Whether the kind, the means and the stops are."""
        kind = not self.keywords or any(w in self.keywords for w in (*wish.keywords, wish.purpose))
        return (
            kind
            and wish.mode in (self.means, wish.mode if not self.means else "")
            and (set(self.stops) <= set(wish.stops))
        )


def asked() -> list[Asked]:
    lines = PATH.read_text(encoding="utf-8").splitlines()
    return [Asked(**json.loads(line)) for line in lines]


def fitting() -> list[Asked]:
    """What the score is fitted on."""
    plain = [Asked(q.id, "benchmark", q.language, q.question, q.wanted, (q.act,), (q.place,)) for q in benchmark()]
    return [q for q in asked() if q.half not in UNSEEN] + plain


def rows(every: Sequence[Asked]) -> tuple[list[dict[str, float]], list[bool]]:
    """Readings as features with their labels: the right one of a wish, all of what is none."""
    found, labels = [], []
    for q in every:
        for reading in find_readings(q.question):
            if not q.wanted or reading.query.intent in q.act:
                found.append(dict(reading.features))
                labels.append(q.wanted)
                if q.wanted:
                    break
    return found, labels


def logistic(x: Array, y: Array, ridge: float) -> Array:
    """Weights and, last, the bias; Newton's method, both labels weighing the same."""
    w = np.where(y, 0.5 / max(1, y.sum()), 0.5 / max(1, (~y).sum())) * len(y)
    z = np.c_[x, np.ones(len(x))]
    pull = np.diag([ridge * len(y)] * x.shape[1] + [1e-6])
    b = np.zeros(z.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-z @ b))
        slope = z.T @ (w * (p - y)) + pull @ b
        b -= np.linalg.solve((z * (w * p * (1 - p))[:, None]).T @ z + pull, slope)
    return b


def fitted(every: Sequence[Asked], without: str = "") -> dict[str, Any]:
    found, labels = rows(every)
    names = sorted({name for one in found for name in one} - {without})
    x = np.array([[one.get(name, 0.0) for name in names] for one in found])
    b = logistic(x, np.array(labels), RIDGE)
    b[-1] += BIAS
    weights = {name: round(float(v), 3) for name, v in zip(names, b, strict=False)}
    return {"bias": round(float(b[-1]), 3), "weights": weights}


def _grams(text: str) -> set[str]:
    text = text.lower()
    words = re.findall(r"[a-z0-9']+", text)
    han = re.findall(r"[\u4e00-\u9fff]", text)
    units = han or words
    return {*units, *(" ".join(p) for p in pairwise(units))}


def by_grams(every: Sequence[Asked], language: str) -> Callable[[str], bool]:
    """Logistic regression over the one- and two-grams of the questions in a language."""
    own = [q for q in every if q.language == language]
    names = sorted({g for q in own for g in _grams(q.question)})
    column = {name: n for n, name in enumerate(names)}

    def row(text: str) -> Array:
        out = np.zeros(len(names))
        for gram in _grams(text) & column.keys():
            out[column[gram]] = 1
        return out

    x = np.array([row(q.question) for q in own])
    y = np.array([q.wanted for q in own])
    b = logistic(x, y, NGRAMS)
    return lambda text: bool(np.r_[row(text), 1] @ b > 0)


def named(text: str) -> bool:
    """Whether a question has the name of a place that is known."""
    return any(b - a > 1 for a, b in find_place_names(text))


def scores(every: Sequence[Asked], says: Callable[[str], Any]) -> dict[str, float]:
    read = [(q, says(q.question)) for q in every]
    hits = [(q, wish) for q, wish in read if wish and q.wanted]
    out = {
        "precision": len(hits) / max(1, sum(bool(w) for _, w in read)),
        "recall": len(hits) / max(1, sum(q.wanted for q in every)),
    }
    if hits and isinstance(hits[0][1], PlaceQuery):
        out["centre"] = sum(q.centred(w) for q, w in hits) / len(hits)
        out["keyword"] = sum(q.worded(w) for q, w in hits) / len(hits)
        out["both"] = sum(q.centred(w) and q.worded(w) for q, w in hits) / len(hits)
    return {name: round(value, 3) for name, value in out.items()}


def main(arguments: Sequence[str]) -> None:
    every = fitting()
    if "--ablate" not in arguments:
        WEIGHTS.write_text(json.dumps(fitted(every), indent=1) + "\n", encoding="utf-8")
        place_query._load_weights.cache_clear()
    halves = HALVES[:1] + UNSEEN if "--held-out" in arguments else HALVES[:1]
    for half in halves:
        for language in ("zh", "en"):
            own = [q for q in asked() if q.half == half and q.language == language]
            print(half, language, len(own), scores(own, parse_place_query))
            print("   by n-grams", scores(own, by_grams(every, language)))
            print("   by any name", scores(own, named))


if __name__ == "__main__":
    main(sys.argv[1:])
