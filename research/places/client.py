"""One session with the MCP server of Amap's tools, for the whole process.

A session belongs to the task that entered it, so one task owns it and leaves it again; calls come
from any task of the same loop. A server that has died is started anew, once for each call. Whatever
goes wrong is a `Trouble`, without the key.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from research.places import shapes
from research.settings import Settings
from research.trouble import Trouble, conceal, of_status

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from mcp import ClientSession

PACKAGE = "@amap/amap-maps-mcp-server"
HOSTED = "https://mcp.amap.com/mcp"
START = 3  # a server may take this many times as long to start as to answer
LEAVE = 8.0  # seconds that a server has to end
PING = 1.0  # seconds in which a server says that it is there
TETHER = Path(__file__).with_name("tether.py")
_ENDED = re.compile(r"(?i)connection closed|session terminated")
_LATE = re.compile(r"(?i)timed out")
_ALIASES = {"maps_bicycling": "maps_direction_bicycling"}  # as the hosted server calls it

Connect = Callable[[], AbstractAsyncContextManager["ClientSession"]]
Heard = Callable[[object], Awaitable[None]]


class Session:
    """The tools of one server. Belongs to the loop on which it is first called."""

    def __init__(self, connect: Connect, timeout: float) -> None:
        """`timeout` are the seconds of one call."""
        self._connect = connect
        self._timeout = timeout
        self._owner: _Owner | None = None
        self._alive: set[asyncio.Task[None]] = set()  # of all owners, those that leave too
        self._closed = False

    async def start(self) -> None:
        """Starts the server, if it does not run yet.

        Raises:
            Trouble: it does not start.
        """
        await self._running()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a tool answers.

        Raises:
            Trouble: there is no answer.
        """
        gone = _Gone()
        for _ in range(2):
            owner = await self._running()
            try:
                return await self._ask(owner, tool, arguments)
            except _Gone as error:
                self._drop(owner)
                gone = error
        text = "the server of Amap's tools ended during the call"
        raise gone.trouble or Trouble("unavailable", text, again=True)

    async def close(self) -> None:
        """Ends the server, and waits until it is gone. What is being asked gets no answer."""
        self._closed = True
        if self._owner:
            self._drop(self._owner)
        if self._alive:
            _, late = await asyncio.wait(self._alive, timeout=LEAVE)
            for task in late:
                task.cancel()

    async def _running(self) -> _Owner:
        """The owner of a server that has started; all that ask at once wait for the same one."""
        if self._closed:
            raise Trouble("unavailable", "the session with Amap's tools is closed")
        owner = self._owner
        if owner is None:
            owner = self._owner = _Owner(self._connect, self._timeout * START)
            self._alive.add(owner.task)
            owner.task.add_done_callback(self._alive.discard)
        try:
            await owner.started()
        except Trouble:
            self._drop(owner)
            raise
        return owner

    def _drop(self, owner: _Owner) -> None:
        if self._owner is owner:
            self._owner = None
        owner.leave()

    async def _ask(self, owner: _Owner, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = owner.tools.get(tool) or owner.tools.get(_ALIASES.get(tool, ""))
        if known is None:
            raise Trouble("refused", f"this server of Amap's tools has no {tool}")
        call = {"type": "tool_call", "id": tool, "name": known.name, "args": dict(arguments)}
        asking = asyncio.ensure_future(known.ainvoke(call))
        asking.add_done_callback(_seen)
        first = asyncio.FIRST_COMPLETED
        try:
            await asyncio.wait({asking, owner.over}, timeout=self._timeout, return_when=first)
        finally:
            asking.cancel()
        if asking.done() and not asking.cancelled():
            return _answer(asking, tool)
        if owner.over.done():
            raise _Gone(owner.failure)
        if not await owner.answers():
            self._drop(owner)
        text = f"{tool}: no answer within {self._timeout:g} s"
        raise Trouble("timeout", text, again=True)


def _seen(asking: asyncio.Future[Any]) -> None:
    """Looks at the error of a call that nobody waits for any more, as asyncio wants somebody to."""
    if not asking.cancelled():
        asking.exception()


def _answer(asking: asyncio.Future[Any], tool: str) -> dict[str, Any]:
    """The object that a call came to."""
    from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
    from mcp import McpError

    error = asking.exception()
    if error is None:
        return _read(asking.result())
    if isinstance(error, BrokenResourceError | ClosedResourceError | EndOfStream):
        raise _Gone
    if not isinstance(error, McpError):  # a server can make its adapter fail in any way
        raise Trouble("malformed", f"{tool}: {type(error).__name__}")
    if _ENDED.search(str(error)):
        raise _Gone
    raise shapes.trouble(str(error))


class _Gone(Exception):
    """The server is not there any more."""

    def __init__(self, trouble: Trouble | None = None) -> None:
        super().__init__()
        self.trouble = trouble


class _Owner:
    """The task in which a session lives from its start to its end."""

    def __init__(self, connect: Connect, patience: float) -> None:
        """`patience` are the seconds that the server has to start."""
        loop = asyncio.get_running_loop()
        self.tools: dict[str, BaseTool] = {}
        self.over: asyncio.Future[None] = loop.create_future()  # the server is not to be asked
        self.failure: Trouble | None = None
        self._connect = connect
        self._patience = patience
        self._until = loop.time() + patience
        self._ready = asyncio.Event()
        self._session: ClientSession | None = None
        self.task = asyncio.create_task(self._live(), name="places-session")

    async def started(self) -> None:
        """Waits until the tools are known.

        Raises:
            Trouble: the server does not start.
        """
        try:
            async with asyncio.timeout_at(self._until):
                await self._ready.wait()
        except TimeoutError:
            text = f"the server of Amap's tools did not start within {self._patience:g} s"
            raise Trouble("timeout", text) from None
        if self._session is None:
            text = "the server of Amap's tools was ended as it started"
            raise self.failure or Trouble("unavailable", text)

    async def answers(self) -> bool:
        """Whether the server says that it is there: one that hangs never does again."""
        assert self._session is not None
        try:
            async with asyncio.timeout(PING):
                await self._session.send_ping()
        except Exception:  # noqa: BLE001 - whatever it is, it is no answer
            return False
        return True

    def leave(self) -> None:
        """Ends the session, or its start; not waited for. Nothing is cancelled: a process that is
        being made would be left half made."""
        if not self.over.done():
            self.over.set_result(None)
        self._ready.set()

    async def _live(self) -> None:
        try:
            async with self._connect() as session:
                await self._serve(session)
        except Exception as error:  # noqa: BLE001 - told by `started`, or to who is asking
            self.failure = _failure(error)
        finally:
            self.leave()

    async def _serve(self, session: ClientSession) -> None:
        greeting: asyncio.Future[Any] = asyncio.ensure_future(_greeted(session))
        greeting.add_done_callback(_seen)
        first = asyncio.FIRST_COMPLETED
        try:
            await asyncio.wait({greeting, self.over}, return_when=first)
            if greeting.done():
                self.tools = greeting.result()
                self._session = session
                self._ready.set()
                await asyncio.wait({self.over})
        finally:
            greeting.cancel()


async def _greeted(session: ClientSession) -> dict[str, BaseTool]:
    """The tools of a server by name, once it has been greeted."""
    from langchain_mcp_adapters.tools import load_mcp_tools

    if session.get_server_capabilities() is None:
        await session.initialize()
    return {tool.name: tool for tool in await load_mcp_tools(session)}


def _failure(error: BaseException) -> Trouble:
    """Why a server did not start or ended: the first of a group of errors that says something."""
    import httpx

    for leaf in _leaves(error):
        if isinstance(leaf, Trouble):
            return leaf
    leaf = next(_leaves(error))
    response = getattr(leaf, "response", None)  # an HTTP error of a server elsewhere
    if response is not None:
        return of_status(response.status_code, "the server of Amap's tools", response.headers)
    if isinstance(leaf, TimeoutError | httpx.TimeoutException) or _LATE.search(str(leaf)):
        return Trouble("timeout", "the server of Amap's tools did not answer in time", again=True)
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
    if answer.keys() == {"error"}:  # some servers call this a success
        raise shapes.trouble(str(answer["error"]))
    return answer


# The ways to a server


def connection(settings: Settings) -> Connect:
    """How the server is reached that the settings name.

    Raises Trouble, when it is used, if the server needs a key or a program that is not there. The
    protocol's own time is that of a start; who calls minds the time of a call.
    """
    wait = timedelta(seconds=settings.amap_timeout * START)
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
    async with over_stdio(command, env, wait) as session:
        yield session


@asynccontextmanager
async def over_stdio(
    command: Sequence[str], env: Mapping[str, str], wait: timedelta
) -> AsyncIterator[ClientSession]:
    """A session with a process that ends when we do. Of our environment it has `env` and little
    more; `wait` is how long any answer may take."""
    if os.name == "posix":
        command = [sys.executable, "-I", "-S", str(TETHER), *command]
    given = {
        "transport": "stdio", "command": command[0], "args": list(command[1:]), "env": dict(env),
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
    given = {
        "transport": "streamable_http", "url": url,
        "timeout": timedelta(seconds=settings.amap_timeout),
    }  # fmt: skip
    unreadable: list[Exception] = []

    async def heard(message: object) -> None:
        """Ends the session with a server that does not speak the protocol: who asked it would
        wait for an answer that has come already."""
        if isinstance(message, Exception):
            unreadable.append(message)
            raise message

    try:
        async with _adapted(given, wait, heard) as session:
            yield session
    except Exception:
        if unreadable:
            text = f"no server of tools answers there ({type(unreadable[0]).__name__})"
            raise Trouble("malformed", text, hint="endpoint") from None
        raise


def _no_key(server: str) -> Trouble:
    return Trouble("no key", f"AMAP_MCP={server} needs AMAP_MAPS_API_KEY", hint="key")


@asynccontextmanager
async def _adapted(
    given: dict[str, Any], wait: timedelta, heard: Heard | None = None
) -> AsyncIterator[ClientSession]:
    """A session of LangChain's adapters with a server that has not been greeted yet. `heard` is told
    what came unasked or cannot be read."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    given["session_kwargs"] = {"read_timeout_seconds": wait, "message_handler": heard}
    client = MultiServerMCPClient({"amap": given})  # type: ignore[dict-item]
    async with client.session("amap", auto_initialize=False) as session:
        yield session
