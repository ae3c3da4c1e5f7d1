"""Background jobs that add files to the library, with their progress and outcomes.

A job outlives the page that started it; every page reads the same progress from it.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from research.readers.documents import MAX_BYTES, is_accepted
from research.sources.library.prepare import SUCCESSFUL_OUTCOMES, AddResult
from research.storage.sqlite_files import StoreError

MAX_FILES = 10_000  # files per job
MAX_TOTAL_BYTES = 2 * 1024**3  # bytes per job
MAX_REMARKED = 20  # files whose reading is remarked on, per job
MAX_NAME_PART_CHARS = 150  # characters per part of a path
_INVISIBLE_CHARS = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_SYSTEM_FILES = {"thumbs.db", "desktop.ini", "__macosx"}
FileInputs = Sequence[tuple[str, int, Callable[[], bytes]]]
IngestionState = Literal["waiting", "reading", "done", "stopped", "failed"]


class IngestionJob:
    """One batch of files to add.

    `outcomes` counts the results by kind, `current_name` is the file being read, `skipped_files`
    counts the files of given folders and the attachments that have no readable format. `remarked` are the first
    files that were read, but as another format than that of their name, or in part.
    """

    def __init__(self, owner: str, add: Callable[[IngestionJob], Iterator[AddResult]], total_files: int = 0) -> None:
        """`add` adds the files and yields a result for each; it runs on the job's thread."""
        self.owner = owner
        self.total_files = total_files
        self.started_files = 0
        self.current_name = ""
        self.skipped_files = 0
        self.outcomes: Counter[str] = Counter()
        self.remarked: list[AddResult] = []
        self.state: IngestionState = "waiting"
        self.error: StoreError | None = None
        self.is_dismissed = False
        self._add = add
        self._stop_event = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_active(self) -> bool:
        """True until the job has ended."""
        return self.state in ("waiting", "reading")

    @property
    def is_stopping(self) -> bool:
        """True from a call of `cancel` until the job has ended."""
        return self.is_active and self._stop_event.is_set()

    @property
    def finished_files(self) -> int:
        """Number of files with a result, be it a success or a problem."""
        return self.outcomes.total()

    @property
    def failed_files(self) -> int:
        """Number of files that could not be added."""
        return self.finished_files - sum(self.outcomes[outcome] for outcome in SUCCESSFUL_OUTCOMES)

    def start(self, lock: threading.Lock) -> None:
        """Start the background thread; `lock` makes the jobs of a library run one after another."""
        # A daemon thread may be cut off at exit: every stored document is complete at any time.
        self._thread = threading.Thread(target=self._run, args=(lock,), name="library-intake", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Stop after the current file; documents already added stay."""
        self._stop_event.set()

    def cancel_and_wait(self, timeout_seconds: float = 20.0) -> None:
        """Cancel, and wait until the thread has finished or the timeout has passed."""
        self.cancel()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout_seconds)

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` and return True if the job has ended."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.is_active

    def dismiss(self) -> None:
        """Hide a finished job from the list."""
        self.is_dismissed = not self.is_active

    def _run(self, lock: threading.Lock) -> None:
        """Add the files when the jobs before this one have ended, and set the final state."""
        try:
            with lock:
                if not self._stop_event.is_set():
                    self.state = "reading"
                    for item in self._add(self):
                        self.outcomes[item.outcome] += 1
                        if item.is_remarked and len(self.remarked) < MAX_REMARKED:
                            self.remarked.append(item)
                        self.total_files += item.is_attachment
                        self.skipped_files += len(item.skipped_attachments)
            self.state = "stopped" if self._stop_event.is_set() and self.finished_files < self.total_files else "done"
        except StoreError as error:
            self.error = error
        finally:
            if self.is_active:
                self.state = "failed"
            self.current_name = ""
            del self._add  # it holds the contents of uploads

    def read_contents(self, files: Iterable[tuple[str, Callable[[], bytes]]]) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of files, given with their readers, until the job is cancelled."""
        for name, read in files:
            if self._stop_event.is_set():
                return
            yield name, read()

    def should_read(self, name: str) -> bool:
        """Note that a file is read next; return False if the job was cancelled."""
        if self._stop_event.is_set():
            return False
        self.current_name = name.replace("\\", "/").rsplit("/", 1)[-1]
        self.started_files += 1
        return True


def too_many_result(name: str) -> AddResult:
    """Return the result for a file beyond the limits of one job."""
    limit = f"{MAX_FILES:,} files or {MAX_TOTAL_BYTES // 1024**3} GiB"
    return AddResult(name, "too many", detail=f"No more than {limit} can be added at once.")


def select_files(files: Sequence[tuple[str, int]]) -> list[tuple[int, str]]:
    """Return (index, cleaned name) of each file to read, from files given as (name, size).

    Names become relative paths without drives, `..` or invisible characters. Hidden and system
    files are skipped; a repeated name gets a number, as in "a (2).pdf".
    """
    out: list[tuple[int, str]] = []
    used_names: set[str] = set()
    for index, (raw_name, _) in enumerate(files):
        name = safe_name(raw_name)
        parts = name.split("/")
        if any(part.lower() in _SYSTEM_FILES or part.startswith((".", "~$")) for part in parts):
            continue
        stem, dot, suffix = name.rpartition(".")
        unique_name, n = name, 1
        while unique_name in used_names:
            n += 1
            unique_name = f"{stem} ({n}).{suffix}" if dot else f"{name} ({n})"
        used_names.add(unique_name)
        out.append((index, unique_name))
    return out


def accepted_count(sizes: Sequence[int]) -> int:
    """Return the number of leading files that stay within the limits of one job."""
    total = 0
    for n, size in enumerate(sizes):
        total += min(size, MAX_BYTES)
        if n >= MAX_FILES or total > MAX_TOTAL_BYTES:
            return n
    return len(sizes)


def safe_name(raw_name: str) -> str:
    """Turn a raw name into a relative path of visible characters."""
    text = raw_name.encode("utf-8", "replace").decode().replace("\\", "/")
    parts = [_INVISIBLE_CHARS.sub("", part).strip() for part in text.split("/")]
    parts = [part for part in parts if part not in ("", ".", "..")]
    if len(parts) > 1 and re.fullmatch(r"[A-Za-z]:", parts[0]):
        parts = parts[1:]
    return "/".join(_shorten_part(part) for part in parts[-12:]) or "untitled"


def _shorten_part(part: str) -> str:
    """Shorten one part of a path, keeping its suffix."""
    if len(part) <= MAX_NAME_PART_CHARS:
        return part
    stem, dot, suffix = part.rpartition(".")
    if not dot or len(suffix) > 10:
        return part[:MAX_NAME_PART_CHARS]
    return f"{stem[: MAX_NAME_PART_CHARS - len(suffix) - 2]}….{suffix}"


def count_unsupported(folder: Path, *, include_pictures: bool) -> int:
    """Count the visible files below a folder that have no readable format.

    With `include_pictures`, images have one.
    """
    count = 0
    for _, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        count += sum(
            not name.startswith((".", "~$")) and not is_accepted(name, include_pictures=include_pictures)
            for name in names
        )
    return count
