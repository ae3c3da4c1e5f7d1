"""Stories as dated rows for a table and a chart, and the outlets that told them.

Knows no clock: "as of" is an argument or the newest date there is. Days are those of UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

from research.news.dates import Moment
from research.news.stories import Story, outlet_of
from research.records import Record

STALE = 7  # days behind the newest story, from which one is marked as old


class Row(Record):
    """A story on the day it was first told. Without a day it stands last and `undated` says so."""

    day: date | None
    headline: str
    outlets: tuple[str, ...]
    items: int
    independent: int
    story: str
    latest: date | None = None
    undated: bool = False
    stale: bool = False


class Outlet(Record):
    """What one outlet published: its items, the stories they belong to, the first day."""

    name: str  # "" if unknown
    items: int
    stories: int
    first: date | None = None


class Timeline(Record):
    """Rows by day, the earliest first; the days between with how many items each has, for a chart.

    `as_of` is the day from which age counts; None if nothing is dated and no day was given.
    """

    rows: tuple[Row, ...]
    days: tuple[tuple[date, int], ...]
    outlets: tuple[Outlet, ...]
    as_of: date | None
    undated: int = 0  # items


def timeline(
    stories: Iterable[Story], *, as_of: datetime | None = None, stale_after: int = STALE
) -> Timeline:
    """The rows, days and outlets of some stories.

    A story is stale if its latest item is more than `stale_after` days older than `as_of`, or, without
    one, than the newest item of all.
    """
    told = tuple(stories)
    newest = max((story.latest.day for story in told if story.latest), default=None)
    upon = as_of.date() if as_of else newest
    rows = sorted((_row(story, upon, stale_after) for story in told), key=_order)
    dated = [item.moment for story in told for item in story.items]
    return Timeline(
        rows=tuple(rows),
        days=_days(dated),
        outlets=_outlets(told),
        as_of=upon,
        undated=sum(moment is None for moment in dated),
    )


def _row(story: Story, upon: date | None, stale_after: int) -> Row:
    latest = story.latest.day if story.latest else None
    return Row(
        day=story.earliest.day if story.earliest else None,
        headline=story.headline,
        outlets=story.outlets,
        items=len(story.items),
        independent=story.independent,
        story=story.id,
        latest=latest,
        undated=story.earliest is None,
        stale=bool(upon and latest and upon - latest > timedelta(days=stale_after)),
    )


def _order(row: Row) -> tuple[bool, date, int, str, str]:
    return (row.undated, row.day or date.max, -row.items, row.headline, row.story)


def _days(dated: Sequence[Moment | None]) -> tuple[tuple[date, int], ...]:
    """Each day on which something was published, with how much."""
    counts: dict[date, int] = {}
    for moment in dated:
        if moment:
            counts[moment.day] = counts.get(moment.day, 0) + 1
    return tuple(sorted(counts.items()))


def _outlets(stories: Sequence[Story]) -> tuple[Outlet, ...]:
    """The outlets, those with most items first; the unknown one last."""
    items: dict[str, list[tuple[str, Moment | None]]] = {}
    for story in stories:
        for item in story.items:
            items.setdefault(outlet_of(item), []).append((story.id, item.moment))
    made = [
        Outlet(
            name=name,
            items=len(told),
            stories=len({story for story, _ in told}),
            first=min((moment.day for _, moment in told if moment), default=None),
        )
        for name, told in items.items()
    ]
    return tuple(sorted(made, key=lambda o: (not o.name, -o.items, o.name)))
