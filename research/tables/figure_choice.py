"""Choice between the figures of a sentence: the one nearest to the words of a column is chosen.

If two are equally near, none is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from research.citations.figure_check import TIME_KINDS
from research.citations.mentions import IDENTIFYING_KINDS
from research.citations.qualifiers import has_clashing_qualifiers, qualifiers_in
from research.core.text.attributes import load_attributes
from research.core.text.quantities import Measure, find_measures, fold_text
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import STOP_WORDS, has_han, stem
from research.tables.cell_words import WORD, find_date_bound
from research.tables.column_query import DEFAULT_QUALIFIERS, ColumnQuery, count_words

ATTRIBUTE_WEIGHT = 0.7  # of another word for the column's attribute
SAME_KIND_WEIGHT = 0.5  # added if figure and attribute are of one kind
HALF_WEIGHT_DISTANCE = 8.0  # words between word and figure
BOUNDARY_FACTOR = 0.4  # for a word beyond a comma or a rival figure
QUALIFIER_MISMATCH_FACTOR = 0.6  # if only one is narrowed: 其中, students
# Characters beside a date that forms a clause: "In 2019," and "Until 2019,".
MAX_CHARS_BESIDE_DATE, MAX_CHARS_BESIDE_UNTIL_DATE = 4, 8
MIN_LEAD = 1.05  # minimum ratio of the best figure's score to the next one's
_FORMER_QUALIFIER = "before"  # marks a state that has ended
_CLAUSE_BREAK = re.compile(r"[、(（)）]|:(?=\s)|：|\sand\s|\bbut\b|而")


@dataclass(frozen=True)
class FigureCandidate:
    """A figure, or a word in place of a figure, from `start` to `end` of the text."""

    start: int
    end: int
    measure: Measure | None = None
    needs_no_word: bool = False  # valid without a word of the column nearby


@dataclass(frozen=True)
class SentenceMatch:
    """A sentence with the words of a column that occur in it.

    Spans are pairs of start and end in the text; `rival_spans` are those of the other candidates.
    """

    text: str
    query: ColumnQuery

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

    def is_date_of_count(self, measure: Measure) -> bool:
        """Return whether a date only states when a count was valid ("in 2025 there were 8 sites").

        Its clause then contains a figure, and no word for the attribute that the column asks for.
        """
        start, end = self.clause_at(measure.start)
        has_figure = any(
            start <= m.start < end and (m.kind or self._has_counted_noun(m))
            for m in self.measures
            if m.kind not in IDENTIFYING_KINDS | TIME_KINDS
        )
        attribute = self.query.attribute
        has_attribute = attribute is not None and any(start <= at < end for at, _ in attribute.find_spans(self.folded))
        return has_figure and not has_attribute

    def _has_counted_noun(self, figure: Measure) -> bool:
        """Return whether a word other than a stop word follows a figure without a unit."""
        match = WORD.match(self.folded, figure.end + 1)
        return match is not None and match[0] not in STOP_WORDS

    def is_brief(self, max_words: float) -> bool:
        """Return whether a text has at most `max_words` words beside its figures.

        Such a text is an answer by itself, even if it contains no word of the question.
        """
        rest, at = [], 0
        for m in self.measures:
            rest.append(self.folded[at : m.start])
            at = m.end
        return count_words(" ".join([*rest, self.folded[at:]])) <= max_words

    def clause_at(self, offset: int) -> tuple[int, int]:
        """Return the span of the clause at an offset."""
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
        return [(stem(m[0]), m.span()) for m in WORD.finditer(self.folded) if m[0].isascii()]

    def word_distance(self, first_span: tuple[int, int], second_span: tuple[int, int]) -> float:
        """Count the words between two spans."""
        return count_words(self.folded[min(first_span[1], second_span[1]) : max(first_span[0], second_span[0])])

    def closeness(
        self, candidate_span: tuple[int, int], word_span: tuple[int, int], rival_spans: Sequence[tuple[int, int]]
    ) -> float:
        """Return how close two spans are, from 0 to 1.

        Neighbours have 1; each word, comma or rival between the spans lowers it.
        """
        low, high = min(candidate_span[1], word_span[1]), max(candidate_span[0], word_span[0])
        share = 1.0 if self.clause_at(candidate_span[0]) == self.clause_at(word_span[0]) else BOUNDARY_FACTOR
        if any(low <= a and b <= high for a, b in rival_spans):
            share *= BOUNDARY_FACTOR
        if low < high and _CLAUSE_BREAK.search(self.folded, low, high):
            share *= 0.8
        return share / (1 + self.word_distance(candidate_span, word_span) / HALF_WEIGHT_DISTANCE)

    def relevance(self, candidate: FigureCandidate, rival_spans: Sequence[tuple[int, int]]) -> float:
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

    def may_belong_to_column(self, candidate: FigureCandidate, rival_spans: Sequence[tuple[int, int]]) -> bool:
        """Return False if the clause of a figure shows that it belongs to something else.

        That is so if words of the column stand only in other clauses, or if a word of another
        attribute of the same kind is nearer to the figure than those of the column.
        """
        span, clause = (candidate.start, candidate.end), self.clause_at(candidate.start)
        words = [match for match in self.word_matches if match[2] not in self.query.context_terms and len(match[2]) > 1]
        local_words = [match for match in words if clause[0] <= match[0] < clause[1]]
        if words and not local_words and not candidate.needs_no_word:
            return False
        if self.query.attribute and self.query.attribute.kind:
            distances = (self.figure_distance(match[:2], span) for match in local_words)
            nearest = min(distances, default=HALF_WEIGHT_DISTANCE * 2)
            rival_words = self.rival_words(clause, span, rival_spans)
            if any(self.figure_distance(rival, span) < nearest for rival in rival_words):
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
                    word_distance = self.figure_distance((start, end), span)
                    if all(word_distance <= self.figure_distance((start, end), rival) for rival in rival_spans):
                        yield start, end

    def figure_distance(self, word_span: tuple[int, int], figure_span: tuple[int, int]) -> float:
        """Return the distance of a figure from a word, in words; half a word more if the figure comes
        first."""
        return self.word_distance(word_span, figure_span) + (0.5 if figure_span[0] < word_span[0] else 0.0)

    def figure_qualifiers(self, candidate: FigureCandidate, rival_spans: Sequence[tuple[int, int]]) -> frozenset[str]:
        """Return the qualifiers in a figure's clause, up to the next figure on each side."""
        start, end = self.clause_at(candidate.start)
        for a, b in rival_spans:
            if b <= candidate.start:
                start = max(start, b, *(m.end() for m in _CLAUSE_BREAK.finditer(self.folded, b, candidate.start)))
            elif a >= candidate.end:
                end = min(end, a, *(m.start() for m in _CLAUSE_BREAK.finditer(self.folded, candidate.end, a)))
        return qualifiers_in(self.folded[start:end])


def best_candidate(match: SentenceMatch, candidates: Sequence[FigureCandidate]) -> FigureCandidate | None:
    """Return the figure that the column asks for; None if two score almost equally."""
    scored = []
    for candidate in candidates:
        rivals = [(other.start, other.end) for other in candidates if other is not candidate]
        own_qualifiers, column_qualifiers = (
            match.figure_qualifiers(candidate, rivals) - DEFAULT_QUALIFIERS,
            match.query.qualifiers - DEFAULT_QUALIFIERS,
        )
        if _FORMER_QUALIFIER in own_qualifiers - column_qualifiers and not (
            candidate.measure and candidate.measure.is_date
        ):
            continue
        if match.may_belong_to_column(candidate, rivals) and not has_clashing_qualifiers(
            match.figure_qualifiers(candidate, rivals), match.query.qualifiers
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


def _is_equal(first: FigureCandidate, second: FigureCandidate) -> bool:
    a, b = first.measure, second.measure
    if a is None or b is None:
        return a is b
    return a.kind == b.kind and (a.date_parts == b.date_parts if a.is_date else abs(a.low - b.low) <= 0.02 * abs(a.low))
