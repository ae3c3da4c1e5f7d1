"""What a turn takes over from those before it: bounded, whichever turn it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from research.citations.numbering import CitedAnswer
from research.core.records import Evidence, Memory, Turn

TURNS = 2  # that are remembered with their answers
ANSWER = 1_500  # characters of each
ASKED = 8  # questions before these
QUESTION = 160  # characters of each
SOURCES = 12  # pieces of evidence
PASSAGES = 12_000  # characters of their passages, in all


def remembered(turns: Sequence[tuple[str, CitedAnswer | None]]) -> Memory:
    """The memory of some turns, the earliest first: each its question, which stands alone, and its
    answer, if it has one."""
    last = turns[-TURNS:]
    return Memory(
        turns=tuple(Turn(question=_cut(q, QUESTION), answer=_told(cited)) for q, cited in last),
        asked=tuple(_cut(q, QUESTION) for q, _ in turns[-TURNS - ASKED : -TURNS]),
        evidence=tuple(_kept(cited for _, cited in reversed(last) if cited)),
    )


def recounted(turns: Sequence[tuple[str, str]]) -> Memory:
    """The memory of turns that a client recounts, the earliest first: each a question and an answer.
    It has no evidence: nothing of it can be cited."""
    return Memory(
        turns=tuple(
            Turn(question=_cut(asked, QUESTION), answer=_cut(answer, ANSWER))
            for asked, answer in turns[-TURNS:]
        ),
        asked=tuple(_cut(asked, QUESTION) for asked, _ in turns[-TURNS - ASKED : -TURNS]),
    )


def _told(cited: CitedAnswer | None) -> str:
    """The text of an answer without its notices and citations."""
    if cited is None:
        return ""
    texts = (item.span.text for item in cited.spans if item.span.kind not in ("notice", "missing"))
    return _cut(" ".join(texts), ANSWER)


def _kept(answers: Iterable[CitedAnswer]) -> Iterable[Evidence]:
    """What answers cite, those of the latest first, as far as there is room."""
    seen: set[str] = set()
    room = PASSAGES
    for cited in answers:
        for source in cited.sources:
            size = sum(len(passage.text) for passage in source.evidence.passages)
            if source.evidence.id in seen or size > room or len(seen) == SOURCES:
                continue
            seen.add(source.evidence.id)
            room -= size
            yield source.evidence


def _cut(text: str, length: int) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= length else text[: length - 1] + "…"
