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
from research.citations.cues import find_cues
from research.citations.features import ClaimFeatures, measure_features
from research.citations.figure_check import MissingFigure
from research.citations.tokenization import TokenizedSentence, TokenizedText, tokenize_text
from research.citations.verbatim import cuts_word, find_verbatim_sentence
from research.core.records import Record, SupportAssessment, SupportGap
from research.core.text import segment
from research.core.text.tokenizer import STOP_WORDS

MAX_MISSING_WORDS = 12  # that a ruling names as missing
SMALL_MARGIN = 0.15  # above the threshold, within which support is less often right than it is on the whole
FULL_OVERLAP = 0.9  # of a claim's words in one stretch: what else stands there may take it back


class JudgeAccuracy(Record):
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


class JudgeModel(Record):
    """A fitted model: what a feature adds to the log odds of support, the probability from which a claim
    is called supported, and that below which it is called unsupported (0: it never is)."""

    weights: Mapping[str, float]
    bias: float
    supported: float
    unsupported: float
    accuracy: JudgeAccuracy


@cache
def load_model(language: str) -> JudgeModel:
    """The model for claims in Chinese ("zh") or any other language ("en")."""
    return JudgeModel.model_validate(json.loads(data.text("judge.json"))["models"][language])


def judge_claim(claim: str, passages: Sequence[str]) -> SupportAssessment:
    """The ruling on a claim: supported, unclear, unsupported or differs.

    Its score is the probability that the passages support it. Between languages words cannot be held
    against each other: such a claim is unclear, with its figures compared.
    """
    mine = tokenize_text(claim, True)
    for place, passage in enumerate(passages):
        if span := find_verbatim_sentence(claim, passage):
            return SupportAssessment(status="supported", passage=place, start=span[0], end=span[1], score=1.0)
    texts = [tokenize_text(passage) for passage in passages]
    if not mine.tokens or not any(text.tokens for text in texts):
        return SupportAssessment(status="unclear", lacks=(SupportGap(kind="words", text=claim.strip()),))
    found = measure_features(mine, texts)
    language = "zh" if mine.is_chinese else "en"
    fitted = load_model(language)
    chance = support_probability(found.feature_values, language)
    crossed = all(text.is_chinese != mine.is_chinese for text in texts if text.tokens)
    lacks = [_figure_gap(figure) for figure in found.missing_figures]
    if any(figure.replacement for figure in found.missing_figures):
        status = "differs"
    elif crossed:
        status, chance = "unclear", 0.0
        lacks.append(SupportGap(kind="language", text=""))
    elif taken := find_retraction(mine, texts, found):
        status, chance = "unclear", min(chance, fitted.supported - 0.001)
        lacks.append(SupportGap(kind="words", text=claim.strip(), found=taken))
    elif chance >= fitted.supported and not lacks:
        status = "supported"
    else:
        status = "unsupported" if chance < fitted.unsupported else "unclear"
        lacks += _missing_words(mine, found)
    spot = _nearest_sentence(mine, found)
    return SupportAssessment(
        status=status,
        lacks=tuple(lacks),
        passage=found.window.passage_index,
        start=spot.start if spot else 0,
        end=spot.end if spot else 0,
        score=round(chance, 3),
    )


def support_margin(claim: str, ruling: SupportAssessment) -> float:
    """How far the probability of a ruling lies above the one from which a claim is called supported."""
    return ruling.score - load_model("zh" if tokenize_text(claim, True).is_chinese else "en").supported


def _nearest_sentence(claim: TokenizedText, features: ClaimFeatures) -> TokenizedSentence | None:
    """Of the sentences that the nearest stretch touches the one that has most of the claim's words."""
    words = frozenset(claim.content_tokens)
    return max(features.sentences, key=lambda one: len(words & one.tokens), default=None)


def support_probability(values: Mapping[str, float], language: str) -> float:
    """The probability of support (0 to 1) for measured features."""
    fitted = load_model(language)
    odds = fitted.bias + sum(weight * values[name] for name, weight in fitted.weights.items())
    return 1 / (1 + math.exp(-odds))


def _figure_gap(figure: MissingFigure) -> SupportGap:
    kind = "date" if figure.is_time else "figure"
    return SupportGap.model_validate({"kind": kind, "text": figure.text, "found": figure.replacement})


def find_retraction(claim: TokenizedText, texts: Sequence[TokenizedText], features: ClaimFeatures) -> str:
    """A sentence that has nearly all words of a claim and one that takes it back; "" if none does."""
    if features.feature_values["dense"] < FULL_OVERLAP:
        return ""
    own, words = find_cues(claim.folded), frozenset(claim.content_tokens)
    for text in texts:
        for one in text.sentences:
            nearly = len(words & one.tokens) >= FULL_OVERLAP * len(words)
            if nearly and (find_cues(one.folded) - own or cuts_word(claim.text, one.folded)):
                return text.text[one.start : one.end]
    return ""


def _missing_words(claim: TokenizedText, features: ClaimFeatures) -> list[SupportGap]:
    """The words of a claim that the nearest sentences lack, as stretches of its text."""
    there = frozenset(token for sentence in features.sentences for token in sentence.tokens)
    said: list[str] = []
    last = at = 0
    for word in segment.cut(claim.folded):
        start, at = at, at + len(word)
        tokens = claim.tokens[bisect_left(claim.token_starts, start) : bisect_left(claim.token_starts, at)]
        if word in STOP_WORDS or all(t in there or t in STOP_WORDS or t[0].isdigit() for t in tokens):
            continue
        beside = said and not claim.folded[last:start].strip()
        if beside:
            said[-1] += claim.text[last:at]
        else:
            said.append(claim.text[start:at])
        last = at
    return [SupportGap(kind="words", text=" … ".join(said[:MAX_MISSING_WORDS]))] if said else []
