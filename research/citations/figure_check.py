"""Check of the figures and dates of a claim against those of its passages.

A figure is present if a passage has one that agrees (equal, rounded or converted) or if it follows
from the passage's figures by one arithmetic step. It has a replacement only if the sentence with
the other words of the claim has another figure of the same kind. Otherwise it is just missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from research.citations.tokenization import TokenizedSentence, TokenizedText
from research.core.text.quantities import Measure, dates_conflict, is_derivable, measures_agree

MAX_SEARCHED_SENTENCES = 20  # sentences of all passages, besides the nearest ones
# Share of the claim's other words that a sentence needs before its different figure, or date,
# counts as the replacement.
MIN_WORD_SHARE, MIN_WORD_SHARE_FOR_DATES = 0.6, 0.7
TIME_KINDS = frozenset({"date", "clock", "weekday", "quarter", "half", "decade", "century", "until"})


@dataclass(frozen=True, slots=True)
class MissingFigure:
    """A figure of the claim that no passage supports; `replacement` is another figure in its place."""

    measure: Measure
    text: str
    replacement: str = ""

    @property
    def is_time(self) -> bool:
        """True if the figure is a date or a time of day."""
        return self.measure.kind in TIME_KINDS


def find_missing_figures(
    claim: TokenizedText, passages: Sequence[TokenizedText], nearest: Sequence[tuple[TokenizedText, TokenizedSentence]]
) -> list[MissingFigure]:
    """Return the figures of a claim that its passages do not support.

    `nearest` are the passages and sentences with most words of the claim.
    """
    claim_measures = claim.sentences[0].measures
    if not claim_measures:
        return []
    nearest_sentences = [sentence for _, sentence in nearest]
    nearest_measures = [m for sentence in nearest_sentences for m in sentence.measures]
    measures = list(nearest_measures)
    if not all(_is_present(m, claim_measures, nearest_measures) for m in claim_measures):
        measures += [m for sentence in _other_sentences(claim, passages, nearest_sentences) for m in sentence.measures]
    return [
        _describe_missing(m, claim_measures, claim, nearest)
        for m in claim_measures
        if not _is_present(m, claim_measures, measures)
        and not is_derivable(m, nearest_measures)
        and not _has_date_parts(m, measures)
    ]


def _is_present(measure: Measure, claim_measures: Sequence[Measure], found: Sequence[Measure]) -> bool:
    """Return whether the found figures contain a figure at least as often as the claim does."""
    occurrences = [
        m
        for m in claim_measures
        if m.start <= measure.start and m.written_value == measure.written_value and measures_agree(m, measure)
    ]
    return sum(measures_agree(measure, other) for other in found) >= max(1, len(occurrences))


def _other_sentences(
    claim: TokenizedText, passages: Sequence[TokenizedText], nearest_sentences: Sequence[TokenizedSentence]
) -> Iterator[TokenizedSentence]:
    """Yield sentences outside the nearest ones, those with most words of the claim first."""
    known = {id(sentence) for sentence in nearest_sentences}
    words = frozenset(claim.content_tokens)
    others = [s for passage in passages for s in passage.sentences if id(s) not in known]
    others.sort(key=lambda sentence: -len(words & sentence.tokens))
    yield from others[:MAX_SEARCHED_SENTENCES]


def _has_date_parts(measure: Measure, found: Sequence[Measure]) -> bool:
    """Return whether a date occurs in two parts: its year, and its month and day."""
    year, month, day = measure.date_parts
    if not measure.is_date or year is None or month is None:
        return False
    dates = [m.date_parts for m in found if m.is_date]
    return any(y == year for y, _, _ in dates) and any(
        y in (None, year) and m == month and day in (None, d) for y, m, d in dates
    )


def _describe_missing(
    measure: Measure,
    claim_measures: Sequence[Measure],
    claim: TokenizedText,
    nearest: Sequence[tuple[TokenizedText, TokenizedSentence]],
) -> MissingFigure:
    """Describe a missing figure, with the figure that a nearest sentence has in its place."""
    text = claim.text[measure.start : measure.end].strip()
    if measure.is_small_word:
        return MissingFigure(measure, text)
    others = [word for word in claim.content_tokens if not word[0].isdigit()]
    for passage, sentence in nearest:
        rivals = [
            m
            for m in sentence.measures
            if _is_comparable(measure, m, claim.folded, sentence.folded)
            and not any(measures_agree(claimed, m) for claimed in claim_measures)
        ]
        min_count = (MIN_WORD_SHARE_FOR_DATES if measure.kind in TIME_KINDS else MIN_WORD_SHARE) * len(others)
        if rivals and sum(word in sentence.tokens for word in others) >= min_count:
            rival = min(rivals, key=lambda m: abs(m.start - measure.start))
            start = sentence.start
            replacement = passage.text[start + rival.start : start + rival.end].strip()
            return MissingFigure(measure, text, replacement)
    return MissingFigure(measure, text)


_NEXT_WORD = re.compile(r"\s?([^\W\d_]+)")


def _counted_noun(text: str, measure: Measure) -> str | None:
    """Return the word after a bare figure; None if it has a unit, is a date, or no word follows."""
    if text[max(0, measure.start - 1) : measure.start] in tuple("-–—/"):  # the second year of 2018-19
        return None
    match = _NEXT_WORD.match(text, measure.end)
    return match[1] if match and not measure.kind and not measure.is_date else None


def _is_comparable(first: Measure, second: Measure, claim_text: str, sentence_text: str) -> bool:
    """Return whether a figure of a sentence may contradict a figure of the claim."""
    if first.is_date and second.is_date:
        return dates_conflict(first, second)
    if not first.kind and not second.kind:
        noun = _counted_noun(claim_text, first)
        return noun is not None and noun == _counted_noun(sentence_text, second)
    return first.family == second.family and bool(first.kind)
