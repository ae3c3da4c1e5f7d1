"""Features of a claim and its passages from which the judge computes a score.

They are few numbers, independent of the topic. Their measured worth, and features that were tried
and rejected, are in `tests/yardsticks/README.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from research.citations.figure_check import MissingFigure, find_missing_figures
from research.citations.tokenization import TokenizedSentence, TokenizedText

WORD_WINDOW_RATIO, DENSE_WINDOW_RATIO = 2.0, 1.5  # length of a window divided by that of the claim
MIN_WINDOW_TOKENS = 4  # of the window for a short claim
MAX_MISSING_FIGURES = 2
NEGATIONS = frozenset("不没未无非别勿")  # in English a negation has no predictive value


class TokenWindow(NamedTuple):
    """The window of a passage that contains most tokens of a claim.

    `passage_index` is the passage's place among the passages, `first_token` and `last_token` are
    inclusive, and `share` is the share (0 to 1) of the claim's tokens in the window.
    """

    passage_index: int
    first_token: int
    last_token: int
    share: float


class ClaimFeatures(NamedTuple):
    """Features of a claim by name, and what they are based on: the nearest window and missing figures.

    `sentences` are those that the window overlaps.
    """

    feature_values: dict[str, float]
    window: TokenWindow
    sentences: list[TokenizedSentence]
    missing_figures: list[MissingFigure]


def find_window(tokens: Collection[str], passages: Sequence[TokenizedText], max_tokens: float) -> TokenWindow:
    """Find the window of at most `max_tokens` tokens that contains most of the given tokens.

    Without a match the window is empty, with the share 0.
    """
    targets, max_length = frozenset(tokens), max(MIN_WINDOW_TOKENS, int(max_tokens))
    best = TokenWindow(0, 0, 0, 0.0)
    best_count = 0
    for passage_index, passage in enumerate(passages):
        if len(targets & passage.vocabulary) <= best_count:
            continue
        hits = [(at, token) for at, token in enumerate(passage.tokens) if token in targets]
        counts: Counter[str] = Counter()
        begin = 0
        for at, token in hits:
            counts[token] += 1
            while hits[begin][0] <= at - max_length:
                dropped = hits[begin][1]
                counts[dropped] -= 1
                if not counts[dropped]:
                    del counts[dropped]
                begin += 1
            if len(counts) > best_count:
                best_count = len(counts)
                best = TokenWindow(passage_index, hits[begin][0], at, best_count / len(targets))
    return best


def compute_features(claim: TokenizedText, passages: Sequence[TokenizedText]) -> ClaimFeatures:
    """Compute the features of a claim:

    - `words`: share of its content words in a window of twice its length;
    - `dense`: share of all its words in a window of one and a half times its length;
    - `figures`: number of its figures that no passage supports, at most 2;
    - `denies`: 1 if it contains a Chinese negation, else 0.
    """
    window = find_window(claim.content_tokens, passages, WORD_WINDOW_RATIO * len(claim.tokens))
    dense = find_window(frozenset(claim.tokens), passages, DENSE_WINDOW_RATIO * len(claim.tokens))
    sentences = _sentences_in_window(window, passages)
    missing = find_missing_figures(
        claim, passages, [(passages[window.passage_index], sentence) for sentence in sentences]
    )
    values = {
        "words": window.share,
        "dense": dense.share,
        "figures": float(min(MAX_MISSING_FIGURES, len(missing))),
        "denies": float(bool(NEGATIONS & claim.vocabulary)),
    }
    return ClaimFeatures(values, window, sentences, missing)


def _sentences_in_window(window: TokenWindow, passages: Sequence[TokenizedText]) -> list[TokenizedSentence]:
    """Return the sentences that a window overlaps."""
    passage = passages[window.passage_index]
    if not passage.tokens:
        return []
    first, last = (passage.sentence_index(passage.token_starts[at]) for at in (window.first_token, window.last_token))
    return list(passage.sentences[first : last + 1])
