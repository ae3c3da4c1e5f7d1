"""URLs that open a page at the cited words (text fragments).

Browsers without support open the page as usual. A fragment only matches words of the page itself,
so a passage worded by a search model gets none; nor does a redirect, which would drop it.

Syntax: https://wicg.github.io/scroll-to-text-fragment/
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from pages.shared.escaping import web_url
from research import Evidence, Passage

MAX_WHOLE_WORDS, MAX_WHOLE_LETTERS = 10, 30  # a longer text is matched by its edges
EDGE_WORDS, MIN_EDGE_LETTERS = 5, 6  # minimum length of an edge
_CLAUSE = re.compile(r"[^，。；：、！？,.;:!?]+")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def passage_url(evidence: Evidence, passage: Passage | None, start: int = 0, end: int = 0) -> str:
    """Return the URL of a source at a range of a passage; an empty range means the whole passage.

    Return an empty string if the source has no web URL.
    """
    url = web_url(evidence.url)
    if not url or not passage or passage.origin != "source" or evidence.url_expires:
        return url
    if evidence.kind not in ("web", "news") or ":~:" in url:
        return url
    directive = build_text_directive(passage.text[start:end] if start < end else passage.text)
    if not directive:
        return url
    return f"{url}{'' if urlsplit(url).fragment else '#'}:~:{directive}"


def build_text_directive(text: str) -> str:
    """Build the directive `text=…` of a range; empty without any words.

    A short text is matched as a whole, a longer one by its beginning and its end.
    """
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if re.search(r"\w", line)]
    if not lines:
        return ""
    if len(lines) == 1 and _is_short(lines[0]):
        return f"text={_percent_encode(lines[0])}"
    first, last = _edge(lines[0]), _edge(lines[-1], at_end=True)
    return f"text={_percent_encode(first)}" + (f",{_percent_encode(last)}" if last != first else "")


def _is_short(line: str) -> bool:
    return len(line) <= MAX_WHOLE_LETTERS if _EAST_ASIAN.search(line) else len(line.split()) <= MAX_WHOLE_WORDS


def _edge(line: str, *, at_end: bool = False) -> str:
    """Return the first or last words of a line.

    A browser matches whole words only, so text without spaces is cut at punctuation.
    """
    if not _EAST_ASIAN.search(line):
        words = line.split()
        return " ".join(words[-EDGE_WORDS:] if at_end else words[:EDGE_WORDS])
    clauses = list(_CLAUSE.finditer(line))
    if at_end:
        long_enough = (c for c in reversed(clauses) if len(line) - c.start() >= MIN_EDGE_LETTERS)
        start = next(long_enough, clauses[0]).start() if clauses else 0
        return line[start:].strip()
    long_enough = (c for c in clauses if c.end() >= MIN_EDGE_LETTERS)
    end = next(long_enough, clauses[-1]).end() if clauses else len(line)
    return line[:end].strip()


def _percent_encode(text: str) -> str:
    """Percent-encode a text, including the dash, which has a meaning in a directive."""
    return quote(text, safe="", errors="ignore").replace("-", "%2D")
