"""Connections on which no request arrives are closed, and honest ones are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from research import limit_connections

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
WHOLE = HEAD + b"\r\n"
PUT = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the size of what it was sent; at /slow after a while, bit by bit."""
    if scope["type"] != "http":
        return
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(10 if scope["path"] == "/slow" else 0):
        await asyncio.sleep(0.1)
        await send({"type": "http.response.body", "body": b".", "more_body": True})
    await send({"type": "http.response.body", "body": str(size).encode()})


@contextlib.asynccontextmanager
async def server(wait: float = 0.2, waiting: int = 200) -> AsyncIterator[int]:
    """The port of a server whose class of connections is its own."""

    class Protocol(H11Protocol):
        """uvicorn's own."""

    limit_connections(Protocol, interval_seconds=wait, max_idle=waiting)
    config = uvicorn.Config(app, http=Protocol, lifespan="off", log_config=None, ws="none")
    made = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listening:
        task = asyncio.create_task(made.serve(sockets=[listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            made.should_exit = made.force_exit = True
            await task


Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def opened(port: int, sent: bytes, count: int = 1) -> list[Peer]:
    peers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    for _, writer in peers:
        writer.write(sent)
    return peers


async def closed(peers: Sequence[Peer]) -> None:
    """Returns once the server has closed all of them."""

    async def one(reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while await reader.read(1000):
                pass

    async with asyncio.timeout(30):
        await asyncio.gather(*(one(reader) for reader, _ in peers))
    for _, writer in peers:
        writer.close()


async def answer(port: int, sent: bytes = WHOLE) -> bytes:
    ((reader, writer),) = await opened(port, sent)
    async with asyncio.timeout(30):
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readuntil(b"0\r\n\r\n")
    writer.close()
    return head + body


@pytest.mark.slow
async def test_a_connection_that_sends_nothing_or_half_a_head_is_closed() -> None:
    async with server() as port:
        for sent in (b"", b"G", HEAD, WHOLE + HEAD, PUT, PUT + b"x" * 500):
            await closed(await opened(port, sent, 20))


async def test_one_byte_now_and_then_is_no_progress() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

    async with server() as port:
        for sent in (b"GET / HTTP/1.1\r\nX: ", PUT):
            peers = await opened(port, sent, 5)
            tasks = [asyncio.create_task(drip(writer)) for _, writer in peers]
            await closed(peers)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def test_of_too_many_the_oldest_is_closed_and_who_asks_is_answered() -> None:
    async with server(wait=1000, waiting=50) as port:
        peers = await opened(port, HEAD, 200)
        assert b"200 OK" in await answer(port)
        await closed(peers[:150])
        assert b"200 OK" in await answer(port)
        for _, writer in peers:
            writer.close()


@pytest.mark.slow
async def test_a_slow_answer_and_a_body_that_comes_are_waited_for() -> None:
    async with server(waiting=5) as port:
        ((reader, writer),) = await opened(port, b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        idle = await opened(port, b"", 20)  # an answer under way is no connection without a request
        async with asyncio.timeout(30):
            assert b"0\r\n\r\n" in await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        await closed(idle)
        ((reader, writer),) = await opened(port, PUT)
        for _ in range(20):
            writer.write(b"x" * 50_000)
            await asyncio.sleep(0.05)
        async with asyncio.timeout(30):
            assert b"1000000" in await reader.readuntil(b"1000000")
        writer.close()
