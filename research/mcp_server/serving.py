"""Transports of the MCP server: stdin and stdout, or HTTP with a token."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic_core import from_json

import research

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HTTP_PATH = "/mcp"
SESSION_IDLE_SECONDS = 30 * 60  # seconds without a request or an open stream
MAX_SESSIONS = 200  # concurrent sessions
MAX_BODY_BYTES = 4 * 1024 * 1024  # bytes of a request
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")  # host names of this machine that are always accepted


async def serve_stdio(server: Server[Any, Any]) -> None:
    """Serve one client until it disconnects or the process is terminated."""
    with _redirect_stdio() as (source, sink), _cancel_on_sigterm():
        streams: Any = stdio_server(cast(Any, _read_lines(source)), cast(Any, _OutputStream(sink)))
        async with streams as (received, sending):
            await server.run(received, sending, server.create_initialization_options())


@contextmanager
def _redirect_stdio() -> Iterator[tuple[TextIO, int]]:
    """Reserve stdin and stdout for the protocol.

    Other code then reads nothing from stdin, and its output goes to stderr. Yields a text stream
    for input and a file descriptor for output.
    """
    source, sink, null_input = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_input, 0)
    os.dup2(2, 1)
    os.close(null_input)
    try:
        yield open(source, encoding="utf-8", errors="replace", closefd=False), sink  # noqa: SIM115
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)


async def _read_lines(source: TextIO) -> AsyncIterator[str]:
    """Yield input lines as they arrive, read in a daemon thread that does not delay the exit."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed
            for line in source:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, name="mcp-stdin", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


class _OutputStream:
    """Unbuffered output stream. Broken pipes are ignored, because the end of stdin reports them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        await anyio.to_thread.run_sync(self._write, text.encode())

    async def flush(self) -> None:
        """Do nothing, because nothing is buffered."""

    def _write(self, data: bytes) -> None:
        with suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]


@contextmanager
def _cancel_on_sigterm() -> Iterator[None]:
    """Cancel the current task on SIGTERM instead of ending the process, where signals are supported."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    try:
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or another thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


async def serve_http(
    server: Server[Any, Any],
    token: str,
    host: str,
    port: int,
    host_names: Sequence[str],
    on_ready: Callable[[str], object],
    *,
    session_idle_seconds: float = SESSION_IDLE_SECONDS,
    max_sessions: int = MAX_SESSIONS,
) -> None:
    """Serve clients over Streamable HTTP until the process is terminated.

    Arguments:
        host_names: host names to accept besides the address and the loopback names.
        on_ready: called with the address of the server.
        session_idle_seconds: seconds without a request or stream after which a session ends.
        max_sessions: sessions at once.

    Raises:
        OSError: the address cannot be bound.
    """
    import uvicorn
    from mcp.server.streamable_http_manager import (
        RequestBodyLimitMiddleware,
        StreamableHTTPSessionManager,
    )
    from mcp.server.transport_security import TransportSecuritySettings

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family)
    port = listener.getsockname()[1]
    display_host = f"[{host}]" if ":" in host else host
    hosts = [f"{name}:{port}" for name in dict.fromkeys((*LOOPBACK_NAMES, display_host, *host_names))]
    hosts += host_names  # behind a proxy, on the usual port
    security = TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{name}" for name in hosts for scheme in ("http", "https")],
    )
    manager = StreamableHTTPSessionManager(
        server,
        security_settings=security,
        session_idle_timeout=session_idle_seconds,
        max_sessions=max_sessions,
        max_request_body_size=MAX_BODY_BYTES,
    )
    research.limit_connections()
    config = uvicorn.Config(
        _require_token(RequestBodyLimitMiddleware(_require_json(manager.handle_request), MAX_BODY_BYTES), token),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    with listener:
        async with manager.run():
            on_ready(f"http://{display_host}:{port}{HTTP_PATH}")
            await uvicorn.Server(config).serve(sockets=[listener])


def _require_token(inner_app: ASGIApp, token: str) -> ASGIApp:
    """Wrap an application so that only requests with the token reach it."""
    from starlette.responses import PlainTextResponse

    expected = token.encode()

    async def check_token(scope: Scope, receive: Receive, send: Send) -> None:
        scheme, _, given = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), expected):
            refusal = PlainTextResponse(
                "Send the header Authorization: Bearer with the token.\n",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)
        elif scope["path"].rstrip("/") != HTTP_PATH:
            await PlainTextResponse(f"Only {HTTP_PATH} is here.\n", 404)(scope, receive, send)
        else:
            await inner_app(scope, receive, send)

    return check_token


def _require_json(inner_app: ASGIApp) -> ASGIApp:
    """Wrap an application so that POST requests reach it only with JSON that the SDK can parse.

    The body is passed on in one piece.
    """
    from starlette.responses import Response

    error = types.ErrorData(code=types.PARSE_ERROR, message="The body is not JSON, or is nested too deeply")
    refusal = {"jsonrpc": "2.0", "id": None, "error": error.model_dump(exclude_none=True)}

    async def check_body(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await inner_app(scope, receive, send)
            return
        message = await receive()
        if message["type"] == "http.request" and not _is_json(message["body"]):
            answer = Response(json.dumps(refusal), 400, media_type="application/json")
            await answer(scope, receive, send)
            return
        unread = [message]

        async def receive_again() -> Message:
            return unread.pop() if unread else await receive()

        await inner_app(scope, receive_again, send)

    return check_body


def _is_json(body: bytes) -> bool:
    """Return whether both JSON parsers of the SDK accept a body.

    Pydantic's parser limits the depth, and Python's the digits of a number.
    """
    try:
        from_json(body)
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
