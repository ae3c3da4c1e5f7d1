"""Whether two headlines are found to tell of one event: 185 labelled pairs, most others hard ones.

The pairs (`tests/sources/news/pairs.json`, written for this) are in two halves: rules may be tuned on one, the
other is held out. Each pair is judged alone, where rarity of words cannot help; "together" groups all
headlines of a half at once and looks where the two of each pair went. Also the time for 5,000 items.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from research.sources.news.article import Article
from research.sources.news.stories import cluster_articles
from tests.benchmarks.figures import Figure

PAIRS = Path(__file__).resolve().parent.parent / "sources" / "news" / "pairs.json"
PRECISION, RECALL, SECONDS = 0.9, 0.85, 8.0
LANGUAGES = {"zh": "Chinese", "en": "English"}
HALVES = {"tune": "tuning half", "held-out": "held-out half"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two headlines and whether they tell of one event; `why` they do not, if that is hard to see."""

    id: str
    language: str
    half: str
    same: bool
    a: str
    b: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """How a judge did: `false` are pairs that it united wrongly, `missed` those it did not unite."""

    right: int
    false: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.false))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + len(self.missed))


def pairs() -> list[Pair]:
    return [Pair(**row) for row in json.loads(PAIRS.read_text(encoding="utf-8"))]


def alone(judged: list[Pair]) -> dict[str, bool]:
    """Each pair grouped by itself."""
    return {p.id: len(cluster_articles([Article(title=p.a), Article(title=p.b)])) == 1 for p in judged}


def together(judged: list[Pair]) -> dict[str, bool]:
    """All headlines grouped at once."""
    told = cluster_articles([Article(title=title) for pair in judged for title in (pair.a, pair.b)])
    home = {at: story.source_indexes for story in told for at in story.source_indexes}
    return {pair.id: home[2 * n] == home[2 * n + 1] for n, pair in enumerate(judged)}


def score(judged: list[Pair], united: dict[str, bool]) -> Score:
    return Score(
        right=sum(pair.same and united[pair.id] for pair in judged),
        false=tuple(pair.id for pair in judged if united[pair.id] and not pair.same),
        missed=tuple(pair.id for pair in judged if pair.same and not united[pair.id]),
    )


def figures() -> Iterator[Figure]:
    ways: dict[str, Callable[[list[Pair]], dict[str, bool]]] = {"": alone, ", together": together}
    for half, title in HALVES.items():
        of_half = [pair for pair in pairs() if pair.half == half]
        for suffix, way in ways.items():
            united = way(of_half)
            for language, name in {**LANGUAGES, "": "both"}.items():
                part = [pair for pair in of_half if language in ("", pair.language)]
                found = score(part, united)
                what = f"{title}, {name}{suffix}"
                # Ids of the held-out half stay out of sight, so that nobody tunes on them.
                false, missed = (found.false, found.missed) if half == "tune" else ((), ())
                yield Figure(f"precision, {what}", found.precision, target=PRECISION, more=True, note=" ".join(false))  # fmt: skip
                yield Figure(f"recall, {what}", found.recall, target=RECALL, more=True, note=" ".join(missed))  # fmt: skip
    items = made_up(5_000)
    begun = time.process_time()
    told = cluster_articles(items)
    spent = time.process_time() - begun
    yield Figure("5,000 items, processor", spent, "s", target=SECONDS, note=f"{len(told)} stories")


def made_up(count: int) -> list[Article]:
    """Headlines of few patterns, which is the hard case: most share words with hundreds of others."""
    pick = random.Random(1)
    cities = [
        "杭州",
        "成都",
        "北京",
        "上海",
        "广州",
        "西安",
        "苏州",
        "南京",
        "武汉",
        "长沙",
        "郑州",
        "青岛",
        "大连",
        "厦门",
        "昆明",
        "贵阳",
    ]
    things = [
        "地铁",
        "机场",
        "景区",
        "博物馆",
        "公园",
        "大学",
        "医院",
        "法院",
        "港口",
        "体育馆",
        "大桥",
        "图书馆",
        "动物园",
    ]
    acts = [
        "开通",
        "关闭",
        "发布",
        "启动",
        "扩建",
        "推出",
        "暂停",
        "恢复",
        "升级",
        "搬迁",
        "通报",
        "改造",
    ]
    towns = ["Lima", "Oslo", "Cairo", "Hanoi", "Quito", "Lyon", "Porto", "Turin", "Ghent", "Leeds"]
    sites = ["museum", "airport", "hospital", "stadium", "library", "zoo"]
    out: list[Article] = []
    while len(out) < count:
        many, name = pick.randint(3, 999), "".join(pick.choices("abcdefghij", k=5)).title()
        title = f"{pick.choice(cities)}{pick.choice(things)}{pick.choice(acts)}新方案 涉及{many}人"
        if pick.random() < 0.4:
            site = f"{pick.choice(towns)} {pick.choice(sites)}"
            title = pick.choice((f"Storm {name} hits {site}", f"{site} closes as {many} workers strike"))  # fmt: skip
        out.append(Article(title=title, outlet=f"outlet {len(out) % 50}"))
        if pick.random() < 0.5:
            out.append(Article(title=f"{title} - 证券时报", outlet="证券时报"))
    return out[:count]
