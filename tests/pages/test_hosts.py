"""By which names the server answers, and to which pages it opens a websocket."""

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

from pages.middleware.hosts import HostMiddleware, is_allowed_host, is_allowed_origin

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
    changed = {
        "server.allowedHosts": OWN,
        "server.corsAllowedOrigins": [],
        "server.enableCORS": True,
    }
    before = {name: config.get_option(name) for name in changed}
    for name, value in changed.items():
        config.set_option(name, value)
    yield
    for name, value in before.items():
        config.set_option(name, value)


@pytest.fixture
def client() -> TestClient:
    async def page(_request: Any) -> PlainTextResponse:
        return PlainTextResponse("inside")

    async def socket(socket: WebSocket) -> None:
        from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

        await socket.accept()  # and what Streamlit itself would say then
        origin, host = socket.headers.get("origin"), socket.headers.get("host")
        await socket.send_json(_is_origin_allowed(origin, host))
        await socket.close()

    routes = [
        WebSocketRoute("/socket", socket),
        Route("/{path:path}", page, methods=["GET", "PUT"]),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(HostMiddleware)]))


@pytest.mark.parametrize("host", GOOD)
def test_the_server_answers_by_its_names(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).text == "inside"
    with client.websocket_connect("/socket", headers={"host": host}):
        pass


@pytest.mark.parametrize("host", BAD)
@pytest.mark.parametrize("path", ["/", "/media/x.pdf", "/_stcore/health", "/assets/logo.svg"])
def test_by_another_name_it_says_so_and_nothing_else(client: TestClient, host: str, path: str) -> None:
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
    assert not is_allowed_host({"headers": []})
    assert not is_allowed_host({"headers": [(b"host", b"localhost"), (b"host", b"localhost")]})
    assert not is_allowed_host({"headers": [(b"host", b"\xff\xfe")]})


def test_without_a_list_every_name_will_do() -> None:
    config.set_option("server.allowedHosts", [])
    assert is_allowed_host({"headers": [(b"host", b"whatever.example")]})


# The page that opens a websocket, and the name and port by which it asks for it.

PAGES_OF_OURS = [
    ("http://localhost:8501", "localhost:8501"),
    ("http://127.0.0.1:8501", "127.0.0.1:8501"),
    ("http://[::1]:8501", "[::1]:8501"),
    ("http://localhost", "localhost"),
    ("http://localhost:9000", "localhost:9000"),  # a tunnel
    # Behind a proxy that speaks HTTPS: with the port that goes without saying, and without it.
    ("https://desk.example.org", "desk.example.org"),
    ("https://desk.example.org", "desk.example.org:443"),
    ("http://desk.example.org", "desk.example.org:80"),
    ("https://desk.example.org:8443", "desk.example.org:8443"),
    ("https://[::1]", "[::1]:443"),
]
OTHER_PAGES = [
    ("http://127.0.0.1:9999", "127.0.0.1:8501"),
    ("http://localhost:9999", "localhost:8501"),
    ("http://[::1]:9999", "[::1]:8501"),
    ("http://localhost", "localhost:8501"),
    ("http://localhost:8501", "127.0.0.1:8501"),
    ("http://localhost:8501", "localhost"),
    ("https://desk.example.org:9999", "desk.example.org"),
    ("https://desk.example.org", "desk.example.org:80"),
    ("http://desk.example.org", "desk.example.org:443"),
    ("https://evil.example", "desk.example.org"),
    ("https://desk.example.org.evil.example", "desk.example.org"),
    ("https://desk.example.org@evil.example", "desk.example.org"),
    ("http://localhost:port", "localhost:8501"),
    ("http://[::1", "localhost:8501"),
    ("file://localhost:8501", "localhost:8501"),
    ("chrome-extension://localhost", "localhost"),
    ("null", "localhost:8501"),
    ("", "localhost:8501"),
]


def opened(client: TestClient, page: str, host: str) -> Any:
    headers = {"host": host, "origin": page}
    with client.websocket_connect("/socket", headers=headers) as socket:
        return socket.receive_json()


@pytest.mark.parametrize(("page", "host"), PAGES_OF_OURS)
def test_a_page_of_the_server_opens_a_websocket(client: TestClient, page: str, host: str) -> None:
    assert opened(client, page, host) is True


@pytest.mark.parametrize(("page", "host"), OTHER_PAGES)
def test_a_page_of_another_address_opens_none(client: TestClient, page: str, host: str) -> None:
    with pytest.raises(WebSocketDisconnect):
        opened(client, page, host)


def test_where_the_server_speaks_https_itself_so_does_its_page() -> None:
    def asked(page: str) -> bool:
        headers = [(b"host", b"desk.example.org"), (b"origin", page.encode())]
        return is_allowed_origin({"scheme": "wss", "headers": headers})

    assert asked("https://desk.example.org")
    assert not asked("http://desk.example.org")


def test_a_program_names_no_page_and_nobody_names_two() -> None:
    host, page = (b"host", b"localhost"), (b"origin", b"http://localhost")
    assert is_allowed_origin({"scheme": "ws", "headers": [host]})
    assert is_allowed_origin({"scheme": "ws", "headers": [host, page]})
    assert not is_allowed_origin({"scheme": "ws", "headers": [host, page, page]})
    assert not is_allowed_origin({"scheme": "ws", "headers": [page]})


def test_other_pages_may_be_let_in_with_their_port(client: TestClient) -> None:
    config.set_option("server.corsAllowedOrigins", ["https://portal.example", "http://10.0.0.7:81/"])
    assert opened(client, "https://portal.example", "localhost:8501") is True
    assert opened(client, "http://10.0.0.7:81", "localhost:8501") is True
    for page in ("http://portal.example", "https://portal.example:81", "http://10.0.0.7"):
        with pytest.raises(WebSocketDisconnect):
            opened(client, page, "localhost:8501")
    config.set_option("server.enableCORS", False)
    assert opened(client, "https://evil.example", "localhost:8501") is True
