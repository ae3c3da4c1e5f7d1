"""How much one browser may ask of the server, and that nobody else has to wait for it."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from pages.middleware.rate_limits import (
    ADDRESS_FACTOR,
    BROWSER_COOKIE,
    RATE_LIMITS,
    RateLimit,
    RateLimitMiddleware,
    TokenBuckets,
    request_clients,
    request_kind,
)

LOAD = 40  # requests of a cold page beside its files; measured: fewer than half as many
TABS = 10
Clock = list[float]


@pytest.fixture
def clock() -> Clock:
    return [1000.0]


@pytest.fixture
def client(clock: Clock) -> TestClient:
    async def page(_request: Any) -> PlainTextResponse:
        return PlainTextResponse("inside")

    async def socket(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    routes = [
        WebSocketRoute("/socket", socket),
        Route("/{path:path}", page, methods=["GET", "PUT"]),
    ]
    middleware = [Middleware(RateLimitMiddleware, clock=lambda: clock[0])]
    return TestClient(Starlette(routes=routes, middleware=middleware))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the requests that a browser may really send."""
    burst, rate = RATE_LIMITS["request"]
    monkeypatch.setitem(RATE_LIMITS, "request", RateLimit(burst // 10, rate))


def as_browser(name: str) -> dict[str, str]:
    return {"cookie": f"{BROWSER_COOKIE}={name}"}


def spent(client: TestClient, name: str) -> Any:
    """Asks until it is too much."""
    for _ in range(int(RATE_LIMITS["request"].burst) + 1):
        got = client.get("/_stcore/health", headers=as_browser(name))
    return got


@pytest.mark.slow
def test_many_tabs_at_once_are_nothing(client: TestClient) -> None:
    told = [client.get("/news", headers=as_browser("a")) for _ in range(LOAD * TABS)]
    assert {got.status_code for got in told} == {200}


@pytest.mark.usefixtures("few")
def test_too_many_requests_are_refused_until_the_time_that_is_told(client: TestClient, clock: Clock) -> None:
    got = spent(client, "a")
    assert (got.status_code, got.text) == (429, "Too many requests")
    clock[0] += int(got.headers["retry-after"])
    assert client.get("/", headers=as_browser("a")).status_code == 200


@pytest.mark.usefixtures("few")
def test_another_browser_need_not_wait(client: TestClient) -> None:
    assert spent(client, "a").status_code == 429
    assert client.get("/", headers=as_browser("b")).status_code == 200


@pytest.mark.usefixtures("few")
def test_the_files_of_the_page_are_not_counted(client: TestClient) -> None:
    assert spent(client, "a").status_code == 429
    for path in ("/static/js/index.js", "/assets/logo.svg", "/component/x/index.html"):
        assert client.get(path, headers=as_browser("a")).status_code == 200


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_throwing_the_cookie_away_does_not_help_for_ever(client: TestClient) -> None:
    most = int(RATE_LIMITS["request"].burst) * ADDRESS_FACTOR
    answers = {client.get("/", headers=as_browser(str(n))).status_code for n in range(most)}
    assert answers == {200}
    assert client.get("/", headers=as_browser("new")).status_code == 429


@pytest.mark.usefixtures("few")
def test_uploads_and_connections_have_a_measure_of_their_own(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RATE_LIMITS, "upload", RateLimit(50, 5))  # a folder of thousands is no attack
    path = "/_stcore/upload_file/session/file"
    for _ in range(int(RATE_LIMITS["upload"].burst)):
        assert client.put(path, headers=as_browser("a")).status_code == 200
    assert client.put(path, headers=as_browser("a")).status_code == 429
    assert client.get("/", headers=as_browser("a")).status_code == 200
    for _ in range(int(RATE_LIMITS["socket"].burst)):
        with client.websocket_connect("/socket", headers=as_browser("a")):
            pass
    with pytest.raises(Exception) as refused, client.websocket_connect("/socket", headers=as_browser("a")):  # fmt: skip
        pass
    told = refused.value
    assert isinstance(told, WebSocketDisconnect) or getattr(told, "status_code", 0) == 429
    with client.websocket_connect("/socket", headers=as_browser("b")):
        pass


def test_what_is_left_is_never_more_than_the_measure(clock: Clock) -> None:
    buckets, measure = TokenBuckets(lambda: clock[0]), RateLimit(3, 2)
    assert [buckets.take("a", "x", measure) for _ in range(4)] == [0, 0, 0, 0.5]
    clock[0] += 1e6
    assert [buckets.take("a", "x", measure) for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("a", "y", measure) == 0


def test_the_memory_of_clients_is_bounded(clock: Clock) -> None:
    buckets = TokenBuckets(lambda: clock[0], max_clients=50)
    for n in range(1000):
        buckets.take(str(n), "x", RateLimit(1, 1))
    assert len(buckets) == 50
    assert buckets.take("999", "x", RateLimit(1, 1)) > 0


@pytest.mark.parametrize("headers", [[], [(b"cookie", b"\xff=\xfe; ;;=")], [(b"cookie", b"x" * 9000)]])
def test_a_strange_request_has_a_client_too(headers: Any) -> None:
    scope = {"type": "http", "path": "/", "client": None, "headers": headers}
    assert [times for _, times in request_clients(scope)] == [1, ADDRESS_FACTOR]
    assert all(len(name) < 300 for name, _ in request_clients(scope))


def test_what_else_a_server_is_told_does_not_count() -> None:
    assert request_kind({"type": "lifespan"}) == ""
