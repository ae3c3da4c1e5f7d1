"""Transports to an MCP server through langchain-mcp-adapters: child process or Streamable HTTP."""

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
MAX_ERROR_LINES = 20  # of a process's error output in the log
MAX_ERROR_LINE_BYTES = 300  # longer lines are split
MAX_RESPONSE_BYTES = 20_000_000  # of one HTTP response
_SDK_PATH = re.compile(r"[\\/]mcp[\\/](?:client|shared)[\\/]")
_NOISY_LOGGERS = ("", "mcp.client.stdio", "mcp.client.streamable_http")


class _SdkFilter(logging.Filter):
    """Drops warnings of the MCP SDK, which repeat any server output with tracebacks.

    Errors are reported as ServiceError instead.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno < logging.WARNING or not _SDK_PATH.search(record.pathname)


_sdk_filter = _SdkFilter()


def _open_session(connection: Connection) -> AbstractAsyncContextManager[ClientSession]:
    """Open a session without initialising it; its owner does that, and can end it meanwhile."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    for name in _NOISY_LOGGERS:
        logging.getLogger(name).addFilter(_sdk_filter)  # a second time has no effect
    return MultiServerMCPClient({"server": connection}).session("server", auto_initialize=False)


@asynccontextmanager
async def open_stdio(
    command: Sequence[str], env: Mapping[str, str], read_timeout: timedelta
) -> AsyncIterator[ClientSession]:
    """Open a session with a child process that ends when this process does.

    The process gets `env` and little else of our environment. `read_timeout` is the limit for any
    response. The first lines of its error output are logged.
    """
    # The adapters would expand ${NAME} in `env` again, so each $ is marked as literal.
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
    """Yield the path of a pipe whose first lines are logged.

    All output is read, so that no process blocks on it. A surviving process may keep the pipe open,
    so its end is not waited for.
    """
    if os.name != "posix":  # named pipes are not available
        yield os.devnull
        return
    with TemporaryDirectory(prefix="sightline-") as folder:
        path = f"{folder}/errors"
        os.mkfifo(path, 0o600)
        read_fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(read_fd, True)
        write_fd = os.open(path, os.O_WRONLY)  # without a writer the reader would see the end
        threading.Thread(target=_log_lines, args=(read_fd, name), daemon=True).start()
        try:
            yield path
        finally:
            os.close(write_fd)


def _log_lines(descriptor: int, name: str) -> None:
    remaining = MAX_ERROR_LINES
    with os.fdopen(descriptor, "rb") as stream:
        while line := stream.readline(MAX_ERROR_LINE_BYTES):
            text = "".join(c if c.isprintable() else " " for c in line.decode("utf-8", "replace"))
            if remaining and text.strip():
                log.info("%s: %s", name, text.strip())
                remaining -= 1


@asynccontextmanager
async def open_http(
    url: str, headers: Mapping[str, str], read_timeout: timedelta, timeout_seconds: float
) -> AsyncIterator[ClientSession]:
    """Open a session with a server over Streamable HTTP.

    `read_timeout` is the limit for any response, `timeout_seconds` for one step of a request.
    Redirects are not followed.
    """
    unreadable: list[Exception] = []

    async def end_if_unreadable(message: object) -> None:
        """End the session with a server that does not speak the protocol.

        Otherwise the client would wait for a response that has already arrived.
        """
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
    """Return an HTTP client that follows no redirect and reads at most `MAX_RESPONSE_BYTES` of a
    response."""
    import httpx

    class BoundedStream(httpx.AsyncByteStream):
        """A response stream that raises ServiceError if it is too long."""

        def __init__(self, inner: httpx.AsyncByteStream) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            remaining = MAX_RESPONSE_BYTES
            async for chunk in self._inner:
                remaining -= len(chunk)
                if remaining < 0:
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
    """Return a function that opens a session with a server.

    A child process gets `inherited_env`. The read timeout of the protocol covers the start;
    `ToolServerSession` limits each call.
    """
    read_timeout = timedelta(seconds=server.timeout * START_TIMEOUT_FACTOR)
    if server.url:
        headers = {name: value.get_secret_value() for name, value in server.headers.items()}
        return lambda: open_http(server.url, headers, read_timeout, server.timeout)
    env = {name: value.get_secret_value() for name, value in server.env.items()}
    return lambda: open_stdio([server.command, *server.args], {**inherited_env, **env}, read_timeout)


def build_sessions(servers: Iterable[ToolServer], inherited_env: Mapping[str, str]) -> dict[str, ToolServerSession]:
    """Return a session for each server by source name, without starting any."""
    return {
        server.source_name: ToolServerSession(
            session_factory(server, inherited_env),
            server.timeout,
            f"the MCP server {server.name}",
            [*(server.tools or ()), *([server.search.tool] if server.search else ())],
        )
        for server in servers
    }
