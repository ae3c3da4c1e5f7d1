"""Which pieces of a story are copies of each other: syndicated ones confirm nothing.

Two pieces are of one origin if their texts are nearly the same, if both name the same agency as where
they come from, if one outlet published both, or, where there is no text, if their headlines are the
same word for word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from research.core.text.hanzi import to_simplified
from research.core.text.near_duplicates import is_near_duplicate, shingles
from research.sources.news.article import Article
from research.sources.news.titles import agency_patterns, strip_outlet, title_key

MAX_COMPARED_CHARS = 2_000  # characters
MIN_HEADLINE_CHARS = 10  # characters, from which equal headlines are copied rather than coincident
MAX_COMPARED_ORIGINS = 60  # origins whose texts an item is compared with, at most

_CREDIT_BEFORE = re.compile(r"(?:据|来源|转自|综合|援引|[(（【\[—–-]|\bby|\bsource|\bvia|\baccording to|\bfrom)[\s:：]*$", re.I)  # fmt: skip
_CREDIT_AFTER = re.compile(r"^\s*(?:[\u4e00-\u9fff]{0,6}(?:\d{1,2}月)?\d{0,2}日?(?:电|讯)|记者|报道|消息|[)）】\]]|\breport(?:s|ed)|\s[-—–]\s)", re.I)  # fmt: skip


@cache
def _any_agency_pattern() -> re.Pattern[str]:
    return re.compile("|".join(pattern.pattern for _, pattern in agency_patterns()))


def find_agency(item: Article) -> str:
    """The agency that a piece comes from: its outlet is one, or headline or text name one as origin."""
    outlet, title, text = map(to_simplified, (item.outlet, item.title, item.text))
    if not any(_any_agency_pattern().search(said) for said in (outlet, title, text)):
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
    """Whether an agency is named as the origin rather than as what is written about."""
    return any(
        _CREDIT_BEFORE.search(text[: match.start()]) or _CREDIT_AFTER.match(text[match.end() :])
        for match in pattern.finditer(text)
    )


def count_independent(items: Sequence[Article], outlets: Sequence[str]) -> int:
    """How many origins some pieces have; `outlets` are their publishers, "" where unknown."""
    if len(items) == 1:
        return 1
    origin = list(range(len(items)))

    def root(at: int) -> int:
        while origin[at] != at:
            at = origin[at]
        return at

    firsts: dict[tuple[str, str], int] = {}
    texts: list[tuple[int, frozenset[int]]] = []
    for at, (item, outlet) in enumerate(zip(items, outlets, strict=True)):
        grams = shingles(item.text[:MAX_COMPARED_CHARS])
        marks = [("agency", find_agency(item)), ("outlet", to_simplified(outlet).lower())]
        head = title_key(strip_outlet(item.title[:300], item.outlet))
        if len(head) >= MIN_HEADLINE_CHARS and not grams:
            marks.append(("headline", head))
        for mark in marks:
            if mark[1]:
                origin[root(at)] = root(firsts.setdefault(mark, at))
        if grams:
            for other, theirs in texts[:MAX_COMPARED_ORIGINS]:
                if is_near_duplicate(grams, theirs):
                    origin[root(at)] = root(other)
                    break
            else:
                texts.append((at, grams))
    return len({root(at) for at in range(len(items))})
