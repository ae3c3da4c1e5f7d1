"""Figures on which sources disagree, as a Markdown table.

Figures, sentences and titles come from outside and are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from research.citations.registry import EvidenceRegistry
from research.core.i18n import Translator
from research.core.records import CitedFigure, FigureDisagreement
from research.export.markdown_escaping import escape_markdown, markdown_link, markdown_table

MAX_PRINTED_DISAGREEMENTS = 10  # the JSON report has the rest


def disagreement_blocks(
    disagreements: Sequence[FigureDisagreement], registry: EvidenceRegistry, translate: Translator, level: int = 2
) -> Iterator[str]:
    """Yield a section with each disputed figure, its source, date and sentence."""
    if not disagreements:
        return
    yield f"{'#' * level} {translate('disagree')}"
    yield translate("disagree help")
    head = [translate(f"disagree.{name}") for name in ("what", "figure", "source", "date", "clause")]
    sources = {
        f.evidence: _source_reference(f, registry, translate)
        for disagreement in disagreements
        for f in disagreement.figures
    }
    yield from markdown_table(
        head,
        (
            row
            for disagreement in disagreements[:MAX_PRINTED_DISAGREEMENTS]
            for row in _figure_rows(disagreement, sources, translate)
        ),
    )
    yield from omission_note(len(disagreements), translate)


def omission_note(total: int, translate: Translator) -> Iterator[str]:
    """Yield a note on how many disagreements were omitted, if any."""
    if total > MAX_PRINTED_DISAGREEMENTS:
        yield translate("conflicts left", count=total - MAX_PRINTED_DISAGREEMENTS)


def _figure_rows(
    disagreement: FigureDisagreement, sources: Mapping[str, str], translate: Translator
) -> Iterator[list[str]]:
    for at, figure in enumerate(disagreement.figures):
        yield [
            "" if at else escape_markdown(disagreement.subject),
            escape_markdown(figure.text),
            sources[figure.evidence] + _copies_note(figure, translate),
            figure.date.isoformat() if figure.date else "—",
            escape_markdown(figure.clause),
        ]


def _source_reference(figure: CitedFigure, registry: EvidenceRegistry, translate: Translator) -> str:
    """Return the citation of a source, else a link to it."""
    if figure.number:
        return translate("cite", number=figure.number)
    item = registry.get(figure.evidence)
    if item is None:
        return "—"
    return markdown_link(item.title or item.publisher or translate("untitled"), item.url)


def _copies_note(figure: CitedFigure, translate: Translator) -> str:
    return translate("aside", what=translate("copies", count=figure.copies)) if figure.copies else ""
