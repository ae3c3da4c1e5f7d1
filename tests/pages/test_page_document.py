"""The document around the pages: Streamlit's own, dressed, and nothing else touched."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import streamlit
from starlette.testclient import TestClient

from pages.middleware.document import (
    ASSETS_FOLDER,
    ICON,
    LOGO,
    PRELOADED_MODULES,
    SCRIPTS,
    STYLES,
    customize_document,
    preload_urls,
    versioned_url,
)
from research.export.font_families import font_families

INDEX = Path(streamlit.__file__).parent / "static" / "index.html"


@pytest.fixture(scope="module")
def client() -> Any:
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import FileResponse, PlainTextResponse
    from starlette.routing import Route

    from pages.middleware.document import DocumentMiddleware

    async def page(_request: Any) -> FileResponse:
        return FileResponse(INDEX)

    async def text(_request: Any) -> PlainTextResponse:
        return PlainTextResponse('<div id="root"></div></head>')

    routes = [Route("/assets/page", page), Route("/text", text), Route("/{path:path}", page)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(DocumentMiddleware)]))


def test_the_document_has_the_title_the_style_and_the_script_of_the_product() -> None:
    page = customize_document(INDEX.read_bytes()).decode()
    assert "<title>Sightline</title>" in page and "Streamlit</title>" not in page
    assert all(page.count(versioned_url(name)) == 1 for name in (*STYLES, *SCRIPTS, ICON, LOGO))
    assert page.index("shell.css") < page.index("</head>")
    assert "favicon.png" not in page
    assert "agent/interact" not in page  # which is turned off here


def test_pages_ask_for_the_fonts_that_files_ask_for() -> None:
    style = (ASSETS_FOLDER / "shell" / "fonts.css").read_text("utf-8")
    asked = dict(re.findall(r":lang\((\w+)\) \{ --sl-font: ([^;]+); \}", style))
    assert asked == {"en": font_families("en"), "zh": font_families("zh")}
    config = tomllib.loads((ASSETS_FOLDER.parents[1] / ".streamlit" / "config.toml").read_text("utf-8"))
    assert config["theme"]["font"] == font_families("en")


def test_the_client_is_told_where_its_server_is_before_it_looks() -> None:
    page = customize_document(INDEX.read_bytes()).decode()
    assert page.count("BACKEND_BASE_URL") == 1
    told = page[page.index("BACKEND_BASE_URL") :]
    assert told.index("</script>") < told.index("</head>")
    before = page[: page.index("BACKEND_BASE_URL")]
    assert before.endswith("<script>window.__streamlit = { ")  # at once: modules run later
    client = INDEX.parent / "static" / "js"
    assert any("window.__streamlit;" in file.read_text("utf-8") for file in client.glob("*.js"))


def test_what_every_page_needs_is_fetched_at_once() -> None:
    page = customize_document(INDEX.read_bytes()).decode()
    assert all(page.count(f'rel="modulepreload" crossorigin href="{name}"') == 1 for name in preload_urls())
    found = {name.removeprefix("./static/js/").split(".")[0] for name in preload_urls()}
    assert found == set(PRELOADED_MODULES.split("|"))
    assert all((INDEX.parent / name).is_file() for name in preload_urls())
    assert "SourceSans" not in page  # the font of another look


def test_something_is_painted_before_the_code_has_come() -> None:
    page = customize_document(INDEX.read_bytes()).decode()
    first = page[page.index('<div id="root">') :]
    assert first.startswith(f'<div id="root"><div class="sl-first"><img src="{versioned_url("logo.svg")}"')


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("/", ""), ("/help", ""), ("/help/", ""), ("/assets/page", ""),
        ("/no/such", "/no-such"), ("/no/such?lang=zh", "/no-such?lang=zh"), ("//evil.example/x", "/evil.example-x"), ("/没/有/", "/没-有"),
    ],
)  # fmt: skip
def test_a_path_in_another_leads_to_a_page_that_can_be_drawn(client: Any, path: str, other: str) -> None:
    """Its files would be looked for beside it, and nothing be drawn."""
    answered = client.get(f"http://testserver{path}", follow_redirects=False)
    assert answered.status_code == (307 if other else 200)
    assert unquote(answered.headers.get("location", "")) == other


def test_a_file_that_changes_has_another_address(tmp_path: Path, monkeypatch: Any) -> None:
    before = versioned_url("icon.svg")
    (tmp_path / "icon.svg").write_bytes((ASSETS_FOLDER / "icon.svg").read_bytes() + b" ")
    monkeypatch.setattr("pages.middleware.document.ASSETS_FOLDER", tmp_path)
    assert versioned_url("icon.svg") != before


def test_a_page_comes_whole_whatever_the_browser_has_kept(client: TestClient) -> None:
    plain = client.get("/news")
    assert "shell.js" in plain.text
    assert int(plain.headers["content-length"]) == len(plain.content)
    kept = {"if-none-match": "*", "accept-encoding": "gzip", "range": "bytes=0-9"}
    again = client.get("/news", headers=kept)
    assert (again.status_code, again.text) == (200, plain.text)
    assert "etag" not in plain.headers


def test_nothing_else_is_changed(client: TestClient) -> None:
    assert client.get("/assets/page").content == INDEX.read_bytes()
    assert client.get("/text").text == '<div id="root"></div></head>'
    assert customize_document(b"<html><head></head></html>") == b"<html><head></head></html>"
