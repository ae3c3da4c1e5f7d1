"""A mistake in the program: what its visitor sees, and what the log has.

Streamlit has one app in a process, so the app that fails has a process of its own.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import errors
from research import Report, Run, RunOptions
from tests.catalogue import WORDS

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-sentinel-0123456789abcdef"

PAGE = f"""
import streamlit as st
from research import RateLimitError, SettingError, StoreError

st.session_state.lang = st.query_params.get("lang", "en")
how = st.query_params.get("how")

def broken(*_):
    raise ZeroDivisionError("secret detail {KEY}")

if how == "page":
    with st.sidebar, st.container():
        broken()
elif how == "fragment":
    st.text("before")
    st.fragment(broken)()
    st.text("after")
elif how == "parallel":
    st.fragment(parallel=True)(broken)()
elif how == "form":
    with st.form("form"):
        broken()
elif how == "callback":
    st.button("go", key="go", on_click=broken)
elif how == "pace":
    raise RateLimitError(30, 12)
elif how == "setting":
    raise SettingError("THE_SETTING is wrong")
"""

SERVED = """
import json, logging, sys
import streamlit as st
from pathlib import Path
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from pages.shared import errors
from research.core.errors import register_secrets

register_secrets([])

def fails(_request):
    raise ZeroDivisionError("secret detail")

app = st.App(Path(sys.argv[1]), on_script_error=errors.handle_script_error, routes=[Route("/fails", fails)])

def told(socket):
    found = []
    while True:
        message = ForwardMsg.FromString(socket.receive_bytes())
        kind = message.WhichOneof("type")
        if kind == "delta":
            element = message.delta.new_element
            what = element.WhichOneof("type")
            if what in ("alert", "exception", "button", "heading", "text"):
                found.append([what, str(getattr(element, what))])
            if what == "button":
                ids[element.button.label] = element.button.id
        elif kind == "script_finished":
            return found

seen, ids = {}, {}
with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
    for query in sys.argv[2:]:
        with client.websocket_connect(
            "/_stcore/stream", subprotocols=["streamlit"], headers={"host": "localhost"}
        ) as socket:
            asked = BackMsg()
            asked.rerun_script.query_string = query
            socket.send_bytes(asked.SerializeToString())
            seen[query] = told(socket)
            if "callback" in query:
                asked = BackMsg()
                asked.rerun_script.query_string = query
                pressed = asked.rerun_script.widget_states.widgets.add()
                pressed.id, pressed.trigger_value = ids["go"], True
                socket.send_bytes(asked.SerializeToString())
                seen[query] = told(socket)
    got = client.get("/fails")
    seen["http"] = [got.status_code, got.text]
print(json.dumps(seen))
"""
HOW = ("page", "fragment", "parallel", "form", "callback")
QUERIES = [f"how={how}&lang={lang}" for how in (*HOW, "pace", "setting") for lang in ("zh", "en")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What each visitor is shown, and the log."""
    script = tmp_path_factory.mktemp("broken") / "page.py"
    script.write_text(PAGE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SERVED, str(script), *QUERIES],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def words(key: str, lang: str) -> str:
    return WORDS[key][0 if lang == "zh" else 1].partition("{")[0]


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("how", HOW)
def test_a_mistake_is_one_calm_sentence_with_a_number(served: Any, how: str, lang: str) -> None:
    seen, log = served
    shown = seen[f"how={how}&lang={lang}"]
    kinds = [kind for kind, _ in shown]
    assert kinds.count("alert") == 1 and "exception" not in kinds
    said = "".join(text for _, text in shown)
    for inside in ("ZeroDivision", "Traceback", "secret", "page.py", "sentinel"):
        assert inside not in said
    (alert,) = (text for kind, text in shown if kind == "alert")
    assert words("error.page", lang) in alert
    number = next(n for n in logged(log) if n in alert)
    assert log[log.index(f"error {number}") :].partition("ZeroDivisionError")[1]
    assert kinds.count("button") == (how != "form" or 1)


def logged(log: str) -> list[str]:
    return [line.rpartition("error ")[2][:8] for line in log.splitlines() if "error " in line]


@pytest.mark.slow
def test_what_came_before_a_broken_part_stays(served: Any) -> None:
    shown = served[0]["how=fragment&lang=en"]
    assert [kind for kind, _ in shown] == ["text", "alert", "button"]


def test_too_many_starts_are_told_with_the_seconds(served: Any) -> None:
    ((kind, text),) = served[0]["how=pace&lang=en"]
    assert kind == "alert"
    assert "At most 30 runs" in text and "12 s" in text


def test_a_wrong_setting_is_told_as_ever(served: Any) -> None:
    shown = served[0]["how=setting&lang=en"]
    assert [kind for kind, _ in shown] == ["heading", "alert", "button"]
    assert WORDS["trouble.setting"][1] in shown[0][1]


def test_the_log_has_the_traceback_and_no_key(served: Any) -> None:
    log = served[1]
    assert "Traceback" in log and "ZeroDivisionError: secret detail" in log
    assert KEY not in log


def test_a_request_that_fails_shows_nothing_of_the_inside(served: Any) -> None:
    assert served[0]["http"] == [500, "Internal Server Error"]


def failure(message: str) -> Exception:
    try:
        raise ValueError(message)
    except ValueError as error:
        return error


def test_the_same_mistake_has_the_same_number(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        numbers = [errors.log_error(failure(text)) for text in ("one", "one", "two")]
    assert numbers[0] == numbers[1] != numbers[2]
    assert all(len(number) == 8 for number in numbers)
    assert [record.getMessage() for record in caplog.records] == [f"error {n}" for n in numbers]


def test_a_file_that_cannot_be_made_has_a_number_that_the_log_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def ask(report):
        """Offers a file that fails, asks for it and looks at the page again."""
        import streamlit as st

        from pages.run import downloads

        formats = {file.kind: file for file in downloads.list_formats(report, None)}
        broken = formats["md"]._replace(build=lambda: 1 / 0)
        try:
            downloads.create_builder(report, broken)()
        except RuntimeError as error:
            st.text(str(error))
        downloads.draw(report, None)

    run = Run(id="abc", conversation="abc", owner="local", question="q", options=RunOptions(),
              status="stopped", created=datetime(2026, 1, 1, tzinfo=UTC))  # fmt: skip
    with caplog.at_level(logging.ERROR):
        shown = AppTest.from_function(ask, args=(Report(run=run),)).run()
    assert not shown.exception
    (told,) = [element.value for element in shown.error]
    (found,) = {re.search("error ([0-9a-f]{8})", record.message)[1] for record in caplog.records}
    assert told == WORDS["download.failed"][1].format(what="Markdown", id=found)
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in str(shown.text)
