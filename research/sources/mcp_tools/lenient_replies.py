"""Lenient parsing of replies from MCP servers that violate the protocol.

The types are passed to `ClientSession.send_request`, which validates a reply by the type that its
caller gives; `call_tool` and `list_tools` of the SDK reject a whole reply for one invalid field.
Valid forms: https://modelcontextprotocol.io/specification/2025-06-18/server/tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp import ClientSession, types
from pydantic import TypeAdapter, ValidationError, model_validator

_MAX_TYPE_CHARS = 40
_BLOCK_ADAPTER: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
_OPTIONAL_FIELDS = ("annotations", "_meta", "icons", "size", "mimeType", "title", "description")


class LenientCallToolResult(types.CallToolResult):
    """Result of a tool call.

    `structured` is the structured content of any JSON type; `unread` has the types of the content
    blocks without text.
    """

    structured: Any = None
    unread: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _repair(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        blocks: list[types.ContentBlock] = []
        unread: list[str] = []
        for item in _as_list(data.get("content")):
            block = _parse_block(item)
            if block is None:
                unread.append(_type_name(item))
            else:
                blocks.append(block)
        value = data.get("structuredContent")
        meta = data.get("_meta")
        return {
            "content": blocks,
            "structuredContent": value if isinstance(value, dict) else None,
            "structured": value,
            "isError": data.get("isError") not in (None, False, 0, "", "false", "False", "0"),
            "unread": unread,
            "_meta": meta if isinstance(meta, dict) else None,
        }


class LenientListToolsResult(types.ListToolsResult):
    """A page of a list of tools, without tools that have no name."""

    @model_validator(mode="before")
    @classmethod
    def _repair(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        tools = [tool for item in _as_list(data.get("tools")) if (tool := _parse_tool(item))]
        cursor = data.get("nextCursor")
        return {"tools": tools, "nextCursor": cursor if isinstance(cursor, str) else None}


async def call_tool(session: ClientSession, name: str, arguments: Mapping[str, Any]) -> LenientCallToolResult:
    """Call a tool, without validating structured content against the server's schema."""
    params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
    request = types.ClientRequest(types.CallToolRequest(params=params))
    return await session.send_request(request, LenientCallToolResult)


async def list_tools(session: ClientSession, cursor: str | None) -> LenientListToolsResult:
    """Return the page of the list of tools at `cursor`."""
    params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
    request = types.ClientRequest(types.ListToolsRequest(params=params))
    return await session.send_request(request, LenientListToolsResult)


def _as_list(value: Any) -> list[Any]:
    """Return a list unchanged, None as an empty list, and any other value in a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _type_name(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else type(item).__name__
    return str(kind or "unknown")[:_MAX_TYPE_CHARS]


def _parse_block(item: Any) -> types.ContentBlock | None:
    """Return a valid content block, or a text block with the texts of an invalid one; None without
    text."""
    if isinstance(item, str):
        item = {"type": "text", "text": item}
    if not isinstance(item, dict):
        return None
    required = {name: value for name, value in item.items() if name not in _OPTIONAL_FIELDS}
    for candidate in (item, {**required, **_text_fields(item)}, required):
        try:
            return _BLOCK_ADAPTER.validate_python(candidate)
        except ValidationError:
            continue
    if item.get("type") in ("image", "audio"):
        return None
    text = "\n".join(_find_texts(item))
    return types.TextContent(type="text", text=text) if text else None


def _text_fields(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the descriptive fields of a block that are strings."""
    names = ("title", "description", "mimeType")
    return {name: item[name] for name in names if isinstance(item.get(name), str)}


def _find_texts(item: Mapping[str, Any]) -> Iterator[str]:
    resource = item.get("resource")
    for source in (item, resource if isinstance(resource, dict) else {}):
        for name in ("title", "name", "description", "text", "uri"):
            value = source.get(name)
            if isinstance(value, str) and value.strip():
                yield value


def _parse_tool(item: Any) -> types.Tool | None:
    """Return a tool without its invalid fields; None if it has no name."""
    if not isinstance(item, dict) or not isinstance(name := item.get("name"), str) or not name:
        return None
    try:
        return types.Tool.model_validate(item)
    except ValidationError:
        schema, description = item.get("inputSchema"), item.get("description")
        annotations = item.get("annotations")
        read_only = annotations.get("readOnlyHint") if isinstance(annotations, dict) else None
        return types.Tool(
            name=name,
            description=description if isinstance(description, str) else None,
            inputSchema=schema if isinstance(schema, dict) else {},
            annotations=types.ToolAnnotations(readOnlyHint=read_only is True),
        )
