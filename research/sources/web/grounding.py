"""Parser of Google Search grounding: the sources that support each segment of a text.

Input offsets are UTF-8 bytes of the joined text parts (of one part, if `part_index` is given);
output offsets are characters. Every placed segment equals the text that the service gives for it;
wrong offsets are corrected by searching for that text, or the segment stays unplaced. Any member
may be missing. Source: https://ai.google.dev/api/generate-content#GroundingMetadata.
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
MAX_SUGGESTION_CHARS = 40_000  # characters kept of the suggestions' HTML
MAX_TITLE_CHARS = 300
# JSON can hold a lone surrogate, UTF-8 cannot. Its replacement has as many bytes.
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class GroundedText:
    """A text with its sources.

    `unplaced_count` counts supports whose segment is not in the text or whose source is missing.
    """

    text: str
    evidence: tuple[Evidence, ...] = ()
    spans: tuple[Span, ...] = ()
    executed_queries: tuple[str, ...] = ()
    suggestions: str = ""
    unplaced_count: int = 0


def parse_grounding(parts: Sequence[Any], metadata: Any, retrieved: datetime) -> GroundedText:
    """Parse the text parts of a candidate and its grounding metadata."""
    pieces = ["" if get_member(part, "thought") else _get_text(part, "text") for part in parts or ()]
    text = "".join(pieces)
    sources = [parse_source(chunk, retrieved) for chunk in list_member(metadata, "grounding_chunks")]
    segments, unplaced_count = _place_segments(pieces, list_member(metadata, "grounding_supports"), sources)
    evidence = _attach_passages(text, segments, sources)
    entry = get_member(metadata, "search_entry_point")
    return GroundedText(
        text=text,
        evidence=tuple(evidence.values()),
        spans=_build_spans(text, segments),
        executed_queries=tuple(filter(None, map(_single_line, list_member(metadata, "web_search_queries")))),
        suggestions=_get_text(entry, "rendered_content")[:MAX_SUGGESTION_CHARS],
        unplaced_count=unplaced_count,
    )


@dataclass(frozen=True)
class _PlacedSegment:
    """A range of the text, in characters, and the ids of its supporting sources."""

    start: int
    end: int
    source_ids: tuple[str, ...]


def _place_segments(
    pieces: Sequence[str], supports: Sequence[Any], sources: Sequence[Evidence | None]
) -> tuple[list[_PlacedSegment], int]:
    """Return the placed segments, and the number of those without a place or a source.

    The indexes of a support refer to `sources`, which are None where a source is unusable.
    """
    data = "".join(pieces).encode()
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece.encode()))
    placed: list[_PlacedSegment] = []
    unplaced = 0
    for support in supports:
        span = _locate_segment(data, starts, get_member(support, "segment"))
        indices = [parse_count(index) for index in list_member(support, "grounding_chunk_indices")]
        cited = [sources[index] for index in indices if index is not None and index < len(sources)]
        ids = [source.id for source in cited if source]
        unplaced += span is None or len(cited) < len(indices)
        if span is not None and ids:
            start, end = (len(data[:at].decode()) for at in span)
            placed.append(_PlacedSegment(start, end, tuple(dict.fromkeys(ids))))
    return placed, unplaced


def _locate_segment(data: bytes, part_starts: Sequence[int], segment: Any) -> tuple[int, int] | None:
    """Return the byte range of a segment in the joined text, or None if it cannot be located."""
    segment_text = _get_text(segment, "text").encode()
    start, end = count_member(segment, "start_index") or 0, count_member(segment, "end_index")
    index = count_member(segment, "part_index")
    base = part_starts[index] if index is not None and 0 <= index < len(part_starts) - 1 else 0
    if end is not None:
        for origin in dict.fromkeys((base, 0)):
            if _is_valid_range(data, origin + start, origin + end, segment_text):
                return origin + start, origin + end
    return _find_nearest(data, segment_text, base + start) if segment_text.strip() else None


def _is_valid_range(data: bytes, start: int, end: int, expected_text: bytes) -> bool:
    """Return True if offsets are in range, on character boundaries, and match the expected text."""
    if not 0 <= start < end <= len(data) or (expected_text and data[start:end] != expected_text):
        return False
    return not any(at < len(data) and data[at] & 0xC0 == 0x80 for at in (start, end))


def _find_nearest(data: bytes, expected_text: bytes, expected_start: int) -> tuple[int, int] | None:
    """Return the range of the occurrence of a text nearest to the expected start."""
    candidates = (
        data.rfind(expected_text, 0, expected_start + len(expected_text)),
        data.find(expected_text, expected_start),
    )
    starts = [position for position in candidates if position >= 0]
    if not starts:
        return None
    start = min(starts, key=lambda place: abs(place - expected_start))
    return start, start + len(expected_text)


def parse_source(chunk: Any, retrieved: datetime) -> Evidence | None:
    """Convert a grounding chunk to evidence without passages; None if it names nothing."""
    for member in ("web", "maps", "retrieved_context"):
        source = get_member(chunk, member)
        uri, name = get_member(source, "uri"), truncate_text(_single_line(get_member(source, "title")), MAX_TITLE_CHARS)
        address = canonical_url(uri) if isinstance(uri, str) else ""
        locator = _single_line(uri) or name
        if not locator:
            continue
        host = urlsplit(address).hostname or ""
        is_redirect = host == REDIRECT_HOST
        publisher = _single_line(get_member(source, "domain"))
        return Evidence(
            id=evidence_id("web", address, locator),
            kind="web",
            title=name or ("" if is_redirect else host) or "Google Search",
            publisher=publisher or (_title_domain(name) if is_redirect else host.removeprefix("www.")),
            url=address,
            locator=locator,
            retrieved=retrieved,
            url_expires=is_redirect,
        )
    return None


def _title_domain(title: str) -> str:
    """Return a redirected page's title if it is a domain, as it nearly always is."""
    is_domain = "." in title and " " not in title and "/" not in title
    return title.lower() if is_domain else ""


def _attach_passages(
    text: str, segments: Sequence[_PlacedSegment], sources: Sequence[Evidence | None]
) -> dict[str, Evidence]:
    """Return each source by id, with the segments that it supports as passages."""
    by_id = {item.id: item for item in sources if item}
    for segment in segments:
        for source_id in segment.source_ids:
            item = by_id[source_id]
            passage = _make_passage(source_id, text[segment.start : segment.end])
            if passage.id not in {known.id for known in item.passages}:
                passages = (*item.passages, passage)
                language = item.language or detect_language(passage.text)
                by_id[source_id] = item.model_copy(update={"passages": passages, "language": language})
    return by_id


def _make_passage(source_id: str, text: str) -> Passage:
    return Passage(id=fingerprint(source_id, text), origin="grounding", text=text, end=len(text))


def _build_spans(text: str, segments: Sequence[_PlacedSegment]) -> tuple[Span, ...]:
    """Split the text into spans, each citing the sources of the segments that end with it."""
    ends: dict[int, dict[tuple[str, str], PassageReference]] = {}
    for segment in segments:
        segment_text = text[segment.start : segment.end]
        for source_id in segment.source_ids:
            passage = _make_passage(source_id, segment_text).id
            reference = PassageReference(evidence=source_id, passage=passage, end=len(segment_text))
            ends.setdefault(segment.end, {})[source_id, passage] = reference
    spans, position = [], 0
    for end in sorted(ends):
        spans.append(Span(kind="text", text=text[position:end], references=tuple(ends[end].values())))
        position = end
    if position < len(text):
        spans.append(Span(kind="text", text=text[position:]))
    return tuple(spans)


def _get_text(container: Any, name: str) -> str:
    """Return a text member with lone surrogates replaced, or ""."""
    value = get_member(container, name)
    return _SURROGATES.sub("\ufffd", value) if isinstance(value, str) else ""


def _single_line(value: Any) -> str:
    """Return a text on one line without control characters, or ""."""
    return " ".join(remove_control_characters(value).split())
