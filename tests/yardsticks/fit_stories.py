"""Fits the score of two pieces of news: `python -m tests.yardsticks.fit_stories` writes `research/data/stories.json`.

Logistic regression with a ridge on the half “seen”. Pieces of two families count as of one day, and each pair
counts once more as if it had no dates, so that the date alone tells no story. Titles alone are fitted on those of
the same half and on the hard pairs of `tests/sources/news/pairs.json` that may be tuned on, each of which counts `HARD` times.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from research.sources.news.similarity import (
    FEATURE_NAMES,
    UNDATED_DISTANCE,
    ArticleFeatures,
    SimilarityModel,
    extract_features,
    weights_name,
)
from research.sources.news.titles import strip_outlet
from tests.benchmarks.stories import pairs
from tests.yardsticks.stories import Item, items

WEIGHTS = Path(__file__).parents[2] / "research" / "data" / "stories.json"
RIDGE = 0.5
HARD = 10
SURER = 0.5  # of the log odds, by which titles alone have to be likelier than what was fitted: they say less
NEXT = 0.05  # of ten days
AT = FEATURE_NAMES.index("days")


def days(one: Item, other: Item) -> float | None:
    """Days between two pieces."""
    first, second = one.article.published, other.article.published
    return abs((first - second).total_seconds()) / 86_400 if first and second else None


def fitted(rows: Any, labels: Any) -> Any:
    """Weights of logistic regression, the bias last."""
    x = np.hstack([rows, np.ones((len(rows), 1))])
    ridge = np.eye(x.shape[1]) * RIDGE
    ridge[-1, -1] = 0
    b = np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ b))
        slope = x.T @ (chance - labels) + ridge @ b
        b -= np.linalg.solve((x * (chance * (1 - chance))[:, None]).T @ x + ridge, slope)
    return b


Rows = dict[str, list[list[float]]]
Labels = dict[str, list[bool]]


def _rows(asked: Sequence[Item], made: Sequence[ArticleFeatures], kinds: Container[str]) -> tuple[Rows, Labels]:
    """The features of all pairs of some pieces that are of some kinds, with dates and without."""
    every = SimilarityModel(made)
    rows, labels = defaultdict(list), defaultdict(list)
    for a, b in combinations(range(len(asked)), 2):
        if (name := weights_name(made[a], made[b])) not in kinds:
            continue
        found = list(every.pair_features(a, b, days(asked[a], asked[b])))
        if asked[a].family != asked[b].family:
            found[AT] = NEXT
        for day in (found[AT], UNDATED_DISTANCE):
            rows[name].append([*found[:AT], day, *found[AT + 1 :]])
            labels[name].append(asked[a].story == asked[b].story)
    return rows, labels


def main() -> None:
    asked = items(half="seen")
    titles = [strip_outlet(i.article.title, i.article.outlet) for i in asked]
    texts = [extract_features(title, i.article.text) for title, i in zip(titles, asked, strict=True)]
    rows, labels = _rows(asked, texts, ("one", "two"))
    bare, same = _rows(asked, [extract_features(title) for title in titles], ("titles",))
    rows |= bare
    labels |= same
    hard = [pair for pair in pairs() if pair.half == "tune"]
    pieces = [extract_features(strip_outlet(title)) for pair in hard for title in (pair.a, pair.b)]
    every = SimilarityModel(pieces)
    for n, pair in enumerate(hard):
        alone = SimilarityModel(pieces[2 * n : 2 * n + 2]).pair_features(0, 1, None)
        both = [list(alone), list(every.pair_features(2 * n, 2 * n + 1, None))]
        rows["titles"] += both * HARD
        labels["titles"] += [pair.same] * 2 * HARD
    model: dict[str, Any] = {
        "about": "Weights of research/sources/news/similarity.py, by tests/yardsticks/fit_stories.py"
    }
    for name in rows:
        b = fitted(np.array(rows[name]), np.array(labels[name], float)).round(3)
        if name == "titles":
            b[-1] -= SURER
        weights = dict(zip(FEATURE_NAMES, map(float, b), strict=False))
        model[name] = {"weights": weights, "bias": float(b[-1])}
    WEIGHTS.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
