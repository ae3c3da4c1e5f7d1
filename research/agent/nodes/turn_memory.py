"""The part of a conversation that a new turn receives, limited in size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from research.citations.numbering import CitedAnswer
from research.core.records import Evidence, Memory, Turn

MAX_TURNS = 2  # with their answers
MAX_ANSWER_CHARS = 1_500
MAX_EARLIER_QUESTIONS = 8  # before these, without answers
MAX_QUESTION_CHARS = 160
MAX_SOURCES = 12
MAX_PASSAGE_CHARS = 12_000  # of all evidence together


def build_memory(turns: Sequence[tuple[str, CitedAnswer | None]]) -> Memory:
    """Build the memory of turns, the earliest first: standalone questions with optional answers."""
    recent = [cited for _, cited in reversed(turns[-MAX_TURNS:]) if cited]
    memory = memory_from_client([(question, _answer_text(cited)) for question, cited in turns])
    return memory.model_copy(update={"evidence": tuple(_select_evidence(recent))})


def memory_from_client(turns: Sequence[tuple[str, str]]) -> Memory:
    """Build the memory of turns that a client sends, the earliest first, as questions and answers.

    It has no evidence, so nothing in it can be cited.
    """
    earlier = turns[-MAX_TURNS - MAX_EARLIER_QUESTIONS : -MAX_TURNS]
    return Memory(
        turns=tuple(
            Turn(question=_truncate(question, MAX_QUESTION_CHARS), answer=_truncate(answer, MAX_ANSWER_CHARS))
            for question, answer in turns[-MAX_TURNS:]
        ),
        earlier_questions=tuple(_truncate(question, MAX_QUESTION_CHARS) for question, _ in earlier),
    )


def _answer_text(cited: CitedAnswer | None) -> str:
    """Return the text of an answer without its notices and citations."""
    spans = cited.spans if cited else ()
    return " ".join(item.span.text for item in spans if item.span.kind not in ("notice", "missing"))


def _select_evidence(answers: Iterable[CitedAnswer]) -> Iterable[Evidence]:
    """Yield the evidence that answers cite, the latest answer first, within the limits."""
    seen: set[str] = set()
    remaining = MAX_PASSAGE_CHARS
    for cited in answers:
        for source in cited.sources:
            size = sum(len(passage.text) for passage in source.evidence.passages)
            if source.evidence.id in seen or size > remaining or len(seen) == MAX_SOURCES:
                continue
            seen.add(source.evidence.id)
            remaining -= size
            yield source.evidence


def _truncate(text: str, max_chars: int) -> str:
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
