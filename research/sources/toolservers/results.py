"""What tools say, as evidence.

Text, structured content, links to resources and resources of text within an answer are taken;
what is neither text nor leads to any is left out, and that is told. All of it is a stranger's.
Source of the forms: https://modelcontextprotocol.io/specification/2025-06-18/server/tools.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from research.evidence.registry import evidence_id
from research.i18n import message, speaker
from research.language.text import language
from research.language.windows import passages
from research.records import Evidence, EvidenceKind, Task, fingerprint
from research.toolservers.config import ToolServer
from research.trouble import concealed
from research.urls import canonical_url
from research.wire.plain import legible, shortened, tidy

if TYPE_CHECKING:
    from mcp.types import CallToolResult

    from research.sources.toolservers.chain import Told

KIND: EvidenceKind = "web"
LONGEST = 200_000  # characters of an answer that are read
ITEMS = 50  # resources of an answer that are taken
TITLE, WHERE = 200, 400  # characters
DEEP = 8  # levels of structured content
LINES = 5_000  # of structured content


def text_of(result: CallToolResult) -> str:
    """What an answer says in words; what it has beside them as lines of names and values."""
    said: list[str] = []
    for block in result.content:
        if block.type == "text":
            said.append(block.text)
        elif block.type == "resource_link":
            said.append(f"{block.title or block.name}: {block.description or ''} {block.uri}")
        elif block.type == "resource" and (text := getattr(block.resource, "text", "")):
            said.append(text)
    return _clean("\n".join([*said, *_structured(result, said)]))


def _clean(text: str) -> str:
    return concealed(tidy(text[:LONGEST]))


def _structured(result: CallToolResult, said: Sequence[str]) -> list[str]:
    """The lines of structured content that the text does not say already: it is to be repeated there."""
    value = result.structuredContent
    if not value:
        return []
    alone = next(iter(value.values())) if len(value) == 1 else value
    whole = "\n".join(said)
    if isinstance(alone, str) and alone.strip() == whole.strip():
        return []
    if len(whole) <= LONGEST and any(_json(text) in (value, alone) for text in [whole, *said]):
        return []
    if isinstance(alone, list) and [_json(text) for text in said] == alone:
        return []
    if _blocks(alone) == [block.type for block in result.content]:  # as FastMCP repeats them
        return []
    found: list[str] = []
    for line in _lines("", value, 0):
        found.append(line)
        if len(found) == LINES:
            break
    return found


def _blocks(value: object) -> list[Any]:
    """The types of blocks of content; none if these are none."""
    rows = value if isinstance(value, list) else []
    return [row.get("type") if isinstance(row, dict) else None for row in rows]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _lines(name: str, value: object, depth: int) -> Iterator[str]:
    """Names and values, each on a line: `place.name: West Lake`."""
    if isinstance(value, dict | list) and depth < DEEP:
        pairs = value.items() if isinstance(value, dict) else enumerate(value, 1)
        for key, inner in pairs:
            yield from _lines(f"{name}.{key}" if name else str(key), inner, depth + 1)
    elif value is not None:
        told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"{name}: {told}"


def evidence(
    server: ToolServer, told: Iterable[Told], task: Task, limit: int, now: datetime
) -> tuple[tuple[Evidence, ...], str]:
    """What calls have found: a piece of evidence for each answer and for each resource in it, with at
    most `limit` passages each; and what was left out, in words."""
    found: dict[str, Evidence] = {}
    binary: Counter[str] = Counter()
    for one in told:
        for item in _items(server, one, task.query, limit, now, binary):
            found.setdefault(item.id, item)
    tongue = task.language or language(task.query)
    say = speaker(tongue, "mcp.")
    kinds = [say(kind, n=n) for kind, n in sorted(binary.items())]
    named = message("mark.list", tongue).join(kinds)
    return tuple(found.values()), say("left", what=named) if named else ""


def _items(
    server: ToolServer, told: Told, query: str, limit: int, now: datetime, binary: Counter[str]
) -> Iterator[Evidence]:
    title = f"{server.label}: {told.tool}"
    given = json.dumps(dict(told.arguments), ensure_ascii=False, sort_keys=True)
    where = _short(f"mcp:{server.name}/{told.tool} {given}")
    said: list[str] = []
    resources: list[Evidence] = []

    def item(name: str, url: str, locator: str, text: str) -> Evidence:
        text = _clean(text)
        return Evidence(
            id=evidence_id(KIND, url, locator), kind=KIND, title=_title(name),
            publisher=server.label, url=url, locator=locator, language=language(text),
            retrieved=now, opening=text[:TITLE], passages=passages(text, url or locator, query, limit),
        )  # fmt: skip

    for block in told.result.content:
        if block.type == "text":
            said.append(block.text)
        elif block.type == "resource_link" and len(resources) < ITEMS:
            url, locator = _address(str(block.uri), server)
            text = f"{block.title or block.name}\n{block.description or ''}"
            resources.append(item(f"{title}: {block.title or block.name}", url, locator, text))
        elif block.type == "resource" and len(resources) < ITEMS:
            if text := getattr(block.resource, "text", ""):
                url, locator = _address(str(block.resource.uri), server)
                resources.append(item(f"{title}: {block.resource.uri}", url, locator, text))
            else:
                binary["resource"] += 1
        elif block.type in ("image", "audio"):
            binary[block.type] += 1
        else:
            binary["resource"] += 1
    if text := "\n".join([*said, *_structured(told.result, said)]).strip():
        yield item(title, "", where, text)
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
