"""MCP server with the tool names and arguments of Amap's own, over Amap, OpenStreetMap or the
sample table.

    python -m research.sources.places.server

runs it over stdio for any client; the application runs it in memory. A failed tool reports
`reason: message`, with a reason from `research.core.records`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.fastmcp.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.types import ContentBlock, ToolAnnotations
from pydantic import BaseModel, ValidationError

from research.core.errors import ServiceError, register_secrets
from research.core.settings import SettingError, Settings, load_settings
from research.core.unknown_methods import reject_unknown_requests
from research.sources.places import osm
from research.sources.places.amap import BASE_URL, AmapBackend
from research.sources.places.offline import OfflineBackend
from research.sources.places.tools import TOOL_NAMES, BackendTools, MapBackend

log = logging.getLogger(__name__)


class _PlacesServer(FastMCP[None]):
    """FastMCP server that reports errors as `reason: message`, without FastMCP's prefix.

    It rejects unknown methods as JSON-RPC requires.
    """

    async def run_stdio_async(self) -> None:
        server = self._mcp_server
        async with stdio_server() as (received, sent), reject_unknown_requests(received, sent) as known_requests:
            await server.run(known_requests, sent, server.create_initialization_options())

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Sequence[ContentBlock] | dict[str, Any]:
        try:
            return await super().call_tool(name, arguments)
        except ToolError as error:
            service_error = _to_service_error(error)
        raise ToolError(str(service_error))


def _to_service_error(error: ToolError) -> ServiceError:
    cause = error.__cause__
    if isinstance(cause, ServiceError):
        return cause
    if isinstance(cause, ValidationError):
        return ServiceError("refused", "; ".join(_describe_errors(cause)))
    if cause is None:
        return ServiceError("refused", str(error))
    log.error("a tool failed", exc_info=cause)
    return ServiceError("internal", f"the tool failed ({type(cause).__name__})")


def _describe_errors(error: ValidationError) -> Iterator[str]:
    """Yield a description of each invalid argument."""
    for item in error.errors(include_url=False):
        name = ".".join(map(str, item["loc"])) or "the call"
        problem = "is missing" if item["type"] == "missing" else item["msg"].removeprefix("Value error, ")
        yield f"{name} {problem}"


def build_server(backend: MapBackend) -> FastMCP[None]:
    """Return an MCP server over a back end. The caller remains responsible for closing the back
    end."""
    with _preserve_root_logger():
        server = _PlacesServer(
            "sightline-places",
            instructions=f"{backend.description} Points are lng,lat, and so are results.",
            log_level="WARNING",
        )
    tools = BackendTools(backend)
    for name in TOOL_NAMES:
        server.add_tool(getattr(tools, name), annotations=ToolAnnotations(readOnlyHint=True), structured_output=True)
    return server


def check_arguments(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the normalised arguments of a call, without arguments unknown to the tool.

    Raises:
        ServiceError: there is no such tool, or an argument is missing or invalid.
    """
    model = _argument_models().get(tool)
    if model is None:
        raise ServiceError("refused", f"there is no tool {tool!r}")
    try:
        validated = model.model_validate(dict(arguments))
    except ValidationError as error:
        raise ServiceError("refused", "; ".join(_describe_errors(error))) from None
    return validated.model_dump()


@lru_cache(1)
def specifications() -> tuple[dict[str, Any], ...]:
    """Return the tools in the form of chat models: name, description and JSON schema."""
    return tuple(
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _simplify_schema(tool.parameters),
            },
        }
        for tool in _tool_descriptions()
    )


def _simplify_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce the schema of an object to the keywords that every model's API supports."""
    fields = {
        name: {key: field[key] for key in ("type", "description") if key in field}
        for name, field in schema["properties"].items()
    }
    return {"type": "object", "properties": fields, "required": list(schema.get("required", ()))}


@lru_cache(1)
def _argument_models() -> dict[str, type[BaseModel]]:
    return {tool.name: tool.fn_metadata.arg_model for tool in _tool_descriptions()}


@lru_cache(1)
def _tool_descriptions() -> tuple[Tool, ...]:
    """Return the tools for their descriptions only; the back end is not called."""
    tools = BackendTools(OfflineBackend())
    return tuple(Tool.from_function(getattr(tools, name)) for name in TOOL_NAMES)


@contextmanager
def _preserve_root_logger() -> Iterator[None]:
    """Restore the root logger, whose handlers and level the SDK changes."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def build_backend(settings: Settings) -> MapBackend:
    """Return Amap if there is a key, else OpenStreetMap if the open sources are on, else the
    sample."""
    keyless = not settings.amap_key.get_secret_value()
    return (osm.build_backend(settings) if keyless else None) or build_china_backend(settings)


def build_china_backend(settings: Settings) -> MapBackend:
    """Return Amap if there is a key, else the sample."""
    if key := settings.amap_key.get_secret_value():
        timeout = settings.amap_timeout
        return AmapBackend(key, base_url=settings.amap_url or BASE_URL, timeout_seconds=timeout)
    return OfflineBackend()


async def serve(backend: MapBackend) -> None:
    """Serve a client on stdin and stdout until it disconnects."""
    try:
        await build_server(backend).run_stdio_async()
    finally:
        await backend.close()


def main() -> None:
    """Load the settings and serve. Logs go to stderr, since stdout carries the protocol."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        settings = load_settings()
    except SettingError as error:
        raise SystemExit(str(error)) from None
    register_secrets(settings.secrets)
    asyncio.run(serve(build_backend(settings)))


if __name__ == "__main__":
    main()
