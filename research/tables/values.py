"""Extraction of the value that a sentence gives for a table column, by the column's type.

Of several figures, the one of the column's kind that stands nearest to its words is chosen; if two
are equally near there is no value. Attributes that columns ask for are in `data/columns.tsv`, words
for yes, no, free and none in `data/words/cells.txt`. `research.core.text` parses figures and dates.
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
from research.citations.mentions import FRAME_KINDS
from research.citations.qualifiers import has_clashing_qualifiers, qualifier_group, qualifiers_in
from research.core.records import CellValue, Column, ColumnType, Language
from research.core.text.attributes import Attribute, load_attributes
from research.core.text.lexicon import lexicon_entries
from research.core.text.quantities import Measure, find_measures, fold_text, span_with_bound
from research.core.text.scanner import MeasureScanner
from research.core.text.segment import cut
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, has_han, stem
from research.core.text.units import PREFIX_UNITS, UNITS, Unit

MAX_VALUE_CHARS = 400  # longer texts are cut
MAX_SENTENCE_CHARS = 2_000  # longer sentences are cut
CONTEXT_WORD_WEIGHT = 5.0  # of a context word, such as the row's name
ATTRIBUTE_WEIGHT = 0.7  # of another word for the column's attribute
QUESTION_WORD_WEIGHT = 0.5  # of a word that only the column's question has
HAN_CHARACTER_WEIGHT = 0.3  # of a single Han character; a pair weighs 1
SAME_KIND_WEIGHT = 0.5  # added if figure and attribute are of one kind
HALF_WEIGHT_DISTANCE = 8.0  # words between word and figure
BOUNDARY_FACTOR = 0.4  # for a word beyond a comma or a rival figure
QUALIFIER_MISMATCH_FACTOR = 0.6  # if only one is narrowed: 其中, students
MAX_CHARS_BESIDE_DATE, MAX_CHARS_BESIDE_UNTIL_DATE = (
    4,
    8,
)  # characters beside a date that forms a clause: "In 2019," and "Until 2019,"
MAX_WORDS_BESIDE_DATE = 1.0  # words beside a date that answers by itself
# Words beside the figures of a text that answers by itself; twice as many for a single figure.
MAX_WORDS_BESIDE_FIGURE = 3.0
MIN_LEAD = 1.05  # least ratio of the best figure's score to the next one's
_EXCLUDED_KINDS = TIME_KINDS | FRAME_KINDS | {"score", "discount", "points", "times"}
_DEFAULT_VISITOR = frozenset(("adult",))  # the visitor whose ticket is meant by default
_DEFAULT_QUALIFIERS = frozenset(("adult", "total"))  # qualifiers that are meant by default
_FORMER_QUALIFIER = "before"  # marks a state that has ended
_DATE_BOUNDS = ("since", "until", "as of")  # how a date can limit a state
_BOUND_BY_ATTRIBUTE = {
    "begins": "since",
    "ends": "until",
    "as of": "as of",
}  # by the name of the column's attribute
_COUNT_KINDS = frozenset(("", "people", "count"))
_HAN_RUN = re.compile(f"[{HAN_RANGES}]+")
_WORD = re.compile(rf"[^\W\d_{HAN_RANGES}]+(?:['’]s)?")
_CLAUSE_BREAK = re.compile(r"[、(（)）]|:(?=\s)|：|\sand\s|\bbut\b|而")


def extract_value(text: str, column: Column, context_words: Sequence[str] = ()) -> CellValue | None:
    """Return the value that a sentence gives for a column.

    Return None for headings and questions, and if there is no value or more than one candidate.
    `context_words`, such as the row's name, help to choose between figures.
    """
    text = text[:MAX_SENTENCE_CHARS]
    if not text.strip(" #\n") or text.lstrip().startswith("#") or "question" in find_cues(fold_text(text)):
        return None
    query = _column_query(column, tuple(context_words))
    match column.type:
        case "number":
            return _extract_number(_SentenceMatch(text, query))
        case "date":
            return _extract_date(_SentenceMatch(text, query))
        case "yes or no":
            return _extract_yes_or_no(text, column)
        case "choice":
            return _extract_choice(_SentenceMatch(text, query), column)
        case _:
            return _extract_text(_SentenceMatch(text, query))


def find_unit(spelling: str) -> Unit | None:
    """Return the unit with a spelling or sign such as 元, CNY or km²; None if it is unknown."""
    folded = fold_text(spelling.strip())
    units = UNITS.get(folded.replace("-", " ")) or PREFIX_UNITS.get(folded)
    return units[0] if units else None


def unit_name(kind: str, factor: float) -> str:
    """Return the name of the unit of a kind that has this many base units; "" if there is none."""
    return _unit_names().get((kind, factor), "")


@cache
def _unit_names() -> dict[tuple[str, float], str]:
    names: dict[tuple[str, float], str] = {}
    for units in UNITS.values():
        for unit in units:
            names.setdefault((unit.kind, unit.factor), unit.name)
    return names


def unit_family(kind: str) -> str:
    """Return the family of kinds that may share a column: money of any currency, counts."""
    if kind in _COUNT_KINDS:
        return ""
    return Measure(kind, 0, 0, 0, 0).family


# What a column asks for


@dataclass(frozen=True)
class _ColumnQuery:
    """The search terms of a column.

    `word_weights` pairs words with weights. `kind` is the unit family of its figures, None if
    unknown. `qualifiers` are keys of `qualifiers.tsv`. `date_bound` is since, until or as of for a
    column that asks for the date that limits a state, else "".
    """

    word_weights: tuple[tuple[str, float], ...]
    context_terms: tuple[str, ...]
    attribute: Attribute | None
    kind: str | None
    unit: Unit | None
    qualifiers: frozenset[str]
    date_bound: str


@lru_cache(1_000)
def _column_query(column: Column, context_words: tuple[str, ...]) -> _ColumnQuery:
    name, question = fold_text(column.name), fold_text(f"{column.question} {column.hint}")
    unit = find_unit(column.unit) if column.unit else None
    attribute = _find_attribute(name, column.type) or _find_attribute(question, column.type)
    kind = (
        unit_family(unit.kind)
        if unit
        else unit_family(attribute.kind)
        if attribute and attribute.kind != "clause"
        else None
    )
    weights: dict[str, float] = {}
    for words, weight in (
        (context_words, CONTEXT_WORD_WEIGHT),
        ([name], 1.0),
        ([question], QUESTION_WORD_WEIGHT),
        (_related_words(name, attribute), QUESTION_WORD_WEIGHT),
    ):
        for word in words:
            for term, share in _weighted_terms(fold_text(word)):
                weights[term] = max(weights.get(term, 0.0), weight * share)
    qualifiers = qualifiers_in(f"{name} {question}")
    attribute_bound = _BOUND_BY_ATTRIBUTE.get(attribute.name if attribute else "", "")
    date_bound = attribute_bound or next(
        (bound for bound in _DATE_BOUNDS if _word_pattern(f"{bound} before").search(name)), ""
    )
    if attribute and attribute.name == "ticket" and not has_clashing_qualifiers(qualifiers, _DEFAULT_VISITOR):
        qualifiers |= _DEFAULT_VISITOR
    return _ColumnQuery(
        tuple(weights.items()), tuple(t for w in context_words for t, _ in _weighted_terms(fold_text(w))), attribute, kind, unit, qualifiers, date_bound
    )  # fmt: skip


def _find_attribute(folded: str, column_type: ColumnType) -> Attribute | None:
    """Return the attribute named last in a text, or last before "of" if an attribute stands there.

    Of several at the same end the longest wins; a specific attribute precedes the general one of
    its kind, which has the kind's name.
    """
    head, _, rest = folded.partition(" of ")
    matches = [
        (attribute.name != attribute.kind, end, end - start, attribute)
        for attribute in load_attributes()
        if {"date": "date", "clause": "text"}.get(attribute.kind, "number") == column_type
        for start, end in attribute.find_spans(head)
    ]
    if not matches and rest:
        return _find_attribute(rest, column_type)
    return max(matches, key=lambda f: f[:3])[3] if matches else None


def _related_words(name: str, attribute: Attribute | None) -> Iterator[str]:
    """Yield synonyms of the words of a column's name.

    There are none for an attribute with figures. For the date of an event, only the other words of
    the name have any.
    """
    if attribute is None:
        yield from _find_synonyms(name)
    elif attribute.kind == "date" and (rest := attribute.en.sub(" ", attribute.zh.sub(" ", name)).strip()):
        others = [other for other in load_attributes() if other.kind == "date" and other.name != attribute.name]
        yield from (
            word for word in _find_synonyms(rest) if not any(any(other_date.find_spans(word)) for other_date in others)
        )


def _find_synonyms(folded: str) -> Iterator[str]:
    """Yield all spellings of the lexicon entries that a name mentions."""
    name_terms = {term for term, _ in _weighted_terms(folded)}
    for entry in lexicon_entries("ask"):
        spellings = [fold_text(word) for word in (*entry.zh, *entry.en) if word not in entry.question_words]
        if any(
            word in folded if has_han(word) else {t for t, _ in _weighted_terms(word)} <= name_terms
            for word in spellings
        ):
            yield from spellings


def _weighted_terms(folded: str) -> Iterator[tuple[str, float]]:
    """Yield terms for comparing texts: English stems, single Han characters and pairs."""
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
    """Count the words of a text; two Han characters count as one word."""
    han = sum(map(len, _HAN_RUN.findall(folded)))
    return len(_WORD.findall(_HAN_RUN.sub(" ", folded))) + han / 2


# What a sentence says


@dataclass(frozen=True)
class _Candidate:
    """A figure, or a word in place of a figure, from `start` to `end` of the text."""

    start: int
    end: int
    measure: Measure | None = None
    needs_no_word: bool = False  # valid without a word of the column nearby


@dataclass(frozen=True)
class _SentenceMatch:
    """A sentence with the words of a column that occur in it."""

    text: str
    query: _ColumnQuery

    @cached_property
    def folded(self) -> str:
        return fold_text(self.text)

    @cached_property
    def clauses(self) -> list[tuple[int, int]]:
        """Spans between commas; one that is only a date belongs to the next."""
        edges = [0, *(m.end() for m in CLAUSE_END_PATTERN.finditer(self.folded)), len(self.folded)]
        date_edges = {
            edge
            for start, edge in pairwise(edges)
            for m in self.measures
            if m.is_date
            and start <= m.start
            and m.end <= edge
            and (edge - start) - (m.end - m.start)
            <= (MAX_CHARS_BESIDE_UNTIL_DATE if find_date_bound(self.folded, m) == "until" else MAX_CHARS_BESIDE_DATE)
        }
        return [(a, b) for a, b in pairwise(e for e in edges if e not in date_edges or e == edges[-1]) if a < b]

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        return find_measures(self.text)

    def only_dates_count(self, measure: Measure) -> bool:
        """Return whether a date only states when a count was valid ("in 2025 there were 8 sites").

        Its clause then contains a figure, and no word for the attribute that the column asks for.
        """
        start, end = self.clause_at(measure.start)
        has_figure = any(
            start <= m.start < end and (m.kind or self._has_counted_noun(m))
            for m in self.measures
            if m.kind not in FRAME_KINDS | TIME_KINDS
        )
        attribute = self.query.attribute
        has_attribute = attribute is not None and any(start <= at < end for at, _ in attribute.find_spans(self.folded))
        return has_figure and not has_attribute

    def _has_counted_noun(self, figure: Measure) -> bool:
        """Return whether a word other than a stop word follows a figure without a unit."""
        match = _WORD.match(self.folded, figure.end + 1)
        return match is not None and match[0] not in STOP_WORDS

    def is_brief(self, max_words: float) -> bool:
        """Return whether a text has at most so many words beside its figures.

        Such a text is an answer that needs no word of the question.
        """
        rest, at = [], 0
        for m in self.measures:
            rest.append(self.folded[at : m.start])
            at = m.end
        return _count_words(" ".join([*rest, self.folded[at:]])) <= max_words

    def clause_at(self, offset: int) -> tuple[int, int]:
        return next(((a, b) for a, b in self.clauses if a <= offset < b), (0, len(self.folded)))

    @cached_property
    def word_matches(self) -> list[tuple[int, int, str, float]]:
        """Start, end, word and weight of each of the column's words in the sentence."""
        weights = {}
        for word, weight in self.query.word_weights:
            for start, end in self._find_term(word):
                weights[start, end, word] = weight
        if attribute := self.query.attribute:
            for start, end in attribute.find_spans(self.folded):
                weights[start, end, f"={attribute.name}"] = ATTRIBUTE_WEIGHT
        return [(start, end, word, weight) for (start, end, word), weight in weights.items()]

    def _find_term(self, term: str) -> Iterator[tuple[int, int]]:
        if has_han(term):
            yield from (m.span() for m in re.finditer(re.escape(term), self.folded))
        else:
            yield from (span for word_stem, span in self._stems if word_stem == term)

    @cached_property
    def _stems(self) -> list[tuple[str, tuple[int, int]]]:
        return [(stem(m[0]), m.span()) for m in _WORD.finditer(self.folded) if m[0].isascii()]

    def word_distance(self, first_span: tuple[int, int], second_span: tuple[int, int]) -> float:
        """Count the words between two spans."""
        return _count_words(self.folded[min(first_span[1], second_span[1]) : max(first_span[0], second_span[0])])

    def closeness(
        self, candidate_span: tuple[int, int], word_span: tuple[int, int], rival_spans: Sequence[tuple[int, int]]
    ) -> float:
        """Return 1 for neighbouring spans, less for each word, comma or rival between."""
        low, high = min(candidate_span[1], word_span[1]), max(candidate_span[0], word_span[0])
        share = 1.0 if self.clause_at(candidate_span[0]) == self.clause_at(word_span[0]) else BOUNDARY_FACTOR
        if any(low <= a and b <= high for a, b in rival_spans):
            share *= BOUNDARY_FACTOR
        if low < high and _CLAUSE_BREAK.search(self.folded, low, high):
            share *= 0.8
        return share / (1 + self.word_distance(candidate_span, word_span) / HALF_WEIGHT_DISTANCE)

    def relevance(self, candidate: _Candidate, rival_spans: Sequence[tuple[int, int]]) -> float:
        """Score how near a candidate stands to the column's words."""
        best: dict[str, float] = {}
        for start, end, word, weight in self.word_matches:
            if start < candidate.end and candidate.start < end and len(word) == 1:
                continue  # the 日 of a date is no word of the column
            score = weight * self.closeness((candidate.start, candidate.end), (start, end), rival_spans)
            best[word] = max(best.get(word, 0.0), score)
        attribute, kind = self.query.attribute, candidate.measure.kind if candidate.measure else ""
        bonus = (
            1.0
            if candidate.needs_no_word
            else SAME_KIND_WEIGHT
            if attribute and attribute.kind and attribute.kind == kind
            else 0.0
        )
        return sum(best.values()) + bonus

    def may_fit(self, candidate: _Candidate, rival_spans: Sequence[tuple[int, int]]) -> bool:
        """Return False if the clause of a figure shows that it belongs to something else.

        That is so if words of the column stand only in other clauses, or if a word of another
        attribute of the same kind is nearer to the figure than those of the column.
        """
        span, clause = (candidate.start, candidate.end), self.clause_at(candidate.start)
        words = [match for match in self.word_matches if match[2] not in self.query.context_terms and len(match[2]) > 1]
        local_words = [match for match in words if clause[0] <= match[0] < clause[1]]
        if words and not local_words and not candidate.needs_no_word:
            return False
        attribute = self.query.attribute
        if attribute is None or not attribute.kind:
            return bool(local_words) or candidate.needs_no_word
        nearest = min((self.distance(match[:2], span) for match in local_words), default=HALF_WEIGHT_DISTANCE * 2)
        if any(self.distance(rival, span) < nearest for rival in self.rival_words(clause, span, rival_spans)):
            return False
        return bool(local_words) or candidate.needs_no_word

    def rival_words(
        self, clause: tuple[int, int], span: tuple[int, int], rival_spans: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield words in a clause for other attributes of the column's kind, unless a rival figure
        is nearer."""
        attribute = self.query.attribute
        own_spans = [*attribute.find_spans(self.folded)] if attribute else []
        for other in load_attributes():
            if attribute is None or other.kind != attribute.kind or other.name in (attribute.name, other.kind):
                continue
            for start, end in other.find_spans(self.folded):
                inside = clause[0] <= start < clause[1]
                if inside and not any(start < b and a < end for a, b in own_spans):
                    word_distance = self.distance((start, end), span)
                    if all(word_distance <= self.distance((start, end), rival) for rival in rival_spans):
                        yield start, end

    def distance(self, word_span: tuple[int, int], figure_span: tuple[int, int]) -> float:
        """Return the distance of a figure from a word; a figure before its word is half a word
        further."""
        return self.word_distance(word_span, figure_span) + (0.5 if figure_span[0] < word_span[0] else 0.0)

    def qualifiers_of(self, candidate: _Candidate, rival_spans: Sequence[tuple[int, int]]) -> frozenset[str]:
        """Return the qualifiers in a figure's clause, up to the next figure on each side."""
        start, end = self.clause_at(candidate.start)
        for a, b in rival_spans:
            if b <= candidate.start:
                start = max(start, b, *(m.end() for m in _CLAUSE_BREAK.finditer(self.folded, b, candidate.start)))
            elif a >= candidate.end:
                end = min(end, a, *(m.start() for m in _CLAUSE_BREAK.finditer(self.folded, candidate.end, a)))
        return qualifiers_in(self.folded[start:end])


def _best_candidate(match: _SentenceMatch, candidates: Sequence[_Candidate]) -> _Candidate | None:
    """Return the figure that the column asks for; None if two score almost equally."""
    scored = []
    for candidate in candidates:
        rivals = [(other.start, other.end) for other in candidates if other is not candidate]
        own_qualifiers, column_qualifiers = (
            match.qualifiers_of(candidate, rivals) - _DEFAULT_QUALIFIERS,
            match.query.qualifiers - _DEFAULT_QUALIFIERS,
        )
        if _FORMER_QUALIFIER in own_qualifiers - column_qualifiers and not (
            candidate.measure and candidate.measure.is_date
        ):
            continue
        if match.may_fit(candidate, rivals) and not has_clashing_qualifiers(
            match.qualifiers_of(candidate, rivals), match.query.qualifiers
        ):
            share = QUALIFIER_MISMATCH_FACTOR ** (
                (not own_qualifiers <= column_qualifiers) + (not column_qualifiers <= own_qualifiers)
            )
            scored.append((share * match.relevance(candidate, rivals), candidate))
    scored.sort(key=lambda s: -s[0])
    if len(scored) > 1:
        (first, candidate), (second, runner_up) = scored[:2]
        if first < MIN_LEAD * second and not _is_equal(candidate, runner_up):
            return None
    return scored[0][1] if scored else None


def _is_equal(first: _Candidate, second: _Candidate) -> bool:
    a, b = first.measure, second.measure
    if a is None or b is None:
        return a is b
    return a.kind == b.kind and (a.date_parts == b.date_parts if a.is_date else abs(a.low - b.low) <= 0.02 * abs(a.low))


# Numbers


def _extract_number(match: _SentenceMatch) -> CellValue | None:
    candidates = [*_figure_candidates(match), *_free_candidates(match), *_zero_candidates(match)]
    best = _best_candidate(match, candidates)
    if best is None:
        return None
    if best.measure is None:
        name = match.query.unit.name if match.query.unit else ""
        return CellValue(type="number", text=match.text[best.start : best.end], number=0.0, unit=name)
    return number_value(best.measure, match.text)


def number_value(measure: Measure, text: str) -> CellValue:
    """Convert a figure of a text to a value in the unit in which it is written."""
    folded = fold_text(text)
    start, end = span_with_bound(folded, measure)
    bound = measure.bound or MeasureScanner(folded).find_bound(measure.start, measure.end)
    name, factor = measure.unit, measure.unit_factor
    if name == "joint":  # such as 1小时30分钟, which is 1.5 hours
        name = unit_name(measure.kind, factor)
    if name == "part":
        name, factor = "%", 1.0
    low, high = (round(value / factor, 9) for value in (measure.low, measure.high))
    bounds: dict[str, Literal["about", "least", "most"]] = {
        "some": "least",
        "about": "about",
        "least": "least",
        "most": "most",
    }
    return CellValue(
        type="number",
        text=text[start:end].strip(),
        number=low,
        high=high if high > low else None,
        unit=name,
        bound=bounds.get(bound, ""),
    )


def _figure_candidates(match: _SentenceMatch) -> Iterator[_Candidate]:
    """Yield the figures of the column's kind; if any has the column's own unit, only those."""
    kind, unit = match.query.kind, match.query.unit
    figures = [reading for m in match.measures if (reading := _reading_of_kind(m, kind))]
    same_unit = [m for m in figures if unit and (m.kind, m.unit_factor) == (unit.kind, unit.factor)]
    chosen = same_unit or figures
    brief = match.is_brief(MAX_WORDS_BESIDE_FIGURE * (1 + (len(chosen) == 1)))
    for m in chosen:
        yield _Candidate(m.start, m.end, m, needs_no_word=brief)


def _reading_of_kind(measure: Measure, wanted_family: str | None) -> Measure | None:
    for reading in measure.interpretations():
        if reading.kind in _EXCLUDED_KINDS:
            continue
        if wanted_family is None or unit_family(reading.kind) == wanted_family:
            return reading
    return None


def _free_candidates(match: _SentenceMatch) -> Iterator[_Candidate]:
    """Yield phrases that state free admission, for columns of type money."""
    if match.query.kind != "money":
        return
    asks_admission = match.query.attribute is not None and match.query.attribute.name in ("ticket", "money")
    implied = [m.span() for m in _word_pattern("free entry").finditer(match.folded)] if asks_admission else []
    for m in _word_pattern("free zh", "free en").finditer(match.folded):
        if not _is_negated(match.folded[: m.start()]):
            is_certain = match.is_brief(MAX_WORDS_BESIDE_FIGURE * (1 + (not match.measures))) or any(
                a <= m.start() < b for a, b in implied
            )
            yield _Candidate(*m.span(), needs_no_word=is_certain)


def _zero_candidates(match: _SentenceMatch) -> Iterator[_Candidate]:
    """Yield phrases that state that there are none: no parking spaces, 不设停车位."""
    if match.query.kind not in ("", None):
        return
    word_starts = {word_match[0] for word_match in match.word_matches if word_match[3] >= 1.0}
    for m in _word_pattern("none zh", "none en").finditer(match.folded):
        after = m.end() + (match.folded[m.end() : m.end() + 1] == " ")
        if after in word_starts:
            yield _Candidate(*m.span(), needs_no_word=True)


# Dates


def _extract_date(match: _SentenceMatch) -> CellValue | None:
    dates = [
        _Candidate(m.start, m.end, m, needs_no_word=match.is_brief(MAX_WORDS_BESIDE_DATE))
        for m in match.measures
        if m.is_date and m.date_parts[0] and m.date_parts[0] > 0
        if (match.query.date_bound or not match.only_dates_count(m))
        and find_date_bound(match.folded, m) in (match.query.date_bound, "")
    ]
    has_column_word = any(word_match[2] not in match.query.context_terms for word_match in match.word_matches)
    candidates = [candidate for candidate in dates if has_column_word or candidate.needs_no_word]
    attribute = match.query.attribute if match.query.kind == "date" else None
    best = _best_candidate(replace(match, query=replace(match.query, attribute=attribute)), candidates)
    return date_value(best.measure, match.text) if best and best.measure else None


def find_date_bound(folded: str, measure: Measure) -> str:
    """Return how a date in a folded text limits a state; "" if it is the date of an event.

    The result is "since", "until" or "as of".
    """
    before, behind = folded[: measure.start].rstrip(" ("), folded[measure.end :].lstrip(" ")
    return next((bound for bound in _DATE_BOUNDS if _bound_patterns(bound)[0].search(before) or _bound_patterns(bound)[1].match(behind)), "")  # fmt: skip


@cache
def _bound_patterns(bound: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of the words before and behind a date that limits a state."""
    before = _word_pattern(f"{bound} before").pattern
    behind = _word_pattern(f"{bound} behind").pattern
    return (
        re.compile(rf"(?:{before})(?: the)?(?: (?:end|start|beginning|close) of)?(?: the)?(?: year)?$"),
        re.compile(rf"年?[底初末]?(?:{behind})"),
    )


def date_value(measure: Measure, text: str) -> CellValue | None:
    """Convert a date of a text to a value; an ambiguous date (3/4/2020) keeps only its year."""
    year, month, day = (measure.date_parts[0], None, None) if measure.swapped_date_parts else measure.date_parts
    try:
        first = date(year or 0, month or 1, day or 1)
    except ValueError:
        return None
    precision: Literal["day", "month", "year"] = "day" if day and month else "month" if month else "year"
    return CellValue(type="date", text=text[measure.start : measure.end].strip(), day=first, precision=precision)


# Yes or no


@cache
def _word_pattern(*list_names: str) -> re.Pattern[str]:
    """Compile a pattern of the words in some lists of `cells.txt`, English ones as whole words."""
    words = "|".join(data.words("cells")[name] for name in list_names)
    han = [word for word in _split_alternatives(words) if has_han(word)]
    other = [word for word in _split_alternatives(words) if not has_han(word)]
    parts = ["|".join(sorted(han, key=len, reverse=True))] if han else []
    parts += [rf"\b(?:{'|'.join(other)})\b"] if other else []
    return re.compile("|".join(parts))


def _split_alternatives(words: str) -> list[str]:
    """Split alternatives at "|", except within brackets."""
    return re.split(r"\|(?![^()]*\))", words)


def _is_negated(preceding: str) -> bool:
    """Return whether the text before a word negates it, with no comma between."""
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
    query = _column_query(column, ())
    answers = [
        (start, end, yes)
        for start, end in _SentenceMatch(text, query).clauses
        if (yes := _read_answer(fold_text(text)[start:end], modal, topic)) is not None
        if not _is_about_other(fold_text(text)[start:end], column, query)
    ]
    if len({yes for _, _, yes in answers}) != 1:
        return None
    start, end, yes = answers[0]
    return CellValue(type="yes or no", text=_shorten(text[start:end]), yes=yes)


def _is_about_other(clause: str, column: Column, query: _ColumnQuery) -> bool:
    """Return whether a clause is about something near the thing, or only about some people, times
    or parts, although the column does not ask for these."""
    near = _word_pattern("near zh", "near en")
    if near.search(clause) and not near.search(fold_text(f"{column.name} {column.question}")):
        return True
    return any(
        qualifier_group(qualifier) in _NARROWING_GROUPS
        for qualifier in qualifiers_in(clause) - query.qualifiers - _DEFAULT_QUALIFIERS
    )


_MODALITIES = ("needed", "allowed", "offered", "open", "suited")
_PEOPLE_GROUPS = frozenset(("age", "sex", "party"))  # of qualifiers
_NARROWING_GROUPS = _PEOPLE_GROUPS | {"season", "part", "class", "border", "real"}


@lru_cache(1_000)
def _parse_question(column: Column) -> tuple[str, tuple[str, ...]]:
    """Return the modality that a column asks for, and the words of its topic.

    The modality is "needed", "allowed", "offered", "open", "suited", or "" if the column asks
    whether something is the case. A column whose words only name people asks whether the thing
    suits them.
    """
    name = _word_pattern("asks").sub(" ", fold_text(column.name))
    modality = next((m for m in _MODALITIES if _word_pattern(m).search(name)), "")
    rest = _word_pattern(modality).sub(" ", name) if modality else name
    topic = (*_HAN_RUN.findall(rest), *_WORD.findall(_HAN_RUN.sub(" ", rest)))
    if not modality and topic:
        modality = next((m for m in _MODALITIES if _word_pattern(m).search(fold_text(column.question))), "")
    if (
        not modality
        and topic
        and all(
            any(qualifier_group(qualifier) in _PEOPLE_GROUPS for qualifier in qualifiers_in(word)) for word in topic
        )
    ):
        modality = "suited"
    return modality, topic


def _read_answer(clause: str, modality: str, topic: tuple[str, ...]) -> bool | None:
    """Return what a clause answers about a topic; None if it contains no answer."""
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
        is_negated = _word_pattern("not zh").search(whole[max(0, match.start() - 3) : match.start()])
        return not (is_negated or denied)
    return None


def _split_at_topic(clause: str, topic: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the texts before and behind a topic in a clause; None unless all its words occur.

    A synonym counts as the word.
    """
    if not topic:
        return "", clause
    spans: list[tuple[int, int]] = []
    for word in topic:
        span = _find_synonym(clause, word)
        if span is None:  # 带宠物 may occur as 宠物
            parts = [part for part in cut(word, False) if has_han(part) and 1 < len(part) < len(word)]
            part_spans = [part_span for part in parts if (part_span := _find_synonym(clause, part))]
            if not parts or len(part_spans) < len(parts):
                return None
            spans += part_spans
        else:
            spans.append(span)
    return clause[: min(a for a, _ in spans)], clause[max(b for _, b in spans) :]


def _find_synonym(clause: str, word: str) -> tuple[int, int] | None:
    """Return the start and end of a word or one of its synonyms in a clause; None if neither
    occurs."""
    return next(filter(None, (_find_word(clause, w) for w in (word, *_synonyms_of(word)))), None)


@lru_cache(1_000)
def _synonyms_of(word: str) -> tuple[str, ...]:
    """Return all spellings of the lexicon entries that include a word."""
    forms = {word, stem(word)}
    entries = [[fold_text(w) for w in (*e.zh, *e.en) if w not in e.question_words] for e in lexicon_entries("ask")]
    return tuple(w for spellings in entries if forms & {*spellings, *map(stem, spellings)} for w in spellings)


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
    matches: list[tuple[int, int, str]] = []
    for choice in sorted(column.choices, key=len, reverse=True):
        for m in _literal_pattern(fold_text(choice)).finditer(match.folded):
            is_free = all(m.end() <= a or b <= m.start() for a, b, _ in matches)
            if is_free:
                matches.append((m.start(), m.end(), choice))
    affirmed = [f for f in matches if not _is_negated(match.folded[: f[0]])]
    if len({choice for _, _, choice in affirmed}) != 1 or len(affirmed) < len(matches):
        return None
    start, end, choice = affirmed[0]
    return CellValue(type="choice", text=match.text[start:end], choice=choice)


@lru_cache(1_000)
def _literal_pattern(folded: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){re.escape(folded)}(?![a-z0-9])" if not has_han(folded) else re.escape(folded))


def _extract_text(match: _SentenceMatch) -> CellValue | None:
    attribute = match.query.attribute
    if attribute and attribute.kind == "clause":
        for start, end in match.clauses:
            if any(attribute.find_spans(match.folded[start:end])):
                return CellValue(type="text", text=_shorten(match.text[start:end]))
        return None
    return CellValue(type="text", text=_shorten(match.text))


def _shorten(text: str) -> str:
    line = " ".join(text.split()).strip(" ，,；;。")
    return line if len(line) <= MAX_VALUE_CHARS else line[: MAX_VALUE_CHARS - 1].rstrip() + "…"


def unit_label(name: str, language: Language) -> str:
    """Return the label of a unit in headings, such as CNY, m² or 公顷; an unknown unit stays as it
    is."""
    unit = find_unit(name)
    if unit is None or unit.name != name:
        return name
    if language == "zh":
        return next((spelling for spelling, units in UNITS.items() if units[0] == unit and has_han(spelling)), name)
    if unit.kind.startswith("money ") and unit.factor == 1:
        return {"yuan": "CNY"}.get(name, name.upper())
    return name
