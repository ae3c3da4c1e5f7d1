"""How much of a claim's words passages have, in which sentences, and which word stands in another's
place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from research import segment
from research.evidence.lexicon import KIN, SENSES
from research.evidence.reading import Reading, Sentence, Term, is_place
from research.language.quantities import agrees
from research.text import has_han

SENTENCES = 3  # of the passages may support one claim together
_APART = 8  # characters between neighbours
_NEAR = 0.8  # what a word counts that means nearly the same
_LIKE = 0.5  # what a word counts that shares its beginning or half of its characters


@dataclass(frozen=True, slots=True)
class Near:
    """A sentence of a passage that has something of a claim."""

    passage: int
    sentence: Sentence
    gain: float


def worth(term: Term, sentence: Sentence) -> float:
    """How much a sentence has of a term: 1 for the same, less for one like it."""
    asked = term.key, term.sense
    found = sentence.worths.get(asked)
    if found is None:
        found = sentence.worths[asked] = _worth(term, sentence)
    return found


def _worth(term: Term, sentence: Sentence) -> float:
    key = term.key
    if key in sentence.keys:
        return 1.0
    if term.sense and term.sense in sentence.senses:
        return _NEAR
    if key.isascii():
        alike = len(key) > 5 and key[:5] in sentence.beginnings and not is_place(key)
        return _LIKE if alike else 0.0
    if key in sentence.text:
        return 1.0
    letters = sentence.letters
    shared = len(letters.intersection(key))
    return _LIKE if shared * 2 >= len(set(key)) and len(key) > 1 else 0.0


def nearest(claim: Sentence, readings: Sequence[Reading]) -> list[Near]:
    """The sentences that have most of a claim, the first by itself, each next by what it adds."""
    candidates = [(at, s) for at, reading in enumerate(readings) for s in reading.sentences]
    have = {id(s): _has(claim, s) for _, s in candidates}
    candidates = [pair for pair in candidates if any(have[id(pair[1])])] or candidates
    weights = _weights(claim)
    covered = [0.0] * len(weights)
    chosen: list[Near] = []
    while candidates and len(chosen) < SENTENCES:
        gains = [_gain(weights, covered, have[id(s)]) for _, s in candidates]
        best = max(range(len(gains)), key=lambda i: (gains[i], -i))
        if chosen and gains[best] <= 0.05 * sum(weights):
            break
        at, sentence = candidates.pop(best)
        chosen.append(Near(at, sentence, gains[best]))
        covered = [max(pair) for pair in zip(covered, have[id(sentence)], strict=True)]
    return chosen


def _weights(claim: Sentence) -> list[float]:
    return [term.weight for term in claim.terms] + [1.0] * len(claim.measures)


def _has(claim: Sentence, sentence: Sentence) -> list[float]:
    words = [worth(term, sentence) for term in claim.terms]
    figures = [
        float(any(agrees(measure, other) for other in sentence.measures))
        for measure in claim.measures
    ]
    return words + figures


def _gain(weights: list[float], covered: list[float], have: list[float]) -> float:
    return sum(w * max(0.0, h - c) for w, c, h in zip(weights, covered, have, strict=True))


def coverage(terms: Sequence[Term], chosen: Sequence[Near]) -> float:
    """The share of the words' weight that sentences have; 1 of nothing."""
    total = sum(term.weight for term in terms)
    if not total:
        return 1.0
    best = (term.weight * max((worth(term, n.sentence) for n in chosen), default=0.0) for term in terms)  # fmt: skip
    return sum(best) / total


@dataclass(frozen=True, slots=True)
class _Item:
    """A word or a figure in its order."""

    key: str
    start: int
    end: int
    weight: float


def _items(sentence: Sentence, keys: dict[int, str]) -> list[_Item]:
    """The words of a sentence that tell something, and its figures under the keys that they have."""
    words = [_Item(t.key, t.start, t.end, t.weight) for t in sentence.terms if t.weight > _LIKE]
    figures = [
        _Item(keys.get(at, f"#other{at}"), m.start, m.end, 0.0)
        for at, m in enumerate(sentence.measures)
    ]
    return sorted(words + figures, key=lambda item: item.start)


def replaced(claim: Sentence, chosen: Sequence[Near]) -> tuple[_Item, _Item, Near] | None:
    """A word of the claim in whose place a sentence has another: both stand between the same two
    neighbours, or right before the same word in a stretch that is otherwise alike."""
    for near in chosen:
        keys = {
            j: f"#{i}"
            for i, measure in enumerate(claim.measures)
            for j, other in enumerate(near.sentence.measures)
            if agrees(measure, other)
        }
        mine = _items(claim, {i: f"#{i}" for i in range(len(claim.measures))})
        theirs = _items(near.sentence, keys)
        known = {item.key for item in mine}
        slots: dict[tuple[str, str], _Item] = {}
        heads: dict[str, list[_Item]] = {}
        for one, two, three in zip([None, *theirs], theirs, theirs[1:], strict=False):
            if three.start - two.end <= _APART:
                heads.setdefault(three.key, []).append(two)
                if one and two.start - one.end <= _APART:
                    slots[one.key, three.key] = two
        for one, two, three in zip([None, *mine], mine, mine[1:], strict=False):
            if (
                two.weight < 0.8
                or not _thing(claim.text[two.start : two.end], two.key)
                or any(_said(two, n.sentence) for n in chosen)
            ):
                continue
            if three.start - two.end > _APART:
                continue
            other = slots.get((one.key, three.key)) if one else None
            if other is None and three.start - two.end <= 1 and three.key[0] != "#":
                rest = heads.get(three.key, [])
                other = rest[0] if rest and all(r.key not in known for r in rest) else None
            if other and other.key not in known and other.weight >= 0.8 and _named(near.sentence, other):  # fmt: skip
                return two, other, near
    return None


_NO_THINGS_WORDS = """
most advance last-year this-year next-year year-on-year all some half first last only since near
close average record total current
"""
_NO_THINGS = frozenset(_NO_THINGS_WORDS.split())
_NO_NOUN = re.compile(r"(?:ed|ing|ly|ous|ive|ful)$")


@lru_cache(20_000)
def _thing(word: str, key: str) -> bool:
    """Whether a word names a thing, as far as can be told."""
    if key in _NO_THINGS or word in ("fewer", "lower", "higher", "around", "some", "large", "big"):
        return False
    if has_han(word):
        return any(tag[:1] in "njlbi" for _, tag in segment.tag(word))
    return not _NO_NOUN.search(word)


def other_subject(claim: Sentence, chosen: Sequence[Near]) -> tuple[Term, Term, Near] | None:
    """The first word of a claim if it is a thing and all that the passages lack, with how the
    sentence begins that has the rest."""
    terms = [term for term in claim.terms if term.weight >= 0.8]
    near = chosen[0]
    if len(terms) < 3 or not near.sentence.terms or not _thing(claim.text[terms[0].start : terms[0].end], terms[0].key):  # fmt: skip
        return None
    lacking = [t for t in terms if not any(worth(t, n.sentence) for n in chosen)]
    return (terms[0], near.sentence.terms[0], near) if lacking == terms[:1] else None


def _named(sentence: Sentence, item: _Item) -> bool:
    return _thing(sentence.text[item.start : item.end], item.key)


def _said(item: _Item, sentence: Sentence) -> bool:
    return (
        worth(
            Term(item.key, item.start, item.end, item.weight, sense=SENSES.get(item.key, "")),
            sentence,
        )
        > 0
    )


def akin(claim: Sentence, chosen: Sequence[Near]) -> tuple[Term, Term, Near] | None:
    """A word of the claim that no sentence has, where the nearest has another of its kind."""
    said = frozenset[str]().union(*(n.sentence.keys for n in chosen))
    for term in claim.terms:
        if term.key in said or term.weight < 0.8 or term.key not in KIN:
            continue
        for near in chosen[:1]:
            for other in near.sentence.terms:
                if other.key in KIN[term.key] and other.key not in claim.keys:
                    return term, other, near
    return None
