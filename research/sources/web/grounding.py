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
from research.core.records import Evidence, Passage, PassageReference, Span, fingerprint
from research.core.text.tokenizer import detect_language
from research.core.urls import canonical_url
from research.http.sanitize import remove_control_characters, truncate_text
from research.models.gemini import count_member, get_member, list_member, parse_count

REDIRECT_HOST = "vertexaisearch.cloud.google.com"
MAX_SUGGESTION_CHARS = 40_000  # characters of HTML that are kept of the search suggestions
MAX_TITLE_CHARS = 300  # characters of a title
# JSON can hold half a pair, UTF-8 cannot. What takes its place is as many bytes long.
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class GroundedText:
    """A text with its sources. `unplaced` counts supports whose segment is not in the text, or that
    name a source that is not in the list."""

    text: str
    evidence: tuple[Evidence, ...] = ()
    spans: tuple[Span, ...] = ()
    executed_queries: tuple[str, ...] = ()
    suggestions: str = ""
    unplaced_count: int = 0


def parse_grounding(parts: Sequence[Any], metadata: Any, retrieved: datetime) -> GroundedText:
    """The parts of a candidate and its grounding metadata."""
    pieces = ["" if get_member(part, "thought") else _get_text(part, "text") for part in parts or ()]
    text = "".join(pieces)
    chunks = [parse_source(chunk, retrieved) for chunk in list_member(metadata, "grounding_chunks")]
    placed, unplaced = _place_segments(pieces, list_member(metadata, "grounding_supports"), chunks)
    evidence = _attach_passages(text, placed, chunks)
    entry = get_member(metadata, "search_entry_point")
    return GroundedText(
        text=text,
        evidence=tuple(evidence.values()),
        spans=_build_spans(text, placed),
        executed_queries=tuple(filter(None, map(_single_line, list_member(metadata, "web_search_queries")))),
        suggestions=_get_text(entry, "rendered_content")[:MAX_SUGGESTION_CHARS],
        unplaced_count=unplaced,
    )


@dataclass(frozen=True)
class _PlacedSegment:
    """A stretch of the text, in characters, and the ids of the sources that support it."""

    start: int
    end: int
    source_ids: tuple[str, ...]


def _place_segments(
    pieces: Sequence[str], supports: Sequence[Any], chunks: Sequence[Evidence | None]
) -> tuple[list[_PlacedSegment], int]:
    data = "".join(pieces).encode()
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece.encode()))
    out: list[_PlacedSegment] = []
    unplaced = 0
    for support in supports:
        span = _locate_segment(data, starts, get_member(support, "segment"))
        indices = [parse_count(index) for index in list_member(support, "grounding_chunk_indices")]
        known = [chunks[at] for at in indices if at is not None and at < len(chunks)]
        ids = [source.id for source in known if source]
        unplaced += span is None or len(known) < len(indices)
        if span is not None and ids:
            start, end = (len(data[:at].decode()) for at in span)
            out.append(_PlacedSegment(start, end, tuple(dict.fromkeys(ids))))
    return out, unplaced


def _locate_segment(data: bytes, part_starts: Sequence[int], segment: Any) -> tuple[int, int] | None:
    """The bytes of a segment in the joined text; None if it cannot be said where it is."""
    wanted = _get_text(segment, "text").encode()
    start, end = count_member(segment, "start_index") or 0, count_member(segment, "end_index")
    index = count_member(segment, "part_index")
    base = part_starts[index] if index is not None and 0 <= index < len(part_starts) - 1 else 0
    if end is not None:
        for origin in dict.fromkeys((base, 0)):
            if _is_valid_range(data, origin + start, origin + end, wanted):
                return origin + start, origin + end
    return _find_nearest(data, wanted, base + start) if wanted.strip() else None


def _is_valid_range(data: bytes, start: int, end: int, expected_text: bytes) -> bool:
    """Whether offsets lie in the text, on whole characters, and on the segment's own text."""
    if not 0 <= start < end <= len(data) or (expected_text and data[start:end] != expected_text):
        return False
    return not any(at < len(data) and data[at] & 0xC0 == 0x80 for at in (start, end))


def _find_nearest(data: bytes, expected_text: bytes, expected_start: int) -> tuple[int, int] | None:
    """Where a text begins nearest to a place."""
    around = data.rfind(expected_text, 0, expected_start + len(expected_text)), data.find(expected_text, expected_start)
    found = [place for place in around if place >= 0]
    if not found:
        return None
    start = min(found, key=lambda place: abs(place - expected_start))
    return start, start + len(expected_text)


def parse_source(chunk: Any, retrieved: datetime) -> Evidence | None:
    """A chunk as a source without passages; None for one that names nothing."""
    for member in ("web", "maps", "retrieved_context"):
        source = get_member(chunk, member)
        uri, name = get_member(source, "uri"), truncate_text(_single_line(get_member(source, "title")), MAX_TITLE_CHARS)
        address = canonical_url(uri) if isinstance(uri, str) else ""
        locator = _single_line(uri) or name
        if not locator:
            continue
        host = urlsplit(address).hostname or ""
        redirect = host == REDIRECT_HOST
        publisher = _single_line(get_member(source, "domain"))
        return Evidence(
            id=evidence_id("web", address, locator),
            kind="web",
            title=name or ("" if redirect else host) or "Google Search",
            publisher=publisher or (_title_domain(name) if redirect else host.removeprefix("www.")),
            url=address,
            locator=locator,
            retrieved=retrieved,
            expires=redirect,
        )
    return None


def _title_domain(title: str) -> str:
    """The title of a redirected page, where it is a domain, as it nearly always is."""
    fits = "." in title and " " not in title and "/" not in title
    return title.lower() if fits else ""


def _attach_passages(
    text: str, segments: Sequence[_PlacedSegment], chunks: Sequence[Evidence | None]
) -> dict[str, Evidence]:
    """Every source once, with the stretches of the text that it supports."""
    out = {item.id: item for item in chunks if item}
    for stretch in segments:
        for source in stretch.source_ids:
            item = out[source]
            passage = _make_passage(source, text[stretch.start : stretch.end])
            if passage.id not in {known.id for known in item.passages}:
                passages = (*item.passages, passage)
                tongue = item.language or detect_language(passage.text)
                out[source] = item.model_copy(update={"passages": passages, "language": tongue})
    return out


def _make_passage(source_id: str, text: str) -> Passage:
    return Passage(id=fingerprint(source_id, text), origin="grounding", text=text, end=len(text))


def _build_spans(text: str, segments: Sequence[_PlacedSegment]) -> tuple[Span, ...]:
    """The whole text in stretches, each with the sources of the segments that end with it."""
    ends: dict[int, dict[tuple[str, str], PassageReference]] = {}
    for stretch in segments:
        words = text[stretch.start : stretch.end]
        for source in stretch.source_ids:
            passage = _make_passage(source, words).id
            cite = PassageReference(evidence=source, passage=passage, end=len(words))
            ends.setdefault(stretch.end, {})[source, passage] = cite
    spans, at = [], 0
    for end in sorted(ends):
        spans.append(Span(kind="text", text=text[at:end], cites=tuple(ends[end].values())))
        at = end
    if at < len(text):
        spans.append(Span(kind="text", text=text[at:]))
    return tuple(spans)


def _get_text(container: Any, name: str) -> str:
    """A member that is a text, as UTF-8 can hold it; "" for anything else."""
    value = get_member(container, name)
    return _SURROGATES.sub("\ufffd", value) if isinstance(value, str) else ""


def _single_line(value: Any) -> str:
    """A text on one line, without what cannot be shown; "" for anything else."""
    return " ".join(remove_control_characters(value).split())
