"""Figures on which the outlets of a story do not agree, such as 12 and 15 dead.

A figure is a number with its unit and what it counts, read from one clause. Precision before recall:
only figures are compared whose unit and subject are the same, and a clause that has two figures of
one unit and subject is left out. It knows no truth: both figures are shown, with who gave them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from research.language.quantities import plain
from research.news import words
from research.news.article import Article
from research.news.counts import Quantity, agrees, quantities
from research.news.stories import Story, outlet_of
from research.records import Record
from research.text import STOP, has_han, stem
from research.text import words as cut

READ = 1_500  # characters of an item's text
SHARED = (
    0.5  # of a clause's words that two figures have in common, if no concept says what they count
)

# What is counted, told by the words next to a number. Only these need no further likeness.
_COUNTED = ("die", "hurt", "missing", "rescue", "arrest")
_NEAR = 9  # characters of Chinese
_NEAR_WORDS = 3
_DATES = frozenset(
    {"calendar year", "year", "month", "date", "quarter", "half", "weekday", "until", "decade"}
    | {"century", "edition", "line", "hour", "minute", "second", "day", "score", ""}
)
_CLAUSE = re.compile(r"[。！？!?;；\n]|[,，、](?!\d)|\.\s|\band\b|\bwhile\b|\bbut\b")
_UNSURE = re.compile(r"此前|先前|曾|原来|预计|预期|去年|上年|上月|上周|earlier|previously|last (?:year|month|week)|compared|from a year|forecast|expected|estimate")  # fmt: skip


class Figure(Record):
    """A figure as one item gives it."""

    quantity: Quantity
    subject: str  # what is counted: a concept (die) or words of the clause
    item: int  # its place in the story's items
    outlet: str = ""
    clause: str = ""

    @property
    def value(self) -> float:
        return self.quantity.value

    @property
    def unit(self) -> str:
        return self.quantity.unit

    @property
    def spelling(self) -> str:
        return self.quantity.spelling


class Conflict(Record):
    """Figures for one thing that cannot all be true, by value; each with the items that give it."""

    story: str
    unit: str
    subject: str
    figures: tuple[Figure, ...]

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(sorted({figure.value for figure in self.figures}))


def figures(story: Story) -> tuple[Figure, ...]:
    """The figures of a story's headlines and texts that say what they count."""
    found: list[Figure] = []
    for at, item in enumerate(story.items):
        found += _of_item(item, at, outlet_of(item))
    return tuple(found)


def conflicts(story: Story) -> tuple[Conflict, ...]:
    """Where two outlets of a story give figures of one thing that do not agree.

    Rounding is agreement (12 and 12.3 million), and so is "over 100" beside 104. An outlet that gives
    several figures of one thing, because it tells how they changed, counts with none of them.
    """
    if len({outlet_of(item) or str(at) for at, item in enumerate(story.items)}) < 2:
        return ()
    groups: list[list[Figure]] = []
    for figure in figures(story):
        home = next((group for group in groups if _same_thing(group[0], figure)), None)
        if home is None:
            groups.append([figure])
        else:
            home.append(figure)
    made = [_conflict(story, _settled(group)) for group in groups]
    return tuple(conflict for conflict in made if conflict)


def _conflict(story: Story, group: Sequence[Figure]) -> Conflict | None:
    outlets = {figure.outlet or str(figure.item) for figure in group}
    if len(outlets) < 2 or all(_agree(a, b) for a in group for b in group):
        return None
    ordered = sorted(group, key=lambda f: (f.value, f.item))
    return Conflict(
        story=story.id, unit=ordered[0].unit, subject=ordered[0].subject, figures=tuple(ordered)
    )


def _settled(group: Sequence[Figure]) -> list[Figure]:
    """One figure for each item; none of an item that has several."""
    out = []
    for at in sorted({figure.item for figure in group}):
        mine = [figure for figure in group if figure.item == at]
        if all(_agree(mine[0], other) for other in mine):
            out.append(mine[0])
    return out


def _agree(one: Figure, other: Figure) -> bool:
    return agrees(one.quantity, other.quantity)


def _same_thing(one: Figure, other: Figure) -> bool:
    if one.unit != other.unit:
        return False
    if one.subject in _COUNTED or other.subject in _COUNTED:
        return one.subject == other.subject
    mine, theirs = _words(one), _words(other)
    ways = [
        words.concepts(said) | _english(said) for said in (plain(f.clause) for f in (one, other))
    ]
    directions = [way & {"rise", "fall"} for way in ways]
    if directions[0] != directions[1]:
        return False
    least = min(len(mine), len(theirs))
    return least > 0 and len(mine & theirs) > SHARED * least and _periods(one) == _periods(other)


def _words(figure: Figure) -> frozenset[str]:
    """What a clause is about, without its figures and how they move."""
    bare = figure.clause.replace(figure.spelling, " ")
    found = {w for w in cut(bare) if w not in STOP and not re.search(r"\d", w)}
    moving = {"rise", "fall", "say"}
    return frozenset(w for w in found if not (words.concepts(w) | words.english(w)) & moving)


def _periods(figure: Figure) -> frozenset[tuple[str, float]]:
    """The months, quarters and bases that a clause speaks of."""
    times = {(q.unit, q.value) for q in quantities(figure.clause) if q.unit in _DATES and q.unit}
    bases = {(word, 0.0) for word in ("同比", "环比", "累计") if word in plain(figure.clause)}
    return frozenset(times | bases)


def _english(clause: str) -> frozenset[str]:
    return frozenset().union(*(words.english(w) for w in re.findall(r"[a-z]+", clause)))


def _of_item(item: Article, at: int, outlet: str) -> Iterable[Figure]:
    """The figures of an item, which is the one of a story at a place and is of an outlet."""
    place = {"item": at, "outlet": outlet}
    return (figure.model_copy(update=place) for figure in read(item.title, item.text[:READ]))


@lru_cache(4_000)
def read(title: str, text: str) -> tuple[Figure, ...]:
    """The figures of a headline and a text."""
    return tuple(_read(f"{title}\n{text}"))


def _read(text: str) -> Iterable[Figure]:
    seen: set[tuple[float, str, str]] = set()
    for clause in _clauses(text):
        if _UNSURE.search(plain(clause)):
            continue
        found = [q for q in quantities(clause) if q.unit not in _DATES]
        for quantity in found:
            subject = _subject(clause, quantity, found)
            key = (quantity.value, quantity.unit, subject)
            if subject and key not in seen:
                seen.add(key)
                yield Figure(quantity=quantity, subject=subject, item=0, clause=clause)


def _clauses(text: str) -> Iterator[str]:
    """The clauses as they are written."""
    at = 0
    for gap in [*_CLAUSE.finditer(plain(text)), None]:
        if clause := text[at : gap.start() if gap else None].strip():
            yield clause
        at = gap.end() if gap else at


def _subject(clause: str, quantity: Quantity, found: Sequence[Quantity]) -> str:
    """What a figure counts: victims by the word beside it, other things by the clause, if it has one
    figure of the unit only."""
    said = plain(clause)
    if quantity.unit == "people":
        here = quantity.measure
        others = [q.measure for q in found if q is not quantity and q.unit == "people"]
        after = said[here.end : min([m.start for m in others if m.start >= here.end], default=None)]  # fmt: skip
        before = said[max([m.end for m in others if m.end <= here.start], default=0) : here.start]  # fmt: skip
        counted = _victims(plain(quantity.spelling[-1:]) + after, first=True)
        counted = counted or _victims(before, first=False)
        if counted:
            return counted
        if words.concepts(said) & set(_COUNTED) or _english(said) & set(_COUNTED):
            return ""
    if sum(q.unit == quantity.unit for q in found) > 1:
        return ""
    rest = clause.replace(quantity.spelling, " ")
    return " ".join(rest.split())[:60] if len(cut(rest)) > 1 else ""


def _victims(text: str, *, first: bool) -> str:
    """The one concept of victims that stands next to a number; "" if there is none or more."""
    if has_han(text):
        near = text[:_NEAR] if first else text[-_NEAR:]
        names = words.concepts(near)
        for exact, name in (("死亡人数", "die"), ("死伤", ""), ("伤亡", "")):
            if exact in near:
                return name
    else:
        spoken = re.findall(r"[a-z]+", text)
        near_words = spoken[:_NEAR_WORDS] if first else spoken[-_NEAR_WORDS:]
        names = frozenset().union(*(words.EN.get(stem(w), frozenset()) for w in near_words))
    told = [name for name in _COUNTED if name in names]
    return told[0] if len(told) == 1 else ""
