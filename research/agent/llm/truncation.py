"""What of the material is shown where there is no room for all of it, and how a long text is shortened.

The texts of a query are worth more the more of its words they have, each weighted by how rare it is
among them; those with the same keep the order of the search. One of each query is taken after the
other, what is old last of all, and none gets more than its share until all have one. Lengths are in tokens, as estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.tokenizer import HAN_RANGES
from research.models.token_counts import estimate_tokens

MIN_SHARES = 12  # texts, at least, that the room is divided among, if there are so many
MIN_SHARE_TOKENS, MAX_SHARE_TOKENS = 150, 1_200  # tokens of a share, as far as the room allows
TRUNCATION_MARK = "[…]"  # stands where a text goes on that a prompt does not show
_SENTENCE_LOOKBACK_CHARS = 300  # characters before a word in which its sentence is looked for
_MAX_POSITIONS = 40  # places of a word in a text
_WORD_CHAR = re.compile(rf"[^\W{HAN_RANGES}]")  # of a word that is written apart from others


@dataclass(frozen=True)
class RankedText:
    """A text, the group that it belongs to, and the tokens that it takes as a whole. One that is
    `old` has to make room for all others."""

    group: int
    text: str
    token_count: int
    is_old: bool = False


def select_texts(
    items: Sequence[RankedText],
    title_tokens: Sequence[int],
    query_words: Sequence[Mapping[str, float]],
    token_budget: int,
) -> tuple[list[int], int]:
    """The places of the items that have room, the most useful first, and the tokens that each of them
    may take. A group that has any takes its title too; `wanted` are the words that it is asked for.
    """
    order = list(range(len(items)))
    if sum(title_tokens[at] for at in {one.group for one in items}) + sum(i.token_count for i in items) > token_budget:
        order = _order_by_relevance(items, query_words)
    share = max(MIN_SHARE_TOKENS, min(MAX_SHARE_TOKENS, token_budget // MIN_SHARES))
    taken: list[int] = []
    begun: set[int] = set()
    used = 0
    for n in order:
        one = items[n]
        cost = min(one.token_count, share) + (0 if one.group in begun else title_tokens[one.group])
        if used + cost <= token_budget:
            used += cost
            begun.add(one.group)
            taken.append(n)
    return taken, fair_share(
        [items[n].token_count for n in taken], token_budget - sum(title_tokens[at] for at in begun)
    )


def fair_share(token_counts: Sequence[int], token_budget: int) -> int:
    """The most that each may take so that all of them together take no more than `room`."""
    left = token_budget
    for n, cost in enumerate(sorted(token_counts)):
        if cost * (len(token_counts) - n) > left:
            return left // (len(token_counts) - n)
        left -= cost
    return max(token_counts, default=0)


def _order_by_relevance(items: Sequence[RankedText], query_words: Sequence[Mapping[str, float]]) -> list[int]:
    worths = _relevances(items, query_words)
    groups: dict[int, list[int]] = {}
    for n in sorted(range(len(items)), key=lambda n: (-worths[n], n)):
        groups.setdefault(items[n].group, []).append(n)
    ranked = [(items[n].is_old, rank, at, n) for at, group in groups.items() for rank, n in enumerate(group)]
    return [n for *_, n in sorted(ranked)]


def _relevances(items: Sequence[RankedText], query_words: Sequence[Mapping[str, float]]) -> list[float]:
    texts = [one.text.lower() for one in items]
    rare: dict[str, float] = {}
    for word in {word for words in query_words for word in words}:
        rare[word] = log(1 + len(texts) / (1 + sum(word in text for text in texts)))
    return [
        sum(
            tells * rare[word] * (1 + min(text.count(word), 9) / 10)
            for word, tells in query_words[one.group].items()
            if word in text
        )
        for one, text in zip(items, texts, strict=True)
    ]


# Shortening


def excerpt(text: str, token_budget: int, query_words: Mapping[str, float]) -> str:
    """The stretch of a text of at most `room` tokens that has most of the wanted words, from the
    beginning of a sentence; the first of several. A text that fits is whole."""
    size = estimate_tokens(text)
    if size <= token_budget:
        return text
    most = max(1, (token_budget - 2 * estimate_tokens(TRUNCATION_MARK)) * len(text) // size)
    start = _best_start(text, most, query_words)
    while True:
        part = (f"{TRUNCATION_MARK} " if start else "") + truncate(text[start:], most)
        if estimate_tokens(part) <= token_budget or most == 1:
            return part
        most = max(1, most * 4 // 5)


def _best_start(text: str, max_chars: int, query_words: Mapping[str, float]) -> int:
    """Where the stretch of `most` characters begins that has most of the wanted words."""
    lower, best, start = text.lower(), 0.0, 0
    for place in sorted({hit for word in query_words for hit in _find_positions(word, lower)}):
        begin = _sentence_start(text, place)
        part = lower[begin : begin + max_chars]
        worth = sum(tells for word, tells in query_words.items() if word in part)
        if worth > best:
            best, start = worth, begin
    return start


def _find_positions(word: str, text: str) -> Iterator[int]:
    """Where a text has a word, the first places."""
    at = text.find(word)
    for _ in range(_MAX_POSITIONS):
        if at < 0:
            return
        yield at
        at = text.find(word, at + len(word))


def _sentence_start(text: str, position: int) -> int:
    """Where the sentence begins that a place is in, if that is not far before it."""
    start = max(0, position - _SENTENCE_LOOKBACK_CHARS)
    ends = [*sentence_ends(text, start, position), text.rfind("\n", start, position) + 1]
    if not (end := max(ends)):
        return 0 if position <= _SENTENCE_LOOKBACK_CHARS else position
    rest = text[end:position]
    return end + len(rest) - len(rest.lstrip())


def truncate(text: str, max_chars: int) -> str:
    """At most `most` characters of a text and a mark of what was cut off: whole sentences, if they are
    the better half of it, else whole words where those are written apart."""
    if len(text) <= max_chars:
        return text
    ends = [*sentence_ends(text, max_chars // 2, max_chars), text.rfind("\n", max_chars // 2, max_chars) + 1]
    kept = text[: max(ends)] if max(ends) else _truncate_at_word(text, max_chars)
    return f"{kept.rstrip()} {TRUNCATION_MARK}"


def _truncate_at_word(text: str, max_chars: int) -> str:
    if not (_WORD_CHAR.match(text[max_chars - 1]) and _WORD_CHAR.match(text[max_chars])):
        return text[:max_chars]
    start = max_chars
    while start and _WORD_CHAR.match(text[start - 1]):
        start -= 1
    return text[:start] if text[:start].strip() else text[:max_chars]
