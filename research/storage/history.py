"""What the history of an owner shows: entries, where the words that were looked for stand, tags.

Records and plain functions of text. Knows nothing of how runs are stored.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeGuard

from research.core.records import Record, Run, RunOptions

RunKind = Literal["question", "report", "table", "database", "places"]
HistoryField = Literal["question", "answer", "source", "note"]

MAX_SEARCH_WORDS = 8  # that are looked for
MAX_TAGS, MAX_TAG_CHARS = 10, 40  # tags of a conversation, and the characters of one
MAX_ANSWER_CHARS, MAX_SOURCES_CHARS = 60_000, 40_000  # characters that are searched of an answer and of its sources
MAX_EXCERPT_CHARS = 140  # characters that are shown of a finding
_MARKDOWN_MARKS = re.compile(r"\*\*|`|^\s*(?:[#>]+|[-+*|]|\d+[.)])\s", re.M)  # of Markdown
SNIPPET_LEAD_CHARS, SNIPPET_CHARS = 24, 110  # characters of a snippet: before the first word, and in all


class HistoryHit(Record):
    """Where words were found: in what, and the text around them as pieces, each with whether it is
    one of the words."""

    field: HistoryField
    pieces: tuple[tuple[str, bool], ...]


class HistoryTurn(Record):
    """A run of a conversation, with the beginning of the first `finding` of its answer; `sources` counts what it found, `cost` is in US dollars, None if
    nothing is known of it."""

    run: Run
    kind: str  # a `RunKind`, or that of a later version
    source_count: int = 0
    cost: float | None = None
    hits: tuple[HistoryHit, ...] = ()
    excerpt: str = ""  # of the latest run of an entry, where no words were looked for


class HistoryEntry(Record):
    """A conversation with those of its runs that were looked for, the earliest first; `turns` is how
    many it has in all. `binned` is when it was put into the bin. `found` is empty where no run can be
    read, a time None where that cannot."""

    id: str
    title: str
    pinned: bool = False
    tags: tuple[str, ...] = ()
    turn_count: int
    updated: datetime | None
    binned_at: datetime | None = None
    matching_turns: tuple[HistoryTurn, ...] = ()


class HistoryPage(Record):
    """Some entries of all that fit, the `total`. `partial` while runs from before are still being read
    for their words."""

    entries: tuple[HistoryEntry, ...] = ()
    total: int = 0
    is_partial: bool = False


def run_kind(options: RunOptions) -> RunKind:
    """What kind of question a run is."""
    if options.sections:
        return "report"
    if options.table:
        return "table"
    if options.sources == ("database",):
        return "database"
    return "places" if options.sources == ("places",) else "question"


def fold_text(text: str) -> str:
    """Text as it is searched: NFKC, without case, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def split_search_words(words: str) -> tuple[str, ...]:
    """The words that are looked for, each once."""
    return tuple(dict.fromkeys(fold_text(words).split()))[:MAX_SEARCH_WORDS]


def normalize_tags(tags: Iterable[str], known: Iterable[str] = ()) -> tuple[str, ...]:
    """Tags as they are kept: once each whatever their case, spelt as those that are `known`."""
    spelt = {tag.casefold(): tag for tag in known}
    out: dict[str, str] = {}
    for tag in tags:
        text = " ".join(unicodedata.normalize("NFKC", tag).split()).lstrip("#").strip()[:MAX_TAG_CHARS].strip()
        if text := "".join(sign for sign in text if sign.isprintable()):
            out.setdefault(text.casefold(), spelt.get(text.casefold(), text))
    return tuple(out.values())[:MAX_TAGS]


# What is searched of a run


def answer_text(record: str | None) -> str:
    """The words of an answer, from its JSON; what cannot be read has none."""
    spans = _as_list(_parse_object(record).get("spans"))
    texts = (span.get("text") for span in spans if isinstance(span, Mapping))
    joined = "".join(text if text[:1] in "，。,.;；" else f" {text}" for text in texts if _is_text(text))
    return " ".join(joined.split())[:MAX_ANSWER_CHARS]


def first_finding(record: str | None) -> str:
    """The beginning of what an answer says first with a source, in a line; "" if it cites nothing."""
    for span in _as_list(_parse_object(record).get("spans")):
        if isinstance(span, Mapping) and span.get("kind") in ("quote", "text") and span.get("cites"):
            text = str(span.get("text") or "")
            if span["kind"] == "text":
                text = _MARKDOWN_MARKS.sub("", text)
            if text := " ".join(text.split()).lstrip("，。,.;； "):
                return text if len(text) <= MAX_EXCERPT_CHARS else f"{text[:MAX_EXCERPT_CHARS].rstrip()}…"
    return ""


def cited_ids(record: str | None) -> tuple[str, ...]:
    """The ids of what an answer cites, from its JSON."""
    spans = _as_list(_parse_object(record).get("spans"))
    cites = (c for span in spans if isinstance(span, Mapping) for c in _as_list(span.get("cites")))
    ids = (cite.get("evidence") for cite in cites if isinstance(cite, Mapping))
    return tuple(dict.fromkeys(one for one in ids if _is_text(one)))


def source_lines(findings: Iterable[str], evidence: Iterable[str] = ()) -> dict[str, str]:
    """The sources of findings and `others`, pieces of evidence, all as JSON: by id, the line that is
    searched of each."""
    out: dict[str, str] = {}
    items = [item for one in findings for item in _as_list(_parse_object(one).get("evidence"))]
    for item in (*items, *map(_parse_object, evidence)):
        if isinstance(item, Mapping) and _is_text(item.get("id")):
            parts = (item.get(name) for name in ("title", "publisher", "url"))
            told = " · ".join(" ".join(part.split()) for part in parts if _is_text(part))
            out.setdefault(item["id"], told)
    return out


def _parse_object(record: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(record) if record else {}
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


# Snippets


def find_hits(
    words: Sequence[str], question: str, answer: str, sources: Sequence[str], notes: Sequence[str]
) -> tuple[HistoryHit, ...]:
    """Where words stand: in the question, in the answer, in the source and the note that have most of
    them."""
    source, note = (
        max(lines, key=lambda line: sum(map(fold_text(line).count, words)), default="") for lines in (sources, notes)
    )
    fields: tuple[tuple[HistoryField, str], ...] = (
        ("question", question), ("answer", answer), ("source", source), ("note", note),
    )  # fmt: skip
    out = []
    for field, text in fields:
        if pieces := snippet(text, words):
            out.append(HistoryHit(field=field, pieces=pieces))
    return tuple(out)


def snippet(text: str, words: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    """The text around the first of some words, in pieces; none if it has none of them."""
    text = " ".join(text.split())
    low, places = _fold_with_offsets(text)
    marks = sorted((places[at], places[at + len(word)]) for word in words for at in _find_all(low, word))
    if not marks:
        return ()
    start = max(0, marks[0][0] - SNIPPET_LEAD_CHARS)
    if start and " " in text[start : marks[0][0]]:  # no half of a word
        start = text.index(" ", start) + 1
    end = max(start + SNIPPET_CHARS, marks[0][1])
    out = [("…", False)] if start else []
    at = start
    for first, last in marks:
        first = max(first, at)
        if last <= at or last > end:
            continue
        out += [(text[at:first], False), (text[first:last], True)]
        at = last
    tail = text[at:end]
    out.append((tail + "…" if end < len(text) else tail, False))
    return tuple((piece, marked) for piece, marked in out if piece)


def _find_all(text: str, word: str) -> Iterable[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _fold_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Text as it is searched, and where each of its characters stands in it as it is."""
    low = fold_text(text)
    if len(low) == len(text):
        return low, range(len(text) + 1)
    parts = [unicodedata.normalize("NFKC", sign).casefold() for sign in text]
    places = [at for at, part in enumerate(parts) for _ in part]
    return "".join(parts), [*places, len(text)]
