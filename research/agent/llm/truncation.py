"""Selection of the material for a prompt that cannot hold all of it, and shortening of long texts.

The texts found by a query are ranked by the query's words in them, each weighted by its rarity among
all texts; equal texts keep the order of the search. Then one text of each query is taken in turn,
those of earlier turns last. Each text is first limited to a share of the budget; what is left of the
budget is then distributed among the selected texts. Lengths are estimated tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log

from research.core.text.sentences import find_sentence_ends
from research.core.text.tokenizer import HAN_RANGES
from research.models.token_counts import estimate_tokens

MIN_SHARES = 12  # the share of a text is at most the budget divided by this
MIN_SHARE_TOKENS, MAX_SHARE_TOKENS = 150, 1_200  # bounds of that share
TRUNCATION_MARK = "[…]"  # marks omitted text
_SENTENCE_LOOKBACK_CHARS = 300  # before a word; its sentence is assumed to begin there
_MAX_POSITIONS = 40  # of a word in a text
_WORD_CHAR = re.compile(rf"[^\W{HAN_RANGES}]")  # of a script with spaces between words


@dataclass(frozen=True)
class RankedText:
    """A text with its number of tokens; `group` is the index of the query that found it.

    A text of earlier turns (`is_earlier`) ranks behind all others.
    """

    group: int
    text: str
    token_count: int
    is_earlier: bool = False


def select_texts(
    items: Sequence[RankedText],
    title_tokens: Sequence[int],
    query_words: Sequence[Mapping[str, float]],
    token_budget: int,
) -> tuple[list[int], int]:
    """Return the indices of the selected items, the best first, and the token limit of each.

    A group with a selected item also uses the tokens of its title. `query_words` are the weighted
    words of each group's query.
    """
    order = list(range(len(items)))
    all_title_tokens = sum(title_tokens[group] for group in {item.group for item in items})
    if all_title_tokens + sum(text.token_count for text in items) > token_budget:
        order = _order_by_relevance(items, query_words)
    max_share = max(MIN_SHARE_TOKENS, min(MAX_SHARE_TOKENS, token_budget // MIN_SHARES))
    selected: list[int] = []
    used_groups: set[int] = set()
    used = 0
    for n in order:
        item = items[n]
        cost = min(item.token_count, max_share) + (0 if item.group in used_groups else title_tokens[item.group])
        if used + cost <= token_budget:
            used += cost
            used_groups.add(item.group)
            selected.append(n)
    remaining = token_budget - sum(title_tokens[group] for group in used_groups)
    return selected, fair_share([items[n].token_count for n in selected], remaining)


def fair_share(token_counts: Sequence[int], token_budget: int) -> int:
    """Return the largest limit per item with which all items fit the budget together."""
    remaining = token_budget
    for n, cost in enumerate(sorted(token_counts)):
        if cost * (len(token_counts) - n) > remaining:
            return remaining // (len(token_counts) - n)
        remaining -= cost
    return max(token_counts, default=0)


def _order_by_relevance(items: Sequence[RankedText], query_words: Sequence[Mapping[str, float]]) -> list[int]:
    """Return the indices of the items: the best of each group, then the second best, and so on."""
    relevances = _relevances(items, query_words)
    groups: dict[int, list[int]] = {}
    for n in sorted(range(len(items)), key=lambda n: (-relevances[n], n)):
        groups.setdefault(items[n].group, []).append(n)
    ranked = [
        (items[n].is_earlier, rank, group_id, n) for group_id, group in groups.items() for rank, n in enumerate(group)
    ]
    return [n for *_, n in sorted(ranked)]


def _relevances(items: Sequence[RankedText], query_words: Sequence[Mapping[str, float]]) -> list[float]:
    texts = [item.text.lower() for item in items]
    rarity: dict[str, float] = {}
    for word in {word for words in query_words for word in words}:
        rarity[word] = log(1 + len(texts) / (1 + sum(word in text for text in texts)))
    return [
        sum(
            weight * rarity[word] * (1 + min(text.count(word), 9) / 10)
            for word, weight in query_words[item.group].items()
            if word in text
        )
        for item, text in zip(items, texts, strict=True)
    ]


# Shortening


def excerpt(text: str, token_budget: int, query_words: Mapping[str, float]) -> str:
    """Return the part of a text within the budget that has most of the query's words.

    It begins with a sentence; of equal parts it is the first. A text that fits is returned whole.
    """
    size = estimate_tokens(text)
    if size <= token_budget:
        return text
    max_chars = max(1, (token_budget - 2 * estimate_tokens(TRUNCATION_MARK)) * len(text) // size)
    start = _best_start(text, max_chars, query_words)
    while True:
        part = (f"{TRUNCATION_MARK} " if start else "") + truncate(text[start:], max_chars)
        if estimate_tokens(part) <= token_budget or max_chars == 1:
            return part
        max_chars = max(1, max_chars * 4 // 5)


def _best_start(text: str, max_chars: int, query_words: Mapping[str, float]) -> int:
    """Return the start of the part of `max_chars` characters with most of the query's words."""
    lower, best, start = text.lower(), 0.0, 0
    matches = (islice(re.finditer(re.escape(word), lower), _MAX_POSITIONS) for word in query_words)
    for position in sorted({match.start() for word_matches in matches for match in word_matches}):
        begin = _sentence_start(text, position)
        part = lower[begin : begin + max_chars]
        score = sum(weight for word, weight in query_words.items() if word in part)
        if score > best:
            best, start = score, begin
    return start


def _sentence_start(text: str, position: int) -> int:
    """Return the start of the sentence at a position; the position itself if the start is far away."""
    start = max(0, position - _SENTENCE_LOOKBACK_CHARS)
    ends = [*find_sentence_ends(text, start, position), text.rfind("\n", start, position) + 1]
    if not (end := max(ends)):
        return 0 if position <= _SENTENCE_LOOKBACK_CHARS else position
    rest = text[end:position]
    return end + len(rest) - len(rest.lstrip())


def truncate(text: str, max_chars: int) -> str:
    """Truncate a text to `max_chars` characters and add a mark of omission.

    Cut at the end of a sentence in the second half, else between words that are separated by
    spaces.
    """
    if len(text) <= max_chars:
        return text
    ends = [*find_sentence_ends(text, max_chars // 2, max_chars), text.rfind("\n", max_chars // 2, max_chars) + 1]
    beginning = text[: max(ends)] if max(ends) else _truncate_at_word(text, max_chars)
    return f"{beginning.rstrip()} {TRUNCATION_MARK}"


def _truncate_at_word(text: str, max_chars: int) -> str:
    if not (_WORD_CHAR.match(text[max_chars - 1]) and _WORD_CHAR.match(text[max_chars])):
        return text[:max_chars]
    start = max_chars
    while start and _WORD_CHAR.match(text[start - 1]):
        start -= 1
    return text[:start] if text[:start].strip() else text[:max_chars]
