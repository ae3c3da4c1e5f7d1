"""Finds the sentences that speak to a part of a question. They are quoted as they stand.

A sentence is judged by how much of the part's meaning it covers, weighted by how telling each word
is (idf), together with the titles it stands under. Where the subject is a name, a sentence counts
only if the name is in it or in the titles above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from research.reasoners import Corpus
from research.reasoners.concepts import LOOKS, Concept, matches
from research.records import Evidence, Finding, Passage
from research.text import STOP, has_han, sentences, tokens, words

ENOUGH = 0.6  # share of a part's weight that a sentence and its titles must cover
SCORE = 0.45
QUOTES = 3
LONGEST = 400  # characters
_tokens = lru_cache(20_000)(lambda text: tuple(tokens(text)))


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a concept that a part asks for, and its weight."""

    forms: frozenset[tuple[str, ...]]
    weight: float
    kind: str = ""
    literal: str = ""

    def occurs(self, present: frozenset[str]) -> bool:
        return any(all(token in present for token in form) for form in self.forms)


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage: `start` and `end` are offsets into the passage's text."""

    evidence: str
    passage: str
    text: str
    start: int
    end: int
    score: float


def terms(text: str, corpus: Corpus, extra: Sequence[Concept] = ()) -> tuple[Term, ...]:
    """What a part asks for: the concepts it names and the telling words left over."""
    out: list[Term] = []
    rest = text
    for match in reversed(matches(text)):
        literal = text[match.start : match.end]
        rest = rest[: match.start] + "\n" + rest[match.end :]
        weight = min((_weight(form, corpus) for form in match.concept.forms), default=0.0)
        out.append(Term(match.concept.forms, max(weight, 1.0), match.concept.kind, literal))
    for word in dict.fromkeys(w for line in rest.split("\n") for w in words(line)):
        if word not in STOP:
            out.append(Term(frozenset({(word,)}), corpus.idf(word), literal=word))
    return tuple(out)


def _weight(form: tuple[str, ...], corpus: Corpus) -> float:
    return max(corpus.idf(token) for token in form)


def select(
    part: str, names: Sequence[str], proper: bool, findings: Iterable[Finding], corpus: Corpus
) -> tuple[Quote, ...]:
    """The best sentences for a part, best first, at most `QUOTES`; none if nothing speaks to it."""
    asked = terms(part, corpus)
    about = [frozenset(_tokens(name)) for name in names if _tokens(name)]
    scored: dict[str, tuple[Quote, frozenset[str]]] = {}
    for evidence, passage in _passages(findings):
        titles = frozenset(_tokens(f"{evidence.title} {passage.title} {passage.heading}"))
        for start, end in sentences(passage.text):
            sentence = passage.text[start:end]
            if not _fit(sentence):
                continue
            present = frozenset(_tokens(sentence))
            score = _score(sentence, present, titles, asked, about, proper)
            if score >= SCORE and sentence not in scored:
                quote = Quote(evidence.id, passage.id, sentence, start, end, score)
                scored[sentence] = (quote, present)
    return tuple(_diverse(sorted(scored.values(), key=lambda item: -item[0].score)))


def _passages(findings: Iterable[Finding]) -> Iterable[tuple[Evidence, Passage]]:
    seen: set[tuple[str, str]] = set()
    for finding in findings:
        for evidence in finding.evidence:
            for passage in evidence.passages:
                if (evidence.id, passage.id) not in seen:
                    seen.add((evidence.id, passage.id))
                    yield evidence, passage


def _fit(sentence: str) -> bool:
    least = 6 if has_han(sentence) else 20
    return least <= len(sentence) <= LONGEST and re.search(r"\w", sentence) is not None


def _score(
    sentence: str,
    present: frozenset[str],
    titles: frozenset[str],
    asked: Sequence[Term],
    about: Sequence[frozenset[str]],
    proper: bool,
) -> float:
    both = present | titles
    near = max((len(name & both) / len(name) for name in about), default=1.0)
    if proper and about and near < 1.0:
        return 0.0
    total = sum(term.weight for term in asked)
    if not total:  # the question names a subject and asks nothing else
        own = max((len(name & present) / len(name) for name in about), default=0.0)
        return 0.45 + 0.3 * own
    cover = sum(term.weight for term in asked if term.occurs(present)) / total
    with_titles = sum(term.weight for term in asked if term.occurs(both)) / total
    if with_titles < ENOUGH:
        return 0.0
    in_titles = sum(term.weight for term in asked if term.occurs(titles)) / total
    looks = [LOOKS[term.kind] for term in asked if term.kind in LOOKS]
    fits = sum(bool(look.search(sentence)) for look in looks) / len(looks) if looks else 0.0
    return (
        0.6 * max(cover, 0.6 * with_titles) + 0.25 * in_titles + 0.25 * near + 0.2 * fits
        - (0.15 if looks and not fits else 0.0)
    )  # fmt: skip


def _diverse(ranked: Sequence[tuple[Quote, frozenset[str]]]) -> Iterable[Quote]:
    """The best first; each further one must be near the best and say something else."""
    picked: list[tuple[Quote, frozenset[str]]] = []
    for quote, present in ranked:
        if len(picked) == QUOTES or (picked and quote.score < 0.7 * picked[0][0].score):
            break
        if any(_overlap(present, other) >= 0.7 for _, other in picked):
            continue
        picked.append((quote, present))
    return [quote for quote, _ in picked]


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, min(len(a), len(b)))
