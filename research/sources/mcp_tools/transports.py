"""Transports to an MCP server, by langchain-mcp-adapters: a child process, or an address."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from research.core.errors import ServiceError
from research.core.tool_servers import ToolServer
from research.sources.mcp_tools.session import START_TIMEOUT_FACTOR, SessionFactory, ToolServerSession

if TYPE_CHECKING:
    import httpx
    from langchain_mcp_adapters.sessions import Connection
    from mcp import ClientSession

log = logging.getLogger(__name__)
SUPERVISOR = Path(__file__).with_name("supervisor.py")
MAX_ERROR_LINES = 20  # lines of a process's error output that go into the log
MAX_ERROR_LINE_BYTES = 300  # bytes that are kept of each
MAX_RESPONSE_BYTES = 20_000_000  # bytes of one response over HTTP
_SDK_PATH = re.compile(r"[\\/]mcp[\\/](?:client|shared)[\\/]")
_NOISY_LOGGERS = ("", "mcp.client.stdio", "mcp.client.streamable_http")


class _SdkFilter(logging.Filter):
    """Drops the warnings of the MCP SDK, which repeat with tracebacks whatever a server sends. A
    `Trouble` reports what goes wrong."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno < logging.WARNING or not _SDK_PATH.search(record.pathname)


_sdk_filter = _SdkFilter()


def _open_session(connection: Connection) -> AbstractAsyncContextManager[ClientSession]:
    """Open a session without greeting the server: its owner does that, and can end it meanwhile."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    for name in _NOISY_LOGGERS:
        logging.getLogger(name).addFilter(_sdk_filter)  # a second time has no effect
    return MultiServerMCPClient({"server": connection}).session("server", auto_initialize=False)


@asynccontextmanager
async def open_stdio(
    command: Sequence[str], env: Mapping[str, str], read_timeout: timedelta
) -> AsyncIterator[ClientSession]:
    """Open a session with a child process that ends when this process does.

    Of our environment it has `env` and little more; `wait` is how long any answer may take. The first
    lines of the process's error output go into the log.
    """
    # The adapters expand ${NAME} in `env`. Here that has been done, so each $ is marked as literal.
    literal = {name: value.replace("$", "$\x01") for name, value in env.items()}
    with _log_error_output(Path(command[0]).name) as errors:
        connection: Connection = {
            "transport": "stdio",
            "command": sys.executable,
            "args": ["-I", "-S", str(SUPERVISOR), errors, *command],
            "env": literal,
            "encoding_error_handler": "replace",
            "session_kwargs": {"read_timeout_seconds": read_timeout},
        }
        async with _open_session(connection) as session:
            yield session


@contextmanager
def _log_error_output(name: str) -> Iterator[str]:
    """Yield the path of a pipe whose first lines go into the log.

    All that is written is read, so that no process ever waits. A process that stays behind may keep
    the pipe open, so nobody waits for its end.
    """
    if os.name != "posix":  # pipes have no path there
        yield os.devnull
        return
    with TemporaryDirectory(prefix="sightline-") as folder:
        path = f"{folder}/errors"
        os.mkfifo(path, 0o600)
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(reading, True)
        writing = os.open(path, os.O_WRONLY)  # without a writer the reader would see the end
        threading.Thread(target=_log_lines, args=(reading, name), daemon=True).start()
        try:
            yield path
        finally:
            os.close(writing)


def _log_lines(descriptor: int, name: str) -> None:
    left = MAX_ERROR_LINES
    with os.fdopen(descriptor, "rb") as stream:
        while line := stream.readline(MAX_ERROR_LINE_BYTES):
            text = "".join(c if c.isprintable() else " " for c in line.decode("utf-8", "replace"))
            if left and text.strip():
                log.info("%s: %s", name, text.strip())
                left -= 1


@asynccontextmanager
async def open_http(
    url: str, headers: Mapping[str, str], read_timeout: timedelta, timeout_seconds: float
) -> AsyncIterator[ClientSession]:
    """Open a session with a server at an address, by Streamable HTTP.

    `wait` is how long any answer may take, `step` the seconds of one step of a request. The
    transport follows no redirect to another host.
    """
    unreadable: list[Exception] = []

    async def end_if_unreadable(message: object) -> None:
        """End the session with a server that does not speak the protocol, whose answer would be
        waited for although it has come."""
        if isinstance(message, Exception):
            unreadable.append(message)
            raise message

    connection: Connection = {
        "transport": "streamable_http",
        "url": url,
        "headers": dict(headers),
        "timeout": timeout_seconds,
        "sse_read_timeout": read_timeout,
        "httpx_client_factory": bounded_client,
        "session_kwargs": {"read_timeout_seconds": read_timeout, "message_handler": end_if_unreadable},
    }
    try:
        async with _open_session(connection) as session:
            yield session
    except Exception:
        if unreadable:
            raise _to_service_error(unreadable[0]) from None
        raise
    if unreadable and isinstance(unreadable[0], ServiceError):  # during a call, which reports it
        raise unreadable[0]


def bounded_client(
    headers: dict[str, str] | None = None,
    timeout: httpx.Timeout | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.AsyncClient:
    """Return an HTTP client that follows no redirect and reads at most `MOST` bytes of a response."""
    import httpx

    class BoundedStream(httpx.AsyncByteStream):
        """A response that ends with a Trouble if it is too long."""

        def __init__(self, inner: httpx.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MAX_RESPONSE_BYTES
            async for chunk in self._inner:
                left -= len(chunk)
                if left < 0:
                    raise ServiceError("too large", f"an answer has more than {MAX_RESPONSE_BYTES} bytes")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def bound(response: httpx.Response) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = BoundedStream(response.stream)

    return httpx.AsyncClient(
        headers=headers,
        timeout=timeout,
        auth=auth,
        follow_redirects=False,
        event_hooks={"response": [bound]},
    )


def _to_service_error(error: Exception) -> ServiceError:
    if isinstance(error, ServiceError):
        return error
    text = f"no server of tools answers there ({type(error).__name__})"
    return ServiceError("malformed", text, hint="endpoint")


def session_factory(server: ToolServer, inherited_env: Mapping[str, str]) -> SessionFactory:
    """Return what opens a session with a server. A process has `inherited` of our environment.

    The protocol's own time limit is that of a start; the session minds the time of a call.
    """
    wait = timedelta(seconds=server.timeout * START_TIMEOUT_FACTOR)
    if server.url:
        headers = {name: value.get_secret_value() for name, value in server.headers.items()}
        return lambda: open_http(server.url, headers, wait, server.timeout)
    env = {name: value.get_secret_value() for name, value in server.env.items()}
    return lambda: open_stdio([server.command, *server.args], {**inherited_env, **env}, wait)


def build_sessions(servers: Iterable[ToolServer], inherited_env: Mapping[str, str]) -> dict[str, ToolServerSession]:
    """Return a session with each server, by the name of its source. None is started."""
    return {
        one.source_name: ToolServerSession(
            session_factory(one, inherited_env),
            one.timeout,
            f"the MCP server {one.name}",
            [*(one.tools or ()), *([one.search.tool] if one.search else ())],
        )
        for one in servers
    }
