"""The singular and the plural of English nouns, such as the names of tables.

Words that follow no rule are in `data/nouns.tsv`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from research import data

_HEAD = re.compile(r"[A-Za-z]+(?=\s+of\s)|[A-Za-z]+(?=\s*$)")
_TO_SINGULAR = (
    (r"(?<=[^aeiou])ies$", "y"),  # cities
    (r"(?<=[^aeo]us)es$", ""),  # statuses; not houses, causes
    (r"(?:(?<=ss)|(?<=sh)|(?<=ch)|(?<=x)|(?<=tz)|(?<=[^aeiou]o))es$", ""),  # classes, boxes, heroes
    (r"(?<=[^su])s$", ""),
)
_TO_PLURAL = (
    (r"(?<=[^aeiou])y$", "ies"),
    (r"(?<=s)is$", "es"),  # analysis
    (r"(?:(?<=s)|(?<=x)|(?<=z)|(?<=ch)|(?<=sh))$", "es"),
    (r"$", "s"),
)


def singular(phrase: str) -> str:
    """A noun in the singular. Of several words the last is the noun, or the one before "of"."""
    return _with_head(phrase, _singular)


def plural(phrase: str) -> str:
    """A noun in the plural, as in `singular`. What is a plural stays as it is."""
    return _with_head(phrase, _plural)


def _with_head(phrase: str, change: Callable[[str], str]) -> str:
    """A phrase with its noun changed; letters that stay keep their case."""

    def changed(match: re.Match[str]) -> str:
        word, other = match[0], change(match[0].lower())
        pairs = enumerate(zip(word.lower(), other, strict=False))
        same = next((at for at, (one, new) in pairs if one != new), min(len(word), len(other)))
        return word[:same] + other[same:]

    return _HEAD.sub(changed, phrase, count=1)


def _singular(word: str) -> str:
    plurals, singulars = _irregular()
    if word in singulars:
        return singulars[word]
    if word in plurals or len(word) < 4 or word.endswith("sis") or not _spoken(word):
        return word
    return _by_rule(word, _TO_SINGULAR)


def _plural(word: str) -> str:
    plurals, singulars = _irregular()
    if word in plurals:
        return plurals[word]
    if word in singulars or _singular(word) != word or (word.endswith("s") and not _spoken(word)):
        return word
    return _by_rule(word, _TO_PLURAL)


def _spoken(word: str) -> bool:
    """Return whether a word has a vowel; a word without one is an abbreviation, such as GPS."""
    return re.search("[aeiouy]", word) is not None


def _by_rule(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    return next((re.sub(was, now, word) for was, now in rules if re.search(was, word)), word)


@cache
def _irregular() -> tuple[dict[str, str], dict[str, str]]:
    """The plurals by their singulars, and the singulars by their plurals."""
    pairs = [(one, many) for one, many in data.rows("nouns.tsv")]
    return dict(pairs), {many: one for one, many in pairs}
