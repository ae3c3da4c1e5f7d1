"""The same quantity with different figures in different sources.

`rivals` finds them. All figures are shown, with who gave them and when. The conflicts that the
news of a report have within a story are told with that story and not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from research.citations.mentions import PERIODIC, alike
from research.citations.numbering import CitedAnswer
from research.citations.registry import Registry, gather
from research.citations.rivals import READ, Given, Origin, differing, given, subject
from research.core.records import Disagreement, Evidence, GivenFigure, Report
from research.core.text.copies import near_copies, shingles

EACH = 60  # figures of a source
LISTED = 60


def conflicts(report: Report, cited: CitedAnswer | None) -> tuple[Disagreement, ...]:
    """Where sources of a run give figures or dates of one thing that do not agree, cited ones first.

    Rounding and conversion are agreement. A source that gives several figures of one thing counts with
    none of them, and copies of one text count once.
    """
    registry = _gathered(report)
    numbers = {s.evidence.id: s.number for s in cited.sources} if cited else {}
    told = _told(cited, registry)
    sources = {evidence.id: evidence for evidence in registry}
    every = (one for evidence in sources.values() for one in islice(_given(evidence), EACH))
    found = []
    for group in differing(every, _same):
        ids = {one.origin.source for one in group}
        if any(len(ids & known) > 1 for known in told):
            continue
        unit = group[0].measure.kind.removeprefix("money ")
        figures = _figures(group, numbers)
        found.append(Disagreement(subject=subject(group), unit=unit, figures=figures))
    found.sort(key=lambda d: (not any(f.number for f in d.figures), d.subject, d.figures[0].text))
    return tuple(found[:LISTED])


def _gathered(report: Report) -> Registry:
    registry = gather(report.findings)
    for item in report.evidence:
        registry.add(item)
    return registry


def _told(cited: CitedAnswer | None, registry: Registry) -> list[set[str]]:
    """The sources of each conflict that is told with its story."""
    coverage = cited.answer.coverage if cited else None
    return [
        {item.id for figure in conflict.figures if (item := registry.get(figure.evidence))}
        for conflict in (coverage.conflicts if coverage else ())
    ]


def _given(evidence: Evidence) -> Iterator[Given]:
    if evidence.kind == "place" and evidence.place is None:
        return  # ways and distances: one way differs from another, and nobody is wrong
    place = evidence.place
    names = (place.name, place.name_en) if place else ()
    for passage in evidence.passages:
        origin = Origin(evidence.id, evidence.title, passage.title, evidence.published, names)
        yield from given(origin, passage.text, (evidence.id, passage.id))


def _same(one: Given, other: Given) -> bool:
    if _apart(one, other):
        return False
    years = {day.year for day in (one.origin.published, other.origin.published) if day}
    if len(years) > 1 and one.mention.qualifiers & PERIODIC:
        return False
    titles = (one.origin.titled, other.origin.titled)
    return alike(one.mention, other.mention, titles if all(titles) else ())


def _apart(one: Given, other: Given) -> bool:
    """Return whether two texts are about different things, such as two places on a map or two pages
    with titles of the same sort, and neither sentence names the other's subject."""
    places = one.origin.place, other.origin.place
    if any(places):
        return all(places) or not (one.names(places[1]) or other.names(places[0]))
    if not one.origin.rivals(other.origin):
        return False
    said = one.mention, other.mention
    titled = one.origin.titled | other.origin.titled
    return not any(
        name in titled or {*name} <= titled or any(own.begins_with(name) for own in said)
        for name in said[0].line.names
        if said[1].line.has(name)
    )


def _figures(group: Sequence[Given], numbers: dict[str, int]) -> tuple[GivenFigure, ...]:
    """The figures by value, those of copies as one, cited sources before others."""
    ordered = sorted(group, key=lambda g: (g.value, numbers.get(g.origin.source, 1 << 30), g.order))
    origins: list[list[Given]] = []
    for one in ordered:
        home = next((o for o in origins if o[0].value == one.value and _copied(o[0], one)), None)
        if home is None:
            origins.append([one])
        else:
            home.append(one)
    return tuple(
        GivenFigure(
            text=own[0].mention.text,
            clause=own[0].clause,
            evidence=own[0].origin.source,
            number=numbers.get(own[0].origin.source),
            date=own[0].origin.published,
            copies=len(own) - 1,
        )
        for own in origins
    )


def _copied(one: Given, other: Given) -> bool:
    """Whether two passages are one text on two sites."""
    if one.folded == other.folded:
        return True
    return near_copies(_grams(one.text), _grams(other.text))


@lru_cache(1_000)
def _grams(text: str) -> frozenset[int]:
    return shingles(text[:READ])
