"""Detection of syndicated copies among the articles of a story: copies confirm nothing.

Two articles have one origin if their texts are nearly the same, if both credit the same agency, if
one outlet published both, or, without a text, if their headlines are identical.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from research.core.text.hanzi import to_simplified
from research.core.text.near_duplicates import is_near_duplicate, shingles
from research.sources.news.article import Article
from research.sources.news.titles import agency_patterns, strip_outlet, title_key

MAX_COMPARED_CHARS = 2_000  # characters compared of a text
MIN_HEADLINE_CHARS = 10  # shorter headlines may coincide by chance
MAX_COMPARED_ORIGINS = 60  # texts of origins compared per article

_CREDIT_BEFORE = re.compile(
    r"(?:据|来源|转自|综合|援引|[(（【\[—–-]|\bby|\bsource|\bvia|\baccording to|\bfrom)[\s:：]*$", re.I
)
_CREDIT_AFTER = re.compile(
    r"^\s*(?:[\u4e00-\u9fff]{0,6}(?:\d{1,2}月)?\d{0,2}日?(?:电|讯)|记者|报道|消息|[)）】\]]|\breport(?:s|ed)|\s[-—–]\s)",
    re.I,
)


@cache
def _any_agency_pattern() -> re.Pattern[str]:
    return re.compile("|".join(pattern.pattern for _, pattern in agency_patterns()))


def find_agency(item: Article) -> str:
    """Return the agency of an article: its outlet, or one credited in headline or text."""
    outlet, title, text = map(to_simplified, (item.outlet, item.title, item.text))
    if not any(_any_agency_pattern().search(field) for field in (outlet, title, text)):
        return ""
    for name, pattern in agency_patterns():
        if pattern.search(outlet):
            return name
    tail = title[len(strip_outlet(title)) :] if title else ""
    for name, pattern in agency_patterns():
        if pattern.search(tail) or _is_credited(title, pattern):
            return name
        if _is_credited(text[:200], pattern) or _is_credited(text[200:][-120:], pattern):
            return name
    return ""


def _is_credited(text: str, pattern: re.Pattern[str]) -> bool:
    """Return True if the text names the agency as its origin rather than as its subject."""
    return any(
        _CREDIT_BEFORE.search(text[: match.start()]) or _CREDIT_AFTER.match(text[match.end() :])
        for match in pattern.finditer(text)
    )


def count_independent(items: Sequence[Article], outlets: Sequence[str]) -> int:
    """Count the independent origins of articles; `outlets` are their publishers, "" if unknown."""
    if len(items) == 1:
        return 1
    origin = list(range(len(items)))

    def root(index: int) -> int:
        while origin[index] != index:
            index = origin[index]
        return index

    first_by_key: dict[tuple[str, str], int] = {}
    texts: list[tuple[int, frozenset[int]]] = []
    for index, (item, outlet) in enumerate(zip(items, outlets, strict=True)):
        own_shingles = shingles(item.text[:MAX_COMPARED_CHARS])
        keys = [("agency", find_agency(item)), ("outlet", to_simplified(outlet).lower())]
        headline = title_key(strip_outlet(item.title[:300], item.outlet))
        if len(headline) >= MIN_HEADLINE_CHARS and not own_shingles:
            keys.append(("headline", headline))
        for key in keys:
            if key[1]:
                origin[root(index)] = root(first_by_key.setdefault(key, index))
        if own_shingles:
            for other, other_shingles in texts[:MAX_COMPARED_ORIGINS]:
                if is_near_duplicate(own_shingles, other_shingles):
                    origin[root(index)] = root(other)
                    break
            else:
                texts.append((index, own_shingles))
    return len({root(index) for index in range(len(items))})
