"""A desk of which nobody has set anything connects to no other machine: every attempt of its processes
is told by Python's own audit hooks, whichever library makes it."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.serving import Server, chromium, lacking, settled
from tests.terminal import process

# Runs before anything else in a process that has its folder in PYTHONPATH.
HOOK = """
import json, os, sys

SEEN = os.environ["SEEN_CONNECTIONS"]
sys.modules["uvloop"] = None  # its connections are made outside of Python, which tells no hook

def hook(event, arguments):
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"):
        with open(SEEN, "a") as file:
            file.write(json.dumps([event, str(host), sys.argv[:3]]) + "\\n")

sys.addaudithook(hook)
"""
SKIPPED = (
    lacking() if os.environ.get("SIGHTLINE_BROWSER_TESTS") == "1" else "set SIGHTLINE_BROWSER_TESTS=1 to drive Chromium"
)
QUESTIONS = (
    "西湖哪年列入世界遗产？", "How tall is Mount Everest?", "王府井附近有什么博物馆？",
    "How do I get from Pudong airport to the Bund?", "浙江有多少个5A级景区？",
)  # fmt: skip


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Settings with which processes note whom they connect to; none may be noted in the end."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    seen = tmp_path / "seen.jsonl"
    yield {"PYTHONPATH": str(tmp_path / "hook"), "SEEN_CONNECTIONS": str(seen)}
    assert not seen.exists(), seen.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_hook_sees_a_connection(tmp_path: Path, watched: dict[str, str]) -> None:
    seen = Path(watched["SEEN_CONNECTIONS"])
    done = process(
        tmp_path / "data", "ask", "tower", "--sources", "web",
        env=watched | {"SEARXNG_URL": "http://203.0.113.9:9", "WEB_SEARCH": "searxng",
                       "SIGHTLINE_SEARCH_TIMEOUT": "1"},
    )  # fmt: skip
    assert done.returncode != 0
    hosts = [json.loads(line)[1] for line in seen.read_text("utf-8").splitlines()]
    seen.unlink()
    assert set(hosts) == {"203.0.113.9"}


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_at_the_terminal_does_not(tmp_path: Path, watched: dict[str, str], question: str) -> None:
    done = process(tmp_path / "data", "ask", question, env=watched)
    assert done.returncode in (0, 3), done.stderr


@pytest.mark.slow
def test_a_server_that_starts_does_not(tmp_path: Path, watched: dict[str, str]) -> None:
    server = Server(tmp_path / "data", **watched).start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        server.stop()


@pytest.mark.browser
@pytest.mark.skipif(bool(SKIPPED), reason=SKIPPED)
def test_neither_do_the_pages_nor_the_browser(tmp_path: Path, watched: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    server = Server(tmp_path / "data", **watched).start()
    asked: list[str] = []
    try:
        with sync_playwright() as play, play.chromium.launch(executable_path=chromium()) as browser:
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            for path in (
                "",
                "news",
                "places",
                "database",
                "library",
                "history",
                "settings",
                "status",
                "help",
            ):
                page.goto(f"{server.url}/{path}")
                settled(page)
    finally:
        server.stop()
    strange = [
        url for url in asked if not url.startswith((server.url, server.url.replace("http", "ws"), "data:", "blob:"))
    ]
    assert asked and strange == []
