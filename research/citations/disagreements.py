"""The same quantity with different figures in different sources.

`rivals` finds them. All figures are shown, with who gave them and when. The conflicts that the
news of a report have within a story are told with that story and not here.
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
from research.citations.mentions import PERIODIC_QUALIFIERS, is_same_quantity
from research.citations.numbering import CitedAnswer
from research.citations.registry import EvidenceRegistry, collect_evidence
from research.core.records import CitedFigure, Evidence, FigureDisagreement, Report
from research.core.text.near_duplicates import is_near_duplicate, shingles

MAX_FIGURES_PER_SOURCE = 60  # figures of a source
MAX_DISAGREEMENTS = 60


def find_disagreements(report: Report, cited: CitedAnswer | None) -> tuple[FigureDisagreement, ...]:
    """Where sources of a run give figures or dates of one thing that do not agree, cited ones first.

    Rounding and conversion are agreement. A source that gives several figures of one thing counts with
    none of them, and copies of one text count once.
    """
    registry = _collect_registry(report)
    numbers = {s.evidence.id: s.number for s in cited.sources} if cited else {}
    told = _story_conflict_sources(cited, registry)
    sources = {evidence.id: evidence for evidence in registry}
    every = (one for evidence in sources.values() for one in islice(_figures_of(evidence), MAX_FIGURES_PER_SOURCE))
    found = []
    for group in group_disagreements(every, _is_same_quantity):
        ids = {one.origin.source_id for one in group}
        if any(len(ids & known) > 1 for known in told):
            continue
        unit = group[0].measure.kind.removeprefix("money ")
        figures = _merge_copies(group, numbers)
        found.append(FigureDisagreement(subject=describe_subject(group), unit=unit, figures=figures))
    found.sort(key=lambda d: (not any(f.number for f in d.figures), d.subject, d.figures[0].text))
    return tuple(found[:MAX_DISAGREEMENTS])


def _collect_registry(report: Report) -> EvidenceRegistry:
    registry = collect_evidence(report.findings)
    for item in report.evidence:
        registry.add(item)
    return registry


def _story_conflict_sources(cited: CitedAnswer | None, registry: EvidenceRegistry) -> list[set[str]]:
    """The sources of each conflict that is told with its story."""
    coverage = cited.answer.coverage if cited else None
    return [
        {item.id for figure in conflict.figures if (item := registry.get(figure.evidence))}
        for conflict in (coverage.conflicts if coverage else ())
    ]


def _figures_of(evidence: Evidence) -> Iterator[SourcedFigure]:
    if evidence.kind == "place" and evidence.place is None:
        return  # ways and distances: one way differs from another, and nobody is wrong
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
    """Return whether two texts are about different things, such as two places on a map or two pages
    with titles of the same sort, and neither sentence names the other's subject."""
    places = first.origin.place_names, second.origin.place_names
    if any(places):
        return all(places) or not (first.mentions_place(places[1]) or second.mentions_place(places[0]))
    if not first.origin.is_sibling(second.origin):
        return False
    said = first.mention, second.mention
    titled = first.origin.title_words | second.origin.title_words
    return not any(
        name in titled or {*name} <= titled or any(own.sentence_begins_with(name) for own in said)
        for name in said[0].sentence.names
        if said[1].sentence.contains_name(name)
    )


def _merge_copies(group: Sequence[SourcedFigure], numbers: dict[str, int]) -> tuple[CitedFigure, ...]:
    """The figures by value, those of copies as one, cited sources before others."""
    ordered = sorted(group, key=lambda g: (g.sort_key, numbers.get(g.origin.source_id, 1 << 30), g.position))
    origins: list[list[SourcedFigure]] = []
    for one in ordered:
        home = next((o for o in origins if o[0].sort_key == one.sort_key and _is_copy(o[0], one)), None)
        if home is None:
            origins.append([one])
        else:
            home.append(one)
    return tuple(
        CitedFigure(
            text=own[0].mention.text,
            clause=own[0].clause,
            evidence=own[0].origin.source_id,
            number=numbers.get(own[0].origin.source_id),
            date=own[0].origin.published,
            copies=len(own) - 1,
        )
        for own in origins
    )


def _is_copy(first: SourcedFigure, second: SourcedFigure) -> bool:
    """Whether two passages are one text on two sites."""
    if first.folded_text == second.folded_text:
        return True
    return is_near_duplicate(_shingles(first.text), _shingles(second.text))


@lru_cache(1_000)
def _shingles(text: str) -> frozenset[int]:
    return shingles(text[:MAX_TEXT_CHARS])
