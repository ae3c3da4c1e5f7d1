"""Scanned pages on their way to text, in the background: page by page, each stored as soon as it is read.

Whoever looks sees the same state, whichever page began it. What is not read when the program ends
waits in the library's file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Literal

from research.sources.library import scans
from research.sources.library.ocr import OCREngine
from research.storage.sqlite_files import SQLiteFile, StoreError, make_private_file

LOCK_POLL_SECONDS = 0.5  # seconds between looks at whether another process has ended
ScanReaderState = Literal["idle", "elsewhere", "reading"]
OpenTransaction = Callable[[], AbstractContextManager[Connection]]


class ScanReader:
    """Reads what waits, for one library. While it is `elsewhere`, another process of the data folder
    reads, and this one takes over when that ends. `document` and `page` are at work."""

    def __init__(
        self, db: SQLiteFile, open_transaction: OpenTransaction, engine_factory: Callable[[], OCREngine | None]
    ) -> None:
        self.state: ScanReaderState = "idle"
        self.document_id = self.page = 0
        self.error: StoreError | None = None
        self._db, self._open_transaction, self.engine_factory = db, open_transaction, engine_factory
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_available(self) -> bool:
        """Whether there is something that reads."""
        return self.engine_factory() is not None

    @property
    def is_active(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        return self.is_active and self._stop_event.is_set()

    def start(self) -> None:
        """Goes on with what waits, if there is any."""
        with self._lock:
            if not self.is_available or (self.is_active and not self._stop_event.is_set()) or not self._has_jobs():
                return
            self._stop_and_wait()
            self._stop_event, self.error = threading.Event(), None
            # A thread that does not keep the program from ending: what is stored is whole at any time.
            self._thread = threading.Thread(
                target=self._run, args=(self._stop_event,), name="library-scans", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Leaves the page at work; those that were read stay."""
        self._stop_event.set()

    def stop_and_wait(self, timeout_seconds: float = 20.0) -> None:
        """Stops, and waits until nothing is written any more."""
        with self._lock:
            self._stop_and_wait(timeout_seconds)

    def _stop_and_wait(self, timeout_seconds: float = 20.0) -> None:
        self._stop_event.set()
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def wait(self, seconds: float) -> bool:
        """Whether it is over within that time."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.is_active

    def _has_jobs(self) -> bool:
        return scans.next_job(self._db) is not None

    def _run(self, stop_event: threading.Event) -> None:
        try:
            with _process_lock(self._db.path, stop_event, self._mark_elsewhere):
                while not stop_event.is_set() and (job := scans.next_job(self._db)) and self._read_job(job, stop_event):
                    pass
        except StoreError as error:
            self.error = error
        finally:
            self.state, self.document_id, self.page = "idle", 0, 0

    def _mark_elsewhere(self) -> None:
        self.state = "elsewhere"

    def _read_job(self, job: scans.OCRJob, stop_event: threading.Event) -> bool:
        """Whether it came any further with a document."""
        further = False
        self.state, self.document_id, self.page = "reading", job.document_id, job.pages[0]
        if (recognise := self.engine_factory()) is None:
            return False
        found = recognise(job.name, job.data, job.pages, lambda: not stop_event.is_set())
        with closing(found):
            for one, then in zip(found, [*job.pages[1:], 0], strict=False):
                with self._open_transaction() as connection:
                    if not scans.store_result(connection, job.document_id, one):
                        return True  # it was removed or replaced
                further, self.page = True, then
        return further


@contextmanager
def _process_lock(path: Path, stop_event: threading.Event, on_wait: Callable[[], None]) -> Iterator[None]:
    """Held by one process of a data folder at a time, for as long as it lives; the others wait."""
    try:
        import fcntl
    except ImportError:  # two processes may read the same page there, and one of them in vain
        yield
        return
    lock = path.with_name(f"{path.name}.reading")
    try:
        make_private_file(lock)
        file = lock.open("w")
    except OSError as error:
        raise StoreError("read-only", lock, error.strerror or "") from error
    with file:
        while not stop_event.is_set():
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            on_wait()
            stop_event.wait(LOCK_POLL_SECONDS)
        yield
