"""Clustering of news articles into stories: one event, reported by one outlet or many.

First, articles of one address are merged; then articles about one event, in one language or two,
form a story. Clusters are joined if the mean probability of their pairs is high enough and no pair
is implausible, so that a chain of similar articles cannot unite two events. The result does not
depend on the order of the articles. Uses no clock.
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
from research.sources.news.similarity import ArticleFeatures, SimilarityModel, extract_features, weights_name
from research.sources.news.syndication import MAX_COMPARED_CHARS, count_independent
from research.sources.news.titles import display_title, strip_outlet, title_key

MAX_GAP_DAYS = 7  # articles further apart are about different events
MIN_MEAN_PROBABILITY = 0.25  # of the pairs of two clusters to be joined
COPY_PROBABILITY = 0.9  # of two articles with nearly the same text
MIN_PAIR_PROBABILITY = 0.02  # of every pair in a story
MIN_TITLE_PROBABILITY = 0.1  # the same for title-only articles in one language
MAX_COMPARED_TITLES = 20  # compared per cluster
MAX_BUCKET_SIZE = 60  # articles sharing a word; in larger buckets only neighbours are compared
NEIGHBOUR_COUNT = 12
RAREST_WORD_COUNT = 14  # words of an article used to find candidates

T = TypeVar("T")


class StoryCluster(Record):
    """One event and the articles about it.

    `articles` has one article per address, earliest first; `source_indexes` are the positions of
    all its articles in the input, duplicates included. `independent_count` counts articles that are
    no copies: one per agency, outlet and text.
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
    """Group articles into stories, the latest first, those without a date last."""
    merged = _merge_duplicates(items)
    groups = _LinkageClusterer(merged).cluster()
    clusters = [_build_cluster([merged[index] for index in group], items) for group in groups]
    return tuple(sorted(clusters, key=_story_order))


def _story_order(story: StoryCluster) -> tuple[float, int, str, str]:
    latest = story.latest.utc.timestamp() if story.latest else -math.inf
    return (-latest, -len(story.articles), story.headline, story.id)


# Merging by address and headline


@dataclass(frozen=True)
class _MergedArticle:
    """Articles that are certainly the same: of one address, or of one headline at one time."""

    title: str
    sort_key: tuple[str, str]
    source_indexes: tuple[int, ...]
    day_ordinals: tuple[int, ...]  # proleptic Gregorian ordinals, sorted
    text: str

    @cached_property
    def features(self) -> ArticleFeatures:
        """Features of the headline and the text, for comparison."""
        return extract_features(self.title, self.text)

    @cached_property
    def text_shingles(self) -> frozenset[int]:
        """Hashes of the overlapping word sequences of the text."""
        return shingles(self.text[:MAX_COMPARED_CHARS])


def _merge_duplicates(items: Sequence[Article]) -> list[_MergedArticle]:
    by_address: dict[str, list[int]] = defaultdict(list)
    for index, item in enumerate(items):
        by_address[_article_url(item) or f"\x00{index}"].append(index)
    by_title: dict[str, list[list[int]]] = defaultdict(list)
    untitled: list[list[int]] = []
    for members in by_address.values():
        key = title_key(_common_title(items, members))
        (by_title[key] if key else untitled).append(members)
    merged = [_build_merged_article(items, group) for group in untitled]
    for groups in by_title.values():
        merged += [_build_merged_article(items, group) for group in _split_by_gap(items, groups)]
    return sorted(merged, key=lambda unit: (unit.sort_key[0], unit.day_ordinals, unit.sort_key))


def _article_url(item: Article) -> str:
    """Return the identity of an article's address, or "" if it is only a site's front page."""
    identity = url_identity(item.url)
    return identity if re.search(r"[^/:]/+[^/]|\?", identity) else ""


def _common_title(items: Sequence[Article], indexes: Iterable[int]) -> str:
    """Return the most common headline of articles of one address, or the beginning of the text."""
    titles = Counter(_title_and_outlet(items[index]) for index in indexes)
    title, outlet = min(titles, key=lambda t: (not t[0], -titles[t], -len(t[0]), t))
    return strip_outlet(title, outlet)


def _title_and_outlet(item: Article) -> tuple[str, str]:
    title = " ".join(item.title.split())[:300]
    if title:
        return title, item.outlet
    text = " ".join(item.text[:400].split())
    return text[: next(find_sentence_ends(text, 0, 120), 120)], ""


def _split_by_gap(items: Sequence[Article], groups: list[list[int]]) -> Iterator[list[int]]:
    """Split articles of one headline where days pass between them, as with a weekly forecast."""
    dated = sorted(
        (ordinals[0], min(indexes), indexes) for indexes in groups if (ordinals := _day_ordinals(items, indexes))
    )
    undated = [index for group in groups if not _day_ordinals(items, group) for index in group]
    current = undated
    last_day: int | None = None
    for day, _, group in dated:
        if last_day is not None and day - last_day >= MAX_GAP_DAYS:
            yield current
            current = []
        current = current + group
        last_day = max(_day_ordinals(items, current))
    if current:
        yield current


def _day_ordinals(items: Sequence[Article], indexes: Iterable[int]) -> list[int]:
    return sorted(p.toordinal() for at in indexes if (p := items[at].published))


def _build_merged_article(items: Sequence[Article], indexes: list[int]) -> _MergedArticle:
    text = max((items[index].text for index in indexes), key=lambda t: (len(t), t))
    keys = (f"{items[index].url}\x1f{items[index].outlet}\x1f{items[index].title}" for index in indexes)
    title = _common_title(items, indexes)
    return _MergedArticle(
        title,
        (title_key(title), min(keys)),
        tuple(sorted(indexes)),
        tuple(_day_ordinals(items, indexes)),
        text[:4000],
    )


# Clustering


class _LinkageClusterer:
    """Average-linkage clustering over pairs that share rare words, most probable pairs first."""

    def __init__(self, merged: list[_MergedArticle]) -> None:
        self._merged = merged
        self._similarity = SimilarityModel([unit.features for unit in merged])
        self._probabilities: dict[tuple[int, int], float] = {}

    def cluster(self) -> list[tuple[int, ...]]:
        """Return the clusters as indexes into the merged articles."""
        cluster_of: dict[int, tuple[int, ...]] = {at: (at,) for at in range(len(self._merged))}
        for first, second in self._ranked_pairs():
            one, other = cluster_of[first], cluster_of[second]
            if one is not other and self._should_merge(one, other):
                joined = tuple(sorted(one + other))
                cluster_of.update(dict.fromkeys(joined, joined))
        return sorted(set(cluster_of.values()))

    def _ranked_pairs(self) -> list[tuple[int, int]]:
        scored = [(-self._probability(*pair), pair) for pair in self._candidate_pairs()]
        return [pair for negated, pair in sorted(scored) if -negated >= MIN_MEAN_PROBABILITY]

    def _candidate_pairs(self) -> list[tuple[int, int]]:
        """Return pairs that share two of their rarest words, names or figures."""
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
        """Return the probability that two merged articles are about one event."""
        one, other = self._merged[first], self._merged[second]
        gap_days = _days_apart(one.day_ordinals, other.day_ordinals)
        if gap_days >= MAX_GAP_DAYS:
            return 0.0
        days = float(gap_days) if one.day_ordinals and other.day_ordinals else None
        probability = self._similarity.same_event_probability(first, second, days)
        if one.text_shingles and other.text_shingles and is_near_duplicate(one.text_shingles, other.text_shingles):
            return max(probability, COPY_PROBABILITY)
        return (
            0.0
            if probability < MIN_TITLE_PROBABILITY and weights_name(one.features, other.features) == "titles"
            else probability
        )

    def _should_merge(self, first: tuple[int, ...], second: tuple[int, ...]) -> bool:
        probabilities = []
        for a, b in product(first[:MAX_COMPARED_TITLES], second[:MAX_COMPARED_TITLES]):
            probabilities.append(self._probability(a, b))
            if probabilities[-1] < MIN_PAIR_PROBABILITY:
                return False
        return sum(probabilities) >= MIN_MEAN_PROBABILITY * len(probabilities)


def _days_apart(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Return the least difference between two sorted lists of days; 0 if one is empty."""
    if not first or not second:
        return 0
    gaps = []
    for day in first:
        position = bisect_left(second, day)
        gaps += [abs(day - neighbour) for neighbour in second[max(0, position - 1) : position + 1]]
    return min(gaps)


def _pairs_sharing_words(word_sets: Sequence[Iterable[T]], rarity: Callable[[T], float]) -> Iterator[tuple[int, int]]:
    """Yield pairs that share two of their rarest words, or one where an article has only one."""
    index: dict[T, list[int]] = defaultdict(list)
    sizes = []
    for position, words in enumerate(word_sets):
        rarest = sorted(words, key=lambda word: (-rarity(word), word))[:RAREST_WORD_COUNT]
        sizes.append(len(rarest))
        for word in rarest:
            index[word].append(position)
    shared: Counter[tuple[int, int]] = Counter()
    for bucket in index.values():
        if len(bucket) <= MAX_BUCKET_SIZE:
            shared.update(combinations(bucket, 2))
        else:  # articles are sorted by headline, so near-copies are neighbours
            for i, first in enumerate(bucket):
                shared.update((first, second) for second in bucket[i + 1 : i + 1 + NEIGHBOUR_COUNT])
    return (pair for pair, n in shared.items() if n >= min(2, sizes[pair[0]], sizes[pair[1]]))


# Building of stories


def _build_cluster(merged_articles: list[_MergedArticle], items: Sequence[Article]) -> StoryCluster:
    indexes = sorted(index for unit in merged_articles for index in unit.source_indexes)
    articles = _merge_by_url([items[index] for index in indexes])
    moments = [item.moment for item in articles if item.moment]
    names = {article_outlet(item): None for item in articles}
    return StoryCluster(
        id=_cluster_id(articles),
        headline=_representative_title(merged_articles, items),
        articles=tuple(articles),
        source_indexes=tuple(indexes),
        outlets=tuple(name for name in names if name),
        independent_count=count_independent(articles, [article_outlet(item) for item in articles]),
        earliest=min(moments, default=None),
        latest=max(moments, default=None),
    )


def article_outlet(item: Article) -> str:
    """Return the publisher of an article: its outlet, or the host of its address."""
    if item.outlet.strip():
        return " ".join(item.outlet.split())
    return url_host(canonical_url(item.url))


def _merge_by_url(items: Sequence[Article]) -> list[Article]:
    """Merge articles of one address, combining their fields; earliest first."""
    groups: dict[str, list[Article]] = defaultdict(list)
    for index, item in enumerate(items):
        groups[_article_url(item) or f"\x00{index}"].append(item)
    merged = [_merge_same_url(group) if len(group) > 1 else group[0] for group in groups.values()]
    return sorted(merged, key=lambda item: (_time_order(item), item.url, item.outlet, item.title, item.text))


def _merge_same_url(same: list[Article]) -> Article:
    first = min(same, key=_time_order)

    def longest(name: str) -> str:
        return str(max((getattr(item, name) for item in same), key=lambda s: (len(s), s)))

    return Article(
        **{name: longest(name) for name in ("title", "outlet", "text")},
        url=min(item.url for item in same),
        published=first.published,
        is_day_only=first.is_day_only,
        evidence_ids=tuple(dict.fromkeys(evidence_id for item in same for evidence_id in item.evidence_ids)),
    )


_LATEST_TIME = datetime.max.replace(tzinfo=UTC)


def _time_order(item: Article) -> tuple[datetime, bool]:
    return (item.published or _LATEST_TIME, item.is_day_only)


def _cluster_id(articles: Sequence[Article]) -> str:
    """Return an id derived from the earliest article, which later articles do not change."""
    first = min(articles, key=lambda i: (_time_order(i), _article_url(i), i.title, i.outlet))
    identity = _article_url(first) or f"{title_key(strip_outlet(first.title, first.outlet))}\x1f{first.outlet}"
    return "s" + fingerprint(identity, str(first.published or "") if not identity.strip("\x1f") else "")


def _representative_title(merged: list[_MergedArticle], items: Sequence[Article]) -> str:
    """Return the headline most similar to the others; the earliest, then alphabetical, among
    equals.
    """
    titled = [unit for unit in merged if unit.title][:MAX_COMPARED_TITLES]
    if not titled:
        return ""

    def rank(unit: _MergedArticle) -> tuple[float, int, str]:
        similarity = sum(
            _jaccard(unit.features.title_terms, other.features.title_terms) * len(other.source_indexes)
            for other in titled
        )
        return (-similarity, min(unit.day_ordinals, default=10**9), unit.sort_key[0])

    best = min(titled, key=rank)
    titles = [_title_and_outlet(items[index]) for index in best.source_indexes]
    matching = [pair for pair in titles if title_key(strip_outlet(*pair)) == best.sort_key[0]]
    return display_title(*min(matching)) if matching else best.title


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first & second else 0.0
