"""A text as it is compared: its sentences and clauses, the words in them as concepts, and its figures
with the words that they belong to. Read once, kept while it is asked for again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from research import segment
from research.evidence.lexicon import CONCEPTS, LONGEST, PHRASES, PLACES, SENSES
from research.language.quantities import Measure, measures, plain
from research.text import HAN, LIGHT, STOP, has_han, stem

LONGEST_PASSAGE = 20_000  # characters; what lies behind is not read
LONGEST_SENTENCE = 600  # what is longer is no sentence: a table, a list
LONGEST_CLAIM = 1_500
MOST_FIGURES = 40  # of a sentence
_END = re.compile(r"[。！？!?；;\n]+[”’」』）)】》\"']*|(?<![\s.][a-zA-Z])(?<!\b(?i:mr|ms|dr|st|no|vs|jr|sr))(?<!\b(?i:mrs|inc|ltd|etc|est|gen|col|sen|gov))(?<!\bca)(?<!approx)(?<!\.[A-Z])\.[\"')”’]*(?=\s+[^a-z\s])|\.[\"')”’]*$")  # fmt: skip
_CLAUSE = re.compile(r"[，；：、。！？;:()（）—]|,(?!\d{3})|\s[-–]\s|\b(?:and|while|whereas|but|although|with|who|which|compared|than|versus)\b|而|但|比(?=上|去)|其中")  # fmt: skip
_RUN = re.compile(rf"[{HAN}]+|[^\W\d_{HAN}]+(?:'[^\W\d_{HAN}]+)*|\d+(?:[.,]\d+)*")
_IDENTIFIER = re.compile(r"(?<![a-z\d])(?:[a-z]+-?\d+[a-z\d-]*|\d+[a-z]+\d*)(?![a-z\d])")
_PARTICLES = frozenset("的了着过是在和与及或也都就还又很把被给让从到对向往于以且则若吗呢吧啊呀么之其这那哪个已有为由等所名位约近年月日时该此它他她我们其他")  # fmt: skip
_IDLE_WORDS = """
也 为 已 已经 有 由 等 该 此 其 其中 约 近 就 了 自己 进行 成为 作为 以及 并 目前 至今 仍 仍然 当时 其它 部分 左右 大约 差不多 其中 情况 方面 一直 都 共 于
不 没有 没 未 不再 无 并非 尚未
"""
_IDLE = frozenset(_IDLE_WORDS.split())
_MINOR_WORDS = """
may will since until after before during also say need hold use main people number level have
get give name year day level include show new after provide allow many reach some
"""
_MINOR = frozenset(_MINOR_WORDS.split())


_SUFFIXES = frozenset("省市县区州国山人者率额量队")


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or a concept of the lexicon, and how much it tells (0 to 1)."""

    key: str
    start: int
    end: int
    weight: float
    known: bool = False
    sense: str = ""  # the concept that it comes near to


@dataclass(frozen=True)
class Sentence:
    """A sentence at `start` to `end` of its text; offsets inside it count from its own beginning."""

    start: int
    end: int
    text: str  # as `plain` gives it
    terms: tuple[Term, ...]
    measures: tuple[Measure, ...]
    clauses: tuple[tuple[int, int], ...]

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(term.key for term in self.terms)

    @cached_property
    def worths(self) -> dict[tuple[str, str], float]:
        """What it has of words that were asked for."""
        return {}

    @cached_property
    def senses(self) -> frozenset[str]:
        return frozenset(term.sense for term in self.terms if term.sense)

    @cached_property
    def beginnings(self) -> frozenset[str]:
        return frozenset(key[:5] for key in self.keys)

    @cached_property
    def letters(self) -> frozenset[str]:
        return frozenset(self.text)

    @cached_property
    def contexts(self) -> tuple[dict[str, float], ...]:
        return tuple(self._context(measure) for measure in self.measures)

    @cached_property
    def _cuts(self) -> list[int]:
        return [start for start, _ in self.clauses]

    def clause(self, at: int) -> int:
        return max(0, bisect_right(self._cuts, at) - 1)

    def inside(self, clause: tuple[int, int]) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if clause[0] <= term.start < clause[1])

    def _context(self, measure: Measure) -> dict[str, float]:
        """The words, dates and roles that a figure belongs to, each by how near it stands."""
        own = self.clause(measure.start)
        rivals = [m for m in self.measures if m.family == measure.family and m.start != measure.start]  # fmt: skip
        found: dict[str, float] = {}
        for term in self.terms:
            if measure.start <= term.start < measure.end:
                continue
            weight = term.weight * self._nearness(measure, own, term.start, rivals)
            if weight > found.get(term.key, 0):
                found[term.key] = weight
        if not measure.dated:
            for date in self.measures:
                for key in date_keys(date):
                    weight = 1.5 * self._nearness(measure, own, date.start, rivals)
                    found[key] = max(weight, found.get(key, 0))
        before = self.text[max(0, measure.start - 6) : measure.start]
        if _FROM.search(before):
            found["@from"] = 1.0
        elif _TO.search(before):
            found["@to"] = 1.0
        return found

    def stretch(self, measure: Measure) -> tuple[int, int]:
        """The part of the sentence that belongs to a figure, between the figures of its sort."""
        rivals = [m for m in self.measures if m.family == measure.family and m.start != measure.start]  # fmt: skip
        own = self.clause(measure.start)
        start, end = 0, self.clauses[own][1]
        for rival in rivals:
            theirs = self.clause(rival.start)
            if rival.start < measure.start:
                start = max(start, rival.end if theirs == own else self.clauses[theirs][1])
            elif theirs == own:
                end = min(end, rival.start)
        return start, end

    def _nearness(self, measure: Measure, own: int, at: int, rivals: list[Measure]) -> float:
        clause = self.clause(at)
        low, high = sorted((measure.start, at))
        between = any(low < rival.start < high for rival in rivals)
        if clause == own:
            return 0.35 if between else 1.0 if high - low < 16 else 0.8
        if between:
            return 0.15
        return 0.5 if clause < own else 0.25


_FROM = re.compile(r"(?:\bfrom|从|由)\s?$")
_TO = re.compile(r"(?:\bto|至|到|为|达)\s?$")


def date_keys(measure: Measure) -> Iterator[str]:
    """A date as words that figures are told apart by."""
    if measure.dated:
        for name, part in zip("ymd", measure.parts, strict=True):
            if part is not None:
                yield f"@{name}{part}"
    elif measure.kind in ("quarter", "half", "weekday", "decade", "century", "edition", "until"):
        yield f"@{measure.kind}{measure.low:g}"


@dataclass(frozen=True)
class Reading:
    """A text with its sentences; `han` says whether it is Chinese."""

    text: str
    folded: str
    sentences: tuple[Sentence, ...]
    han: bool

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset[str]().union(*(sentence.keys for sentence in self.sentences))

    @cached_property
    def years(self) -> frozenset[int]:
        figures = [m for s in self.sentences for m in s.measures]
        bare = (int(m.low) for m in figures if not m.kind and 1000 <= m.low <= 2100)
        return frozenset(m.parts[0] for m in figures if m.parts[0]) | frozenset(bare)


@lru_cache(4_096)
def read(text: str, whole: bool = False) -> Reading:
    """A text; as one sentence if `whole`, which a claim is."""
    folded = plain(text)
    spans = [(0, min(len(text), LONGEST_CLAIM))] if whole else list(_spans(text[:LONGEST_PASSAGE]))
    sentences = tuple(_sentence(folded, start, end) for start, end in spans)
    letters = sum(len(run) for run in re.findall(r"[a-z]{2,}", folded)) / 4
    han = has_han(text) and len(re.findall(f"[{HAN}]", text)) >= letters
    return Reading(text, folded, sentences, han)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for match in _END.finditer(text):
        yield from _trimmed(text, at, match.end())
        at = match.end()
    yield from _trimmed(text, at, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST_SENTENCE:
        yield start, start + LONGEST_SENTENCE
        start += LONGEST_SENTENCE
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        yield start, end


def _sentence(folded: str, start: int, end: int) -> Sentence:
    text = folded[start:end]
    found = measures(text)[:MOST_FIGURES]
    cuts = [0]
    for match in _CLAUSE.finditer(text):
        if not any(m.start < match.end() and match.start() < m.end for m in found):
            cuts.append(match.start())
    clauses = tuple((a, b) for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True) if b > a)
    taken = [(m.start, m.end) for m in found]
    return Sentence(start, end, text, tuple(_terms(text, taken)), found, clauses or ((0, len(text)),))  # fmt: skip


def _terms(text: str, taken: list[tuple[int, int]]) -> list[Term]:
    out: list[Term] = []
    latin: list[tuple[str, int, int]] = []
    covered = bytearray(len(text) + 1)
    for start, end in taken:
        covered[start:end] = b"\x01" * (end - start)
    for match in _IDENTIFIER.finditer(text):
        if not covered[match.start()]:
            out.append(Term(match[0].replace("-", ""), match.start(), match.end(), 1.0))
    for match in _RUN.finditer(text):
        run, at = match[0], match.start()
        if run[0] >= "\u3400" and has_han(run[0]):
            out += _han_terms(run, at, covered)
        else:
            latin.append((run, at, match.end()))
    out += _latin_terms(latin, text, covered)
    return sorted(out, key=lambda term: term.start)


def _latin_terms(runs: list[tuple[str, int, int]], text: str, covered: bytearray) -> Iterator[Term]:
    at = 0
    while at < len(runs):
        word, start, end = runs[at]
        stemmed = _stem(word)
        size = 1
        if stemmed in PHRASES:
            size = next((n for n in (5, 4, 3, 2) if _phrase(runs[at : at + n], n, text) in SENSES), 1)  # fmt: skip
        key = _phrase(runs[at : at + size], size, text) if size > 1 else stemmed
        end = runs[at + size - 1][2]
        at += size
        if size == 1 and (covered[start] or word[0].isdigit()):
            continue
        if concept := CONCEPTS.get(key):
            yield Term(concept, start, end, 0.4 if concept in _MINOR else 1.0, True, concept)
        elif size > 1 or (word not in STOP and stemmed not in STOP and len(word) > 1):
            sense = SENSES.get(key, "")
            light = stemmed in LIGHT or sense in _MINOR
            yield Term(key, start, end, 0.4 if light else 1.0, bool(sense), sense)


def _phrase(runs: list[tuple[str, int, int]], size: int, text: str) -> str:
    """Neighbouring words as the lexicon spells them; nothing if they do not touch."""
    if len(runs) < size:
        return ""
    for (_, _, end), (_, start, _) in pairwise(runs):
        if start - end > 1 or text[end:start] not in (" ", "-", "'", "."):
            return ""
    return "-".join(_stem(word) for word, _, _ in runs)


@lru_cache(50_000)
def _stem(word: str) -> str:
    word = word.removesuffix("'s") if len(word) > 3 else word
    return str(stem(word))


def _han_terms(run: str, offset: int, covered: bytearray) -> Iterator[Term]:
    words = _cut(run)
    starts = [offset]
    for word in words:
        starts.append(starts[-1] + len(word))
    loose: list[int] = []
    at = 0
    while at < len(words):
        for size in (4, 3, 2, 1):
            joined = "".join(words[at : at + size])
            if len(joined) <= LONGEST and joined in SENSES and at + size <= len(words):
                break
        else:
            size, joined = 1, words[at]
        start, end = starts[at], starts[at + size]
        at += size
        if covered[start] and covered[end - 1]:
            continue
        concept = CONCEPTS.get(joined)
        if concept and joined not in _IDLE:
            yield Term(concept, start, end, 0.4 if concept in _MINOR else 0.6 if len(joined) == 1 else 1.0, True, concept)  # fmt: skip
            loose = []
        elif (place := CONCEPTS.get(joined[:-1])) and joined[-1] in _SUFFIXES:
            yield Term(place, start, end, 1.0, True, place)
            loose = []
        elif len(joined) > 1 and joined not in _IDLE and joined not in STOP:
            sense = SENSES.get(joined, "")
            yield Term(joined, start, end, 0.4 if sense in _MINOR else 1.0, bool(sense), sense)
            yield from _nested(joined, start)
            loose = []
        elif len(joined) == 1 and joined not in _PARTICLES and joined not in _IDLE:
            if loose and loose[-1] == start - 1:
                yield Term(run[start - 1 - offset : end - offset], start - 1, end, 0.8)
            loose = [start]
        else:
            loose = []


def _nested(word: str, start: int) -> Iterator[Term]:
    """Concepts inside a word that the lexicon does not know as a whole: 死亡率 has 死亡."""
    at = 0
    while at < len(word):
        for size in range(min(LONGEST, len(word) - at), 1, -1):
            if concept := CONCEPTS.get(word[at : at + size]):
                yield Term(concept, start + at, start + at + size, 0.3, True, concept)
                at += size
                break
        else:
            at += 1


@lru_cache(50_000)
def _cut(run: str) -> tuple[str, ...]:
    return tuple(segment.cut(run, hmm=False))


def is_place(key: str) -> bool:
    return key in PLACES
