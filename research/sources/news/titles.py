"""Removal of an outlet's additions from headlines.

`data/outlets.tsv` lists endings of outlet names and lead-ins of headlines, `data/agencies.tsv` the
news agencies.
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
    """Return the news agencies, each with a pattern of its names."""
    return tuple((name, re.compile(pattern)) for name, pattern in data.rows("agencies.tsv"))


@cache
def _outlet_pattern(kind: str) -> re.Pattern[str]:
    alternatives = "|".join(pattern for row_kind, pattern in data.rows("outlets.tsv") if row_kind == kind)
    return re.compile(rf"(?:{alternatives})$" if kind == "end" else rf"^(?:{alternatives})\s*", re.IGNORECASE)


def strip_outlet(title: str | None, outlet: str = "") -> str:
    """Remove a trailing outlet name and a leading "Breaking:" from a title.

    A tail is removed only if it looks like an outlet: it is the article's outlet, it contains an
    outlet word (日报, Times), or, after _ or |, it is short compared with the rest. A tail with a
    digit stays.
    """
    return _cut_outlet(" ".join(unicodedata.normalize("NFKC", title or "").split()), outlet)


def display_title(title: str, outlet: str = "") -> str:
    """Strip the outlet but keep the original characters, such as “，”, where possible."""
    stripped = _cut_outlet(" ".join(title.split()), outlet)
    normalised = strip_outlet(title, outlet)
    return stripped if unicodedata.normalize("NFKC", stripped) == normalised else normalised


def title_key(title: str) -> str:
    """Normalise a headline for comparison: no punctuation, spaces, case or script differences."""
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
    outlet_name = " ".join(unicodedata.normalize("NFKC", outlet).lower().split())
    tail, outlet_name = to_simplified(tail), to_simplified(outlet_name)
    if outlet_name and (tail.lower() in outlet_name or outlet_name in tail.lower()):
        return True
    is_chinese = has_han(tail)
    if len(tail) > 12 if is_chinese else len(tail.split()) > 5:
        return False
    if _outlet_pattern("end").search(tail) or any(pattern.search(tail) for _, pattern in agency_patterns()):
        return True
    if mark[:1] in ("_", "|"):
        return len(tail) * 1.5 <= len(head) and (is_chinese or tail[:1].isupper())
    is_capitalised = all(word[0].isupper() or word.lower() in STOP_WORDS for word in tail.split())
    return not is_chinese and is_capitalised and len(head.split()) >= 5 and len(tail.split()) <= 3
