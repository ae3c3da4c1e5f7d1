"""What the news among some evidence come to: stories, who told them, when, and where they disagree.

Of other evidence only what has a day of publication is counted in. Knows no clock and no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time

from research.news import figures
from research.news.items import Item
from research.news.sentiment import sentiment
from research.news.stories import Story as Group
from research.news.stories import stories
from research.news.timeline import timeline
from research.records import Conflict, Coverage, Evidence, Figure, Outlet, Story, Tones

Identity = Callable[[str], str]
MOST = 400  # stories that are kept
CLAUSE = 200  # characters around a figure


def cover(evidence: Iterable[Evidence], as_of: datetime, identity: Identity) -> Coverage | None:
    """The coverage of some evidence, its tones counted roughly; None if none of it is news."""
    items = [_item(one) for one in evidence if one.kind == "news" or one.published]
    if not items:
        return None
    groups = stories(items, identity)[:MOST]
    table = timeline(groups, as_of=as_of, identity=identity)
    rows = {row.story: row for row in table.rows}
    told = []
    for group in groups:
        row = rows[group.id]
        told.append(
            Story(
                id=group.id,
                headline=group.headline,
                evidence=_refs(group),
                outlets=group.outlets,
                independent=group.independent,
                day=row.day,
                latest=row.latest,
                stale=row.stale,
                tone=sentiment(group.headline).tone,
            )
        )
    return Coverage(
        as_of=as_of.date(),
        stories=tuple(told),
        outlets=tuple(Outlet(**outlet.model_dump()) for outlet in table.outlets),
        conflicts=tuple(c for group in groups for c in _conflicts(group, identity)),
        days=table.days,
        undated=table.undated,
    )


def rated(coverage: Coverage, tones: Tones) -> Coverage:
    """The coverage with the tones that somebody gave its stories; the others stay rough."""
    given = (*tones.tones, *(None for _ in coverage.stories[len(tones.tones) :]))
    told = [
        story.model_copy(update={"tone": tone, "rough": False}) if tone else story
        for story, tone in zip(coverage.stories, given, strict=False)
    ]
    author = tones.author if any(not story.rough for story in told) else ""
    update = {"stories": tuple(told), "author": author, "failures": tones.failures}
    return coverage.model_copy(update=update)


def _item(evidence: Evidence) -> Item:
    moment, day = evidence.moment, evidence.published
    return Item(
        url=evidence.url,
        title=evidence.title,
        outlet=evidence.publisher,
        published=moment or (_midnight(day) if day else None),
        published_day_only=moment is None and day is not None,
        text="\n".join(p.text for p in evidence.passages if p.origin == "source"),
        refs=(evidence.id,),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _refs(group: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for item in group.items for ref in item.refs))


def _conflicts(group: Group, identity: Identity) -> list[Conflict]:
    return [
        Conflict(
            story=group.id,
            subject=found.subject,
            unit=found.unit,
            figures=tuple(
                Figure(
                    text=figure.spelling,
                    clause=figure.clause[:CLAUSE],
                    outlet=figure.outlet,
                    evidence=group.items[figure.item].refs[0],
                )
                for figure in found.figures
            ),
        )
        for found in figures.conflicts(group, identity)
    ]
