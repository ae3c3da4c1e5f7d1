"""The real server as a process of its own, on a data folder of its own, and Chromium's whereabouts."""

from __future__ import annotations

import http.client
import importlib.util
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pages.shared import tour
from research import StoreError
from research.core.settings import load_settings
from research.storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ("GOOGLE_API_KEY", *(name for name, _ in load_settings({}).display_values()))  # none may come from outside
STARTED = 90.0  # seconds that a server may take to answer
# Milliseconds until a server shows what a run has found. To its first run it loads the graph and the
# clients of the models, unless it has done so by itself, which it begins seconds after its start: that is 5 s
# of the processor, and more by the clock where others use it.
FIRST = 60_000
IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'


def settled(page: Any) -> None:
    """Waits until the script has ended and nothing more is drawn, at most for some seconds.

    Some elements are drawn a moment after the script has ended, because the browser loads their
    code when it first meets them.
    """
    seen, same = "", 0
    for _ in range(50):  # a page that never rests is left as it is
        page.wait_for_selector(IDLE)
        said = page.locator("body").inner_text()
        same = same + 1 if said == seen else 0
        if same == 3:
            return
        seen = said
        page.wait_for_timeout(100)


def chromium() -> str:
    """The browser's path: $CHROMIUM or Debian's."""
    found = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
    return found if shutil.which(found) else ""


def lacking() -> str:
    """Why no browser can be driven here; empty if one can."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed"
    if not chromium():
        return "there is no /usr/bin/chromium, and $CHROMIUM names none"
    return ""


def acquaint(folder: Path, *owners: str) -> None:
    """Those have seen the tour, which would lie over the page that a test looks at."""
    with suppress(StoreError):  # a folder that a test has spoilt
        store = Store(folder / "runs.db")
        for owner in owners:
            store.set_preference(owner, tour.PREFERENCE_NAME, "shown")
        store.close()


class Server:
    """`streamlit run app.py` on a free port of this machine, for visitors who have seen the tour."""

    def __init__(self, folder: Path, *, new: bool = False, **settings: str) -> None:
        """`settings` are added to the environment; the server does not run yet. With `new`, its
        visitors are met by the tour."""
        self.folder, self.new = folder, new
        self.script = ROOT / "app.py"
        self.log = folder.parent / f"{folder.name}.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        own = ("SIGHTLINE_", "STREAMLIT_")
        self._env = {k: v for k, v in os.environ.items() if not k.startswith(own) and k not in SETTINGS}
        self._env |= {"SIGHTLINE_DATA_DIR": str(folder), "MAP_TILES": "off", **settings}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Server:
        """Returns once the server answers; nobody has asked it for a page yet."""
        if not self.new:
            acquaint(self.folder, "local")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "streamlit",
                    "run",
                    str(self.script),
                    "--server.port",
                    str(self.port),
                ],
                cwd=ROOT,
                env=self._env,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + STARTED
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server did not start: {self.log.read_text('utf-8')}")
            time.sleep(0.1)
        return self

    def _answers(self) -> bool:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            asked.request("GET", "/_stcore/health")
            return asked.getresponse().status == 200
        except OSError:
            return False
        finally:
            asked.close()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Ends the server as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends the server as Ctrl+C would."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(how)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._process = None

    def rows(self, query: str, *args: object) -> list[tuple[Any, ...]]:
        """What the store of the runs says."""
        connection = sqlite3.connect(f"file:{self.folder / 'runs.db'}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(query, args).fetchall()
        finally:
            connection.close()

    def count(self, query: str, *args: object) -> int:
        return int(self.rows(f"select count(*) from {query}", *args)[0][0])
