"""Where sources disagree about a figure, as Markdown: a table for each such figure.

Figures, sentences and titles come from outside and are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from research.citations.registry import Registry
from research.core.i18n import Say
from research.core.records import Disagreement, GivenFigure
from research.export.inline import escape, link, table

PRINTED = 10  # disagreements; the rest are in the data


def conflicts(
    found: Sequence[Disagreement], registry: Registry, say: Say, level: int = 2
) -> Iterator[str]:
    """What is measured, and each figure with its source, its date and the sentence that gives it."""
    if not found:
        return
    yield f"{'#' * level} {say('disagree')}"
    yield say("disagree help")
    head = [say(f"disagree.{name}") for name in ("what", "figure", "source", "date", "clause")]
    sources = {f.evidence: _source(f, registry, say) for one in found for f in one.figures}
    yield from table(head, (row for one in found[:PRINTED] for row in _rows(one, sources, say)))
    yield from unprinted(len(found), say)


def unprinted(count: int, say: Say) -> Iterator[str]:
    """What is said of those, of so many, that are not printed."""
    if count > PRINTED:
        yield say("conflicts left", count=count - PRINTED)


def _rows(one: Disagreement, sources: Mapping[str, str], say: Say) -> Iterator[list[str]]:
    for at, figure in enumerate(one.figures):
        yield [
            "" if at else escape(one.subject),
            escape(figure.text),
            sources[figure.evidence] + _copies(figure, say),
            figure.date.isoformat() if figure.date else "—",
            escape(figure.clause),
        ]


def _source(figure: GivenFigure, registry: Registry, say: Say) -> str:
    """The citation of a source, else a link to it."""
    if figure.number:
        return say("cite", number=figure.number)
    item = registry.get(figure.evidence)
    if item is None:
        return "—"
    return link(item.title or item.publisher or say("untitled"), item.url)


def _copies(figure: GivenFigure, say: Say) -> str:
    return say("aside", what=say("copies", count=figure.copies)) if figure.copies else ""
