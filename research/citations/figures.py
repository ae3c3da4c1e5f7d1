"""The figures and dates of a claim, each held against those of its passages.

A figure is there if a passage has one that agrees (the same, rounded or converted) or that follows from
its figures by one step of arithmetic. It differs only if the sentence that says the rest of the claim has
another figure of the same kind in its place. Else it is missing, and no more is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from research.citations.reading import Sentence, Text
from research.core.text.quantities import Measure, agrees, dates_clash, derived

SEARCHED = 20  # sentences of all passages, beside the nearest
# Of the claim's other words, how many the sentence has whose figure, or whose date, is another.
SAYING, DATING = 0.6, 0.7
TIMES = frozenset({"date", "clock", "weekday", "quarter", "half", "decade", "century", "until"})


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the claim that no passage bears out; `instead` is what stands in its place."""

    measure: Measure
    text: str
    instead: str = ""

    @property
    def dated(self) -> bool:
        """Whether it is a date or a time of day."""
        return self.measure.kind in TIMES


def missing(
    claim: Text, passages: Sequence[Text], nearest: Sequence[tuple[Text, Sentence]]
) -> list[Figure]:
    """The figures of a claim that its passages do not bear out. `nearest` are the sentences that say
    most of the claim."""
    wanted = claim.sentences[0].measures
    if not wanted:
        return []
    near = [sentence for _, sentence in nearest]
    given = [m for sentence in near for m in sentence.measures]
    found = list(given)
    if not all(_there(m, wanted, given) for m in wanted):
        found += [m for sentence in _others(claim, passages, near) for m in sentence.measures]
    return [
        _figure(m, wanted, claim, nearest)
        for m in wanted
        if not _there(m, wanted, found) and not derived(m, given) and not _assembled(m, found)
    ]


def _there(measure: Measure, wanted: Sequence[Measure], found: Sequence[Measure]) -> bool:
    """Whether a figure of a claim is among those found: as often, if the claim has it more than once."""
    mine = [
        m
        for m in wanted
        if m.start <= measure.start and m.bare == measure.bare and agrees(m, measure)
    ]
    return sum(agrees(measure, other) for other in found) >= max(1, len(mine))


def _others(claim: Text, passages: Sequence[Text], near: Sequence[Sentence]) -> Iterator[Sentence]:
    """The other sentences that may have a figure, those first that share most words with the claim."""
    known = {id(sentence) for sentence in near}
    words = frozenset(claim.content)
    rest = [s for passage in passages for s in passage.sentences if id(s) not in known]
    rest.sort(key=lambda sentence: -len(words & sentence.tokens))
    yield from rest[:SEARCHED]


def _assembled(measure: Measure, found: Sequence[Measure]) -> bool:
    """Whether a date stands in parts: the year in one place, the month and day in another."""
    year, month, day = measure.parts
    if not measure.dated or year is None or month is None:
        return False
    dates = [m.parts for m in found if m.dated]
    return any(y == year for y, _, _ in dates) and any(
        y in (None, year) and m == month and day in (None, d) for y, m, d in dates
    )


def _figure(
    measure: Measure,
    wanted: Sequence[Measure],
    claim: Text,
    nearest: Sequence[tuple[Text, Sentence]],
) -> Figure:
    text = claim.text[measure.start : measure.end].strip()
    if measure.spoken:
        return Figure(measure, text)
    others = [word for word in claim.content if not word[0].isdigit()]
    for passage, sentence in nearest:
        rivals = [
            m
            for m in sentence.measures
            if _comparable(measure, m, claim.folded, sentence.text)
            and not any(agrees(mine, m) for mine in wanted)
        ]
        enough = (DATING if measure.kind in TIMES else SAYING) * len(others)
        if rivals and sum(word in sentence.tokens for word in others) >= enough:
            rival = min(rivals, key=lambda m: abs(m.start - measure.start))
            start = sentence.start
            said = passage.text[start + rival.start : start + rival.end].strip()
            return Figure(measure, text, said)
    return Figure(measure, text)


_NEXT = re.compile(r"\s?([^\W\d_]+)")


def _counted(text: str, measure: Measure) -> str | None:
    """The word behind a bare figure; None if the figure has a unit or a date, or no word is there."""
    if text[max(0, measure.start - 1) : measure.start] in tuple("-–—/"):  # the end of 2018-19
        return None
    match = _NEXT.match(text, measure.end)
    return match[1] if match and not measure.kind and not measure.dated else None


def _comparable(one: Measure, other: Measure, claim: str, sentence: str) -> bool:
    if one.dated and other.dated:
        return dates_clash(one, other)
    if not one.kind and not other.kind:
        return _counted(claim, one) is not None and _counted(claim, one) == _counted(
            sentence, other
        )
    return one.family == other.family and bool(one.kind)
