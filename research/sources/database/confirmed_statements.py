"""Search among the questions whose statements an analyst has confirmed."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import fuzz

from research.sources.database.value_index import normalize_text

MAX_EXAMPLES = 3
MIN_SIMILARITY = 45.0  # of 100: from here on questions are similar

QuestionStatement = tuple[str, str]  # a question and its statement


def find_statement(question: str, pairs: Sequence[QuestionStatement]) -> str:
    """Return the statement of the same question; "" if there is none.

    Spacing, punctuation, case and Chinese script are ignored.
    """
    normalized = normalize_text(question)
    return next((sql for pair_question, sql in pairs if normalize_text(pair_question) == normalized), "")


def find_similar(
    question: str, pairs: Sequence[QuestionStatement], max_count: int = MAX_EXAMPLES
) -> list[QuestionStatement]:
    """Return the pairs whose questions are most similar to a question, the most similar first."""
    normalized = normalize_text(question)
    scored = [(fuzz.ratio(normalized, normalize_text(pair[0])), pair) for pair in pairs]
    similar = [(score, pair) for score, pair in scored if score >= MIN_SIMILARITY]
    return [pair for _, pair in sorted(similar, key=lambda item: -item[0])[:max_count]]
