"""By which names the server answers: the rule of Streamlit's websockets, for every request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import config

from pages.parts.hosts import Hosts, known

OWN = ["127.0.0.1", "localhost", "::1", "Desk.example.org", "*.inner.example"]
GOOD = [
    "localhost",
    "LocalHost:8501",
    "localhost.",
    "localhost.:80",
    "127.0.0.1:1",
    "[::1]:8501",
    "desk.EXAMPLE.org",
    "a.inner.example",
    "a.b.inner.example:443",
]
BAD = [
    "",
    "evil.example",
    "localhost.evil.example",
    "evil-localhost",
    "127.0.0.1.evil.example",
    "inner.example",
    "localhost@evil.example",
    "evil.example@localhost",
    "localhost/evil",
    "localhost:port",
    "localhost:99999",
    "[::2]",
    "0.0.0.0",
    "127.1",
    "2130706433",
    "localhost evil",
]


@pytest.fixture(autouse=True)
def names() -> Iterator[None]:
    before = config.get_option("server.allowedHosts")
    config.set_option("server.allowedHosts", OWN)
    yield
    config.set_option("server.allowedHosts", before)


@pytest.fixture
def client() -> TestClient:
    async def page(_request: Any) -> PlainTextResponse:
        return PlainTextResponse("inside")

    async def socket(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    routes = [
        WebSocketRoute("/socket", socket),
        Route("/{path:path}", page, methods=["GET", "PUT"]),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(Hosts)]))


@pytest.mark.parametrize("host", GOOD)
def test_the_server_answers_by_its_names(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).text == "inside"
    with client.websocket_connect("/socket", headers={"host": host}):
        pass


@pytest.mark.parametrize("host", BAD)
@pytest.mark.parametrize("path", ["/", "/media/x.pdf", "/_stcore/health", "/assets/logo.svg"])
def test_by_another_name_it_says_so_and_nothing_else(
    client: TestClient, host: str, path: str
) -> None:
    got = client.get(path, headers={"host": host})
    assert got.status_code == 421
    assert got.headers["content-type"] == "text/plain; charset=utf-8"
    assert "inside" not in got.text and (not host or host not in got.text)
    assert client.put(path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", BAD)
def test_by_another_name_there_is_no_websocket(client: TestClient, host: str) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("/socket", headers={"host": host}),
    ):
        pass


def test_two_names_or_none_are_refused() -> None:
    assert not known({"headers": []})
    assert not known({"headers": [(b"host", b"localhost"), (b"host", b"localhost")]})
    assert not known({"headers": [(b"host", b"\xff\xfe")]})


def test_without_a_list_every_name_will_do() -> None:
    config.set_option("server.allowedHosts", [])
    assert known({"headers": [(b"host", b"whatever.example")]})
