"""The ruling on a claim: no model, the same every time.

Word for word is supported, another figure in its place differs, and the rest is a probability by a
logistic regression whose weights, with what they were fitted on, stand in `data/judge.json`.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache

from research import data
from research.citations.cues import cues
from research.citations.features import Measured, measured
from research.citations.figures import Figure
from research.citations.quotes import cuts_a_word, stands_in
from research.citations.reading import Sentence, Text, read
from research.core.records import Lack, Record, Ruling
from research.core.text import segment
from research.core.text.words import STOP

MOST_WORDS = 12  # that a ruling names as missing
MARGIN = (
    0.15  # above the threshold, within which support is less often right than it is on the whole
)
NEARLY_ALL = 0.9  # of a claim's words in one stretch: what else stands there may take it back


class Accuracy(Record):
    """How often the judge is right on sets that were left out of the fit; shares from 0 to 1.

    `balanced` is its balanced accuracy, `overlap` that of plain word overlap with a threshold learnt on
    the other sets. "Supported" is found for `recall` of the supported claims and is right in `half` or
    `most` of its uses, where half or four fifths of the claims are supported. "Unsupported" is found for
    `doubted` of the unsupported claims; of its uses it is right in `doubted_half` and `doubted_most`.
    """

    balanced: float
    overlap: float
    recall: float
    half: float
    most: float
    doubted: float
    doubted_half: float
    doubted_most: float


class Weights(Record):
    """A fitted model: what a feature adds to the log odds of support, the probability from which a claim
    is called supported, and that below which it is called unsupported (0: it never is)."""

    weights: Mapping[str, float]
    bias: float
    supported: float
    unsupported: float
    accuracy: Accuracy


@cache
def model(language: str) -> Weights:
    """The model for claims in Chinese ("zh") or any other language ("en")."""
    return Weights.model_validate(json.loads(data.text("judge.json"))["models"][language])


def judge(claim: str, passages: Sequence[str]) -> Ruling:
    """The ruling on a claim: supported, unclear, unsupported or differs.

    Its score is the probability that the passages support it. Between languages words cannot be held
    against each other: such a claim is unclear, with its figures compared.
    """
    mine = read(claim, True)
    for place, passage in enumerate(passages):
        if span := stands_in(claim, passage):
            return Ruling(status="supported", passage=place, start=span[0], end=span[1], score=1.0)
    texts = [read(passage) for passage in passages]
    if not mine.tokens or not any(text.tokens for text in texts):
        return Ruling(status="unclear", lacks=(Lack(kind="words", text=claim.strip()),))
    found = measured(mine, texts)
    language = "zh" if mine.chinese else "en"
    fitted = model(language)
    chance = probability(found.values, language)
    crossed = all(text.chinese != mine.chinese for text in texts if text.tokens)
    lacks = [_lack(figure) for figure in found.absent]
    if any(figure.instead for figure in found.absent):
        status = "differs"
    elif crossed:
        status, chance = "unclear", 0.0
        lacks.append(Lack(kind="language", text=""))
    elif taken := taken_back(mine, texts, found):
        status, chance = "unclear", min(chance, fitted.supported - 0.001)
        lacks.append(Lack(kind="words", text=claim.strip(), found=taken))
    elif chance >= fitted.supported and not lacks:
        status = "supported"
    else:
        status = "unsupported" if chance < fitted.unsupported else "unclear"
        lacks += _lost(mine, found)
    spot = _nearest(mine, found)
    return Ruling(
        status=status,
        lacks=tuple(lacks),
        passage=found.near.passage,
        start=spot.start if spot else 0,
        end=spot.end if spot else 0,
        score=round(chance, 3),
    )


def margin(claim: str, ruling: Ruling) -> float:
    """How far the probability of a ruling lies above the one from which a claim is called supported."""
    return ruling.score - model("zh" if read(claim, True).chinese else "en").supported


def _nearest(claim: Text, found: Measured) -> Sentence | None:
    """Of the sentences that the nearest stretch touches the one that has most of the claim's words."""
    words = frozenset(claim.content)
    return max(found.sentences, key=lambda one: len(words & one.tokens), default=None)


def probability(values: Mapping[str, float], language: str) -> float:
    """The probability of support (0 to 1) for measured features."""
    fitted = model(language)
    odds = fitted.bias + sum(weight * values[name] for name, weight in fitted.weights.items())
    return 1 / (1 + math.exp(-odds))


def _lack(figure: Figure) -> Lack:
    kind = "date" if figure.dated else "figure"
    return Lack.model_validate({"kind": kind, "text": figure.text, "found": figure.instead})


def taken_back(claim: Text, texts: Sequence[Text], found: Measured) -> str:
    """A sentence that has nearly all words of a claim and one that takes it back; "" if none does."""
    if found.values["dense"] < NEARLY_ALL:
        return ""
    own, words = cues(claim.folded), frozenset(claim.content)
    for text in texts:
        for one in text.sentences:
            nearly = len(words & one.tokens) >= NEARLY_ALL * len(words)
            if nearly and (cues(one.text) - own or cuts_a_word(claim.text, one.text)):
                return text.text[one.start : one.end]
    return ""


def _lost(claim: Text, found: Measured) -> list[Lack]:
    """The words of a claim that the nearest sentences lack, as stretches of its text."""
    there = frozenset(token for sentence in found.sentences for token in sentence.tokens)
    said: list[str] = []
    last = at = 0
    for word in segment.cut(claim.folded):
        start, at = at, at + len(word)
        tokens = claim.tokens[bisect_left(claim.starts, start) : bisect_left(claim.starts, at)]
        if word in STOP or all(t in there or t in STOP or t[0].isdigit() for t in tokens):
            continue
        beside = said and not claim.folded[last:start].strip()
        if beside:
            said[-1] += claim.text[last:at]
        else:
            said.append(claim.text[start:at])
        last = at
    return [Lack(kind="words", text=" … ".join(said[:MOST_WORDS]))] if said else []
