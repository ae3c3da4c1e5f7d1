"""The ways to an MCP server: a process of ours, or an address."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from research.toolservers.config import ToolServer
from research.toolservers.session import START, Connect, Session
from research.trouble import Trouble

if TYPE_CHECKING:
    from mcp import ClientSession

log = logging.getLogger(__name__)
TETHER = Path(__file__).with_name("tether.py")
COMPLAINTS = 20  # lines of a process that go into the log
LINE = 300  # bytes that are kept of each
MOST = 20_000_000  # bytes of one response over HTTP
Heard = Callable[[object], Awaitable[None]]
_SDK = re.compile(r"[\\/]mcp[\\/](?:client|shared)[\\/]")
_TALKATIVE = ("", "mcp.client.stdio", "mcp.client.streamable_http")  # loggers


class _Hush(logging.Filter):
    """Keeps out of the log what the SDK complains of: whatever a server sends it, with tracebacks. What
    goes wrong is told by a `Trouble`."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno < logging.WARNING or not _SDK.search(record.pathname)


_hush = _Hush()


def _hushed() -> None:
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_hush)  # one that is there is not added again


@asynccontextmanager
async def over_stdio(
    command: Sequence[str], env: Mapping[str, str], wait: timedelta
) -> AsyncIterator[ClientSession]:
    """A session with a process that ends when we do. Of our environment it has `env` and little
    more; `wait` is how long any answer may take. The server has not been greeted yet.

    What the process complains of goes into the log, as far as its first lines.
    """
    from mcp import ClientSession, StdioServerParameters, stdio_client

    _hushed()
    name = Path(command[0]).name
    if os.name == "posix":
        command = [sys.executable, "-I", "-S", str(TETHER), *command]
    given = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=dict(env),
        encoding_error_handler="replace",
    )  # fmt: skip
    with _complaints(name) as stream:
        async with (
            stdio_client(given, stream) as (read, write),
            ClientSession(read, write, wait) as session,
        ):
            yield session


@contextmanager
def _complaints(name: str) -> Iterator[TextIO]:
    """A stream for the errors of a process. Whatever it writes is read, so that it never waits; what
    it leaves behind may hold the stream, so nobody waits for its end."""
    reading, writing = os.pipe()
    threading.Thread(target=_read, args=(reading, name), daemon=True).start()
    with os.fdopen(writing, "w") as stream:
        yield stream


def _read(descriptor: int, name: str) -> None:
    left = COMPLAINTS
    with os.fdopen(descriptor, "rb") as stream:
        while line := stream.readline(LINE):
            said = "".join(c if c.isprintable() else " " for c in line.decode("utf-8", "replace"))
            if left and said.strip():
                log.info("%s: %s", name, said.strip())
                left -= 1


@asynccontextmanager
async def over_http(
    url: str, headers: Mapping[str, str], wait: timedelta, step: float
) -> AsyncIterator[ClientSession]:
    """A session with a server at an address, by Streamable HTTP; it has not been greeted yet. `wait`
    is how long any answer may take, `step` the seconds of one step of a request. The transport
    follows no redirect to another host."""
    import httpx
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    _hushed()
    unreadable: list[Exception] = []

    class Bounded(httpx.AsyncByteStream):
        """A response that ends with a Trouble if it is too long."""

        def __init__(self, inner: httpx.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST
            async for chunk in self._inner:
                left -= len(chunk)
                if left < 0:
                    raise Trouble("too large", f"an answer has more than {MOST} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def bounded(response: httpx.Response) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = Bounded(response.stream)

    async def heard(message: object) -> None:
        """Ends the session with a server that does not speak the protocol: who asked it would
        wait for an answer that has come already."""
        if isinstance(message, Exception):
            unreadable.append(message)
            raise message

    try:
        async with (
            httpx.AsyncClient(
                headers=dict(headers),
                timeout=httpx.Timeout(step, read=wait.total_seconds()),
                event_hooks={"response": [bounded]},
            ) as client,
            streamable_http_client(url, http_client=client) as (read, write, _),
            ClientSession(read, write, wait, message_handler=heard) as session,
        ):
            yield session
    except Exception:
        if unreadable:
            raise _unread(unreadable[0]) from None
        raise
    if unreadable and isinstance(unreadable[0], Trouble):  # during a call, which is told why
        raise unreadable[0]


def _unread(error: Exception) -> Trouble:
    if isinstance(error, Trouble):
        return error
    text = f"no server of tools answers there ({type(error).__name__})"
    return Trouble("malformed", text, hint="endpoint")


def connection(server: ToolServer, handed: Mapping[str, str]) -> Connect:
    """How a server is reached. `handed` is what a process has of our environment beside its own.

    The protocol's own time is that of a start; who calls minds the time of a call.
    """
    wait = timedelta(seconds=server.timeout * START)
    if server.url:
        headers = {name: value.get_secret_value() for name, value in server.headers.items()}
        return lambda: over_http(server.url, headers, wait, server.timeout)
    env = {name: value.get_secret_value() for name, value in server.env.items()}
    return lambda: over_stdio([server.command, *server.args], {**handed, **env}, wait)


def sessions(servers: Iterable[ToolServer], handed: Mapping[str, str]) -> dict[str, Session]:
    """A session with each server, by the name of its source. None is begun."""
    return {
        one.source: Session(
            connection(one, handed),
            one.timeout,
            f"the MCP server {one.name}",
            [*(one.tools or ()), *([one.search.tool] if one.search else ())],
        )
        for one in servers
    }
