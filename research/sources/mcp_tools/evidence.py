"""What tools say, as evidence.

Text, structured content, links to resources and resources of text within an answer are taken, their
records row by row; what is neither text nor leads to any is left out, and that is told. All of it is a
stranger's.
Source of the forms: https://modelcontextprotocol.io/specification/2025-06-18/server/tools.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from research.citations.registry import evidence_id
from research.core.errors import mask_secrets
from research.core.i18n import message, translator
from research.core.records import Evidence, EvidenceKind, Task, fingerprint
from research.core.text.passage_ranking import rank_passages
from research.core.text.tokenizer import detect_language
from research.core.tool_servers import ToolServer
from research.core.urls import canonical_url
from research.http.sanitize import remove_control_characters, tidy_text, truncate_text
from research.sources.mcp_tools.result_rows import ResultLine, parse_json, read_text, read_value

if TYPE_CHECKING:
    from research.sources.mcp_tools.lenient import LenientCallToolResult
    from research.sources.mcp_tools.tool_runner import ToolCall

EVIDENCE_KIND: EvidenceKind = "web"
MAX_ANSWER_CHARS = 200_000  # characters of an answer that are read
MAX_RESOURCES = 50  # resources of an answer that are taken
MAX_TITLE_CHARS, MAX_LOCATOR_CHARS = 200, 400  # characters


def result_text(result: LenientCallToolResult) -> str:
    """Return the text of a tool's answer; each of its records is one line with the names of its
    fields."""
    said: list[str] = []
    for block in result.content:
        if block.type == "text":
            said.append(block.text)
        elif block.type == "resource_link":
            said.append(f"{block.title or block.name}: {block.description or ''} {block.uri}")
        elif block.type == "resource" and (text := getattr(block.resource, "text", "")):
            said.append(text)
    return _join_lines([*_read_texts(said), *_read_structured(result, said)])[0]


def _read_texts(texts: Iterable[str]) -> list[ResultLine]:
    """The lines of the texts of an answer, up to `LONGEST` characters of them all."""
    lines: list[ResultLine] = []
    left = MAX_ANSWER_CHARS
    for text in texts:
        lines += read_text(text[:left])
        left = max(left - len(text), 0)
    return lines


def _join_lines(lines: Iterable[ResultLine]) -> tuple[str, set[int]]:
    """Lines as a clean text, and where in it the rows begin."""
    parts: list[str] = []
    rows: set[int] = set()
    at = 0
    for is_row, group in groupby(lines, key=lambda line: line.is_row):
        texts = [line.text for line in group]
        for said in [text.replace("\n", " ") for text in texts] if is_row else ["\n".join(texts)]:
            text = _clean_text(said)[: max(MAX_ANSWER_CHARS - at, 0)]
            if not text:
                continue
            if is_row:
                rows.add(at)
            parts.append(text)
            at += len(text) + 1
    return "\n".join(parts), rows


def _clean_text(text: str) -> str:
    return mask_secrets(tidy_text(text[:MAX_ANSWER_CHARS]))


def _read_structured(result: LenientCallToolResult, texts: Sequence[str]) -> list[ResultLine]:
    """The lines of structured content that the text does not say already: it is to be repeated there."""
    value = result.structured
    if value in (None, "", [], {}):
        return []
    alone = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    whole = "\n".join(texts)
    if isinstance(alone, str) and alone.strip() == whole.strip():
        return []
    if len(whole) <= MAX_ANSWER_CHARS and any(parse_json(text) in (value, alone) for text in [whole, *texts]):
        return []
    if isinstance(alone, list) and [parse_json(text) for text in texts] == alone:
        return []
    kinds = [block.type for block in result.content]
    if kinds and _block_types(alone) == kinds:  # as FastMCP repeats them
        return []
    return read_value(value)


def _block_types(value: object) -> list[Any]:
    """The types of blocks of content; none if these are none."""
    rows = value if isinstance(value, list) else []
    return [row.get("type") if isinstance(row, dict) else None for row in rows]


def build_evidence(
    server: ToolServer, calls: Iterable[ToolCall], task: Task, max_passages: int, retrieved: datetime
) -> tuple[tuple[Evidence, ...], str]:
    """What calls have found: a piece of evidence for each answer and for each resource in it, with at
    most `limit` passages each; and what was left out, in words."""
    found: dict[str, Evidence] = {}
    binary: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for one in calls:
        unread.update(one.result.unread)
        for item in _call_evidence(server, one, task.query, max_passages, retrieved, binary):
            found.setdefault(item.id, item)
    for kind in ("image", "audio", "resource"):
        binary[kind] += unread.pop(kind, 0)
    tongue = task.language or detect_language(task.query)
    say = translator(tongue, "mcp.")
    kinds = [say(kind, n=n) for kind, n in sorted(binary.items()) if n]
    kinds += [say("block", n=n, kind=_clean_title(kind)) for kind, n in sorted(unread.items())]
    named = message("mark.list", tongue).join(kinds)
    return tuple(found.values()), say("left", what=named) if named else ""


def _call_evidence(
    server: ToolServer, call: ToolCall, query: str, max_passages: int, retrieved: datetime, skipped_types: Counter[str]
) -> Iterator[Evidence]:
    title = f"{server.label}: {call.tool}"
    given = json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True)
    where = _shorten_locator(f"mcp:{server.name}/{call.tool} {given}")
    said: list[str] = []
    resources: list[Evidence] = []

    def item(name: str, url: str, locator: str, lines: Iterable[ResultLine]) -> Evidence:
        text, rows = _join_lines(lines)
        found = rank_passages(text, url or locator, query, max_passages, rows)
        return Evidence(
            id=evidence_id(EVIDENCE_KIND, url, locator), kind=EVIDENCE_KIND, title=_clean_title(name),
            publisher=server.label, url=url, locator=locator, language=detect_language(text),
            retrieved=retrieved, opening=text[:MAX_TITLE_CHARS], passages=found,
        )  # fmt: skip

    for block in call.result.content:
        if block.type == "text":
            said.append(block.text)
        elif block.type == "resource_link" and len(resources) < MAX_RESOURCES:
            url, locator = _resource_address(str(block.uri), server)
            lines = [ResultLine(block.title or block.name), ResultLine(block.description or "")]
            resources.append(item(f"{title}: {block.title or block.name}", url, locator, lines))
        elif block.type == "resource" and len(resources) < MAX_RESOURCES:
            if text := getattr(block.resource, "text", ""):
                url, locator = _resource_address(str(block.resource.uri), server)
                lines = _read_texts([text])
                resources.append(item(f"{title}: {block.resource.uri}", url, locator, lines))
            else:
                skipped_types["resource"] += 1
        elif block.type in ("image", "audio"):
            skipped_types[block.type] += 1
        else:
            skipped_types["resource"] += 1
    lines = [*_read_texts(said), *_read_structured(call.result, said)]
    if any(line.text.strip() for line in lines):
        yield item(title, "", where, lines)
    yield from resources


def _clean_title(text: str) -> str:
    return truncate_text(mask_secrets(" ".join(remove_control_characters(text).split())), MAX_TITLE_CHARS)


def _shorten_locator(locator: str) -> str:
    """A locator of bounded length, which still tells one from another."""
    locator = mask_secrets(" ".join(remove_control_characters(locator).split()))
    return locator if len(locator) <= MAX_LOCATOR_CHARS else f"{locator[:MAX_LOCATOR_CHARS]}… {fingerprint(locator)}"


def _resource_address(uri: str, server: ToolServer) -> tuple[str, str]:
    """The URL of a resource that the web has, and its locator; one of the server's own has no URL."""
    uri = _shorten_locator(uri)
    if uri.startswith(("https://", "http://")) and (url := canonical_url(uri)):
        return url, url
    return "", f"mcp:{server.name} {uri}"
