"""Fits the score of two pieces of news: `python -m tests.yardsticks.fit_stories` writes `research/data/stories.json`.

Logistic regression with a ridge on the half “seen”. Pieces of two families count as of one day, and each pair
counts once more as if it had no dates, so that the date alone tells no story.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from research.news.pieces import FEATURES, UNDATED, Pieces, piece
from tests.yardsticks.stories import Item, items

WEIGHTS = Path(__file__).parents[2] / "research" / "data" / "stories.json"
RIDGE = 0.5
NEXT = 0.05  # of ten days
AT = FEATURES.index("days")


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


def main() -> None:
    asked = items(half="seen")
    made = [piece(i.article.title, i.article.text) for i in asked]
    every = Pieces(made)
    rows: dict[str, list[list[float]]] = {"one": [], "two": []}
    labels: dict[str, list[bool]] = {"one": [], "two": []}
    for a, b in combinations(range(len(asked)), 2):
        name = "one" if made[a].chinese == made[b].chinese else "two"
        found = list(every.features(a, b, days(asked[a], asked[b])))
        if asked[a].family != asked[b].family:
            found[AT] = NEXT
        for day in (found[AT], UNDATED):
            rows[name].append([*found[:AT], day, *found[AT + 1 :]])
            labels[name].append(asked[a].story == asked[b].story)
    model: dict[str, Any] = {
        "about": "Weights of research/news/pieces.py, by tests/yardsticks/fit_stories.py"
    }
    for name in rows:
        b = fitted(np.array(rows[name]), np.array(labels[name], float)).round(3)
        weights = dict(zip(FEATURES, map(float, b), strict=False))
        model[name] = {"weights": weights, "bias": float(b[-1])}
    WEIGHTS.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
