"""Entries of an owner's history: records, searchable texts, snippets and tags.

The functions work on texts and are independent of the storage of runs.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, TypeGuard

from research.core.json_values import as_object, keep_objects
from research.core.records import Record, Run, RunOptions

RunKind = Literal["question", "report", "table", "database", "places"]
HistoryField = Literal["question", "answer", "source", "note"]

MAX_SEARCH_WORDS = 8  # words of a query that are searched for
MAX_TAGS, MAX_TAG_CHARS = 10, 40  # tags of a conversation, and characters of a tag
MAX_ANSWER_CHARS, MAX_SOURCES_CHARS = 60_000, 40_000  # searched characters of an answer and of its sources
MAX_EXCERPT_CHARS = 140  # characters of the excerpt from an answer
_MARKDOWN_MARKS = re.compile(r"\*\*|`|^\s*(?:[#>]+|[-+*|]|\d+[.)])\s", re.M)
SNIPPET_LEAD_CHARS, SNIPPET_CHARS = 24, 110  # characters of a snippet: before the first match, and in total


class HistoryHit(Record):
    """A field in which words were found, and the text around them.

    Each of the `pieces` of the text is paired with a flag: True if it is one of the words.
    """

    field: HistoryField
    pieces: tuple[tuple[str, bool], ...]


class HistoryTurn(Record):
    """A run in the history. `cost` is in US dollars, None if unknown.

    `source_count` is the number of sources it found.
    """

    run: Run
    kind: str  # a `RunKind`, or a kind of a later version
    source_count: int = 0
    cost: float | None = None
    hits: tuple[HistoryHit, ...] = ()
    excerpt: str = ""  # of the latest run of an entry, if no words were searched for


class HistoryEntry(Record):
    """A conversation with its matching runs, earliest first.

    `turn_count` counts all its runs, and `binned_at` is when it was put into the bin.
    `matching_turns` is empty if no run can be read; a time is None if it cannot be read.
    """

    id: str
    title: str
    pinned: bool = False
    tags: tuple[str, ...] = ()
    turn_count: int
    updated: datetime | None
    binned_at: datetime | None = None
    matching_turns: tuple[HistoryTurn, ...] = ()


class HistoryPage(Record):
    """A page of the matching entries, of which there are `total`.

    `is_partial` is True while earlier runs are still being indexed.
    """

    entries: tuple[HistoryEntry, ...] = ()
    total: int = 0
    is_partial: bool = False


def run_kind(options: RunOptions) -> RunKind:
    """Return the kind of question that a run answers."""
    if options.sections:
        return "report"
    if options.table:
        return "table"
    if options.sources == ("database",):
        return "database"
    return "places" if options.sources == ("places",) else "question"


def fold_for_search(text: str) -> str:
    """Normalise text for searching: NFKC, casefolded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def split_search_words(query: str) -> tuple[str, ...]:
    """Split a query into distinct search words, at most `MAX_SEARCH_WORDS`."""
    return tuple(dict.fromkeys(fold_for_search(query).split()))[:MAX_SEARCH_WORDS]


def normalise_names(names: Iterable[str], known: Iterable[str] = ()) -> tuple[str, ...]:
    """Normalise tags, or names of notebooks, and remove duplicates, ignoring case.

    Names that are also in `known` get the spelling they have there. At most `MAX_TAGS` are returned,
    each without "#" before it and with at most `MAX_TAG_CHARS` characters.
    """
    spellings = {name.casefold(): name for name in known}
    normalised: dict[str, str] = {}
    for name in names:
        text = " ".join(unicodedata.normalize("NFKC", name).split()).lstrip("#").strip()[:MAX_TAG_CHARS].strip()
        if text := "".join(character for character in text if character.isprintable()):
            normalised.setdefault(text.casefold(), spellings.get(text.casefold(), text))
    return tuple(normalised.values())[:MAX_TAGS]


# Searchable texts


def answer_text(answer_json: str | None) -> str:
    """Return the text of an answer from its JSON, "" if it cannot be read."""
    texts = (span.get("text") for span in _answer_spans(answer_json))
    joined = "".join(text if text[:1] in "，。,.;；" else f" {text}" for text in texts if _is_text(text))
    return " ".join(joined.split())[:MAX_ANSWER_CHARS]


def answer_excerpt(answer_json: str | None) -> str:
    """Return the beginning of an answer's first statement with a citation, in one line, else ""."""
    for span in _answer_spans(answer_json):
        if span.get("kind") in ("quote", "text") and _references(span):
            text = str(span.get("text") or "")
            if span["kind"] == "text":
                text = _MARKDOWN_MARKS.sub("", text)
            if text := " ".join(text.split()).lstrip("，。,.;； "):
                return text if len(text) <= MAX_EXCERPT_CHARS else f"{text[:MAX_EXCERPT_CHARS].rstrip()}…"
    return ""


def cited_ids(answer_json: str | None) -> tuple[str, ...]:
    """Return the ids of the evidence that an answer cites, from its JSON."""
    references = (reference for span in _answer_spans(answer_json) for reference in _references(span))
    ids = (reference.get("evidence") for reference in references)
    return tuple(dict.fromkeys(evidence_id for evidence_id in ids if _is_text(evidence_id)))


def source_lines(findings: Iterable[str], evidence: Iterable[str] = ()) -> dict[str, str]:
    """Return the searchable line of each source, by id, from JSON findings and JSON evidence."""
    lines: dict[str, str] = {}
    items = [item for finding in findings for item in keep_objects(_parse_object(finding).get("evidence"))]
    for item in (*items, *map(_parse_object, evidence)):
        if _is_text(item.get("id")):
            parts = (item.get(name) for name in ("title", "publisher", "url"))
            line = " · ".join(" ".join(part.split()) for part in parts if _is_text(part))
            lines.setdefault(item["id"], line)
    return lines


def _answer_spans(answer_json: str | None) -> list[dict[str, Any]]:
    return keep_objects(_parse_object(answer_json).get("spans"))


def _references(span: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the references of a span; earlier versions stored them as `cites`."""
    return keep_objects(span.get("references", span.get("cites")))


def _parse_object(text: str | None) -> dict[str, Any]:
    """Parse a JSON object; {} for any other text."""
    try:
        return as_object(json.loads(text)) if text else {}
    except ValueError:
        return {}


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


# Snippets


def find_hits(
    words: Sequence[str], question: str, answer: str, sources: Sequence[str], notes: Sequence[str]
) -> tuple[HistoryHit, ...]:
    """Find words in the question, in the answer, and in the best matching source and note."""
    source, note = (
        max(lines, key=lambda line: sum(map(fold_for_search(line).count, words)), default="")
        for lines in (sources, notes)
    )
    fields: tuple[tuple[HistoryField, str], ...] = (
        ("question", question),
        ("answer", answer),
        ("source", source),
        ("note", note),
    )
    return tuple(HistoryHit(field=field, pieces=pieces) for field, text in fields if (pieces := snippet(text, words)))


def snippet(text: str, words: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    """Return the text around the first match of any of the words, in pieces; empty without a match.

    Each piece is paired with a flag: True if it is one of the words.
    """
    text = " ".join(text.split())
    folded, offsets = _fold_with_offsets(text)
    matches = sorted(
        (offsets[position], offsets[position + len(word)]) for word in words for position in _find_all(folded, word)
    )
    if not matches:
        return ()
    start = max(0, matches[0][0] - SNIPPET_LEAD_CHARS)
    if start and " " in text[start : matches[0][0]]:  # starts with a whole word
        start = text.index(" ", start) + 1
    end = max(start + SNIPPET_CHARS, matches[0][1])
    result = [("…", False)] if start else []
    position = start
    for first, last in matches:
        first = max(first, position)
        if last <= position or last > end:
            continue
        result += [(text[position:first], False), (text[first:last], True)]
        position = last
    tail = text[position:end]
    result.append((tail + "…" if end < len(text) else tail, False))
    return tuple((piece, is_match) for piece, is_match in result if piece)


def _find_all(text: str, word: str) -> Iterable[int]:
    position = text.find(word)
    while position >= 0:
        yield position
        position = text.find(word, position + len(word))


def _fold_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Return the folded text and, for each of its characters, the offset in the original."""
    folded = fold_for_search(text)
    if len(folded) == len(text):
        return folded, range(len(text) + 1)
    parts = [unicodedata.normalize("NFKC", character).casefold() for character in text]
    offsets = [offset for offset, part in enumerate(parts) for _ in part]
    return "".join(parts), [*offsets, len(text)]
