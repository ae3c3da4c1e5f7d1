"""Finds the sentences that speak to a part of a question. They are quoted as they stand.

A sentence is judged by how much of the part's meaning it covers, weighted by how telling each word
is (idf), together with the titles it stands under. Where the subject is a name, a sentence counts
only if the name is in it or in the titles above it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from research.hanzi import simplified
from research.reasoners import Corpus
from research.reasoners.concepts import LOOKS, matches
from research.records import Evidence, Finding, Passage
from research.text import flowing, has_han, sentences, telling, tokens

ENOUGH = 0.6  # share of a part's weight that a sentence and the text around it must cover
ENOUGH_NAMED = 0.51  # the same where the subject is a name, which is checked on its own
ASKED = 2.4  # what a question word weighs
TELLING = frozenset(LOOKS) - {"year"}  # kinds whose question words say what is asked
OWN = 0.3  # share that the sentence itself must cover, unless its titles do
SCORE = 0.45
QUOTES = 3
LONGEST = 400  # characters
COMMON_IDF = 4.0  # what a concept weighs at most: its words have many doubles
_tokens = lru_cache(20_000)(lambda text: tuple(tokens(text)))


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a concept that a part asks for, and its weight."""

    forms: frozenset[tuple[str, ...]]
    weight: float
    kind: str = ""
    literal: str = ""
    asking: bool = False
    prefix: str = ""

    def occurs(self, present: frozenset[str]) -> bool:
        """Whether tokens have the term, one of its forms or, for a rare word, a longer one."""
        if any(all(token in present for token in form) for form in self.forms):
            return True
        return bool(self.prefix) and any(token.startswith(self.prefix) for token in present)

    def speaks(self, sentence: str, present: frozenset[str]) -> bool:
        """As `occurs`; a question word is answered by a sentence that looks like an answer."""
        look = LOOKS.get(self.kind)
        if not self.asking or look is None:
            return self.occurs(present)
        fits = look.search(sentence) is not None
        return fits or (self.kind in ("way", "place") and self.occurs(present))


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage, in one line: `start` and `end` are offsets into the passage's text."""

    evidence: str
    passage: str
    text: str
    start: int
    end: int
    score: float
    aside: bool = False  # neither it nor its titles have the name that the passage has


def terms(text: str, corpus: Corpus, names: Sequence[str] = ()) -> tuple[Term, ...]:
    """What a part asks for: the concepts it names and the telling words left over, less the names."""
    text, names = simplified(text), [simplified(name) for name in names if name]
    for name in names:
        text = re.sub(re.escape(name), " ", text, flags=re.I)
    own = {token for name in names for token in tokens(name)}
    out: list[Term] = []
    rest = text
    for match in reversed(matches(text)):
        rest = rest[: match.start] + "\n" + rest[match.end :]
        rarest = max((corpus.idf(token) for token in tokens(match.literal)), default=1.0)
        weight = ASKED if match.asking else min(rarest, COMMON_IDF)
        if match.asking and match.concept.kind not in LOOKS:
            weight = 0.0  # who: nothing shows that a sentence answers it
        out.append(
            Term(
                match.concept.forms,
                weight,
                match.concept.kind,
                match.literal,
                match.asking,
            )
        )
    if any(not term.asking for term in out):  # "when is it closed" does not ask for a year
        out = [t for t in out if not t.asking or t.kind != "year"]
    factor = 0.5 if any(not term.asking or term.kind in TELLING for term in out) else 1.0
    left = {w: t for line in rest.split("\n") for w, t in telling(line).items()}
    for word, tells in left.items():
        if word not in own and not any(word in form for term in out for form in term.forms):
            absent = corpus.absent(word)
            idf = min(corpus.idf(word), COMMON_IDF) if absent else corpus.idf(word)
            rare = word.isascii() and len(word) >= 5 and not word.isdigit()
            out.append(
                Term(
                    frozenset({(word,), *_heads(word)}),
                    idf * factor * (0.5 * tells if tells < 1 and absent else tells),
                    literal=word,
                    prefix=word if rare else "",
                )
            )
    return tuple(out)


def _heads(word: str) -> set[tuple[str, ...]]:
    """The words that end a Chinese compound: 古城墙 is also told of as 城墙."""
    if word.isascii():
        return set()
    return {(token,) for token in tokens(word) if token != word and word.endswith(token)}


def select(
    part: str, names: Sequence[str], proper: bool, findings: Iterable[Finding], corpus: Corpus
) -> tuple[Quote, ...]:
    """The best sentences for a part, best first, at most `QUOTES`; none if nothing speaks to it."""
    judge = _Judge(terms(part, corpus, names), names, proper, corpus)
    scored: dict[str, tuple[Quote, frozenset[str]]] = {}
    direct = False
    for evidence, passage in _passages(findings):
        for start, end in sentences(passage.text):
            sentence = flowing(passage.text[start:end])
            if sentence in scored or not _fit(sentence):
                continue
            score = judge.score(sentence, passage, evidence)
            if score >= SCORE:
                aside = judge.aside(sentence, passage, evidence)
                quote = Quote(evidence.id, passage.id, sentence, start, end, score, aside)
                scored[sentence] = (quote, frozenset(_tokens(sentence)))
                direct = direct or not quote.aside
    if direct:  # a sentence that only stands near the name is second best
        scored = {text: item for text, item in scored.items() if not item[0].aside}
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


class _Judge:
    """Scores sentences for one part."""

    def __init__(
        self, asked: Sequence[Term], names: Sequence[str], proper: bool, corpus: Corpus
    ) -> None:
        self._asked, self._proper, self._corpus = asked, proper, corpus
        self._about = [frozenset(_tokens(name)) for name in names if _tokens(name)]
        self._enough = ENOUGH_NAMED if proper else ENOUGH
        self._own = {simplified(name).casefold() for name in names}
        self._total = sum(term.weight for term in asked)
        asks = any(term.asking and term.kind in LOOKS for term in asked)
        # What a sentence loses that does not look like an answer: 几点 wants a time of day.
        self._unlike = 0.3 if asks else 0.15 if any(t.kind in LOOKS for t in asked) else 0.0
        self._looks = [LOOKS[term.kind] for term in asked if term.kind in LOOKS]

    def score(self, sentence: str, passage: Passage, evidence: Evidence) -> float:
        """0 where the sentence does not speak to the part; about 1.3 at best."""
        titles = frozenset(_tokens(f"{evidence.title} {passage.title} {passage.heading}"))
        looks = simplified(sentence)
        present = frozenset(_tokens(sentence))
        both = present | titles
        near, in_title = self._near(both), self._near(titles)
        factor = 1.0
        if self._proper and near < 1.0:
            if not self._continues(sentence, passage, evidence):
                return 0.0
            near, factor = 0.7, 0.85
        if not self._total:  # the question names a subject and asks nothing else
            return factor * (0.45 + 0.2 * self._near(present) + 0.1 * in_title)
        cover = self._share(lambda term: term.speaks(looks, present))
        with_titles = self._share(lambda term: term.speaks(looks, both))
        in_titles = self._share(lambda term: term.occurs(titles))
        around = both | frozenset(_tokens(f"{passage.text} {evidence.opening}"))
        if self._share(lambda term: term.speaks(looks, around)) < self._enough:
            return 0.0
        if cover < OWN and in_titles < ENOUGH:
            return 0.0
        fits = self._fits(looks)
        return factor * (
            0.6 * max(cover, 0.6 * with_titles)
            + 0.25 * in_titles
            + 0.25 * near
            + (0.1 if self._proper and in_title == 1.0 else 0.0)
            + (0.2 * fits if fits else -self._unlike)
        )

    def aside(self, sentence: str, passage: Passage, evidence: Evidence) -> bool:
        """Whether only the text around the sentence and its titles has the subject's name."""
        text = f"{sentence} {evidence.title} {passage.title} {passage.heading}"
        return self._proper and self._near(frozenset(_tokens(text))) < 1.0

    def _near(self, present: frozenset[str]) -> float:
        return max((len(name & present) / len(name) for name in self._about), default=1.0)

    def _share(self, test: Callable[[Term], bool]) -> float:
        return sum(term.weight for term in self._asked if test(term)) / self._total

    def _fits(self, sentence: str) -> float:
        hits = sum(look.search(sentence) is not None for look in self._looks)
        return hits / len(self._looks) if self._looks else 0.0

    def _continues(self, sentence: str, passage: Passage, evidence: Evidence) -> bool:
        """Whether the text around is about the subject and the sentence turns to no other name.

        The text around is the passage and the opening of the document.
        """
        around = frozenset(_tokens(passage.text)), frozenset(_tokens(evidence.opening))
        if max(self._near(tokens_) for tokens_ in around) < 1.0:
            return False
        title = simplified(f"{evidence.title} {passage.title}").casefold()
        others = (simplified(name).casefold() for name in self._corpus.names_in(sentence))
        return all(name in self._own or name in title for name in others)


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
