"""Reads scanned pages in a process of its own (`research.sources.library.recogniser`), if that is installed.

Knows how the process is started, watched and ended; nothing of the library. Whoever gives the library
another recogniser gives it a function like `recognise`.
"""

from __future__ import annotations

import base64
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from research.core.settings import bare_environment

OCR_INSTALL = (
    "pip install 'rapidocr>=3.10,<4' 'onnxruntime>=1.20' 'pypdfium2>=5'"  # the extra `ocr`
)
MODULES = ("rapidocr", "onnxruntime", "pypdfium2")
PATIENCE = 300.0  # seconds for a page; the first one waits for the models too
TICK = 0.25  # seconds between looks at whether to go on
PAGES = 100  # of one process, whose memory grows a little with each
_ROOT = str(Path(__file__).resolve().parents[3])
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from research.sources.library.recogniser import main; main()"

# Why a page could not be read: too many pixels, not enough memory, a damaged file, too slow, the
# process ended, the document has more text than is taken in.
Failure = Literal["", "pixels", "memory", "damaged", "slow", "ended", "characters"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """What became of a page: its text, line by line, and its picture (JPEG), or why there is none."""

    page: int
    text: str = ""
    picture: bytes = b""
    failed: Failure = ""


class Recogniser(Protocol):
    """Reads pages of a file, each as soon as it is asked for; ends early once `going` says no."""

    def __call__(
        self, name: str, data: bytes, pages: Sequence[int], going: Callable[[], bool]
    ) -> Generator[Recognised, None, None]: ...


def installed() -> bool:
    """Whether scans can be read here. Nothing is loaded for it."""
    return all(find_spec(name) for name in MODULES)


def available() -> Recogniser | None:
    """What reads scans here, if it is installed."""
    return recognise if installed() else None


def recognise(
    name: str, data: bytes, pages: Sequence[int], going: Callable[[], bool]
) -> Generator[Recognised, None, None]:
    """Reads the pages one by one; a process that ends or hangs costs the page that it was at."""
    left = list(pages)
    while left and going():
        process = _Process(PurePosixPath(name).suffix.lower(), data)
        try:
            for _ in range(PAGES):
                found = process.read(left[0], going) if left else None
                if found is None:
                    break
                yield found
                left.pop(0)
                if found.failed in ("slow", "ended"):
                    break
        finally:
            process.end()


class _Process:
    """One process with one file."""

    def __init__(self, suffix: str, data: bytes) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", _CODE, _ROOT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=bare_environment(),  # there may be keys in ours
            start_new_session=True,  # what is pressed in a terminal ends us, and then it
        )  # fmt: skip
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=target, args=args, name="library-ocr", daemon=True)
            for target, args in ((self._hear, ()), (self._give, (suffix, data)))
        ]
        self._given = threading.Event()
        for thread in self._threads:
            thread.start()

    def _give(self, suffix: str, data: bytes) -> None:
        assert self._child.stdin
        head = json.dumps({"suffix": suffix, "size": len(data)}).encode()
        with suppress(OSError):
            self._child.stdin.write(head + b"\n" + data)
            self._child.stdin.flush()
        self._given.set()

    def _hear(self) -> None:
        assert self._child.stdout
        with suppress(OSError, ValueError):
            for line in self._child.stdout:
                self._lines.put(line)
        self._lines.put(b"")

    def read(self, page: int, going: Callable[[], bool]) -> Recognised | None:
        """What became of a page; None if it is not to go on."""
        deadline = time.monotonic() + PATIENCE
        asked = False
        while going():
            if time.monotonic() > deadline:
                return Recognised(page, failed="slow")
            if not asked and self._given.wait(TICK):
                asked = True
                with suppress(OSError):
                    assert self._child.stdin
                    self._child.stdin.write(b"%d\n" % page)
                    self._child.stdin.flush()
            with suppress(queue.Empty):
                return _told(self._lines.get(timeout=TICK), page)
        return None

    def end(self) -> None:
        self._child.kill()
        self._child.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._child.stdin, self._child.stdout):
            with suppress(OSError):  # what the process did not take
                assert pipe
                pipe.close()


def _told(line: bytes, page: int) -> Recognised:
    if not line.endswith(b"\n"):
        return Recognised(page, failed="ended")
    told = json.loads(line)
    picture = base64.b64decode(told.get("picture", ""))
    return Recognised(page, told.get("text", ""), picture, told.get("failed", ""))
