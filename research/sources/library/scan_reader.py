"""Background reading of scanned pages; each page is stored as soon as it is read.

Every page of the interface sees the same state. Pages not read when the program ends stay queued in
the library's file.
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

LOCK_POLL_SECONDS = 0.5  # between attempts to get the lock of another process
ScanReaderState = Literal["idle", "elsewhere", "reading"]
OpenTransaction = Callable[[], AbstractContextManager[Connection]]


class ScanReader:
    """Reader of the queued pages of one library, on a background thread.

    In state `elsewhere`, another process with the same data folder reads them, and this one takes over
    when that process ends. `document_id` and `page` are those of the page that is read now, else 0.
    """

    def __init__(
        self,
        db: SQLiteFile,
        open_transaction: OpenTransaction,
        engine_factory: Callable[[], OCREngine | None],
        max_original_bytes: int,
    ) -> None:
        self.state: ScanReaderState = "idle"
        self.document_id = self.page = 0
        self.error: StoreError | None = None
        self._db, self._open_transaction, self.engine_factory = db, open_transaction, engine_factory
        self._max_original_bytes = max_original_bytes
        self._lock = threading.RLock()  # held while the thread is started or stopped
        self._stop_event = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_available(self) -> bool:
        """True if an OCR engine is installed."""
        return self.engine_factory() is not None

    @property
    def is_active(self) -> bool:
        """True while the background thread runs, also in state `elsewhere`."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        """True from a call of `stop` until the thread has ended."""
        return self.is_active and self._stop_event.is_set()

    def start(self) -> None:
        """Start reading the queued pages, if there are any and an engine is available."""
        with self._lock:
            if not self.is_available or (self.is_active and not self.is_stopping) or not scans.next_job(self._db):
                return
            self.stop_and_wait()
            self._stop_event, self.error = threading.Event(), None
            # A daemon thread may be cut off at exit: every stored page is complete at any time.
            self._thread = threading.Thread(
                target=self._run, args=(self._stop_event,), name="library-scans", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Abandon the current page; pages already read stay."""
        self._stop_event.set()

    def stop_and_wait(self, timeout_seconds: float = 20.0) -> None:
        """Stop, and wait until the thread has finished or the timeout has passed."""
        with self._lock:
            self.stop()
            self.wait(timeout_seconds)

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` and return True if the reader is idle."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.is_active

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
        """Read the pages of one document; return True if any progress was made."""
        has_progress = False
        self.state, self.document_id, self.page = "reading", job.document_id, job.pages[0]
        if (recognise := self.engine_factory()) is None:
            return False
        results = recognise(job.name, job.data, job.pages, lambda: not stop_event.is_set())
        with closing(results):
            for result, next_page in zip(results, [*job.pages[1:], 0], strict=False):
                with self._open_transaction() as connection:
                    if not scans.store_result(connection, job.document_id, result, self._max_original_bytes):
                        return True  # the document was removed or replaced
                has_progress, self.page = True, next_page
        return has_progress


@contextmanager
def _process_lock(path: Path, stop_event: threading.Event, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold a lock that only one process with the same data folder has at a time.

    While another process has it, call `on_wait` twice a second. Once `stop_event` is set, go on without
    the lock.

    Raises:
        StoreError: the file of the lock cannot be created.
    """
    try:
        import fcntl
    except ImportError:  # without locks two processes may read the same page: wasteful but harmless
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
