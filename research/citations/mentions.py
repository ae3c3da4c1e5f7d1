"""A figure or date as a sentence gives it, and whether two of them are of one thing.

They are if they are of one kind, their sentences have enough words in common, and nothing sets them apart: another time, another name, a word of
`data/qualifiers.tsv` on one side alone, other words beside the figure (restored in 1999, opened in 1931) unless `data/columns.tsv` knows that
they name one attribute. It knows no meaning: what is told in other words is another thing.
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
from research.citations.cues import cues
from research.citations.figures import TIMES
from research.citations.reading import Sentence, Text, read
from research.core.text.attributes import attributes
from research.core.text.names import han_names, latin_names
from research.core.text.quantities import Measure, agrees, compatible, dates_clash
from research.core.text.sentences import CLAUSE
from research.core.text.words import HAN, STOP, has_han

ALIKE, YEARS = 0.45, 0.8  # of the words of two sentences, common ones; more for two bare years
FEWEST = (
    8  # what both have in common: a Han character is 2, another word 3, a figure 4, a name 2 more
)
NAMED = 0.7  # more of the names of one sentence than this share stand in the other
TITLED = 0.6  # of the words of one title that stand in the other, where no name is in common
SUBJECT = 0.6  # of the words behind two subjects in Chinese that are the same, from which the subjects are two things
PERIODIC = frozenset(
    {"daily", "monthly", "yearly"}
)  # qualifiers of what is another figure each year
LONGEST = 1_000  # characters of a sentence that is read
BESIDE = 4  # Han characters next to a figure that tell what it is of, or half as many other words
FRAMES = frozenset(
    {"date", "ordinal", "edition", "line"}
)  # figures that tell which of several things is meant
_TIMING = FRAMES | TIMES
TAKEN_BACK = frozenset({"denial", "rumour", "condition", "question"})

# Where a stretch of text ends although no sentence does: the joints of search results and of tables.
_JOINT = re.compile(r"\.\.\.+|…+|\s[·•|;]\s|[|\n\r]")
_ASIDE = re.compile(r"[(（\[【][^()（）\[\]【】]*$")
_BEFORE = re.compile(rf"([{HAN}]|[^\W\d_{HAN}]+)[ -]?$")
_LABEL = re.compile(
    r"(?:^|(?<=[;,|]))\s*[^\W\d][^:;,|]{0,40}:(?=\s)"
)  # Price: of Name: Vega; Price: 80 EUR
_LINK = re.compile(r"\s(?:and|but|while)\s|[并而且]")
_YEAR = re.compile(r"\b(?:an?|the|this|that|its|their|his|her|our)\s(1\d{3}|20\d\d)(?=\s[a-z])")
_OPENING = re.compile(r"(?:in|at|on|for|during|under|among)\b[^,]*,")
_NEXT = re.compile(r"[ -]?([^\W\d_]+)")


@dataclass(frozen=True, eq=False)
class Line:
    """A sentence that has figures, as it is written and folded, with its content tokens and their places;
    `counted` are the words within its figures: the visitors of 41,200 visitors."""

    shown: str
    text: str
    content: tuple[tuple[str, int], ...]
    counted: tuple[tuple[str, int], ...]
    measures: tuple[Measure, ...]

    @cached_property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token, _ in self.content)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its tokens and the words within its figures."""
        return self.tokens | {token for token, _ in self.counted}

    @cached_property
    def joins(self) -> tuple[tuple[int, int], ...]:
        """The places of words that only join a figure to what it is of, or are compared by themselves."""
        known = ((a, b) for name, a, b in _qualifying(self.text) if group(name) == "real")
        return (*(match.span() for match in _joins().finditer(self.text)), *known)

    @cached_property
    def telling(self) -> tuple[tuple[str, int], ...]:
        """The words that may tell what its figures are of: neither names nor words that only join the two."""
        names = frozenset[str]().union(*self.capitals)
        return tuple(
            (token, at)
            for token, at in (*self.content, *self.counted)
            if token not in names and not any(start <= at < end for start, end in self.joins)
        )

    @cached_property
    def capitals(self) -> tuple[frozenset[str], ...]:
        """The words of each name in Latin letters. The labels of a record are none."""
        labels = [match.span() for match in _LABEL.finditer(self.shown)]
        labels = labels if len(labels) > 1 else []
        found = (
            frozenset(
                token
                for token, at in self.content
                if start <= at < end and not any(a <= at < b for a, b in labels)
            )
            for start, end in latin_names(self.shown)
        )
        return tuple(filter(None, found))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of names in Latin letters, and names that the Chinese dictionary knows."""
        known = (self.text[start:end] for start, end in han_names(self.text))
        return frozenset[str]().union(*self.capitals, known)

    @cached_property
    def years(self) -> dict[int, str]:
        """The years that say which of several things is meant, as "the 2021 census" does, by their places."""
        return {match.start(1): match[1] for match in _YEAR.finditer(self.text)}

    @cached_property
    def parts(self) -> frozenset[str]:
        """Names of successive phases of a project in a Chinese sentence, such as 二期."""
        named = (self.text[a:b] for name, a, b in _qualifying(self.text) if name == "phase")
        return frozenset(filter(has_han, named))

    @cached_property
    def opening(self) -> frozenset[str]:
        """The words of the phrase, without a figure, with which it opens: In the pilot phase, 200 homes."""
        match = _OPENING.match(self.text)
        end = match.end() if match else 0
        bare = not any(m.start < end for m in self.measures)
        return frozenset(token for token, at in self.content if bare and at < end)

    @cached_property
    def chinese(self) -> bool:
        """Whether it has a Han character."""
        return has_han(self.text)

    def has(self, name: str) -> bool:
        """Whether a name, or a longer or shorter form of it, stands in the sentence."""
        if not has_han(name):
            return name in self.tokens
        return name in self.text or any(own in name for own in self.names if has_han(own))


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

    def begins_with(self, name: str) -> bool:
        """Return whether the sentence begins with a name, before any figure other than a date."""
        line = self.line
        first = min((at for _, at in line.content), default=len(line.text))
        ahead = any(m.start < first for m in line.measures if not m.dated)
        return not ahead and line.text.startswith(name, first)

    def nearest(self, most: int) -> list[str]:
        """The content tokens next to the figure, no more than `most`."""
        content = sorted(self.line.content, key=lambda one: abs(one[1] - self.measure.start))
        return [token for token, _ in content[:most]]

    @cached_property
    def beside(self) -> tuple[str, ...]:
        """The words next to the figure that may tell what it is of, the nearest first."""
        kept, mass = [], 0
        for token in self.around:
            mass += _weight(token)
            if mass > BESIDE:
                break
            kept.append(token)
        return tuple(kept)

    @cached_property
    def around(self) -> tuple[str, ...]:
        """All words that may tell what it is of, the nearest first; of its clause if that has any, without what
        "and" adds."""
        m = self.measure
        telling = [
            (m.start - at if at < m.start else at - m.end, token, at)
            for token, at in self.line.telling
            if not m.start <= at < m.end
        ]
        start, end = self.clause
        past = max((o.end for o in self.others if o.end <= m.start), default=m.start)
        start = max(
            (link.end() for link in _LINK.finditer(self.line.text, past, m.start)), default=start
        )
        link = _LINK.search(self.line.text, m.end, end)
        end = link.start() if link else end
        own = [word for word in telling if start <= word[2] < end] or telling
        return tuple(token for _, token, _ in sorted(own))

    def named(self, words: Sequence[str]) -> frozenset[str]:
        """Return what the given words of the sentence say about the figure: attributes of its kind,
        and qualifiers."""
        places = [at for token, at in (*self.line.content, *self.line.counted) if token in words]
        return frozenset(
            name
            for name, start, end in _named(self.line.text, self.measure.family)
            if any(start <= at < end for at in places)
        )

    @cached_property
    def qualifiers(self) -> frozenset[str]:
        """Qualifiers of the figure: those near it, on its side of other figures of its kind.

        That the figure is planned may also be stated in an earlier clause, as by "experts expect",
        back to the nearest clause that has a figure.
        """
        text, m = self.line.text, self.measure
        start, end = self.clause
        for other in self.others:
            if other.family == m.family:
                start = max(start, other.end) if other.end <= m.start else start
                end = min(end, other.start) if other.start >= m.end else end
        return qualified(text[start:end]) | frozenset(q for q in self.ahead if group(q) == "real")

    @cached_property
    def ahead(self) -> frozenset[str]:
        """The qualifiers of the clauses before its own, up to one that has a figure with a unit."""
        told = max(
            (
                o.end
                for o in self.others
                if o.kind and o.kind not in _TIMING and not o.dated and o.end <= self.clause[0]
            ),
            default=0,
        )
        return qualified(self.line.text[told : self.clause[0]])

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


def group(qualifier: str) -> str:
    """The group of a qualifier."""
    return _qualifiers()[qualifier][0].rstrip("!")


@cache
def _joins() -> re.Pattern[str]:
    words = data.words("figures")
    return re.compile(rf"{words['joins zh']}|\b(?:{words['joins en']})\b")


@lru_cache(4_000)
def _named(text: str, family: str) -> tuple[tuple[str, int, int], ...]:
    """The attributes of a family of figures, and the qualifiers, that a folded text names, and where."""
    named = ((a.name, *place) for a in attributes() if a.kind == family for place in a.places(text))
    return (*named, *_qualifying(text))


@lru_cache(4_000)
def _qualifying(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(
        (name, *match.span())
        for name, (_, *patterns) in _qualifiers().items()
        for pattern in patterns
        for match in pattern.finditer(text)
    )


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
    telling = [
        (token, at - sentence.start)
        for token, at in zip(whole.tokens, whole.starts, strict=True)
        if sentence.start <= at < sentence.end and token not in STOP
    ]
    measures = sentence.measures
    content = tuple(w for w in telling if not any(m.start <= w[1] < m.end for m in measures))
    counted = tuple(
        (token, at)
        for token, at in telling
        if not token[0].isdigit() and any(not m.dated and m.start <= at < m.end for m in measures)
    )
    shown = whole.text[sentence.start : sentence.end]
    return Line(shown, sentence.text, content, counted, sentence.measures)


def _exact(m: Measure) -> bool:
    timed = not m.dated and m.kind in TIMES | FRAMES
    return m.low == m.high and m.bound in ("", "about") and not m.spoken and not timed


def _counted(line: Line, measure: Measure) -> str:
    if measure.kind:
        return measure.unit if measure.kind == "count" else ""
    if measure.start in line.years:
        return ""
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
        and len(set(_narrowed(one, other))) == 1
        and not _framed(one, other)
        and not _elsewhere(one, other)
        and _same_attribute(one, other)
        and _same_names(one.line, other.line)
        and _enough(one, other, titles)
    )


def alike_in_story(one: Mention, other: Mention, texts: tuple[str, str]) -> bool:
    """Whether two mentions of one kind are of one thing, where two pieces tell of one event; `texts` are
    the folded texts of the pieces."""
    return (
        not one.measure.dated
        and not _across(one, other)
        and not _exclusive(*_narrowed(one, other))
        and not _timed(one, other)
        and _same_names(one.line, other.line)
        and not _other_subject(one, other, texts)
    )


def _across(one: Mention, other: Mention) -> bool:
    """Whether one sentence is in Chinese and one is not, and they do not both tell of the dead or of the hurt."""
    if one.line.chinese == other.line.chinese:
        return False
    return not any(group(q) == "harm" for q in one.qualifiers & other.qualifiers)


def clashing(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of qualifiers have two different ones of a group: adults and children."""
    groups: dict[str, tuple[set[str], set[str]]] = {}
    for side, names in enumerate((one, other)):
        for name in names:
            groups.setdefault(group(name), (set(), set()))[side].add(name)
    return any(a and b and not a & b for a, b in groups.values())


def _narrowed(one: Mention, other: Mention) -> tuple[frozenset[str], frozenset[str]]:
    """The qualifiers of two figures: what lies in the future counts as a plan beside a plan, and as nothing else; what
    narrows one narrows the other as well that has it in the clause before."""
    return _as_plan(one, other), _as_plan(other, one)


def _as_plan(one: Mention, other: Mention) -> frozenset[str]:
    planned = "future" in one.qualifiers and "plan" in other.qualifiers
    own = one.qualifiers | (one.ahead & other.qualifiers)
    return own - {"future", "total"} | frozenset(["plan"] * planned)


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
    kinds = one.kinds if one.measure.dated else one.timing
    if any(_rivals(kind, one, other) for kind in kinds & other.kinds):
        return True
    if _numbered(one, other) or _numbered(other, one) or _other_part(one.line, other.line):
        return True
    told = [
        {m.kind for m in mention.others} & {"date", "edition", "ordinal"}
        for mention in (one, other)
    ]
    return told[0] != told[1] and not _vouched(one, other)


def _other_part(one: Line, other: Line) -> bool:
    """Return whether two sentences name different years of a thing or different parts of it, or
    open with phrases that share a word and each have another one."""
    years = {*one.years.values()}, {*other.years.values()}
    if any(a and b and not a & b for a, b in (years, (one.parts, other.parts))):
        return True
    a, b = one.opening, other.opening
    return bool(a & b and a - other.tokens and b - one.tokens)


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
    """Return whether most names of the sentence with fewer names occur in the other one.

    False if two names share a word and each have another one, as Hotel Astra and Hotel Vega.
    """
    few, many = (one, other) if len(one.names) <= len(other.names) else (other, one)
    if any(
        a & b and a - other.words and b - one.words for a in one.capitals for b in other.capitals
    ):
        return False
    return few.names <= many.names or sum(map(many.has, few.names)) > NAMED * len(few.names)


def _same_attribute(one: Mention, other: Mention) -> bool:
    """Return whether the words around two figures may name the same attribute of a thing.

    If both have words that the other's sentence lacks, next to the figure or as their only words,
    these have to name the same attribute. Next to the figure, and in English, they may also name
    none if they stand further from it than a word that both share. For dates it is enough that a
    shared word names the event.
    """
    mine, its = _own(one.beside, other), _own(other.beside, one)
    nearest = mine[:1] == one.beside[:1] and its[:1] == other.beside[:1]
    event = one.measure.dated and one.named([word for word in one.beside if word in other.beside])
    open_to_doubt = mine and its and not event
    if open_to_doubt and not _named_alike(one, other, mine, its, nearest or one.line.chinese):
        return False
    mine, its = _own(one.around, other), _own(other.around, one)
    single = all(0 < sum(map(_weight, words)) <= BESIDE / 2 for words in (mine, its))
    return not single or _named_alike(one, other, mine, its, True)


def _own(words: Sequence[str], other: Mention) -> tuple[str, ...]:
    """The words that the sentence of another figure has not."""
    return tuple(word for word in words if word not in other.line.words)


def _named_alike(
    one: Mention, other: Mention, mine: Sequence[str], its: Sequence[str], apart: bool
) -> bool:
    """Return whether the words of two sentences name the same attribute, or, unless `apart`, both
    name none."""
    named = one.named(mine), other.named(its)
    return bool(named[0] & named[1]) or not (named[0] or named[1] or apart)


def _weight(token: str) -> int:
    return 1 if has_han(token) else 2


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
