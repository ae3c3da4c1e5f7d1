"""The value that a sentence gives for a column of a table, by the column's type.

Of several figures that one is taken which is of the column's kind and stands nearest to its words; where
nothing tells them apart there is no value. What is asked for is told by `data/columns.tsv`, what says yes,
no, free or none by `data/words/cells.txt`. Figures and dates are read by `research.core.text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from research import data
from research.citations.cues import cues
from research.citations.figures import TIMES
from research.citations.mentions import FRAMES, clashing, group, qualified
from research.core.records import Column, ColumnType, Language, Value
from research.core.text.attributes import Attribute, attributes
from research.core.text.lexicon import entries
from research.core.text.quantities import Measure, bounded, measures, plain
from research.core.text.scanner import Scanner
from research.core.text.segment import cut
from research.core.text.sentences import CLAUSE
from research.core.text.units import SIGNS, UNITS, Unit
from research.core.text.words import HAN, STOP, has_han, stem

LONGEST = 400  # characters of a text that is a value
READ = 2_000  # characters of a sentence
NEAR = 5.0  # what a word that is given beside the column weighs
SORT = 0.7  # another word for what the column asks
ASKED = 0.5  # a word of its question alone
CHARACTER = 0.3  # a Han character beside a pair of them
OWN = 0.5  # that a figure counts people where people are asked for
FAR = 8.0  # words between a word and a figure, at which it weighs half
ACROSS = 0.4  # what is left of a word's weight beyond a comma, or beyond another figure of the kind
NARROWER = 0.6  # what is left where something narrows a figure and not the column: 其中, students
BARE, LED_IN = 4, 8  # characters beside a date alone between commas: In 2019, and Until 2019,
ALONE = 1.0  # words beside a date that is an answer by itself
# Words beside the figures of a text that is an answer by itself; twice as many where there is one figure.
BRIEF = 3.0
SURER = 1.05  # by how much the best figure has to be better than another
_OTHER_KINDS = TIMES | FRAMES | {"score", "discount", "points", "times"}
_ANYBODY = frozenset(("adult",))  # whose ticket is meant where nothing is said
_USUAL = frozenset(("adult", "total"))  # what is meant where nothing is said
_FORMER = "before"  # of what is so no more
_STATES = ("since", "until", "as of")  # ways in which a date bounds what is so
_LASTING = {
    "begins": "since",
    "ends": "until",
    "as of": "as of",
}  # by the attribute that a column asks for
_COUNTS = frozenset(("", "people", "count"))
_HAN_RUN = re.compile(f"[{HAN}]+")
_WORD = re.compile(rf"[^\W\d_{HAN}]+(?:['’]s)?")
_STOPS = re.compile(r"[、(（)）]|:(?=\s)|：|\sand\s|\bbut\b|而")


def read(text: str, column: Column, near: Sequence[str] = ()) -> Value | None:
    """What a sentence says for a column; None if it says nothing, or not certainly, or only is a heading.

    `near` are words beside those of the column that tell which figure is meant, such as the row's name
    where others stand in the sentence too.
    """
    text = text[:READ]
    if not text.strip(" #\n") or text.lstrip().startswith("#") or "question" in cues(plain(text)):
        return None
    wanted = _wanted(column, tuple(near))
    match column.type:
        case "number":
            return _number(_Said(text, wanted))
        case "date":
            return _date(_Said(text, wanted))
        case "yes or no":
            return _yes_or_no(text, column)
        case "choice":
            return _choice(_Said(text, wanted), column)
        case _:
            return _text(_Said(text, wanted))


def unit(said: str) -> Unit | None:
    """The unit of a spelling or a sign: 元, CNY, km²; None if it is none."""
    folded = plain(said.strip())
    found = UNITS.get(folded.replace("-", " ")) or SIGNS.get(folded)
    return found[0] if found else None


def unit_named(kind: str, factor: float) -> str:
    """The name of a kind's unit that is so many base units; "" if there is none."""
    return _names().get((kind, factor), "")


@cache
def _names() -> dict[tuple[str, float], str]:
    named: dict[tuple[str, float], str] = {}
    for units in UNITS.values():
        for one in units:
            named.setdefault((one.kind, one.factor), one.name)
    return named


def family(kind: str) -> str:
    """What may stand in one column: money of any currency, people and things that are counted."""
    if kind in _COUNTS:
        return ""
    return Measure(kind, 0, 0, 0, 0).family


# What a column asks for


@dataclass(frozen=True)
class _Wanted:
    """What a column asks for: words with their weights, the sort, and the kind of its figures; None
    where nothing tells it. `narrowed` are qualifiers, as of `qualifiers.tsv`; `state` is since, until or as of for a column
    that asks for a date by which something is so."""

    words: tuple[tuple[str, float], ...]
    near: tuple[str, ...]
    sort: Attribute | None
    kind: str | None
    unit: Unit | None
    narrowed: frozenset[str]
    state: str


@lru_cache(1_000)
def _wanted(column: Column, near: tuple[str, ...]) -> _Wanted:
    name, asked = plain(column.name), plain(f"{column.question} {column.hint}")
    own = unit(column.unit) if column.unit else None
    sort = _sort(name, column.type) or _sort(asked, column.type)
    kind = (
        family(own.kind) if own else family(sort.kind) if sort and sort.kind != "clause" else None
    )
    weights: dict[str, float] = {}
    for words, weight in (
        (near, NEAR),
        ([name], 1.0),
        ([asked], ASKED),
        (_similar(name, sort), ASKED),
    ):
        for word in words:
            for term, share in _terms(plain(word)):
                weights[term] = max(weights.get(term, 0.0), weight * share)
    narrowed = qualified(f"{name} {asked}")
    lasting = _LASTING.get(sort.name if sort else "", "")
    state = lasting or next((s for s in _STATES if _pattern(f"{s} before").search(name)), "")
    if sort and sort.name == "ticket" and not clashing(narrowed, _ANYBODY):
        narrowed |= _ANYBODY
    return _Wanted(
        tuple(weights.items()), tuple(t for w in near for t, _ in _terms(plain(w))), sort, kind, own, narrowed, state
    )  # fmt: skip


def _sort(folded: str, of: ColumnType) -> Attribute | None:
    """The sort whose word stands last in a name, or before an "of"; of several there the longest, and
    one of any other before one that is of all of its kind."""
    head, _, rest = folded.partition(" of ")
    found = [
        (one.name != one.kind, end, end - start, one)
        for one in attributes()
        if {"date": "date", "clause": "text"}.get(one.kind, "number") == of
        for start, end in one.places(head)
    ]
    if not found and rest:
        return _sort(rest, of)
    return max(found, key=lambda f: f[:3])[3] if found else None


def _similar(name: str, sort: Attribute | None) -> Iterator[str]:
    """Words that mean the same as those of a column's name: of one that asks for figures of a sort none, of one that asks
    for the date of an event those beside it."""
    if sort is None:
        yield from _synonyms(name)
    elif sort.kind == "date" and (rest := sort.en.sub(" ", sort.zh.sub(" ", name)).strip()):
        others = [one for one in attributes() if one.kind == "date" and one.name != sort.name]
        yield from (w for w in _synonyms(rest) if not any(any(o.places(w)) for o in others))


def _synonyms(folded: str) -> Iterator[str]:
    """Words that mean the same as one of a name."""
    mine = {term for term, _ in _terms(folded)}
    for entry in entries("ask"):
        spellings = [plain(w) for w in (*entry.zh, *entry.en) if w not in entry.asking]
        if any(w in folded if has_han(w) else {t for t, _ in _terms(w)} <= mine for w in spellings):
            yield from spellings


def _terms(folded: str) -> Iterator[tuple[str, float]]:
    """The words by which a text is compared: English stems, pairs of Han characters and single ones."""
    for run in _HAN_RUN.findall(folded):
        if len(run) == 1:
            yield run, 1.0
            continue
        yield from ((run[i : i + 2], 1.0) for i in range(len(run) - 1))
        yield from ((char, CHARACTER) for char in run if char not in STOP)
    for word in _WORD.findall(_HAN_RUN.sub(" ", folded)):
        if word not in STOP and len(word) > 1:
            yield stem(word), 1.0


def _length(folded: str) -> float:
    """How many words a text has; two Han characters are one."""
    han = sum(map(len, _HAN_RUN.findall(folded)))
    return len(_WORD.findall(_HAN_RUN.sub(" ", folded))) + han / 2


# What a sentence says


@dataclass(frozen=True)
class _Candidate:
    """A figure, or a word in the place of one, from `start` to `end` of the text."""

    start: int
    end: int
    measure: Measure | None = None
    implied: bool = False  # it needs no word of the column beside it


@dataclass(frozen=True)
class _Said:
    """A sentence with the words of a column that stand in it."""

    text: str
    wanted: _Wanted

    @cached_property
    def folded(self) -> str:
        return plain(self.text)

    @cached_property
    def clauses(self) -> list[tuple[int, int]]:
        """The stretches between commas; one that is a date alone goes with the next."""
        edges = [0, *(m.end() for m in CLAUSE.finditer(self.folded)), len(self.folded)]
        alone = {
            edge
            for start, edge in pairwise(edges)
            for m in self.measures
            if m.dated
            and start <= m.start
            and m.end <= edge
            and (edge - start) - (m.end - m.start)
            <= (LED_IN if state_of(self.folded, m) == "until" else BARE)
        }
        return [
            (a, b)
            for a, b in pairwise(e for e in edges if e not in alone or e == edges[-1])
            if a < b
        ]

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        return measures(self.text)

    def counts(self, date_: Measure) -> bool:
        """Return whether a date only says when a count was valid ("in 2025 there were 8 sites").

        Its clause then contains a figure, and no word for the attribute that the column asks for.
        """
        start, end = self.clause(date_.start)
        figures = any(
            start <= m.start < end and (m.kind or self._counted(m))
            for m in self.measures
            if m.kind not in FRAMES | TIMES
        )
        sort = self.wanted.sort
        named = sort is not None and any(start <= at < end for at, _ in sort.places(self.folded))
        return figures and not named

    def _counted(self, figure: Measure) -> bool:
        """Return whether a figure without a unit is followed by a word that is no stop word."""
        match = _WORD.match(self.folded, figure.end + 1)
        return match is not None and match[0] not in STOP

    def brief(self, most: float) -> bool:
        """Whether a text is hardly more than its figures: an answer, that needs no word of the question."""
        rest, at = [], 0
        for m in self.measures:
            rest.append(self.folded[at : m.start])
            at = m.end
        return _length(" ".join([*rest, self.folded[at:]])) <= most

    def clause(self, at: int) -> tuple[int, int]:
        return next(((a, b) for a, b in self.clauses if a <= at < b), (0, len(self.folded)))

    @cached_property
    def found(self) -> list[tuple[int, int, str, float]]:
        """Where the column's words stand, and what they weigh."""
        at = {}
        for word, weight in self.wanted.words:
            for start, end in self._places(word):
                at[start, end, word] = weight
        if sort := self.wanted.sort:
            for start, end in sort.places(self.folded):
                at[start, end, f"={sort.name}"] = SORT
        return [(start, end, word, weight) for (start, end, word), weight in at.items()]

    def _places(self, term: str) -> Iterator[tuple[int, int]]:
        if has_han(term):
            yield from (m.span() for m in re.finditer(re.escape(term), self.folded))
        else:
            yield from (span for own, span in self._stems if own == term)

    @cached_property
    def _stems(self) -> list[tuple[str, tuple[int, int]]]:
        return [(stem(m[0]), m.span()) for m in _WORD.finditer(self.folded) if m[0].isascii()]

    def gap(self, one: tuple[int, int], other: tuple[int, int]) -> float:
        """How many words stand between two stretches."""
        return _length(self.folded[min(one[1], other[1]) : max(one[0], other[0])])

    def closeness(
        self, span: tuple[int, int], place: tuple[int, int], rivals: Sequence[tuple[int, int]]
    ) -> float:
        """From 1 for neighbours down; commas and other figures between make it less."""
        low, high = min(span[1], place[1]), max(span[0], place[0])
        share = 1.0 if self.clause(span[0]) == self.clause(place[0]) else ACROSS
        if any(low <= a and b <= high for a, b in rivals):
            share *= ACROSS
        if low < high and _STOPS.search(self.folded, low, high):
            share *= 0.8
        return share / (1 + self.gap(span, place) / FAR)

    def named(self, one: _Candidate, rivals: Sequence[tuple[int, int]]) -> float:
        """How near a figure stands to the column's words."""
        best: dict[str, float] = {}
        for start, end, word, weight in self.found:
            if start < one.end and one.start < end and len(word) == 1:
                continue  # 日 of a date
            score = weight * self.closeness((one.start, one.end), (start, end), rivals)
            best[word] = max(best.get(word, 0.0), score)
        sort, kind = self.wanted.sort, one.measure.kind if one.measure else ""
        told = 1.0 if one.implied else OWN if sort and sort.kind and sort.kind == kind else 0.0
        return sum(best.values()) + told

    def fits(self, one: _Candidate, rivals: Sequence[tuple[int, int]]) -> bool:
        """Whether a figure's clause does not say that it is of something else: a word of the column
        stands in another clause alone, or a word of another sort of its kind is this figure's."""
        span, clause = (one.start, one.end), self.clause(one.start)
        words = [f for f in self.found if f[2] not in self.wanted.near and len(f[2]) > 1]
        here = [f for f in words if clause[0] <= f[0] < clause[1]]
        if words and not here and not one.implied:
            return False
        sort = self.wanted.sort
        if sort is None or not sort.kind:
            return bool(here) or one.implied
        own = min((self.reach(f[:2], span) for f in here), default=FAR * 2)
        if any(self.reach(place, span) < own for place in self.others(clause, span, rivals)):
            return False
        return bool(here) or one.implied

    def others(
        self, clause: tuple[int, int], span: tuple[int, int], rivals: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """The words in a clause for other sorts of the column's kind, to which no other figure is nearer."""
        sort = self.wanted.sort
        mine = [*sort.places(self.folded)] if sort else []
        for other in attributes():
            if sort is None or other.kind != sort.kind or other.name in (sort.name, other.kind):
                continue
            for start, end in other.places(self.folded):
                inside = clause[0] <= start < clause[1]
                if inside and not any(start < b and a < end for a, b in mine):
                    reach = self.reach((start, end), span)
                    if all(reach <= self.reach((start, end), rival) for rival in rivals):
                        yield start, end

    def reach(self, word: tuple[int, int], figure: tuple[int, int]) -> float:
        """How far a figure is from a word, which mostly stands before it."""
        return self.gap(word, figure) + (0.5 if figure[0] < word[0] else 0.0)

    def narrowed(self, one: _Candidate, rivals: Sequence[tuple[int, int]]) -> frozenset[str]:
        """What narrows a figure, on its side of others in its clause."""
        start, end = self.clause(one.start)
        for a, b in rivals:
            if b <= one.start:
                start = max(
                    start, b, *(m.end() for m in _STOPS.finditer(self.folded, b, one.start))
                )
            elif a >= one.end:
                end = min(end, a, *(m.start() for m in _STOPS.finditer(self.folded, one.end, a)))
        return qualified(self.folded[start:end])


def _best(said: _Said, found: Sequence[_Candidate]) -> _Candidate | None:
    """The figure that is meant; None if that cannot be told."""
    scored = []
    for one in found:
        rivals = [(o.start, o.end) for o in found if o is not one]
        narrowed, asked = said.narrowed(one, rivals) - _USUAL, said.wanted.narrowed - _USUAL
        if _FORMER in narrowed - asked and not (one.measure and one.measure.dated):
            continue
        if said.fits(one, rivals) and not clashing(
            said.narrowed(one, rivals), said.wanted.narrowed
        ):
            share = NARROWER ** ((not narrowed <= asked) + (not asked <= narrowed))
            scored.append((share * said.named(one, rivals), one))
    scored.sort(key=lambda s: -s[0])
    if len(scored) > 1:
        (first, one), (second, other) = scored[:2]
        if first < SURER * second and not _equal(one, other):
            return None
    return scored[0][1] if scored else None


def _equal(one: _Candidate, other: _Candidate) -> bool:
    a, b = one.measure, other.measure
    if a is None or b is None:
        return a is b
    return a.kind == b.kind and (a.parts == b.parts if a.dated else abs(a.low - b.low) <= 0.02 * abs(a.low))  # fmt: skip


# Numbers


def _number(said: _Said) -> Value | None:
    found = [*_figures(said), *_free(said), *_none(said)]
    best = _best(said, found)
    if best is None:
        return None
    if best.measure is None:
        name = said.wanted.unit.name if said.wanted.unit else ""
        return Value(type="number", text=said.text[best.start : best.end], number=0.0, unit=name)
    return number_value(best.measure, said.text)


def number_value(measure: Measure, text: str) -> Value:
    """A figure of a text as a value in the unit in which it is written."""
    folded = plain(text)
    start, end = bounded(folded, measure)
    said = measure.bound or Scanner(folded).bound(measure.start, measure.end)
    name, by = measure.unit, measure.factor
    if name == "joint":  # 1小时30分钟 is 1.5 hours
        name = unit_named(measure.kind, by)
    if name == "part":
        name, by = "%", 1.0
    low, high = (round(value / by, 9) for value in (measure.low, measure.high))
    bounds: dict[str, Literal["about", "least", "most"]] = {"some": "least", "about": "about", "least": "least", "most": "most"}  # fmt: skip
    return Value(
        type="number",
        text=text[start:end].strip(),
        number=low,
        high=high if high > low else None,
        unit=name,
        bound=bounds.get(said, ""),
    )


def _figures(said: _Said) -> Iterator[_Candidate]:
    """The figures that are of the column's kind; those in its own unit alone, where there are any."""
    kind, own = said.wanted.kind, said.wanted.unit
    found = [one for m in said.measures if (one := _of_kind(m, kind))]
    same = [m for m in found if own and (m.kind, m.factor) == (own.kind, own.factor)]
    kept = same or found
    brief = said.brief(BRIEF * (1 + (len(kept) == 1)))
    for m in kept:
        yield _Candidate(m.start, m.end, m, implied=brief)


def _of_kind(measure: Measure, kind: str | None) -> Measure | None:
    for one in measure.readings():
        if one.kind in _OTHER_KINDS:
            continue
        if kind is None or family(one.kind) == kind:
            return one
    return None


def _free(said: _Said) -> Iterator[_Candidate]:
    """What says that nothing has to be paid, where money is asked for."""
    if said.wanted.kind != "money":
        return
    entry = said.wanted.sort is not None and said.wanted.sort.name in ("ticket", "money")
    implied = [m.span() for m in _pattern("free entry").finditer(said.folded)] if entry else []
    for m in _pattern("free zh", "free en").finditer(said.folded):
        if not _denied(said.folded[: m.start()]):
            sure = said.brief(BRIEF * (1 + (not said.measures))) or any(
                a <= m.start() < b for a, b in implied
            )
            yield _Candidate(*m.span(), implied=sure)


def _none(said: _Said) -> Iterator[_Candidate]:
    """What says that there are none of what is counted: no parking spaces, 不设停车位."""
    if said.wanted.kind not in ("", None):
        return
    firsts = {f[0] for f in said.found if f[3] >= 1.0}
    for m in _pattern("none zh", "none en").finditer(said.folded):
        after = m.end() + (said.folded[m.end() : m.end() + 1] == " ")
        if after in firsts:
            yield _Candidate(*m.span(), implied=True)


# Dates


def _date(said: _Said) -> Value | None:
    found = [
        _Candidate(m.start, m.end, m, implied=said.brief(ALONE))
        for m in said.measures
        if m.dated and m.parts[0] and m.parts[0] > 0
        if (said.wanted.state or not said.counts(m))
        and state_of(said.folded, m) in (said.wanted.state, "")
    ]
    words = any(f[2] not in said.wanted.near for f in said.found)
    known = [one for one in found if words or one.implied]
    sort = said.wanted.sort if said.wanted.kind == "date" else None
    best = _best(replace(said, wanted=replace(said.wanted, sort=sort)), known)
    return date_value(best.measure, said.text) if best and best.measure else None


def state_of(folded: str, measure: Measure) -> str:
    """Return how a date in a folded text limits a state: since, until or as of that date; "" if it
    is the date of an event."""
    before, behind = folded[: measure.start].rstrip(" ("), folded[measure.end :].lstrip(" ")
    return next((s for s in _STATES if _bounding(s)[0].search(before) or _bounding(s)[1].match(behind)), "")  # fmt: skip


@cache
def _bounding(state: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns for the words before and behind a date that limits a state in this
    way."""
    before = _pattern(f"{state} before").pattern
    behind = _pattern(f"{state} behind").pattern
    return (
        re.compile(
            rf"(?:{before})(?: the)?(?: (?:end|start|beginning|close) of)?(?: the)?(?: year)?$"
        ),
        re.compile(rf"年?[底初末]?(?:{behind})"),
    )


def date_value(measure: Measure, text: str) -> Value | None:
    """A date of a text as a value; of one that may be two days the year alone."""
    year, month, day = (measure.parts[0], None, None) if measure.swapped else measure.parts
    try:
        first = date(year or 0, month or 1, day or 1)
    except ValueError:
        return None
    precision: Literal["day", "month", "year"] = "day" if day and month else "month" if month else "year"  # fmt: skip
    return Value(type="date", text=text[measure.start : measure.end].strip(), day=first, precision=precision)  # fmt: skip


# Yes or no


@cache
def _pattern(*lists: str) -> re.Pattern[str]:
    """A pattern for the words of some lists: English ones as whole words."""
    words = "|".join(data.words("cells")[name] for name in lists)
    han = [word for word in _split(words) if has_han(word)]
    other = [word for word in _split(words) if not has_han(word)]
    parts = ["|".join(sorted(han, key=len, reverse=True))] if han else []
    parts += [rf"\b(?:{'|'.join(other)})\b"] if other else []
    return re.compile("|".join(parts))


def _split(words: str) -> list[str]:
    """Alternatives, but those within brackets, which are of one word."""
    return re.split(r"\|(?![^()]*\))", words)


def _denied(before: str) -> bool:
    """Whether what stands before a word takes it back, with no comma between."""
    tail = CLAUSE.split(before)[-1]
    zh, en = _pattern("not zh"), _pattern("not en")
    near = tail[-5:] if has_han(tail) else ""
    return zh.search(near) is not None or en.search(tail) is not None


def _yes_or_no(text: str, column: Column) -> Value | None:
    folded = plain(text).strip(" .。!！")
    for name in ("yes", "no"):
        if folded in _split(data.words("cells")[name]):
            return Value(type="yes or no", text=text.strip(), yes=name == "yes")
    modal, topic = _asked(column)
    wanted = _wanted(column, ())
    said = [
        (start, end, yes)
        for start, end in _Said(text, wanted).clauses
        if (yes := _says(plain(text)[start:end], modal, topic)) is not None
        if not _aside(plain(text)[start:end], column, wanted)
    ]
    if len({yes for _, _, yes in said}) != 1:
        return None
    start, end, yes = said[0]
    return Value(type="yes or no", text=_trimmed(text[start:end]), yes=yes)


def _aside(clause: str, column: Column, wanted: _Wanted) -> bool:
    """Return whether a clause is about something near the thing, or only about some people, times
    or parts, although the column does not ask for these."""
    near = _pattern("near zh", "near en")
    if near.search(clause) and not near.search(plain(f"{column.name} {column.question}")):
        return True
    return any(group(q) in _NARROWING for q in qualified(clause) - wanted.narrowed - _USUAL)


_MODALS = ("needed", "allowed", "offered", "open", "suited")
_PEOPLE = frozenset(("age", "sex", "party"))  # groups of qualifiers
_NARROWING = _PEOPLE | {"season", "part", "class", "border", "real"}


@lru_cache(1_000)
def _asked(column: Column) -> tuple[str, tuple[str, ...]]:
    """Return what a column asks about a topic, and the words of the topic.

    The first is "needed", "allowed", "offered", "open", "suited", or "" if it asks whether
    something is the case. A column whose words only name people asks whether the thing is suited to
    them.
    """
    name = _pattern("asks").sub(" ", plain(column.name))
    how = next((m for m in _MODALS if _pattern(m).search(name)), "")
    rest = _pattern(how).sub(" ", name) if how else name
    topic = (*_HAN_RUN.findall(rest), *_WORD.findall(_HAN_RUN.sub(" ", rest)))
    if not how and topic:
        how = next((m for m in _MODALS if _pattern(m).search(plain(column.question))), "")
    if not how and topic and all(any(group(q) in _PEOPLE for q in qualified(w)) for w in topic):
        how = "suited"
    return how, topic


def _says(clause: str, how: str, topic: tuple[str, ...]) -> bool | None:
    """What a clause says of a topic; None if it says nothing of it."""
    rest = _without(clause, topic)
    if rest is None:
        return None
    before, behind = rest
    whole = f"{before} {behind}"
    denied = _pattern("not zh").search(before[-6:]) or _pattern("not en").search(whole)
    if not how:
        return not denied
    if _pattern(f"not {how}").search(whole) or _pattern("none en").search(before, len(before) - 4):
        return False
    if match := _pattern(how).search(whole):
        taken = _pattern("not zh").search(whole[max(0, match.start() - 3) : match.start()])
        return not (taken or denied)
    return None


def _without(clause: str, topic: tuple[str, ...]) -> tuple[str, str] | None:
    """What stands before a topic in a clause and what behind it; None if it does not stand there. All
    its words have to, or a word that means the same."""
    if not topic:
        return "", clause
    spans: list[tuple[int, int]] = []
    for word in topic:
        found = _place_alike(clause, word)
        if found is None:  # 带宠物: 宠物
            parts = [w for w in cut(word, False) if has_han(w) and 1 < len(w) < len(word)]
            places = [place for w in parts if (place := _place_alike(clause, w))]
            if not parts or len(places) < len(parts):
                return None
            spans += places
        else:
            spans.append(found)
    return clause[: min(a for a, _ in spans)], clause[max(b for _, b in spans) :]


def _place_alike(clause: str, word: str) -> tuple[int, int] | None:
    """Return the start and end of a word, or of one of its synonyms, in a clause; None if there is
    none."""
    return next(filter(None, (_place(clause, w) for w in (word, *_meaning(word)))), None)


@lru_cache(1_000)
def _meaning(word: str) -> tuple[str, ...]:
    """The other spellings of the things that a word is a spelling of."""
    own = {word, stem(word)}
    found = [[plain(w) for w in (*e.zh, *e.en) if w not in e.asking] for e in entries("ask")]
    return tuple(
        w for spellings in found if own & {*spellings, *map(stem, spellings)} for w in spellings
    )


def _place(clause: str, word: str) -> tuple[int, int] | None:
    if has_han(word):
        at = clause.find(word)
        return (at, at + len(word)) if at >= 0 else None
    stems = [stem(w) for w in word.split()]
    if len(stems) != 1:
        match = re.search(rf"\b{re.escape(word)}\b", clause)
        return match.span() if match else None
    return next((m.span() for m in _WORD.finditer(clause) if stem(m[0]) == stems[0]), None)


# Choices and text


def _choice(said: _Said, column: Column) -> Value | None:
    found: list[tuple[int, int, str]] = []
    for choice in sorted(column.choices, key=len, reverse=True):
        for m in _literal(plain(choice)).finditer(said.folded):
            free = all(m.end() <= a or b <= m.start() for a, b, _ in found)
            if free:
                found.append((m.start(), m.end(), choice))
    kept = [f for f in found if not _denied(said.folded[: f[0]])]
    if len({choice for _, _, choice in kept}) != 1 or len(kept) < len(found):
        return None
    start, end, choice = kept[0]
    return Value(type="choice", text=said.text[start:end], choice=choice)


@lru_cache(1_000)
def _literal(folded: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){re.escape(folded)}(?![a-z0-9])" if not has_han(folded) else re.escape(folded))  # fmt: skip


def _text(said: _Said) -> Value | None:
    sort = said.wanted.sort
    if sort and sort.kind == "clause":
        for start, end in said.clauses:
            if any(sort.places(said.folded[start:end])):
                return Value(type="text", text=_trimmed(said.text[start:end]))
        return None
    return Value(type="text", text=_trimmed(said.text))


def _trimmed(text: str) -> str:
    line = " ".join(text.split()).strip(" ，,；;。")
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"


def unit_label(name: str, language: Language) -> str:
    """How the unit of a value is called in a heading: CNY, m², 公顷; a unit that nobody knows as it is."""
    one = unit(name)
    if one is None or one.name != name:
        return name
    if language == "zh":
        return next((w for w, units in UNITS.items() if units[0] == one and has_han(w)), name)
    if one.kind.startswith("money ") and one.factor == 1:
        return {"yuan": "CNY"}.get(name, name.upper())
    return name
