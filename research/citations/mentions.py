"""Figures and dates in sentences, with the words, names and qualifiers around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from research import data
from research.citations.cues import find_cues
from research.citations.figure_check import TIME_KINDS
from research.citations.qualifiers import find_qualifiers, qualifier_group, qualifiers_in
from research.citations.tokenization import TokenizedSentence, TokenizedText, tokenize_text
from research.core.text.attributes import load_attributes
from research.core.text.names import find_han_names, find_latin_names
from research.core.text.quantities import Measure
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, has_han

MAX_SENTENCE_CHARS = 1_000  # longer sentences are skipped
MAX_ADJACENT_WEIGHT = 4  # Han characters beside a figure that describe it, or half as many words
IDENTIFYING_KINDS = frozenset({"date", "ordinal", "edition", "line"})  # figures that tell which thing is meant
_IDENTIFYING_OR_TIME_KINDS = IDENTIFYING_KINDS | TIME_KINDS
RETRACTING_CUES = frozenset({"denial", "rumour", "condition", "question"})

# Breaks within a sentence: the joints of search results and of tables.
_TEXT_BREAK = re.compile(r"\.\.\.+|…+|\s[·•|;]\s|[|\n\r]")
_OPEN_PARENTHESIS = re.compile(r"[(（\[【][^()（）\[\]【】]*$")
_WORD_BEFORE = re.compile(rf"([{HAN_RANGES}]|[^\W\d_{HAN_RANGES}]+)[ -]?$")
_LABEL = re.compile(r"(?:^|(?<=[;,|]))\s*[^\W\d][^:;,|]{0,40}:(?=\s)")  # Price: of Name: Vega; Price: 80 EUR
_CONJUNCTION = re.compile(r"\s(?:and|but|while)\s|[并而且]")
_IDENTIFYING_YEAR = re.compile(r"\b(?:an?|the|this|that|its|their|his|her|our)\s(1\d{3}|20\d\d)(?=\s[a-z])")
_OPENING_PHRASE = re.compile(r"(?:in|at|on|for|during|under|among)\b[^,]*,")
_NEXT_WORD = re.compile(r"[ -]?([^\W\d_]+)")


@dataclass(frozen=True, eq=False)
class FigureSentence:
    """A sentence with figures: original and folded text, content tokens with offsets, and measures.

    `counted_words` are the words inside its figures: "visitors" in "41,200 visitors".
    """

    original: str
    folded: str
    content: tuple[tuple[str, int], ...]
    counted_words: tuple[tuple[str, int], ...]
    measures: tuple[Measure, ...]

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Content tokens outside the figures."""
        return frozenset(token for token, _ in self.content)

    @cached_property
    def words(self) -> frozenset[str]:
        """Tokens of the sentence and the words inside its figures."""
        return self.tokens | {token for token, _ in self.counted_words}

    @cached_property
    def linking_spans(self) -> tuple[tuple[int, int], ...]:
        """Ranges of words that do not describe a figure: linking words, and qualifiers compared separately."""
        qualifiers = ((a, b) for name, a, b in find_qualifiers(self.folded) if qualifier_group(name) == "real")
        return (*(match.span() for match in _linking_pattern().finditer(self.folded)), *qualifiers)

    @cached_property
    def informative_words(self) -> tuple[tuple[str, int], ...]:
        """Words that may describe the figures: neither names nor linking words."""
        names = frozenset[str]().union(*self.latin_name_words)
        return tuple(
            (token, at)
            for token, at in (*self.content, *self.counted_words)
            if token not in names and not any(start <= at < end for start, end in self.linking_spans)
        )

    @cached_property
    def latin_name_words(self) -> tuple[frozenset[str], ...]:
        """Words of each name in Latin letters; the labels of a record are no names."""
        labels = [match.span() for match in _LABEL.finditer(self.original)]
        labels = labels if len(labels) > 1 else []
        names = (
            frozenset(
                token for token, at in self.content if start <= at < end and not any(a <= at < b for a, b in labels)
            )
            for start, end in find_latin_names(self.original)
        )
        return tuple(filter(None, names))

    @cached_property
    def names(self) -> frozenset[str]:
        """Words of names in Latin letters, and names in the Chinese dictionary."""
        han_names = (self.folded[start:end] for start, end in find_han_names(self.folded))
        return frozenset[str]().union(*self.latin_name_words, han_names)

    @cached_property
    def identifying_years(self) -> dict[int, str]:
        """Years that identify one of several things, as in "the 2021 census", by offset."""
        return {match.start(1): match[1] for match in _IDENTIFYING_YEAR.finditer(self.folded)}

    @cached_property
    def phases(self) -> frozenset[str]:
        """Names of successive phases of a project in a Chinese sentence, such as 二期."""
        phases = (self.folded[a:b] for name, a, b in find_qualifiers(self.folded) if name == "phase")
        return frozenset(filter(has_han, phases))

    @cached_property
    def opening_words(self) -> frozenset[str]:
        """Words of an opening phrase without a figure: "In the pilot phase, 200 homes"."""
        match = _OPENING_PHRASE.match(self.folded)
        end = match.end() if match else 0
        has_no_figure = not any(m.start < end for m in self.measures)
        return frozenset(token for token, at in self.content if has_no_figure and at < end)

    @cached_property
    def has_chinese(self) -> bool:
        """True if the sentence contains a Han character."""
        return has_han(self.folded)

    def contains_name(self, name: str) -> bool:
        """Return whether the sentence contains a name, or a longer or shorter form of it."""
        if not has_han(name):
            return name in self.tokens
        return name in self.folded or any(known in name for known in self.names if has_han(known))


@dataclass(frozen=True, eq=False)
class Mention:
    """A figure in its sentence; `counted_noun` names what it counts if its kind does not."""

    sentence: FigureSentence
    measure: Measure
    counted_noun: str

    @property
    def text(self) -> str:
        """The figure as it is written."""
        return self.sentence.original[self.measure.start : self.measure.end].strip()

    @property
    def comparison_key(self) -> tuple[str, str]:
        """Key that figures must share to be of one thing."""
        return self.measure.kind, self.counted_noun

    @cached_property
    def other_measures(self) -> tuple[Measure, ...]:
        """The other figures of the sentence."""
        return tuple(other for other in self.sentence.measures if other is not self.measure)

    @cached_property
    def other_kinds(self) -> frozenset[str]:
        """Kinds of the other figures of the sentence."""
        return frozenset(other.kind for other in self.other_measures)

    @cached_property
    def identifying_kinds(self) -> frozenset[str]:
        """Kinds of the other figures that give a time or identify one of several things."""
        return self.other_kinds & _IDENTIFYING_OR_TIME_KINDS

    @cached_property
    def has_date_in_clause(self) -> bool:
        """True if the clause of the figure contains a date."""
        start, end = self.clause_span
        return any(m.is_date and start <= m.start < end for m in self.other_measures)

    @cached_property
    def clause_start_text(self) -> str:
        """Text of the clause before the figure."""
        return self.sentence.folded[self.clause_span[0] : self.measure.start]

    @cached_property
    def numbered_words(self) -> dict[str, set[float]]:
        """Words, or Han characters, directly before other bare numbers, with those numbers."""
        numbers_by_word: dict[str, set[float]] = {}
        for m in self.other_measures:
            match = _WORD_BEFORE.search(self.sentence.folded, 0, m.start) if not m.kind else None
            if match and match[1] not in STOP_WORDS:
                numbers_by_word.setdefault(match[1], set()).add(m.low)
        return numbers_by_word

    def sentence_begins_with(self, name: str) -> bool:
        """Return whether the sentence begins with a name, before any figure other than a date."""
        sentence = self.sentence
        first = min((at for _, at in sentence.content), default=len(sentence.folded))
        has_figure_before = any(m.start < first for m in sentence.measures if not m.is_date)
        return not has_figure_before and sentence.folded.startswith(name, first)

    def nearest_words(self, limit: int) -> list[str]:
        """Return at most `limit` content tokens, nearest to the figure first."""
        content = sorted(self.sentence.content, key=lambda word: abs(word[1] - self.measure.start))
        return [token for token, _ in content[:limit]]

    @cached_property
    def adjacent_words(self) -> tuple[str, ...]:
        """Words next to the figure that may describe it, nearest first."""
        words, weight = [], 0
        for token in self.clause_words:
            weight += token_weight(token)
            if weight > MAX_ADJACENT_WEIGHT:
                break
            words.append(token)
        return tuple(words)

    @cached_property
    def clause_words(self) -> tuple[str, ...]:
        """All words that may describe the figure, nearest first.

        They are taken from its clause, without a part joined by "and"; if there are none, from the
        sentence.
        """
        m = self.measure
        candidates = [
            (m.start - at if at < m.start else at - m.end, token, at)
            for token, at in self.sentence.informative_words
            if not m.start <= at < m.end
        ]
        start, end = self.clause_span
        search_start = max((o.end for o in self.other_measures if o.end <= m.start), default=m.start)
        start = max(
            (link.end() for link in _CONJUNCTION.finditer(self.sentence.folded, search_start, m.start)), default=start
        )
        link = _CONJUNCTION.search(self.sentence.folded, m.end, end)
        end = link.start() if link else end
        in_clause = [word for word in candidates if start <= word[2] < end] or candidates
        return tuple(token for _, token, _ in sorted(in_clause))

    def named_attributes(self, words: Sequence[str]) -> frozenset[str]:
        """Return the attributes of the figure's kind, and the qualifiers, that contain one of the words."""
        offsets = [at for token, at in (*self.sentence.content, *self.sentence.counted_words) if token in words]
        return frozenset(
            name
            for name, start, end in _find_attributes(self.sentence.folded, self.measure.family)
            if any(start <= at < end for at in offsets)
        )

    @cached_property
    def qualifiers(self) -> frozenset[str]:
        """Qualifiers of the figure: those near it, on its side of other figures of its kind.

        That the figure is planned may also be stated in an earlier clause, as by "experts expect",
        back to the nearest clause that has a figure.
        """
        text, m = self.sentence.folded, self.measure
        start, end = self.clause_span
        for other in self.other_measures:
            if other.family == m.family:
                start = max(start, other.end) if other.end <= m.start else start
                end = min(end, other.start) if other.start >= m.end else end
        return qualifiers_in(text[start:end]) | frozenset(
            q for q in self.earlier_qualifiers if qualifier_group(q) == "real"
        )

    @cached_property
    def earlier_qualifiers(self) -> frozenset[str]:
        """Qualifiers of earlier clauses, back to the nearest one that has a figure with a unit."""
        start = max(
            (
                o.end
                for o in self.other_measures
                if o.kind
                and o.kind not in _IDENTIFYING_OR_TIME_KINDS
                and not o.is_date
                and o.end <= self.clause_span[0]
            ),
            default=0,
        )
        return qualifiers_in(self.sentence.folded[start : self.clause_span[0]])

    @cached_property
    def clause_span(self) -> tuple[int, int]:
        """Range of the clause of the figure, between commas."""
        text, m = self.sentence.folded, self.measure
        start = max((comma.end() for comma in CLAUSE_END_PATTERN.finditer(text, 0, m.start)), default=0)
        comma = CLAUSE_END_PATTERN.search(text, m.end)
        return start, comma.start() if comma else len(text)


def token_weight(token: str) -> int:
    """Return the weight of a word that describes a figure: a Han character counts half a word."""
    return 1 if has_han(token) else 2


@cache
def _linking_pattern() -> re.Pattern[str]:
    words = data.words("figures")
    return re.compile(rf"{words['joins zh']}|\b(?:{words['joins en']})\b")


@lru_cache(4_000)
def _find_attributes(text: str, family: str) -> tuple[tuple[str, int, int], ...]:
    """Find the attributes of a family of figures, and the qualifiers, in a folded text; with ranges."""
    attributes = ((a.name, *span) for a in load_attributes() if a.kind == family for span in a.find_spans(text))
    return (*attributes, *find_qualifiers(text))


@lru_cache(4_000)
def find_mentions(text: str) -> tuple[Mention, ...]:
    """Find the figures and dates of a passage that can be compared with others.

    These are exact, have a kind or a counted noun, and stand neither in an open parenthesis nor in
    a sentence with a retracting cue.
    """
    return tuple(
        Mention(line, measure, counted)
        for line in _figure_sentences(text)
        if not find_cues(line.folded) & RETRACTING_CUES
        for measure in line.measures
        if _is_exact(measure) and not _OPEN_PARENTHESIS.search(line.folded, 0, measure.start)
        for counted in [_counted_noun(line, measure)]
        if measure.kind or counted
    )


def _figure_sentences(text: str) -> Iterator[FigureSentence]:
    """Yield the sentences of a text that contain figures."""
    for part in _TEXT_BREAK.split(text):
        whole = tokenize_text(part)
        for sentence in whole.sentences:
            if len(sentence.folded) <= MAX_SENTENCE_CHARS and sentence.measures:
                yield _figure_sentence(whole, sentence)


def _figure_sentence(text: TokenizedText, sentence: TokenizedSentence) -> FigureSentence:
    content_tokens = [
        (token, at - sentence.start)
        for token, at in zip(text.tokens, text.token_starts, strict=True)
        if sentence.start <= at < sentence.end and token not in STOP_WORDS
    ]
    measures = sentence.measures
    content = tuple(w for w in content_tokens if not any(m.start <= w[1] < m.end for m in measures))
    counted = tuple(
        (token, at)
        for token, at in content_tokens
        if not token[0].isdigit() and any(not m.is_date and m.start <= at < m.end for m in measures)
    )
    original = text.text[sentence.start : sentence.end]
    return FigureSentence(original, sentence.folded, content, counted, sentence.measures)


def _is_exact(measure: Measure) -> bool:
    """Return whether a figure states one value of a quantity, or one date."""
    is_time_or_identifying = not measure.is_date and measure.kind in TIME_KINDS | IDENTIFYING_KINDS
    return (
        measure.low == measure.high
        and measure.bound in ("", "about")
        and not measure.is_small_word
        and not is_time_or_identifying
    )


def _counted_noun(sentence: FigureSentence, measure: Measure) -> str:
    """Return the word for what a figure counts; "" if its kind says it, or if it belongs to a name."""
    if measure.kind:
        return measure.unit if measure.kind == "count" else ""
    if measure.start in sentence.identifying_years:
        return ""
    before = _WORD_BEFORE.search(sentence.folded, 0, measure.start)
    if before and before[1] not in STOP_WORDS and sentence.original[before.start(1)].isupper():  # part of a name
        return ""
    match = _NEXT_WORD.match(sentence.folded, measure.end)
    return match[1] if match else ""
