"""How long somebody who has only the README needs to their first cited answer, phase by phase.

`python -m tests.newcomer [REPOSITORY]` clones the repository into a temporary folder, makes a new
environment, types the README's own command, opens the page in Chromium, takes an example and waits
for the first citation. It installs everything anew, so it is run by hand; Playwright is that of the
environment that it is started from.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.pages.serving import ROOT, SETTINGS, chromium, lacking

INSTALLED, ANSWERED = 900.0, 120.0  # seconds at most


def command(readme: str) -> tuple[str, str]:
    """What the README says to install and to run."""
    found = re.search(r"<!-- run -->\n```\n(.+?)\n```", readme)
    assert found, "the README has no command to run"
    install, _, start = found[1].partition(" && ")
    return install, start


@contextmanager
def phase(name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"{name:<44}{time.perf_counter() - started:8.1f} s", flush=True)


def main(repository: str = str(ROOT)) -> int:
    if lacking():
        print(lacking())
        return 1
    with tempfile.TemporaryDirectory() as folder:
        copy, venv = Path(folder) / "sightline", Path(folder) / "venv"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "check": True}
        with phase("the whole way"):
            with phase("git clone"):
                subprocess.run(
                    [
                        "git",
                        "clone",
                        "-q",
                        "--depth=1",
                        f"file://{repository}" if "://" not in repository else repository,
                        copy,
                    ],
                    **quiet,
                )  # type: ignore[call-overload]
            with phase("a new environment"):
                subprocess.run([sys.executable, "-m", "venv", venv], **quiet)  # type: ignore[call-overload]
            install, start = command((copy / "README.md").read_text(encoding="utf-8"))
            own = ("SIGHTLINE_", "STREAMLIT_", "PYTHONPATH")
            env = {k: v for k, v in os.environ.items() if not k.startswith(own) and k not in SETTINGS}
            env |= {"PATH": f"{venv / 'bin'}:{os.environ['PATH']}", "SIGHTLINE_DATA_DIR": str(Path(folder) / "data")}  # fmt: skip
            with phase(install):
                subprocess.run(install.split(), cwd=copy, env=env, timeout=INSTALLED, **quiet)  # type: ignore[call-overload]
            _first_answer(copy, start, env)
    return 0


def _first_answer(copy: Path, start: str, env: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with phase(start):
        server = subprocess.Popen(
            [*start.split(), "--server.port", str(port)], cwd=copy, env=env,
            stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
        )  # fmt: skip
        _answers(port)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(locale="en-US")
            page.set_default_timeout(ANSWERED * 1000)
            with phase("the page is open"):
                page.goto(f"http://127.0.0.1:{port}")
                page.locator(".st-key-question textarea").wait_for()
            with phase("an example, asked"):
                page.locator(".st-key-tour_skip button").click()  # who is new is met by the tour
                page.locator(".st-key-example_0 button").click()
                page.wait_for_function(
                    "() => document.querySelector('.st-key-question textarea')?.value || location.search.includes('run=')"
                )
                if "run=" not in page.url:
                    page.locator(".st-key-start button").click()
                page.wait_for_url(re.compile(r"[?&]run="))
            with phase("the first citation"):
                page.locator(".sl-cite").first.wait_for()
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


def _answers(port: int) -> None:
    deadline = time.monotonic() + ANSWERED
    while time.monotonic() < deadline:
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            asked.request("GET", "/_stcore/health")
            if asked.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            asked.close()
    raise TimeoutError(f"no answer on port {port}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
