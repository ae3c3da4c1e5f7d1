"""Which engines are alive: each process holds a lock that the system frees when it dies.

The lock is an exclusive SQLite transaction on a file of the engine's own, which works on every
platform and needs no clock: a killed process is known to be dead at once, a busy one never is.
"""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from pathlib import Path

from research.storage import explained


class Engine:
    """This process's membership in a data folder."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreError if the folder cannot be written."""
        self._folder = folder
        self.id = uuid.uuid4().hex
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = sqlite3.connect(
                self._path(self.id), timeout=0, isolation_level=None, check_same_thread=False
            )
            self._lock.execute("begin exclusive")
        except (OSError, sqlite3.Error) as error:
            raise explained(error, folder) from error

    def _path(self, engine: str) -> Path:
        return self._folder / f"{engine}.lock"

    def alive(self, engine: str) -> bool:
        """Whether the process that is `engine` still runs. A dead one's lock file is removed."""
        path = self._path(engine)
        if engine == self.id:
            return True
        if not engine or not path.exists():
            return False
        probe = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            probe.execute("begin exclusive")
        except sqlite3.OperationalError:
            return True
        finally:
            probe.close()
        with contextlib.suppress(OSError):
            path.unlink()
        return False

    def close(self) -> None:
        self._lock.close()
        with contextlib.suppress(OSError):
            self._path(self.id).unlink()
