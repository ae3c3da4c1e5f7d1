"""A figure or date as a sentence gives it, and whether two of them are of one thing.

They are if they are of one kind, their sentences have enough words in common, and nothing sets them apart: another time, another name, a word of
`data/qualifiers.tsv` on one side alone. It knows no meaning: what is told in other words is another thing.
Of pieces of news that are known to tell of one event a word near both figures is enough. What each part is worth was measured
and stands in `tests/yardsticks/README.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache

from research import data
from research.language import segment
from research.language.quantities import Measure, agrees, compatible, dates_clash
from research.language.sentences import CLAUSE
from research.language.text import HAN, STOP, has_han
from research.verification.cues import cues
from research.verification.figures import TIMES
from research.verification.reading import Sentence, Text, read

ALIKE, YEARS = 0.45, 0.8  # of the words of two sentences, common ones; more for two bare years
FEWEST = (
    8  # what both have in common: a Han character is 2, another word 3, a figure 4, a name 2 more
)
NAMED = 0.5  # more of the names of one sentence than this share stand in the other
TITLED = 0.6  # of the words of one title that stand in the other, where no name is in common
SUBJECT = 0.6  # of the words behind two subjects in Chinese that are the same, from which the subjects are two things
PERIODIC = frozenset(
    {"daily", "monthly", "yearly"}
)  # qualifiers of what is another figure each year
LONGEST = 1_000  # characters of a sentence that is read
FRAMES = frozenset(
    {"date", "ordinal", "edition", "line"}
)  # figures that tell which of several things is meant
_TIMING = FRAMES | TIMES
TAKEN_BACK = frozenset({"denial", "rumour", "condition", "question"})

# Where a stretch of text ends although no sentence does: the joints of search results and of tables.
_JOINT = re.compile(r"\.\.\.+|…+|\s[·•|;]\s|[|\n\r]")
_ASIDE = re.compile(r"[(（\[【][^()（）\[\]【】]*$")
_BEFORE = re.compile(rf"([{HAN}]|[^\W\d_{HAN}]+)[ -]?$")
_NEXT = re.compile(r"[ -]?([^\W\d_]+)")
_NAMES = ("nr", "ns", "nt", "nz")  # parts of speech


@dataclass(frozen=True, eq=False)
class Line:
    """A sentence that has figures, as it is written and folded, with its content tokens and their places."""

    shown: str
    text: str
    content: tuple[tuple[str, int], ...]
    measures: tuple[Measure, ...]

    @cached_property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token, _ in self.content)

    @cached_property
    def names(self) -> frozenset[str]:
        """Capitalised words, but for the first, and names that the Chinese dictionary knows."""
        capital = (token for token, at in self.content if at and self.shown[at].isupper())
        return frozenset(capital) | _known(self.text)

    @cached_property
    def chinese(self) -> bool:
        """Whether it has a Han character."""
        return has_han(self.text)

    def has(self, name: str) -> bool:
        """Whether a name, or a longer or shorter form of it, stands in the sentence."""
        if not has_han(name):
            return name in self.tokens
        return name in self.text or any(own in name for own in self.names if has_han(own))


@lru_cache(4_000)
def _known(text: str) -> frozenset[str]:
    whole = text.encode(errors="ignore").decode()  # without half characters, which are no words
    tagged = segment.tag(whole) if has_han(text) else ()
    return frozenset(word for word, kind in tagged if kind[:2] in _NAMES and len(word) > 1)


@dataclass(frozen=True, eq=False)
class Mention:
    """A figure in its sentence. `counted` is what it is a number of, where its kind does not say so."""

    line: Line
    measure: Measure
    counted: str

    @property
    def text(self) -> str:
        """The figure as it is written."""
        return self.line.shown[self.measure.start : self.measure.end].strip()

    @property
    def kind(self) -> tuple[str, str]:
        """What only figures that may be of one thing have in common."""
        return self.measure.kind, self.counted

    @cached_property
    def others(self) -> tuple[Measure, ...]:
        """The other figures of the sentence."""
        return tuple(other for other in self.line.measures if other is not self.measure)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Their kinds."""
        return frozenset(other.kind for other in self.others)

    @cached_property
    def timing(self) -> frozenset[str]:
        """Those of them that tell when, or which of several things is meant."""
        return self.kinds & _TIMING

    @cached_property
    def day_beside(self) -> bool:
        """Whether a date stands in its clause."""
        start, end = self.clause
        return any(m.dated and start <= m.start < end for m in self.others)

    @cached_property
    def lead(self) -> str:
        """What stands before it in its clause."""
        return self.line.text[self.clause[0] : self.measure.start]

    @cached_property
    def labels(self) -> dict[str, set[float]]:
        """The words, or Han characters, of the sentence with the bare numbers that stand right behind."""
        found: dict[str, set[float]] = {}
        for m in self.others:
            match = _BEFORE.search(self.line.text, 0, m.start) if not m.kind else None
            if match and match[1] not in STOP:
                found.setdefault(match[1], set()).add(m.low)
        return found

    def nearest(self, most: int) -> list[str]:
        """The content tokens next to the figure, no more than `most`."""
        content = sorted(self.line.content, key=lambda one: abs(one[1] - self.measure.start))
        return [token for token, _ in content[:most]]

    @cached_property
    def qualifiers(self) -> frozenset[str]:
        """What narrows the figure: qualifiers near it, on its side of other figures of its kind."""
        text, m = self.line.text, self.measure
        start, end = self.clause
        for other in self.others:
            if other.family == m.family:
                start = max(start, other.end) if other.end <= m.start else start
                end = min(end, other.start) if other.start >= m.end else end
        return qualified(text[start:end])

    @cached_property
    def clause(self) -> tuple[int, int]:
        """The places between which no comma stands and the figure does."""
        text, m = self.line.text, self.measure
        start = max((comma.end() for comma in CLAUSE.finditer(text, 0, m.start)), default=0)
        comma = CLAUSE.search(text, m.end)
        return start, comma.start() if comma else len(text)


@cache
def _qualifiers() -> dict[str, tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Qualifiers with their groups, in Chinese and in English."""
    return {
        name: (group, re.compile(chinese), re.compile(rf"\b(?:{english})\b"))
        for name, group, chinese, english in data.rows("qualifiers.tsv")
    }


@lru_cache(20_000)
def qualified(text: str) -> frozenset[str]:
    """The qualifiers of a folded text."""
    return frozenset(
        name for name, (_, zh, en) in _qualifiers().items() if zh.search(text) or en.search(text)
    )


@lru_cache(4_000)
def mentions(text: str) -> tuple[Mention, ...]:
    """The figures and dates of a passage that can be held against others: exact ones that say what they
    count, not by the way, in sentences that are not taken back."""
    return tuple(
        Mention(line, measure, counted)
        for line in _lines(text)
        if not cues(line.text) & TAKEN_BACK
        for measure in line.measures
        if _exact(measure) and not _ASIDE.search(line.text, 0, measure.start)
        for counted in [_counted(line, measure)]
        if measure.kind or counted
    )


def _lines(text: str) -> Iterator[Line]:
    for part in _JOINT.split(text):
        whole = read(part)
        for sentence in whole.sentences:
            if len(sentence.text) <= LONGEST and sentence.measures:
                yield _line(whole, sentence)


def _line(whole: Text, sentence: Sentence) -> Line:
    inside = [(sentence.start + m.start, sentence.start + m.end) for m in sentence.measures]
    content = tuple(
        (token, at - sentence.start)
        for token, at in zip(whole.tokens, whole.starts, strict=True)
        if sentence.start <= at < sentence.end and token not in STOP
        if not any(start <= at < end for start, end in inside)
    )
    shown = whole.text[sentence.start : sentence.end]
    return Line(shown, sentence.text, content, sentence.measures)


def _exact(m: Measure) -> bool:
    timed = not m.dated and m.kind in TIMES | FRAMES
    return m.low == m.high and m.bound in ("", "about") and not m.spoken and not timed


def _counted(line: Line, measure: Measure) -> str:
    if measure.kind:
        return measure.unit if measure.kind == "count" else ""
    before = _BEFORE.search(line.text, 0, measure.start)
    if before and before[1] not in STOP and line.shown[before.start(1)].isupper():  # part of a name
        return ""
    match = _NEXT.match(line.text, measure.end)
    return match[1] if match else ""


def agree(one: Measure, other: Measure) -> bool:
    """Whether both may be true of one thing."""
    if one.dated and other.dated:
        return not dates_clash(one, other)
    return compatible(one, other)


def alike(one: Mention, other: Mention, titles: Sequence[frozenset[str]] = ()) -> bool:
    """Whether two mentions of one kind are of one thing; `titles` are the words of the titles that
    they stand under, if both have one."""
    least = YEARS if _year(one.measure) or _year(other.measure) else ALIKE
    return (
        _shared(one.line, other.line) >= least
        and one.qualifiers == other.qualifiers
        and not _framed(one, other)
        and not _elsewhere(one, other)
        and _same_names(one.line, other.line)
        and _enough(one, other, titles)
    )


def alike_in_story(one: Mention, other: Mention, texts: tuple[str, str]) -> bool:
    """Whether two mentions of one kind are of one thing, where two pieces tell of one event; `texts` are
    the folded texts of the pieces."""
    return (
        not one.measure.dated
        and not _across(one, other)
        and not _exclusive(one.qualifiers, other.qualifiers)
        and not _timed(one, other)
        and _same_names(one.line, other.line)
        and not _other_subject(one, other, texts)
    )


def _across(one: Mention, other: Mention) -> bool:
    """Whether one sentence is in Chinese and one is not, and they do not both tell of the dead or of the hurt."""
    if one.line.chinese == other.line.chinese:
        return False
    return not any(_qualifiers()[q][0] == "harm" for q in one.qualifiers & other.qualifiers)


def clashing(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of qualifiers have two different ones of a group: adults and children."""
    groups: dict[str, tuple[set[str], set[str]]] = {}
    for side, names in enumerate((one, other)):
        for name in names:
            groups.setdefault(_qualifiers()[name][0].rstrip("!"), (set(), set()))[side].add(name)
    return any(a and b and not a & b for a, b in groups.values())


def _exclusive(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of qualifiers clash, or have one that sets apart alone."""
    alone = any(_qualifiers()[name][0].endswith("!") for name in one ^ other)
    return alone or clashing(one, other)


def _timed(one: Mention, other: Mention) -> bool:
    """Whether other days, editions or lines stand with two figures, or a date in the clause of one alone."""
    if any(_rivals(kind, one, other) for kind in one.timing & other.timing):
        return True
    return one.day_beside != other.day_beside


def _other_subject(one: Mention, other: Mention, texts: tuple[str, str]) -> bool:
    """Whether two clauses in Chinese are the same but for how they begin, and neither beginning has a pair
    of characters in the other's text: two companies in one form of words."""
    if not (one.line.chinese and other.line.chinese):
        return False
    said = one.lead, other.lead
    if not all(map(has_han, said)):
        return False
    blocks = SequenceMatcher(None, said[0], said[1], autojunk=False).get_matching_blocks()
    same = [block for block in blocks if block.size > 1]
    if not same:
        return False
    heads = said[0][: same[0].a].strip(), said[1][: same[0].b].strip()
    least = max(len(text) - len(head) for text, head in zip(said, heads, strict=True))
    if min(map(len, heads)) < 2 or sum(block.size for block in same) < SUBJECT * least:
        return False
    return not any(
        head[i : i + 2] in text
        for head, text in zip(heads, texts[::-1], strict=True)
        for i in range(len(head) - 1)
    )


def _shared(one: Line, other: Line) -> float:
    """The share of the words of either sentence that the other has: the mean of both."""
    common = len(one.tokens & other.tokens)
    return (common / len(one.tokens) + common / len(other.tokens)) / 2 if common else 0.0


def _year(m: Measure) -> bool:
    return m.dated and m.parts[1] is None


def _framed(one: Mention, other: Mention) -> bool:
    """Whether other figures of the two sentences say that they are of two things: another time or
    number of an event, another number behind a name, a date or such a number on one side only, and
    for a date any other figure."""
    kinds = one.kinds if one.measure.dated else FRAMES & one.kinds
    if any(_rivals(kind, one, other) for kind in kinds & other.kinds):
        return True
    if _numbered(one, other) or _numbered(other, one):
        return True
    dated = [any(m.dated for m in mention.others) for mention in (one, other)]
    return dated[0] != dated[1] and not _vouched(one, other)


def _rivals(kind: str, one: Mention, other: Mention) -> bool:
    """Whether both sentences have other figures of a kind, of which none agree."""
    pairs = [
        (a, b)
        for a in _of(kind, one.others)
        for b in _of(kind, other.others)
        if (_parts_in_common(a, b) if a.dated else kind in FRAMES | TIMES or a.unit == b.unit)
    ]
    return bool(pairs) and not any(agree(a, b) for a, b in pairs)


def _parts_in_common(one: Measure, other: Measure) -> bool:
    return any(None not in pair for pair in zip(one.parts, other.parts, strict=True))


def _numbered(one: Mention, other: Mention) -> bool:
    """Whether a word with a number behind it, as a sequel or a model has, stands in the other sentence
    without that number."""
    text = other.line.text
    return any(
        not numbers & other.labels.get(word, set())
        and (word in text if has_han(word) else re.search(rf"\b{re.escape(word)}\b", text))
        for word, numbers in one.labels.items()
    )


def _of(kind: str, measures: Iterable[Measure]) -> Iterator[Measure]:
    return (m for m in measures if m.kind == kind)


def _vouched(one: Mention, other: Mention) -> bool:
    """Whether the sentences have another figure in common."""
    return any(a.kind and agrees(a, b) for a in one.others for b in other.others)


def _elsewhere(one: Mention, other: Mention) -> bool:
    """Whether one is a day and the other a month or a year, or they differ but either sentence has the
    other's figure as well."""
    a, b = one.measure, other.measure
    given = [[part is not None for part in m.parts] for m in (a, b)]
    if given[0] != given[1] and not (a.parts[2] and b.parts[2]):
        return True
    if agree(a, b):
        return False
    return any(agrees(a, m) for m in other.others) or any(agrees(b, m) for m in one.others)


def _same_names(one: Line, other: Line) -> bool:
    few, many = (one, other) if len(one.names) <= len(other.names) else (other, one)
    return few.names <= many.names or sum(map(many.has, few.names)) > NAMED * len(few.names)


def _enough(one: Mention, other: Mention, titles: Sequence[frozenset[str]]) -> bool:
    """Whether what two sentences have in common, with their titles, names a thing."""
    names = sum(map(other.line.has, one.line.names))
    shared = _mass(one.line.tokens & other.line.tokens) + 2 * names + 4 * _vouched(one, other)
    if titles and not names:
        common = titles[0] & titles[1]
        least = min(map(_mass, titles))
        if _mass(common) < TITLED * least:
            return False
        if _mass(common) == least:
            shared += least
    return shared >= FEWEST


def _mass(tokens: Iterable[str]) -> int:
    return sum(2 if has_han(token) else 3 for token in tokens)
