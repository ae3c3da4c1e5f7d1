"""Recognition of scanned pages in a worker process (`ocr_worker`), where OCR is installed.

Starts, watches and ends the process; knows nothing of the library. Another engine is any function
with the signature of `recognise_pages`.
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

OCR_INSTALL = "pip install 'rapidocr>=3.10,<4' 'onnxruntime>=1.20'"  # the extra `ocr`
OCR_MODULES = ("rapidocr", "onnxruntime")
PAGE_TIMEOUT_SECONDS = 300.0  # for one page; the first one also waits for the models to load
POLL_SECONDS = 0.25  # between checks for cancellation
MAX_PAGES_PER_PROCESS = 100  # the memory of a process grows with each page
_ROOT = str(Path(__file__).resolve().parents[3])
_WORKER_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from research.sources.library.ocr_worker import main; main()"
)

# Reasons for failure: too many pixels, not enough memory, a damaged file, a timeout, the end of the
# process, or a document text longer than the limit.
OCRFailure = Literal["", "pixels", "memory", "damaged", "slow", "ended", "characters"]


@dataclass(frozen=True, slots=True)
class OCRResult:
    """The result for one page: its text, line by line, and its image (JPEG), or a failure."""

    page: int
    text: str = ""
    picture: bytes = b""
    failure: OCRFailure = ""


class OCREngine(Protocol):
    """Reads pages of a file lazily; stops early once `should_continue()` returns False."""

    def __call__(
        self, name: str, data: bytes, pages: Sequence[int], should_continue: Callable[[], bool]
    ) -> Generator[OCRResult, None, None]: ...


def is_installed() -> bool:
    """Return True if the OCR packages are installed, without importing them."""
    return all(find_spec(name) for name in OCR_MODULES)


def find_engine() -> OCREngine | None:
    """Return the OCR engine, or None if it is not installed."""
    return recognise_pages if is_installed() else None


def recognise_pages(
    name: str, data: bytes, pages: Sequence[int], should_continue: Callable[[], bool]
) -> Generator[OCRResult, None, None]:
    """Yield the result of each page; a crash or timeout of the process fails only one page."""
    remaining = list(pages)
    while remaining and should_continue():
        process = _WorkerProcess(PurePosixPath(name).suffix.lower(), data)
        try:
            for _ in range(MAX_PAGES_PER_PROCESS):
                result = process.read_page(remaining[0], should_continue) if remaining else None
                if result is None:
                    break
                yield result
                remaining.pop(0)
                if result.failure in ("slow", "ended"):
                    break
        finally:
            process.kill()


class _WorkerProcess:
    """A worker process that holds one file."""

    def __init__(self, suffix: str, data: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _WORKER_CODE, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(),  # our environment may hold API keys
            start_new_session=True,  # Ctrl-C must reach only this process, which ends the worker
        )
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
        """Read one page; return None if cancelled."""
        deadline = time.monotonic() + PAGE_TIMEOUT_SECONDS
        is_requested = False
        while should_continue():
            if time.monotonic() > deadline:
                return OCRResult(page, failure="slow")
            if not is_requested and self._file_sent.wait(POLL_SECONDS):
                is_requested = True
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
            with suppress(OSError):  # unsent data cannot be flushed
                assert pipe
                pipe.close()


def _parse_result(line: bytes, page: int) -> OCRResult:
    """Parse a line of the worker; an incomplete one means that its process has ended."""
    if not line.endswith(b"\n"):
        return OCRResult(page, failure="ended")
    message = json.loads(line)
    picture = base64.b64decode(message.get("picture", ""))
    return OCRResult(page, message.get("text", ""), picture, message.get("failed", ""))
