"""Conversion of tool results to evidence.

Text, structured content, resource links and embedded text resources are used, with records as rows.
Other content is omitted and counted in a message. All content is untrusted. Format:
https://modelcontextprotocol.io/specification/2025-06-18/server/tools.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from research.citations.registry import evidence_id
from research.core.errors import mask_secrets
from research.core.i18n import message, translator
from research.core.records import Evidence, EvidenceKind, Task, fingerprint
from research.core.text.passage_ranking import rank_passages
from research.core.text.tokenizer import detect_language
from research.core.tool_servers import ToolServer
from research.core.urls import canonical_url
from research.http.sanitize import remove_control_characters, tidy_text, truncate_text
from research.sources.mcp_tools.result_rows import parse_json, read_text, read_value
from research.sources.mcp_tools.text_tables import ResultLine

if TYPE_CHECKING:
    from research.sources.mcp_tools.lenient_replies import LenientCallToolResult

EVIDENCE_KIND: EvidenceKind = "web"
MAX_RESULT_CHARS = 200_000  # of a result; the rest is ignored
MAX_RESOURCES = 50  # of a result; the rest is ignored
MAX_TITLE_CHARS, MAX_LOCATOR_CHARS = 200, 400


class ToolCall(NamedTuple):
    """A tool call with its result."""

    tool: str
    arguments: Mapping[str, Any]  # with keys masked
    result: LenientCallToolResult


def result_text(result: LenientCallToolResult) -> str:
    """Return a tool's result as text, with each record on one line with its field names."""
    texts: list[str] = []
    for block in result.content:
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "resource_link":
            texts.append(f"{block.title or block.name}: {block.description or ''} {block.uri}")
        elif block.type == "resource" and (text := getattr(block.resource, "text", "")):
            texts.append(text)
    return _join_lines([*_read_texts(texts), *_read_structured(result, texts)])[0]


def _read_texts(texts: Iterable[str]) -> list[ResultLine]:
    """Return the lines of several texts, at most `MAX_RESULT_CHARS` characters in total."""
    lines: list[ResultLine] = []
    remaining = MAX_RESULT_CHARS
    for text in texts:
        lines += read_text(text[:remaining])
        remaining = max(remaining - len(text), 0)
    return lines


def _join_lines(lines: Iterable[ResultLine]) -> tuple[str, set[int]]:
    """Return lines as sanitised text, and the offsets at which rows begin."""
    parts: list[str] = []
    rows: set[int] = set()
    position = 0
    for is_row, group in groupby(lines, key=lambda line: line.is_row):
        texts = [line.text for line in group]
        for raw in [text.replace("\n", " ") for text in texts] if is_row else ["\n".join(texts)]:
            text = _clean_text(raw)[: max(MAX_RESULT_CHARS - position, 0)]
            if not text:
                continue
            if is_row:
                rows.add(position)
            parts.append(text)
            position += len(text) + 1
    return "\n".join(parts), rows


def _clean_text(text: str) -> str:
    return mask_secrets(tidy_text(text[:MAX_RESULT_CHARS]))


def _read_structured(result: LenientCallToolResult, texts: Sequence[str]) -> list[ResultLine]:
    """Return the lines of structured content, unless the text content repeats it.

    The protocol recommends that servers repeat structured content as text.
    """
    value = result.structured
    if value in (None, "", [], {}):
        return []
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    joined = "\n".join(texts)
    if isinstance(inner, str) and inner.strip() == joined.strip():
        return []
    if len(joined) <= MAX_RESULT_CHARS and any(parse_json(text) in (value, inner) for text in [joined, *texts]):
        return []
    if isinstance(inner, list) and [parse_json(text) for text in texts] == inner:
        return []
    kinds = [block.type for block in result.content]
    if kinds and _block_types(inner) == kinds:  # FastMCP repeats content blocks in this form
        return []
    return read_value(value)


def _block_types(value: object) -> list[Any]:
    """Return the types of content blocks in a list; [] if the value is not a list."""
    rows = value if isinstance(value, list) else []
    return [row.get("type") if isinstance(row, dict) else None for row in rows]


def build_evidence(
    server: ToolServer, calls: Iterable[ToolCall], task: Task, max_passages: int, retrieved: datetime
) -> tuple[tuple[Evidence, ...], str]:
    """Return evidence for each result and each resource in it, and a message about omitted content.

    Each piece of evidence has at most `max_passages` passages.
    """
    by_id: dict[str, Evidence] = {}
    skipped_types: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for call in calls:
        unread.update(call.result.unread)
        for item in _call_evidence(server, call, task.query, max_passages, retrieved, skipped_types):
            by_id.setdefault(item.id, item)
    for kind in ("image", "audio", "resource"):
        skipped_types[kind] += unread.pop(kind, 0)
    language = task.language or detect_language(task.query)
    translate = translator(language, "mcp.")
    kinds = [translate(kind, n=n) for kind, n in sorted(skipped_types.items()) if n]
    kinds += [translate("block", n=n, kind=_clean_title(kind)) for kind, n in sorted(unread.items())]
    omitted = message("mark.list", language).join(kinds)
    return tuple(by_id.values()), translate("left", what=omitted) if omitted else ""


def _call_evidence(
    server: ToolServer, call: ToolCall, query: str, max_passages: int, retrieved: datetime, skipped_types: Counter[str]
) -> Iterator[Evidence]:
    """Yield the evidence of one call, its result first, and count omitted content in `skipped_types`."""
    title = f"{server.label}: {call.tool}"
    arguments_json = json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True)
    result_locator = _shorten_locator(f"mcp:{server.name}/{call.tool} {arguments_json}")
    texts: list[str] = []
    resources: list[Evidence] = []

    def make_item(name: str, url: str, locator: str, lines: Iterable[ResultLine]) -> Evidence:
        text, rows = _join_lines(lines)
        passages = rank_passages(text, url or locator, query, max_passages, rows)
        return Evidence(
            id=evidence_id(EVIDENCE_KIND, url, locator), kind=EVIDENCE_KIND, title=_clean_title(name),
            publisher=server.label, url=url, locator=locator, language=detect_language(text),
            retrieved=retrieved, opening=text[:MAX_TITLE_CHARS], passages=passages,
        )  # fmt: skip

    for block in call.result.content:
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "resource_link" and len(resources) < MAX_RESOURCES:
            url, locator = _resource_address(str(block.uri), server)
            lines = [ResultLine(block.title or block.name), ResultLine(block.description or "")]
            resources.append(make_item(f"{title}: {block.title or block.name}", url, locator, lines))
        elif (
            block.type == "resource"
            and len(resources) < MAX_RESOURCES
            and (text := getattr(block.resource, "text", ""))
        ):
            url, locator = _resource_address(str(block.resource.uri), server)
            resources.append(make_item(f"{title}: {block.resource.uri}", url, locator, _read_texts([text])))
        else:
            skipped_types[block.type if block.type in ("image", "audio") else "resource"] += 1
    lines = [*_read_texts(texts), *_read_structured(call.result, texts)]
    if any(line.text.strip() for line in lines):
        yield make_item(title, "", result_locator, lines)
    yield from resources


def _clean_title(text: str) -> str:
    return truncate_text(mask_secrets(" ".join(remove_control_characters(text).split())), MAX_TITLE_CHARS)


def _shorten_locator(locator: str) -> str:
    """Return a locator of limited length; a fingerprint keeps shortened ones distinct."""
    locator = mask_secrets(" ".join(remove_control_characters(locator).split()))
    return locator if len(locator) <= MAX_LOCATOR_CHARS else f"{locator[:MAX_LOCATOR_CHARS]}… {fingerprint(locator)}"


def _resource_address(uri: str, server: ToolServer) -> tuple[str, str]:
    """Return the URL and the locator of a resource; the URL is "" unless it is on the web."""
    uri = _shorten_locator(uri)
    if uri.startswith(("https://", "http://")) and (url := canonical_url(uri)):
        return url, url
    return "", f"mcp:{server.name} {uri}"
