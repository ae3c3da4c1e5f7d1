"""Questions whose statements an analyst has found right: which of them are like another question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rapidfuzz import fuzz

from research.core.text.hanzi import to_simplified

MAX_EXAMPLES = 3
MIN_SIMILARITY = 45.0  # of 100, from which a question is like another

QuestionStatement = tuple[str, str]  # a question and its statement


def find_statement(question: str, pairs: Sequence[QuestionStatement]) -> str:
    """The statement of the same question, in whatever spacing, punctuation and script; "" if there is none."""
    wanted = _normalize(question)
    return next((sql for asked, sql in pairs if _normalize(asked) == wanted), "")


def find_similar(
    question: str, pairs: Sequence[QuestionStatement], max_count: int = MAX_EXAMPLES
) -> list[QuestionStatement]:
    """The pairs whose questions are most like one, the likest first."""
    wanted = _normalize(question)
    scored = [(fuzz.ratio(wanted, _normalize(pair[0])), pair) for pair in pairs]
    near = [(score, pair) for score, pair in scored if score >= MIN_SIMILARITY]
    return [pair for _, pair in sorted(near, key=lambda item: -item[0])[:max_count]]


def _normalize(text: str) -> str:
    return re.sub(r"[\s\W_]+", "", to_simplified(unicodedata.normalize("NFKC", text)).lower())
