"""Selection of the sentences that answer a part of a question. They are quoted verbatim.

Each sentence of the findings gets a probability that it answers the part: a logistic regression on
few topic-independent features (`compute_features`), with the weights of `data/quotes.json`, fitted
by `tests/yardsticks/fit_quotes.py`. If the subject is a name, a sentence counts only if the name is
in it, in the titles above it, or in the text around it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from research import data
from research.agent.extractive.concepts import find_concepts, remove_concepts
from research.citations.tokenization import tokenize_text
from research.core.records import Evidence, Finding, Passage, PassageReference, Record
from research.core.text.hanzi import to_simplified
from research.core.text.sentences import join_lines, split_sentences
from research.core.text.tokenizer import STOP_WORDS, has_han, tokenize

MAX_QUOTES = 3
MAX_LISTED_QUOTES = 8  # for a question that asks for several things
LIST_RANK_FACTOR = 0.4  # reduces the weight of a rank, as list items are in many documents
LIST_MIN_SHARE = 0.3  # share of the best probability that each item needs
MAX_SENTENCE_CHARS = 400  # longer sentences are not quoted
HAN_CHARACTER_WEIGHT = 0.7  # of a single Han character; a pair weighs 1
NAME_WEIGHT = 2.0  # a word weighs 1
MAX_LIST_ITEMS = 12  # of a list that follows a quoted sentence
MAX_RANK = 10  # later passages of a search count as this rank
DUPLICATE_OVERLAP = 0.7  # share of the shorter sentence's words in a duplicate
_cached_tokens = lru_cache(20_000)(lambda text: tuple(tokenize(text)))


class QuoteModel(Record):
    """The fitted logistic regression of quote selection (`data/quotes.json`).

    `weights` hold the weight of each feature in the log odds. A sentence is quoted if its
    probability is at least `quoted`, and at least the share `beside` of the best sentence's.
    """

    about: str
    weights: Mapping[str, float]
    bias: float
    quoted: float
    beside: float


@cache
def load_quote_model() -> QuoteModel:
    """Load the fitted model."""
    return QuoteModel.model_validate_json(data.text("quotes.json"))


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage on one line, with the probability that it answers the part.

    `start` and `end` are offsets into the text of the passage.
    """

    evidence_id: str
    passage_id: str
    text: str
    start: int
    end: int
    probability: float
    is_generated: bool = False  # by rules from the source's data

    @property
    def cite(self) -> PassageReference:
        """The citation of the sentence."""
        return PassageReference(evidence=self.evidence_id, passage=self.passage_id, start=self.start, end=self.end)


class Term(NamedTuple):
    """A word, a character or a name that a part asks for.

    Each of its `forms` is a set of units that must all occur (`text_units`). `weight` is relative
    to other terms; `can_be_han` and `can_be_latin` state whether it can occur in Chinese and in
    other texts.
    """

    forms: frozenset[frozenset[str]]
    weight: float
    can_be_han: bool
    can_be_latin: bool
    kind: Literal["word", "character", "name"] = "word"

    def is_in(self, candidate: QuoteCandidate) -> bool:
        """Return whether a sentence contains the term; a name may also be in the titles."""
        present = candidate.units_with_titles if self.kind == "name" else candidate.units
        return any(form <= present for form in self.forms)


class QuoteCandidate(NamedTuple):
    """A sentence that may be quoted, and the basis of its probability."""

    evidence: Evidence
    passage: Passage
    text: str
    start: int
    end: int
    rank: int  # of the passage in its search, from 0
    units: frozenset[str]  # of the sentence
    units_with_titles: frozenset[str]  # of the sentence and its titles


@lru_cache(50_000)
def text_units(text: str) -> frozenset[str]:
    """Return the units of a text: word stems, numbers, Han characters and pairs of adjacent ones."""
    tokenized = tokenize_text(text)
    units = set(tokenized.tokens)
    for (a, at), (b, then) in zip(
        zip(tokenized.tokens, tokenized.token_starts, strict=True),
        zip(tokenized.tokens[1:], tokenized.token_starts[1:], strict=True),
        strict=False,
    ):
        if then == at + 1 and has_han(a) and has_han(b):
            units.add(a + b)
    return frozenset(units)


@cache
def _answer_patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...]:
    """Compile the pairs of `data/answers.tsv`: a pattern of questions, and of their answers."""
    return tuple((re.compile(ask), re.compile(has) if has else None) for ask, has in data.rows("answers.tsv"))


def answer_pattern(question: str) -> re.Pattern[str] | None:
    """Return the pattern that the answers to a question match; None for a question of no known form."""
    folded = to_simplified(question).lower()
    return next((has for ask, has in _answer_patterns() if ask.search(folded)), None)


# Designations such as 4A, G7 and C919: digits with a capital letter.
_DESIGNATION = re.compile(r"(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Z])[0-9A-Za-z]+")
_LIST_REQUEST = re.compile(
    r"哪些|哪几|都有[谁啥什]|有什么|列出|列举|\b(?:list|name) (?:the|all|every)\b|\bwhat are\b"
    r"|\bwhich (?:of (?:the|these) )?(?:[a-z]+ ){0,2}?[a-z]+s\b"
)


def is_list_request(text: str) -> bool:
    """Return whether a question asks for several things (哪些, which sights)."""
    return _LIST_REQUEST.search(to_simplified(text).lower()) is not None


def has_question_word(text: str) -> bool:
    """Return whether a text has a question word."""
    text = to_simplified(text).lower()
    return any(ask.search(text) for ask, _ in _answer_patterns())


def extract_terms(part: str, names: Sequence[str] = ()) -> tuple[Term, ...]:
    """Return the terms of a part: its units without question words, its concepts, and its subject.

    The subject is the thing with the given names.
    """
    text = to_simplified(part).lower()
    for name in filter(None, (to_simplified(name).lower() for name in names)):
        text = text.replace(name, " ")
    han = has_han(text)
    concepts = [match for match in find_concepts(text) if not match.is_question_word]
    text = remove_concepts(text, concepts)  # each concept is a term in place of its words
    for ask, _ in _answer_patterns():
        text = ask.sub(" ", text)
    content = tokenize_text(text).content_tokens if not han else ()
    units = [
        unit
        for unit in sorted(text_units(text))
        if (han and not any(word in STOP_WORDS for word in (unit, *unit)))
        or unit in content
        or (unit.isdigit() and len(unit) > 1)
    ]
    terms = [
        Term(
            frozenset({frozenset({unit})}),
            HAN_CHARACTER_WEIGHT if has_han(unit) and len(unit) == 1 else 1.0,
            has_han(unit) or han or unit.isdigit(),
            not has_han(unit),
            "character" if has_han(unit) and len(unit) == 1 else "word",
        )
        for unit in units
    ]
    if name_forms := frozenset(filter(None, (_word_units(name) for name in names))):
        terms.append(Term(name_forms, NAME_WEIGHT, True, True, "name"))
    for concept in dict.fromkeys(match.concept for match in concepts):
        forms = frozenset(_word_units(word) for word in (*concept.zh, *concept.en))
        terms.append(Term(forms, 1.0, True, True))
    return tuple(terms)


@lru_cache(10_000)
def _word_units(word: str) -> frozenset[str]:
    """Return the units that stand for a word: of a Chinese word, its pairs of characters."""
    units = text_units(word)
    pairs = frozenset(unit for unit in units if len(unit) > 1 or not has_han(unit))
    return pairs or units


def find_candidates(findings: Iterable[Finding]) -> list[QuoteCandidate]:
    """Return every sentence that may be quoted, once."""
    candidates: dict[str, QuoteCandidate] = {}
    for rank, evidence, passage in _unique_passages(findings):
        spans = split_sentences(passage.text)
        lines = [join_lines(passage.text[start:end]) for start, end in spans]
        titles = text_units(f"{evidence.title}\n{passage.title}\n{passage.heading}")
        for (start, end), line in zip(spans, lines, strict=True):
            if line not in candidates and _is_quotable(line):
                units = text_units(line)
                candidates[line] = QuoteCandidate(evidence, passage, line, start, end, rank, units, units | titles)
    return list(candidates.values())


def _unique_passages(findings: Iterable[Finding]) -> Iterator[tuple[int, Evidence, Passage]]:
    """Yield each passage once, after its best rank in a search (from 0)."""
    best_ranks: dict[tuple[str, str], int] = {}
    passages: dict[tuple[str, str], tuple[Evidence, Passage]] = {}
    for finding in findings:
        ranked = [(e, p) for e in finding.evidence for p in e.passages]
        for rank, (evidence, passage) in enumerate(ranked):
            key = evidence.id, passage.id
            passages.setdefault(key, (evidence, passage))
            best_ranks[key] = min(rank, best_ranks.get(key, rank))
    for key, (evidence, passage) in passages.items():
        yield best_ranks[key], evidence, passage


def _is_quotable(sentence: str) -> bool:
    min_length = 6 if has_han(sentence) else 20
    return min_length <= len(sentence) <= MAX_SENTENCE_CHARS and re.search(r"\w", sentence) is not None


def compute_features(
    terms: Sequence[Term], pattern: re.Pattern[str] | None, candidates: Sequence[QuoteCandidate]
) -> list[dict[str, float]]:
    """Return the features of each candidate.

    - `said`: the share of the terms found in any candidate that the sentence has; a term weighs the
      more, the fewer candidates have it;
    - `looks`: 1 if it has the form of an answer to the question, -1 if not, 0 if there is no form;
    - `rank`: 0 for the first passage of a search, 1 for the eleventh and all later ones.

    Chinese and other sentences are weighed separately, each by the terms that can occur there.
    """
    terms_by_script = {
        han: _weigh_terms(terms, candidates, han) for han in {has_han(candidate.text) for candidate in candidates}
    }
    features = []
    for candidate in candidates:
        features.append(
            {
                "said": _covered_share(terms_by_script[has_han(candidate.text)], candidate),
                "looks": 0.0 if pattern is None else 1.0 if pattern.search(_fold(candidate.text)) else -1.0,
                "rank": min(candidate.rank, MAX_RANK) / MAX_RANK,
            }
        )
    return features


def _weigh_terms(terms: Sequence[Term], candidates: Sequence[QuoteCandidate], is_han: bool) -> list[tuple[Term, float]]:
    """Return the terms that occur in the sentences of a script, with their weights."""
    sentences = [candidate for candidate in candidates if has_han(candidate.text) is is_han]
    possible = [term for term in terms if (term.can_be_han if is_han else term.can_be_latin)]
    counts = [sum(term.is_in(candidate) for candidate in sentences) for term in possible]
    return [
        (term, term.weight * math.log((len(sentences) + 1) / (n + 0.5)))
        for term, n in zip(possible, counts, strict=True)
        if n
    ]


def _covered_share(weighted_terms: Sequence[tuple[Term, float]], candidate: QuoteCandidate) -> float:
    """Return the weighted share (0 to 1) of the terms that a sentence has."""
    total = sum(weight for _, weight in weighted_terms)
    return sum(w for term, w in weighted_terms if term.is_in(candidate)) / total if total else 0.0


@lru_cache(20_000)
def _fold(text: str) -> str:
    return to_simplified(text).lower()


def candidates_with_features(
    part: str, names: Sequence[str], must_name_subject: bool, findings: Iterable[Finding]
) -> list[tuple[QuoteCandidate, dict[str, float]]]:
    """Return the sentences that may answer a part, with their features.

    The additional feature `lost` is the share of the terms that no sentence has. If the subject is
    a name, all sentences are about it, and `lost` is 0.
    """
    subject_filter = _SubjectFilter(names) if must_name_subject else None
    matches = [
        candidate
        for candidate in find_candidates(findings)
        if subject_filter is None or subject_filter.is_about(candidate)
    ]
    terms, pattern = extract_terms(part, names if must_name_subject else ()), answer_pattern(part)
    words = [term for term in terms if term.kind == "word"]
    name_terms = [term for term in terms if term.kind == "name"]
    if words:  # neither a name nor a character of a word is an answer
        matches = [
            candidate
            for candidate in matches
            if any(term.is_in(candidate) for term in words)
            or (
                pattern is not None
                and pattern.search(_fold(candidate.text))
                and any(form <= candidate.units for term in name_terms for form in term.forms)
            )
        ]
    uncovered = 0.0 if must_name_subject else _uncovered_share(terms, matches)
    return [
        (candidate, values | {"lost": uncovered})
        for candidate, values in zip(matches, compute_features(terms, pattern, matches), strict=True)
    ]


def _uncovered_share(terms: Sequence[Term], candidates: Sequence[QuoteCandidate]) -> float:
    """Return the weighted share of the terms that no candidate has."""
    total = sum(term.weight for term in terms)
    uncovered = sum(t.weight for t in terms if not any(t.is_in(candidate) for candidate in candidates))
    return uncovered / total if total else 0.0


def select_quotes(
    part: str, names: Sequence[str], must_name_subject: bool, findings: Sequence[Finding]
) -> tuple[Quote, ...]:
    """Return the best sentences for a part, the best first.

    There are at most `MAX_QUOTES`, or `MAX_LISTED_QUOTES` if the part asks for several things; none
    if no sentence answers it. Each searched source gets a quote, even one that repeats another
    source. A sentence that leads to a list (… in these steps:) is followed by its items.

    Args:
        names: names of the subject of the part.
        must_name_subject: whether a sentence, or the text around it, must contain one of the names.
    """
    model = load_quote_model()
    max_quotes, min_share, rank_factor = MAX_QUOTES, model.beside, 1.0
    if is_list_request(part):
        max_quotes, min_share, rank_factor = MAX_LISTED_QUOTES, LIST_MIN_SHARE, LIST_RANK_FACTOR
    source_by_id = {e.id: f.task.source for f in reversed(findings) for e in f.evidence}
    scored: list[_ScoredQuote] = []
    for candidate, values in candidates_with_features(part, names, must_name_subject, findings):
        values = values | {"rank": values["rank"] * rank_factor}
        odds = model.bias + sum(weight * values[n] for n, weight in model.weights.items())
        probability = 1 / (1 + math.exp(-odds))
        if probability >= model.quoted and values["said"]:
            quote = Quote(
                candidate.evidence.id,
                candidate.passage.id,
                candidate.text,
                candidate.start,
                candidate.end,
                probability,
                candidate.passage.generated,
            )
            scored.append(
                _ScoredQuote(
                    quote, frozenset(_cached_tokens(candidate.text)), source_by_id.get(candidate.evidence.id, "")
                )
            )
    scored.sort(key=_sort_key)
    passages = {(e.id, p.id): p for f in findings for e in f.evidence for p in e.passages}
    quotes: dict[tuple[str, str, int], Quote] = {}
    for best in _select_diverse(scored, min_share, max_quotes):
        for quoted in (best, *_list_items(best, passages[best.evidence_id, best.passage_id].text)):
            quotes.setdefault((quoted.evidence_id, quoted.passage_id, quoted.start), quoted)
    return tuple(quotes.values())


def is_answered(part: str, names: Sequence[str], must_name_subject: bool, quotes: Sequence[Quote]) -> bool:
    """Return whether quotes contain one of a part's words and each of its designations, such as 4A.

    The subject does not count. Words that cannot occur in the quotes' scripts are not required.
    """
    text = " ".join(_fold(quote.text) for quote in quotes)
    for designation in _DESIGNATION.findall(part):
        if not re.search(rf"(?<![0-9a-z]){designation.lower()}(?![0-9a-z])", text):
            return False
    words = [term for term in extract_terms(part, names if must_name_subject else ()) if term.kind == "word"]
    quote_units = [(has_han(quote.text), text_units(quote.text)) for quote in quotes]
    possible = [term for term in words if any(term.can_be_han if han else term.can_be_latin for han, _ in quote_units)]
    return not possible or any(form <= has for term in possible for form in term.forms for _, has in quote_units)


def _list_items(lead: Quote, text: str) -> Iterator[Quote]:
    """Yield the lines that follow a sentence ending in a colon, up to an empty line."""
    if not lead.text.endswith((":", "：")):
        return
    at = lead.end
    for line in islice(re.finditer(r"[ \t]*\n[ \t]*(?=\S)([^\n]*\S)", text[at:]), MAX_LIST_ITEMS):
        if line.start() != at - lead.end:
            return
        start, at = lead.end + line.start(1), lead.end + line.end(1)
        item = join_lines(text[start:at])
        yield Quote(lead.evidence_id, lead.passage_id, item, start, at, lead.probability)


class _SubjectFilter:
    """A filter for sentences about a thing with the given names.

    One of the names must occur in the sentence's titles, its passage or its document's opening.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._forms = [frozenset(_cached_tokens(name)) for name in names if _cached_tokens(name)]
        self._cache: dict[tuple[str, str], bool] = {}

    def is_about(self, candidate: QuoteCandidate) -> bool:
        key = candidate.evidence.id, candidate.passage.id
        if key not in self._cache:
            evidence, passage = candidate.evidence, candidate.passage
            titles = f"{evidence.title} {passage.title} {passage.heading}"
            present = frozenset(_cached_tokens(f"{titles} {passage.text} {evidence.opening}"))
            self._cache[key] = not self._forms or any(form <= present for form in self._forms)
        return self._cache[key]


class _ScoredQuote(NamedTuple):
    """A quote, its words, and the source that found it."""

    quote: Quote
    words: frozenset[str]
    source: str


def _sort_key(scored: _ScoredQuote) -> float:
    return -scored.quote.probability


def _select_diverse(ranked: Sequence[_ScoredQuote], min_share: float, max_quotes: int) -> list[Quote]:
    """Return the best quotes, the best first: the top one of each source, as far as the limit
    allows.

    Then come quotes near the best, unless they repeat another quote of their source.
    """
    if not ranked:
        return []
    best_by_source = {scored.source: scored for scored in reversed(ranked)}
    picked = sorted(best_by_source.values(), key=_sort_key)[:max_quotes]
    for scored in ranked:
        if len(picked) == max_quotes or scored.quote.probability < min_share * ranked[0].quote.probability:
            break
        same_source = [other.words for other in picked if other.source == scored.source]
        if all(_word_overlap(scored.words, words) < DUPLICATE_OVERLAP for words in same_source):
            picked.append(scored)
    return [scored.quote for scored in sorted(picked, key=_sort_key)]


def _word_overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, min(len(a), len(b)))
