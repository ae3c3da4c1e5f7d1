"""Files of the semantic models that owners have edited, one per owner and database."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from research.core.records import fingerprint
from research.storage.sqlite_files import make_private_folder, write_private_file

_DATABASE_ID = re.compile(r"[\w-]{1,80}")


class DescriptionFiles:
    """The edited models below a folder. A file is complete or absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _owner_folder(self, owner: str) -> Path:
        return self._folder / fingerprint(f"semantics of {owner}")

    def _path(self, owner: str, database_id: str) -> Path:
        """Return the path of a file. Raises ValueError if the database id is invalid."""
        if not _DATABASE_ID.fullmatch(database_id):
            raise ValueError("This is no database.")
        return self._owner_folder(owner) / f"{database_id}.yaml"

    def get(self, owner: str, database_id: str) -> str:
        """Return the file of an owner for a database, "" if there is none."""
        with suppress(OSError, UnicodeError):
            return self._path(owner, database_id).read_text(encoding="utf-8")
        return ""

    def save(self, owner: str, database_id: str, text: str) -> None:
        """Save a file that has been parsed as a model before. Raises OSError."""
        make_private_folder(self._folder)
        make_private_folder(self._owner_folder(owner))
        write_private_file(self._path(owner, database_id), text)

    def remove(self, owner: str, database_id: str) -> bool:
        """Delete a file; return whether there was one."""
        existed = bool(self.get(owner, database_id))
        self._path(owner, database_id).unlink(missing_ok=True)
        return existed

    def all(self, owner: str) -> dict[str, str]:
        """Return an owner's files by database id."""
        files = sorted(self._owner_folder(owner).glob("*.yaml"))
        return {path.stem: self.get(owner, path.stem) for path in files}

    def clear(self, owner: str) -> int:
        """Delete all files of an owner; return how many there were."""
        files = list(self._owner_folder(owner).glob("*"))
        for file in files:
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self._owner_folder(owner).rmdir()
        return len(files)
