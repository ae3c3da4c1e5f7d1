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
from research.core.errors import concealed
from research.core.i18n import message, speaker
from research.core.records import Evidence, EvidenceKind, Task, fingerprint
from research.core.text.windows import passages
from research.core.text.words import detect_language
from research.core.tool_servers import ToolServer
from research.core.urls import canonical_url
from research.http.plain import legible, shortened, tidy
from research.sources.mcp_tools.rows import Line, parse_json, read_text, read_value

if TYPE_CHECKING:
    from research.sources.mcp_tools.chain import ToolCall
    from research.sources.mcp_tools.lenient import ToolAnswer

KIND: EvidenceKind = "web"
LONGEST = 200_000  # characters of an answer that are read
ITEMS = 50  # resources of an answer that are taken
TITLE, WHERE = 200, 400  # characters


def text_of(answer: ToolAnswer) -> str:
    """Return the text of a tool's answer; each of its records is one line with the names of its
    fields."""
    said: list[str] = []
    for block in answer.content:
        if block.type == "text":
            said.append(block.text)
        elif block.type == "resource_link":
            said.append(f"{block.title or block.name}: {block.description or ''} {block.uri}")
        elif block.type == "resource" and (text := getattr(block.resource, "text", "")):
            said.append(text)
    return _joined([*_read(said), *_structured(answer, said)])[0]


def _read(said: Iterable[str]) -> list[Line]:
    """The lines of the texts of an answer, up to `LONGEST` characters of them all."""
    lines: list[Line] = []
    left = LONGEST
    for text in said:
        lines += read_text(text[:left])
        left = max(left - len(text), 0)
    return lines


def _joined(lines: Iterable[Line]) -> tuple[str, set[int]]:
    """Lines as a clean text, and where in it the rows begin."""
    parts: list[str] = []
    rows: set[int] = set()
    at = 0
    for is_row, group in groupby(lines, key=lambda line: line.is_row):
        texts = [line.text for line in group]
        for said in [text.replace("\n", " ") for text in texts] if is_row else ["\n".join(texts)]:
            text = _clean(said)[: max(LONGEST - at, 0)]
            if not text:
                continue
            if is_row:
                rows.add(at)
            parts.append(text)
            at += len(text) + 1
    return "\n".join(parts), rows


def _clean(text: str) -> str:
    return concealed(tidy(text[:LONGEST]))


def _structured(answer: ToolAnswer, said: Sequence[str]) -> list[Line]:
    """The lines of structured content that the text does not say already: it is to be repeated there."""
    value = answer.structured
    if value in (None, "", [], {}):
        return []
    alone = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    whole = "\n".join(said)
    if isinstance(alone, str) and alone.strip() == whole.strip():
        return []
    if len(whole) <= LONGEST and any(parse_json(text) in (value, alone) for text in [whole, *said]):
        return []
    if isinstance(alone, list) and [parse_json(text) for text in said] == alone:
        return []
    kinds = [block.type for block in answer.content]
    if kinds and _blocks(alone) == kinds:  # as FastMCP repeats them
        return []
    return read_value(value)


def _blocks(value: object) -> list[Any]:
    """The types of blocks of content; none if these are none."""
    rows = value if isinstance(value, list) else []
    return [row.get("type") if isinstance(row, dict) else None for row in rows]


def evidence(
    server: ToolServer, calls: Iterable[ToolCall], task: Task, limit: int, now: datetime
) -> tuple[tuple[Evidence, ...], str]:
    """What calls have found: a piece of evidence for each answer and for each resource in it, with at
    most `limit` passages each; and what was left out, in words."""
    found: dict[str, Evidence] = {}
    binary: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for one in calls:
        unread.update(one.result.unread)
        for item in _items(server, one, task.query, limit, now, binary):
            found.setdefault(item.id, item)
    for kind in ("image", "audio", "resource"):
        binary[kind] += unread.pop(kind, 0)
    tongue = task.language or detect_language(task.query)
    say = speaker(tongue, "mcp.")
    kinds = [say(kind, n=n) for kind, n in sorted(binary.items()) if n]
    kinds += [say("block", n=n, kind=_title(kind)) for kind, n in sorted(unread.items())]
    named = message("mark.list", tongue).join(kinds)
    return tuple(found.values()), say("left", what=named) if named else ""


def _items(
    server: ToolServer, call: ToolCall, query: str, limit: int, now: datetime, binary: Counter[str]
) -> Iterator[Evidence]:
    title = f"{server.label}: {call.tool}"
    given = json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True)
    where = _short(f"mcp:{server.name}/{call.tool} {given}")
    said: list[str] = []
    resources: list[Evidence] = []

    def item(name: str, url: str, locator: str, lines: Iterable[Line]) -> Evidence:
        text, rows = _joined(lines)
        found = passages(text, url or locator, query, limit, rows)
        return Evidence(
            id=evidence_id(KIND, url, locator), kind=KIND, title=_title(name),
            publisher=server.label, url=url, locator=locator, language=detect_language(text),
            retrieved=now, opening=text[:TITLE], passages=found,
        )  # fmt: skip

    for block in call.result.content:
        if block.type == "text":
            said.append(block.text)
        elif block.type == "resource_link" and len(resources) < ITEMS:
            url, locator = _address(str(block.uri), server)
            lines = [Line(block.title or block.name), Line(block.description or "")]
            resources.append(item(f"{title}: {block.title or block.name}", url, locator, lines))
        elif block.type == "resource" and len(resources) < ITEMS:
            if text := getattr(block.resource, "text", ""):
                url, locator = _address(str(block.resource.uri), server)
                lines = _read([text])
                resources.append(item(f"{title}: {block.resource.uri}", url, locator, lines))
            else:
                binary["resource"] += 1
        elif block.type in ("image", "audio"):
            binary[block.type] += 1
        else:
            binary["resource"] += 1
    lines = [*_read(said), *_structured(call.result, said)]
    if any(line.text.strip() for line in lines):
        yield item(title, "", where, lines)
    yield from resources


def _title(text: str) -> str:
    return shortened(concealed(" ".join(legible(text).split())), TITLE)


def _short(where: str) -> str:
    """A locator of bounded length, which still tells one from another."""
    where = concealed(" ".join(legible(where).split()))
    return where if len(where) <= WHERE else f"{where[:WHERE]}… {fingerprint(where)}"


def _address(uri: str, server: ToolServer) -> tuple[str, str]:
    """The URL of a resource that the web has, and its locator; one of the server's own has no URL."""
    uri = _short(uri)
    if uri.startswith(("https://", "http://")) and (url := canonical_url(uri)):
        return url, url
    return "", f"mcp:{server.name} {uri}"
