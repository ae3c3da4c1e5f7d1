"""Sessions with Amap's MCP server that the settings select, and parsing of its tool results."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from research.core.errors import ServiceError, register_secrets
from research.core.settings import Settings
from research.sources.mcp_tools import session
from research.sources.mcp_tools.session import START_TIMEOUT_FACTOR, SessionFactory, ToolError, invoke
from research.sources.mcp_tools.transports import open_http, open_stdio
from research.sources.places import tool_responses
from research.sources.places.tools import BackendTools, MapBackend

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
    from mcp import ClientSession
    from mcp.types import CallToolResult

    from research.sources.mcp_tools.session import Handler

NPM_PACKAGE = "@amap/amap-maps-mcp-server"
HOSTED_URL = "https://mcp.amap.com/mcp"
_HOSTED_NAMES = {"maps_bicycling": "maps_direction_bicycling"}  # the hosted server's name


class AmapSession(session.ToolServerSession):
    """A session with one of Amap's MCP servers."""

    def __init__(self, open_session: SessionFactory, timeout_seconds: float) -> None:
        """`timeout_seconds` is the limit for one call."""
        super().__init__(open_session, timeout_seconds, "the server of Amap's tools")
        self._loaded_tools: dict[str, BaseTool] = {}

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool and return the JSON object of its result.

        Raises:
            ServiceError: there is no response, the tool failed, or its result is not an object.
        """
        self._loaded_tools = self._loaded_tools or await self.load_tools(_read_object)
        loaded_tool = self._loaded_tools.get(tool) or self._loaded_tools.get(_HOSTED_NAMES.get(tool, ""))
        if loaded_tool is None:
            raise ServiceError("refused", f"the server of Amap's tools has no tool {tool}")
        message = await invoke(loaded_tool, arguments)
        body: dict[str, Any] = message.artifact["structured_content"]
        return body


async def _read_object(request: MCPToolCallRequest, handler: Handler) -> CallToolResult:
    """Return a tool's result with its JSON object as structured content, whatever form it came in.

    Raises:
        ServiceError: the tool failed, or its result is not an object.
    """
    from mcp.types import CallToolResult

    try:
        result = cast("CallToolResult", await handler(request))
    except ToolError as error:
        raise tool_responses.parse_error(error.message) from None
    text = "".join(block.text for block in result.content if block.type == "text")
    if result.isError:
        raise tool_responses.parse_error(text)
    body = result.structuredContent
    if not isinstance(body, dict):
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
    if not isinstance(body, dict):
        raise ServiceError("malformed", "Amap's tool answered without the JSON asked for")
    if body.keys() == {"error"}:  # some servers do not mark this as an error
        raise tool_responses.parse_error(str(body["error"]))
    return CallToolResult(content=[], structuredContent=body)


class InProcessSession:
    """The map tools over a back end, called in this process without an MCP server."""

    def __init__(self, backend: MapBackend) -> None:
        self._backend = backend

    async def start(self) -> None:
        """Do nothing; there is no server to start."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool over the back end, with arguments that have been checked.

        Raises:
            ServiceError: the back end has no result.
        """
        body: dict[str, Any] = await getattr(BackendTools(self._backend), tool)(**arguments)
        return body

    async def close(self) -> None:
        """Close the back end."""
        await self._backend.close()


def session_factory(settings: Settings) -> SessionFactory:
    """Return a function that opens a session with the server that the settings select.

    That function raises ServiceError if the server needs a missing key or program. The read timeout
    of the protocol covers the start; `ToolServerSession` limits each call.
    """
    read_timeout = timedelta(seconds=settings.amap_timeout * START_TIMEOUT_FACTOR)
    register_secrets(settings.secrets)
    if settings.amap_mcp == "memory":
        return lambda: _open_in_memory(settings, read_timeout)
    if settings.amap_mcp in ("stdio", "npm"):
        return lambda: _open_process(settings, read_timeout)
    return lambda: _open_hosted(settings, read_timeout)


@asynccontextmanager
async def _open_in_memory(settings: Settings, read_timeout: timedelta) -> AsyncIterator[ClientSession]:
    from mcp.shared.memory import create_connected_server_and_client_session

    from research.sources.places.server import build_china_backend, build_server

    backend = build_china_backend(settings)
    try:
        server = build_server(backend)
        async with create_connected_server_and_client_session(server, read_timeout) as session:
            yield session
    finally:
        await backend.close()


def _open_process(settings: Settings, read_timeout: timedelta) -> AbstractAsyncContextManager[ClientSession]:
    env = {name: value.get_secret_value() for name, value in settings.child_env}
    if key := settings.amap_key.get_secret_value():
        env["AMAP_MAPS_API_KEY"] = key
    if settings.amap_mcp == "npm":
        if not key:
            raise _missing_key_error("npm")
        command = _npx_command()
    else:
        command = [sys.executable, "-m", "research.sources.places.server"]
        env |= {"AMAP_BASE_URL": settings.amap_url, "PYTHONPATH": str(_project_root())}
        env |= {"AMAP_TIMEOUT": f"{settings.amap_timeout:g}"}
    return open_stdio(command, env, read_timeout)


def _project_root() -> Path:
    """Return the directory that contains this package, for a process started in any directory."""
    return Path(__file__).resolve().parents[3]


def _npx_command() -> list[str]:
    npx = shutil.which("npx")
    if npx is None:
        raise ServiceError("unreachable", "npx was not found: install Node.js, or set AMAP_MCP=memory")
    return [npx, "-y", NPM_PACKAGE]


def _open_hosted(settings: Settings, read_timeout: timedelta) -> AbstractAsyncContextManager[ClientSession]:
    key = settings.amap_key.get_secret_value()
    address = HOSTED_URL if settings.amap_mcp == "hosted" else settings.amap_mcp
    if not key and address == HOSTED_URL:
        raise _missing_key_error("hosted")
    parts = urlsplit(address)
    query = [*parse_qsl(parts.query), *([("key", key)] if key else [])]
    url = parts._replace(query=urlencode(query)).geturl()
    return open_http(url, {}, read_timeout, settings.amap_timeout)


def _missing_key_error(server: str) -> ServiceError:
    return ServiceError("no key", f"AMAP_MCP={server} needs AMAP_MAPS_API_KEY", hint="key")
