"""How long a browser keeps what it is given, and what a page may do."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from pages.middleware.headers import CACHE_FOREVER, HEADERS, SecurityHeadersMiddleware


def client() -> TestClient:
    async def file(request: Any) -> Response:
        headers = {name[2:]: value for name, value in request.headers.items() if name[:2] == "x_"}
        return Response("data", int(request.query_params.get("status", 200)), headers)

    return TestClient(
        Starlette(routes=[Route("/{path:path}", file)], middleware=[Middleware(SecurityHeadersMiddleware)])
    )


def test_what_is_taken_away_is_kept_by_no_cache() -> None:
    given = {
        "x_content-disposition": 'attachment; filename="a.pdf"',
        "x_cache-control": "max-age=9",
    }
    got = client().get("/media/a.pdf", headers=given)
    assert got.headers.get_list("cache-control") == ["no-store"]
    shown = client().get("/media/a.png", headers={"x_content-disposition": "inline"})
    assert "cache-control" not in shown.headers


def test_only_a_found_file_with_its_version_is_kept_for_ever() -> None:
    told = {
        path: client().get(path).headers.get("cache-control", "")
        for path in ("/assets/a.js?v=1", "/assets/a.js", "/assets/a.js?v=1&status=404".replace("v=1&", ""),
                     "/static/a.js?v=1", "/news?v=1")
    }  # fmt: skip
    assert [*told.values()] == [CACHE_FOREVER.decode(), "no-cache", "no-cache", "", ""]
    assert client().get("/assets/a.js?v=1&status=404").headers["cache-control"] == "no-cache"


def test_an_answer_keeps_headers_of_its_own() -> None:
    own = {"x_content-security-policy": "default-src 'none'", "x_cache-control": "max-age=5"}
    got = client().get("/assets/a.js?v=1", headers=own)
    assert got.headers.get_list("content-security-policy") == ["default-src 'none'"]
    assert got.headers.get_list("cache-control") == ["max-age=5"]
    assert {name.decode() for name in HEADERS} <= set(got.headers)
