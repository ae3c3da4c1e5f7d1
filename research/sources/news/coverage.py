"""Summary of the news in a set of evidence: stories, outlets, days and conflicting figures.

Other evidence counts if it has a publication day and is no sample. Uses no clock and no model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from research.core.records import (
    Evidence,
    Figure,
    HeadlineTones,
    NewsCoverage,
    OutletSummary,
    Report,
    Story,
    StoryChange,
)
from research.sources.news import story_figures
from research.sources.news.article import Article
from research.sources.news.sentiment import headline_tone
from research.sources.news.stories import StoryCluster, article_outlet, cluster_articles
from research.sources.news.story_matching import match_stories

MAX_STORIES = 400  # stories in a coverage
STALE_AFTER = timedelta(days=7)  # a story without a new article for longer is stale


def build_coverage(evidence: Iterable[Evidence], as_of: datetime) -> NewsCoverage | None:
    """Build the coverage of some evidence with word-count tones; None if none of it is news."""
    relevant = [item for item in evidence if item.kind == "news" or (item.published and not item.sample)]
    if not any(item.kind == "news" for item in relevant):
        return None
    articles = [_to_article(item) for item in relevant]
    clusters = cluster_articles(articles)[:MAX_STORIES]
    days = Counter(moment.day for cluster in clusters for article in cluster.articles if (moment := article.moment))
    return NewsCoverage(
        as_of=as_of.date(),
        stories=tuple(_story_record(cluster, as_of.date()) for cluster in clusters),
        outlets=tuple(_outlet_records(clusters)),
        conflicts=tuple(conflict for cluster in clusters for conflict in story_figures.find_conflicts(cluster)),
        days=tuple(sorted(days.items())),
        undated=sum(article.moment is None for cluster in clusters for article in cluster.articles),
    )


def _story_record(cluster: StoryCluster, as_of: date) -> Story:
    latest = cluster.latest.day if cluster.latest else None
    return Story(
        id=cluster.id,
        headline=cluster.headline,
        evidence=_evidence_ids(cluster),
        outlets=cluster.outlets,
        independent=cluster.independent_count,
        day=cluster.earliest.day if cluster.earliest else None,
        latest=latest,
        stale=bool(latest and as_of - latest > STALE_AFTER),
        tone=headline_tone(cluster.headline),
    )


def _outlet_records(clusters: Sequence[StoryCluster]) -> list[OutletSummary]:
    """Return the outlets, those with most articles first, the unknown outlet last."""
    articles_by_outlet: dict[str, list[tuple[str, date | None]]] = defaultdict(list)
    for cluster in clusters:
        for article in cluster.articles:
            articles_by_outlet[article_outlet(article)].append(
                (cluster.id, article.moment.day if article.moment else None)
            )
    summaries = [
        OutletSummary(
            name=name,
            items=len(entries),
            stories=len({story for story, _ in entries}),
            first=min((day for _, day in entries if day), default=None),
        )
        for name, entries in articles_by_outlet.items()
    ]
    return sorted(summaries, key=lambda o: (not o.name, -o.items, o.name))


def warm_caches(evidence: Evidence) -> None:
    """Fill the caches for the headline and figures of a news item, used by `build_coverage`."""
    article = _to_article(evidence)
    for cluster in cluster_articles([article]):
        headline_tone(cluster.headline)
    story_figures.warm_figure_cache(article)


def apply_tones(coverage: NewsCoverage, tones: HeadlineTones) -> NewsCoverage:
    """Return the coverage with the given tones of its first stories; the others stay rough."""
    padded_tones = (*tones.tones, *(None for _ in coverage.stories[len(tones.tones) :]))
    stories = [
        story.model_copy(update={"tone": tone, "tone_from_words": False}) if tone else story
        for story, tone in zip(coverage.stories, padded_tones, strict=False)
    ]
    author = tones.author if any(not story.tone_from_words for story in stories) else coverage.author
    update = {"stories": tuple(stories), "author": author, "failures": tones.failures}
    return coverage.model_copy(update=update)


def add_changes(
    coverage: NewsCoverage,
    previous: Report,
    new_evidence: Iterable[Evidence],
    known_ids: Container[str],
    expected_ids: frozenset[str],
) -> NewsCoverage:
    """Return the coverage with the changes since the `previous` report.

    `new_evidence` is compared with the report's evidence. A story is new only if one of its
    articles is not in `known_ids`, and gone only if one of its articles is in `expected_ids`, the
    evidence that should have been found again.
    """
    old, new = _cluster_evidence(previous.evidence), _cluster_evidence(new_evidence)
    matches = sorted(match_stories(old, new).items(), key=lambda pair: pair[1])
    story_by_evidence = {ref: story.id for story in coverage.stories for ref in story.evidence}

    def make_change(
        kind: Literal["new", "grown", "gone", "figure"], group: StoryCluster, refs: Sequence[str], **figures: Figure
    ) -> StoryChange:
        story = story_by_evidence.get((*refs, *_evidence_ids(group))[0], group.id)
        return StoryChange(kind=kind, story=story, headline=group.headline, evidence=tuple(refs), **figures)

    def unknown_ids(group: StoryCluster) -> list[str]:
        return [ref for ref in _evidence_ids(group) if ref not in known_ids]

    matched_new = {b for _, b in matches}
    matched_old = {a for a, _ in matches}
    changes = [
        *(make_change("new", g, unknown_ids(g)) for b, g in enumerate(new) if b not in matched_new and unknown_ids(g)),
        *(
            make_change("figure", new[b], (), before=before, after=after)
            for a, b in matches
            for before, after in story_figures.find_changed_figures(old[a], new[b])
        ),
        *(make_change("grown", new[b], unknown_ids(new[b])) for _, b in matches if unknown_ids(new[b])),
        *(
            make_change("gone", group, _evidence_ids(group))
            for a, group in enumerate(old)
            if a not in matched_old and expected_ids.intersection(_evidence_ids(group))
        ),
    ]
    return coverage.model_copy(update={"compared_run": previous.run.id, "changes": tuple(changes)})


def _cluster_evidence(evidence: Iterable[Evidence]) -> tuple[StoryCluster, ...]:
    return cluster_articles([_to_article(e) for e in evidence if e.kind == "news" or e.published])


def _to_article(evidence: Evidence) -> Article:
    moment, day = evidence.published_at, evidence.published
    return Article(
        url=evidence.url,
        title=evidence.title,
        outlet=evidence.publisher,
        published=moment or (datetime.combine(day, time(), UTC) if day else None),
        is_day_only=moment is None and day is not None,
        text="\n".join(p.text for p in evidence.passages if p.origin == "source"),
        evidence_ids=(evidence.id,),
    )


def _evidence_ids(cluster: StoryCluster) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for item in cluster.articles for ref in item.evidence_ids))
