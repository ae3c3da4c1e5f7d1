"""Fits the judge of sentences: `python -m tests.yardsticks.fit support_en.jsonl support_zh.jsonl`.

Writes `research/data/judge.json` (the weights) and `results.json` beside this file (the accuracy on sets
that were left out of the fit, what each feature is worth, and the thresholds). Logistic regression with a
ridge; every set weighs the same, and within it every label.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from research.citations.features import compute_features
from research.citations.judge import find_retraction
from research.citations.tokenization import tokenize_text
from research.citations.verbatim import find_verbatim_sentence
from tests.yardsticks.support import RESULTS, Claim, claims

FEATURES = {
    "en": ("words", "dense", "figures"),
    "zh": ("words", "dense", "denies"),
}
RIDGE = 0.005
RIGHT = 0.875  # of the claims that are called supported are, where four fifths of all are
DOUBTED = 0.8  # of the claims that are called unsupported are, where half of all are supported
FEWEST = 0.05  # of the unsupported claims that have to be called so
BASES = (0.5, 0.8)
CONTRADICTIONS = 0.25  # of which at most are called supported, where they are labelled
FOLDS = 5  # where there is one set only
WEIGHTS = Path(__file__).parents[2] / "research" / "data" / "judge.json"
Array = Any


@dataclass
class Data:
    """Claims as numbers: a row of features each, its label, its set, and its finer label.

    `quoted` stand word for word in a passage; `held` have a figure that is missing or are taken back, and
    are never called supported, whatever their score.
    """

    rows: list[dict[str, float]]
    quoted: Array
    held: Array
    labels: Array
    sets: Array
    kinds: Array

    def matrix(self, features: Sequence[str]) -> Array:
        return np.array([[row[name] for name in features] for row in self.rows])


def data(every: Sequence[Claim]) -> Data:
    rows, quoted, held = [], [], []
    for e in every:
        claim, texts = tokenize_text(e.claim, True), [tokenize_text(p) for p in e.passages]
        found = compute_features(claim, texts)
        rows.append(found.feature_values)
        quoted.append(any(find_verbatim_sentence(e.claim, passage) for passage in e.passages))
        held.append(bool(found.missing_figures or find_retraction(claim, texts, found)))
    return Data(
        rows,
        np.array(quoted),
        np.array(held),
        np.array([e.supported for e in every]),
        np.array([e.set for e in every]),
        np.array([e.label for e in every]),
    )


def weighed(sets: Array, labels: Array) -> Array:
    """Weights that give each set, and each label of it, the same sum."""
    out = np.zeros(len(labels))
    for name in set(sets):
        for label in (True, False):
            those = (sets == name) & (labels == label)
            out[those] = 1 / max(1, those.sum())
    return out / out.mean()


def fitted(x: Array, y: Array, w: Array) -> Array:
    """The weights of the features and, last, the bias. Newton's method."""
    middle, spread = x.mean(0), x.std(0) + 1e-9
    z = np.c_[(x - middle) / spread, np.ones(len(x))]
    ridge = np.diag([RIDGE * w.sum()] * x.shape[1] + [0.0])
    b = np.zeros(z.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-z @ b))
        slope = z.T @ (w * (p - y)) + ridge @ b
        b -= np.linalg.solve((z * (w * p * (1 - p))[:, None]).T @ z + ridge, slope)
    scaled = b[:-1] / spread
    return np.append(scaled, b[-1] - (scaled * middle).sum())


def chances(b: Array, x: Array) -> Array:
    return 1 / (1 + np.exp(-(x @ b[:-1] + b[-1])))


def unseen(found: Data, features: Sequence[str]) -> Array:
    """The chance of each claim, by a fit that has not seen its set; or its fold, if there is one set."""
    x, y = found.matrix(features), found.labels
    names = sorted(set(found.sets))
    folds = found.sets if len(names) > 1 else np.arange(len(y)) % FOLDS
    out = np.zeros(len(y))
    for name in sorted(set(folds)):
        rest = folds != name
        w = weighed(found.sets[rest], y[rest])
        out[~rest] = chances(fitted(x[rest], y[rest], w), x[~rest])
    return out


def balanced(said: Array, labels: Array) -> float:
    return float((said[labels].mean() + (~said[~labels]).mean()) / 2)


def by_set(said: Array, found: Data) -> dict[str, float]:
    return {
        str(name): round(balanced(said[found.sets == name], found.labels[found.sets == name]), 3)
        for name in sorted(set(found.sets))
    }


def supported(chance: Array, limit: float, found: Data) -> Array:
    """Which claims the judge calls supported."""
    return found.quoted | ((chance >= limit) & ~found.held)


def mean(scores: dict[str, float]) -> float:
    return round(sum(scores.values()) / len(scores), 4)


def overlap(every: Sequence[Claim], found: Data) -> tuple[float, dict[str, float]]:
    """The threshold of plain word overlap on all sets, and the accuracy with that of the other sets."""
    shares = np.array([e.overlap() for e in every])

    def best(those: Array) -> float:
        names = set(found.sets[those])
        steps = np.arange(0.02, 1.0, 0.02)

        def score(limit: float) -> float:
            return sum(
                balanced(
                    shares[those & (found.sets == n)] >= limit,
                    found.labels[those & (found.sets == n)],
                )
                for n in names
            )

        return float(max(steps, key=score))

    names = sorted(set(found.sets))
    folds = found.sets if len(names) > 1 else (np.arange(len(shares)) % FOLDS).astype(str)
    said = np.zeros(len(shares), dtype=bool)
    for name in sorted(set(folds)):
        said[folds == name] = shares[folds == name] >= best(folds != name)
    return round(best(np.ones(len(shares), dtype=bool)), 2), by_set(said, found)


def rates(said: Array, found: Data) -> tuple[float, float]:
    """The mean over sets of how many of the supported, and of the others, are among some claims."""
    names = set(found.sets)
    good, bad = (
        float(np.mean([said[(found.sets == n) & (found.labels == want)].mean() for n in names]))
        for want in (True, False)
    )
    return good, bad


def meaning(said: Array, found: Data) -> dict[str, float]:
    """Precision where half and where four fifths of the claims are supported, and recall."""
    good, bad = rates(said, found)
    return {
        "recall": round(good, 3),
        **{f"precision@{base}": round(base * good / max(1e-9, base * good + (1 - base) * bad), 3) for base in BASES},
    }


def threshold(chance: Array, found: Data) -> float:
    """The chance from which a claim is called supported: the lowest, from one half on, at which that is
    right in `RIGHT` of its uses where four fifths of all claims are supported, and at which not more than
    `CONTRADICTIONS` of the contradictions are called so."""
    against = found.kinds == "contradiction"
    for step in np.arange(0.5, 0.99, 0.002):
        said = supported(chance, step, found)
        few = not against.any() or said[against].mean() <= CONTRADICTIONS
        if few and meaning(said, found)["precision@0.8"] >= RIGHT:
            return round(float(step), 3)
    raise ValueError("no threshold keeps the rule")


def doubt(chance: Array, found: Data) -> float:
    """The chance below which a claim is called unsupported: the highest, up to one half, at which that is
    right in `DOUBTED` of its uses where half of the claims are supported; 0 if none is."""
    for step in np.arange(0.5, 0.0, -0.01):
        good, bad = rates(doubted(chance, step, found), found)
        if bad >= FEWEST and bad / (good + bad) >= DOUBTED:
            return round(float(step), 2)
    return 0.0


def doubted(chance: Array, limit: float, found: Data) -> Array:
    """Which claims the judge calls unsupported."""
    return (chance < limit) & ~found.quoted


def doubting(said: Array, found: Data) -> dict[str, float]:
    """Of the unsupported claims the share that is called so, and how often that is right where half and
    where four fifths of the claims are supported."""
    good, bad = rates(said, found)
    right = {base: (1 - base) * bad / max(1e-9, (1 - base) * bad + base * good) for base in BASES}
    return {"recall": round(bad, 3), **{f"precision@{b}": round(p, 3) for b, p in right.items()}}


def score(features: Sequence[str], found: Data) -> float:
    """The mean over sets that were left out, with the threshold that the rule gives these features."""
    chance = unseen(found, features)
    return mean(by_set(supported(chance, threshold(chance, found), found), found))


def main(files: Sequence[str]) -> None:
    every = claims(map(Path, files))
    models: dict[str, Any] = {}
    results: dict[str, Any] = {"overlap_thresholds": {}, "languages": {}}
    for language, features in FEATURES.items():
        own = [e for e in every if e.language == language]
        found = data(own)
        chance = unseen(found, features)
        b = fitted(found.matrix(features), found.labels, weighed(found.sets, found.labels))
        b = b.round(3)
        limit = threshold(chances(b, found.matrix(features)), found)
        low = doubt(chance, found)
        models[language] = {
            "weights": {name: float(v) for name, v in zip(features, b, strict=False)},
            "bias": float(b[-1]),
            "supported": limit,
            "unsupported": low,
        }
        results["overlap_thresholds"][language], plain = overlap(own, found)
        said = supported(chance, limit, found)
        scores = by_set(said, found)
        against = found.kinds == "contradiction"
        good, bad = meaning(said, found), doubting(doubted(chance, low, found), found)
        models[language]["accuracy"] = {
            "balanced": mean(scores),
            "overlap": mean(plain),
            "recall": good["recall"],
            "half": good["precision@0.5"],
            "most": good["precision@0.8"],
            "doubted": bad["recall"],
            "doubted_half": bad["precision@0.5"],
            "doubted_most": bad["precision@0.8"],
        }
        results["languages"][language] = {
            "n": len(own),
            "sets": scores,
            "mean": mean(scores),
            "overlap": plain,
            "overlap_mean": mean(plain),
            "without": {
                name: round(score([f for f in features if f != name], found) - score(features, found), 4)
                for name in features
            },
            "supported": good,
            "unsupported": bad,
            **({"contradictions_supported": round(float(said[against].mean()), 3)} if against.any() else {}),
        }
    shipped = {
        "about": "Weights of research/citations/judge.py, by tests/yardsticks/fit.py",
        "fitted_on": sorted({e.set for e in every}),
        "models": models,
    }
    for path, content in ((WEIGHTS, shipped), (RESULTS, results)):
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
