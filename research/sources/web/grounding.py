"""Google Search grounding, read: which stretch of a text which source supports.

Offsets arrive as UTF-8 bytes of the joined text parts (of one part, if `part_index` says which) and
leave as characters. Every placed segment equals the text that the service names for it; offsets
that do not fit are mended by that text, or the segment is left unplaced. Any member may be missing.
Source: https://ai.google.dev/api/generate-content#GroundingMetadata.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from research.citations.registry import evidence_id
from research.core.records import Cite, Evidence, Passage, Span, fingerprint
from research.core.text.words import detect_language
from research.core.urls import canonical_url
from research.http.plain import legible, shortened
from research.models.gemini import get, members, number, whole

REDIRECT = "vertexaisearch.cloud.google.com"
SUGGESTIONS = 40_000  # characters of HTML that are kept of the search suggestions
TITLE = 300  # characters of a title
# JSON can hold half a pair, UTF-8 cannot. What takes its place is as many bytes long.
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Grounded:
    """A text with its sources. `unplaced` counts supports whose segment is not in the text, or that
    name a source that is not in the list."""

    text: str
    evidence: tuple[Evidence, ...] = ()
    spans: tuple[Span, ...] = ()
    asked: tuple[str, ...] = ()
    suggestions: str = ""
    unplaced: int = 0


def read(parts: Sequence[Any], metadata: Any, retrieved: datetime) -> Grounded:
    """The parts of a candidate and its grounding metadata."""
    pieces = ["" if get(part, "thought") else _text(part, "text") for part in parts or ()]
    text = "".join(pieces)
    chunks = [source_of(chunk, retrieved) for chunk in members(metadata, "grounding_chunks")]
    placed, unplaced = _placed(pieces, members(metadata, "grounding_supports"), chunks)
    evidence = _with_passages(text, placed, chunks)
    entry = get(metadata, "search_entry_point")
    return Grounded(
        text=text,
        evidence=tuple(evidence.values()),
        spans=_spans(text, placed),
        asked=tuple(filter(None, map(_line, members(metadata, "web_search_queries")))),
        suggestions=_text(entry, "rendered_content")[:SUGGESTIONS],
        unplaced=unplaced,
    )


@dataclass(frozen=True)
class _Placed:
    """A stretch of the text, in characters, and the ids of the sources that support it."""

    start: int
    end: int
    sources: tuple[str, ...]


def _placed(
    pieces: Sequence[str], supports: Sequence[Any], chunks: Sequence[Evidence | None]
) -> tuple[list[_Placed], int]:
    data = "".join(pieces).encode()
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece.encode()))
    out: list[_Placed] = []
    unplaced = 0
    for support in supports:
        span = _locate(data, starts, get(support, "segment"))
        indices = [whole(index) for index in members(support, "grounding_chunk_indices")]
        known = [chunks[at] for at in indices if at is not None and at < len(chunks)]
        ids = [source.id for source in known if source]
        unplaced += span is None or len(known) < len(indices)
        if span is not None and ids:
            start, end = (len(data[:at].decode()) for at in span)
            out.append(_Placed(start, end, tuple(dict.fromkeys(ids))))
    return out, unplaced


def _locate(data: bytes, starts: Sequence[int], segment: Any) -> tuple[int, int] | None:
    """The bytes of a segment in the joined text; None if it cannot be said where it is."""
    wanted = _text(segment, "text").encode()
    start, end = number(segment, "start_index") or 0, number(segment, "end_index")
    index = number(segment, "part_index")
    base = starts[index] if index is not None and 0 <= index < len(starts) - 1 else 0
    if end is not None:
        for origin in dict.fromkeys((base, 0)):
            if _fits(data, origin + start, origin + end, wanted):
                return origin + start, origin + end
    return _nearest(data, wanted, base + start) if wanted.strip() else None


def _fits(data: bytes, start: int, end: int, wanted: bytes) -> bool:
    """Whether offsets lie in the text, on whole characters, and on the segment's own text."""
    if not 0 <= start < end <= len(data) or (wanted and data[start:end] != wanted):
        return False
    return not any(at < len(data) and data[at] & 0xC0 == 0x80 for at in (start, end))


def _nearest(data: bytes, wanted: bytes, expected: int) -> tuple[int, int] | None:
    """Where a text begins nearest to a place."""
    around = data.rfind(wanted, 0, expected + len(wanted)), data.find(wanted, expected)
    found = [place for place in around if place >= 0]
    if not found:
        return None
    start = min(found, key=lambda place: abs(place - expected))
    return start, start + len(wanted)


def source_of(chunk: Any, retrieved: datetime) -> Evidence | None:
    """A chunk as a source without passages; None for one that names nothing."""
    for member in ("web", "maps", "retrieved_context"):
        source = get(chunk, member)
        uri, name = get(source, "uri"), shortened(_line(get(source, "title")), TITLE)
        address = canonical_url(uri) if isinstance(uri, str) else ""
        locator = _line(uri) or name
        if not locator:
            continue
        host = urlsplit(address).hostname or ""
        redirect = host == REDIRECT
        publisher = _line(get(source, "domain"))
        return Evidence(
            id=evidence_id("web", address, locator),
            kind="web",
            title=name or ("" if redirect else host) or "Google Search",
            publisher=publisher or (_domain(name) if redirect else host.removeprefix("www.")),
            url=address,
            locator=locator,
            retrieved=retrieved,
            expires=redirect,
        )
    return None


def _domain(title: str) -> str:
    """The title of a redirected page, where it is a domain, as it nearly always is."""
    fits = "." in title and " " not in title and "/" not in title
    return title.lower() if fits else ""


def _with_passages(
    text: str, placed: Sequence[_Placed], chunks: Sequence[Evidence | None]
) -> dict[str, Evidence]:
    """Every source once, with the stretches of the text that it supports."""
    out = {item.id: item for item in chunks if item}
    for stretch in placed:
        for source in stretch.sources:
            item = out[source]
            passage = _passage(source, text[stretch.start : stretch.end])
            if passage.id not in {known.id for known in item.passages}:
                passages = (*item.passages, passage)
                tongue = item.language or detect_language(passage.text)
                out[source] = item.model_copy(update={"passages": passages, "language": tongue})
    return out


def _passage(source: str, text: str) -> Passage:
    return Passage(id=fingerprint(source, text), origin="grounding", text=text, end=len(text))


def _spans(text: str, placed: Sequence[_Placed]) -> tuple[Span, ...]:
    """The whole text in stretches, each with the sources of the segments that end with it."""
    ends: dict[int, dict[tuple[str, str], Cite]] = {}
    for stretch in placed:
        words = text[stretch.start : stretch.end]
        for source in stretch.sources:
            passage = _passage(source, words).id
            cite = Cite(evidence=source, passage=passage, end=len(words))
            ends.setdefault(stretch.end, {})[source, passage] = cite
    spans, at = [], 0
    for end in sorted(ends):
        spans.append(Span(kind="text", text=text[at:end], cites=tuple(ends[end].values())))
        at = end
    if at < len(text):
        spans.append(Span(kind="text", text=text[at:]))
    return tuple(spans)


def _text(thing: Any, name: str) -> str:
    """A member that is a text, as UTF-8 can hold it; "" for anything else."""
    value = get(thing, name)
    return _SURROGATES.sub("\ufffd", value) if isinstance(value, str) else ""


def _line(value: Any) -> str:
    """A text on one line, without what cannot be shown; "" for anything else."""
    return " ".join(legible(value).split())
