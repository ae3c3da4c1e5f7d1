"""Patterns of the words that `data/words/cells.txt` lists, and negation."""

from __future__ import annotations

import re
from functools import cache

from research import data
from research.core.text.quantities import Measure
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES, has_han

MAX_VALUE_CHARS = 400  # longer texts are cut
DATE_BOUNDS = ("since", "until", "as of")  # how a date can limit a state
HAN_RUN = re.compile(f"[{HAN_RANGES}]+")
WORD = re.compile(rf"[^\W\d_{HAN_RANGES}]+(?:['’]s)?")


@cache
def word_pattern(*list_names: str) -> re.Pattern[str]:
    """Compile a pattern of the words in some lists of `cells.txt`, English ones as whole words."""
    words = "|".join(data.words("cells")[name] for name in list_names)
    han = [word for word in split_alternatives(words) if has_han(word)]
    other = [word for word in split_alternatives(words) if not has_han(word)]
    parts = ["|".join(sorted(han, key=len, reverse=True))] if han else []
    parts += [rf"\b(?:{'|'.join(other)})\b"] if other else []
    return re.compile("|".join(parts))


def split_alternatives(words: str) -> list[str]:
    """Split alternatives at "|", except within brackets."""
    return re.split(r"\|(?![^()]*\))", words)


def is_negated(preceding: str) -> bool:
    """Return whether the text before a word negates it, with no comma between."""
    tail = CLAUSE_END_PATTERN.split(preceding)[-1]
    zh, en = word_pattern("not zh"), word_pattern("not en")
    near = tail[-5:] if has_han(tail) else ""
    return zh.search(near) is not None or en.search(tail) is not None


def find_date_bound(folded: str, measure: Measure) -> str:
    """Return how a date in a folded text limits a state; "" if it is the date of an event.

    The result is "since", "until" or "as of".
    """
    before, behind = folded[: measure.start].rstrip(" ("), folded[measure.end :].lstrip(" ")
    for bound in DATE_BOUNDS:
        before_pattern, behind_pattern = _bound_patterns(bound)
        if before_pattern.search(before) or behind_pattern.match(behind):
            return bound
    return ""


@cache
def _bound_patterns(bound: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of the words before and behind a date that limits a state."""
    before = word_pattern(f"{bound} before").pattern
    behind = word_pattern(f"{bound} behind").pattern
    return (
        re.compile(rf"(?:{before})(?: the)?(?: (?:end|start|beginning|close) of)?(?: the)?(?: year)?$"),
        re.compile(rf"年?[底初末]?(?:{behind})"),
    )


def shorten_value(text: str) -> str:
    """Return a text on one line without punctuation at its ends, cut to `MAX_VALUE_CHARS`."""
    line = " ".join(text.split()).strip(" ，,；;。")
    return line if len(line) <= MAX_VALUE_CHARS else line[: MAX_VALUE_CHARS - 1].rstrip() + "…"
