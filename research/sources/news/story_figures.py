"""Figures on which the outlets of a story do not agree, such as 12 and 15 dead, and figures that have changed.

`citations.rivals` finds them, as in the sources of other questions; that pieces tell of one event is known here. It knows no
truth: both figures are shown, with who gave them.
"""

from __future__ import annotations

from collections.abc import Iterator

from research.citations.figure_comparison import (
    FigureOrigin,
    SourcedFigure,
    describe_subject,
    find_figures,
    group_disagreements,
)
from research.citations.mentions import find_mentions, is_same_quantity_in_story
from research.core.records import Figure, StoryConflict
from research.sources.news.article import Article
from research.sources.news.stories import StoryCluster, article_outlet

MAX_TEXT_CHARS = 1_500  # characters of an item's text


def find_conflicts(story: StoryCluster) -> tuple[StoryConflict, ...]:
    """Where two outlets of a story give figures of one thing that do not agree.

    Rounding is agreement (12 and 12.3 million), and so is "over 100" beside 104. An outlet that gives
    several figures of one thing, because it tells how they changed, counts with none of them.
    """
    return tuple(
        StoryConflict(
            story=story.id,
            subject=describe_subject(group),
            unit=group[0].measure.kind.removeprefix("money "),
            figures=tuple(_figure_record(one, story) for one in sorted(group, key=_value_order)),
        )
        for group in group_disagreements(_story_figures(story), _similarity)
    )


def find_changed_figures(old: StoryCluster, new: StoryCluster) -> Iterator[tuple[Figure, Figure]]:
    """Figures of one thing of which a story gave one value, and gives another now: the last of each, of which
    the new one was not told before."""
    for group in group_disagreements((*_story_figures(old, "old"), *_story_figures(new, "new")), _similarity):
        was, now = ([one for one in group if one.position[0] == age] for age in ("old", "new"))
        if was and now and all(one.sort_key != now[-1].sort_key for one in was):
            yield _figure_record(was[-1], old), _figure_record(now[-1], new)


def precompute_figures(item: Article) -> None:
    """Reads the figures of an item, so that they are known when its story is compared."""
    find_mentions(_article_text(item))


def _article_text(item: Article) -> str:
    return f"{item.title}\n{item.text[:MAX_TEXT_CHARS]}"


def _story_figures(story: StoryCluster, age: str = "") -> Iterator[SourcedFigure]:
    """The figures of headlines and texts, by the dates of the items."""
    for at, item in enumerate(story.articles):
        day = item.published.date() if item.published else None
        origin = FigureOrigin(f"{age} {article_outlet(item) or at}", published=day)
        yield from find_figures(origin, _article_text(item), (age, at))


def _similarity(one: SourcedFigure, other: SourcedFigure) -> float:
    """How much of what stands around two figures of one thing is the same."""
    if not is_same_quantity_in_story(one.mention, other.mention, (one.folded_text, other.folded_text)):
        return 0.0
    return (1 + len(one.context_words & other.context_words)) / (1 + len(one.context_words | other.context_words))


def _value_order(one: SourcedFigure) -> tuple[tuple[float, ...], tuple[str | int, ...]]:
    return one.sort_key, one.position


def _figure_record(one: SourcedFigure, story: StoryCluster) -> Figure:
    item = story.articles[int(one.position[1])]
    refs = (*item.evidence_ids, "")
    return Figure(text=one.mention.text, clause=one.clause, outlet=article_outlet(item), evidence=refs[0])
