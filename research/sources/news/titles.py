"""Headlines without what their outlet has put around them.

`data/outlets.tsv` has how names of outlets end and what stands before a headline, `data/agencies.tsv` the agencies.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from research import data
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import STOP_WORDS, has_han

_TAIL_PATTERN = re.compile(r"^(?P<head>.{6,}?)(?P<mark>\s+[-—–]{1,2}\s+|\s*[_|]+\s*)(?P<tail>[^_|\d]{2,40})$")


@cache
def agency_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Agencies whose pieces others print, each with its names."""
    return tuple((name, re.compile(pattern)) for name, pattern in data.rows("agencies.tsv"))


@cache
def _outlet_pattern(kind: str) -> re.Pattern[str]:
    form = "|".join(pattern for own, pattern in data.rows("outlets.tsv") if own == kind)
    return re.compile(rf"(?:{form})$" if kind == "end" else rf"^(?:{form})\s*", re.IGNORECASE)


def strip_outlet(title: str | None, outlet: str = "") -> str:
    """A title without the outlet's name behind it and without "Breaking:" before it.

    A tail goes only if it looks like an outlet: it is the item's own, it has an outlet's word in it
    (日报, Times), or, behind _ or |, it is short beside the rest. What has a digit stays.
    """
    return _cut_outlet(" ".join(unicodedata.normalize("NFKC", title or "").split()), outlet)


def display_title(title: str, outlet: str = "") -> str:
    """The same with the signs that its outlet has set: “，” stays what it is."""
    own = _cut_outlet(" ".join(title.split()), outlet)
    folded = strip_outlet(title, outlet)
    return own if unicodedata.normalize("NFKC", own) == folded else folded


def title_key(title: str) -> str:
    """What is the same for headlines that are the same but for marks, spaces, case and script."""
    return re.sub(r"[^\w%.]", "", to_simplified(title).lower())


def _cut_outlet(title: str, outlet: str) -> str:
    for _ in range(2):
        match = _TAIL_PATTERN.match(title)
        if not match or not _is_outlet(match, outlet):
            break
        title = match["head"].rstrip(" ,-—–_|")
    lead = _outlet_pattern("lead").match(to_simplified(title))
    return title[lead.end() :] if lead and len(title) > lead.end() + 3 else title


def _is_outlet(match: re.Match[str], outlet: str) -> bool:
    head, mark, tail = match["head"], match["mark"].strip(), match["tail"].strip()
    own = " ".join(unicodedata.normalize("NFKC", outlet).lower().split())
    tail, own = to_simplified(tail), to_simplified(own)
    if own and (tail.lower() in own or own in tail.lower()):
        return True
    chinese = has_han(tail)
    if len(tail) > 12 if chinese else len(tail.split()) > 5:
        return False
    if _outlet_pattern("end").search(tail) or any(pattern.search(tail) for _, pattern in agency_patterns()):
        return True
    if mark[:1] in ("_", "|"):
        return len(tail) * 1.5 <= len(head) and (chinese or tail[:1].isupper())
    capital = all(word[0].isupper() or word.lower() in STOP_WORDS for word in tail.split())
    return not chinese and capital and len(head.split()) >= 5 and len(tail.split()) <= 3
