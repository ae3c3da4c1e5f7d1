"""Reports as files: where finished ones are saved, and their states while they are made.

A file appears whole or not at all, and never takes the place of another one's. What cannot be saved is
told and costs the run nothing. States are written by a thread of their own, soon after each change.
Everyone who signs in has a folder of their own. Files in the data folder are private, and are deleted
with the runs that they are of; files in any other folder stay.
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

from research.citations.numbering import cited
from research.core.records import Event, Run, fingerprint
from research.core.settings import Settings
from research.runtime.states import identity, state
from research.storage.files import private_folder
from research.storage.store import Store

log = logging.getLogger(__name__)

NAME = 60  # characters of a topic in the name of a file
BYTES = 180  # the same in UTF-8: file systems take 255 for a whole name
PAUSE = 1.0  # seconds between two states of a report, at least
REST = 10  # times as long as states take to be written, they rest: they are a tenth of the work at most
LOCAL = "local"  # the owner of reports where nobody signs in
_OURS = ("deep_search_report_*.md", "state_*.json", ".*.tmp")
_VARIANT = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")  # says how to draw what it follows
_OTHERS = 1_000  # files of one name that are looked at


class Files:
    """The files of one process's reports."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._store, self._folder = store, settings.reports_folder
        self._within = bool(
            self._folder and self._folder.resolve().is_relative_to(settings.data_dir.resolve())
        )
        self._states = settings.save_states == "on"
        self._chosen: dict[str, Path] = {}  # by run, the folder that was asked for
        self._names: dict[str, Path] = {}  # by run, the file of its state
        self._tell: dict[str, Callable[[str], None]] = {}
        self._due: dict[str, float] = {}  # by run, when its state is to be written
        self._written: dict[str, float] = {}
        self._failed: set[str] = set()
        self._over: set[str] = set()
        self._busy = self._closed = False
        self._turn = threading.Condition()
        self._thread: threading.Thread | None = None

    def into(self, run_id: str, folder: Path) -> None:
        """Saves a run in a folder, wherever others are saved."""
        self._chosen[run_id] = folder.expanduser().absolute()

    def chosen(self, run_id: str) -> Path | None:
        """The folder that was asked for, for a run."""
        return self._chosen.get(run_id)

    def folder(self, run: Run) -> Path | None:
        """Where a run is saved; None if it is not. Only reports are."""
        if not run.options.sections:
            return None
        return self._chosen.get(run.id) or self._home(run.owner)

    def _home(self, owner: str) -> Path | None:
        """The folder of an owner's reports."""
        if self._folder is None or owner == LOCAL:
            return self._folder
        return self._folder / fingerprint(f"reports of {owner}")

    def _prepare(self, folder: Path) -> int:
        """Make a folder, and return the mode of the files in it: in the data folder both are private.

        Raises:
            OSError: the folder cannot be made.
        """
        if not (self._within and self._folder and folder.is_relative_to(self._folder)):
            return 0o666
        private_folder(self._folder)
        private_folder(folder)
        return 0o600

    def remove(self, run: Run, events: Iterable[Event]) -> None:
        """Delete the files of a run from the data folder. `events` are those of the run."""
        home = self._home(run.owner)
        if home is None or not self._within or not run.options.sections:
            return
        self.settle()
        reports = [Path(str(event.data["report"])) for event in events if event.kind == "saved"]
        found = [path for path in reports if path.parent == home and path.match(_OURS[0])]
        states = home.glob(f"state_{safe(run.question)}_{stamp(run.created)}*.json")
        found += [path for path in states if identity(path) == run.id]
        for path in found:
            _delete(path)

    def clear(self, owner: str) -> int:
        """Delete an owner's files from the data folder; return the number of reports among them."""
        home = self._home(owner)
        if home is None or not self._within:
            return 0
        self.settle()
        found = {pattern: list(home.glob(pattern)) for pattern in _OURS}
        for path in itertools.chain.from_iterable(found.values()):
            _delete(path)
        if home != self._folder:
            with contextlib.suppress(OSError):
                home.rmdir()  # unless somebody has put something else there
        return len(found[_OURS[0]])

    def save(self, run: Run) -> Path | None:
        """Saves the report of a run that has its answer; returns where.

        Raises:
            OSError: it cannot be written.
            StoreError: the store cannot be used.
        """
        folder = self.folder(run)
        report = self._store.report(run)
        if folder is None or report.answer is None:
            return None
        from research.export.markdown import report_markdown

        text = report_markdown(report, cited(report), citations="links")
        made = report.answer.made
        mode = self._prepare(folder)
        path = claimed(folder, f"deep_search_report_{safe(run.question)}_{stamp(made)}", "md")
        try:
            written(path, text, mode)
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return path

    # States

    def changed(self, run: Run, tell: Callable[[str], None], *, over: bool = False) -> None:
        """Writes the state of a run soon; at once if the run is `over`. `tell` is called in another
        thread, once, if it cannot be written."""
        if not self._states or self.folder(run) is None:
            return
        with self._turn:
            if self._closed:
                return
            self._tell[run.id] = tell
            (self._over.add if over else self._over.discard)(run.id)
            last = self._written.get(run.id, 0.0)
            due = 0.0 if over or not last else last + PAUSE
            self._due[run.id] = min(due, self._due.get(run.id, due))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="sightline-states", daemon=True
                )
                self._thread.start()
            self._turn.notify_all()

    def settle(self) -> None:
        """Waits until every state that is due is written."""
        with self._turn:
            self._due = dict.fromkeys(self._due, 0.0)
            self._turn.notify_all()
            self._turn.wait_for(lambda: not (self._due or self._busy))

    def close(self) -> None:
        """Writes what is due, and ends."""
        with self._turn:
            self._closed = True
            self._due = dict.fromkeys(self._due, 0.0)
            self._turn.notify_all()
        if self._thread:
            self._thread.join()

    def _work(self) -> None:
        while run_id := self._next():
            begun = time.monotonic()
            try:
                self._write(run_id)
            except Exception as error:  # noqa: BLE001 - it is told; the next one may succeed
                self._told(run_id, error)
            now = time.monotonic()
            with self._turn:
                # With many reports under way, each is written more rarely.
                self._written[run_id] = now + REST * (now - begun) * len(self._tell)
                self._busy = False
                if run_id in self._over and run_id not in self._due:
                    self._forget(run_id)
                self._turn.notify_all()

    def _forget(self, run_id: str) -> None:
        """A run that goes on later finds its file by what is in it."""
        for known in (self._tell, self._written, self._names):
            known.pop(run_id, None)
        self._over.discard(run_id)
        self._failed.discard(run_id)

    def _next(self) -> str:
        """The next run whose state is to be written, when it is; "" at the end."""
        with self._turn:
            while True:
                if not self._due:
                    if self._closed:
                        return ""
                    self._turn.wait()
                    continue
                run_id, due = min(self._due.items(), key=lambda item: item[1])
                left = due - time.monotonic()
                if left <= 0:
                    del self._due[run_id]
                    self._busy = True
                    return run_id
                self._turn.wait(left)

    def _write(self, run_id: str) -> None:
        run = self._store.run(run_id)
        folder = self.folder(run) if run else None
        if run is None or folder is None:
            return
        text = state(self._store, run)
        mode = self._prepare(folder)
        if run_id not in self._names:
            name = f"state_{safe(run.question)}_{stamp(run.created)}"
            self._names[run_id] = claimed(
                folder, name, "json", lambda path: identity(path) == run_id
            )
        written(self._names[run_id], text, mode)
        self._failed.discard(run_id)

    def _told(self, run_id: str, error: Exception) -> None:
        if run_id in self._failed:
            return
        self._failed.add(run_id)
        message = problem(error, self._chosen.get(run_id, self._folder))
        log.warning("the state of run %s cannot be saved: %s", run_id, message)
        self._tell[run_id](message)


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s could not be deleted: %s", path.name, error.strerror or error)


def problem(error: Exception, folder: Path | None) -> str:
    """Why nothing can be written in a folder, in words."""
    if isinstance(error, OSError):
        return f"{folder} cannot be written: {error.strerror or error}"
    return str(error) or type(error).__name__


def safe(topic: str) -> str:
    """A topic as a part of a file's name, on any system: letters and digits of all scripts, at most
    60 of them; whatever stands between them becomes one "_"."""
    text = unicodedata.normalize("NFC", topic.encode("utf-8", "replace").decode())
    kept = ""
    for c in _VARIANT.sub("", text):
        kind = unicodedata.category(c)[0]
        on = (
            kind in "LN" or c == "-" or (kind == "M" and kept[-1:].strip())
        )  # an accent, on a letter
        kept += c if on else " "
    name = "_".join(kept.split())[:NAME].encode()[:BYTES].decode("utf-8", "ignore")
    return name.strip("-_") or "topic"


def stamp(moment: datetime) -> str:
    """A time as a part of a file's name, in UTC."""
    return f"{moment.astimezone(UTC):%Y%m%d_%H%M%S}"


def claimed(
    folder: Path, name: str, suffix: str, ours: Callable[[Path], bool] = lambda path: False
) -> Path:
    """A file of that name that nobody else has, now or later; or the one that is `ours` already.

    Raises:
        OSError: there can be none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for n in itertools.count(1):
        path = folder / f"{name}{f'_{n}' if n > 1 else ''}.{suffix}"
        try:
            path.open("x").close()
            return path
        except FileExistsError:
            if ours(path):
                return path
            if n >= _OTHERS:
                raise
    raise AssertionError("the counting has an end")


def written(path: Path, text: str, mode: int = 0o666) -> None:
    """Puts a text in the place of a file, all of it or nothing. The umask takes from the mode.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    passing = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        passing.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            passing.unlink()
        raise
