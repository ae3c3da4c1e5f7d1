"""Reads scanned pages in a process of its own (`research.sources.library.ocr_worker`), if that is installed.

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

from research.core.settings import child_environment

OCR_INSTALL = "pip install 'rapidocr>=3.10,<4' 'onnxruntime>=1.20' 'pypdfium2>=5'"  # the extra `ocr`
OCR_MODULES = ("rapidocr", "onnxruntime", "pypdfium2")
PAGE_TIMEOUT_SECONDS = 300.0  # seconds for a page; the first one waits for the models too
POLL_SECONDS = 0.25  # seconds between looks at whether to go on
MAX_PAGES_PER_PROCESS = 100  # of one process, whose memory grows a little with each
_ROOT = str(Path(__file__).resolve().parents[3])
_WORKER_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from research.sources.library.ocr_worker import main; main()"
)

# Why a page could not be read: too many pixels, not enough memory, a damaged file, too slow, the
# process ended, the document has more text than is taken in.
OCRFailure = Literal["", "pixels", "memory", "damaged", "slow", "ended", "characters"]


@dataclass(frozen=True, slots=True)
class OCRResult:
    """What became of a page: its text, line by line, and its picture (JPEG), or why there is none."""

    page: int
    text: str = ""
    picture: bytes = b""
    failure: OCRFailure = ""


class OCREngine(Protocol):
    """Reads pages of a file, each as soon as it is asked for; ends early once `going` says no."""

    def __call__(
        self, name: str, data: bytes, pages: Sequence[int], should_continue: Callable[[], bool]
    ) -> Generator[OCRResult, None, None]: ...


def is_installed() -> bool:
    """Whether scans can be read here. Nothing is loaded for it."""
    return all(find_spec(name) for name in OCR_MODULES)


def find_engine() -> OCREngine | None:
    """What reads scans here, if it is installed."""
    return recognise_pages if is_installed() else None


def recognise_pages(
    name: str, data: bytes, pages: Sequence[int], should_continue: Callable[[], bool]
) -> Generator[OCRResult, None, None]:
    """Reads the pages one by one; a process that ends or hangs costs the page that it was at."""
    left = list(pages)
    while left and should_continue():
        process = _WorkerProcess(PurePosixPath(name).suffix.lower(), data)
        try:
            for _ in range(MAX_PAGES_PER_PROCESS):
                found = process.read_page(left[0], should_continue) if left else None
                if found is None:
                    break
                yield found
                left.pop(0)
                if found.failure in ("slow", "ended"):
                    break
        finally:
            process.kill()


class _WorkerProcess:
    """One process with one file."""

    def __init__(self, suffix: str, data: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _WORKER_CODE, _ROOT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=child_environment(),  # there may be keys in ours
            start_new_session=True,  # what is pressed in a terminal ends us, and then it
        )  # fmt: skip
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=target, args=args, name="library-ocr", daemon=True)
            for target, args in ((self._collect_lines, ()), (self._send_file, (suffix, data)))
        ]
        self._file_sent = threading.Event()
        for thread in self._threads:
            thread.start()

    def _send_file(self, suffix: str, data: bytes) -> None:
        assert self._process.stdin
        head = json.dumps({"suffix": suffix, "size": len(data)}).encode()
        with suppress(OSError):
            self._process.stdin.write(head + b"\n" + data)
            self._process.stdin.flush()
        self._file_sent.set()

    def _collect_lines(self) -> None:
        assert self._process.stdout
        with suppress(OSError, ValueError):
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(b"")

    def read_page(self, page: int, should_continue: Callable[[], bool]) -> OCRResult | None:
        """What became of a page; None if it is not to go on."""
        deadline = time.monotonic() + PAGE_TIMEOUT_SECONDS
        asked = False
        while should_continue():
            if time.monotonic() > deadline:
                return OCRResult(page, failure="slow")
            if not asked and self._file_sent.wait(POLL_SECONDS):
                asked = True
                with suppress(OSError):
                    assert self._process.stdin
                    self._process.stdin.write(b"%d\n" % page)
                    self._process.stdin.flush()
            with suppress(queue.Empty):
                return _parse_result(self._lines.get(timeout=POLL_SECONDS), page)
        return None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what the process did not take
                assert pipe
                pipe.close()


def _parse_result(line: bytes, page: int) -> OCRResult:
    if not line.endswith(b"\n"):
        return OCRResult(page, failure="ended")
    told = json.loads(line)
    picture = base64.b64decode(told.get("picture", ""))
    return OCRResult(page, told.get("text", ""), picture, told.get("failed", ""))
