"""What is measured of a claim and its passages for the score: few numbers, none of which knows a topic.

What each is worth, and what was tried and is worth nothing, stands in `tests/yardsticks/README.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from research.citations.figure_check import MissingFigure, find_missing_figures
from research.citations.tokenization import TokenizedSentence, TokenizedText

WORD_WINDOW_RATIO, DENSE_WINDOW_RATIO = 2.0, 1.5  # lengths of the claim
MIN_WINDOW_TOKENS = 4  # tokens
MAX_MISSING_FIGURES = 2
NEGATIONS = frozenset("不没未无非别勿")  # in English a negation tells nothing


class TokenWindow(NamedTuple):
    """The stretch of a passage that has most of a claim: its place among the passages, its first and
    last token, and the share of the wanted tokens in it."""

    passage_index: int
    first_token: int
    last_token: int
    share: float


class ClaimFeatures(NamedTuple):
    """The features of a claim by name, the stretch nearest to it with the sentences that it touches,
    and the figures that no passage bears out."""

    feature_values: dict[str, float]
    window: TokenWindow
    sentences: list[TokenizedSentence]
    missing_figures: list[MissingFigure]


def find_window(tokens: Collection[str], passages: Sequence[TokenizedText], max_tokens: float) -> TokenWindow:
    """The stretch of at most `span` tokens that has most of the wanted ones, each counted once."""
    goal, length = frozenset(tokens), max(MIN_WINDOW_TOKENS, int(max_tokens))
    best = TokenWindow(0, 0, 0, 0.0)
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
                best = TokenWindow(place, hits[begin][0], at, most / len(goal))
    return best


def measure_features(claim: TokenizedText, passages: Sequence[TokenizedText]) -> ClaimFeatures:
    """All features of a claim:

    - `words`: the share of its words that carry meaning in a stretch of twice its length;
    - `dense`: the share of all its words in a stretch hardly longer than itself;
    - `figures`: how many of its figures no passage bears out, at most 2;
    - `denies`: whether it has a Chinese negation.
    """
    near = find_window(claim.content_tokens, passages, WORD_WINDOW_RATIO * len(claim.tokens))
    dense = find_window(frozenset(claim.tokens), passages, DENSE_WINDOW_RATIO * len(claim.tokens))
    sentences = _sentences_in_window(near, passages)
    absent = find_missing_figures(claim, passages, [(passages[near.passage_index], one) for one in sentences])
    values = {
        "words": near.share,
        "dense": dense.share,
        "figures": float(min(MAX_MISSING_FIGURES, len(absent))),
        "denies": float(bool(NEGATIONS & claim.vocabulary)),
    }
    return ClaimFeatures(values, near, sentences, absent)


def _sentences_in_window(window: TokenWindow, passages: Sequence[TokenizedText]) -> list[TokenizedSentence]:
    """The sentences that a stretch touches."""
    passage = passages[window.passage_index]
    if not passage.tokens:
        return []
    first, last = (passage.sentence_index(passage.token_starts[at]) for at in (window.first_token, window.last_token))
    return list(passage.sentences[first : last + 1])
