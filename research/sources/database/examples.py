"""Questions whose statements an analyst has found right: which of them are like another question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rapidfuzz import fuzz

from research.core.text.hanzi import simplified

MOST = 3
LIKE = 45.0  # of 100, from which a question is like another

Pair = tuple[str, str]  # a question and its statement


def same(question: str, pairs: Sequence[Pair]) -> str:
    """The statement of the same question, in whatever spacing, punctuation and script; "" if there is none."""
    wanted = _plain(question)
    return next((sql for asked, sql in pairs if _plain(asked) == wanted), "")


def like(question: str, pairs: Sequence[Pair], most: int = MOST) -> list[Pair]:
    """The pairs whose questions are most like one, the likest first."""
    wanted = _plain(question)
    scored = [(fuzz.ratio(wanted, _plain(pair[0])), pair) for pair in pairs]
    near = [(score, pair) for score, pair in scored if score >= LIKE]
    return [pair for _, pair in sorted(near, key=lambda item: -item[0])[:most]]


def _plain(text: str) -> str:
    return re.sub(r"[\s\W_]+", "", simplified(unicodedata.normalize("NFKC", text)).lower())
