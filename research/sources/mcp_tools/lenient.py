"""Replies of MCP servers that do not keep to the protocol, read as far as they can be.

The types are given to `ClientSession.send_request`, which validates a reply by the type of its caller;
`call_tool` and `list_tools` of the SDK refuse the whole reply for one field. Source of the right forms:
https://modelcontextprotocol.io/specification/2025-06-18/server/tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp import ClientSession, types
from pydantic import TypeAdapter, ValidationError, model_validator

_MAX_TYPE_CHARS = 40  # characters of the type of a block
_BLOCK_ADAPTER: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
_OPTIONAL_FIELDS = ("annotations", "_meta", "icons", "size", "mimeType", "title", "description")  # optional


class LenientCallToolResult(types.CallToolResult):
    """The answer of a tool. `structured` is its structured content, whatever type of JSON that has;
    `unread` are the types of the blocks of content in which no text was found."""

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
    """A page of a list of tools, without those that have no name."""

    @model_validator(mode="before")
    @classmethod
    def _repair(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        tools = [tool for item in _as_list(data.get("tools")) if (tool := _parse_tool(item))]
        cursor = data.get("nextCursor")
        return {"tools": tools, "nextCursor": cursor if isinstance(cursor, str) else None}


async def call_tool(session: ClientSession, name: str, arguments: Mapping[str, Any]) -> LenientCallToolResult:
    """Call a tool. Its structured content is not held against the schema that the server declares."""
    params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
    request = types.ClientRequest(types.CallToolRequest(params=params))
    return await session.send_request(request, LenientCallToolResult)


async def list_tools(session: ClientSession, cursor: str | None) -> LenientListToolsResult:
    """Return the page of the list of tools that begins at `cursor`."""
    params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
    request = types.ClientRequest(types.ListToolsRequest(params=params))
    return await session.send_request(request, LenientListToolsResult)


def _as_list(value: Any) -> list[Any]:
    """A list as it is, one thing as a list of it, and nothing as an empty one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _type_name(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else type(item).__name__
    return str(kind or "unknown")[:_MAX_TYPE_CHARS]


def _parse_block(item: Any) -> types.ContentBlock | None:
    """A block of content, or what text there is in something that is none; None without any."""
    if isinstance(item, str):
        item = {"type": "text", "text": item}
    if not isinstance(item, dict):
        return None
    required = {name: value for name, value in item.items() if name not in _OPTIONAL_FIELDS}
    for given in (item, {**required, **_text_fields(item)}, required):
        try:
            return _BLOCK_ADAPTER.validate_python(given)
        except ValidationError:
            continue
    if item.get("type") in ("image", "audio"):
        return None
    text = "\n".join(_find_texts(item))
    return types.TextContent(type="text", text=text) if text else None


def _text_fields(item: Mapping[str, Any]) -> dict[str, str]:
    """The fields in words of a block, those of another type left out."""
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
    """A tool, without its fields that are wrong; None if it has no name."""
    if not isinstance(item, dict) or not isinstance(name := item.get("name"), str) or not name:
        return None
    try:
        return types.Tool.model_validate(item)
    except ValidationError:
        schema, about = item.get("inputSchema"), item.get("description")
        said = item.get("annotations")
        reads = said.get("readOnlyHint") if isinstance(said, dict) else None
        return types.Tool(
            name=name,
            description=about if isinstance(about, str) else None,
            inputSchema=schema if isinstance(schema, dict) else {},
            annotations=types.ToolAnnotations(readOnlyHint=reads is True),
        )
