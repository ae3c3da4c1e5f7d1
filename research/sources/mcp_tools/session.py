"""A session with an MCP server, shared by the whole process.

The SDK requires that a session is closed by the task that opened it, so one task owns it; calls may
come from any task of the same event loop. A server that has died is restarted, once per call. Every
failure is a ServiceError that contains no key.
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
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest, MCPToolCallResult, ToolCallInterceptor
    from mcp import ClientSession
    from mcp.types import ListToolsResult, Tool

    from research.sources.mcp_tools.lenient_replies import LenientCallToolResult

    Handler = Callable[[MCPToolCallRequest], Awaitable[MCPToolCallResult]]

log = logging.getLogger(__name__)

START_TIMEOUT_FACTOR = 3  # time limit of a start, relative to that of a call
CLOSE_TIMEOUT_SECONDS = 8.0
PING_TIMEOUT_SECONDS = 1.0
START_RETRY_SECONDS = 300.0  # time for which `start_error` reports a failed start
MAX_LIST_PAGES = 200  # further pages are ignored
MAX_TOOLS = 1_000  # beyond this only tools that mcp.json names are kept
_CLOSED = re.compile(r"(?i)connection closed|session terminated")
_TIMED_OUT = re.compile(r"(?i)timed out")
_ARGUMENTS_KEY = "arguments"


class ToolError(ServiceError):
    """An error that a server reports for a call, in the server's words."""


SessionFactory = Callable[[], AbstractAsyncContextManager["ClientSession"]]


class ToolServerSession:
    """The tools of one server. Belongs to the event loop on which it is first used.

    `load_mcp_tools` gets this object in place of a `ClientSession`, of which it uses only
    `list_tools` and `call_tool`. The tools that it creates thus remain usable when the server is
    restarted.
    """

    def __init__(
        self,
        open_session: SessionFactory,
        timeout_seconds: float,
        server_name: str,
        required_tools: Collection[str] = (),
    ) -> None:
        """`timeout_seconds` is the limit for one call; `server_name` is used in messages.

        `required_tools` are kept even beyond the first `MAX_TOOLS`.
        """
        self._open_session = open_session
        self._timeout_seconds = timeout_seconds
        self._server_name = server_name
        self._required_tools = frozenset(required_tools)
        self._session_task: _SessionTask | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # all session tasks, including ending ones
        self._is_closed = False
        self._last_failure: tuple[ServiceError, float] | None = None  # error and time of the last failed start

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Tools of the running server by name; empty if it is not running."""
        return self._session_task.tools if self._session_task else {}

    @property
    def start_error(self) -> ServiceError | None:
        """Error of the last start, until `START_RETRY_SECONDS` have passed."""
        if self._last_failure and time.monotonic() - self._last_failure[1] < START_RETRY_SECONDS:
            return self._last_failure[0]
        return None

    async def start(self) -> Mapping[str, Tool]:
        """Start the server if it is not running, and return its tools by name.

        Raises:
            ServiceError: the server does not start.
        """
        return (await self._ensure_running()).tools

    async def load_tools(self, *interceptors: ToolCallInterceptor) -> dict[str, BaseTool]:
        """Return the server's tools as LangChain tools by name, to be called by `invoke`.

        A call raises ServiceError if there is no response, and `ToolException` for a result that is
        marked as an error, unless an interceptor handles it.

        Raises:
            ServiceError: the server does not start.
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
            ServiceError: the server does not start.
        """
        from mcp.types import ListToolsResult

        return ListToolsResult(tools=list((await self.start()).values()))

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], progress_callback: object = None
    ) -> LenientCallToolResult:
        """Call a tool and return its result.

        Raises:
            ServiceError: there is no response.
            ToolError: the server responds with a protocol error.
        """
        failure = _ConnectionLostError()
        for _ in range(2):
            session_task = await self._ensure_running()
            try:
                return await self._call(session_task, name, arguments)
            except _ConnectionLostError as error:
                self._discard(session_task)
                failure = error
                await asyncio.wait({session_task.task}, timeout=PING_TIMEOUT_SECONDS)  # its error may give the reason
                failure.error = failure.error or session_task.error
        text = f"{self._server_name} ended during the call"
        raise failure.error or ServiceError("unavailable", text, is_retryable=True)

    async def close(self) -> None:
        """Stop the server and wait until it has ended. Calls in progress fail."""
        self._is_closed = True
        if self._session_task:
            self._discard(self._session_task)
        if self._tasks:
            _, pending = await asyncio.wait(self._tasks, timeout=CLOSE_TIMEOUT_SECONDS)
            for task in pending:
                task.cancel()

    async def _ensure_running(self) -> _SessionTask:
        """Return the task of a started server; simultaneous calls wait for the same start."""
        if self._is_closed:
            raise ServiceError("unavailable", f"the session with {self._server_name} is closed")
        session_task = self._session_task
        if session_task is None:
            start_timeout = self._timeout_seconds * START_TIMEOUT_FACTOR
            session_task = self._session_task = _SessionTask(
                self._open_session, start_timeout, self._server_name, self._required_tools
            )
            self._tasks.add(session_task.task)
            session_task.task.add_done_callback(self._tasks.discard)
        try:
            await session_task.wait_until_started()
        except ServiceError as error:
            self._discard(session_task)
            self._last_failure = error, time.monotonic()
            raise
        self._last_failure = None
        return session_task

    def _discard(self, session_task: _SessionTask) -> None:
        if self._session_task is session_task:
            self._session_task = None
        session_task.stop()

    async def _call(self, session_task: _SessionTask, name: str, arguments: Mapping[str, Any]) -> LenientCallToolResult:
        if name not in session_task.tools:
            raise ServiceError("refused", f"{self._server_name} has no tool {name}")
        call = asyncio.create_task(session_task.call_tool(name, arguments))
        call.add_done_callback(_consume_error)
        futures: set[asyncio.Future[Any]] = {call, session_task.end_future}
        try:
            await asyncio.wait(futures, timeout=self._timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
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
    """Call a tool that `ToolServerSession.load_tools` has created.

    The arguments are passed inside a single argument, since LangChain reserves some names, such as
    `config` and `runtime`. No callback of the caller is notified, since arguments may contain keys.

    Raises:
        ServiceError: there is no response.
    """
    args = {_ARGUMENTS_KEY: dict(arguments)}
    call = {"type": "tool_call", "id": tool.name, "name": tool.name, "args": args}
    return cast("ToolMessage", await tool.ainvoke(call, {"callbacks": []}))


async def _restore_arguments(request: MCPToolCallRequest, handler: Handler) -> MCPToolCallResult:
    """Unpack the arguments that `invoke` has packed into one."""
    return await handler(request.override(args=request.args[_ARGUMENTS_KEY]))


def _consume_error(call: asyncio.Future[Any]) -> None:
    """Retrieve the error of an abandoned call; asyncio logs unretrieved errors."""
    if not call.cancelled():
        call.exception()


def _call_result(call: asyncio.Future[LenientCallToolResult], name: str) -> LenientCallToolResult:
    """Return the result of a finished call, or raise its error."""
    from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
    from mcp import McpError

    error = call.exception()
    if error is None:
        return call.result()
    if isinstance(error, BrokenResourceError | ClosedResourceError | EndOfStream):
        raise _ConnectionLostError
    if not isinstance(error, McpError):  # a server can cause any exception in the client
        raise ServiceError("malformed", f"{name}: {type(error).__name__}")
    if _CLOSED.search(str(error)):
        raise _ConnectionLostError
    raise ToolError("refused", str(error))


class _ConnectionLostError(Exception):
    """The server is no longer reachable."""

    def __init__(self, error: ServiceError | None = None) -> None:
        super().__init__()
        self.error = error


class _SessionTask:
    """The task that opens, owns and closes a session."""

    def __init__(
        self, open_session: SessionFactory, timeout_seconds: float, server_name: str, required_tools: frozenset[str]
    ) -> None:
        """`timeout_seconds` is the limit for the start."""
        loop = asyncio.get_running_loop()
        self.tools: dict[str, Tool] = {}
        self.end_future: asyncio.Future[None] = loop.create_future()  # done when no more calls are possible
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
            ServiceError: the server does not start.
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
        """Call a tool and return its result."""
        from research.sources.mcp_tools.lenient_replies import call_tool

        assert self._session is not None
        return await call_tool(self._session, name, arguments)

    async def is_alive(self) -> bool:
        """Return whether the server responds to a ping. A server that hangs does not recover."""
        assert self._session is not None
        try:
            async with asyncio.timeout(PING_TIMEOUT_SECONDS):
                await self._session.send_ping()
        except Exception:  # noqa: BLE001 - any failure means that there is no answer
            return False
        return True

    def stop(self) -> None:
        """End the session, or its start, without waiting.

        Nothing is cancelled, since that would leave behind a partly started process.
        """
        if not self.end_future.done():
            self.end_future.set_result(None)
        self._ready_event.set()

    async def _run(self) -> None:
        try:
            async with self._open_session() as session:
                await self._keep_open(session)
        except Exception as error:  # noqa: BLE001 - `wait_until_started` and the calls report it
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
        """Initialise the session and return the tools by name, reading no page more than needed."""
        from research.sources.mcp_tools.lenient_replies import list_tools

        if session.get_server_capabilities() is None:
            await session.initialize()
        tools: dict[str, Tool] = {}
        cursor, has_dropped = None, False
        for _ in range(MAX_LIST_PAGES):
            page = await list_tools(session, cursor)
            for tool in page.tools:
                if len(tools) < MAX_TOOLS or tool.name in self._required_tools or tool.name in tools:
                    tools[tool.name] = tool
                else:
                    has_dropped = True
            cursor = page.nextCursor
            if not cursor or (len(tools) >= MAX_TOOLS and self._required_tools <= tools.keys()):
                break
        if has_dropped or cursor:
            log.warning(
                "%s has more tools than can be used: the first %d are, and those that mcp.json names",
                self._server_name,
                MAX_TOOLS,
            )
        return tools


def _to_service_error(error: BaseException, server_name: str) -> ServiceError:
    """Convert the error of a start or session, using the most informative one of an exception
    group."""
    import httpx

    for leaf in _leaf_errors(error):
        if isinstance(leaf, ServiceError):
            return leaf
    leaf = next(_leaf_errors(error))
    response = getattr(leaf, "response", None)  # an HTTP error of a remote server
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
