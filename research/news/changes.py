"""What is new against an earlier set of stories: new ones, gone ones, figures that have changed.

A story keeps its id over time: it is the same one if it shares an address with an earlier story, or if the
pieces of both are of one story when they are put together. So neither a new headline nor a new piece makes a
new story. Knows no clock and no storage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime

from research.news.figures import Figure, changed
from research.news.stories import Story, stories
from research.records import Record
from research.urls import url_identity


class Changed(Record):
    """A figure of a story that was one and is another: 12 dead, then 15."""

    story: str
    headline: str
    before: Figure
    after: Figure


class Changes(Record):
    """What differs between two sets of stories.

    `gone` are stories that no item tells any more though their time is still looked at; `past` are
    those that merely lie before it. `kept` are pairs of ids, before and after; `grown` are the stories
    that have new items.
    """

    new: tuple[Story, ...] = ()
    gone: tuple[Story, ...] = ()
    past: tuple[Story, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    grown: tuple[Story, ...] = ()
    figures: tuple[Changed, ...] = ()


def changes(
    before: Sequence[Story], after: Sequence[Story], *, since: datetime | None = None
) -> Changes:
    """Compares an earlier set with a later one. `since` is where the later one's period begins."""
    pairs = matched(before, after)
    found = set(pairs.values())
    lost = [story for at, story in enumerate(before) if at not in pairs]
    past = [s for s in lost if since and s.latest and s.latest.at < since]
    both = [(before[a], after[b]) for a, b in sorted(pairs.items(), key=lambda p: p[1])]
    return Changes(
        new=tuple(story for at, story in enumerate(after) if at not in found),
        gone=tuple(story for story in lost if story not in past),
        past=tuple(past),
        kept=tuple((old.id, new.id) for old, new in both),
        grown=tuple(new for old, new in both if _keys(new) - _keys(old)),
        figures=tuple(
            Changed(story=new.id, headline=new.headline, before=was, after=now)
            for old, new in both
            for was, now in changed(old, new)
        ),
    )


def carried(before: Sequence[Story], after: Sequence[Story]) -> tuple[Story, ...]:
    """The later stories with the ids that they had before, if they were there."""
    pairs = {b: before[a].id for a, b in matched(before, after).items()}
    taken = set(pairs.values())
    return tuple(
        story.model_copy(update={"id": pairs.get(at, _free(story.id, taken))})
        for at, story in enumerate(after)
    )


def _free(own: str, taken: set[str]) -> str:
    """A new story's id, which an older story may have kept though its first item has left it."""
    while own in taken:
        own += "n"
    taken.add(own)
    return own


def matched(before: Sequence[Story], after: Sequence[Story]) -> dict[int, int]:
    """Places in the earlier list to places in the later one; each at most once, the surest first."""
    scores: Counter[tuple[int, int]] = Counter()
    homes: dict[str, list[int]] = defaultdict(list)
    for at, story in enumerate(after):
        for key in _keys(story):
            homes[key].append(at)
    for at, story in enumerate(before):
        for key in _keys(story):
            scores.update((at, home) for home in homes[key])
    told = [(at, item) for at, story in enumerate((*before, *after)) for item in story.items]
    for joint in stories([item for _, item in told]):
        owners = {told[at][0] for at in joint.indexes}
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


def _keys(story: Story) -> set[str]:
    return {key for item in story.items if (key := url_identity(item.url))}
