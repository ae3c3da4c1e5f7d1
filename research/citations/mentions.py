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
)  # of the words of two sentences, common ones; more for two bare years
MIN_SHARED_WEIGHT = 8  # what both have in common: a Han character is 2, another word 3, a figure 4, a name 2 more
MIN_SHARED_NAMES = 0.7  # more of the names of one sentence than this share stand in the other
MIN_TITLE_OVERLAP = 0.6  # of the words of one title that stand in the other, where no name is in common
MIN_PREDICATE_OVERLAP = (
    0.6  # of the words behind two subjects in Chinese that are the same, from which the subjects are two things
)
PERIODIC_QUALIFIERS = frozenset({"daily", "monthly", "yearly"})  # qualifiers of what is another figure each year
MAX_SENTENCE_CHARS = 1_000  # characters of a sentence that is read
MAX_ADJACENT_WEIGHT = 4  # Han characters next to a figure that tell what it is of, or half as many other words
FRAME_KINDS = frozenset({"date", "ordinal", "edition", "line"})  # figures that tell which of several things is meant
_FRAME_OR_TIME_KINDS = FRAME_KINDS | TIME_KINDS
RETRACTING_CUES = frozenset({"denial", "rumour", "condition", "question"})

# Where a stretch of text ends although no sentence does: the joints of search results and of tables.
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
    """A sentence that has figures, as it is written and folded, with its content tokens and their places;
    `counted` are the words within its figures: the visitors of 41,200 visitors."""

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
        """Its tokens and the words within its figures."""
        return self.tokens | {token for token, _ in self.counted_words}

    @cached_property
    def linking_words(self) -> tuple[tuple[int, int], ...]:
        """The places of words that only join a figure to what it is of, or are compared by themselves."""
        known = ((a, b) for name, a, b in _find_qualifiers(self.folded) if qualifier_group(name) == "real")
        return (*(match.span() for match in _linking_pattern().finditer(self.folded)), *known)

    @cached_property
    def informative_words(self) -> tuple[tuple[str, int], ...]:
        """The words that may tell what its figures are of: neither names nor words that only join the two."""
        names = frozenset[str]().union(*self.latin_name_words)
        return tuple(
            (token, at)
            for token, at in (*self.content, *self.counted_words)
            if token not in names and not any(start <= at < end for start, end in self.linking_words)
        )

    @cached_property
    def latin_name_words(self) -> tuple[frozenset[str], ...]:
        """The words of each name in Latin letters. The labels of a record are none."""
        labels = [match.span() for match in _LABEL.finditer(self.original)]
        labels = labels if len(labels) > 1 else []
        found = (
            frozenset(
                token for token, at in self.content if start <= at < end and not any(a <= at < b for a, b in labels)
            )
            for start, end in find_latin_names(self.original)
        )
        return tuple(filter(None, found))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of names in Latin letters, and names that the Chinese dictionary knows."""
        known = (self.folded[start:end] for start, end in find_han_names(self.folded))
        return frozenset[str]().union(*self.latin_name_words, known)

    @cached_property
    def years(self) -> dict[int, str]:
        """The years that say which of several things is meant, as "the 2021 census" does, by their places."""
        return {match.start(1): match[1] for match in _IDENTIFYING_YEAR.finditer(self.folded)}

    @cached_property
    def phases(self) -> frozenset[str]:
        """Names of successive phases of a project in a Chinese sentence, such as 二期."""
        named = (self.folded[a:b] for name, a, b in _find_qualifiers(self.folded) if name == "phase")
        return frozenset(filter(has_han, named))

    @cached_property
    def opening_words(self) -> frozenset[str]:
        """The words of the phrase, without a figure, with which it opens: In the pilot phase, 200 homes."""
        match = _OPENING_PHRASE.match(self.folded)
        end = match.end() if match else 0
        bare = not any(m.start < end for m in self.measures)
        return frozenset(token for token, at in self.content if bare and at < end)

    @cached_property
    def has_chinese(self) -> bool:
        """Whether it has a Han character."""
        return has_han(self.folded)

    def contains_name(self, name: str) -> bool:
        """Whether a name, or a longer or shorter form of it, stands in the sentence."""
        if not has_han(name):
            return name in self.tokens
        return name in self.folded or any(own in name for own in self.names if has_han(own))


@dataclass(frozen=True, eq=False)
class Mention:
    """A figure in its sentence. `counted` is what it is a number of, where its kind does not say so."""

    sentence: FigureSentence
    measure: Measure
    counted_noun: str

    @property
    def text(self) -> str:
        """The figure as it is written."""
        return self.sentence.original[self.measure.start : self.measure.end].strip()

    @property
    def comparison_key(self) -> tuple[str, str]:
        """What only figures that may be of one thing have in common."""
        return self.measure.kind, self.counted_noun

    @cached_property
    def others(self) -> tuple[Measure, ...]:
        """The other figures of the sentence."""
        return tuple(other for other in self.sentence.measures if other is not self.measure)

    @cached_property
    def other_kinds(self) -> frozenset[str]:
        """Their kinds."""
        return frozenset(other.kind for other in self.others)

    @cached_property
    def frame_kinds(self) -> frozenset[str]:
        """Those of them that tell when, or which of several things is meant."""
        return self.other_kinds & _FRAME_OR_TIME_KINDS

    @cached_property
    def has_date_in_clause(self) -> bool:
        """Whether a date stands in its clause."""
        start, end = self.clause
        return any(m.is_date and start <= m.start < end for m in self.others)

    @cached_property
    def clause_start_text(self) -> str:
        """What stands before it in its clause."""
        return self.sentence.folded[self.clause[0] : self.measure.start]

    @cached_property
    def numbered_words(self) -> dict[str, set[float]]:
        """The words, or Han characters, of the sentence with the bare numbers that stand right behind."""
        found: dict[str, set[float]] = {}
        for m in self.others:
            match = _WORD_BEFORE.search(self.sentence.folded, 0, m.start) if not m.kind else None
            if match and match[1] not in STOP_WORDS:
                found.setdefault(match[1], set()).add(m.low)
        return found

    def sentence_begins_with(self, name: str) -> bool:
        """Return whether the sentence begins with a name, before any figure other than a date."""
        line = self.sentence
        first = min((at for _, at in line.content), default=len(line.folded))
        ahead = any(m.start < first for m in line.measures if not m.is_date)
        return not ahead and line.folded.startswith(name, first)

    def nearest_words(self, limit: int) -> list[str]:
        """The content tokens next to the figure, no more than `most`."""
        content = sorted(self.sentence.content, key=lambda one: abs(one[1] - self.measure.start))
        return [token for token, _ in content[:limit]]

    @cached_property
    def adjacent_words(self) -> tuple[str, ...]:
        """The words next to the figure that may tell what it is of, the nearest first."""
        kept, mass = [], 0
        for token in self.clause_words:
            mass += _token_weight(token)
            if mass > MAX_ADJACENT_WEIGHT:
                break
            kept.append(token)
        return tuple(kept)

    @cached_property
    def clause_words(self) -> tuple[str, ...]:
        """All words that may tell what it is of, the nearest first; of its clause if that has any, without what
        "and" adds."""
        m = self.measure
        telling = [
            (m.start - at if at < m.start else at - m.end, token, at)
            for token, at in self.sentence.informative_words
            if not m.start <= at < m.end
        ]
        start, end = self.clause
        past = max((o.end for o in self.others if o.end <= m.start), default=m.start)
        start = max((link.end() for link in _CONJUNCTION.finditer(self.sentence.folded, past, m.start)), default=start)
        link = _CONJUNCTION.search(self.sentence.folded, m.end, end)
        end = link.start() if link else end
        own = [word for word in telling if start <= word[2] < end] or telling
        return tuple(token for _, token, _ in sorted(own))

    def named_attributes(self, words: Sequence[str]) -> frozenset[str]:
        """Return what the given words of the sentence say about the figure: attributes of its kind,
        and qualifiers."""
        places = [at for token, at in (*self.sentence.content, *self.sentence.counted_words) if token in words]
        return frozenset(
            name
            for name, start, end in _find_attributes(self.sentence.folded, self.measure.family)
            if any(start <= at < end for at in places)
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
        """The qualifiers of the clauses before its own, up to one that has a figure with a unit."""
        told = max(
            (
                o.end
                for o in self.others
                if o.kind and o.kind not in _FRAME_OR_TIME_KINDS and not o.is_date and o.end <= self.clause[0]
            ),
            default=0,
        )
        return qualifiers_in(self.sentence.folded[told : self.clause[0]])

    @cached_property
    def clause(self) -> tuple[int, int]:
        """The places between which no comma stands and the figure does."""
        text, m = self.sentence.folded, self.measure
        start = max((comma.end() for comma in CLAUSE_END_PATTERN.finditer(text, 0, m.start)), default=0)
        comma = CLAUSE_END_PATTERN.search(text, m.end)
        return start, comma.start() if comma else len(text)


@cache
def _load_qualifiers() -> dict[str, tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Qualifiers with their groups, in Chinese and in English."""
    return {
        name: (group, re.compile(chinese), re.compile(rf"\b(?:{english})\b"))
        for name, group, chinese, english in data.rows("qualifiers.tsv")
    }


def qualifier_group(qualifier: str) -> str:
    """The group of a qualifier."""
    return _load_qualifiers()[qualifier][0].rstrip("!")


@cache
def _linking_pattern() -> re.Pattern[str]:
    words = data.words("figures")
    return re.compile(rf"{words['joins zh']}|\b(?:{words['joins en']})\b")


@lru_cache(4_000)
def _find_attributes(text: str, family: str) -> tuple[tuple[str, int, int], ...]:
    """The attributes of a family of figures, and the qualifiers, that a folded text names, and where."""
    named = ((a.name, *place) for a in load_attributes() if a.kind == family for place in a.find_spans(text))
    return (*named, *_find_qualifiers(text))


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
    """The qualifiers of a folded text."""
    return frozenset(name for name, (_, zh, en) in _load_qualifiers().items() if zh.search(text) or en.search(text))


@lru_cache(4_000)
def find_mentions(text: str) -> tuple[Mention, ...]:
    """The figures and dates of a passage that can be held against others: exact ones that say what they
    count, not by the way, in sentences that are not taken back."""
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
    telling = [
        (token, at - sentence.start)
        for token, at in zip(text.tokens, text.token_starts, strict=True)
        if sentence.start <= at < sentence.end and token not in STOP_WORDS
    ]
    measures = sentence.measures
    content = tuple(w for w in telling if not any(m.start <= w[1] < m.end for m in measures))
    counted = tuple(
        (token, at)
        for token, at in telling
        if not token[0].isdigit() and any(not m.is_date and m.start <= at < m.end for m in measures)
    )
    shown = text.text[sentence.start : sentence.end]
    return FigureSentence(shown, sentence.folded, content, counted, sentence.measures)


def _is_exact(measure: Measure) -> bool:
    timed = not measure.is_date and measure.kind in TIME_KINDS | FRAME_KINDS
    return measure.low == measure.high and measure.bound in ("", "about") and not measure.is_small_word and not timed


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
    """Whether both may be true of one thing."""
    if first.is_date and second.is_date:
        return not dates_conflict(first, second)
    return are_compatible(first, second)


def is_same_quantity(first: Mention, second: Mention, titles: Sequence[frozenset[str]] = ()) -> bool:
    """Whether two mentions of one kind are of one thing; `titles` are the words of the titles that
    they stand under, if both have one."""
    least = (
        MIN_WORD_OVERLAP_FOR_YEARS
        if _is_bare_year(first.measure) or _is_bare_year(second.measure)
        else MIN_WORD_OVERLAP
    )
    return (
        _word_overlap(first.sentence, second.sentence) >= least
        and len(set(_qualifier_pairs(first, second))) == 1
        and not _has_other_frame(first, second)
        and not _has_other_precision(first, second)
        and _has_same_attribute(first, second)
        and _has_same_names(first.sentence, second.sentence)
        and _shares_enough(first, second, titles)
    )


def is_same_quantity_in_story(first: Mention, second: Mention, texts: tuple[str, str]) -> bool:
    """Whether two mentions of one kind are of one thing, where two pieces tell of one event; `texts` are
    the folded texts of the pieces."""
    return (
        not first.measure.is_date
        and not _is_cross_language(first, second)
        and not _has_exclusive_qualifiers(*_qualifier_pairs(first, second))
        and not _has_other_time(first, second)
        and _has_same_names(first.sentence, second.sentence)
        and not _has_other_subject(first, second, texts)
    )


def _is_cross_language(first: Mention, second: Mention) -> bool:
    """Whether one sentence is in Chinese and one is not, and they do not both tell of the dead or of the hurt."""
    if first.sentence.has_chinese == second.sentence.has_chinese:
        return False
    return not any(qualifier_group(q) == "harm" for q in first.qualifiers & second.qualifiers)


def has_clashing_qualifiers(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether two sets of qualifiers have two different ones of a group: adults and children."""
    groups: dict[str, tuple[set[str], set[str]]] = {}
    for side, names in enumerate((first, second)):
        for name in names:
            groups.setdefault(qualifier_group(name), (set(), set()))[side].add(name)
    return any(a and b and not a & b for a, b in groups.values())


def _qualifier_pairs(first: Mention, second: Mention) -> tuple[frozenset[str], frozenset[str]]:
    """The qualifiers of two figures: what lies in the future counts as a plan beside a plan, and as nothing else; what
    narrows one narrows the other as well that has it in the clause before."""
    return _normalized_qualifiers(first, second), _normalized_qualifiers(second, first)


def _normalized_qualifiers(first: Mention, second: Mention) -> frozenset[str]:
    planned = "future" in first.qualifiers and "plan" in second.qualifiers
    own = first.qualifiers | (first.earlier_qualifiers & second.qualifiers)
    return own - {"future", "total"} | frozenset(["plan"] * planned)


def _has_exclusive_qualifiers(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether two sets of qualifiers clash, or have one that sets apart alone."""
    alone = any(_load_qualifiers()[name][0].endswith("!") for name in first ^ second)
    return alone or has_clashing_qualifiers(first, second)


def _has_other_time(first: Mention, second: Mention) -> bool:
    """Whether other days, editions or lines stand with two figures, or a date in the clause of one alone."""
    if any(_has_rival_figures(kind, first, second) for kind in first.frame_kinds & second.frame_kinds):
        return True
    return first.has_date_in_clause != second.has_date_in_clause


def _has_other_subject(first: Mention, second: Mention, texts: tuple[str, str]) -> bool:
    """Whether two clauses in Chinese are the same but for how they begin, and neither beginning has a pair
    of characters in the other's text: two companies in one form of words."""
    if not (first.sentence.has_chinese and second.sentence.has_chinese):
        return False
    said = first.clause_start_text, second.clause_start_text
    if not all(map(has_han, said)):
        return False
    blocks = SequenceMatcher(None, said[0], said[1], autojunk=False).get_matching_blocks()
    same = [block for block in blocks if block.size > 1]
    if not same:
        return False
    heads = said[0][: same[0].a].strip(), said[1][: same[0].b].strip()
    least = max(len(text) - len(head) for text, head in zip(said, heads, strict=True))
    if min(map(len, heads)) < 2 or sum(block.size for block in same) < MIN_PREDICATE_OVERLAP * least:
        return False
    return not any(
        head[i : i + 2] in text for head, text in zip(heads, texts[::-1], strict=True) for i in range(len(head) - 1)
    )


def _word_overlap(first: FigureSentence, second: FigureSentence) -> float:
    """The share of the words of either sentence that the other has: the mean of both."""
    common = len(first.tokens & second.tokens)
    return (common / len(first.tokens) + common / len(second.tokens)) / 2 if common else 0.0


def _is_bare_year(measure: Measure) -> bool:
    return measure.is_date and measure.date_parts[1] is None


def _has_other_frame(first: Mention, second: Mention) -> bool:
    """Whether other figures of the two sentences say that they are of two things: another time or
    number of an event, another number behind a name, a date or such a number on one side only, and
    for a date any other figure."""
    kinds = first.other_kinds if first.measure.is_date else first.frame_kinds
    if any(_has_rival_figures(kind, first, second) for kind in kinds & second.other_kinds):
        return True
    if _lacks_number(first, second) or _lacks_number(second, first) or _has_other_part(first.sentence, second.sentence):
        return True
    told = [{m.kind for m in mention.others} & {"date", "edition", "ordinal"} for mention in (first, second)]
    return told[0] != told[1] and not _shares_figure(first, second)


def _has_other_part(first: FigureSentence, second: FigureSentence) -> bool:
    """Return whether two sentences name different years of a thing or different parts of it, or
    open with phrases that share a word and each have another one."""
    years = {*first.years.values()}, {*second.years.values()}
    if any(a and b and not a & b for a, b in (years, (first.phases, second.phases))):
        return True
    a, b = first.opening_words, second.opening_words
    return bool(a & b and a - second.tokens and b - first.tokens)


def _has_rival_figures(kind: str, first: Mention, second: Mention) -> bool:
    """Whether both sentences have other figures of a kind, of which none agree."""
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
    """Whether a word with a number behind it, as a sequel or a model has, stands in the other sentence
    without that number."""
    text = second.sentence.folded
    return any(
        not numbers & second.numbered_words.get(word, set())
        and (word in text if has_han(word) else re.search(rf"\b{re.escape(word)}\b", text))
        for word, numbers in first.numbered_words.items()
    )


def _measures_of_kind(kind: str, measures: Iterable[Measure]) -> Iterator[Measure]:
    return (m for m in measures if m.kind == kind)


def _shares_figure(first: Mention, second: Mention) -> bool:
    """Whether the sentences have another figure in common."""
    return any(a.kind and measures_agree(a, b) for a in first.others for b in second.others)


def _has_other_precision(first: Mention, second: Mention) -> bool:
    """Whether one is a day and the other a month or a year, or they differ but either sentence has the
    other's figure as well."""
    a, b = first.measure, second.measure
    given = [[part is not None for part in m.date_parts] for m in (a, b)]
    if given[0] != given[1] and not (a.date_parts[2] and b.date_parts[2]):
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
    mine, its = _unshared_words(first.adjacent_words, second), _unshared_words(second.adjacent_words, first)
    nearest = mine[:1] == first.adjacent_words[:1] and its[:1] == second.adjacent_words[:1]
    event = first.measure.is_date and first.named_attributes(
        [word for word in first.adjacent_words if word in second.adjacent_words]
    )
    open_to_doubt = mine and its and not event
    if open_to_doubt and not _names_same_attribute(first, second, mine, its, nearest or first.sentence.has_chinese):
        return False
    mine, its = _unshared_words(first.clause_words, second), _unshared_words(second.clause_words, first)
    single = all(0 < sum(map(_token_weight, words)) <= MAX_ADJACENT_WEIGHT / 2 for words in (mine, its))
    return not single or _names_same_attribute(first, second, mine, its, True)


def _unshared_words(words: Sequence[str], mention: Mention) -> tuple[str, ...]:
    """The words that the sentence of another figure has not."""
    return tuple(word for word in words if word not in mention.sentence.words)


def _names_same_attribute(
    first: Mention, second: Mention, words: Sequence[str], other_words: Sequence[str], must_name: bool
) -> bool:
    """Return whether the words of two sentences name the same attribute, or, unless `apart`, both
    name none."""
    named = first.named_attributes(words), second.named_attributes(other_words)
    return bool(named[0] & named[1]) or not (named[0] or named[1] or must_name)


def _token_weight(token: str) -> int:
    return 1 if has_han(token) else 2


def _shares_enough(first: Mention, second: Mention, titles: Sequence[frozenset[str]]) -> bool:
    """Whether what two sentences have in common, with their titles, names a thing."""
    names = sum(map(second.sentence.contains_name, first.sentence.names))
    shared = (
        _total_weight(first.sentence.tokens & second.sentence.tokens) + 2 * names + 4 * _shares_figure(first, second)
    )
    if titles and not names:
        common = titles[0] & titles[1]
        least = min(map(_total_weight, titles))
        if _total_weight(common) < MIN_TITLE_OVERLAP * least:
            return False
        if _total_weight(common) == least:
            shared += least
    return shared >= MIN_SHARED_WEIGHT


def _total_weight(tokens: Iterable[str]) -> int:
    return sum(2 if has_han(token) else 3 for token in tokens)
