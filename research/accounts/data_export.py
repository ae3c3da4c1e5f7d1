"""Exports of all data of an owner as a ZIP file, written in the background.

File names in it never come from outside, and it contains no keys. Runs that cannot be exported are
counted and skipped. The file is deleted when it is discarded, when a new export starts, or when the
process ends.
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
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from sqlalchemy import bindparam, select

from research.citations.numbering import number_report_answer
from research.core.errors import mask_secrets
from research.core.i18n import translator
from research.core.records import Record, Run
from research.export.formats import export_report
from research.sources.library.index import Library
from research.storage import tables
from research.storage.sqlite_files import StoreError, make_private_file, make_private_folder
from research.storage.statements import RUN_OF_OWNER
from research.storage.store import Store

log = logging.getLogger(__name__)

TableLister = Callable[[str], Sequence[Mapping[str, Any]]]
DescriptionLister = Callable[[str], Mapping[str, str]]
MAX_RUNS = 1_000_000_000  # no real limit, but `Store.runs` needs one
PAUSE_SECONDS = 0.002  # between two runs, so that other threads can work
MAX_FILE_AGE_SECONDS = 24 * 3600  # age at which a file left by a dead process is deleted
MAX_EXPORTS = 2  # exports at the same time in a process
_SECRET_NAME = re.compile(r"key|secret|token|passw|credential", re.I)
_LIST_CONVERSATIONS = select(tables.conversation).where(
    tables.conversation.c.id.in_(select(tables.run.c.conversation).where(RUN_OF_OWNER))
)
_LIST_TAGS = select(tables.tag.c.conversation, tables.tag.c.name).where(
    tables.tag.c.conversation.in_(select(tables.run.c.conversation).where(RUN_OF_OWNER))
)
_REMARK_COLUMNS = ("run", "evidence", "passage", "text", "made")
_LIST_REMARKS = (
    select(*(tables.remark.c[name] for name in _REMARK_COLUMNS))
    .where(tables.remark.c.run.in_(select(tables.run.c.id).where(RUN_OF_OWNER)))
    .order_by(tables.remark.c.run, tables.remark.c.made)
)
_LIST_CONFIRMED_STATEMENTS = select(
    tables.confirmed_statement.c.question, tables.confirmed_statement.c.sql, tables.confirmed_statement.c.made
).where(tables.confirmed_statement.c.owner == bindparam("owner"))


class DataExport(Record):
    """The progress of an export. `path` is set once it is ready, `error` if it has failed."""

    id: str
    status: Literal["making", "ready", "failed"] = "making"
    done_count: int = 0
    total_count: int = 0
    failed_count: int = 0
    path: Path | None = None
    size_bytes: int = 0
    started_at: datetime
    error: str = ""


class DataExports:
    """The exports of one process, one for each owner. Safe for several threads."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        library: Library,
        list_tables: TableLister,
        list_descriptions: DescriptionLister,
    ) -> None:
        """Set up exports to `folder`.

        `list_tables` returns the tables that an owner has loaded from files; they are only listed,
        because the owner has the files. `list_descriptions` returns the owner's descriptions of
        databases.
        """
        self._folder, self._store, self._library = folder, store, library
        self._list_tables, self._list_descriptions = list_tables, list_descriptions
        self._lock = threading.Lock()
        self._export_slots = threading.Semaphore(MAX_EXPORTS)
        self._exports: dict[str, DataExport] = {}
        self._threads: dict[str, threading.Thread] = {}

    def start(self, owner: str, language: str = "en", *, include_library: bool = False) -> DataExport:
        """Start an export unless one is being written, and return without waiting for it.

        An earlier file is discarded. `include_library` adds the library's own documents.
        """
        with self._lock:
            current = self._exports.get(owner)
            if current and current.status == "making":
                return current
            self._delete_files(current)
            export = DataExport(id=uuid.uuid4().hex, started_at=datetime.now(UTC))
            self._exports[owner] = export
            thread = threading.Thread(
                target=self._run_export,
                args=(owner, export, language, include_library),
                name="sightline-export",
                daemon=True,
            )
            self._threads = {key: worker for key, worker in self._threads.items() if worker.is_alive()}
            self._threads[export.id] = thread
            thread.start()
            return export

    def get(self, owner: str) -> DataExport | None:
        """Return the export of an owner, None if there is none."""
        with self._lock:
            return self._exports.get(owner)

    def discard(self, owner: str) -> None:
        """Delete the file of an export, or cancel its writing."""
        with self._lock:
            self._delete_files(self._exports.pop(owner, None))

    def close(self) -> None:
        """Cancel all exports and delete every file."""
        with self._lock:
            owners, threads = list(self._exports), list(self._threads.values())
        for owner in owners:
            self.discard(owner)
        for thread in threads:
            thread.join(10)

    def _delete_files(self, export: DataExport | None) -> None:
        if export:
            for path in (self._path(export), self._path(export).with_suffix(".part")):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            with suppress(OSError):
                self._folder.rmdir()  # only if it is empty

    def _path(self, export: DataExport) -> Path:
        return self._folder / f"{export.id}.zip"

    # In a thread of its own

    def _run_export(self, owner: str, export: DataExport, language: str, include_library: bool) -> None:
        path = self._path(export)
        part = path.with_suffix(".part")
        try:
            with self._export_slots:
                make_private_folder(self._folder)
                self._delete_old_files()
                make_private_file(part)
                if not self._write_zip(part, owner, export, language, include_library):
                    with suppress(OSError):
                        part.unlink(missing_ok=True)
                    return
                with self._lock:
                    current = self._exports.get(owner)
                    if current is None or current.id != export.id:
                        part.unlink(missing_ok=True)
                        return
                    part.replace(path)
                    update = {"status": "ready", "path": path, "size_bytes": path.stat().st_size}
                    self._exports[owner] = current.model_copy(update=update)
        except Exception as error:  # noqa: BLE001 - shown on the page; there is no file
            log.warning("an export could not be made: %s", error)
            with suppress(OSError):
                part.unlink(missing_ok=True)
            problem = (error.strerror or "") if isinstance(error, OSError) else ""
            if isinstance(error, StoreError):
                problem = error.problem
            self._update(owner, export, status="failed", error=problem or type(error).__name__)

    def _delete_old_files(self) -> None:
        """Delete the files that dead processes have left."""
        for path in self._folder.iterdir():
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > MAX_FILE_AGE_SECONDS:
                    path.unlink()

    def _update(self, owner: str, export: DataExport, **update: object) -> bool:
        """Update the progress of an export. Return whether it is still current."""
        with self._lock:
            current = self._exports.get(owner)
            if current is None or current.id != export.id:
                return False
            self._exports[owner] = current.model_copy(update=update)
            return True

    def _write_zip(self, path: Path, owner: str, export: DataExport, language: str, include_library: bool) -> bool:
        """Write the ZIP file. Return whether the export was current to the end."""
        runs = self._store.runs(owner, MAX_RUNS)
        entries = [e for e in self._library.list_all() if not e.is_sample] if include_library else []
        total, failed = len(runs) + len(entries), 0
        with ZipFile(path, "w", ZIP_DEFLATED, allowZip64=True) as archive:
            archive.writestr("personal.json", _encode_json(self._personal_data(owner)))
            for n, run in enumerate(runs, 1):
                if not self._update(owner, export, done_count=n - 1, total_count=total, failed_count=failed):
                    return False
                try:
                    files = list(self._run_files(run, n))
                except (StoreError, OSError):
                    raise
                except Exception:  # counted and listed in the README; the other runs are exported
                    log.warning("run %s could not be exported", run.id, exc_info=True)
                    failed += 1
                    continue
                for name, data in files:
                    archive.writestr(name, data)
                time.sleep(PAUSE_SECONDS)
            index = []
            for n, entry in enumerate(entries, 1):
                if not self._update(
                    owner, export, done_count=len(runs) + n - 1, total_count=total, failed_count=failed
                ):
                    return False
                name = f"library/{n:05}.txt"
                archive.writestr(name, self._library.document_text(entry.id).encode("utf-8", "replace"))
                index.append(_library_entry(entry, name))
                if original := self._library.pages.original(entry.id):
                    index[-1]["original"] = f"library/{n:05}-original.{entry.name.rpartition('.')[2].lower()}"
                    archive.writestr(index[-1]["original"], original, ZIP_STORED)
            if include_library:
                archive.writestr("library/index.json", _encode_json(index))
            translate = translator("zh" if language == "zh" else "en", "takeout.")
            lines = [
                translate("title", when=f"{export.started_at:%Y-%m-%d %H:%M}"),
                translate("runs", n=len(runs) - failed),
                translate("personal"),
                translate("library", n=len(entries)) if include_library else "",
                translate("no keys"),
                translate("lost", n=failed) if failed else "",
            ]
            archive.writestr("README.txt", "".join(f"{line}\n" for line in lines if line))
        return self._update(owner, export, done_count=total, total_count=total, failed_count=failed)

    def _run_files(self, run: Run, number: int) -> Iterator[tuple[str, bytes]]:
        report = self._store.report(run)
        cited = number_report_answer(report) if report.answer else None
        name = f"runs/{run.created.astimezone(UTC):%Y-%m-%d}-{number:05}"
        for suffix in ("json", "md"):
            yield f"{name}.{suffix}", export_report(report, cited, suffix)

    def _personal_data(self, owner: str) -> dict[str, Any]:
        """Collect what an owner has set and named, without any key."""
        read = self._store.database.read
        columns = [column.name for column in tables.conversation.c]
        watches = self._store.watches(owner)
        return {
            "conversations": [dict(zip(columns, row, strict=True)) for row in read(_LIST_CONVERSATIONS, owner=owner)],
            "tags": [
                {"conversation": conversation, "name": name} for conversation, name in read(_LIST_TAGS, owner=owner)
            ],
            "watches": [{"run": run.id, "topic": run.question, "since": since.isoformat()} for run, since in watches],
            "statements": [
                {"question": question, "sql": sql, "confirmed": confirmed_at}
                for question, sql, confirmed_at in read(_LIST_CONFIRMED_STATEMENTS, owner=owner)
            ],
            "notebooks": self._store.notebooks(owner),
            "notes": [dict(zip(_REMARK_COLUMNS, row, strict=True)) for row in read(_LIST_REMARKS, owner=owner)],
            "preferences": remove_secrets(self._store.preferences(owner)),
            "tables": self._list_tables(owner),
            "descriptions": dict(self._list_descriptions(owner)),
        }


def remove_secrets(value: Any) -> Any:
    """Return JSON data without entries named like a key, with secrets in texts masked."""
    if isinstance(value, Mapping):
        return {name: remove_secrets(item) for name, item in value.items() if not _SECRET_NAME.search(str(name))}
    if isinstance(value, list):
        return [remove_secrets(item) for item in value]
    return mask_secrets(value) if isinstance(value, str) else value


def _library_entry(entry: Any, name: str) -> dict[str, Any]:
    return {
        "file": name,
        "name": entry.name,
        "title": entry.title,
        "url": entry.url,
        "published": entry.published.isoformat() if entry.published else None,
        "language": entry.language,
        "added": entry.added_at.isoformat() if entry.added_at else "",
        "characters": entry.character_count,
    }


def _encode_json(data: object) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")
