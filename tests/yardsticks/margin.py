"""How far above its threshold a support is doubtful: `python -m tests.yardsticks.margin FILE.jsonl…`.

Prints, for slices of the probability above the threshold, how often "supported" is right where half of
the claims are supported, and writes `margin.json` beside this file. The margin ends where a slice is, in
either language, right as often as "supported" is on the whole.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from research.citations.judge import load_model
from tests.yardsticks.fit import FEATURES, Array, Data, data, meaning, supported, unseen
from tests.yardsticks.support import claims

SLICE = 0.05
SLICES = 6
MARGINS = Path(__file__).with_name("margin.json")


def _right(said: Array, found: Data) -> float:
    return round(meaning(said, found)["precision@0.5"], 3)


def measured(found: Data, language: str) -> dict[str, Any]:
    """How often "supported" is right on the whole and in each slice, and what share of the claims that
    are called so, and of those that are called so wrongly, each slice and those before it have."""
    chance, limit = unseen(found, FEATURES[language]), load_model(language).supported
    said = supported(chance, limit, found)
    above = chance - limit
    exact = found.quoted
    slices = []
    for n in range(SLICES):
        inside = said & ~exact & (above >= n * SLICE) & (above < (n + 1) * SLICE)
        within = said & ~exact & (above < (n + 1) * SLICE)
        slices.append(
            {
                "to": round((n + 1) * SLICE, 2),
                "right": _right(inside, found),
                "within": _right(within, found),
                "beyond": _right(said & ~within, found),
                "called": round(float(within.sum() / said.sum()), 2),
                "wrong": round(float((within & ~found.labels).sum() / (said & ~found.labels).sum()), 2),
            }
        )
    return {"right": _right(said, found), "slices": slices}


def margin(found: Sequence[dict[str, Any]]) -> float:
    """Where the slices end that are worse than the whole in every language."""

    def end(each: dict[str, Any]) -> float:
        worse = takewhile(lambda one: one["right"] < each["right"], each["slices"])
        return max((float(one["to"]) for one in worse), default=0.0)

    return min(map(end, found))


def main(files: Sequence[str]) -> None:
    every = claims(map(Path, files))
    found = {language: measured(data([e for e in every if e.language == language]), language) for language in FEATURES}
    out = {"margin": margin(list(found.values())), "languages": found}
    text = json.dumps(out, indent=2)
    MARGINS.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
