"""Table files that an owner has uploaded: each set of them becomes a DuckDB file of its own.

Nothing is shared: an owner's files lie in a folder that is found only by the owner's name, and
questions of one owner never reach the files of another. The original files are kept beside their database,
so that they can be read again in another way; a person's choices are stored with the tables.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from research.core.database_config import UPLOADED_FILES_PREFIX
from research.core.records import Record, fingerprint
from research.readers.table_files import detect_tables, load_tables
from research.readers.table_records import Correction, FileTable
from research.readers.worker import ProgressCallback
from research.storage.sqlite_files import make_private_folder

_UPLOAD_ID = re.compile(r"[0-9a-f]{6,64}")


class StoredFile(Record):
    """An original file of an upload: its name, the name under which it is stored, and the number of its tables."""

    name: str
    stored_name: str
    table_count: int


class Upload(Record):
    """A set of uploaded files.

    `size` is the size of its database in bytes. `files` are the originals, in the order of `tables`; none if
    an earlier version has loaded them. `revision` counts how often they were read again.
    """

    id: str
    names: tuple[str, ...]
    tables: tuple[FileTable, ...]
    size: int = 0
    made: datetime = Field(default_factory=lambda: datetime.now(UTC))
    files: tuple[StoredFile, ...] = ()
    revision: int = 0

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
        corrections = [table.correction for _, tables in sources for table in tables]
        while existing := self.get(owner, upload_id):
            if [table.correction for table in existing.tables] == corrections:
                return existing
            upload_id = fingerprint(upload_id)  # that one was read again in another way
        tables = load_tables(sources, self.path(owner, upload_id), report_progress)
        files = []
        for index, (path, own_tables) in enumerate(sources):
            name = own_tables[0].file
            stored_name = f"{upload_id}-{index}{Path(name).suffix.lower()}"
            shutil.copyfile(path, folder / stored_name)
            (folder / stored_name).chmod(0o600)
            files.append(StoredFile(name=name, stored_name=stored_name, table_count=len(own_tables)))
        names = tuple(dict.fromkeys(table.file for table in tables))
        return self._save(owner, Upload(id=upload_id, names=names, tables=tables, files=tuple(files)))

    def _save(self, owner: str, upload: Upload) -> Upload:
        """Store the description of an upload whose database is written."""
        folder, database = self._owner_folder(owner), self.path(owner, upload.id)
        database.chmod(0o600)
        upload = upload.model_copy(update={"size": database.stat().st_size})
        note, partial_note = folder / f"{upload.id}.json", folder / f"{upload.id}.note"
        partial_note.write_text(upload.model_dump_json(), encoding="utf-8")
        partial_note.chmod(0o600)
        partial_note.replace(note)
        return upload

    def read_again(
        self,
        owner: str,
        upload_id: str,
        corrections: Mapping[int, Correction],
        report_progress: ProgressCallback = lambda part: None,
    ) -> Upload | None:
        """Read the files of an upload again, with corrections by the index of a table in it.

        The database keeps its name. Tables without a correction keep that which they have. Returns None if
        there is no such upload, or its original files were not kept.

        Raises:
            UnreadableTableError: a file cannot be read so; the upload stays as it was.
        """
        upload = self.get(owner, upload_id)
        if upload is None or not upload.files:
            return None
        folder, sources, first = self._owner_folder(owner), [], 0
        for file in upload.files:
            path, count = folder / file.stored_name, file.table_count
            by_sheet = {
                table.sheet: corrections.get(index, table.correction)
                for index, table in enumerate(upload.tables[first : first + count], first)
            }
            sources.append((path, detect_tables(path, file.name, by_sheet)))
            first += count
        tables = load_tables(sources, self.path(owner, upload_id), report_progress)
        files = tuple(
            file.model_copy(update={"table_count": len(own_tables)})
            for file, (_, own_tables) in zip(upload.files, sources, strict=True)
        )
        update = {"tables": tables, "files": files, "revision": upload.revision + 1}
        return self._save(owner, upload.model_copy(update=update))

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
            folder = self._owner_folder(owner)
            for file in (*folder.glob(f"{upload_id}.*"), *folder.glob(f"{upload_id}-*")):
                file.unlink(missing_ok=True)
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
