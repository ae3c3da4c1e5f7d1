"""The same quantity with different figures in different texts.

Precision before recall: `mentions` decides whether two figures are of one thing, and where it is not sure
nothing is told. It knows no truth: all figures are told.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations

from research.citations.mentions import Mention, agree, mentions
from research.citations.reading import read
from research.core.text.quantities import Measure, plain
from research.core.text.words import STOP, fold, has_han

READ = 4_000  # characters of a text
NEAREST = 6  # words around a figure, one of which another has to have around it to be compared
COMMON = 60  # figures with such a word, of which no more are compared
SUBJECT = 80  # characters
CLAUSE = 200  # characters of a sentence that is shown

_ENDS = " ,，:：、-–—.。;；"


@dataclass(frozen=True)
class Origin:
    """Where a text is from: figures of one `source` are not compared. `title` is the source's, `heading` that of the
    part of it that the text is; `place` has the names of the one place of a map that it is about, if it is."""

    source: str
    title: str = ""
    heading: str = ""
    published: date | None = None
    place: tuple[str, ...] = ()

    @cached_property
    def titled(self) -> frozenset[str]:
        """The words of title and heading."""
        return read(f"{first_part(self.title)} {self.heading}", True).vocabulary - STOP

    @cached_property
    def name(self) -> tuple[str, ...]:
        """The words of the title in their order."""
        return tuple(word for word in read(first_part(self.title), True).tokens if word not in STOP)

    def rivals(self, other: Origin) -> bool:
        """Return whether the titles name different things of one sort, with the same ending: Toy
        Museum, Rail Museum."""
        mine, its = self.name, other.name
        last = 2 if mine and has_han(mine[-1]) else 1
        return bool(mine[-last:] == its[-last:] and {*mine} - {*its} and {*its} - {*mine})


@dataclass(frozen=True, eq=False)
class Given:
    """A figure as a text gives it; `order` is its place among others, settled by nothing but itself."""

    origin: Origin
    text: str
    mention: Mention
    order: tuple[str | int, ...]

    @property
    def measure(self) -> Measure:
        return self.mention.measure

    @cached_property
    def value(self) -> tuple[float, ...]:
        """Sorts figures of one thing."""
        return self.measure.low, *(part or 0 for part in self.measure.parts)

    @cached_property
    def around(self) -> frozenset[str]:
        """What stands next to it, and what narrows it."""
        return frozenset((*self.mention.nearest(NEAREST), *self.mention.qualifiers))

    @cached_property
    def folded(self) -> str:
        return plain(self.text)

    def names(self, place: Sequence[str]) -> bool:
        """Return whether the sentence, its title or its heading contains one of the names of a
        place."""
        around = fold(f"{self.origin.title} {self.origin.heading} {self.mention.line.shown}")
        return any(name and fold(name) in around for name in place)

    @property
    def clause(self) -> str:
        """A sentence, or as much of a long one as stands around its figure."""
        shown = self.mention.line.shown
        start = max(0, self.measure.start - CLAUSE // 2) if len(shown) > CLAUSE else 0
        end = start + CLAUSE
        text = " ".join(shown[start:end].split())
        return f"{'…' if start else ''}{text}{'…' if end < len(shown) else ''}"


Alike = Callable[[Given, Given], float]  # 0 where two figures are not of one thing


def given(origin: Origin, text: str, order: tuple[str | int, ...]) -> Iterator[Given]:
    """The figures of a text."""
    for n, mention in enumerate(mentions(text[:READ])):
        yield Given(origin, text, mention, (*order, n))


def first_part(title: str) -> str:
    """A title without the name of its site, which mostly follows a dash or a line."""
    return re.split(r"\s[-–—]\s|[|_｜]|——", title)[0]


def differing(found: Iterable[Given], alike: Alike) -> Iterator[list[Given]]:
    """Figures of one thing that do not all agree; in an order that is that of nothing but themselves.

    Rounding and conversion are agreement. A source that gives several figures of one thing counts with
    none of them.
    """
    kinds: dict[tuple[str, str], list[Given]] = defaultdict(list)
    for one in found:
        kinds[one.mention.kind].append(one)
    for same in kinds.values():
        same.sort(key=lambda one: one.order)
        for group in _joined(same, alike):
            kept = _settled(group)
            if any(not agree(a.measure, b.measure) for a, b in combinations(kept, 2)):
                yield kept


def _joined(found: Sequence[Given], alike: Alike) -> list[list[Given]]:
    """The figures of one kind that differ from another of the same thing, and those that agree with them:
    connected components. Of several figures of a source only the one that is most alike is of one thing with
    another's."""
    home = list(range(len(found)))

    def root(at: int) -> int:
        while home[at] != at:
            home[at] = at = home[home[at]]
        return at

    scores = {
        pair: score for pair in _pairs(found) if (score := alike(*(found[at] for at in pair)))
    }
    best: dict[tuple[int, str], float] = defaultdict(float)
    sources = [one.origin.source for one in found]
    for (a, b), score in scores.items():
        for key in ((a, sources[b]), (b, sources[a])):
            best[key] = max(best[key], score)
    pairs = [
        (a, b)
        for (a, b), score in scores.items()
        if best[a, sources[b]] == score == best[b, sources[a]]
    ]
    torn = {at for a, b in pairs if not agree(found[a].measure, found[b].measure) for at in (a, b)}
    for a, b in pairs:
        if a in torn or b in torn:
            home[root(a)] = root(b)
    groups: dict[int, list[Given]] = defaultdict(list)
    for at, one in enumerate(found):
        groups[root(at)].append(one)
    return [group for group in groups.values() if len(group) > 1]


def _pairs(found: Sequence[Given]) -> list[tuple[int, int]]:
    """The places of figures of different sources that have one of their nearest words in common."""
    with_word: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(found):
        for word in one.around:
            if len(with_word[word]) < COMMON:
                with_word[word].append(at)
    return sorted(
        {
            pair
            for places in with_word.values()
            for pair in combinations(places, 2)
            if found[pair[0]].origin.source != found[pair[1]].origin.source
        }
    )


def _settled(group: Sequence[Given]) -> list[Given]:
    """One figure for each source; none of a source that gives several."""
    mine: dict[str, list[Given]] = defaultdict(list)
    for one in group:
        mine[one.origin.source].append(one)
    return [
        own[0]
        for own in mine.values()
        if all(agree(own[0].measure, other.measure) for other in own)
    ]


def subject(group: Sequence[Given]) -> str:
    """What the figures are of: the shortest sentence without its figure, or of a long one what stands
    around it; under its title, if it names nothing."""
    first = min(group, key=lambda one: (len(one.mention.line.shown), one.order))
    shown, m = first.mention.line.shown, first.measure
    start = max(0, m.start - SUBJECT // 2) if len(shown) > SUBJECT else 0
    before = shown[start : m.start]
    cut = start and shown[start - 1 : start + 1].isalnum() and shown[start].isascii()
    if cut and " " in before:  # no part of a word
        before = before[before.index(" ") :]
    parts = (" ".join(part.split()).strip(_ENDS) for part in (before, shown[m.end :]))
    told = " … ".join(filter(None, parts))
    head = "" if first.mention.line.names else " ".join(first_part(first.origin.title).split())
    return " · ".join(filter(None, (head, told)))[:SUBJECT].strip() or first.mention.text
