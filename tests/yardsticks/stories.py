"""How well pieces of news are put together into stories, beside plain tf-idf with its best threshold.

`stories/items.jsonl` was written before the score was made, without sight of the rules that there were. A
family is a few stories that are easily mixed up; a half has whole families.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from research.core.text.hanzi import to_simplified
from research.core.text.publication_dates import parse_publication_date
from research.sources.news.article import Article
from research.sources.news.stories import cluster_articles

Half = Literal["seen", "unseen"]
ITEMS = Path(__file__).with_name("stories") / "items.jsonl"
RESULTS = Path(__file__).with_name("stories.json")
ROWS = ("program", "program, no dates", "program, titles", "tf-idf")
FIGURES = ("pairs P", "pairs R", "B3 P", "B3 R", "B3 F")


@dataclass(frozen=True)
class Item:
    """A line of the file."""

    id: str
    story: str
    family: str
    language: str
    article: Article

    @property
    def half(self) -> Half:
        return half_of(self.family)


def half_of(family: str) -> Half:
    """The half of a family: settled by its name."""
    return "seen" if hashlib.sha256(family.encode()).digest()[0] % 2 == 0 else "unseen"


def items(file: Path = ITEMS, half: Half | None = None) -> list[Item]:
    every = [_item(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    return [one for one in every if half in (None, one.half)]


def _item(row: dict[str, Any]) -> Item:
    moment = parse_publication_date(row["published"]).timestamp
    article = Article(
        url=f"https://{row['site']}/{row['id']}",
        title=row["title"],
        text=row["text"],
        outlet=row["site"],
        published=moment.utc if moment else None,
        is_day_only=bool(moment and moment.is_day_only),
    )
    return Item(row["id"], row["story"], row.get("family", row["story"]), row["language"], article)


# --- The measure ------------------------------------------------------------------------------------


def scores(truth: Sequence[str], found: Sequence[object]) -> dict[str, float]:
    """Precision and recall of the pairs that are together, and B-cubed (Bagga and Baldwin 1998)."""
    true, made, both = (_pairs(of) for of in (truth, found, list(zip(truth, found, strict=True))))
    sizes = [Counter(of) for of in (truth, found, zip(truth, found, strict=True))]
    cells = [(sizes[2][t, f], sizes[1][f], sizes[0][t]) for t, f in zip(truth, found, strict=True)]
    precision = sum(cell / group for cell, group, _ in cells) / len(cells)
    recall = sum(cell / story for cell, _, story in cells) / len(cells)
    return {
        "pairs P": both / made if made else 1.0,
        "pairs R": both / true if true else 1.0,
        "B3 P": precision,
        "B3 R": recall,
        "B3 F": 2 * precision * recall / (precision + recall),
    }


def _pairs(labels: Sequence[object]) -> int:
    return sum(n * (n - 1) // 2 for n in Counter(labels).values())


def product(asked: Sequence[Item]) -> list[object]:
    """The group of each item, as the program makes them."""
    home = {at: s.id for s in cluster_articles([i.article for i in asked]) for at in s.source_indexes}
    return [home[at] for at in range(len(asked))]


# --- Plain tf-idf -----------------------------------------------------------------------------------


def words(text: str) -> Iterator[str]:
    """Words and, of Chinese, pairs of characters, in simplified characters and lower case."""
    for run in re.findall(r"[\u4e00-\u9fff]+|[a-z0-9.]+", to_simplified(text).lower()):
        if run[0].isascii():
            yield run.strip(".")
        else:
            yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))


def vectors(texts: Sequence[str]) -> list[dict[str, float]]:
    counted = [Counter(words(text)) for text in texts]
    spread = Counter(word for own in counted for word in own)
    out = []
    for own in counted:
        vector = {w: n * math.log((len(texts) + 1) / spread[w]) for w, n in own.items()}
        length = math.sqrt(sum(v * v for v in vector.values())) or 1.0
        out.append({w: v / length for w, v in vector.items()})
    return out


def average_link(size: int, like: Callable[[int, int], float], least: float) -> list[object]:
    """Groups by average link: the two that are most alike on average, until no two are enough so."""
    groups: dict[int, list[int]] = {at: [at] for at in range(size)}
    sums = {pair: like(*pair) for pair in combinations(range(size), 2)}
    sums = {pair: s for pair, s in sums.items() if s > 0}

    def mean(pair: tuple[int, int]) -> float:
        return sums[pair] / (len(groups[pair[0]]) * len(groups[pair[1]]))

    while sums and mean(best := max(sums, key=mean)) >= least:
        a, b = best
        for c in groups:
            if c not in best:
                joined = sums.pop((min(b, c), max(b, c)), 0.0) + sums.get((min(a, c), max(a, c)), 0)
                if joined:
                    sums[min(a, c), max(a, c)] = joined
        del sums[best]
        groups[a] += groups.pop(b)
    home: dict[int, object] = {at: group for group, own in groups.items() for at in own}
    return [home[at] for at in range(size)]


def tfidf(asked: Sequence[Item]) -> tuple[float, dict[str, float]]:
    """The best threshold of plain tf-idf on these very items, by B-cubed F, and its scores there."""
    made = vectors([f"{i.article.title}\n{i.article.text}" for i in asked])

    def like(a: int, b: int) -> float:
        one, other = made[a], made[b]
        return sum(v * other.get(w, 0.0) for w, v in one.items())

    truth = [i.story for i in asked]
    tried = [(n / 50, scores(truth, average_link(len(asked), like, n / 50))) for n in range(1, 25)]
    return max(tried, key=lambda one: one[1]["B3 F"])


# --- What is told -----------------------------------------------------------------------------------


def measured(files: Iterable[Path] = (), half: Half | None = None) -> dict[str, Any]:
    """`sets` with a row for each half of each file."""
    asked = list(files) or [ITEMS]
    halves: tuple[Half, ...] = (half,) if half else ("seen", "unseen")
    return {"sets": [_row(file, h) for file in asked for h in halves]}


def _row(file: Path, half: Half) -> dict[str, Any]:
    asked = items(file, half)
    truth = [i.story for i in asked]
    threshold, plain = tfidf(asked)

    def without(**update: object) -> list[Item]:
        return [replace(i, article=i.article.model_copy(update=update)) for i in asked]

    return {
        "set": file.stem,
        "half": half,
        "n": len(asked),
        "stories": len(set(truth)),
        "program": _rounded(scores(truth, product(asked))),
        "program, no dates": _rounded(scores(truth, product(without(published=None)))),
        "program, titles": _rounded(scores(truth, product(without(text="")))),
        "tf-idf": _rounded(plain),
        "threshold": threshold,
    }


def _rounded(found: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in found.items()}


def told(found: dict[str, Any]) -> Iterator[str]:
    head = f"{'set':<10}{'half':<8}{'n':>5}{'stories':>9}  {'':<18}"
    yield head + "".join(f"{name:>9}" for name in FIGURES)
    for one in found["sets"]:
        for name in ROWS:
            head = f"{one['set']:<10}{one['half']:<8}{one['n']:>5}{one['stories']:>9}"
            yield f"{head}  {name:<18}" + "".join(f"{one[name][f]:>9.3f}" for f in FIGURES)


if __name__ == "__main__":
    RESULTS.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
