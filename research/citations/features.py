"""What is measured of a claim and its passages for the score: few numbers, none of which knows a topic.

What each is worth, and what was tried and is worth nothing, stands in `tests/yardsticks/README.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from research.citations.figures import Figure, missing
from research.citations.reading import Sentence, Text

WORDS_SPAN, DENSE_SPAN = 2.0, 1.5  # lengths of the claim
SHORTEST_SPAN = 4  # tokens
MOST_MISSING = 2
NEGATIONS = frozenset("不没未无非别勿")  # in English a negation tells nothing


class Window(NamedTuple):
    """The stretch of a passage that has most of a claim: its place among the passages, its first and
    last token, and the share of the wanted tokens in it."""

    passage: int
    first: int
    last: int
    share: float


class Measured(NamedTuple):
    """The features of a claim by name, the stretch nearest to it with the sentences that it touches,
    and the figures that no passage bears out."""

    values: dict[str, float]
    near: Window
    sentences: list[Sentence]
    absent: list[Figure]


def window(wanted: Collection[str], passages: Sequence[Text], span: float) -> Window:
    """The stretch of at most `span` tokens that has most of the wanted ones, each counted once."""
    goal, length = frozenset(wanted), max(SHORTEST_SPAN, int(span))
    best = Window(0, 0, 0, 0.0)
    most = 0
    for place, passage in enumerate(passages):
        if len(goal & passage.vocabulary) <= most:
            continue
        hits = [(at, token) for at, token in enumerate(passage.tokens) if token in goal]
        inside: Counter[str] = Counter()
        begin = 0
        for at, token in hits:
            inside[token] += 1
            while hits[begin][0] <= at - length:
                old = hits[begin][1]
                inside[old] -= 1
                if not inside[old]:
                    del inside[old]
                begin += 1
            if len(inside) > most:
                most = len(inside)
                best = Window(place, hits[begin][0], at, most / len(goal))
    return best


def measured(claim: Text, passages: Sequence[Text]) -> Measured:
    """All features of a claim:

    - `words`: the share of its words that carry meaning in a stretch of twice its length;
    - `dense`: the share of all its words in a stretch hardly longer than itself;
    - `figures`: how many of its figures no passage bears out, at most 2;
    - `denies`: whether it has a Chinese negation.
    """
    near = window(claim.content, passages, WORDS_SPAN * len(claim.tokens))
    dense = window(frozenset(claim.tokens), passages, DENSE_SPAN * len(claim.tokens))
    sentences = _touched(near, passages)
    absent = missing(claim, passages, [(passages[near.passage], one) for one in sentences])
    values = {
        "words": near.share,
        "dense": dense.share,
        "figures": float(min(MOST_MISSING, len(absent))),
        "denies": float(bool(NEGATIONS & claim.vocabulary)),
    }
    return Measured(values, near, sentences, absent)


def _touched(near: Window, passages: Sequence[Text]) -> list[Sentence]:
    """The sentences that a stretch touches."""
    passage = passages[near.passage]
    if not passage.tokens:
        return []
    first, last = (passage.sentence_at(passage.starts[at]) for at in (near.first, near.last))
    return list(passage.sentences[first : last + 1])
