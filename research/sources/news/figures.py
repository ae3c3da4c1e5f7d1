"""Figures on which the outlets of a story do not agree, such as 12 and 15 dead, and figures that have changed.

`citations.rivals` finds them, as in the sources of other questions; that pieces tell of one event is known here. It knows no
truth: both figures are shown, with who gave them.
"""

from __future__ import annotations

from collections.abc import Iterator

from research.citations.mentions import alike_in_story, mentions
from research.citations.rivals import Given, Origin, differing, given, subject
from research.core.records import Conflict, Figure
from research.sources.news.article import Article
from research.sources.news.stories import Story, outlet_of

READ = 1_500  # characters of an item's text


def conflicts(story: Story) -> tuple[Conflict, ...]:
    """Where two outlets of a story give figures of one thing that do not agree.

    Rounding is agreement (12 and 12.3 million), and so is "over 100" beside 104. An outlet that gives
    several figures of one thing, because it tells how they changed, counts with none of them.
    """
    return tuple(
        Conflict(
            story=story.id,
            subject=subject(group),
            unit=group[0].measure.kind.removeprefix("money "),
            figures=tuple(_figure(one, story) for one in sorted(group, key=_by_value)),
        )
        for group in differing(_given(story), _alike)
    )


def changed(old: Story, new: Story) -> Iterator[tuple[Figure, Figure]]:
    """Figures of one thing of which a story gave one value, and gives another now: the last of each, of which
    the new one was not told before."""
    for group in differing((*_given(old, "old"), *_given(new, "new")), _alike):
        was, now = ([one for one in group if one.order[0] == age] for age in ("old", "new"))
        if was and now and all(one.value != now[-1].value for one in was):
            yield _figure(was[-1], old), _figure(now[-1], new)


def prepare(item: Article) -> None:
    """Reads the figures of an item, so that they are known when its story is compared."""
    mentions(_text(item))


def _text(item: Article) -> str:
    return f"{item.title}\n{item.text[:READ]}"


def _given(story: Story, age: str = "") -> Iterator[Given]:
    """The figures of headlines and texts, by the dates of the items."""
    for at, item in enumerate(story.items):
        day = item.published.date() if item.published else None
        origin = Origin(f"{age} {outlet_of(item) or at}", published=day)
        yield from given(origin, _text(item), (age, at))


def _alike(one: Given, other: Given) -> float:
    """How much of what stands around two figures of one thing is the same."""
    if not alike_in_story(one.mention, other.mention, (one.folded, other.folded)):
        return 0.0
    return (1 + len(one.around & other.around)) / (1 + len(one.around | other.around))


def _by_value(one: Given) -> tuple[tuple[float, ...], tuple[str | int, ...]]:
    return one.value, one.order


def _figure(one: Given, story: Story) -> Figure:
    item = story.items[int(one.order[1])]
    refs = (*item.refs, "")
    return Figure(
        text=one.mention.text, clause=one.clause, outlet=outlet_of(item), evidence=refs[0]
    )
