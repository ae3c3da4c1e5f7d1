"""What the news among some evidence come to: stories, who told them, when, and where they disagree.

Of other evidence only what has a day of publication is counted in, and nothing of the samples that
ship with the program. Knows no clock and no model.
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
from research.sources.news.stories import StoryCluster as Group
from research.sources.news.stories import article_outlet, cluster_articles
from research.sources.news.story_matching import match_stories

MAX_STORIES = 400  # stories that are kept
STALE_AFTER = timedelta(days=7)  # without a piece, after which a story is old


def build_coverage(evidence: Iterable[Evidence], as_of: datetime) -> NewsCoverage | None:
    """The coverage of some evidence, its tones counted roughly; None if none of it is news."""
    told = [one for one in evidence if one.kind == "news" or (one.published and not one.sample)]
    if not any(one.kind == "news" for one in told):
        return None
    items = [_to_article(one) for one in told]
    groups = cluster_articles(items)[:MAX_STORIES]
    days = Counter(m.day for group in groups for item in group.articles if (m := item.moment))
    return NewsCoverage(
        as_of=as_of.date(),
        stories=tuple(_story_record(group, as_of.date()) for group in groups),
        outlets=tuple(_outlet_records(groups)),
        conflicts=tuple(c for group in groups for c in story_figures.find_conflicts(group)),
        days=tuple(sorted(days.items())),
        undated=sum(item.moment is None for group in groups for item in group.articles),
    )


def _story_record(cluster: Group, as_of: date) -> Story:
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


def _outlet_records(clusters: Sequence[Group]) -> list[OutletSummary]:
    """The outlets, those with most pieces first; the unknown one last."""
    told: dict[str, list[tuple[str, date | None]]] = defaultdict(list)
    for group in clusters:
        for item in group.articles:
            told[article_outlet(item)].append((group.id, item.moment.day if item.moment else None))
    made = [
        OutletSummary(
            name=name,
            items=len(pieces),
            stories=len({story for story, _ in pieces}),
            first=min((day for _, day in pieces if day), default=None),
        )
        for name, pieces in told.items()
    ]
    return sorted(made, key=lambda o: (not o.name, -o.items, o.name))


def precompute_evidence(evidence: Evidence) -> None:
    """Reads the headline and the figures of a piece of news, so that `cover` finds them read."""
    item = _to_article(evidence)
    for group in cluster_articles([item]):
        headline_tone(group.headline)
    story_figures.precompute_figures(item)


def apply_tones(coverage: NewsCoverage, tones: HeadlineTones) -> NewsCoverage:
    """The coverage with the tones that somebody gave its stories; the others stay rough."""
    given = (*tones.tones, *(None for _ in coverage.stories[len(tones.tones) :]))
    told = [
        story.model_copy(update={"tone": tone, "rough": False}) if tone else story
        for story, tone in zip(coverage.stories, given, strict=False)
    ]
    author = tones.author if any(not story.rough for story in told) else coverage.author
    update = {"stories": tuple(told), "author": author, "failures": tones.failures}
    return coverage.model_copy(update=update)


def add_changes(
    coverage: NewsCoverage,
    previous: Report,
    new_evidence: Iterable[Evidence],
    known_ids: Container[str],
    expected_ids: frozenset[str],
) -> NewsCoverage:
    """The coverage with what has changed since the report of `before`.

    What was found `now` is compared. A story is new only if a piece of it is not `known`, and gone
    only if a piece of it was `expected` to be found again.
    """
    old, new = _cluster_evidence(previous.evidence), _cluster_evidence(new_evidence)
    kept = sorted(match_stories(old, new).items(), key=lambda pair: pair[1])
    homes = {ref: story.id for story in coverage.stories for ref in story.evidence}

    def told(
        kind: Literal["new", "grown", "gone", "figure"],
        group: Group,
        refs: Sequence[str],
        **figures: Figure,
    ) -> StoryChange:
        story = homes.get((*refs, *_evidence_ids(group))[0], group.id)
        return StoryChange(kind=kind, story=story, headline=group.headline, evidence=tuple(refs), **figures)

    def unknown(group: Group) -> list[str]:
        return [ref for ref in _evidence_ids(group) if ref not in known_ids]

    found = {b for _, b in kept}
    still = {a for a, _ in kept}
    changes = [
        *(told("new", g, unknown(g)) for b, g in enumerate(new) if b not in found and unknown(g)),
        *(
            told("figure", new[b], (), before=was, after=now_)
            for a, b in kept
            for was, now_ in story_figures.find_changed_figures(old[a], new[b])
        ),
        *(told("grown", new[b], unknown(new[b])) for _, b in kept if unknown(new[b])),
        *(
            told("gone", group, _evidence_ids(group))
            for a, group in enumerate(old)
            if a not in still and expected_ids.intersection(_evidence_ids(group))
        ),
    ]
    return coverage.model_copy(update={"compared": previous.run.id, "changes": tuple(changes)})


def _cluster_evidence(evidence: Iterable[Evidence]) -> tuple[Group, ...]:
    return cluster_articles([_to_article(e) for e in evidence if e.kind == "news" or e.published])


def _to_article(evidence: Evidence) -> Article:
    moment, day = evidence.moment, evidence.published
    return Article(
        url=evidence.url,
        title=evidence.title,
        outlet=evidence.publisher,
        published=moment or (_midnight(day) if day else None),
        is_day_only=moment is None and day is not None,
        text="\n".join(p.text for p in evidence.passages if p.origin == "source"),
        evidence_ids=(evidence.id,),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _evidence_ids(cluster: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for item in cluster.articles for ref in item.evidence_ids))
