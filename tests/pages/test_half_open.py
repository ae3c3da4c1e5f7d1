"""Hundreds of connections that never finish a request: both servers close them and answer meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.sync.client import connect

from tests.mcp_server.desk import TOKEN, served
from tests.pages.serving import Server

HALVES = (b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"POST /mcp HTTP/1.1\r\nContent-Le")


@contextmanager
def half_open(port: int, count: int = 400) -> Iterator[list[socket.socket]]:
    held = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(count)]
    try:
        for n, one in enumerate(held):
            with suppress(ConnectionError):  # of so many, the oldest are closed at once
                one.sendall(HALVES[n % len(HALVES)])
        yield held
    finally:
        for one in held:
            one.close()


def closed(one: socket.socket) -> bool:
    """Waits until the other end closes a connection."""
    one.settimeout(120)
    try:
        return one.recv(1000) == b""
    except ConnectionError:
        return True


@pytest.mark.slow
def test_the_server_of_the_pages(folder: Path) -> None:
    server = Server(folder).start()
    try:
        with connect(f"ws://127.0.0.1:{server.port}/_stcore/stream") as socket_:
            with half_open(server.port) as held:
                assert httpx.get(f"{server.url}/_stcore/health", timeout=30).status_code == 200
                assert all(map(closed, held))
            socket_.ping().wait(30)  # a websocket is no half-open connection
            assert socket_.state.name == "OPEN"
    finally:
        server.kill()


@pytest.mark.slow
def test_the_server_for_mcp_clients(tmp_path: Path) -> None:
    with served(tmp_path) as address, half_open(urlsplit(address).port or 0) as held:
        answer = httpx.get(address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30)
        assert answer.status_code == 406  # of the protocol: a GET wants an event stream
        assert all(map(closed, held))
