"""How owners describe databases: a semantic model as each has edited it, in a file of the owner's own."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from research.core.records import fingerprint
from research.storage.files import private_folder, written

_BASE = re.compile(r"[\w-]{1,80}")


class Descriptions:
    """The edited models below a folder, by owner and database. A file is there whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _of(self, owner: str) -> Path:
        return self._folder / fingerprint(f"semantics of {owner}")

    def _path(self, owner: str, base: str) -> Path:
        if not _BASE.fullmatch(base):
            raise ValueError("This is no database.")
        return self._of(owner) / f"{base}.yaml"

    def get(self, owner: str, base: str) -> str:
        """The file of an owner for a database, "" if there is none."""
        with suppress(OSError, UnicodeError):
            return self._path(owner, base).read_text(encoding="utf-8")
        return ""

    def put(self, owner: str, base: str, text: str) -> None:
        """Keeps a file, which has been read as a model before. Raises OSError."""
        private_folder(self._folder)
        private_folder(self._of(owner))
        written(self._path(owner, base), text)

    def remove(self, owner: str, base: str) -> bool:
        """Whether there was a file to be deleted."""
        known = bool(self.get(owner, base))
        self._path(owner, base).unlink(missing_ok=True)
        return known

    def all(self, owner: str) -> dict[str, str]:
        """An owner's files by database."""
        files = sorted(self._of(owner).glob("*.yaml"))
        return {path.stem: self.get(owner, path.stem) for path in files}

    def clear(self, owner: str) -> int:
        """Deletes all files of an owner; how many there were."""
        files = list(self._of(owner).glob("*"))
        for file in files:
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self._of(owner).rmdir()
        return len(files)
