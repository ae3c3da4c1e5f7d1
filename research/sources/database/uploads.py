"""Table files that an owner has uploaded: each set of them becomes a DuckDB file of its own.

Nothing is shared: an owner's files lie in a folder that is found only by the owner's name, and
questions of one owner never reach the files of another. A file is written once and only read
afterwards.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from research.core.database_config import UPLOADED_FILES_PREFIX
from research.core.records import Record, fingerprint
from research.readers.table_files import load_tables
from research.readers.table_records import FileTable
from research.readers.worker import ProgressCallback
from research.storage.sqlite_files import make_private_folder

_UPLOAD_ID = re.compile(r"[0-9a-f]{6,64}")


class Upload(Record):
    """A set of uploaded files. `size` is the size of its database in bytes."""

    id: str
    names: tuple[str, ...]
    tables: tuple[FileTable, ...]
    size: int = 0
    made: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @property
    def database(self) -> str:
        """Name of the upload among the databases."""
        return f"{UPLOADED_FILES_PREFIX}{self.id}"


class UploadStore:
    """The uploads below a folder. Safe for several processes: a file is complete or absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _owner_folder(self, owner: str) -> Path:
        return self._folder / fingerprint(f"tables of {owner}")

    def add(
        self,
        owner: str,
        sources: Sequence[tuple[Path, Sequence[FileTable]]],
        report_progress: ProgressCallback = lambda part: None,
    ) -> Upload:
        """Load files into a new upload; the same files with the same tables give the existing one.

        Raises:
            UnreadableTableError: one of them is broken or too large.
        """
        folder = self._owner_folder(owner)
        make_private_folder(self._folder)
        make_private_folder(folder)
        contents = [(_hash_file(path), [table.model_dump_json() for table in tables]) for path, tables in sources]
        upload_id = fingerprint(repr(contents))
        if existing := self.get(owner, upload_id):
            return existing
        target = folder / f"{upload_id}.duckdb"
        tables = load_tables(sources, target, report_progress)
        target.chmod(0o600)
        names = tuple(dict.fromkeys(table.file for table in tables))
        upload = Upload(id=upload_id, names=names, tables=tables, size=target.stat().st_size)
        note = folder / f"{upload_id}.json"
        note.write_text(upload.model_dump_json(), encoding="utf-8")
        note.chmod(0o600)
        return upload

    def all(self, owner: str) -> tuple[Upload, ...]:
        """Return an owner's uploads, the newest first."""
        uploads = (self.get(owner, note.stem) for note in self._owner_folder(owner).glob("*.json"))
        return tuple(sorted(filter(None, uploads), key=lambda each: each.made, reverse=True))

    def get(self, owner: str, upload_id: str) -> Upload | None:
        """Return one of an owner's uploads; None if there is none with this id."""
        if not _UPLOAD_ID.fullmatch(upload_id) or not self.path(owner, upload_id).is_file():
            return None
        with suppress(OSError, ValidationError):
            note = self._owner_folder(owner) / f"{upload_id}.json"
            return Upload.model_validate_json(note.read_text(encoding="utf-8"))
        return None

    def path(self, owner: str, upload_id: str) -> Path:
        """Return the path of an upload's database; an invalid id never becomes part of a path."""
        return self._owner_folder(owner) / f"{upload_id if _UPLOAD_ID.fullmatch(upload_id) else 'none'}.duckdb"

    def remove(self, owner: str, upload_id: str) -> bool:
        """Delete an upload; return whether there was one."""
        existed = self.get(owner, upload_id) is not None
        if _UPLOAD_ID.fullmatch(upload_id):
            self.path(owner, upload_id).unlink(missing_ok=True)
            (self._owner_folder(owner) / f"{upload_id}.json").unlink(missing_ok=True)
        return existed

    def clear(self, owner: str) -> int:
        """Delete an owner's folder with all uploads; return how many there were."""
        count = len(self.all(owner))
        for file in self._owner_folder(owner).glob("*"):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self._owner_folder(owner).rmdir()
        return count


def _hash_file(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
