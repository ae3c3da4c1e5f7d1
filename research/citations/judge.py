"""Judgement of a claim by rules and a logistic regression; no model is called, so it is repeatable.

A verbatim claim is supported, and one with another figure in its place differs. For the rest, the
probability of support comes from a logistic regression. Its weights, and the data that they were
fitted on, are in `data/judge.json`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache

from research import data
from research.citations.cues import find_cues
from research.citations.features import ClaimFeatures, compute_features
from research.citations.figure_check import MissingFigure
from research.citations.tokenization import TokenizedSentence, TokenizedText, tokenize_text
from research.citations.verbatim import cuts_last_word, find_verbatim_sentence
from research.core.records import Record, SupportAssessment, SupportGap
from research.core.text import segment
from research.core.text.tokenizer import STOP_WORDS

MAX_MISSING_WORDS = 12  # longest list of missing words in an assessment
SMALL_MARGIN = 0.15  # a probability this little above the threshold is less reliable than others
FULL_OVERLAP = 0.9  # share of a claim's words that a sentence must have to be searched for a retraction


class JudgeAccuracy(Record):
    """Accuracy of the judge on sets that were left out of the fit; shares from 0 to 1.

    `balanced` is the balanced accuracy, and `overlap` that of plain word overlap with a threshold
    learnt on the other sets. `recall` is the share of supported claims that are judged supported;
    `half` and `most` are the precision of that judgement where half, or four fifths, of the claims
    are supported. `doubted`, `doubted_half` and `doubted_most` are the same for unsupported claims.
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
    """A fitted logistic regression.

    `weights` are added to the log odds of support. A claim is supported from the probability
    `supported` on, and unsupported below `unsupported` (0: never).
    """

    weights: Mapping[str, float]
    bias: float
    supported: float
    unsupported: float
    accuracy: JudgeAccuracy


@cache
def load_model(language: str) -> JudgeModel:
    """Load the model for claims in Chinese ("zh") or in any other language ("en")."""
    return JudgeModel.model_validate(data.json_object("judge.json")["models"][language])


def judge_claim(claim: str, passages: Sequence[str]) -> SupportAssessment:
    """Judge a claim against passages: supported, unclear, unsupported or differs.

    The score is the probability that the passages support the claim. If claim and passages are in
    different languages, words cannot be compared: the claim is unclear, and only figures are
    compared.
    """
    tokenized = tokenize_text(claim, True)
    for index, passage in enumerate(passages):
        if span := find_verbatim_sentence(claim, passage):
            return SupportAssessment(status="supported", passage=index, start=span[0], end=span[1], score=1.0)
    texts = [tokenize_text(passage) for passage in passages]
    if not tokenized.tokens or not any(text.tokens for text in texts):
        return SupportAssessment(status="unclear", gaps=(SupportGap(kind="words", text=claim.strip()),))
    features = compute_features(tokenized, texts)
    language = "zh" if tokenized.is_chinese else "en"
    model = load_model(language)
    probability = support_probability(features.feature_values, language)
    is_cross_language = all(text.is_chinese != tokenized.is_chinese for text in texts if text.tokens)
    gaps = [_figure_gap(figure) for figure in features.missing_figures]
    if any(figure.replacement for figure in features.missing_figures):
        status = "differs"
    elif is_cross_language:
        status, probability = "unclear", 0.0
        gaps.append(SupportGap(kind="language", text=""))
    elif retraction := find_retraction(tokenized, texts, features):
        status, probability = "unclear", min(probability, model.supported - 0.001)
        gaps.append(SupportGap(kind="words", text=claim.strip(), found=retraction))
    elif probability >= model.supported and not gaps:
        status = "supported"
    else:
        status = "unsupported" if probability < model.unsupported else "unclear"
        gaps += _missing_words(tokenized, features)
    nearest = _nearest_sentence(tokenized, features)
    return SupportAssessment(
        status=status,
        gaps=tuple(gaps),
        passage=features.window.passage_index,
        start=nearest.start if nearest else 0,
        end=nearest.end if nearest else 0,
        score=round(probability, 3),
    )


def support_margin(claim: str, assessment: SupportAssessment) -> float:
    """Return by how much the probability of support exceeds the threshold for "supported"."""
    return assessment.score - load_model("zh" if tokenize_text(claim, True).is_chinese else "en").supported


def _nearest_sentence(claim: TokenizedText, features: ClaimFeatures) -> TokenizedSentence | None:
    """Return the sentence in the nearest window that has most words of the claim."""
    words = frozenset(claim.content_tokens)
    return max(features.sentences, key=lambda sentence: len(words & sentence.tokens), default=None)


def support_probability(values: Mapping[str, float], language: str) -> float:
    """Return the probability of support (0 to 1) for measured features."""
    model = load_model(language)
    odds = model.bias + sum(weight * values[name] for name, weight in model.weights.items())
    return 1 / (1 + math.exp(-odds))


def _figure_gap(figure: MissingFigure) -> SupportGap:
    """Convert a missing figure to a gap."""
    kind = "date" if figure.is_time else "figure"
    return SupportGap.model_validate({"kind": kind, "text": figure.text, "found": figure.replacement})


def find_retraction(claim: TokenizedText, texts: Sequence[TokenizedText], features: ClaimFeatures) -> str:
    """Return a sentence that has nearly all words of a claim but denies or limits it; "" if there is none."""
    if features.feature_values["dense"] < FULL_OVERLAP:
        return ""
    claim_cues, words = find_cues(claim.folded), frozenset(claim.content_tokens)
    for text in texts:
        for sentence in text.sentences:
            is_near = len(words & sentence.tokens) >= FULL_OVERLAP * len(words)
            if is_near and (find_cues(sentence.folded) - claim_cues or cuts_last_word(claim.text, sentence.folded)):
                return text.text[sentence.start : sentence.end]
    return ""


def _missing_words(claim: TokenizedText, features: ClaimFeatures) -> list[SupportGap]:
    """Return a gap with the words of a claim that the nearest sentences lack; [] if they have all."""
    present = frozenset(token for sentence in features.sentences for token in sentence.tokens)
    excerpts: list[str] = []
    last = at = 0
    for word in segment.cut(claim.folded):
        start, at = at, at + len(word)
        tokens = claim.tokens[bisect_left(claim.token_starts, start) : bisect_left(claim.token_starts, at)]
        if word in STOP_WORDS or all(t in present or t in STOP_WORDS or t[0].isdigit() for t in tokens):
            continue
        is_adjacent = excerpts and not claim.folded[last:start].strip()
        if is_adjacent:
            excerpts[-1] += claim.text[last:at]
        else:
            excerpts.append(claim.text[start:at])
        last = at
    return [SupportGap(kind="words", text=" … ".join(excerpts[:MAX_MISSING_WORDS]))] if excerpts else []
