"""One session with the MCP server of Amap's tools, for the whole process.

A session belongs to the task that entered it, so one task owns it and leaves it again; calls come
from any task of the same loop. A server that has died is started anew, once for each call. Whatever
goes wrong is a `Trouble`, without the key.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from research.places import shapes
from research.settings import Settings
from research.trouble import Trouble, conceal

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from mcp import ClientSession

PACKAGE = "@amap/amap-maps-mcp-server"
HOSTED = "https://mcp.amap.com/mcp"
START = 3  # a server may take this many times as long to start as to answer
LEAVE = 8.0  # seconds that a server has to end
TETHER = Path(__file__).with_name("tether.py")
_ALIASES = {"maps_bicycling": "maps_direction_bicycling"}  # as the hosted server calls it

Connect = Callable[[], AbstractAsyncContextManager["ClientSession"]]


class Session:
    """The tools of one server. Belongs to the loop on which it is first called."""

    def __init__(self, connect: Connect, timeout: float) -> None:
        """`timeout` are the seconds of one call."""
        self._connect = connect
        self._timeout = timeout
        self._starting = asyncio.Lock()
        self._owner: _Owner | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a tool answers.

        Raises:
            Trouble: there is no answer.
        """
        for last in (False, True):
            owner = await self._running()
            try:
                return await self._ask(owner, tool, arguments)
            except _Gone:
                self._drop(owner)
                if last:
                    break
        raise Trouble("unavailable", "the server of Amap's tools ended during the call", again=True)

    async def close(self) -> None:
        """Ends the server, and waits until it is gone."""
        if self._owner:
            self._drop(self._owner)
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=LEAVE)

    async def _running(self) -> _Owner:
        async with self._starting:
            if self._owner is None:
                owner = _Owner(self._connect)
                try:
                    await owner.started(self._timeout * START)
                except BaseException:
                    self._leave(owner)
                    raise
                self._owner = owner
            return self._owner

    def _drop(self, owner: _Owner) -> None:
        if self._owner is owner:
            self._owner = None
            self._leave(owner)

    def _leave(self, owner: _Owner) -> None:
        owner.leave()
        self._leaving.add(owner.task)
        owner.task.add_done_callback(self._leaving.discard)

    async def _ask(self, owner: _Owner, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
        from mcp import McpError

        known = owner.tools.get(tool) or owner.tools.get(_ALIASES.get(tool, ""))
        if known is None:
            raise Trouble("refused", f"this server of Amap's tools has no {tool}")
        call = {"type": "tool_call", "id": tool, "name": known.name, "args": dict(arguments)}
        try:
            async with asyncio.timeout(self._timeout):
                message = await known.ainvoke(call)
        except TimeoutError:
            text = f"{tool}: no answer within {self._timeout:g} s"
            raise Trouble("timeout", text, again=True) from None
        except (BrokenResourceError, ClosedResourceError, EndOfStream):
            raise _Gone from None
        except McpError as error:
            if "closed" in str(error).lower():
                raise _Gone from None
            told = shapes.trouble(str(error))
        except Exception as error:  # noqa: BLE001 - a server can make its adapter fail in any way
            told = Trouble("malformed", f"{tool}: {type(error).__name__}")
        else:
            return _read(message)
        raise told


class _Gone(Exception):
    """The server is not there any more."""


class _Owner:
    """The task in which a session lives from its start to its end."""

    def __init__(self, connect: Connect) -> None:
        self.tools: dict[str, BaseTool] = {}
        self._connect = connect
        self._ready = asyncio.Event()
        self._done = asyncio.Event()
        self._failure: Trouble | None = None
        self.task = asyncio.create_task(self._live(), name="places-session")

    async def started(self, seconds: float) -> None:
        """Waits until the tools are known.

        Raises:
            Trouble: the server does not start.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        except TimeoutError:
            text = f"the server of Amap's tools did not start within {seconds:g} s"
            raise Trouble("timeout", text) from None
        if self._failure:
            raise self._failure

    def leave(self) -> None:
        if not self._ready.is_set():
            self.task.cancel()
        self._done.set()

    async def _live(self) -> None:
        from langchain_mcp_adapters.tools import load_mcp_tools

        try:
            async with self._connect() as session:
                self.tools = {tool.name: tool for tool in await load_mcp_tools(session)}
                self._ready.set()
                await self._done.wait()
        except Exception as error:  # noqa: BLE001 - told by `started`; a dead server's end tells nothing
            self._failure = _unstarted(error)
        finally:
            self._ready.set()


def _unstarted(error: BaseException) -> Trouble:
    """Why a server did not start: of a group of exceptions, the first that says something."""
    for leaf in _leaves(error):
        if isinstance(leaf, Trouble):
            return leaf
    leaf = next(_leaves(error))
    response = getattr(leaf, "response", None)  # an HTTP error of the hosted server
    if status := getattr(response, "status_code", None):
        return Trouble(
            "refused" if status < 500 else "unavailable", f"Amap's server: HTTP {status}"
        )
    if isinstance(leaf, OSError) or "Connect" in type(leaf).__name__:
        text = f"the server of Amap's tools cannot be reached ({type(leaf).__name__})"
        return Trouble("unreachable", text)
    text = f"the server of Amap's tools did not start ({type(leaf).__name__}: {leaf})"
    return Trouble("unavailable", text)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _read(message: Any) -> dict[str, Any]:
    """The object in a tool's message.

    Raises:
        Trouble: the tool failed, or its answer is no object.
    """
    artifact = message.artifact if isinstance(message.artifact, Mapping) else {}
    told = "".join(
        str(block.get("text", "")) for block in message.content if isinstance(block, Mapping)
    )
    told = told or str(message.content)
    if message.status == "error":
        raise shapes.trouble(told)
    answer = artifact.get("structured_content")
    if not isinstance(answer, dict):
        try:
            answer = json.loads(told)
        except (ValueError, RecursionError):
            answer = None
    if not isinstance(answer, dict):
        raise Trouble("malformed", "Amap's tool answered without the JSON asked for")
    return answer


# The ways to a server


def connection(settings: Settings) -> Connect:
    """How the server is reached that the settings name.

    Raises Trouble, when it is used, if the server needs a key or a program that is not there.
    """
    wait = timedelta(seconds=settings.amap_timeout)
    conceal(settings.secrets)
    if settings.amap_mcp == "memory":
        return lambda: _in_memory(settings, wait)
    if settings.amap_mcp in ("stdio", "npm"):
        return lambda: _process(settings, wait)
    return lambda: _hosted(settings, wait)


@asynccontextmanager
async def _in_memory(settings: Settings, wait: timedelta) -> AsyncIterator[ClientSession]:
    from mcp.shared.memory import create_connected_server_and_client_session

    from research.places.server import backend_of, build

    backend = backend_of(settings)
    try:
        server = build(backend)
        async with create_connected_server_and_client_session(server, wait) as session:
            yield session
    finally:
        await backend.close()


@asynccontextmanager
async def _process(settings: Settings, wait: timedelta) -> AsyncIterator[ClientSession]:
    env = {name: value.get_secret_value() for name, value in settings.child_env}
    if key := settings.amap_key.get_secret_value():
        env["AMAP_MAPS_API_KEY"] = key
    if settings.amap_mcp == "npm":
        if not key:
            raise _no_key("npm")
        command = _npx()
    else:
        command = [sys.executable, "-m", "research.places.server"]
        env |= {"AMAP_BASE_URL": settings.amap_url, "PYTHONPATH": str(_root())}
        env |= {"AMAP_TIMEOUT": f"{settings.amap_timeout:g}"}
    if os.name == "posix":
        command = [sys.executable, "-I", "-S", str(TETHER), *command]
    given = {
        "transport": "stdio", "command": command[0], "args": command[1:], "env": env,
        "encoding_error_handler": "replace",
    }  # fmt: skip
    async with _adapted(given, wait) as session:
        yield session


def _root() -> Path:
    """The folder that our package lies in, wherever the process is started."""
    return Path(__file__).resolve().parents[2]


def _npx() -> list[str]:
    npx = shutil.which("npx")
    if npx is None:
        raise Trouble("unreachable", "npx was not found: install Node.js, or set AMAP_MCP=memory")
    return [npx, "-y", PACKAGE]


@asynccontextmanager
async def _hosted(settings: Settings, wait: timedelta) -> AsyncIterator[ClientSession]:
    key = settings.amap_key.get_secret_value()
    address = HOSTED if settings.amap_mcp == "hosted" else settings.amap_mcp
    if not key and address == HOSTED:
        raise _no_key("hosted")
    parts = urlsplit(address)
    query = [*parse_qsl(parts.query), *([("key", key)] if key else [])]
    url = parts._replace(query=urlencode(query)).geturl()
    async with _adapted({"transport": "streamable_http", "url": url}, wait) as session:
        yield session


def _no_key(server: str) -> Trouble:
    return Trouble("no key", f"AMAP_MCP={server} needs AMAP_MAPS_API_KEY", hint="key")


@asynccontextmanager
async def _adapted(given: dict[str, Any], wait: timedelta) -> AsyncIterator[ClientSession]:
    """A session of LangChain's adapters."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    given["session_kwargs"] = {"read_timeout_seconds": wait}
    client = MultiServerMCPClient({"amap": given})  # type: ignore[dict-item]
    async with client.session("amap") as session:
        yield session
