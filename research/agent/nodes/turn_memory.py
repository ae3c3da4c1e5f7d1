"""What a turn takes over from those before it: bounded, whichever turn it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from research.citations.numbering import CitedAnswer
from research.core.records import Evidence, Memory, Turn

MAX_TURNS = 2  # that are remembered with their answers
MAX_ANSWER_CHARS = 1_500  # characters of each
MAX_EARLIER_QUESTIONS = 8  # questions before these
MAX_QUESTION_CHARS = 160  # characters of each
MAX_SOURCES = 12  # pieces of evidence
MAX_PASSAGE_CHARS = 12_000  # characters of their passages, in all


def build_memory(turns: Sequence[tuple[str, CitedAnswer | None]]) -> Memory:
    """The memory of some turns, the earliest first: each its question, which stands alone, and its
    answer, if it has one."""
    last = turns[-MAX_TURNS:]
    return Memory(
        turns=tuple(Turn(question=_truncate(q, MAX_QUESTION_CHARS), answer=_answer_text(cited)) for q, cited in last),
        asked=tuple(
            _truncate(q, MAX_QUESTION_CHARS) for q, _ in turns[-MAX_TURNS - MAX_EARLIER_QUESTIONS : -MAX_TURNS]
        ),
        evidence=tuple(_select_evidence(cited for _, cited in reversed(last) if cited)),
    )


def memory_from_client(turns: Sequence[tuple[str, str]]) -> Memory:
    """The memory of turns that a client recounts, the earliest first: each a question and an answer.
    It has no evidence: nothing of it can be cited."""
    return Memory(
        turns=tuple(
            Turn(question=_truncate(asked, MAX_QUESTION_CHARS), answer=_truncate(answer, MAX_ANSWER_CHARS))
            for asked, answer in turns[-MAX_TURNS:]
        ),
        asked=tuple(
            _truncate(asked, MAX_QUESTION_CHARS) for asked, _ in turns[-MAX_TURNS - MAX_EARLIER_QUESTIONS : -MAX_TURNS]
        ),
    )


def _answer_text(cited: CitedAnswer | None) -> str:
    """The text of an answer without its notices and citations."""
    if cited is None:
        return ""
    texts = (item.span.text for item in cited.spans if item.span.kind not in ("notice", "missing"))
    return _truncate(" ".join(texts), MAX_ANSWER_CHARS)


def _select_evidence(answers: Iterable[CitedAnswer]) -> Iterable[Evidence]:
    """What answers cite, those of the latest first, as far as there is room."""
    seen: set[str] = set()
    room = MAX_PASSAGE_CHARS
    for cited in answers:
        for source in cited.sources:
            size = sum(len(passage.text) for passage in source.evidence.passages)
            if source.evidence.id in seen or size > room or len(seen) == MAX_SOURCES:
                continue
            seen.add(source.evidence.id)
            room -= size
            yield source.evidence


def _truncate(text: str, max_chars: int) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
