"""How much a browser may leave on the server, and what becomes of the names of its files."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages.middleware import upload_limits
from pages.middleware.upload_limits import UploadLimitMiddleware, UploadTotal, declared_size

Kept = dict[str, list[int]]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """What the pages hold, as the server of the pages would tell it."""
    kept: Kept = {}
    monkeypatch.setattr(upload_limits, "stored_uploads", lambda page: UploadTotal(len(kept.get(page, [])), sum(kept.get(page, []))))  # fmt: skip
    monkeypatch.setattr(upload_limits, "MAX_SESSION_FILES", 3)
    monkeypatch.setattr(upload_limits, "MAX_SESSION_BYTES", 1000)
    monkeypatch.setattr(upload_limits, "MAX_CLIENT_FILES", 5)
    monkeypatch.setattr(upload_limits, "MAX_CLIENT_BYTES", 1500)
    return kept


@pytest.fixture
def client(kept: Kept) -> TestClient:
    async def put(request: Any) -> PlainTextResponse:
        body = await request.body()
        if request.method == "PUT":
            kept.setdefault(request.path_params["page"], []).append(len(body))
        return PlainTextResponse("kept")

    path = "/_stcore/upload_file/{page}/{file}"
    routes = [Route(path, put, methods=["PUT", "DELETE"])]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(UploadLimitMiddleware)]))


def leave(client: TestClient, page: str, size: int, browser: str = "a") -> int:
    headers = {"cookie": f"_streamlit_xsrf={browser}"}
    path = f"/_stcore/upload_file/{page}/x"
    return client.put(path, content=b"x" * size, headers=headers).status_code


def test_a_page_holds_so_many_files(client: TestClient, kept: Kept) -> None:
    assert [leave(client, "one", 1) for _ in range(5)] == [200, 200, 200, 413, 413]
    kept["one"].pop()
    assert leave(client, "one", 1) == 200


def test_a_page_holds_so_many_bytes(client: TestClient) -> None:
    assert [leave(client, "one", 600), leave(client, "one", 600)] == [200, 413]
    assert leave(client, "one", 400) == 200


def test_all_pages_of_a_browser_hold_so_much(client: TestClient) -> None:
    assert [leave(client, "one", 900), leave(client, "two", 900)] == [200, 413]
    assert leave(client, "two", 900, browser="b") == 200
    assert [leave(client, "three", 10) for _ in range(3)] == [200, 200, 200]


def test_what_is_taken_back_is_not_counted(client: TestClient) -> None:
    for _ in range(9):
        assert client.delete("/_stcore/upload_file/one/x").status_code == 200
    assert leave(client, "one", 1) == 200


def test_a_request_that_tells_no_size_counts_as_the_largest() -> None:
    most = declared_size({"headers": []})
    assert most == st.get_option("server.maxUploadSize") * 1024 * 1024
    assert declared_size({"headers": [(b"content-length", b"-5")]}) == most
    assert declared_size({"headers": [(b"content-length", b"9" * 99)]}) == most
    assert declared_size({"headers": [(b"content-length", b"12")]}) == 12
