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

from research.core.errors import ServiceError, error_from_status

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

    from research.sources.mcp_tools.lenient import LenientCallToolResult

    Handler = Callable[[MCPToolCallRequest], Awaitable[MCPToolCallResult]]

log = logging.getLogger(__name__)

START_TIMEOUT_FACTOR = 3  # a server may take this many times as long to start as to answer
CLOSE_TIMEOUT_SECONDS = 8.0  # seconds that a server has to end
PING_TIMEOUT_SECONDS = 1.0  # seconds that a server has to answer a ping
START_RETRY_SECONDS = 300.0  # seconds for which a failed start is reported without another try
MAX_LIST_PAGES = 200  # of a list of tools that are read
MAX_TOOLS = 1_000  # that are kept; of more, the first ones and those that are named
_CLOSED = re.compile(r"(?i)connection closed|session terminated")
_TIMED_OUT = re.compile(r"(?i)timed out")
_ARGUMENTS_KEY = "arguments"


class ToolError(ServiceError):
    """An error that a server reports for a call, in the server's words."""


SessionFactory = Callable[[], AbstractAsyncContextManager["ClientSession"]]


class ToolServerSession:
    """The tools of one server. Belongs to the loop on which it is first used.

    `load_mcp_tools` takes it for a `ClientSession`, of which it uses `list_tools` and `call_tool`:
    so the tools that it makes outlive the process or connection behind this session.
    """

    def __init__(
        self,
        open_session: SessionFactory,
        timeout_seconds: float,
        server_name: str,
        required_tools: Collection[str] = (),
    ) -> None:
        """`timeout` are the seconds of one call; messages call the server `name`. Tools that are
        `named` are kept even where they stand behind the first `TOOLS`."""
        self._open_session = open_session
        self._timeout_seconds = timeout_seconds
        self._server_name = server_name
        self._required_tools = frozenset(required_tools)
        self._session_task: _SessionTask | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # of all owners, those that are ending too
        self._is_closed = False
        self._last_failure: tuple[ServiceError, float] | None = None  # the last start, and when that was

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of the running server, by name; none if none is running."""
        return self._session_task.tools if self._session_task else {}

    @property
    def start_error(self) -> ServiceError | None:
        """The failure of the last start, for as long as another try is not worth while."""
        if self._last_failure and time.monotonic() - self._last_failure[1] < START_RETRY_SECONDS:
            return self._last_failure[0]
        return None

    async def start(self) -> Mapping[str, Tool]:
        """Start the server if it is not running, and return its tools by name.

        Raises:
            Trouble: the server does not start.
        """
        return (await self._ensure_running()).tools

    async def load_tools(self, *interceptors: ToolCallInterceptor) -> dict[str, BaseTool]:
        """Return the server's tools as LangChain tools, by name, to be called by `invoke`.

        A call raises a `Trouble` where there is no answer. An answer that is marked as an error
        raises a `ToolException` unless an interceptor has dealt with it.

        Raises:
            Trouble: the server does not start.
        """
        from langchain_mcp_adapters.tools import load_mcp_tools

        tools = await load_mcp_tools(
            cast("ClientSession", self),
            tool_interceptors=[_restore_arguments, *interceptors],
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
    ) -> LenientCallToolResult:
        """Call a tool and return its answer.

        Raises:
            Trouble: there is no answer.
            ToolError: the server answers with an error of the protocol.
        """
        lost = _ConnectionLostError()
        for _ in range(2):
            owner = await self._ensure_running()
            try:
                return await self._call(owner, name, arguments)
            except _ConnectionLostError as error:
                self._discard(owner)
                lost = error
                await asyncio.wait({owner.task}, timeout=PING_TIMEOUT_SECONDS)  # it may know the reason
                lost.error = lost.error or owner.error
        text = f"{self._server_name} ended during the call"
        raise lost.error or ServiceError("unavailable", text, is_retryable=True)

    async def close(self) -> None:
        """End the server and wait until it is gone. Calls that are under way get no answer."""
        self._is_closed = True
        if self._session_task:
            self._discard(self._session_task)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=CLOSE_TIMEOUT_SECONDS)
            for task in late:
                task.cancel()

    async def _ensure_running(self) -> _SessionTask:
        """Return the owner of a server that has started; simultaneous calls wait for the same one."""
        if self._is_closed:
            raise ServiceError("unavailable", f"the session with {self._server_name} is closed")
        owner = self._session_task
        if owner is None:
            patience = self._timeout_seconds * START_TIMEOUT_FACTOR
            owner = self._session_task = _SessionTask(
                self._open_session, patience, self._server_name, self._required_tools
            )
            self._tasks.add(owner.task)
            owner.task.add_done_callback(self._tasks.discard)
        try:
            await owner.wait_until_started()
        except ServiceError as trouble:
            self._discard(owner)
            self._last_failure = trouble, time.monotonic()
            raise
        self._last_failure = None
        return owner

    def _discard(self, session_task: _SessionTask) -> None:
        if self._session_task is session_task:
            self._session_task = None
        session_task.stop()

    async def _call(self, session_task: _SessionTask, name: str, arguments: Mapping[str, Any]) -> LenientCallToolResult:
        if name not in session_task.tools:
            raise ServiceError("refused", f"{self._server_name} has no tool {name}")
        call = asyncio.create_task(session_task.call_tool(name, arguments))
        call.add_done_callback(_consume_error)
        either: set[asyncio.Future[Any]] = {call, session_task.end_future}
        try:
            await asyncio.wait(either, timeout=self._timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            call.cancel()
        if call.done() and not call.cancelled():
            return _call_result(call, name)
        if session_task.end_future.done():
            raise _ConnectionLostError(session_task.error)
        if not await session_task.is_alive():
            self._discard(session_task)
        text = f"{name}: no answer within {self._timeout_seconds:g} s"
        raise ServiceError("timeout", text, is_retryable=True)


async def invoke(tool: BaseTool, arguments: Mapping[str, Any]) -> ToolMessage:
    """Call a tool that `Session.load` has made.

    The arguments travel in one argument: LangChain keeps some names, such as `config` and `runtime`,
    to itself. No callback of the caller is notified, since arguments may contain keys.

    Raises:
        Trouble: there is no answer.
    """
    args = {_ARGUMENTS_KEY: dict(arguments)}
    call = {"type": "tool_call", "id": tool.name, "name": tool.name, "args": args}
    return cast("ToolMessage", await tool.ainvoke(call, {"callbacks": []}))


async def _restore_arguments(request: MCPToolCallRequest, handler: Handler) -> MCPToolCallResult:
    """Restore the arguments that `invoke` was given."""
    return await handler(request.override(args=request.args[_ARGUMENTS_KEY]))


def _consume_error(call: asyncio.Future[Any]) -> None:
    """Retrieve the error of a call that nobody waits for any more, as asyncio demands."""
    if not call.cancelled():
        call.exception()


def _call_result(call: asyncio.Future[LenientCallToolResult], name: str) -> LenientCallToolResult:
    """Return the answer of a call that is done, or raise its failure."""
    from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
    from mcp import McpError

    error = call.exception()
    if error is None:
        return call.result()
    if isinstance(error, BrokenResourceError | ClosedResourceError | EndOfStream):
        raise _ConnectionLostError
    if not isinstance(error, McpError):  # a server can make the client fail in any way
        raise ServiceError("malformed", f"{name}: {type(error).__name__}")
    if _CLOSED.search(str(error)):
        raise _ConnectionLostError
    raise ToolError("refused", str(error))


class _ConnectionLostError(Exception):
    """The server is not there any more."""

    def __init__(self, error: ServiceError | None = None) -> None:
        super().__init__()
        self.error = error


class _SessionTask:
    """The task in which a session lives from its start to its end."""

    def __init__(
        self, open_session: SessionFactory, timeout_seconds: float, server_name: str, required_tools: frozenset[str]
    ) -> None:
        """`patience` are the seconds that the server has to start."""
        loop = asyncio.get_running_loop()
        self.tools: dict[str, Tool] = {}
        self.end_future: asyncio.Future[None] = loop.create_future()  # no call is possible any more
        self.error: ServiceError | None = None
        self._open_session = open_session
        self._timeout_seconds = timeout_seconds
        self._server_name, self._required_tools = server_name, required_tools
        self._deadline = loop.time() + timeout_seconds
        self._ready_event = asyncio.Event()
        self._session: ClientSession | None = None
        self.task = asyncio.create_task(self._run(), name="mcp-session")

    async def wait_until_started(self) -> None:
        """Wait until the tools are known.

        Raises:
            Trouble: the server does not start.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._ready_event.wait()
        except TimeoutError:
            text = f"{self._server_name} did not start within {self._timeout_seconds:g} s"
            raise ServiceError("timeout", text) from None
        if self._session is None:
            text = f"{self._server_name} was ended as it started"
            raise self.error or ServiceError("unavailable", text)

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> LenientCallToolResult:
        """Call a tool and return its answer."""
        from research.sources.mcp_tools.lenient import call_tool

        assert self._session is not None
        return await call_tool(self._session, name, arguments)

    async def is_alive(self) -> bool:
        """Return whether the server answers a ping; one that hangs never does again."""
        assert self._session is not None
        try:
            async with asyncio.timeout(PING_TIMEOUT_SECONDS):
                await self._session.send_ping()
        except Exception:  # noqa: BLE001 - any failure means that there is no answer
            return False
        return True

    def stop(self) -> None:
        """End the session, or its start, without waiting. Nothing is cancelled, since that would
        leave a process that is being started half made."""
        if not self.end_future.done():
            self.end_future.set_result(None)
        self._ready_event.set()

    async def _run(self) -> None:
        try:
            async with self._open_session() as session:
                await self._keep_open(session)
        except Exception as error:  # noqa: BLE001 - `started` and the calls report it
            self.error = _to_service_error(error, self._server_name)
        finally:
            self.stop()

    async def _keep_open(self, session: ClientSession) -> None:
        listing: asyncio.Future[Any] = asyncio.ensure_future(self._list_tools(session))
        listing.add_done_callback(_consume_error)
        try:
            await asyncio.wait({listing, self.end_future}, return_when=asyncio.FIRST_COMPLETED)
            if listing.done():
                self.tools = listing.result()
                self._session = session
                self._ready_event.set()
                await asyncio.wait({self.end_future})
        finally:
            listing.cancel()

    async def _list_tools(self, session: ClientSession) -> dict[str, Tool]:
        """Greet a server and return its tools by name. No page is requested once enough are known."""
        from research.sources.mcp_tools.lenient import list_tools

        if session.get_server_capabilities() is None:
            await session.initialize()
        found: dict[str, Tool] = {}
        cursor, full = None, False
        for _ in range(MAX_LIST_PAGES):
            page = await list_tools(session, cursor)
            for tool in page.tools:
                if len(found) < MAX_TOOLS or tool.name in self._required_tools or tool.name in found:
                    found[tool.name] = tool
                else:
                    full = True
            cursor = page.nextCursor
            if not cursor or (len(found) >= MAX_TOOLS and self._required_tools <= found.keys()):
                break
        if full or cursor:
            log.warning(
                "%s has more tools than can be used: the first %d are, and those that mcp.json names",
                self._server_name,
                MAX_TOOLS,
            )
        return found


def _to_service_error(error: BaseException, server_name: str) -> ServiceError:
    """Return the reason why a server did not start or ended: the most telling of a group of errors."""
    import httpx

    for leaf in _leaf_errors(error):
        if isinstance(leaf, ServiceError):
            return leaf
    leaf = next(_leaf_errors(error))
    response = getattr(leaf, "response", None)  # an HTTP error of a server elsewhere
    if response is not None:
        return error_from_status(response.status_code, server_name, response.headers)
    if isinstance(leaf, TimeoutError | httpx.TimeoutException) or _TIMED_OUT.search(str(leaf)):
        return ServiceError("timeout", f"{server_name} did not answer in time", is_retryable=True)
    if isinstance(leaf, OSError) or "Connect" in type(leaf).__name__:
        return ServiceError("unreachable", f"{server_name} cannot be reached ({type(leaf).__name__})")
    return ServiceError("unavailable", f"{server_name} did not start ({type(leaf).__name__}: {leaf})")


def _leaf_errors(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaf_errors(inner)
    else:
        yield error
