"""Figures and dates in sentences, and the test whether two of them are of one thing.

Two figures are of one thing if they are of one kind, their sentences share enough words, and
nothing separates them: another time, another name, a qualifier from `data/qualifiers.tsv` on one
side only, or different words beside the figures (restored in 1999, opened in 1931), unless
`data/columns.tsv` lists those words as one attribute. Meaning is not understood: a paraphrase
counts as another thing. For news items about one known event, a shared word near both figures is
enough. The measured worth of each rule is in `tests/yardsticks/README.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache

from research import data
from research.citations.cues import find_cues
from research.citations.figure_check import TIME_KINDS
from research.citations.tokenization import TokenizedSentence, TokenizedText, tokenize_text
from research.core.text.attributes import load_attributes
from research.core.text.names import find_han_names, find_latin_names
from research.core.text.quantities import Measure, are_compatible, dates_conflict, measures_agree
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, has_han

MIN_WORD_OVERLAP, MIN_WORD_OVERLAP_FOR_YEARS = (
    0.45,
    0.8,
)  # share of common words in two sentences; higher for bare years
MIN_SHARED_WEIGHT = 8  # of shared items: Han character 2, other word 3, figure 4, name 2 more
MIN_SHARED_NAMES = 0.7  # the share of names found in the other sentence must exceed this
MIN_TITLE_OVERLAP = 0.6  # share of common title words, if no name is shared
MIN_PREDICATE_OVERLAP = 0.6  # share of equal text behind two Chinese subjects, from which the subjects differ
PERIODIC_QUALIFIERS = frozenset({"daily", "monthly", "yearly"})  # their figures differ from year to year
MAX_SENTENCE_CHARS = 1_000  # longer sentences are skipped
MAX_ADJACENT_WEIGHT = 4  # Han characters beside a figure that describe it, or half as many words
FRAME_KINDS = frozenset({"date", "ordinal", "edition", "line"})  # figures that identify one of several things
_FRAME_OR_TIME_KINDS = FRAME_KINDS | TIME_KINDS
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
        return frozenset(token for token, _ in self.content)

    @cached_property
    def words(self) -> frozenset[str]:
        """Tokens of the sentence and the words inside its figures."""
        return self.tokens | {token for token, _ in self.counted_words}

    @cached_property
    def linking_words(self) -> tuple[tuple[int, int], ...]:
        """Ranges of words that only link a figure to its subject, or that are compared
        separately."""
        qualifiers = ((a, b) for name, a, b in _find_qualifiers(self.folded) if qualifier_group(name) == "real")
        return (*(match.span() for match in _linking_pattern().finditer(self.folded)), *qualifiers)

    @cached_property
    def informative_words(self) -> tuple[tuple[str, int], ...]:
        """Words that may describe the figures: neither names nor linking words."""
        names = frozenset[str]().union(*self.latin_name_words)
        return tuple(
            (token, at)
            for token, at in (*self.content, *self.counted_words)
            if token not in names and not any(start <= at < end for start, end in self.linking_words)
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
    def years(self) -> dict[int, str]:
        """Years that identify one of several things, as in "the 2021 census", by offset."""
        return {match.start(1): match[1] for match in _IDENTIFYING_YEAR.finditer(self.folded)}

    @cached_property
    def phases(self) -> frozenset[str]:
        """Names of successive phases of a project in a Chinese sentence, such as 二期."""
        phases = (self.folded[a:b] for name, a, b in _find_qualifiers(self.folded) if name == "phase")
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
        return name in self.folded or any(own in name for own in self.names if has_han(own))


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
    def others(self) -> tuple[Measure, ...]:
        """The other figures of the sentence."""
        return tuple(other for other in self.sentence.measures if other is not self.measure)

    @cached_property
    def other_kinds(self) -> frozenset[str]:
        """Kinds of the other figures of the sentence."""
        return frozenset(other.kind for other in self.others)

    @cached_property
    def frame_kinds(self) -> frozenset[str]:
        """Kinds of the other figures that give a time or identify one of several things."""
        return self.other_kinds & _FRAME_OR_TIME_KINDS

    @cached_property
    def has_date_in_clause(self) -> bool:
        """True if the clause of the figure contains a date."""
        start, end = self.clause
        return any(m.is_date and start <= m.start < end for m in self.others)

    @cached_property
    def clause_start_text(self) -> str:
        """Text of the clause before the figure."""
        return self.sentence.folded[self.clause[0] : self.measure.start]

    @cached_property
    def numbered_words(self) -> dict[str, set[float]]:
        """Words, or Han characters, directly before other bare numbers, with those numbers."""
        numbers_by_word: dict[str, set[float]] = {}
        for m in self.others:
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
        content = sorted(self.sentence.content, key=lambda one: abs(one[1] - self.measure.start))
        return [token for token, _ in content[:limit]]

    @cached_property
    def adjacent_words(self) -> tuple[str, ...]:
        """Words next to the figure that may describe it, nearest first."""
        words, weight = [], 0
        for token in self.clause_words:
            weight += _token_weight(token)
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
        start, end = self.clause
        search_start = max((o.end for o in self.others if o.end <= m.start), default=m.start)
        start = max(
            (link.end() for link in _CONJUNCTION.finditer(self.sentence.folded, search_start, m.start)), default=start
        )
        link = _CONJUNCTION.search(self.sentence.folded, m.end, end)
        end = link.start() if link else end
        in_clause = [word for word in candidates if start <= word[2] < end] or candidates
        return tuple(token for _, token, _ in sorted(in_clause))

    def named_attributes(self, words: Sequence[str]) -> frozenset[str]:
        """Return the attributes of the figure's kind, and the qualifiers, that the given words
        name."""
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
        start, end = self.clause
        for other in self.others:
            if other.family == m.family:
                start = max(start, other.end) if other.end <= m.start else start
                end = min(end, other.start) if other.start >= m.end else end
        return qualifiers_in(text[start:end]) | frozenset(
            q for q in self.earlier_qualifiers if qualifier_group(q) == "real"
        )

    @cached_property
    def earlier_qualifiers(self) -> frozenset[str]:
        """Qualifiers of earlier clauses, back to the nearest clause that has a figure with a
        unit."""
        start = max(
            (
                o.end
                for o in self.others
                if o.kind and o.kind not in _FRAME_OR_TIME_KINDS and not o.is_date and o.end <= self.clause[0]
            ),
            default=0,
        )
        return qualifiers_in(self.sentence.folded[start : self.clause[0]])

    @cached_property
    def clause(self) -> tuple[int, int]:
        """Range of the clause of the figure, between commas."""
        text, m = self.sentence.folded, self.measure
        start = max((comma.end() for comma in CLAUSE_END_PATTERN.finditer(text, 0, m.start)), default=0)
        comma = CLAUSE_END_PATTERN.search(text, m.end)
        return start, comma.start() if comma else len(text)


@cache
def _load_qualifiers() -> dict[str, tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Load the qualifiers with their group, Chinese pattern and English pattern."""
    return {
        name: (group, re.compile(chinese), re.compile(rf"\b(?:{english})\b"))
        for name, group, chinese, english in data.rows("qualifiers.tsv")
    }


def qualifier_group(qualifier: str) -> str:
    """Return the group of a qualifier."""
    return _load_qualifiers()[qualifier][0].rstrip("!")


@cache
def _linking_pattern() -> re.Pattern[str]:
    words = data.words("figures")
    return re.compile(rf"{words['joins zh']}|\b(?:{words['joins en']})\b")


@lru_cache(4_000)
def _find_attributes(text: str, family: str) -> tuple[tuple[str, int, int], ...]:
    """Find the attributes of a family of figures, and qualifiers, in a folded text, with their
    ranges."""
    attributes = ((a.name, *place) for a in load_attributes() if a.kind == family for place in a.find_spans(text))
    return (*attributes, *_find_qualifiers(text))


@lru_cache(4_000)
def _find_qualifiers(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(
        (name, *match.span())
        for name, (_, *patterns) in _load_qualifiers().items()
        for pattern in patterns
        for match in pattern.finditer(text)
    )


@lru_cache(20_000)
def qualifiers_in(text: str) -> frozenset[str]:
    """Return the qualifiers of a folded text."""
    return frozenset(name for name, (_, zh, en) in _load_qualifiers().items() if zh.search(text) or en.search(text))


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
    is_time_or_frame = not measure.is_date and measure.kind in TIME_KINDS | FRAME_KINDS
    return (
        measure.low == measure.high
        and measure.bound in ("", "about")
        and not measure.is_small_word
        and not is_time_or_frame
    )


def _counted_noun(sentence: FigureSentence, measure: Measure) -> str:
    if measure.kind:
        return measure.unit if measure.kind == "count" else ""
    if measure.start in sentence.years:
        return ""
    before = _WORD_BEFORE.search(sentence.folded, 0, measure.start)
    if before and before[1] not in STOP_WORDS and sentence.original[before.start(1)].isupper():  # part of a name
        return ""
    match = _NEXT_WORD.match(sentence.folded, measure.end)
    return match[1] if match else ""


def is_consistent(first: Measure, second: Measure) -> bool:
    """Return whether both figures may be true of one thing."""
    if first.is_date and second.is_date:
        return not dates_conflict(first, second)
    return are_compatible(first, second)


def is_same_quantity(first: Mention, second: Mention, titles: Sequence[frozenset[str]] = ()) -> bool:
    """Return whether two mentions of one kind are of one thing.

    `titles` are the words of the titles of both texts, if both have a title.
    """
    min_overlap = (
        MIN_WORD_OVERLAP_FOR_YEARS
        if _is_bare_year(first.measure) or _is_bare_year(second.measure)
        else MIN_WORD_OVERLAP
    )
    return (
        _word_overlap(first.sentence, second.sentence) >= min_overlap
        and len(set(_qualifier_pairs(first, second))) == 1
        and not _has_other_frame(first, second)
        and not _has_other_precision(first, second)
        and _has_same_attribute(first, second)
        and _has_same_names(first.sentence, second.sentence)
        and _shares_enough(first, second, titles)
    )


def is_same_quantity_in_story(first: Mention, second: Mention, texts: tuple[str, str]) -> bool:
    """Return whether two mentions of one kind are of one thing, in two news items about one event.

    `texts` are the folded texts of the items.
    """
    return (
        not first.measure.is_date
        and not _is_cross_language(first, second)
        and not _has_exclusive_qualifiers(*_qualifier_pairs(first, second))
        and not _has_other_time(first, second)
        and _has_same_names(first.sentence, second.sentence)
        and not _has_other_subject(first, second, texts)
    )


def _is_cross_language(first: Mention, second: Mention) -> bool:
    """Return whether only one sentence is in Chinese, unless both count victims (group "harm")."""
    if first.sentence.has_chinese == second.sentence.has_chinese:
        return False
    return not any(qualifier_group(q) == "harm" for q in first.qualifiers & second.qualifiers)


def has_clashing_qualifiers(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two sets have different qualifiers of one group: adults and children."""
    groups: dict[str, tuple[set[str], set[str]]] = {}
    for side, names in enumerate((first, second)):
        for name in names:
            groups.setdefault(qualifier_group(name), (set(), set()))[side].add(name)
    return any(a and b and not a & b for a, b in groups.values())


def _qualifier_pairs(first: Mention, second: Mention) -> tuple[frozenset[str], frozenset[str]]:
    """Return the comparable qualifiers of two figures.

    "Future" counts as a plan beside a plan, and is dropped otherwise. A qualifier of one figure
    also applies to the other if it stands in an earlier clause there.
    """
    return _normalized_qualifiers(first, second), _normalized_qualifiers(second, first)


def _normalized_qualifiers(first: Mention, second: Mention) -> frozenset[str]:
    is_planned = "future" in first.qualifiers and "plan" in second.qualifiers
    qualifiers = first.qualifiers | (first.earlier_qualifiers & second.qualifiers)
    return qualifiers - {"future", "total"} | frozenset(["plan"] * is_planned)


def _has_exclusive_qualifiers(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two sets of qualifiers clash, or only one has a qualifier marked exclusive
    ("!")."""
    has_exclusive = any(_load_qualifiers()[name][0].endswith("!") for name in first ^ second)
    return has_exclusive or has_clashing_qualifiers(first, second)


def _has_other_time(first: Mention, second: Mention) -> bool:
    """Return whether two figures have different days, editions or lines, or only one has a date."""
    if any(_has_rival_figures(kind, first, second) for kind in first.frame_kinds & second.frame_kinds):
        return True
    return first.has_date_in_clause != second.has_date_in_clause


def _has_other_subject(first: Mention, second: Mention, texts: tuple[str, str]) -> bool:
    """Return whether two Chinese clauses differ only in how they begin: two companies in one
    phrase.

    Neither beginning may share a pair of characters with the other text.
    """
    if not (first.sentence.has_chinese and second.sentence.has_chinese):
        return False
    beginnings = first.clause_start_text, second.clause_start_text
    if not all(map(has_han, beginnings)):
        return False
    blocks = SequenceMatcher(None, beginnings[0], beginnings[1], autojunk=False).get_matching_blocks()
    same = [block for block in blocks if block.size > 1]
    if not same:
        return False
    heads = beginnings[0][: same[0].a].strip(), beginnings[1][: same[0].b].strip()
    max_length = max(len(text) - len(head) for text, head in zip(beginnings, heads, strict=True))
    if min(map(len, heads)) < 2 or sum(block.size for block in same) < MIN_PREDICATE_OVERLAP * max_length:
        return False
    return not any(
        head[i : i + 2] in text for head, text in zip(heads, texts[::-1], strict=True) for i in range(len(head) - 1)
    )


def _word_overlap(first: FigureSentence, second: FigureSentence) -> float:
    """Return the mean share of the words of each sentence that the other contains."""
    common = len(first.tokens & second.tokens)
    return (common / len(first.tokens) + common / len(second.tokens)) / 2 if common else 0.0


def _is_bare_year(measure: Measure) -> bool:
    return measure.is_date and measure.date_parts[1] is None


def _has_other_frame(first: Mention, second: Mention) -> bool:
    """Return whether other figures of the two sentences show that they are about two things.

    Such figures are a different time or number of an event, a different number behind a name, a
    date or such a number on one side only, and for a date any other figure.
    """
    kinds = first.other_kinds if first.measure.is_date else first.frame_kinds
    if any(_has_rival_figures(kind, first, second) for kind in kinds & second.other_kinds):
        return True
    if _lacks_number(first, second) or _lacks_number(second, first) or _has_other_part(first.sentence, second.sentence):
        return True
    frame_kinds = [{m.kind for m in mention.others} & {"date", "edition", "ordinal"} for mention in (first, second)]
    return frame_kinds[0] != frame_kinds[1] and not _shares_figure(first, second)


def _has_other_part(first: FigureSentence, second: FigureSentence) -> bool:
    """Return whether two sentences name different years or different parts of a thing.

    This includes opening phrases that share a word and each have another one.
    """
    years = {*first.years.values()}, {*second.years.values()}
    if any(a and b and not a & b for a, b in (years, (first.phases, second.phases))):
        return True
    a, b = first.opening_words, second.opening_words
    return bool(a & b and a - second.tokens and b - first.tokens)


def _has_rival_figures(kind: str, first: Mention, second: Mention) -> bool:
    """Return whether both sentences have other figures of a kind, none of which agree."""
    pairs = [
        (a, b)
        for a in _measures_of_kind(kind, first.others)
        for b in _measures_of_kind(kind, second.others)
        if (_shares_date_part(a, b) if a.is_date else kind in FRAME_KINDS | TIME_KINDS or a.unit == b.unit)
    ]
    return bool(pairs) and not any(is_consistent(a, b) for a, b in pairs)


def _shares_date_part(first: Measure, second: Measure) -> bool:
    return any(None not in pair for pair in zip(first.date_parts, second.date_parts, strict=True))


def _lacks_number(first: Mention, second: Mention) -> bool:
    """Return whether a word with a number behind it occurs in the other sentence without that
    number.

    Such numbers belong to a sequel or a model.
    """
    text = second.sentence.folded
    return any(
        not numbers & second.numbered_words.get(word, set())
        and (word in text if has_han(word) else re.search(rf"\b{re.escape(word)}\b", text))
        for word, numbers in first.numbered_words.items()
    )


def _measures_of_kind(kind: str, measures: Iterable[Measure]) -> Iterator[Measure]:
    return (m for m in measures if m.kind == kind)


def _shares_figure(first: Mention, second: Mention) -> bool:
    """Return whether the sentences share another figure."""
    return any(a.kind and measures_agree(a, b) for a in first.others for b in second.others)


def _has_other_precision(first: Mention, second: Mention) -> bool:
    """Return whether dates differ in precision, or figures differ though a sentence has both of
    them."""
    a, b = first.measure, second.measure
    known_parts = [[part is not None for part in m.date_parts] for m in (a, b)]
    if known_parts[0] != known_parts[1] and not (a.date_parts[2] and b.date_parts[2]):
        return True
    if is_consistent(a, b):
        return False
    return any(measures_agree(a, m) for m in second.others) or any(measures_agree(b, m) for m in first.others)


def _has_same_names(first: FigureSentence, second: FigureSentence) -> bool:
    """Return whether most names of the sentence with fewer names occur in the other one.

    False if two names share a word and each have another one, as Hotel Astra and Hotel Vega.
    """
    few, many = (first, second) if len(first.names) <= len(second.names) else (second, first)
    if any(
        a & b and a - second.words and b - first.words for a in first.latin_name_words for b in second.latin_name_words
    ):
        return False
    return few.names <= many.names or sum(map(many.contains_name, few.names)) > MIN_SHARED_NAMES * len(few.names)


def _has_same_attribute(first: Mention, second: Mention) -> bool:
    """Return whether the words around two figures may name the same attribute of a thing.

    If both have words that the other's sentence lacks, next to the figure or as their only words,
    these have to name the same attribute. Next to the figure, and in English, they may also name
    none if they stand further from it than a word that both share. For dates it is enough that a
    shared word names the event.
    """
    first_words, second_words = (
        _unshared_words(first.adjacent_words, second),
        _unshared_words(second.adjacent_words, first),
    )
    are_nearest = first_words[:1] == first.adjacent_words[:1] and second_words[:1] == second.adjacent_words[:1]
    shares_event = first.measure.is_date and first.named_attributes(
        [word for word in first.adjacent_words if word in second.adjacent_words]
    )
    open_to_doubt = first_words and second_words and not shares_event
    if open_to_doubt and not _names_same_attribute(
        first, second, first_words, second_words, are_nearest or first.sentence.has_chinese
    ):
        return False
    first_words, second_words = _unshared_words(first.clause_words, second), _unshared_words(second.clause_words, first)
    are_single_words = all(
        0 < sum(map(_token_weight, words)) <= MAX_ADJACENT_WEIGHT / 2 for words in (first_words, second_words)
    )
    return not are_single_words or _names_same_attribute(first, second, first_words, second_words, True)


def _unshared_words(words: Sequence[str], mention: Mention) -> tuple[str, ...]:
    """Return the words that are missing in the sentence of another mention."""
    return tuple(word for word in words if word not in mention.sentence.words)


def _names_same_attribute(
    first: Mention, second: Mention, words: Sequence[str], other_words: Sequence[str], must_name: bool
) -> bool:
    """Return whether the words of two sentences name the same attribute.

    Unless `must_name`, it is also enough that neither names one.
    """
    attributes = first.named_attributes(words), second.named_attributes(other_words)
    return bool(attributes[0] & attributes[1]) or not (attributes[0] or attributes[1] or must_name)


def _token_weight(token: str) -> int:
    return 1 if has_han(token) else 2


def _shares_enough(first: Mention, second: Mention, titles: Sequence[frozenset[str]]) -> bool:
    """Return whether the shared words, names, figures and titles suffice to identify one thing."""
    names = sum(map(second.sentence.contains_name, first.sentence.names))
    shared = (
        _total_weight(first.sentence.tokens & second.sentence.tokens) + 2 * names + 4 * _shares_figure(first, second)
    )
    if titles and not names:
        common = titles[0] & titles[1]
        min_weight = min(map(_total_weight, titles))
        if _total_weight(common) < MIN_TITLE_OVERLAP * min_weight:
            return False
        if _total_weight(common) == min_weight:
            shared += min_weight
    return shared >= MIN_SHARED_WEIGHT


def _total_weight(tokens: Iterable[str]) -> int:
    return sum(2 if has_han(token) else 3 for token in tokens)
