"""One session with an MCP server, shared by the whole process.

A session belongs to the task that opened it, so one task owns it until it ends; calls come from any
task of the same loop. A server that has died is started again, once for each call. Every failure is
a `Trouble` without any key.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

from research.core.errors import Trouble, of_status

if TYPE_CHECKING:
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool
    from langchain_mcp_adapters.interceptors import (
        MCPToolCallRequest,
        MCPToolCallResult,
        ToolCallInterceptor,
    )
    from mcp import ClientSession
    from mcp.types import ListToolsResult, Tool

    from research.sources.mcp_tools.lenient import ToolAnswer

    Handler = Callable[[MCPToolCallRequest], Awaitable[MCPToolCallResult]]

log = logging.getLogger(__name__)

START = 3  # a server may take this many times as long to start as to answer
CLOSE = 8.0  # seconds that a server has to end
PING = 1.0  # seconds that a server has to answer a ping
RETRY = 300.0  # seconds for which a failed start is reported without another try
PAGES = 200  # of a list of tools that are read
TOOLS = 1_000  # that are kept; of more, the first ones and those that are named
_CLOSED = re.compile(r"(?i)connection closed|session terminated")
_TIMED_OUT = re.compile(r"(?i)timed out")
_ARGUMENTS = "arguments"


class ToolError(Trouble):
    """An error that a server reports for a call, in the server's words."""


Connect = Callable[[], AbstractAsyncContextManager["ClientSession"]]


class Session:
    """The tools of one server. Belongs to the loop on which it is first used.

    `load_mcp_tools` takes it for a `ClientSession`, of which it uses `list_tools` and `call_tool`:
    so the tools that it makes outlive the process or connection behind this session.
    """

    def __init__(
        self, connect: Connect, timeout: float, name: str, named: Collection[str] = ()
    ) -> None:
        """`timeout` are the seconds of one call; messages call the server `name`. Tools that are
        `named` are kept even where they stand behind the first `TOOLS`."""
        self._connect = connect
        self._timeout = timeout
        self._name = name
        self._named = frozenset(named)
        self._owner: _Owner | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # of all owners, those that are ending too
        self._closed = False
        self._failed: tuple[Trouble, float] | None = None  # the last start, and when that was

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of the running server, by name; none if none is running."""
        return self._owner.tools if self._owner else {}

    @property
    def trouble(self) -> Trouble | None:
        """The failure of the last start, for as long as another try is not worth while."""
        if self._failed and time.monotonic() - self._failed[1] < RETRY:
            return self._failed[0]
        return None

    async def start(self) -> Mapping[str, Tool]:
        """Start the server if it is not running, and return its tools by name.

        Raises:
            Trouble: the server does not start.
        """
        return (await self._running()).tools

    async def load(self, *interceptors: ToolCallInterceptor) -> dict[str, BaseTool]:
        """Return the server's tools as LangChain tools, by name, to be called by `invoke`.

        A call raises a `Trouble` where there is no answer. An answer that is marked as an error
        raises a `ToolException` unless an interceptor has dealt with it.

        Raises:
            Trouble: the server does not start.
        """
        from langchain_mcp_adapters.tools import load_mcp_tools

        tools = await load_mcp_tools(
            cast("ClientSession", self),
            tool_interceptors=[_unwrap, *interceptors],
            handle_tool_errors=False,
        )
        return {tool.name: tool for tool in tools}

    async def list_tools(self, cursor: str | None = None) -> ListToolsResult:
        """Return all tools of the server in one page.

        Raises:
            Trouble: the server does not start.
        """
        from mcp.types import ListToolsResult

        return ListToolsResult(tools=list((await self.start()).values()))

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], progress_callback: object = None
    ) -> ToolAnswer:
        """Call a tool and return its answer.

        Raises:
            Trouble: there is no answer.
            ToolError: the server answers with an error of the protocol.
        """
        lost = _ConnectionLostError()
        for _ in range(2):
            owner = await self._running()
            try:
                return await self._call(owner, name, arguments)
            except _ConnectionLostError as error:
                self._drop(owner)
                lost = error
                await asyncio.wait({owner.task}, timeout=PING)  # it may know the reason
                lost.trouble = lost.trouble or owner.failure
        text = f"{self._name} ended during the call"
        raise lost.trouble or Trouble("unavailable", text, again=True)

    async def close(self) -> None:
        """End the server and wait until it is gone. Calls that are under way get no answer."""
        self._closed = True
        if self._owner:
            self._drop(self._owner)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=CLOSE)
            for task in late:
                task.cancel()

    async def _running(self) -> _Owner:
        """Return the owner of a server that has started; simultaneous calls wait for the same one."""
        if self._closed:
            raise Trouble("unavailable", f"the session with {self._name} is closed")
        owner = self._owner
        if owner is None:
            patience = self._timeout * START
            owner = self._owner = _Owner(self._connect, patience, self._name, self._named)
            self._tasks.add(owner.task)
            owner.task.add_done_callback(self._tasks.discard)
        try:
            await owner.started()
        except Trouble as trouble:
            self._drop(owner)
            self._failed = trouble, time.monotonic()
            raise
        self._failed = None
        return owner

    def _drop(self, owner: _Owner) -> None:
        if self._owner is owner:
            self._owner = None
        owner.end()

    async def _call(self, owner: _Owner, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        if name not in owner.tools:
            raise Trouble("refused", f"{self._name} has no tool {name}")
        call = asyncio.create_task(owner.call(name, arguments))
        call.add_done_callback(_consume_error)
        either: set[asyncio.Future[Any]] = {call, owner.ended}
        try:
            await asyncio.wait(either, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            call.cancel()
        if call.done() and not call.cancelled():
            return _result_of(call, name)
        if owner.ended.done():
            raise _ConnectionLostError(owner.failure)
        if not await owner.is_alive():
            self._drop(owner)
        text = f"{name}: no answer within {self._timeout:g} s"
        raise Trouble("timeout", text, again=True)


async def invoke(tool: BaseTool, arguments: Mapping[str, Any]) -> ToolMessage:
    """Call a tool that `Session.load` has made.

    The arguments travel in one argument: LangChain keeps some names, such as `config` and `runtime`,
    to itself. No callback of the caller is notified, since arguments may contain keys.

    Raises:
        Trouble: there is no answer.
    """
    args = {_ARGUMENTS: dict(arguments)}
    call = {"type": "tool_call", "id": tool.name, "name": tool.name, "args": args}
    return cast("ToolMessage", await tool.ainvoke(call, {"callbacks": []}))


async def _unwrap(request: MCPToolCallRequest, handler: Handler) -> MCPToolCallResult:
    """Restore the arguments that `invoke` was given."""
    return await handler(request.override(args=request.args[_ARGUMENTS]))


def _consume_error(call: asyncio.Future[Any]) -> None:
    """Retrieve the error of a call that nobody waits for any more, as asyncio demands."""
    if not call.cancelled():
        call.exception()


def _result_of(call: asyncio.Future[ToolAnswer], name: str) -> ToolAnswer:
    """Return the answer of a call that is done, or raise its failure."""
    from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
    from mcp import McpError

    error = call.exception()
    if error is None:
        return call.result()
    if isinstance(error, BrokenResourceError | ClosedResourceError | EndOfStream):
        raise _ConnectionLostError
    if not isinstance(error, McpError):  # a server can make the client fail in any way
        raise Trouble("malformed", f"{name}: {type(error).__name__}")
    if _CLOSED.search(str(error)):
        raise _ConnectionLostError
    raise ToolError("refused", str(error))


class _ConnectionLostError(Exception):
    """The server is not there any more."""

    def __init__(self, trouble: Trouble | None = None) -> None:
        super().__init__()
        self.trouble = trouble


class _Owner:
    """The task in which a session lives from its start to its end."""

    def __init__(self, connect: Connect, patience: float, name: str, named: frozenset[str]) -> None:
        """`patience` are the seconds that the server has to start."""
        loop = asyncio.get_running_loop()
        self.tools: dict[str, Tool] = {}
        self.ended: asyncio.Future[None] = loop.create_future()  # no call is possible any more
        self.failure: Trouble | None = None
        self._connect = connect
        self._patience = patience
        self._name, self._named = name, named
        self._deadline = loop.time() + patience
        self._ready = asyncio.Event()
        self._session: ClientSession | None = None
        self.task = asyncio.create_task(self._run(), name="mcp-session")

    async def started(self) -> None:
        """Wait until the tools are known.

        Raises:
            Trouble: the server does not start.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._ready.wait()
        except TimeoutError:
            text = f"{self._name} did not start within {self._patience:g} s"
            raise Trouble("timeout", text) from None
        if self._session is None:
            text = f"{self._name} was ended as it started"
            raise self.failure or Trouble("unavailable", text)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool and return its answer."""
        from research.sources.mcp_tools.lenient import call_tool

        assert self._session is not None
        return await call_tool(self._session, name, arguments)

    async def is_alive(self) -> bool:
        """Return whether the server answers a ping; one that hangs never does again."""
        assert self._session is not None
        try:
            async with asyncio.timeout(PING):
                await self._session.send_ping()
        except Exception:  # noqa: BLE001 - any failure means that there is no answer
            return False
        return True

    def end(self) -> None:
        """End the session, or its start, without waiting. Nothing is cancelled, since that would
        leave a process that is being started half made."""
        if not self.ended.done():
            self.ended.set_result(None)
        self._ready.set()

    async def _run(self) -> None:
        try:
            async with self._connect() as session:
                await self._keep_open(session)
        except Exception as error:  # noqa: BLE001 - `started` and the calls report it
            self.failure = _failure(error, self._name)
        finally:
            self.end()

    async def _keep_open(self, session: ClientSession) -> None:
        listing: asyncio.Future[Any] = asyncio.ensure_future(self._list_tools(session))
        listing.add_done_callback(_consume_error)
        try:
            await asyncio.wait({listing, self.ended}, return_when=asyncio.FIRST_COMPLETED)
            if listing.done():
                self.tools = listing.result()
                self._session = session
                self._ready.set()
                await asyncio.wait({self.ended})
        finally:
            listing.cancel()

    async def _list_tools(self, session: ClientSession) -> dict[str, Tool]:
        """Greet a server and return its tools by name. No page is requested once enough are known."""
        from research.sources.mcp_tools.lenient import list_tools

        if session.get_server_capabilities() is None:
            await session.initialize()
        found: dict[str, Tool] = {}
        cursor, full = None, False
        for _ in range(PAGES):
            page = await list_tools(session, cursor)
            for tool in page.tools:
                if len(found) < TOOLS or tool.name in self._named or tool.name in found:
                    found[tool.name] = tool
                else:
                    full = True
            cursor = page.nextCursor
            if not cursor or (len(found) >= TOOLS and self._named <= found.keys()):
                break
        if full or cursor:
            log.warning(
                "%s has more tools than can be used: the first %d are, and those that mcp.json names",
                self._name,
                TOOLS,
            )
        return found


def _failure(error: BaseException, name: str) -> Trouble:
    """Return the reason why a server did not start or ended: the most telling of a group of errors."""
    import httpx

    for leaf in _leaves(error):
        if isinstance(leaf, Trouble):
            return leaf
    leaf = next(_leaves(error))
    response = getattr(leaf, "response", None)  # an HTTP error of a server elsewhere
    if response is not None:
        return of_status(response.status_code, name, response.headers)
    if isinstance(leaf, TimeoutError | httpx.TimeoutException) or _TIMED_OUT.search(str(leaf)):
        return Trouble("timeout", f"{name} did not answer in time", again=True)
    if isinstance(leaf, OSError) or "Connect" in type(leaf).__name__:
        return Trouble("unreachable", f"{name} cannot be reached ({type(leaf).__name__})")
    return Trouble("unavailable", f"{name} did not start ({type(leaf).__name__}: {leaf})")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
