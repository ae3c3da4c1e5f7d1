"""Items of news into stories: one event, told by one outlet or many.

Two levels: one address is one item; items that tell of one event, in one language or two, are one
story. Groups are joined if the mean chance of their pairs is enough and none of them is out of the
question, so that no chain of similar pieces unites two events. The result does not depend on the order
of the items. Knows no clock and no source.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations, product
from typing import TypeVar

from research.core.records import Record, fingerprint
from research.core.text.near_duplicates import is_near_duplicate, shingles
from research.core.text.publication_dates import Timestamp
from research.core.text.sentences import find_sentence_ends
from research.core.urls import canonical_url, url_identity
from research.sources.news.article import Article, url_host
from research.sources.news.similarity import ArticleFeatures, SimilarityModel, extract_features, weight_set
from research.sources.news.syndication import MAX_COMPARED_CHARS, count_independent
from research.sources.news.titles import display_title, strip_outlet, title_key

MAX_GAP_DAYS = 7  # days between two pieces, from which they are of two events of the kind
MIN_MEAN_PROBABILITY = 0.25  # the mean chance of the pairs of two groups, from which they are one story
COPY_PROBABILITY = 0.9  # the chance of two pieces of which one is a copy
MIN_PAIR_PROBABILITY = 0.02  # the chance that each pair of a story has
MIN_TITLE_PROBABILITY = 0.1  # the same for two pieces of one language of which one has no text
MAX_COMPARED_TITLES = 20  # headlines of each of two groups that are compared, at most
MAX_BUCKET_SIZE = 60  # pieces that share a word and are all compared; of more, neighbours only
NEIGHBOUR_COUNT = 12
RAREST_WORD_COUNT = 14  # the rarest words of a piece, by which it finds others

T = TypeVar("T")


class StoryCluster(Record):
    """One event as it was told.

    `items` are its pieces, one for each address, the earliest first; `indexes` their places in the
    list that was grouped, those of a repeated address included. `independent` counts the pieces that
    are no copies: of each agency, each outlet and each text only one.
    """

    id: str
    headline: str
    articles: tuple[Article, ...]
    source_indexes: tuple[int, ...] = ()
    outlets: tuple[str, ...] = ()
    independent_count: int = 1
    earliest: Timestamp | None = None
    latest: Timestamp | None = None


def cluster_articles(items: Sequence[Article]) -> tuple[StoryCluster, ...]:
    """The stories of some items, the latest first and those without a date last."""
    units = _merge_duplicates(items)
    groups = _LinkageClusterer(units).cluster()
    made = [_build_cluster([units[at] for at in group], items) for group in groups]
    return tuple(sorted(made, key=_story_order))


def _story_order(story: StoryCluster) -> tuple[float, int, str, str]:
    latest = story.latest.utc.timestamp() if story.latest else -math.inf
    return (-latest, -len(story.articles), story.headline, story.id)


# One address, one headline


@dataclass(frozen=True)
class _MergedArticle:
    """What is one beyond doubt: items of one address, or of one headline at one time."""

    title: str
    sort_key: tuple[str, str]
    source_indexes: tuple[int, ...]
    day_ordinals: tuple[int, ...]  # sorted ordinals
    text: str

    @cached_property
    def features(self) -> ArticleFeatures:
        return extract_features(self.title, self.text)

    @cached_property
    def text_shingles(self) -> frozenset[int]:
        return shingles(self.text[:MAX_COMPARED_CHARS])


def _merge_duplicates(items: Sequence[Article]) -> list[_MergedArticle]:
    by_address: dict[str, list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        by_address[_article_url(item) or f"\x00{at}"].append(at)
    by_title: dict[str, list[list[int]]] = defaultdict(list)
    alone: list[list[int]] = []
    for members in by_address.values():
        head = title_key(_common_title(items, members))
        (by_title[head] if head else alone).append(members)
    units = [_build_merged_article(items, group) for group in alone]
    for same in by_title.values():
        units += [_build_merged_article(items, group) for group in _split_by_gap(items, same)]
    return sorted(units, key=lambda unit: (unit.sort_key[0], unit.day_ordinals, unit.sort_key))


def _article_url(item: Article) -> str:
    """The address of a piece; that of a whole site is none."""
    own = url_identity(item.url)
    return own if re.search(r"[^/:]/+[^/]|\?", own) else ""


def _common_title(items: Sequence[Article], indexes: Iterable[int]) -> str:
    """The headline of some items of one address: the commonest, or how the text begins."""
    titles = Counter(_title_and_outlet(items[at]) for at in indexes)
    title, outlet = min(titles, key=lambda t: (not t[0], -titles[t], -len(t[0]), t))
    return strip_outlet(title, outlet)


def _title_and_outlet(item: Article) -> tuple[str, str]:
    title = " ".join(item.title.split())[:300]
    if title:
        return title, item.outlet
    text = " ".join(item.text[:400].split())
    return text[: next(find_sentence_ends(text, 0, 120), 120)], ""


def _split_by_gap(items: Sequence[Article], groups: list[list[int]]) -> Iterator[list[int]]:
    """Groups of one headline, parted where days pass: a forecast is issued anew every week."""
    dated = sorted((d[0], min(g), g) for g in groups if (d := _day_ordinals(items, g)))
    undated = [at for group in groups if not _day_ordinals(items, group) for at in group]
    current = undated
    last: int | None = None
    for day, _, group in dated:
        if last is not None and day - last >= MAX_GAP_DAYS:
            yield current
            current = []
        current = current + group
        last = max(_day_ordinals(items, current))
    if current:
        yield current


def _day_ordinals(items: Sequence[Article], indexes: Iterable[int]) -> list[int]:
    return sorted(p.toordinal() for at in indexes if (p := items[at].published))


def _build_merged_article(items: Sequence[Article], indexes: list[int]) -> _MergedArticle:
    text = max((items[at].text for at in indexes), key=lambda t: (len(t), t))
    keys = (f"{items[at].url}\x1f{items[at].outlet}\x1f{items[at].title}" for at in indexes)
    shown = _common_title(items, indexes)
    return _MergedArticle(
        shown,
        (title_key(shown), min(keys)),
        tuple(sorted(indexes)),
        tuple(_day_ordinals(items, indexes)),
        text[:4000],
    )


# Pieces into groups


class _LinkageClusterer:
    """Average linkage over the pairs that share rare words, the likest first."""

    def __init__(self, merged: list[_MergedArticle]) -> None:
        self._merged = merged
        self._similarity = SimilarityModel([unit.features for unit in merged])
        self._probabilities: dict[tuple[int, int], float] = {}

    def cluster(self) -> list[tuple[int, ...]]:
        """The groups, as places in the list of units."""
        group: dict[int, tuple[int, ...]] = {at: (at,) for at in range(len(self._merged))}
        for first, second in self._ranked_pairs():
            one, other = group[first], group[second]
            if one is not other and self._should_merge(one, other):
                joined = tuple(sorted(one + other))
                group.update(dict.fromkeys(joined, joined))
        return sorted(set(group.values()))

    def _ranked_pairs(self) -> list[tuple[int, int]]:
        scored = [(-self._probability(*pair), pair) for pair in self._candidate_pairs()]
        return [pair for chance, pair in sorted(scored) if -chance >= MIN_MEAN_PROBABILITY]

    def _candidate_pairs(self) -> list[tuple[int, int]]:
        """The pairs worth comparing: they have two of their rarest words, names or figures in common."""
        titles = _pairs_sharing_words(
            [unit.features.title_terms for unit in self._merged], self._similarity.term_rarity
        )
        return sorted({*titles, *_pairs_sharing_words(self._similarity.shared_tokens, self._similarity.token_rarity)})

    def _probability(self, first: int, second: int) -> float:
        pair = (first, second) if first < second else (second, first)
        if pair not in self._probabilities:
            self._probabilities[pair] = self._compute_probability(*pair)
        return self._probabilities[pair]

    def _compute_probability(self, first: int, second: int) -> float:
        """The chance that two units are one event."""
        one, other = self._merged[first], self._merged[second]
        apart = _days_apart(one.day_ordinals, other.day_ordinals)
        if apart >= MAX_GAP_DAYS:
            return 0.0
        days = float(apart) if one.day_ordinals and other.day_ordinals else None
        chance = self._similarity.same_event_probability(first, second, days)
        if one.text_shingles and other.text_shingles and is_near_duplicate(one.text_shingles, other.text_shingles):
            return max(chance, COPY_PROBABILITY)
        return (
            0.0 if chance < MIN_TITLE_PROBABILITY and weight_set(one.features, other.features) == "titles" else chance
        )

    def _should_merge(self, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        chances = []
        for a, b in product(one[:MAX_COMPARED_TITLES], other[:MAX_COMPARED_TITLES]):
            chances.append(self._probability(a, b))
            if chances[-1] < MIN_PAIR_PROBABILITY:
                return False
        return sum(chances) >= MIN_MEAN_PROBABILITY * len(chances)


def _days_apart(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Days between the nearest of two sorted lists; 0 where one has none."""
    if not one or not other:
        return 0
    gaps = []
    for day in one:
        at = bisect_left(other, day)
        gaps += [abs(day - near) for near in other[max(0, at - 1) : at + 1]]
    return min(gaps)


def _pairs_sharing_words(word_sets: Sequence[Iterable[T]], rarity: Callable[[T], float]) -> Iterator[tuple[int, int]]:
    """The pairs that have two of their rarest words in common, or one where there is but one."""
    index: dict[T, list[int]] = defaultdict(list)
    sizes = []
    for at, own in enumerate(word_sets):
        rarest = sorted(own, key=lambda word: (-rarity(word), word))[:RAREST_WORD_COUNT]
        sizes.append(len(rarest))
        for word in rarest:
            index[word].append(at)
    shared: Counter[tuple[int, int]] = Counter()
    for bucket in index.values():
        if len(bucket) <= MAX_BUCKET_SIZE:
            shared.update(combinations(bucket, 2))
        else:  # units are sorted by their headlines: near-copies lie near each other
            for i, first in enumerate(bucket):
                shared.update((first, second) for second in bucket[i + 1 : i + 1 + NEIGHBOUR_COUNT])
    return (pair for pair, n in shared.items() if n >= min(2, sizes[pair[0]], sizes[pair[1]]))


# A story of its units


def _build_cluster(merged_articles: list[_MergedArticle], items: Sequence[Article]) -> StoryCluster:
    indexes = sorted(at for unit in merged_articles for at in unit.source_indexes)
    merged = _merge_by_url([items[at] for at in indexes])
    dated = [item.moment for item in merged if item.moment]
    names = {article_outlet(item): None for item in merged}
    return StoryCluster(
        id=_cluster_id(merged),
        headline=_representative_title(merged_articles, items),
        articles=tuple(merged),
        source_indexes=tuple(indexes),
        outlets=tuple(name for name in names if name),
        independent_count=count_independent(merged, [article_outlet(item) for item in merged]),
        earliest=min(dated, default=None),
        latest=max(dated, default=None),
    )


def article_outlet(item: Article) -> str:
    """Who published an item: its outlet, or the host of its address."""
    if item.outlet.strip():
        return " ".join(item.outlet.split())
    return url_host(canonical_url(item.url))


def _merge_by_url(items: Sequence[Article]) -> list[Article]:
    """One item for each address, with what any of them knows; the earliest first."""
    groups: dict[str, list[Article]] = defaultdict(list)
    for at, item in enumerate(items):
        groups[_article_url(item) or f"\x00{at}"].append(item)
    made = [_merge_same_url(group) if len(group) > 1 else group[0] for group in groups.values()]
    return sorted(made, key=lambda item: (_time_order(item), item.url, item.outlet, item.title, item.text))


def _merge_same_url(same: list[Article]) -> Article:
    dated = sorted((item for item in same if item.published), key=lambda i: (_time_order(i), i.published_text))  # fmt: skip
    first = dated[0] if dated else max(same, key=lambda i: i.published_text)

    def longest(name: str) -> str:
        return str(max((getattr(item, name) for item in same), key=lambda s: (len(s), s)))

    return Article(
        **{name: longest(name) for name in ("title", "outlet", "text", "image", "provider")},
        url=min(item.url for item in same),
        published=first.published,
        is_day_only=first.is_day_only,
        published_text=first.published_text,
        is_outside_window=all(item.is_outside_window for item in same),
        seen_at=min((item.seen_at for item in same if item.seen_at), default=None),
        score=max((item.score for item in same if item.score is not None), default=None),
        evidence_ids=tuple(dict.fromkeys(ref for item in same for ref in item.evidence_ids)),
    )


_LATEST_TIME = datetime.max.replace(tzinfo=UTC)


def _time_order(item: Article) -> tuple[datetime, bool]:
    return (item.published or _LATEST_TIME, item.is_day_only)


def _cluster_id(articles: Sequence[Article]) -> str:
    """Made of the earliest item, which later ones do not replace."""
    first = min(articles, key=lambda i: (_time_order(i), _article_url(i), i.title, i.outlet))
    own = _article_url(first) or f"{title_key(strip_outlet(first.title, first.outlet))}\x1f{first.outlet}"
    return "s" + fingerprint(own, str(first.published or "") if not own.strip("\x1f") else "")


def _representative_title(merged: list[_MergedArticle], items: Sequence[Article]) -> str:
    """The headline that is most like the others; of equals the earliest, then the first by letters."""
    told = [unit for unit in merged if unit.title][:MAX_COMPARED_TITLES]
    if not told:
        return ""

    def rank(unit: _MergedArticle) -> tuple[float, int, str]:
        near = sum(_jaccard(unit.features.title_terms, o.features.title_terms) * len(o.source_indexes) for o in told)
        return (-near, min(unit.day_ordinals, default=10**9), unit.sort_key[0])

    best = min(told, key=rank)
    titles = [_title_and_outlet(items[at]) for at in best.source_indexes]
    own = [pair for pair in titles if title_key(strip_outlet(*pair)) == best.sort_key[0]]
    return display_title(*min(own)) if own else best.title


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one & other else 0.0
