"""What the news among some evidence come to: stories, who told them, when, and where they disagree.

Of other evidence only what has a day of publication is counted in, and nothing of the samples that
ship with the program. Knows no clock and no model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from research.core.records import Change, Coverage, Evidence, Figure, Outlet, Report, Story, Tones
from research.sources.news import figures
from research.sources.news.article import Article
from research.sources.news.changes import matched
from research.sources.news.sentiment import tone
from research.sources.news.stories import Story as Group
from research.sources.news.stories import outlet_of, stories

MOST = 400  # stories that are kept
STALE = timedelta(days=7)  # without a piece, after which a story is old


def cover(evidence: Iterable[Evidence], as_of: datetime) -> Coverage | None:
    """The coverage of some evidence, its tones counted roughly; None if none of it is news."""
    told = [one for one in evidence if one.kind == "news" or (one.published and not one.sample)]
    if not any(one.kind == "news" for one in told):
        return None
    items = [_item(one) for one in told]
    groups = stories(items)[:MOST]
    days = Counter(m.day for group in groups for item in group.items if (m := item.moment))
    return Coverage(
        as_of=as_of.date(),
        stories=tuple(_story(group, as_of.date()) for group in groups),
        outlets=tuple(_outlets(groups)),
        conflicts=tuple(c for group in groups for c in figures.conflicts(group)),
        days=tuple(sorted(days.items())),
        undated=sum(item.moment is None for group in groups for item in group.items),
    )


def _story(group: Group, upon: date) -> Story:
    latest = group.latest.day if group.latest else None
    return Story(
        id=group.id,
        headline=group.headline,
        evidence=_refs(group),
        outlets=group.outlets,
        independent=group.independent,
        day=group.earliest.day if group.earliest else None,
        latest=latest,
        stale=bool(latest and upon - latest > STALE),
        tone=tone(group.headline),
    )


def _outlets(groups: Sequence[Group]) -> list[Outlet]:
    """The outlets, those with most pieces first; the unknown one last."""
    told: dict[str, list[tuple[str, date | None]]] = defaultdict(list)
    for group in groups:
        for item in group.items:
            told[outlet_of(item)].append((group.id, item.moment.day if item.moment else None))
    made = [
        Outlet(
            name=name,
            items=len(pieces),
            stories=len({story for story, _ in pieces}),
            first=min((day for _, day in pieces if day), default=None),
        )
        for name, pieces in told.items()
    ]
    return sorted(made, key=lambda o: (not o.name, -o.items, o.name))


def read_ahead(evidence: Evidence) -> None:
    """Reads the headline and the figures of a piece of news, so that `cover` finds them read."""
    item = _item(evidence)
    for group in stories([item]):
        tone(group.headline)
    figures.prepare(item)


def rated(coverage: Coverage, tones: Tones) -> Coverage:
    """The coverage with the tones that somebody gave its stories; the others stay rough."""
    given = (*tones.tones, *(None for _ in coverage.stories[len(tones.tones) :]))
    told = [
        story.model_copy(update={"tone": tone, "rough": False}) if tone else story
        for story, tone in zip(coverage.stories, given, strict=False)
    ]
    author = tones.author if any(not story.rough for story in told) else coverage.author
    update = {"stories": tuple(told), "author": author, "failures": tones.failures}
    return coverage.model_copy(update=update)


def compared(
    coverage: Coverage,
    before: Report,
    now: Iterable[Evidence],
    known: Container[str],
    expected: frozenset[str],
) -> Coverage:
    """The coverage with what has changed since the report of `before`.

    What was found `now` is compared. A story is new only if a piece of it is not `known`, and gone
    only if a piece of it was `expected` to be found again.
    """
    old, new = _groups(before.evidence), _groups(now)
    kept = sorted(matched(old, new).items(), key=lambda pair: pair[1])
    homes = {ref: story.id for story in coverage.stories for ref in story.evidence}

    def told(
        kind: Literal["new", "grown", "gone", "figure"],
        group: Group,
        refs: Sequence[str],
        **figures: Figure,
    ) -> Change:
        story = homes.get((*refs, *_refs(group))[0], group.id)
        return Change(
            kind=kind, story=story, headline=group.headline, evidence=tuple(refs), **figures
        )

    def unknown(group: Group) -> list[str]:
        return [ref for ref in _refs(group) if ref not in known]

    found = {b for _, b in kept}
    still = {a for a, _ in kept}
    changes = [
        *(told("new", g, unknown(g)) for b, g in enumerate(new) if b not in found and unknown(g)),
        *(
            told("figure", new[b], (), before=was, after=now_)
            for a, b in kept
            for was, now_ in figures.changed(old[a], new[b])
        ),
        *(told("grown", new[b], unknown(new[b])) for _, b in kept if unknown(new[b])),
        *(
            told("gone", group, _refs(group))
            for a, group in enumerate(old)
            if a not in still and expected.intersection(_refs(group))
        ),
    ]
    return coverage.model_copy(update={"compared": before.run.id, "changes": tuple(changes)})


def _groups(evidence: Iterable[Evidence]) -> tuple[Group, ...]:
    return stories([_item(e) for e in evidence if e.kind == "news" or e.published])


def _item(evidence: Evidence) -> Article:
    moment, day = evidence.moment, evidence.published
    return Article(
        url=evidence.url,
        title=evidence.title,
        outlet=evidence.publisher,
        published=moment or (_midnight(day) if day else None),
        day_only=moment is None and day is not None,
        text="\n".join(p.text for p in evidence.passages if p.origin == "source"),
        refs=(evidence.id,),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _refs(group: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for item in group.items for ref in item.refs))
