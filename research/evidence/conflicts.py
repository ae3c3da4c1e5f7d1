"""The same quantity with different figures in different sources.

Precision before recall: `mentions` decides whether two figures are of one thing, and where it is not sure
nothing is told. It knows no truth: all figures are shown, with who gave them and when. The conflicts that the
news of a report have within a story are told with that story and not here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

from research.evidence.citations import CitedAnswer
from research.evidence.mentions import PERIODIC, Mention, agree, alike, mentions
from research.evidence.registry import Registry, gather
from research.language.quantities import Measure, plain
from research.records import Disagreement, Evidence, GivenFigure, Passage, Report
from research.text import STOP
from research.verification.reading import read

READ = 4_000  # characters of a passage
EACH = 60  # figures of a source
NEAREST = 6  # words around a figure, one of which another has to have around it to be compared
COMMON = 60  # figures with such a word, of which no more are compared
LISTED = 60
SUBJECT = 80  # characters
CLAUSE = 200  # characters of a sentence that is shown
COPIED = 0.75  # of the shorter text's shingles are in the longer one: a copy
SHINGLE = 6  # characters
SHORTEST = 30  # shingles of a text, below which only the same text is a copy

_MARKS = re.compile(r"[\W_]+")
_ENDS = " ,，:：、-–—.。;；"


@dataclass(frozen=True, eq=False)
class _Given:
    """A figure as one source gives it."""

    evidence: Evidence
    passage: Passage
    mention: Mention
    title: frozenset[str]
    order: tuple[str, str, int]

    @property
    def measure(self) -> Measure:
        return self.mention.measure

    @cached_property
    def value(self) -> tuple[float, ...]:
        """Sorts figures of one thing."""
        return self.measure.low, *(part or 0 for part in self.measure.parts)

    @cached_property
    def grams(self) -> frozenset[str]:
        letters = _MARKS.sub("", plain(self.passage.text[:READ]))
        return frozenset(
            letters[i : i + SHINGLE] for i in range(max(1, len(letters) - SHINGLE + 1))
        )


def conflicts(report: Report, cited: CitedAnswer | None) -> tuple[Disagreement, ...]:
    """Where sources of a run give figures or dates of one thing that do not agree, cited ones first.

    Rounding and conversion are agreement. A source that gives several figures of one thing counts with
    none of them, and copies of one text count once.
    """
    registry = _gathered(report)
    numbers = {s.evidence.id: s.number for s in cited.sources} if cited else {}
    told = _told(cited, registry)
    found = []
    for group in _groups(list(registry)):
        ids = {given.evidence.id for given in group}
        if any(len(ids & known) > 1 for known in told):
            continue
        unit = group[0].measure.kind.removeprefix("money ")
        figures = _figures(group, numbers)
        found.append(Disagreement(subject=_subject(group), unit=unit, figures=figures))
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


# --- Figures of one thing -------------------------------------------------------------------------


def _groups(sources: Sequence[Evidence]) -> Iterator[list[_Given]]:
    """Figures of one thing that do not all agree; in an order that is that of nothing but themselves."""
    kinds: dict[tuple[str, str], list[_Given]] = defaultdict(list)
    for evidence in sources:
        for given in islice(_given(evidence), EACH):
            kinds[given.mention.kind].append(given)
    for found in kinds.values():
        found.sort(key=lambda given: given.order)
        for group in _joined(found):
            kept = _settled(group)
            if any(not agree(a.measure, b.measure) for a, b in combinations(kept, 2)):
                yield kept


def _given(evidence: Evidence) -> Iterator[_Given]:
    for passage in evidence.passages:
        for n, mention in enumerate(mentions(passage.text[:READ])):
            title = _words(" ".join((_first_part(evidence.title), passage.title)))
            yield _Given(evidence, passage, mention, title, (evidence.id, passage.id, n))


def _words(title: str) -> frozenset[str]:
    return read(title, True).vocabulary - STOP


def _first_part(title: str) -> str:
    """A title without the name of its site, which mostly follows a dash or a line."""
    return re.split(r"\s[-–—]\s|[|_｜]|——", title)[0]


def _joined(found: Sequence[_Given]) -> list[list[_Given]]:
    """The figures of one kind that differ from another of the same thing, and those that agree with them:
    connected components."""
    home = list(range(len(found)))

    def root(at: int) -> int:
        while home[at] != at:
            home[at] = at = home[home[at]]
        return at

    pairs = [(a, b) for a, b in _pairs(found) if _same(found[a], found[b])]
    torn = {at for a, b in pairs if not agree(found[a].measure, found[b].measure) for at in (a, b)}
    for a, b in pairs:
        if a in torn or b in torn:
            home[root(a)] = root(b)
    groups: dict[int, list[_Given]] = defaultdict(list)
    for at, given in enumerate(found):
        groups[root(at)].append(given)
    return [group for group in groups.values() if len(group) > 1]


def _pairs(found: Sequence[_Given]) -> list[tuple[int, int]]:
    """The places of figures of different sources that have one of their nearest words in common."""
    with_word: dict[str, list[int]] = defaultdict(list)
    for at, given in enumerate(found):
        for word in dict.fromkeys(given.mention.nearest(NEAREST)):
            if len(with_word[word]) < COMMON:
                with_word[word].append(at)
    return sorted({
        pair
        for places in with_word.values()
        for pair in combinations(places, 2)
        if found[pair[0]].evidence.id != found[pair[1]].evidence.id
    })  # fmt: skip


def _same(one: _Given, other: _Given) -> bool:
    days = [given.evidence.published for given in (one, other)]
    years = {day.year for day in days if day}
    if len(years) > 1 and one.mention.qualifiers & PERIODIC:
        return False
    titles = (one.title, other.title) if one.title and other.title else ()
    return alike(one.mention, other.mention, titles)


def _settled(group: Sequence[_Given]) -> list[_Given]:
    """One figure for each source; none of a source that gives several."""
    mine: dict[str, list[_Given]] = defaultdict(list)
    for given in group:
        mine[given.evidence.id].append(given)
    return [
        own[0]
        for own in mine.values()
        if all(agree(own[0].measure, other.measure) for other in own)
    ]


# --- What is told ---------------------------------------------------------------------------------


def _figures(group: Sequence[_Given], numbers: dict[str, int]) -> tuple[GivenFigure, ...]:
    """The figures by value, those of copies as one, cited sources before others."""
    ordered = sorted(group, key=lambda g: (g.value, numbers.get(g.evidence.id, 1 << 30), g.order))
    origins: list[list[_Given]] = []
    for given in ordered:
        home = next(
            (o for o in origins if o[0].value == given.value and _copied(o[0], given)), None
        )
        if home is None:
            origins.append([given])
        else:
            home.append(given)
    return tuple(
        GivenFigure(
            text=own[0].mention.text,
            clause=_cut(own[0].mention),
            evidence=own[0].evidence.id,
            number=numbers.get(own[0].evidence.id),
            date=own[0].evidence.published,
            copies=len(own) - 1,
        )
        for own in origins
    )


def _copied(one: _Given, other: _Given) -> bool:
    """Whether two passages are one text on two sites (containment of shingles, Broder 1997)."""
    least = min(len(one.grams), len(other.grams))
    if least < SHORTEST:
        return one.grams == other.grams
    return len(one.grams & other.grams) >= COPIED * least


def _cut(mention: Mention) -> str:
    """A sentence, or as much of a long one as stands around its figure."""
    shown = mention.line.shown
    start = max(0, mention.measure.start - CLAUSE // 2) if len(shown) > CLAUSE else 0
    end = start + CLAUSE
    text = " ".join(shown[start:end].split())
    return f"{'…' if start else ''}{text}{'…' if end < len(shown) else ''}"


def _subject(group: Sequence[_Given]) -> str:
    """What the figures are of: the shortest sentence without its figure, or of a long one what stands
    around it; under its title, if it names nothing."""
    first = min(group, key=lambda given: (len(given.mention.line.shown), given.order))
    shown, m = first.mention.line.shown, first.measure
    start = max(0, m.start - SUBJECT // 2) if len(shown) > SUBJECT else 0
    before = shown[start : m.start]
    cut = start and shown[start - 1 : start + 1].isalnum() and shown[start].isascii()
    if cut and " " in before:  # no part of a word
        before = before[before.index(" ") :]
    parts = (" ".join(part.split()).strip(_ENDS) for part in (before, shown[m.end :]))
    told = " … ".join(filter(None, parts))
    head = "" if first.mention.line.names else " ".join(_first_part(first.evidence.title).split())
    return " · ".join(filter(None, (head, told)))[:SUBJECT].strip() or first.mention.text
