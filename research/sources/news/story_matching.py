"""Matching of earlier stories to later ones.

Two stories match if they share an address, or if their articles form one story when clustered
together; a new headline or a new article does not make a new story.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from research.core.urls import url_identity
from research.sources.news.stories import StoryCluster, cluster_articles


def match_stories(before: Sequence[StoryCluster], after: Sequence[StoryCluster]) -> dict[int, int]:
    """Map indexes of earlier stories to indexes of later ones, one to one, best matches first."""
    scores: Counter[tuple[int, int]] = Counter()
    indexes_by_url: dict[str, list[int]] = defaultdict(list)
    for index, story in enumerate(after):
        for key in _story_urls(story):
            indexes_by_url[key].append(index)
    for index, story in enumerate(before):
        for key in _story_urls(story):
            scores.update((index, later) for later in indexes_by_url[key])
    articles = [(index, item) for index, story in enumerate((*before, *after)) for item in story.articles]
    for cluster in cluster_articles([item for _, item in articles]):
        owners = {articles[index][0] for index in cluster.source_indexes}
        old, new = (sorted(o for o in owners if (o < len(before)) is earlier) for earlier in (True, False))
        scores.update(dict.fromkeys(((a, b - len(before)) for a in old for b in new), 0))
    ranked = sorted(scores.items(), key=lambda e: (-e[1], before[e[0][0]].id, after[e[0][1]].id))
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for (a, b), _ in ranked:
        if a not in pairs and b not in used:
            pairs[a] = b
            used.add(b)
    return pairs


def _story_urls(story: StoryCluster) -> set[str]:
    return {key for item in story.articles if (key := url_identity(item.url))}
