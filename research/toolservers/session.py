"""One session with an MCP server, for the whole process.

A session belongs to the task that entered it, so one task owns it and leaves it again; calls come
from any task of the same loop. A server that has died is started anew, once for each call. Whatever
goes wrong is a `Trouble`, without any key.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from research.trouble import Trouble, of_status

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import Tool

    from research.toolservers.lenient import ToolAnswer

log = logging.getLogger(__name__)

START = 3  # a server may take this many times as long to start as to answer
LEAVE = 8.0  # seconds that a server has to end
PING = 1.0  # seconds in which a server says that it is there
AGAIN = 300.0  # seconds for which a failed start is told of
PAGES = 200  # of a list of tools that are read
TOOLS = 1_000  # that are kept; of more, the first ones and those that are named
_ENDED = re.compile(r"(?i)connection closed|session terminated")
_LATE = re.compile(r"(?i)timed out")


class Refusal(Trouble):
    """An error of the protocol, in the words of a server."""


Connect = Callable[[], AbstractAsyncContextManager["ClientSession"]]


class Session:
    """The tools of one server. Belongs to the loop on which it is first asked."""

    def __init__(
        self, connect: Connect, timeout: float, name: str, named: Collection[str] = ()
    ) -> None:
        """`timeout` are the seconds of one call; `name` is how the server is called in messages, and
        the tools that are `named` are looked for behind those that are kept anyway."""
        self._connect = connect
        self._timeout = timeout
        self._name = name
        self._named = frozenset(named)
        self._owner: _Owner | None = None
        self._alive: set[asyncio.Task[None]] = set()  # of all owners, those that leave too
        self._closed = False
        self._failed: tuple[Trouble, float] | None = None  # the last start, and when that was

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of the server that runs, by name; none if none does."""
        return self._owner.tools if self._owner else {}

    @property
    def trouble(self) -> Trouble | None:
        """Why the server did not start, for as long as another try is not worth while."""
        if self._failed and time.monotonic() - self._failed[1] < AGAIN:
            return self._failed[0]
        return None

    async def start(self) -> Mapping[str, Tool]:
        """Starts the server, if it does not run yet; its tools by name.

        Raises:
            Trouble: it does not start.
        """
        return (await self._running()).tools

    async def ask(self, tool: str, arguments: Mapping[str, Any], alias: str = "") -> ToolAnswer:
        """What a tool answers, which some servers call by an `alias`.

        Raises:
            Trouble: there is no answer, or an error of the protocol (`Refusal`).
        """
        gone = _Gone()
        for _ in range(2):
            owner = await self._running()
            try:
                return await self._ask(owner, tool, arguments, alias)
            except _Gone as error:
                self._drop(owner)
                gone = error
                await asyncio.wait({owner.task}, timeout=PING)  # it may know why
                gone.trouble = gone.trouble or owner.failure
        text = f"{self._name} ended during the call"
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
            raise Trouble("unavailable", f"the session with {self._name} is closed")
        owner = self._owner
        if owner is None:
            patience = self._timeout * START
            owner = self._owner = _Owner(self._connect, patience, self._name, self._named)
            self._alive.add(owner.task)
            owner.task.add_done_callback(self._alive.discard)
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
        owner.leave()

    async def _ask(
        self, owner: _Owner, tool: str, arguments: Mapping[str, Any], alias: str
    ) -> ToolAnswer:
        known = tool if tool in owner.tools else alias
        if known not in owner.tools:
            raise Trouble("refused", f"{self._name} has no tool {tool}")
        asking = asyncio.create_task(owner.call(known, arguments))
        asking.add_done_callback(_seen)
        first = asyncio.FIRST_COMPLETED
        either: set[asyncio.Future[Any]] = {asking, owner.over}
        try:
            await asyncio.wait(either, timeout=self._timeout, return_when=first)
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


def _answer(asking: asyncio.Future[ToolAnswer], tool: str) -> ToolAnswer:
    """What a call came to."""
    from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
    from mcp import McpError

    error = asking.exception()
    if error is None:
        return asking.result()
    if isinstance(error, BrokenResourceError | ClosedResourceError | EndOfStream):
        raise _Gone
    if not isinstance(error, McpError):  # a server can make the client fail in any way
        raise Trouble("malformed", f"{tool}: {type(error).__name__}")
    if _ENDED.search(str(error)):
        raise _Gone
    raise Refusal("refused", str(error))


class _Gone(Exception):
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
        self.over: asyncio.Future[None] = loop.create_future()  # the server is not to be asked
        self.failure: Trouble | None = None
        self._connect = connect
        self._patience = patience
        self._name, self._named = name, named
        self._until = loop.time() + patience
        self._ready = asyncio.Event()
        self._session: ClientSession | None = None
        self.task = asyncio.create_task(self._live(), name="mcp-session")

    async def started(self) -> None:
        """Waits until the tools are known.

        Raises:
            Trouble: the server does not start.
        """
        try:
            async with asyncio.timeout_at(self._until):
                await self._ready.wait()
        except TimeoutError:
            text = f"{self._name} did not start within {self._patience:g} s"
            raise Trouble("timeout", text) from None
        if self._session is None:
            text = f"{self._name} was ended as it started"
            raise self.failure or Trouble("unavailable", text)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """What a tool answers, as the session has it."""
        from research.toolservers.lenient import call_tool

        assert self._session is not None
        return await call_tool(self._session, tool, arguments)

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
            self.failure = _failure(error, self._name)
        finally:
            self.leave()

    async def _serve(self, session: ClientSession) -> None:
        greeting: asyncio.Future[Any] = asyncio.ensure_future(self._greeted(session))
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

    async def _greeted(self, session: ClientSession) -> dict[str, Tool]:
        """The tools of a server by name, once it has been greeted. What is more than can be kept is not
        asked for."""
        from research.toolservers.lenient import list_tools

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
    """Why a server did not start or ended: the first of a group of errors that says something."""
    import httpx

    for leaf in _leaves(error):
        if isinstance(leaf, Trouble):
            return leaf
    leaf = next(_leaves(error))
    response = getattr(leaf, "response", None)  # an HTTP error of a server elsewhere
    if response is not None:
        return of_status(response.status_code, name, response.headers)
    if isinstance(leaf, TimeoutError | httpx.TimeoutException) or _LATE.search(str(leaf)):
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
