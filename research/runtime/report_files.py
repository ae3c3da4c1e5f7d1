"""Files of finished reports, and of their states while they are written.

A file appears complete or not at all and never replaces a file of another run. Failures to save are
reported and do not affect the run. States are written by a thread of their own soon after each
change. Each signed-in owner has a separate folder. Files in the data folder are private and are
deleted with their runs; files in any other folder stay.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import re
import threading
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from research.citations.numbering import number_report_answer
from research.core.events import Event, ReportSaved
from research.core.records import Run, fingerprint
from research.core.settings import Settings
from research.export.formats import export_report
from research.export.options import ExportOptions
from research.runtime.report_states import dump_state, read_run_id
from research.storage.sqlite_files import make_private_folder
from research.storage.store import Store

log = logging.getLogger(__name__)

MAX_NAME_CHARS = 60  # characters of a topic in a file name
MAX_NAME_BYTES = 180  # the same in UTF-8 bytes: file systems allow 255 for a whole name
STATE_INTERVAL_SECONDS = 1.0  # minimum seconds between two states of a report, besides the pause below
STATE_PAUSE_FACTOR = 10  # pause after a write, as a multiple of its duration: limits the load to a tenth
LOCAL_OWNER = "local"  # the owner of reports without a login
_REPORT_SUFFIX = "md"
_REPORT_PATTERN, _STATE_PATTERN, _TEMPORARY_PATTERN = f"deep_search_report_*.{_REPORT_SUFFIX}", "state_*.json", ".*.tmp"
_VARIATION_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # choose a glyph
_MAX_NAME_TRIES = 1_000  # numbered names that are tried


class ReportFiles:
    """The report files of one process."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._store, self._folder = store, settings.reports_folder
        self._is_in_data_dir = bool(self._folder and self._folder.resolve().is_relative_to(settings.data_dir.resolve()))
        self._saves_states = settings.save_states
        self._chosen_folders: dict[str, Path] = {}  # the requested folder, by run
        self._state_paths: dict[str, Path] = {}  # the state file, by run
        self._error_callbacks: dict[str, Callable[[str], None]] = {}
        self._due_times: dict[str, float] = {}  # the time at which the state is to be written, by run
        self._pause_ends: dict[str, float] = {}  # the end of the pause after the last write, by run
        self._failed_runs: set[str] = set()
        self._ended_runs: set[str] = set()
        self._is_writing = self._is_closed = False
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None

    def set_folder(self, run_id: str, folder: Path) -> None:
        """Save the files of a run in a folder, instead of the default one."""
        self._chosen_folders[run_id] = folder.expanduser().absolute()

    def chosen_folder(self, run_id: str) -> Path | None:
        """Return the folder that was set for a run."""
        return self._chosen_folders.get(run_id)

    def folder(self, run: Run) -> Path | None:
        """Return the folder for the files of a run, None if none are saved.

        Only reports are saved.
        """
        if not run.options.sections:
            return None
        return self._chosen_folders.get(run.id) or self._owner_folder(run.owner)

    def _owner_folder(self, owner: str) -> Path | None:
        """Return the default folder of an owner's reports."""
        if self._folder is None or owner == LOCAL_OWNER:
            return self._folder
        return self._folder / fingerprint(f"reports of {owner}")

    def _prepare_folder(self, folder: Path) -> int:
        """Create a folder and return the mode for files in it; in the data folder both are private.

        Raises:
            OSError: the folder cannot be created.
        """
        if not (self._is_in_data_dir and self._folder and folder.is_relative_to(self._folder)):
            return 0o666
        make_private_folder(self._folder)
        make_private_folder(folder)
        return 0o600

    def delete_run_files(self, run: Run, events: Iterable[Event]) -> None:
        """Delete the files of a run from the data folder. `events` are the events of the run."""
        folder = self._owner_folder(run.owner)
        if folder is None or not self._is_in_data_dir or not run.options.sections:
            return
        self.flush()
        reports = [Path(event.data.report) for event in events if isinstance(event.data, ReportSaved)]
        paths = [path for path in reports if path.parent == folder and path.match(_REPORT_PATTERN)]
        states = folder.glob(f"state_{file_name_part(run.question)}_{time_name_part(run.created)}*.json")
        paths += [path for path in states if read_run_id(path) == run.id]
        for path in paths:
            _delete(path)

    def delete_owner_files(self, owner: str) -> int:
        """Delete an owner's files from the data folder. Return the number of reports among them."""
        folder = self._owner_folder(owner)
        if folder is None or not self._is_in_data_dir:
            return 0
        self.flush()
        reports = list(folder.glob(_REPORT_PATTERN))
        for path in (*reports, *folder.glob(_STATE_PATTERN), *folder.glob(_TEMPORARY_PATTERN)):
            _delete(path)
        if folder != self._folder:
            with contextlib.suppress(OSError):
                folder.rmdir()  # fails if the folder holds other files
        return len(reports)

    def save_report(self, run: Run, settings: Settings) -> Path | None:
        """Save the report of an answered run, by the settings of its owner, and return its path.

        Raises:
            OSError: the file cannot be written.
            StoreError: the store cannot be used.
        """
        folder = self.folder(run)
        report = self._store.report(run)
        if folder is None or report.answer is None:
            return None
        options = ExportOptions.from_settings(settings)
        text = export_report(report, number_report_answer(report), _REPORT_SUFFIX, options).decode()
        answered_at = report.answer.created
        mode = self._prepare_folder(folder)
        path = claim_path(
            folder, f"deep_search_report_{file_name_part(run.question)}_{time_name_part(answered_at)}", _REPORT_SUFFIX
        )
        try:
            write_text(path, text, mode)
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return path

    # States

    def schedule_state(self, run: Run, on_error: Callable[[str], None], *, has_ended: bool = False) -> None:
        """Schedule the state of a run to be written: soon, or at once if the run has ended.

        `on_error` is called once, in another thread, if it cannot be written.
        """
        if not self._saves_states or self.folder(run) is None:
            return
        with self._condition:
            if self._is_closed:
                return
            self._error_callbacks[run.id] = on_error
            if has_ended:
                self._ended_runs.add(run.id)
            else:
                self._ended_runs.discard(run.id)
            pause_end = self._pause_ends.get(run.id, 0.0)
            due = 0.0 if has_ended or not pause_end else pause_end + STATE_INTERVAL_SECONDS
            self._due_times[run.id] = min(due, self._due_times.get(run.id, due))
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_states, name="sightline-states", daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def flush(self) -> None:
        """Write all pending states and wait until that is done."""
        with self._condition:
            self._due_times = dict.fromkeys(self._due_times, 0.0)
            self._condition.notify_all()
            self._condition.wait_for(lambda: not (self._due_times or self._is_writing))

    def close(self) -> None:
        """Write all pending states and stop the thread."""
        with self._condition:
            self._is_closed = True
            self._due_times = dict.fromkeys(self._due_times, 0.0)
            self._condition.notify_all()
        if self._thread:
            self._thread.join()

    def _write_states(self) -> None:
        while run_id := self._wait_for_due():
            started = time.monotonic()
            try:
                self._write_state(run_id)
            except Exception as error:  # noqa: BLE001 - reported to the caller; the next write may succeed
                self._report_error(run_id, error)
            now = time.monotonic()
            with self._condition:
                # The interval grows with the number of reports under way.
                self._pause_ends[run_id] = now + STATE_PAUSE_FACTOR * (now - started) * len(self._error_callbacks)
                self._is_writing = False
                if run_id in self._ended_runs and run_id not in self._due_times:
                    self._forget_run(run_id)
                self._condition.notify_all()

    def _forget_run(self, run_id: str) -> None:
        """Release the data of an ended run.

        If the run is resumed, its state file is found by content.
        """
        for mapping in (self._error_callbacks, self._pause_ends, self._state_paths):
            mapping.pop(run_id, None)
        self._ended_runs.discard(run_id)
        self._failed_runs.discard(run_id)

    def _wait_for_due(self) -> str:
        """Wait for the next due state and return its run id; "" after `close`."""
        with self._condition:
            while True:
                if not self._due_times:
                    if self._is_closed:
                        return ""
                    self._condition.wait()
                    continue
                run_id, due = min(self._due_times.items(), key=lambda item: item[1])
                remaining = due - time.monotonic()
                if remaining <= 0:
                    del self._due_times[run_id]
                    self._is_writing = True
                    return run_id
                self._condition.wait(remaining)

    def _write_state(self, run_id: str) -> None:
        run = self._store.get_run(run_id)
        folder = self.folder(run) if run else None
        if run is None or folder is None:
            return
        text = dump_state(self._store, run)
        mode = self._prepare_folder(folder)
        if run_id not in self._state_paths:
            name = f"state_{file_name_part(run.question)}_{time_name_part(run.created)}"
            self._state_paths[run_id] = claim_path(folder, name, "json", lambda path: read_run_id(path) == run_id)
        write_text(self._state_paths[run_id], text, mode)
        self._failed_runs.discard(run_id)

    def _report_error(self, run_id: str, error: Exception) -> None:
        if run_id in self._failed_runs:
            return
        self._failed_runs.add(run_id)
        message = describe_write_error(error, self._chosen_folders.get(run_id, self._folder))
        log.warning("the state of run %s cannot be saved: %s", run_id, message)
        self._error_callbacks[run_id](message)


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s could not be deleted: %s", path.name, error.strerror or error)


def describe_write_error(error: Exception, folder: Path | None) -> str:
    """Return the reason why a folder cannot be written, for people."""
    if isinstance(error, OSError):
        return f"{folder} cannot be written: {error.strerror or error}"
    return str(error) or type(error).__name__


def file_name_part(topic: str) -> str:
    """Convert a topic to a part of a file name that is valid on every system.

    Letters and digits of all scripts are kept, at most 60; all between them becomes one "_".
    """
    text = unicodedata.normalize("NFC", topic.encode("utf-8", "replace").decode())
    cleaned = ""
    for c in _VARIATION_SELECTORS.sub("", text):
        category = unicodedata.category(c)[0]
        is_accent = category == "M" and cleaned[-1:].strip()
        is_kept = category in "LN" or c == "-" or is_accent
        cleaned += c if is_kept else " "
    name = "_".join(cleaned.split())[:MAX_NAME_CHARS].encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore")
    return name.strip("-_") or "topic"


def time_name_part(moment: datetime) -> str:
    """Format a time as a part of a file name, in UTC."""
    return f"{moment.astimezone(UTC):%Y%m%d_%H%M%S}"


def claim_path(folder: Path, name: str, suffix: str, is_own: Callable[[Path], bool] = lambda path: False) -> Path:
    """Create a new file of that name and return its path; a number is added if the name is taken.

    An existing file is returned if `is_own` is true of it.

    Raises:
        OSError: no file can be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for n in itertools.count(1):
        path = folder / f"{name}{f'_{n}' if n > 1 else ''}.{suffix}"
        try:
            path.open("x").close()
            return path
        except FileExistsError:
            if is_own(path):
                return path
            if n >= _MAX_NAME_TRIES:
                raise
    raise AssertionError("the counting has an end")


def write_text(path: Path, text: str, mode: int = 0o666) -> None:
    """Replace the text of a file atomically. The umask applies to the mode.

    Raises:
        OSError: the file cannot be written and is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
