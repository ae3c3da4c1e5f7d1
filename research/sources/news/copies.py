"""Which pieces of a story are copies of each other: syndicated ones confirm nothing.

Two pieces are of one origin if their texts are nearly the same, if both name the same agency as where
they come from, if one outlet published both, or, where there is no text, if their headlines are the
same word for word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from research.core.text.copies import near_copies, shingles
from research.core.text.hanzi import simplified
from research.sources.news.article import Article
from research.sources.news.titles import agencies, key, stripped

READ = 2_000  # characters
LONG_HEADLINE = 10  # characters, from which equal headlines are copied rather than coincident
COMPARED = 60  # origins whose texts an item is compared with, at most

_BEFORE = re.compile(r"(?:据|来源|转自|综合|援引|[(（【\[—–-]|\bby|\bsource|\bvia|\baccording to|\bfrom)[\s:：]*$", re.I)  # fmt: skip
_AFTER = re.compile(r"^\s*(?:[\u4e00-\u9fff]{0,6}(?:\d{1,2}月)?\d{0,2}日?(?:电|讯)|记者|报道|消息|[)）】\]]|\breport(?:s|ed)|\s[-—–]\s)", re.I)  # fmt: skip


@cache
def _any() -> re.Pattern[str]:
    return re.compile("|".join(pattern.pattern for _, pattern in agencies()))


def agency(item: Article) -> str:
    """The agency that a piece comes from: its outlet is one, or headline or text name one as origin."""
    outlet, title, text = map(simplified, (item.outlet, item.title, item.text))
    if not any(_any().search(said) for said in (outlet, title, text)):
        return ""
    for name, pattern in agencies():
        if pattern.search(outlet):
            return name
    tail = title[len(stripped(title)) :] if title else ""
    for name, pattern in agencies():
        if pattern.search(tail) or _credited(title, pattern):
            return name
        if _credited(text[:200], pattern) or _credited(text[200:][-120:], pattern):
            return name
    return ""


def _credited(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether an agency is named as the origin rather than as what is written about."""
    return any(
        _BEFORE.search(text[: match.start()]) or _AFTER.match(text[match.end() :])
        for match in pattern.finditer(text)
    )


def independent(items: Sequence[Article], outlets: Sequence[str]) -> int:
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
        grams = shingles(item.text[:READ])
        marks = [("agency", agency(item)), ("outlet", simplified(outlet).lower())]
        head = key(stripped(item.title[:300], item.outlet))
        if len(head) >= LONG_HEADLINE and not grams:
            marks.append(("headline", head))
        for mark in marks:
            if mark[1]:
                origin[root(at)] = root(firsts.setdefault(mark, at))
        if grams:
            for other, theirs in texts[:COMPARED]:
                if near_copies(grams, theirs):
                    origin[root(at)] = root(other)
                    break
            else:
                texts.append((at, grams))
    return len({root(at) for at in range(len(items))})
