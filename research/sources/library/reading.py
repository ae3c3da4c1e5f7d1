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
from research.sources.library.ocr import Recogniser
from research.storage.files import Database, StoreError, private_file

LOOK = 0.5  # seconds between looks at whether another process has ended
State = Literal["idle", "elsewhere", "reading"]
Change = Callable[[], AbstractContextManager[Connection]]


class Reading:
    """Reads what waits, for one library. While it is `elsewhere`, another process of the data folder
    reads, and this one takes over when that ends. `document` and `page` are at work."""

    def __init__(
        self, db: Database, change: Change, recogniser: Callable[[], Recogniser | None]
    ) -> None:
        self.state: State = "idle"
        self.document = self.page = 0
        self.trouble: StoreError | None = None
        self._db, self._change, self.recogniser = db, change, recogniser
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def able(self) -> bool:
        """Whether there is something that reads."""
        return self.recogniser() is not None

    @property
    def active(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        return self.active and self._stop.is_set()

    def begin(self) -> None:
        """Goes on with what waits, if there is any."""
        with self._lock:
            if not self.able or (self.active and not self._stop.is_set()) or not self._waits():
                return
            self._end()
            self._stop, self.trouble = threading.Event(), None
            # A thread that does not keep the program from ending: what is stored is whole at any time.
            self._thread = threading.Thread(
                target=self._run, args=(self._stop,), name="library-scans", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Leaves the page at work; those that were read stay."""
        self._stop.set()

    def end(self, patience: float = 20.0) -> None:
        """Stops, and waits until nothing is written any more."""
        with self._lock:
            self._end(patience)

    def _end(self, patience: float = 20.0) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(patience)

    def wait(self, seconds: float) -> bool:
        """Whether it is over within that time."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.active

    def _waits(self) -> bool:
        return scans.job(self._db) is not None

    def _run(self, stop: threading.Event) -> None:
        try:
            with _alone(self._db.path, stop, self._elsewhere):
                while not stop.is_set() and (job := scans.job(self._db)) and self._read(job, stop):
                    pass
        except StoreError as error:
            self.trouble = error
        finally:
            self.state, self.document, self.page = "idle", 0, 0

    def _elsewhere(self) -> None:
        self.state = "elsewhere"

    def _read(self, job: scans.Job, stop: threading.Event) -> bool:
        """Whether it came any further with a document."""
        further = False
        self.state, self.document, self.page = "reading", job.document, job.pages[0]
        if (recognise := self.recogniser()) is None:
            return False
        found = recognise(job.name, job.data, job.pages, lambda: not stop.is_set())
        with closing(found):
            for one, then in zip(found, [*job.pages[1:], 0], strict=False):
                with self._change() as connection:
                    if not scans.put(connection, job.document, one):
                        return True  # it was removed or replaced
                further, self.page = True, then
        return further


@contextmanager
def _alone(path: Path, stop: threading.Event, waiting: Callable[[], None]) -> Iterator[None]:
    """Held by one process of a data folder at a time, for as long as it lives; the others wait."""
    try:
        import fcntl
    except ImportError:  # two processes may read the same page there, and one of them in vain
        yield
        return
    lock = path.with_name(f"{path.name}.reading")
    try:
        private_file(lock)
        file = lock.open("w")
    except OSError as error:
        raise StoreError("read-only", lock, error.strerror or "") from error
    with file:
        while not stop.is_set():
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            waiting()
            stop.wait(LOOK)
        yield
