"""The launcher and the router: what a server does with its very first request, and its headers.

Each server is a process of its own: only there is a request the first one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from streamlit.web.server.app_discovery import discover_asgi_app

from tests.catalogue import WORDS

ROOT = Path(__file__).resolve().parents[2]

FIRST = """
import json, sys
from starlette.testclient import TestClient
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from app import app

page = sys.argv[1]
told = {"menu": [], "words": [], "addresses": [], "status": None, "sidebar": False, "missing": False}
with (
    TestClient(app, base_url="http://localhost") as client,
    client.websocket_connect(
        "/_stcore/stream", subprotocols=["streamlit"], headers={"host": "localhost"}
    ) as socket,
):
    asked = BackMsg()
    asked.rerun_script.page_name, asked.rerun_script.query_string = page, "run=abc"
    socket.send_bytes(asked.SerializeToString())
    while told["status"] is None:
        message = ForwardMsg.FromString(socket.receive_bytes())
        kind = message.WhichOneof("type")
        if kind == "navigation":
            told["menu"] = [p.url_pathname for p in message.navigation.app_pages]
            (told["page"],) = (
                p.url_pathname
                for p in message.navigation.app_pages
                if p.page_script_hash == message.navigation.page_script_hash
            )
        elif kind == "page_info_changed":
            told["addresses"].append(message.page_info_changed.query_string)
        elif kind == "page_not_found":
            told["missing"] = True
        elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "heading":
            told["words"].append(message.delta.new_element.heading.body)
        elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "alert":
            told["words"].append(message.delta.new_element.alert.body)
        elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "button_group":
            told["sidebar"] = told["sidebar"] or not told["words"]
        elif kind == "script_finished":
            told["status"] = message.ScriptFinishedStatus.Name(message.script_finished)
print(json.dumps(told))
"""

REQUESTS = """
import json
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from app import app

def socket(host, origin=None):
    headers = {"host": host} | ({"origin": origin} if origin else {})
    try:
        with client.websocket_connect("/_stcore/stream", subprotocols=["streamlit"], headers=headers):
            return "accepted"
    except WebSocketDisconnect as refused:
        return f"closed {refused.code}"
    except Exception as refused:
        return f"denied {getattr(refused, 'status_code', '?')}"

told = {}
with TestClient(app, base_url="http://localhost") as client:
    for path in ("/", "/library", "/assets/logo.svg", "/assets/none.js", "/assets/..%2frouter.py",
                 "/assets/%2e%2e/router.py", "/assets/answer/..%2f..%2frouter.py",
                 "/assets/..%5crouter.py", "/assets//etc/passwd", "/assets/logo.svg?v=1",
                 "/assets/none.js?v=1", "/media/none.pdf", "/_stcore/none"):
        got = client.get(path)
        told[path] = {"status": got.status_code, "headers": dict(got.headers), "text": got.text[:2000]}
    told["foreign"] = {}
    for path in ("/", "/assets/logo.svg"):
        got = client.get(path, headers={"host": "evil.example"})
        told["foreign"][path] = {"status": got.status_code, "headers": dict(got.headers), "text": got.text}
    told["sockets"] = {
        "program": socket("localhost"),
        "own": socket("localhost:8501", "http://localhost:8501"),
        "own, behind a proxy": socket("localhost:443", "https://localhost"),
        "foreign": socket("evil.example"),
        "rebound": socket("localhost.evil.example"),
        "origin": socket("localhost", "https://evil.example"),
        "port": socket("127.0.0.1:8501", "http://127.0.0.1:9999"),
    }
print(json.dumps(told))
"""


def served(script: str, folder: Path, *args: str) -> dict[str, Any]:
    """What a script tells of an app that nobody has asked for anything before."""
    done = subprocess.run(
        [sys.executable, "-c", script, *args],
        cwd=ROOT,
        env={**os.environ, "SIGHTLINE_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return served(REQUESTS, tmp_path_factory.mktemp("data"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("tables", WORDS["ask.no_run"][1]),  # it looks for the run of its address first
        ("places", "Places"),
        ("database", WORDS["ask.no_run"][1]),
        ("library", "Library"),
        ("history", "History"),
        ("settings", "Settings"),
        ("status", "Status"),
        ("help", "Help"),
    ],
)
def test_a_deep_link_as_first_request_runs_the_router_first(folder: Path, page: str, title: str) -> None:
    told = served(FIRST, folder, page)
    assert told["status"] == "FINISHED_SUCCESSFULLY"
    assert {page, "", "help"} <= {*told["menu"]}
    assert told["page"] == page
    assert told["words"][0] == title
    assert told["sidebar"], "the router's sidebar comes before the page"
    assert not told["missing"]
    assert all("run=abc" in address for address in told["addresses"])


@pytest.mark.slow
def test_a_server_starts_with_an_unusable_data_folder_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("mine", encoding="utf-8")
    told = served(FIRST, folder, "history")
    assert told["status"] == "FINISHED_SUCCESSFULLY"
    assert told["words"][0] == "The data folder cannot be used"
    assert "SIGHTLINE_DATA_DIR" in told["words"][1]
    assert folder.read_text(encoding="utf-8") == "mine"


def test_the_launcher_is_recognised_as_an_app() -> None:
    found = discover_asgi_app(ROOT / "app.py")
    assert found.is_asgi_app


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/library", "/assets/logo.svg", "/assets/none.js"])
def test_every_answer_has_the_security_headers(answers: dict[str, Any], path: str) -> None:
    headers = answers[path]["headers"]
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["object-src"] == "'none'"
    assert policy["frame-ancestors"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert not [value for value in policy.values() if re.search(r"http|ws|\*", value)]
    assert "'unsafe-eval'" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert "camera=()" in headers["permissions-policy"]
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-permitted-cross-domain-policies"] == "none"


@pytest.mark.slow
def test_a_file_whose_address_has_its_version_is_kept_by_browsers(answers: dict[str, Any]) -> None:
    kept = {path: answers[path]["headers"].get("cache-control", "") for path in answers if path[0] == "/"}
    assert "immutable" in kept["/assets/logo.svg?v=1"]
    assert kept["/assets/logo.svg"] == kept["/assets/none.js?v=1"] == "no-cache"
    assert kept["/"] == "no-cache"


@pytest.mark.parametrize("path", ["/assets/none.js", "/media/none.pdf", "/_stcore/none"])
def test_what_is_not_there_tells_nothing_of_the_inside(answers: dict[str, Any], path: str) -> None:
    got = answers[path]
    # What is no file may be a page: then it is the document, which tells by itself.
    assert got["status"] == 404 or "<!doctype html>" in got["text"].lower()
    assert not re.search(r"(?i)traceback|\.py\b|site-packages|starlette", got["text"])


@pytest.mark.parametrize("path", ["/", "/assets/logo.svg"])
def test_by_a_foreign_name_the_server_gives_nothing(answers: dict[str, Any], path: str) -> None:
    got = answers["foreign"][path]
    assert got["status"] == 421
    assert "Sightline" not in got["text"] and "<" not in got["text"]
    assert "content-security-policy" in got["headers"]


def test_the_logo_is_served(answers: dict[str, Any]) -> None:
    assert answers["/assets/logo.svg"]["status"] == 200
    assert answers["/assets/logo.svg"]["headers"]["content-type"].startswith("image/svg+xml")


@pytest.mark.parametrize(
    "path",
    [
        "/assets/..%2frouter.py",
        "/assets/%2e%2e/router.py",
        "/assets/answer/..%2f..%2frouter.py",
        "/assets/..%5crouter.py",
        "/assets//etc/passwd",
    ],
)
def test_no_file_outside_the_assets_is_served(answers: dict[str, Any], path: str) -> None:
    assert answers[path]["status"] in (400, 404)
    assert answers[path]["text"] in ("Bad Request", "Not Found")


def test_a_websocket_is_refused_to_a_foreign_host_or_page(answers: dict[str, Any]) -> None:
    sockets = answers["sockets"]
    let_in = [who for who, said in sockets.items() if said == "accepted"]
    assert let_in == ["program", "own", "own, behind a proxy"]
