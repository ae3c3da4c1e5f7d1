"""Detection of different figures for the same quantity in the sources of one run.

All figures are listed, with their source and date. Conflicts within a news story are reported with
that story and left out here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from research.citations.figure_comparison import (
    MAX_TEXT_CHARS,
    FigureOrigin,
    SourcedFigure,
    describe_subject,
    find_figures,
    group_disagreements,
)
from research.citations.mention_comparison import is_same_quantity
from research.citations.numbering import CitedAnswer
from research.citations.qualifiers import PERIODIC_QUALIFIERS
from research.citations.registry import EvidenceRegistry
from research.core.records import CitedFigure, Evidence, FigureDisagreement, Report
from research.core.text.near_duplicates import is_near_duplicate, shingles

MAX_FIGURES_PER_SOURCE = 60  # further figures of a source are not compared
MAX_DISAGREEMENTS = 60


def find_disagreements(report: Report, cited: CitedAnswer | None) -> tuple[FigureDisagreement, ...]:
    """Find figures and dates of one thing that differ between sources of a run, cited ones first.

    Rounding and unit conversion count as agreement. If a source gives several figures of one thing,
    none of them is used; copies of one text count once. At most `MAX_DISAGREEMENTS` are returned.
    """
    found = (item for finding in report.findings for item in finding.evidence)
    registry = EvidenceRegistry((*found, *report.evidence))
    numbers = {s.evidence.id: s.number for s in cited.sources} if cited else {}
    story_conflicts = _story_conflict_sources(cited, registry)
    sources = {evidence.id: evidence for evidence in registry}
    candidates = (
        figure for evidence in sources.values() for figure in islice(_figures_of(evidence), MAX_FIGURES_PER_SOURCE)
    )
    disagreements = []
    for group in group_disagreements(candidates, _is_same_quantity):
        ids = {figure.origin.source_id for figure in group}
        if any(len(ids & conflict) > 1 for conflict in story_conflicts):
            continue
        unit = group[0].measure.kind.removeprefix("money ")
        figures = _merge_copies(group, numbers)
        disagreements.append(FigureDisagreement(subject=describe_subject(group), unit=unit, figures=figures))
    disagreements.sort(key=lambda d: (not any(f.number for f in d.figures), d.subject, d.figures[0].text))
    return tuple(disagreements[:MAX_DISAGREEMENTS])


def _story_conflict_sources(cited: CitedAnswer | None, registry: EvidenceRegistry) -> list[set[str]]:
    """Return the ids of the sources of each conflict that is reported with its news story."""
    coverage = cited.answer.coverage if cited else None
    return [
        {item.id for figure in conflict.figures if (item := registry.get(figure.evidence))}
        for conflict in (coverage.conflicts if coverage else ())
    ]


def _figures_of(evidence: Evidence) -> Iterator[SourcedFigure]:
    """Yield the comparable figures of a source."""
    if evidence.kind == "place" and evidence.place is None:
        return  # routes and distances: two routes may differ, and both figures are right
    place = evidence.place
    names = (place.name, place.name_en) if place else ()
    for passage in evidence.passages:
        origin = FigureOrigin(evidence.id, evidence.title, passage.title, evidence.published, names)
        yield from find_figures(origin, passage.text, (evidence.id, passage.id))


def _is_same_quantity(first: SourcedFigure, second: SourcedFigure) -> bool:
    if _has_other_subject(first, second):
        return False
    years = {day.year for day in (first.origin.published, second.origin.published) if day}
    if len(years) > 1 and first.mention.qualifiers & PERIODIC_QUALIFIERS:
        return False
    titles = (first.origin.title_words, second.origin.title_words)
    return is_same_quantity(first.mention, second.mention, titles if all(titles) else ())


def _has_other_subject(first: SourcedFigure, second: SourcedFigure) -> bool:
    """Return whether two texts are about different things, and neither sentence names the other thing.

    Texts are about different things if they belong to two places on a map, or to two pages with
    titles of the same sort.
    """
    places = first.origin.place_names, second.origin.place_names
    if any(places):
        return all(places) or not (first.mentions_place(places[1]) or second.mentions_place(places[0]))
    if not first.origin.names_similar_thing(second.origin):
        return False
    mentions = first.mention, second.mention
    title_words = first.origin.title_words | second.origin.title_words
    return not any(
        name in title_words or {*name} <= title_words or any(mention.sentence_begins_with(name) for mention in mentions)
        for name in mentions[0].sentence.names
        if mentions[1].sentence.contains_name(name)
    )


def _merge_copies(group: Sequence[SourcedFigure], numbers: dict[str, int]) -> tuple[CitedFigure, ...]:
    """Order the figures by value and merge those of copied texts; cited sources come first."""
    ordered = sorted(group, key=lambda g: (g.sort_key, numbers.get(g.origin.source_id, 1 << 30), g.position))
    origins: list[list[SourcedFigure]] = []
    for figure in ordered:
        origin = next((o for o in origins if o[0].sort_key == figure.sort_key and _is_copy(o[0], figure)), None)
        if origin is None:
            origins.append([figure])
        else:
            origin.append(figure)
    return tuple(
        CitedFigure(
            text=copies[0].mention.text,
            clause=copies[0].clause,
            evidence=copies[0].origin.source_id,
            number=numbers.get(copies[0].origin.source_id),
            date=copies[0].origin.published,
            copies=len(copies) - 1,
        )
        for copies in origins
    )


def _is_copy(first: SourcedFigure, second: SourcedFigure) -> bool:
    """Return whether two passages are the same text on two sites."""
    if first.folded_text == second.folded_text:
        return True
    return is_near_duplicate(_shingles(first.text), _shingles(second.text))


@lru_cache(1_000)
def _shingles(text: str) -> frozenset[int]:
    return shingles(text[:MAX_TEXT_CHARS])
