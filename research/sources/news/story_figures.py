"""Figures on which the outlets of a story disagree, such as 12 and 15 dead, and changed figures.

`research.citations.figure_comparison` finds them; here all articles are known to be about one
event. Both figures are shown with their outlets; none is judged to be true.
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
from research.citations.mention_comparison import is_same_quantity_in_story
from research.citations.mentions import find_mentions
from research.core.records import Figure, StoryConflict
from research.sources.news.article import Article
from research.sources.news.stories import StoryCluster, article_outlet

MAX_TEXT_CHARS = 1_500  # characters used of an article's text


def find_conflicts(story: StoryCluster) -> tuple[StoryConflict, ...]:
    """Return figures of one quantity on which two outlets of a story disagree.

    Rounding is agreement (12 and 12.3 million), and so is "over 100" beside 104. An outlet that
    gives several figures of one quantity, because it reports how they changed, is left out.
    """
    return tuple(
        StoryConflict(
            story=story.id,
            subject=describe_subject(group),
            unit=group[0].measure.kind.removeprefix("money "),
            figures=tuple(_figure_record(figure, story) for figure in sorted(group, key=_value_order)),
        )
        for group in group_disagreements(_story_figures(story), _similarity)
    )


def find_changed_figures(old: StoryCluster, new: StoryCluster) -> Iterator[tuple[Figure, Figure]]:
    """Yield pairs of old and new figures where a story now gives a value that it did not give
    before.

    Each pair has the last figure of the old and of the new story.
    """
    for group in group_disagreements((*_story_figures(old, "old"), *_story_figures(new, "new")), _similarity):
        old_figures, new_figures = ([figure for figure in group if figure.position[0] == age] for age in ("old", "new"))
        if old_figures and new_figures and all(figure.sort_key != new_figures[-1].sort_key for figure in old_figures):
            yield _figure_record(old_figures[-1], old), _figure_record(new_figures[-1], new)


def warm_figure_cache(item: Article) -> None:
    """Fill the cache with the figures of an article before its story is compared."""
    find_mentions(_article_text(item))


def _article_text(item: Article) -> str:
    return f"{item.title}\n{item.text[:MAX_TEXT_CHARS]}"


def _story_figures(story: StoryCluster, age: str = "") -> Iterator[SourcedFigure]:
    """Yield the figures in headlines and texts, each with its outlet and the article's date."""
    for index, item in enumerate(story.articles):
        day = item.published.date() if item.published else None
        origin = FigureOrigin(f"{age} {article_outlet(item) or index}", published=day)
        yield from find_figures(origin, _article_text(item), (age, index))


def _similarity(first: SourcedFigure, second: SourcedFigure) -> float:
    """Return the overlap of the words around two figures, 0 if they are of different quantities."""
    if not is_same_quantity_in_story(first.mention, second.mention, (first.folded_text, second.folded_text)):
        return 0.0
    return (1 + len(first.context_words & second.context_words)) / (1 + len(first.context_words | second.context_words))


def _value_order(figure: SourcedFigure) -> tuple[tuple[float, ...], tuple[str | int, ...]]:
    return figure.sort_key, figure.position


def _figure_record(figure: SourcedFigure, story: StoryCluster) -> Figure:
    item = story.articles[int(figure.position[1])]
    evidence_ids = (*item.evidence_ids, "")
    return Figure(text=figure.mention.text, clause=figure.clause, outlet=article_outlet(item), evidence=evidence_ids[0])
