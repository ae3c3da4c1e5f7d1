"""Finds the sentences that speak to a part of a question. They are quoted as they stand.

Each sentence of what was found has a probability that it answers the part: a logistic regression over
few numbers, none of which knows a topic (`features`), with weights of `data/quotes.json` that
`tests/yardsticks/fit_quotes.py` has fitted. Where the subject is a name, a sentence counts only if the
name is in it, in the titles above it, or in the text around it.
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
from research.agent.extractive.concepts import find_concepts
from research.citations.tokenization import tokenize_text
from research.core.records import Evidence, Finding, Passage, Record
from research.core.text.hanzi import to_simplified
from research.core.text.sentences import join_lines, split_sentences
from research.core.text.tokenizer import STOP_WORDS, has_han, tokenize

MAX_QUOTES = 3
MAX_LISTED_QUOTES = 8  # where a question asks for several things
LIST_RANK_FACTOR = 0.4  # of the weight of a passage's rank that then counts: they stand in many documents
LIST_MIN_SHARE = 0.3  # the share of the best chance that each further one then has
MAX_SENTENCE_CHARS = 400  # characters
HAN_CHARACTER_WEIGHT = 0.7  # what one Han character weighs beside a pair of them
NAME_WEIGHT = 2.0  # what the name weighs beside a word
MAX_LIST_ITEMS = 12  # of a list that a quoted sentence leads to
MAX_RANK = 10  # passages of a search, behind which it makes no difference
DUPLICATE_OVERLAP = 0.7  # of the shorter sentence's words that another has: then the two say the same
_cached_tokens = lru_cache(20_000)(lambda text: tuple(tokenize(text)))


class QuoteWeights(Record):
    """What a feature adds to the log odds, the probability from which a sentence is quoted, and the
    share of the best one's that it must have."""

    about: str
    weights: Mapping[str, float]
    bias: float
    quoted: float
    beside: float


@cache
def load_weights() -> QuoteWeights:
    return QuoteWeights.model_validate_json(data.text("quotes.json"))


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage, in one line: `start` and `end` are offsets into the passage's text."""

    evidence_id: str
    passage_id: str
    text: str
    start: int
    end: int
    score: float
    is_generated: bool = False  # by rules, of the source's data


class Term(NamedTuple):
    """A thing that a part asks for: its forms, each a set of units, what it weighs beside others, and
    whether it can stand in Chinese and in other texts."""

    forms: frozenset[frozenset[str]]
    weight: float
    can_be_han: bool
    can_be_latin: bool
    kind: Literal["word", "character", "name"] = "word"

    def is_in(self, candidate: Candidate) -> bool:
        """Whether a sentence has it; of a name, it may be in the titles, too."""
        present = candidate.units_with_titles if self.kind == "name" else candidate.units
        return any(form <= present for form in self.forms)


class Candidate(NamedTuple):
    """A sentence that may be quoted, and what its score is made of."""

    evidence: Evidence
    passage: Passage
    text: str
    start: int
    end: int
    rank: int  # of its passage in the search that found it
    units: frozenset[str]  # its units
    units_with_titles: frozenset[str]  # those of its titles too


@lru_cache(50_000)
def text_units(text: str) -> frozenset[str]:
    """Words by their stems, numbers, Han characters and pairs of neighbouring Han characters."""
    found = tokenize_text(text)
    out = set(found.tokens)
    for (a, at), (b, then) in zip(
        zip(found.tokens, found.token_starts, strict=True),
        zip(found.tokens[1:], found.token_starts[1:], strict=True),
        strict=False,
    ):
        if then == at + 1 and has_han(a) and has_han(b):
            out.add(a + b)
    return frozenset(out)


@cache
def _answer_patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple((re.compile(ask), re.compile(has) if has else None) for ask, has in data.rows("answers.tsv"))


def answer_pattern(question: str) -> re.Pattern[str] | None:
    """How a sentence looks that answers a question; None if that cannot be told."""
    asked = to_simplified(question).lower()
    return next((has for ask, has in _answer_patterns() if ask.search(asked)), None)


# 4A, G7, C919: digits with a capital letter.
_DESIGNATION = re.compile(r"(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Z])[0-9A-Za-z]+")
_LIST_REQUEST = re.compile(
    r"哪些|哪几|都有[谁啥什]|有什么|列出|列举|\b(?:list|name) (?:the|all|every)\b|\bwhat are\b"
    r"|\bwhich (?:of (?:the|these) )?(?:[a-z]+ ){0,2}?[a-z]+s\b"
)


def is_list_request(text: str) -> bool:
    """Whether a question asks for several things (哪些, which sights)."""
    return _LIST_REQUEST.search(to_simplified(text).lower()) is not None


def has_question_word(text: str) -> bool:
    """Whether a text has a word that asks."""
    text = to_simplified(text).lower()
    return any(ask.search(text) for ask, _ in _answer_patterns())


def extract_terms(part: str, names: Sequence[str] = ()) -> tuple[Term, ...]:
    """What a part asks for: its units without the words that ask, the concepts it names, and the thing
    that has these names."""
    text = to_simplified(part).lower()
    for name in filter(None, (to_simplified(name).lower() for name in names)):
        text = text.replace(name, " ")
    han = has_han(text)
    named = [match for match in find_concepts(text) if not match.is_question_word]
    for match in reversed(named):  # the concept stands for its word
        text = f"{text[: match.start]} {text[match.end :]}"
    for ask, _ in _answer_patterns():
        text = ask.sub(" ", text)
    content = tokenize_text(text).content_tokens if not han else ()
    own = [
        unit
        for unit in sorted(text_units(text))
        if (han and not any(word in STOP_WORDS for word in (unit, *unit)))
        or unit in content
        or (unit.isdigit() and len(unit) > 1)
    ]
    out = [
        Term(
            frozenset({frozenset({unit})}),
            HAN_CHARACTER_WEIGHT if has_han(unit) and len(unit) == 1 else 1.0,
            has_han(unit) or han or unit.isdigit(),
            not has_han(unit),
            "character" if has_han(unit) and len(unit) == 1 else "word",
        )
        for unit in own
    ]
    if called := frozenset(filter(None, (_word_units(name) for name in names))):
        out.append(Term(called, NAME_WEIGHT, True, True, "name"))
    for concept in dict.fromkeys(match.concept for match in named):
        forms = frozenset(_word_units(word) for word in (*concept.zh, *concept.en))
        out.append(Term(forms, 1.0, True, True))
    return tuple(out)


@lru_cache(10_000)
def _word_units(word: str) -> frozenset[str]:
    """The units that a word needs: of Chinese its pairs of characters."""
    found = text_units(word)
    pairs = frozenset(unit for unit in found if len(unit) > 1 or not has_han(unit))
    return pairs or found


def find_candidates(findings: Iterable[Finding]) -> list[Candidate]:
    """Every sentence that may be quoted, once."""
    out: dict[str, Candidate] = {}
    for rank, evidence, passage in _unique_passages(findings):
        spans = split_sentences(passage.text)
        lines = [join_lines(passage.text[start:end]) for start, end in spans]
        titles = text_units(f"{evidence.title}\n{passage.title}\n{passage.heading}")
        for (start, end), line in zip(spans, lines, strict=True):
            if line not in out and _is_quotable(line):
                own = text_units(line)
                out[line] = Candidate(evidence, passage, line, start, end, rank, own, own | titles)
    return list(out.values())


def _unique_passages(findings: Iterable[Finding]) -> Iterator[tuple[int, Evidence, Passage]]:
    seen: dict[tuple[str, str], int] = {}
    found: dict[tuple[str, str], tuple[Evidence, Passage]] = {}
    for finding in findings:
        every = [(e, p) for e in finding.evidence for p in e.passages]
        for rank, (evidence, passage) in enumerate(every):
            key = evidence.id, passage.id
            found.setdefault(key, (evidence, passage))
            seen[key] = min(rank, seen.get(key, rank))
    for key, (evidence, passage) in found.items():
        yield seen[key], evidence, passage


def _is_quotable(sentence: str) -> bool:
    least = 6 if has_han(sentence) else 20
    return least <= len(sentence) <= MAX_SENTENCE_CHARS and re.search(r"\w", sentence) is not None


def compute_features(
    terms: Sequence[Term], pattern: re.Pattern[str] | None, candidates: Sequence[Candidate]
) -> list[dict[str, float]]:
    """For each candidate:

    - `said`: of what the part asks for and some candidate has, the share that the sentence has; a term
      weighs the more the fewer candidates have it;
    - `looks`: 1 if it looks like an answer to such a question, -1 if not, 0 where that cannot be told;
    - `rank`: 0 for the first passage of a search, 1 for the tenth and all behind it.

    Sentences in Chinese and in other languages are weighed apart, each by the terms that can stand there.
    """
    weighed = {han: _weigh_terms(terms, candidates, han) for han in {has_han(one.text) for one in candidates}}
    out = []
    for one in candidates:
        out.append(
            {
                "said": _covered_share(weighed[has_han(one.text)], one),
                "looks": 0.0 if pattern is None else 1.0 if pattern.search(_fold(one.text)) else -1.0,
                "rank": min(one.rank, MAX_RANK) / MAX_RANK,
            }
        )
    return out


def _weigh_terms(terms: Sequence[Term], candidates: Sequence[Candidate], is_han: bool) -> list[tuple[Term, float]]:
    """What a part asks for that sentences of a script have, with its weights."""
    own = [one for one in candidates if has_han(one.text) is is_han]
    fit = [term for term in terms if (term.can_be_han if is_han else term.can_be_latin)]
    held = [sum(term.is_in(one) for one in own) for term in fit]
    return [(term, term.weight * math.log((len(own) + 1) / (n + 0.5))) for term, n in zip(fit, held, strict=True) if n]


def _covered_share(weighted_terms: Sequence[tuple[Term, float]], candidate: Candidate) -> float:
    whole = sum(weight for _, weight in weighted_terms)
    return sum(w for term, w in weighted_terms if term.is_in(candidate)) / whole if whole else 0.0


@lru_cache(20_000)
def _fold(text: str) -> str:
    return to_simplified(text).lower()


def candidates_with_features(
    part: str, names: Sequence[str], must_name_subject: bool, findings: Iterable[Finding]
) -> list[tuple[Candidate, dict[str, float]]]:
    """The sentences that may speak to a part, with their features; one more, `lost`, is the share of what
    is asked for that none of them has. Where the subject is a name, that says it: there `lost` is 0."""
    about = _SubjectFilter(names) if must_name_subject else None
    found = [one for one in find_candidates(findings) if about is None or about.is_about(one)]
    asked, look = extract_terms(part, names if must_name_subject else ()), answer_pattern(part)
    words = [term for term in asked if term.kind == "word"]
    called = [term for term in asked if term.kind == "name"]
    if words:  # a name alone answers nothing, nor does a character of a word
        found = [
            one
            for one in found
            if any(term.is_in(one) for term in words)
            or (
                look is not None
                and look.search(_fold(one.text))
                and any(form <= one.units for term in called for form in term.forms)
            )
        ]
    lost = 0.0 if must_name_subject else _uncovered_share(asked, found)
    return [
        (one, values | {"lost": lost}) for one, values in zip(found, compute_features(asked, look, found), strict=True)
    ]


def _uncovered_share(terms: Sequence[Term], candidates: Sequence[Candidate]) -> float:
    """The share of what is asked for that no candidate has."""
    whole = sum(term.weight for term in terms)
    return sum(t.weight for t in terms if not any(t.is_in(one) for one in candidates)) / whole if whole else 0.0


def select_quotes(
    part: str, names: Sequence[str], must_name_subject: bool, findings: Sequence[Finding]
) -> tuple[Quote, ...]:
    """The best sentences for a part, best first, at most `QUOTES`, or `LISTED` where it asks for several
    things; none if nothing speaks to it. Each source that was searched has its say, also where another one
    says the same. A sentence that leads to a list (… in these steps:) is quoted with the items of it."""
    fitted = load_weights()
    most, beside, rank = MAX_QUOTES, fitted.beside, 1.0
    if is_list_request(part):
        most, beside, rank = MAX_LISTED_QUOTES, LIST_MIN_SHARE, LIST_RANK_FACTOR
    source = {e.id: f.task.source for f in reversed(findings) for e in f.evidence}
    scored: list[_ScoredQuote] = []
    for one, values in candidates_with_features(part, names, must_name_subject, findings):
        values = values | {"rank": values["rank"] * rank}
        odds = fitted.bias + sum(weight * values[n] for n, weight in fitted.weights.items())
        chance = 1 / (1 + math.exp(-odds))
        if chance >= fitted.quoted and values["said"]:
            quote = Quote(
                one.evidence.id,
                one.passage.id,
                one.text,
                one.start,
                one.end,
                chance,
                one.passage.made,
            )
            scored.append(_ScoredQuote(quote, frozenset(_cached_tokens(one.text)), source.get(one.evidence.id, "")))
    scored.sort(key=lambda said: -said.quote.score)
    passages = {(e.id, p.id): p for f in findings for e in f.evidence for p in e.passages}
    out: dict[tuple[str, str, int], Quote] = {}
    for best in _select_diverse(scored, beside, most):
        for quoted in (best, *_list_items(best, passages[best.evidence_id, best.passage_id].text)):
            out.setdefault((quoted.evidence_id, quoted.passage_id, quoted.start), quoted)
    return tuple(out.values())


def is_answered(part: str, names: Sequence[str], must_name_subject: bool, quotes: Sequence[Quote]) -> bool:
    """Tell whether some quotes have what a part asks for, and not its subject alone: one of its words,
    and each of its designations, such as 4A. What could not stand in their script is not missed."""
    text = " ".join(_fold(quote.text) for quote in quotes)
    for designation in _DESIGNATION.findall(part):
        if not re.search(rf"(?<![0-9a-z]){designation.lower()}(?![0-9a-z])", text):
            return False
    asked = [term for term in extract_terms(part, names if must_name_subject else ()) if term.kind == "word"]
    told = [(has_han(quote.text), text_units(quote.text)) for quote in quotes]
    fit = [term for term in asked if any(term.can_be_han if han else term.can_be_latin for han, _ in told)]
    return not fit or any(form <= has for term in fit for form in term.forms for _, has in told)


def _list_items(lead: Quote, text: str) -> Iterator[Quote]:
    """The lines that follow a sentence which ends in a colon, up to an empty one."""
    if not lead.text.endswith((":", "：")):
        return
    at = lead.end
    for line in islice(re.finditer(r"[ \t]*\n[ \t]*(?=\S)([^\n]*\S)", text[at:]), MAX_LIST_ITEMS):
        if line.start() != at - lead.end:
            return
        start, at = lead.end + line.start(1), lead.end + line.end(1)
        told = join_lines(text[start:at])
        yield Quote(lead.evidence_id, lead.passage_id, told, start, at, lead.score)


class _SubjectFilter:
    """Whether sentences are about something with these names: it stands in the sentence, in its titles,
    in its passage or in the opening of its document."""

    def __init__(self, names: Sequence[str]) -> None:
        self._forms = [frozenset(_cached_tokens(name)) for name in names if _cached_tokens(name)]
        self._cache: dict[tuple[str, str], bool] = {}

    def is_about(self, candidate: Candidate) -> bool:
        key = candidate.evidence.id, candidate.passage.id
        if key not in self._cache:
            evidence, passage = candidate.evidence, candidate.passage
            titles = f"{evidence.title} {passage.title} {passage.heading}"
            present = frozenset(_cached_tokens(f"{titles} {passage.text} {evidence.opening}"))
            self._cache[key] = not self._forms or any(form <= present for form in self._forms)
        return self._cache[key]


class _ScoredQuote(NamedTuple):
    """A sentence that may be quoted, its words, and the source that found it."""

    quote: Quote
    words: frozenset[str]
    source: str


def _select_diverse(ranked: Sequence[_ScoredQuote], min_share: float, max_quotes: int) -> list[Quote]:
    """The best of each source first, as far as there is room, then those near the best that say something
    else than the others of their source; the best first."""
    if not ranked:
        return []
    leading = {said.source: said for said in reversed(ranked)}
    picked = sorted(leading.values(), key=lambda said: -said.quote.score)[:max_quotes]
    for said in ranked:
        if len(picked) == max_quotes or said.quote.score < min_share * ranked[0].quote.score:
            break
        own = [other.words for other in picked if other.source == said.source]
        if all(_word_overlap(said.words, words) < DUPLICATE_OVERLAP for words in own):
            picked.append(said)
    return [said.quote for said in sorted(picked, key=lambda said: -said.quote.score)]


def _word_overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, min(len(a), len(b)))
