"""The figures and dates of a claim, each held against those of its passages.

A figure is there if a passage has one that agrees (the same, rounded or converted) or that follows from
its figures by one step of arithmetic. It differs only if the sentence that says the rest of the claim has
another figure of the same kind in its place. Else it is missing, and no more is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from research.citations.tokenization import TokenizedSentence, TokenizedText
from research.core.text.quantities import Measure, dates_conflict, is_derivable, measures_agree

MAX_SEARCHED_SENTENCES = 20  # sentences of all passages, beside the nearest
# Of the claim's other words, how many the sentence has whose figure, or whose date, is another.
MIN_WORD_SHARE, MIN_WORD_SHARE_FOR_DATES = 0.6, 0.7
TIME_KINDS = frozenset({"date", "clock", "weekday", "quarter", "half", "decade", "century", "until"})


@dataclass(frozen=True, slots=True)
class MissingFigure:
    """A figure of the claim that no passage bears out; `instead` is what stands in its place."""

    measure: Measure
    text: str
    replacement: str = ""

    @property
    def is_time(self) -> bool:
        """Whether it is a date or a time of day."""
        return self.measure.kind in TIME_KINDS


def find_missing_figures(
    claim: TokenizedText, passages: Sequence[TokenizedText], nearest: Sequence[tuple[TokenizedText, TokenizedSentence]]
) -> list[MissingFigure]:
    """The figures of a claim that its passages do not bear out. `nearest` are the sentences that say
    most of the claim."""
    wanted = claim.sentences[0].measures
    if not wanted:
        return []
    near = [sentence for _, sentence in nearest]
    given = [m for sentence in near for m in sentence.measures]
    found = list(given)
    if not all(_is_present(m, wanted, given) for m in wanted):
        found += [m for sentence in _other_sentences(claim, passages, near) for m in sentence.measures]
    return [
        _describe_missing(m, wanted, claim, nearest)
        for m in wanted
        if not _is_present(m, wanted, found) and not is_derivable(m, given) and not _has_date_parts(m, found)
    ]


def _is_present(measure: Measure, claim_measures: Sequence[Measure], found: Sequence[Measure]) -> bool:
    """Whether a figure of a claim is among those found: as often, if the claim has it more than once."""
    mine = [
        m
        for m in claim_measures
        if m.start <= measure.start and m.written_value == measure.written_value and measures_agree(m, measure)
    ]
    return sum(measures_agree(measure, other) for other in found) >= max(1, len(mine))


def _other_sentences(
    claim: TokenizedText, passages: Sequence[TokenizedText], nearest_sentences: Sequence[TokenizedSentence]
) -> Iterator[TokenizedSentence]:
    """The other sentences that may have a figure, those first that share most words with the claim."""
    known = {id(sentence) for sentence in nearest_sentences}
    words = frozenset(claim.content_tokens)
    rest = [s for passage in passages for s in passage.sentences if id(s) not in known]
    rest.sort(key=lambda sentence: -len(words & sentence.tokens))
    yield from rest[:MAX_SEARCHED_SENTENCES]


def _has_date_parts(measure: Measure, found: Sequence[Measure]) -> bool:
    """Whether a date stands in parts: the year in one place, the month and day in another."""
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
    text = claim.text[measure.start : measure.end].strip()
    if measure.is_small_word:
        return MissingFigure(measure, text)
    others = [word for word in claim.content_tokens if not word[0].isdigit()]
    for passage, sentence in nearest:
        rivals = [
            m
            for m in sentence.measures
            if _is_comparable(measure, m, claim.folded, sentence.folded)
            and not any(measures_agree(mine, m) for mine in claim_measures)
        ]
        enough = (MIN_WORD_SHARE_FOR_DATES if measure.kind in TIME_KINDS else MIN_WORD_SHARE) * len(others)
        if rivals and sum(word in sentence.tokens for word in others) >= enough:
            rival = min(rivals, key=lambda m: abs(m.start - measure.start))
            start = sentence.start
            said = passage.text[start + rival.start : start + rival.end].strip()
            return MissingFigure(measure, text, said)
    return MissingFigure(measure, text)


_NEXT_WORD = re.compile(r"\s?([^\W\d_]+)")


def _counted_noun(text: str, measure: Measure) -> str | None:
    """The word behind a bare figure; None if the figure has a unit or a date, or no word is there."""
    if text[max(0, measure.start - 1) : measure.start] in tuple("-–—/"):  # the end of 2018-19
        return None
    match = _NEXT_WORD.match(text, measure.end)
    return match[1] if match and not measure.kind and not measure.is_date else None


def _is_comparable(first: Measure, second: Measure, claim_text: str, sentence_text: str) -> bool:
    if first.is_date and second.is_date:
        return dates_conflict(first, second)
    if not first.kind and not second.kind:
        return _counted_noun(claim_text, first) is not None and _counted_noun(claim_text, first) == _counted_noun(
            sentence_text, second
        )
    return first.family == second.family and bool(first.kind)
