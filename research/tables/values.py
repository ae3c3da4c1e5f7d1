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
from research.citations.cues import find_cues
from research.citations.figure_check import TIME_KINDS
from research.citations.mentions import FRAME_KINDS, has_clashing_qualifiers, qualifier_group, qualifiers_in
from research.core.records import CellValue, Column, ColumnType, Language
from research.core.text.attributes import Attribute, load_attributes
from research.core.text.lexicon import lexicon_entries
from research.core.text.quantities import Measure, find_measures, fold_text, span_with_bound
from research.core.text.scanner import MeasureScanner
from research.core.text.segment import cut
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, has_han, stem
from research.core.text.units import PREFIX_UNITS, UNITS, Unit

MAX_VALUE_CHARS = 400  # characters of a text that is a value
MAX_SENTENCE_CHARS = 2_000  # characters of a sentence
CONTEXT_WORD_WEIGHT = 5.0  # what a word that is given beside the column weighs
ATTRIBUTE_WEIGHT = 0.7  # another word for what the column asks
QUESTION_WORD_WEIGHT = 0.5  # a word of its question alone
HAN_CHARACTER_WEIGHT = 0.3  # a Han character beside a pair of them
SAME_KIND_WEIGHT = 0.5  # that a figure counts people where people are asked for
HALF_WEIGHT_DISTANCE = 8.0  # words between a word and a figure, at which it weighs half
BOUNDARY_FACTOR = 0.4  # what is left of a word's weight beyond a comma, or beyond another figure of the kind
QUALIFIER_MISMATCH_FACTOR = 0.6  # what is left where something narrows a figure and not the column: 其中, students
MAX_CHARS_BESIDE_DATE, MAX_CHARS_BESIDE_UNTIL_DATE = (
    4,
    8,
)  # characters beside a date alone between commas: In 2019, and Until 2019,
MAX_WORDS_BESIDE_DATE = 1.0  # words beside a date that is an answer by itself
# Words beside the figures of a text that is an answer by itself; twice as many where there is one figure.
MAX_WORDS_BESIDE_FIGURE = 3.0
MIN_LEAD = 1.05  # by how much the best figure has to be better than another
_EXCLUDED_KINDS = TIME_KINDS | FRAME_KINDS | {"score", "discount", "points", "times"}
_DEFAULT_VISITOR = frozenset(("adult",))  # whose ticket is meant where nothing is said
_DEFAULT_QUALIFIERS = frozenset(("adult", "total"))  # what is meant where nothing is said
_FORMER_QUALIFIER = "before"  # of what is so no more
_DATE_BOUNDS = ("since", "until", "as of")  # ways in which a date bounds what is so
_BOUND_BY_ATTRIBUTE = {
    "begins": "since",
    "ends": "until",
    "as of": "as of",
}  # by the attribute that a column asks for
_COUNT_KINDS = frozenset(("", "people", "count"))
_HAN_RUN = re.compile(f"[{HAN_RANGES}]+")
_WORD = re.compile(rf"[^\W\d_{HAN_RANGES}]+(?:['’]s)?")
_CLAUSE_BREAK = re.compile(r"[、(（)）]|:(?=\s)|：|\sand\s|\bbut\b|而")


def extract_value(text: str, column: Column, context_words: Sequence[str] = ()) -> CellValue | None:
    """What a sentence says for a column; None if it says nothing, or not certainly, or only is a heading.

    `near` are words beside those of the column that tell which figure is meant, such as the row's name
    where others stand in the sentence too.
    """
    text = text[:MAX_SENTENCE_CHARS]
    if not text.strip(" #\n") or text.lstrip().startswith("#") or "question" in find_cues(fold_text(text)):
        return None
    wanted = _column_query(column, tuple(context_words))
    match column.type:
        case "number":
            return _extract_number(_SentenceMatch(text, wanted))
        case "date":
            return _extract_date(_SentenceMatch(text, wanted))
        case "yes or no":
            return _extract_yes_or_no(text, column)
        case "choice":
            return _extract_choice(_SentenceMatch(text, wanted), column)
        case _:
            return _extract_text(_SentenceMatch(text, wanted))


def find_unit(spelling: str) -> Unit | None:
    """The unit of a spelling or a sign: 元, CNY, km²; None if it is none."""
    folded = fold_text(spelling.strip())
    found = UNITS.get(folded.replace("-", " ")) or PREFIX_UNITS.get(folded)
    return found[0] if found else None


def unit_name(kind: str, factor: float) -> str:
    """The name of a kind's unit that is so many base units; "" if there is none."""
    return _unit_names().get((kind, factor), "")


@cache
def _unit_names() -> dict[tuple[str, float], str]:
    named: dict[tuple[str, float], str] = {}
    for units in UNITS.values():
        for one in units:
            named.setdefault((one.kind, one.factor), one.name)
    return named


def unit_family(kind: str) -> str:
    """What may stand in one column: money of any currency, people and things that are counted."""
    if kind in _COUNT_KINDS:
        return ""
    return Measure(kind, 0, 0, 0, 0).family


# What a column asks for


@dataclass(frozen=True)
class _ColumnQuery:
    """What a column asks for: words with their weights, the sort, and the kind of its figures; None
    where nothing tells it. `narrowed` are qualifiers, as of `qualifiers.tsv`; `state` is since, until or as of for a column
    that asks for a date by which something is so."""

    word_weights: tuple[tuple[str, float], ...]
    context_terms: tuple[str, ...]
    attribute: Attribute | None
    kind: str | None
    unit: Unit | None
    qualifiers: frozenset[str]
    date_bound: str


@lru_cache(1_000)
def _column_query(column: Column, context_words: tuple[str, ...]) -> _ColumnQuery:
    name, asked = fold_text(column.name), fold_text(f"{column.question} {column.hint}")
    own = find_unit(column.unit) if column.unit else None
    sort = _find_attribute(name, column.type) or _find_attribute(asked, column.type)
    kind = unit_family(own.kind) if own else unit_family(sort.kind) if sort and sort.kind != "clause" else None
    weights: dict[str, float] = {}
    for words, weight in (
        (context_words, CONTEXT_WORD_WEIGHT),
        ([name], 1.0),
        ([asked], QUESTION_WORD_WEIGHT),
        (_related_words(name, sort), QUESTION_WORD_WEIGHT),
    ):
        for word in words:
            for term, share in _weighted_terms(fold_text(word)):
                weights[term] = max(weights.get(term, 0.0), weight * share)
    narrowed = qualifiers_in(f"{name} {asked}")
    lasting = _BOUND_BY_ATTRIBUTE.get(sort.name if sort else "", "")
    state = lasting or next((s for s in _DATE_BOUNDS if _word_pattern(f"{s} before").search(name)), "")
    if sort and sort.name == "ticket" and not has_clashing_qualifiers(narrowed, _DEFAULT_VISITOR):
        narrowed |= _DEFAULT_VISITOR
    return _ColumnQuery(
        tuple(weights.items()), tuple(t for w in context_words for t, _ in _weighted_terms(fold_text(w))), sort, kind, own, narrowed, state
    )  # fmt: skip


def _find_attribute(folded: str, column_type: ColumnType) -> Attribute | None:
    """The sort whose word stands last in a name, or before an "of"; of several there the longest, and
    one of any other before one that is of all of its kind."""
    head, _, rest = folded.partition(" of ")
    found = [
        (one.name != one.kind, end, end - start, one)
        for one in load_attributes()
        if {"date": "date", "clause": "text"}.get(one.kind, "number") == column_type
        for start, end in one.find_spans(head)
    ]
    if not found and rest:
        return _find_attribute(rest, column_type)
    return max(found, key=lambda f: f[:3])[3] if found else None


def _related_words(name: str, attribute: Attribute | None) -> Iterator[str]:
    """Words that mean the same as those of a column's name: of one that asks for figures of a sort none, of one that asks
    for the date of an event those beside it."""
    if attribute is None:
        yield from _find_synonyms(name)
    elif attribute.kind == "date" and (rest := attribute.en.sub(" ", attribute.zh.sub(" ", name)).strip()):
        others = [one for one in load_attributes() if one.kind == "date" and one.name != attribute.name]
        yield from (w for w in _find_synonyms(rest) if not any(any(o.find_spans(w)) for o in others))


def _find_synonyms(folded: str) -> Iterator[str]:
    """Words that mean the same as one of a name."""
    mine = {term for term, _ in _weighted_terms(folded)}
    for entry in lexicon_entries("ask"):
        spellings = [fold_text(w) for w in (*entry.zh, *entry.en) if w not in entry.question_words]
        if any(w in folded if has_han(w) else {t for t, _ in _weighted_terms(w)} <= mine for w in spellings):
            yield from spellings


def _weighted_terms(folded: str) -> Iterator[tuple[str, float]]:
    """The words by which a text is compared: English stems, pairs of Han characters and single ones."""
    for run in _HAN_RUN.findall(folded):
        if len(run) == 1:
            yield run, 1.0
            continue
        yield from ((run[i : i + 2], 1.0) for i in range(len(run) - 1))
        yield from ((char, HAN_CHARACTER_WEIGHT) for char in run if char not in STOP_WORDS)
    for word in _WORD.findall(_HAN_RUN.sub(" ", folded)):
        if word not in STOP_WORDS and len(word) > 1:
            yield stem(word), 1.0


def _count_words(folded: str) -> float:
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
    needs_no_word: bool = False  # it needs no word of the column beside it


@dataclass(frozen=True)
class _SentenceMatch:
    """A sentence with the words of a column that stand in it."""

    text: str
    query: _ColumnQuery

    @cached_property
    def folded(self) -> str:
        return fold_text(self.text)

    @cached_property
    def clauses(self) -> list[tuple[int, int]]:
        """The stretches between commas; one that is a date alone goes with the next."""
        edges = [0, *(m.end() for m in CLAUSE_END_PATTERN.finditer(self.folded)), len(self.folded)]
        alone = {
            edge
            for start, edge in pairwise(edges)
            for m in self.measures
            if m.is_date
            and start <= m.start
            and m.end <= edge
            and (edge - start) - (m.end - m.start)
            <= (MAX_CHARS_BESIDE_UNTIL_DATE if find_date_bound(self.folded, m) == "until" else MAX_CHARS_BESIDE_DATE)
        }
        return [(a, b) for a, b in pairwise(e for e in edges if e not in alone or e == edges[-1]) if a < b]

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        return find_measures(self.text)

    def only_dates_count(self, measure: Measure) -> bool:
        """Return whether a date only says when a count was valid ("in 2025 there were 8 sites").

        Its clause then contains a figure, and no word for the attribute that the column asks for.
        """
        start, end = self.clause_at(measure.start)
        figures = any(
            start <= m.start < end and (m.kind or self._has_counted_noun(m))
            for m in self.measures
            if m.kind not in FRAME_KINDS | TIME_KINDS
        )
        sort = self.query.attribute
        named = sort is not None and any(start <= at < end for at, _ in sort.find_spans(self.folded))
        return figures and not named

    def _has_counted_noun(self, figure: Measure) -> bool:
        """Return whether a figure without a unit is followed by a word that is no stop word."""
        match = _WORD.match(self.folded, figure.end + 1)
        return match is not None and match[0] not in STOP_WORDS

    def is_brief(self, max_words: float) -> bool:
        """Whether a text is hardly more than its figures: an answer, that needs no word of the question."""
        rest, at = [], 0
        for m in self.measures:
            rest.append(self.folded[at : m.start])
            at = m.end
        return _count_words(" ".join([*rest, self.folded[at:]])) <= max_words

    def clause_at(self, offset: int) -> tuple[int, int]:
        return next(((a, b) for a, b in self.clauses if a <= offset < b), (0, len(self.folded)))

    @cached_property
    def word_matches(self) -> list[tuple[int, int, str, float]]:
        """Where the column's words stand, and what they weigh."""
        at = {}
        for word, weight in self.query.word_weights:
            for start, end in self._find_term(word):
                at[start, end, word] = weight
        if sort := self.query.attribute:
            for start, end in sort.find_spans(self.folded):
                at[start, end, f"={sort.name}"] = ATTRIBUTE_WEIGHT
        return [(start, end, word, weight) for (start, end, word), weight in at.items()]

    def _find_term(self, term: str) -> Iterator[tuple[int, int]]:
        if has_han(term):
            yield from (m.span() for m in re.finditer(re.escape(term), self.folded))
        else:
            yield from (span for own, span in self._stems if own == term)

    @cached_property
    def _stems(self) -> list[tuple[str, tuple[int, int]]]:
        return [(stem(m[0]), m.span()) for m in _WORD.finditer(self.folded) if m[0].isascii()]

    def word_distance(self, first_span: tuple[int, int], second_span: tuple[int, int]) -> float:
        """How many words stand between two stretches."""
        return _count_words(self.folded[min(first_span[1], second_span[1]) : max(first_span[0], second_span[0])])

    def closeness(
        self, candidate_span: tuple[int, int], word_span: tuple[int, int], rival_spans: Sequence[tuple[int, int]]
    ) -> float:
        """From 1 for neighbours down; commas and other figures between make it less."""
        low, high = min(candidate_span[1], word_span[1]), max(candidate_span[0], word_span[0])
        share = 1.0 if self.clause_at(candidate_span[0]) == self.clause_at(word_span[0]) else BOUNDARY_FACTOR
        if any(low <= a and b <= high for a, b in rival_spans):
            share *= BOUNDARY_FACTOR
        if low < high and _CLAUSE_BREAK.search(self.folded, low, high):
            share *= 0.8
        return share / (1 + self.word_distance(candidate_span, word_span) / HALF_WEIGHT_DISTANCE)

    def relevance(self, candidate: _Candidate, rival_spans: Sequence[tuple[int, int]]) -> float:
        """How near a figure stands to the column's words."""
        best: dict[str, float] = {}
        for start, end, word, weight in self.word_matches:
            if start < candidate.end and candidate.start < end and len(word) == 1:
                continue  # 日 of a date
            score = weight * self.closeness((candidate.start, candidate.end), (start, end), rival_spans)
            best[word] = max(best.get(word, 0.0), score)
        sort, kind = self.query.attribute, candidate.measure.kind if candidate.measure else ""
        told = 1.0 if candidate.needs_no_word else SAME_KIND_WEIGHT if sort and sort.kind and sort.kind == kind else 0.0
        return sum(best.values()) + told

    def may_fit(self, candidate: _Candidate, rival_spans: Sequence[tuple[int, int]]) -> bool:
        """Whether a figure's clause does not say that it is of something else: a word of the column
        stands in another clause alone, or a word of another sort of its kind is this figure's."""
        span, clause = (candidate.start, candidate.end), self.clause_at(candidate.start)
        words = [f for f in self.word_matches if f[2] not in self.query.context_terms and len(f[2]) > 1]
        here = [f for f in words if clause[0] <= f[0] < clause[1]]
        if words and not here and not candidate.needs_no_word:
            return False
        sort = self.query.attribute
        if sort is None or not sort.kind:
            return bool(here) or candidate.needs_no_word
        own = min((self.distance(f[:2], span) for f in here), default=HALF_WEIGHT_DISTANCE * 2)
        if any(self.distance(place, span) < own for place in self.rival_words(clause, span, rival_spans)):
            return False
        return bool(here) or candidate.needs_no_word

    def rival_words(
        self, clause: tuple[int, int], span: tuple[int, int], rival_spans: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """The words in a clause for other sorts of the column's kind, to which no other figure is nearer."""
        sort = self.query.attribute
        mine = [*sort.find_spans(self.folded)] if sort else []
        for other in load_attributes():
            if sort is None or other.kind != sort.kind or other.name in (sort.name, other.kind):
                continue
            for start, end in other.find_spans(self.folded):
                inside = clause[0] <= start < clause[1]
                if inside and not any(start < b and a < end for a, b in mine):
                    reach = self.distance((start, end), span)
                    if all(reach <= self.distance((start, end), rival) for rival in rival_spans):
                        yield start, end

    def distance(self, word_span: tuple[int, int], figure_span: tuple[int, int]) -> float:
        """How far a figure is from a word, which mostly stands before it."""
        return self.word_distance(word_span, figure_span) + (0.5 if figure_span[0] < word_span[0] else 0.0)

    def qualifiers_of(self, candidate: _Candidate, rival_spans: Sequence[tuple[int, int]]) -> frozenset[str]:
        """What narrows a figure, on its side of others in its clause."""
        start, end = self.clause_at(candidate.start)
        for a, b in rival_spans:
            if b <= candidate.start:
                start = max(start, b, *(m.end() for m in _CLAUSE_BREAK.finditer(self.folded, b, candidate.start)))
            elif a >= candidate.end:
                end = min(end, a, *(m.start() for m in _CLAUSE_BREAK.finditer(self.folded, candidate.end, a)))
        return qualifiers_in(self.folded[start:end])


def _best_candidate(match: _SentenceMatch, candidates: Sequence[_Candidate]) -> _Candidate | None:
    """The figure that is meant; None if that cannot be told."""
    scored = []
    for one in candidates:
        rivals = [(o.start, o.end) for o in candidates if o is not one]
        narrowed, asked = (
            match.qualifiers_of(one, rivals) - _DEFAULT_QUALIFIERS,
            match.query.qualifiers - _DEFAULT_QUALIFIERS,
        )
        if _FORMER_QUALIFIER in narrowed - asked and not (one.measure and one.measure.is_date):
            continue
        if match.may_fit(one, rivals) and not has_clashing_qualifiers(
            match.qualifiers_of(one, rivals), match.query.qualifiers
        ):
            share = QUALIFIER_MISMATCH_FACTOR ** ((not narrowed <= asked) + (not asked <= narrowed))
            scored.append((share * match.relevance(one, rivals), one))
    scored.sort(key=lambda s: -s[0])
    if len(scored) > 1:
        (first, one), (second, other) = scored[:2]
        if first < MIN_LEAD * second and not _is_equal(one, other):
            return None
    return scored[0][1] if scored else None


def _is_equal(first: _Candidate, second: _Candidate) -> bool:
    a, b = first.measure, second.measure
    if a is None or b is None:
        return a is b
    return a.kind == b.kind and (a.date_parts == b.date_parts if a.is_date else abs(a.low - b.low) <= 0.02 * abs(a.low))  # fmt: skip


# Numbers


def _extract_number(match: _SentenceMatch) -> CellValue | None:
    found = [*_figure_candidates(match), *_free_candidates(match), *_zero_candidates(match)]
    best = _best_candidate(match, found)
    if best is None:
        return None
    if best.measure is None:
        name = match.query.unit.name if match.query.unit else ""
        return CellValue(type="number", text=match.text[best.start : best.end], number=0.0, unit=name)
    return number_value(best.measure, match.text)


def number_value(measure: Measure, text: str) -> CellValue:
    """A figure of a text as a value in the unit in which it is written."""
    folded = fold_text(text)
    start, end = span_with_bound(folded, measure)
    said = measure.bound or MeasureScanner(folded).find_bound(measure.start, measure.end)
    name, by = measure.unit, measure.unit_factor
    if name == "joint":  # 1小时30分钟 is 1.5 hours
        name = unit_name(measure.kind, by)
    if name == "part":
        name, by = "%", 1.0
    low, high = (round(value / by, 9) for value in (measure.low, measure.high))
    bounds: dict[str, Literal["about", "least", "most"]] = {"some": "least", "about": "about", "least": "least", "most": "most"}  # fmt: skip
    return CellValue(
        type="number",
        text=text[start:end].strip(),
        number=low,
        high=high if high > low else None,
        unit=name,
        bound=bounds.get(said, ""),
    )


def _figure_candidates(match: _SentenceMatch) -> Iterator[_Candidate]:
    """The figures that are of the column's kind; those in its own unit alone, where there are any."""
    kind, own = match.query.kind, match.query.unit
    found = [one for m in match.measures if (one := _reading_of_kind(m, kind))]
    same = [m for m in found if own and (m.kind, m.unit_factor) == (own.kind, own.factor)]
    kept = same or found
    brief = match.is_brief(MAX_WORDS_BESIDE_FIGURE * (1 + (len(kept) == 1)))
    for m in kept:
        yield _Candidate(m.start, m.end, m, needs_no_word=brief)


def _reading_of_kind(measure: Measure, wanted_family: str | None) -> Measure | None:
    for one in measure.interpretations():
        if one.kind in _EXCLUDED_KINDS:
            continue
        if wanted_family is None or unit_family(one.kind) == wanted_family:
            return one
    return None


def _free_candidates(match: _SentenceMatch) -> Iterator[_Candidate]:
    """What says that nothing has to be paid, where money is asked for."""
    if match.query.kind != "money":
        return
    entry = match.query.attribute is not None and match.query.attribute.name in ("ticket", "money")
    implied = [m.span() for m in _word_pattern("free entry").finditer(match.folded)] if entry else []
    for m in _word_pattern("free zh", "free en").finditer(match.folded):
        if not _is_negated(match.folded[: m.start()]):
            sure = match.is_brief(MAX_WORDS_BESIDE_FIGURE * (1 + (not match.measures))) or any(
                a <= m.start() < b for a, b in implied
            )
            yield _Candidate(*m.span(), needs_no_word=sure)


def _zero_candidates(match: _SentenceMatch) -> Iterator[_Candidate]:
    """What says that there are none of what is counted: no parking spaces, 不设停车位."""
    if match.query.kind not in ("", None):
        return
    firsts = {f[0] for f in match.word_matches if f[3] >= 1.0}
    for m in _word_pattern("none zh", "none en").finditer(match.folded):
        after = m.end() + (match.folded[m.end() : m.end() + 1] == " ")
        if after in firsts:
            yield _Candidate(*m.span(), needs_no_word=True)


# Dates


def _extract_date(match: _SentenceMatch) -> CellValue | None:
    found = [
        _Candidate(m.start, m.end, m, needs_no_word=match.is_brief(MAX_WORDS_BESIDE_DATE))
        for m in match.measures
        if m.is_date and m.date_parts[0] and m.date_parts[0] > 0
        if (match.query.date_bound or not match.only_dates_count(m))
        and find_date_bound(match.folded, m) in (match.query.date_bound, "")
    ]
    words = any(f[2] not in match.query.context_terms for f in match.word_matches)
    known = [one for one in found if words or one.needs_no_word]
    sort = match.query.attribute if match.query.kind == "date" else None
    best = _best_candidate(replace(match, query=replace(match.query, attribute=sort)), known)
    return date_value(best.measure, match.text) if best and best.measure else None


def find_date_bound(folded: str, measure: Measure) -> str:
    """Return how a date in a folded text limits a state: since, until or as of that date; "" if it
    is the date of an event."""
    before, behind = folded[: measure.start].rstrip(" ("), folded[measure.end :].lstrip(" ")
    return next((s for s in _DATE_BOUNDS if _bound_patterns(s)[0].search(before) or _bound_patterns(s)[1].match(behind)), "")  # fmt: skip


@cache
def _bound_patterns(bound: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns for the words before and behind a date that limits a state in this
    way."""
    before = _word_pattern(f"{bound} before").pattern
    behind = _word_pattern(f"{bound} behind").pattern
    return (
        re.compile(rf"(?:{before})(?: the)?(?: (?:end|start|beginning|close) of)?(?: the)?(?: year)?$"),
        re.compile(rf"年?[底初末]?(?:{behind})"),
    )


def date_value(measure: Measure, text: str) -> CellValue | None:
    """A date of a text as a value; of one that may be two days the year alone."""
    year, month, day = (measure.date_parts[0], None, None) if measure.swapped_date_parts else measure.date_parts
    try:
        first = date(year or 0, month or 1, day or 1)
    except ValueError:
        return None
    precision: Literal["day", "month", "year"] = "day" if day and month else "month" if month else "year"  # fmt: skip
    return CellValue(type="date", text=text[measure.start : measure.end].strip(), day=first, precision=precision)  # fmt: skip


# Yes or no


@cache
def _word_pattern(*list_names: str) -> re.Pattern[str]:
    """A pattern for the words of some lists: English ones as whole words."""
    words = "|".join(data.words("cells")[name] for name in list_names)
    han = [word for word in _split_alternatives(words) if has_han(word)]
    other = [word for word in _split_alternatives(words) if not has_han(word)]
    parts = ["|".join(sorted(han, key=len, reverse=True))] if han else []
    parts += [rf"\b(?:{'|'.join(other)})\b"] if other else []
    return re.compile("|".join(parts))


def _split_alternatives(words: str) -> list[str]:
    """Alternatives, but those within brackets, which are of one word."""
    return re.split(r"\|(?![^()]*\))", words)


def _is_negated(preceding: str) -> bool:
    """Whether what stands before a word takes it back, with no comma between."""
    tail = CLAUSE_END_PATTERN.split(preceding)[-1]
    zh, en = _word_pattern("not zh"), _word_pattern("not en")
    near = tail[-5:] if has_han(tail) else ""
    return zh.search(near) is not None or en.search(tail) is not None


def _extract_yes_or_no(text: str, column: Column) -> CellValue | None:
    folded = fold_text(text).strip(" .。!！")
    for name in ("yes", "no"):
        if folded in _split_alternatives(data.words("cells")[name]):
            return CellValue(type="yes or no", text=text.strip(), yes=name == "yes")
    modal, topic = _parse_question(column)
    wanted = _column_query(column, ())
    said = [
        (start, end, yes)
        for start, end in _SentenceMatch(text, wanted).clauses
        if (yes := _read_answer(fold_text(text)[start:end], modal, topic)) is not None
        if not _is_about_other(fold_text(text)[start:end], column, wanted)
    ]
    if len({yes for _, _, yes in said}) != 1:
        return None
    start, end, yes = said[0]
    return CellValue(type="yes or no", text=_shorten(text[start:end]), yes=yes)


def _is_about_other(clause: str, column: Column, query: _ColumnQuery) -> bool:
    """Return whether a clause is about something near the thing, or only about some people, times
    or parts, although the column does not ask for these."""
    near = _word_pattern("near zh", "near en")
    if near.search(clause) and not near.search(fold_text(f"{column.name} {column.question}")):
        return True
    return any(
        qualifier_group(q) in _NARROWING_GROUPS for q in qualifiers_in(clause) - query.qualifiers - _DEFAULT_QUALIFIERS
    )


_MODALITIES = ("needed", "allowed", "offered", "open", "suited")
_PEOPLE_GROUPS = frozenset(("age", "sex", "party"))  # groups of qualifiers
_NARROWING_GROUPS = _PEOPLE_GROUPS | {"season", "part", "class", "border", "real"}


@lru_cache(1_000)
def _parse_question(column: Column) -> tuple[str, tuple[str, ...]]:
    """Return what a column asks about a topic, and the words of the topic.

    The first is "needed", "allowed", "offered", "open", "suited", or "" if it asks whether
    something is the case. A column whose words only name people asks whether the thing is suited to
    them.
    """
    name = _word_pattern("asks").sub(" ", fold_text(column.name))
    how = next((m for m in _MODALITIES if _word_pattern(m).search(name)), "")
    rest = _word_pattern(how).sub(" ", name) if how else name
    topic = (*_HAN_RUN.findall(rest), *_WORD.findall(_HAN_RUN.sub(" ", rest)))
    if not how and topic:
        how = next((m for m in _MODALITIES if _word_pattern(m).search(fold_text(column.question))), "")
    if not how and topic and all(any(qualifier_group(q) in _PEOPLE_GROUPS for q in qualifiers_in(w)) for w in topic):
        how = "suited"
    return how, topic


def _read_answer(clause: str, modality: str, topic: tuple[str, ...]) -> bool | None:
    """What a clause says of a topic; None if it says nothing of it."""
    rest = _split_at_topic(clause, topic)
    if rest is None:
        return None
    before, behind = rest
    whole = f"{before} {behind}"
    denied = _word_pattern("not zh").search(before[-6:]) or _word_pattern("not en").search(whole)
    if not modality:
        return not denied
    if _word_pattern(f"not {modality}").search(whole) or _word_pattern("none en").search(before, len(before) - 4):
        return False
    if match := _word_pattern(modality).search(whole):
        taken = _word_pattern("not zh").search(whole[max(0, match.start() - 3) : match.start()])
        return not (taken or denied)
    return None


def _split_at_topic(clause: str, topic: tuple[str, ...]) -> tuple[str, str] | None:
    """What stands before a topic in a clause and what behind it; None if it does not stand there. All
    its words have to, or a word that means the same."""
    if not topic:
        return "", clause
    spans: list[tuple[int, int]] = []
    for word in topic:
        found = _find_synonym(clause, word)
        if found is None:  # 带宠物: 宠物
            parts = [w for w in cut(word, False) if has_han(w) and 1 < len(w) < len(word)]
            places = [place for w in parts if (place := _find_synonym(clause, w))]
            if not parts or len(places) < len(parts):
                return None
            spans += places
        else:
            spans.append(found)
    return clause[: min(a for a, _ in spans)], clause[max(b for _, b in spans) :]


def _find_synonym(clause: str, word: str) -> tuple[int, int] | None:
    """Return the start and end of a word, or of one of its synonyms, in a clause; None if there is
    none."""
    return next(filter(None, (_find_word(clause, w) for w in (word, *_synonyms_of(word)))), None)


@lru_cache(1_000)
def _synonyms_of(word: str) -> tuple[str, ...]:
    """The other spellings of the things that a word is a spelling of."""
    own = {word, stem(word)}
    found = [[fold_text(w) for w in (*e.zh, *e.en) if w not in e.question_words] for e in lexicon_entries("ask")]
    return tuple(w for spellings in found if own & {*spellings, *map(stem, spellings)} for w in spellings)


def _find_word(clause: str, word: str) -> tuple[int, int] | None:
    if has_han(word):
        at = clause.find(word)
        return (at, at + len(word)) if at >= 0 else None
    stems = [stem(w) for w in word.split()]
    if len(stems) != 1:
        match = re.search(rf"\b{re.escape(word)}\b", clause)
        return match.span() if match else None
    return next((m.span() for m in _WORD.finditer(clause) if stem(m[0]) == stems[0]), None)


# Choices and text


def _extract_choice(match: _SentenceMatch, column: Column) -> CellValue | None:
    found: list[tuple[int, int, str]] = []
    for choice in sorted(column.choices, key=len, reverse=True):
        for m in _literal_pattern(fold_text(choice)).finditer(match.folded):
            free = all(m.end() <= a or b <= m.start() for a, b, _ in found)
            if free:
                found.append((m.start(), m.end(), choice))
    kept = [f for f in found if not _is_negated(match.folded[: f[0]])]
    if len({choice for _, _, choice in kept}) != 1 or len(kept) < len(found):
        return None
    start, end, choice = kept[0]
    return CellValue(type="choice", text=match.text[start:end], choice=choice)


@lru_cache(1_000)
def _literal_pattern(folded: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){re.escape(folded)}(?![a-z0-9])" if not has_han(folded) else re.escape(folded))  # fmt: skip


def _extract_text(match: _SentenceMatch) -> CellValue | None:
    sort = match.query.attribute
    if sort and sort.kind == "clause":
        for start, end in match.clauses:
            if any(sort.find_spans(match.folded[start:end])):
                return CellValue(type="text", text=_shorten(match.text[start:end]))
        return None
    return CellValue(type="text", text=_shorten(match.text))


def _shorten(text: str) -> str:
    line = " ".join(text.split()).strip(" ，,；;。")
    return line if len(line) <= MAX_VALUE_CHARS else line[: MAX_VALUE_CHARS - 1].rstrip() + "…"


def unit_label(name: str, language: Language) -> str:
    """How the unit of a value is called in a heading: CNY, m², 公顷; a unit that nobody knows as it is."""
    one = find_unit(name)
    if one is None or one.name != name:
        return name
    if language == "zh":
        return next((w for w, units in UNITS.items() if units[0] == one and has_han(w)), name)
    if one.kind.startswith("money ") and one.factor == 1:
        return {"yuan": "CNY"}.get(name, name.upper())
    return name
