"""Everything of one owner in one ZIP file, made in the background on disk.

No name in it comes from outside, and no key is in it. A run that cannot be written is counted; the
others are there. The file goes when it is discarded, when another one is made, or at the end.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile

from sqlalchemy import bindparam, select

from research.citations.numbering import cited
from research.core.errors import concealed
from research.core.i18n import speaker
from research.core.records import Record, Run
from research.sources.library.index import Library
from research.storage import tables
from research.storage.files import StoreError, private_file, private_folder
from research.storage.store import Store

log = logging.getLogger(__name__)

Loaded = Callable[[str], Sequence[Mapping[str, Any]]]
Described = Callable[[str], Mapping[str, str]]
ALL = 1_000_000_000  # runs at most
REST = 0.002  # seconds between two runs in which others have their turn
OLD = 24 * 3600  # seconds after which a file that a dead process has left is deleted
AT_ONCE = 2  # exports that are made at the same time in a process
_SECRET = re.compile(r"key|secret|token|passw|credential", re.I)
_OWNER = tables.run.c.owner == bindparam("owner")
_TALKS = select(tables.conversation).where(
    tables.conversation.c.id.in_(select(tables.run.c.conversation).where(_OWNER))
)
_TAGS = select(tables.tag.c.conversation, tables.tag.c.name).where(
    tables.tag.c.conversation.in_(select(tables.run.c.conversation).where(_OWNER))
)
_NOTED = ("run", "evidence", "passage", "text", "made")
_REMARKS = (
    select(*(tables.remark.c[name] for name in _NOTED))
    .where(tables.remark.c.run.in_(select(tables.run.c.id).where(_OWNER)))
    .order_by(tables.remark.c.run, tables.remark.c.made)
)
_PAIRS = select(tables.pair.c.question, tables.pair.c.sql, tables.pair.c.made).where(
    tables.pair.c.owner == bindparam("owner")
)


class Export(Record):
    """How far the export of everything has come. `file` is there once it is ready, `problem` says why
    it never will be."""

    id: str
    status: Literal["making", "ready", "failed"] = "making"
    done: int = 0
    total: int = 0
    lost: int = 0
    file: Path | None = None
    size: int = 0
    made: datetime
    problem: str = ""


class Exports:
    """The exports of one process, one for each owner. Safe for several threads."""

    def __init__(
        self, folder: Path, store: Store, library: Library, loaded: Loaded, described: Described
    ) -> None:
        """`loaded` tells what tables an owner has loaded from files: they are listed, for their files
        are the owner's already; `described` what an owner has said that databases mean."""
        self._folder, self._store, self._library = folder, store, library
        self._loaded, self._described = loaded, described
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(AT_ONCE)
        self._known: dict[str, Export] = {}
        self._threads: dict[str, threading.Thread] = {}

    def start(self, owner: str, language: str, *, library: bool) -> Export:
        """Begins to make the file, unless that is under way. An earlier one is discarded."""
        with self._lock:
            known = self._known.get(owner)
            if known and known.status == "making":
                return known
            self._remove(known)
            made = Export(id=uuid.uuid4().hex, made=datetime.now(UTC))
            self._known[owner] = made
            thread = threading.Thread(
                target=self._make, args=(owner, made, language, library),
                name="sightline-export", daemon=True,
            )  # fmt: skip
            self._threads = {key: one for key, one in self._threads.items() if one.is_alive()}
            self._threads[made.id] = thread
            thread.start()
            return made

    def state(self, owner: str) -> Export | None:
        """How far it is; None if there is none."""
        with self._lock:
            return self._known.get(owner)

    def discard(self, owner: str) -> None:
        """Deletes the file, or gives up making it."""
        with self._lock:
            self._remove(self._known.pop(owner, None))

    def close(self) -> None:
        """Gives up what is being made, and deletes every file."""
        with self._lock:
            owners, threads = list(self._known), list(self._threads.values())
        for owner in owners:
            self.discard(owner)
        for thread in threads:
            thread.join(10)

    def _remove(self, export: Export | None) -> None:
        if export:
            for path in (self._path(export), self._path(export).with_suffix(".part")):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            with suppress(OSError):
                self._folder.rmdir()  # if it is empty

    def _path(self, export: Export) -> Path:
        return self._folder / f"{export.id}.zip"

    # In a thread of its own

    def _make(self, owner: str, export: Export, language: str, library: bool) -> None:
        path = self._path(export)
        part = path.with_suffix(".part")
        try:
            with self._slots:
                private_folder(self._folder)
                self._tidy()
                private_file(part)
                if not self._write(part, owner, export, language, library):
                    with suppress(OSError):
                        part.unlink(missing_ok=True)
                    return
                with self._lock:
                    now = self._known.get(owner)
                    if now is None or now.id != export.id:
                        part.unlink(missing_ok=True)
                        return
                    part.replace(path)
                    update = {"status": "ready", "file": path, "size": path.stat().st_size}
                    self._known[owner] = now.model_copy(update=update)
        except Exception as error:  # noqa: BLE001 - it is told on the page; there is no file
            log.warning("an export could not be made: %s", error)
            with suppress(OSError):
                part.unlink(missing_ok=True)
            why = (error.strerror or "") if isinstance(error, OSError) else ""
            if isinstance(error, StoreError):
                why = error.trouble
            self._told(owner, export, status="failed", problem=why or type(error).__name__)

    def _tidy(self) -> None:
        """Deletes what processes that are gone have left."""
        for path in self._folder.iterdir():
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > OLD:
                    path.unlink()

    def _told(self, owner: str, export: Export, **update: object) -> bool:
        """Notes how far it is; whether it is still wanted."""
        with self._lock:
            now = self._known.get(owner)
            if now is None or now.id != export.id:
                return False
            self._known[owner] = now.model_copy(update=update)
            return True

    def _write(self, path: Path, owner: str, export: Export, language: str, library: bool) -> bool:
        """Writes the file; whether it is wanted to the end."""
        runs = self._store.runs(owner, ALL)
        entries = [e for e in self._library.entries() if not e.sample] if library else []
        total, lost = len(runs) + len(entries), 0
        with ZipFile(path, "w", ZIP_DEFLATED, allowZip64=True) as archive:
            archive.writestr("personal.json", _json(self._personal(owner)))
            for n, run in enumerate(runs, 1):
                if not self._told(owner, export, done=n - 1, total=total, lost=lost):
                    return False
                try:
                    files = list(self._of_run(run, n))
                except (StoreError, OSError):
                    raise
                except Exception:  # counted and told; the others are there
                    log.warning("run %s could not be exported", run.id, exc_info=True)
                    lost += 1
                    continue
                for name, data in files:
                    archive.writestr(name, data)
                time.sleep(REST)
            listed = []
            for n, entry in enumerate(entries, 1):
                if not self._told(owner, export, done=len(runs) + n - 1, total=total, lost=lost):
                    return False
                name = f"library/{n:05}.txt"
                archive.writestr(name, self._library.text(entry.id).encode("utf-8", "replace"))
                listed.append(_document(entry, name))
            if library:
                archive.writestr("library/index.json", _json(listed))
            say = speaker("zh" if language == "zh" else "en", "takeout.")
            told = [
                say("title", when=f"{export.made:%Y-%m-%d %H:%M}"),
                say("runs", n=len(runs) - lost),
                say("personal"),
                say("library", n=len(entries)) if library else "",
                say("no keys"),
                say("lost", n=lost) if lost else "",
            ]
            archive.writestr("README.txt", "".join(f"{line}\n" for line in told if line))
        return self._told(owner, export, done=total, total=total, lost=lost)

    def _of_run(self, run: Run, n: int) -> Iterator[tuple[str, bytes]]:
        from research.export.data import report_json
        from research.export.markdown import report_markdown

        report = self._store.report(run)
        marked = cited(report) if report.answer else None
        name = f"runs/{run.created.astimezone(UTC):%Y-%m-%d}-{n:05}"
        yield f"{name}.json", _bytes(report_json(report, marked))
        yield f"{name}.md", _bytes(report_markdown(report, marked, citations="links"))

    def _personal(self, owner: str) -> dict[str, Any]:
        """What somebody has set and named, without any key."""
        read = self._store.database.read
        columns = [column.name for column in tables.conversation.c]
        watches = self._store.watches(owner)
        return {
            "conversations": [dict(zip(columns, row, strict=True)) for row in read(_TALKS, owner=owner)],
            "tags": [
                {"conversation": talk, "name": name} for talk, name in read(_TAGS, owner=owner)
            ],
            "watches": [
                {"run": run.id, "topic": run.question, "since": since.isoformat()}
                for run, since in watches
            ],
            "statements": [
                {"question": question, "sql": sql, "confirmed": made}
                for question, sql, made in read(_PAIRS, owner=owner)
            ],
            "notebooks": self._store.notebooks(owner),
            "notes": [dict(zip(_NOTED, row, strict=True)) for row in read(_REMARKS, owner=owner)],
            "preferences": without_keys(self._store.preferences(owner)),
            "tables": self._loaded(owner),
            "descriptions": dict(self._described(owner)),
        }  # fmt: skip


def without_keys(value: Any) -> Any:
    """JSON without what is called a key or looks like one."""
    if isinstance(value, Mapping):
        return {
            name: without_keys(item)
            for name, item in value.items()
            if not _SECRET.search(str(name))
        }
    if isinstance(value, list):
        return [without_keys(item) for item in value]
    return concealed(value) if isinstance(value, str) else value


def _document(entry: Any, name: str) -> dict[str, Any]:
    return {
        "file": name, "name": entry.name, "title": entry.title, "url": entry.url,
        "published": entry.published.isoformat() if entry.published else None,
        "language": entry.language, "added": entry.added.isoformat() if entry.added else "", "characters": entry.characters,
    }  # fmt: skip


def _json(data: object) -> bytes:
    return _bytes(json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else text
