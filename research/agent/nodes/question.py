"""The first stage: cleaning and checking the question."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from research.core.records import MAX_QUESTION_CHARS, Question
from research.core.text.tokenizer import detect_language

_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ue000-\uf8ff]")


class QuestionError(ValueError):
    """The question cannot be researched; `problem` is the reason, `length` is in characters."""

    def __init__(self, problem: Literal["empty", "too long", "no words"], length: int) -> None:
        self.problem = problem
        self.length = length
        super().__init__(
            {
                "empty": "The question is empty. Type what you want to know.",
                "too long": f"The question has {length:,} characters; the limit is {MAX_QUESTION_CHARS:,}. "
                "Shorten it; put longer text into the library.",
                "no words": "The question has no searchable words. Type what you want to know.",
            }[problem]
        )


def clean_question(text: str) -> Question:
    """Clean a question and detect its language.

    Raises:
        QuestionError: see `clean_question_text`.
    """
    return build_question(clean_question_text(text))


def build_question(clean_text: str) -> Question:
    """Return the question of a text that `clean_question_text` has cleaned, with its language."""
    return Question(text=clean_text, language=detect_language(clean_text))


def clean_question_text(text: str) -> str:
    """Remove control characters from a question and compose its accents (NFC).

    Raises:
        QuestionError: it is empty, longer than `MAX_QUESTION_CHARS`, or has no word.
    """
    clean = _CONTROL_CHARS.sub("", unicodedata.normalize("NFC", text)).strip()
    if not clean:
        raise QuestionError("empty", 0)
    if len(clean) > MAX_QUESTION_CHARS:
        raise QuestionError("too long", len(clean))
    if not re.search(r"[^\W_]", clean):
        raise QuestionError("no words", len(clean))
    return clean
