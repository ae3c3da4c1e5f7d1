"""Addresses that open a page at the words that are meant (text fragments).

A browser that knows none of it opens the page as ever. Only words of the page itself can be found
there, so a passage that a search model has worded has none; nor has a redirect, which loses it.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from pages.shared.escaping import web_url
from research import Evidence, Passage

MAX_WHOLE_WORDS, MAX_WHOLE_LETTERS = 10, 30  # of a stretch that is looked for as a whole
EDGE_WORDS, MIN_EDGE_LETTERS = 5, 6  # words or letters, at least, of the beginning and end of a longer one
_CLAUSE = re.compile(r"[^，。；：、！？,.;:!?]+")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def passage_url(evidence: Evidence, passage: Passage | None, start: int = 0, end: int = 0) -> str:
    """The address of a source, at a stretch of a passage (without one: where the passage begins).

    Empty if the source has no address of the web.
    """
    found = web_url(evidence.url)
    if not found or not passage or passage.origin != "source" or evidence.expires:
        return found
    if evidence.kind not in ("web", "news") or ":~:" in found:
        return found
    wanted = build_text_directive(passage.text[start:end] if start < end else passage.text)
    if not wanted:
        return found
    return f"{found}{'' if urlsplit(found).fragment else '#'}:~:{wanted}"


def build_text_directive(text: str) -> str:
    """`text=…`: a short stretch as it is, of a long one its beginning and its end; empty without
    any words."""
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
    """The first or last words of a line. Words without spaces between them are cut where there is
    punctuation, since a browser finds whole words only."""
    if not _EAST_ASIAN.search(line):
        words = line.split()
        return " ".join(words[-EDGE_WORDS:] if at_end else words[:EDGE_WORDS])
    clauses = list(_CLAUSE.finditer(line))
    if at_end:
        enough = (c for c in reversed(clauses) if len(line) - c.start() >= MIN_EDGE_LETTERS)
        start = next(enough, clauses[0]).start() if clauses else 0
        return line[start:].strip()
    enough = (c for c in clauses if c.end() >= MIN_EDGE_LETTERS)
    end = next(enough, clauses[-1]).end() if clauses else len(line)
    return line[:end].strip()


def _percent_encode(text: str) -> str:
    """Percent-encoded, with the dash as well, which would have a meaning of its own."""
    return quote(text, safe="", errors="ignore").replace("-", "%2D")
