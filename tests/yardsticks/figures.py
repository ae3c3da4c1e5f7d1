"""How often two pieces of news on one event are found to contradict each other in a figure, and how often wrongly.

`stories/figures.jsonl` has pairs of pieces that tell of one event (or seem to), each with whether they contradict each
other and, if so, in which two figures. It was split by a hash of the id before any code was tried on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

from research.citations import mention_comparison
from research.core.text.quantities import Measure, find_measures, measures_agree
from research.sources.news.article import Article
from research.sources.news.stories import StoryCluster
from research.sources.news.story_figures import find_conflicts

Half = Literal["seen", "unseen"]
PAIRS = Path(__file__).with_name("stories") / "figures.jsonl"
RESULTS = Path(__file__).with_name("figures.json")
NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
FIGURES = ("shown", "false", "P", "F")
Found = list[tuple[str, ...]]  # the spellings of each conflict


@dataclass(frozen=True)
class Pair:
    """A line of the file; `figures` are those that contradict each other."""

    id: str
    language: str
    pieces: tuple[Article, Article]
    figures: tuple[str, ...]

    @property
    def half(self) -> Half:
        return "seen" if hashlib.sha256(self.id.encode()).digest()[0] % 2 == 0 else "unseen"


def pairs(half: Half | None = None) -> list[Pair]:
    every = [_pair(json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    return [pair for pair in every if half in (None, pair.half)]


def _pair(row: dict[str, Any]) -> Pair:
    one, other = (
        Article(url=f"https://{name}.example/{row['id']}", outlet=name, published=NOW, **row[name])
        for name in ("one", "other")
    )
    return Pair(row["id"], row["language"], (one, other), tuple(row.get("figures", ())))


# --- The ways ---------------------------------------------------------------------------------------


def product(pair: Pair) -> Found:
    """As the program tells them of two pieces of one story."""
    story = StoryCluster(id="s", headline=pair.pieces[0].title, articles=pair.pieces)
    return [tuple(figure.text for figure in one.figures) for one in find_conflicts(story)]


def plain(pair: Pair) -> Found:
    """Any two other figures of one unit."""
    one, other = (_measured(piece) for piece in pair.pieces)
    return [
        (said, told)
        for said, a in one
        for told, b in other
        if (a.kind, a.unit) == (b.kind, b.unit) and not (measures_agree(a, b) or measures_agree(b, a))
    ]


def _measured(piece: Article) -> list[tuple[str, Measure]]:
    text = f"{piece.title}\n{piece.text}"
    return [(text[m.start : m.end], m) for m in find_measures(text)]


# --- The measure ------------------------------------------------------------------------------------


def right(found: Found, pair: Pair) -> bool:
    """Whether a conflict has both figures of a pair that has some."""
    return bool(pair.figures) and any(
        all(any(_same(figure, told) for told in conflict) for figure in pair.figures) for conflict in found
    )


def _same(one: str, other: str) -> bool:
    return any(measures_agree(a, b) and measures_agree(b, a) for a in find_measures(one) for b in find_measures(other))


def scores(way: Callable[[Pair], Found], asked: Sequence[Pair]) -> dict[str, float]:
    """`shown` of the pairs that contradict each other; `false` of the others; precision of the pairs of
    which something is told, and F with `shown` as recall."""
    told = {pair.id: way(pair) for pair in asked}
    hits = sum(right(told[pair.id], pair) for pair in asked)
    real = sum(bool(pair.figures) for pair in asked)
    alarms = sum(bool(told[pair.id]) for pair in asked)
    false = sum(bool(told[pair.id]) and not pair.figures for pair in asked)
    precision, recall = hits / alarms if alarms else 1.0, hits / real
    return {
        "shown": recall,
        "false": false / (len(asked) - real),
        "P": precision,
        "F": 2 * precision * recall / (precision + recall) if hits else 0.0,
    }


# --- What is told -----------------------------------------------------------------------------------

# A part of the comparison, and what stands in its place when it is left out.
PARTS: dict[str, Any] = {
    "has_exclusive_qualifiers": lambda *_: False,
    "_has_other_time": lambda *_: False,
    "_has_same_names": lambda *_: True,
    "_has_other_subject": lambda *_: False,
}


def measured(half: Half | None = None) -> dict[str, Any]:
    """`sets` with a row for each half: the program, each part of it left out in turn, the plain way."""
    halves: tuple[Half, ...] = (half,) if half else ("seen", "unseen")
    return {"sets": [_row(h) for h in halves]}


def _row(half: Half) -> dict[str, Any]:
    asked = pairs(half)
    row = {"program": scores(product, asked)}
    for part, instead in PARTS.items():
        with patch.object(mention_comparison, part, instead):
            row[f"without {part}"] = scores(product, asked)
    row["plain"] = scores(plain, asked)
    figures = {way: {k: round(v, 2) for k, v in found.items()} for way, found in row.items()}
    return {"half": half, "n": len(asked), "figures": figures}


def told(found: dict[str, Any]) -> Iterator[str]:
    yield f"{'half':<8}{'n':>4}  {'':<24}" + "".join(f"{name:>8}" for name in FIGURES)
    for one in found["sets"]:
        for way, row in one["figures"].items():
            head = f"{one['half']:<8}{one['n']:>4}  {way:<24}"
            yield head + "".join(f"{row[name]:>8.2f}" for name in FIGURES)


if __name__ == "__main__":
    RESULTS.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
