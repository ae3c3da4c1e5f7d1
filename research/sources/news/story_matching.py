"""Which stories of an earlier set are those of a later one.

A story is the same one if it shares an address with an earlier story, or if the pieces of both are of one story
when they are put together. So neither a new headline nor a new piece makes a new story. Knows no clock and no storage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from research.core.urls import url_identity
from research.sources.news.stories import StoryCluster, cluster_articles


def match_stories(before: Sequence[StoryCluster], after: Sequence[StoryCluster]) -> dict[int, int]:
    """Places in the earlier list to places in the later one; each at most once, the surest first."""
    scores: Counter[tuple[int, int]] = Counter()
    homes: dict[str, list[int]] = defaultdict(list)
    for at, story in enumerate(after):
        for key in _story_urls(story):
            homes[key].append(at)
    for at, story in enumerate(before):
        for key in _story_urls(story):
            scores.update((at, home) for home in homes[key])
    told = [(at, item) for at, story in enumerate((*before, *after)) for item in story.articles]
    for joint in cluster_articles([item for _, item in told]):
        owners = {told[at][0] for at in joint.source_indexes}
        old, new = (sorted(o for o in owners if (o < len(before)) is earlier) for earlier in (True, False))  # fmt: skip
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
