"""The first minute with Sightline: on a machine without keys, without a network, with an empty home."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from research import SettingError
from research.core.settings import load_settings
from tests.fakes import until
from tests.pages.serving import FIRST, ROOT, lacking, settled

SKIPPED = (
    lacking() if os.environ.get("SIGHTLINE_BROWSER_TESTS") == "1" else "set SIGHTLINE_BROWSER_TESTS=1 to drive Chromium"
)
# What a newcomer's shell may look like: none of our settings, no UTF-8, a day ahead of others.
BARE = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "Pacific/Kiritimati"}
# Refuses names and addresses outside of this machine, as a machine without a network does.
OFFLINE = """
import errno, socket, sys

sys.modules["uvloop"] = None  # it connects outside of Python, which calls no hook

def refuse(event, arguments):
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host in (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0"):
        return
    if event == "socket.getaddrinfo":
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    raise OSError(errno.ENETUNREACH, "Network is unreachable")

sys.addaudithook(refuse)
"""


class Started:
    """A page server that was started by the README's command, in an environment of its own."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], output: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._port = port
        self._process = process
        self._output = output

    def answers(self) -> bool:
        """Return whether the server answers requests."""
        assert self._process.poll() is None, self.output
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/_stcore/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        """End the server as Ctrl+C does."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8")

    @property
    def lines(self) -> list[str]:
        """The lines on the terminal that are not Streamlit's own."""
        own = {
            "You can now view your Streamlit app in your browser.",
            f"URL: {self.url}",
            "Stopping...",
            "Aborted!",  # after Ctrl+C
        }
        found = (line.strip() for line in self.output.splitlines())
        return [line for line in found if line and line not in own]


@contextmanager
def started(tmp_path: Path, **environment: str) -> Iterator[Started]:
    """Start the page server with these variables and no others, and end it at last. Its standard
    input is closed: nobody is there to answer a question."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    output = tmp_path / "terminal.txt"
    close = "import os, sys; os.close(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = ["-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with output.open("wb") as terminal:
        process = subprocess.Popen(
            [sys.executable, "-c", close, *command],
            cwd=ROOT,
            env=BARE | environment,
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=terminal,
        )
    server = Started(port, process, output)
    try:
        until(server.answers)
        yield server
    finally:
        if process.poll() is None:
            server.stop()


@pytest.mark.slow
def test_a_first_start_prints_the_address_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with started(tmp_path, HOME=str(home)) as server:
        until(lambda: any(home.rglob("runs.db")))
        server.stop()
    assert [line for line in server.lines if " INFO research." not in line] == []
    assert f"URL: {server.url}" in server.output


@pytest.mark.slow
def test_a_start_needs_no_home(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with started(tmp_path, SIGHTLINE_DATA_DIR=str(folder)) as server:
        until((folder / "runs.db").exists)
        server.stop()
    assert [line for line in server.lines if " INFO research." not in line] == []


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_reported_in_one_line(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".local").write_text("a file where a folder should be", encoding="utf-8")
    with started(tmp_path, HOME=str(home)) as server:
        until(lambda: server.lines)
        server.stop()
    (line,) = server.lines
    assert str(home) in line and "SIGHTLINE_DATA_DIR" in line


def test_a_data_folder_in_an_unknown_home_is_an_error_of_the_setting() -> None:
    with pytest.raises(SettingError, match=r"SIGHTLINE_DATA_DIR=~nobody-here/data.*no home folder"):
        load_settings({"SIGHTLINE_DATA_DIR": "~nobody-here/data"})


@pytest.mark.browser
@pytest.mark.skipif(bool(SKIPPED), reason=SKIPPED)
@pytest.mark.parametrize(
    ("locale", "question", "answer"),
    [
        ("zh-CN", "西湖哪年列入世界遗产？", "2011"),
        ("en-US", "When was West Lake put on the World Heritage list?", "2011"),
    ],
)
def test_a_first_question_is_answered_without_a_network(
    tmp_path: Path, browser: Any, locale: str, question: str, answer: str
) -> None:
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(OFFLINE, encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    errors: list[str] = []
    hook = str(tmp_path / "hook")
    with started(tmp_path, HOME=str(home), PYTHONPATH=hook) as server:
        context = browser.new_context(locale=locale)
        context.set_default_timeout(FIRST)
        context.on("weberror", lambda error: errors.append(str(error.error)))
        context.on("console", lambda said: errors.append(said.text) if said.type == "error" else 0)
        page = context.new_page()
        page.goto(server.url)
        page.locator(".st-key-tour_skip button").click()
        page.locator(".st-key-question textarea").fill(question)
        page.locator(".st-key-start button").click()
        page.wait_for_url(re.compile(r"[?&]run="))
        page.locator(".sl-cite").first.wait_for()
        settled(page)
        assert answer in page.locator(".sl-answer").first.inner_text()
        context.close()
        server.stop()
    assert errors == []
    assert [line for line in server.lines if " INFO research." not in line] == []
