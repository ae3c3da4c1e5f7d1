"""Which engines are alive: each process holds a lock that is freed when it dies.

Beside a file that is an exclusive SQLite transaction on a file of the engine's own, which works on
every platform; on a server it is an advisory lock of a connection of its own, which processes of
other machines see too. Neither needs a clock: a killed process is known to be dead at once, or as
soon as its server has noticed; a busy one never is.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import uuid
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import bindparam, func, literal_column, select

from research.storage.databases import Database, File
from research.storage.files import APPLICATION, explained, private_file, private_folder
from research.storage.postgres import Server

GRACE = 5  # seconds after the start of a server in which those that held locks take them again

PREFIX = "agent "  # how the names begin in which an Agent Server works on runs
TURN = re.compile(r"([0-9a-f]{32})-\d+")  # a run that is a later turn of a thread of a server's


class _Served:
    """The names of all engines that are a server's. None of them is a process that holds a lock."""

    def __contains__(self, engine: object) -> bool:
        return str(engine).startswith(PREFIX)


SERVED = _Served()


class Engine(Protocol):
    """This process's membership among those that share a store."""

    id: str

    def alive(self, engine: str) -> bool:
        """Whether the process that is `engine` still runs."""
        ...

    def hold(self) -> None:
        """Makes sure that the lock is still held; to be called now and then.

        Raises:
            StoreError: it is not, and cannot be taken again now.
        """
        ...

    def close(self) -> None: ...


def joined(database: Database) -> Engine:
    """A new engine among those of a store's database.

    Raises:
        StoreError: the folder cannot be written, or the server cannot be used.
    """
    if isinstance(database, Server):
        return ServerEngine(database)
    assert isinstance(database, File)
    return FolderEngine(database.path.parent / "engines")


class FolderEngine:
    """Membership in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreError if the folder cannot be written."""
        self._folder = folder
        self.id = uuid.uuid4().hex
        try:
            private_folder(folder)
            private_file(self._path(self.id))
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

    def hold(self) -> None:
        """The system takes no lock away."""

    def close(self) -> None:
        self._lock.close()
        with contextlib.suppress(OSError):
            self._path(self.id).unlink()


_KEY = func.hashtextextended(bindparam("engine"), APPLICATION)
_FREE = select(  # a shared lock for the time of a statement disturbs nobody who asks the same
    func.pg_try_advisory_xact_lock_shared(_KEY),
    func.now() - func.pg_postmaster_start_time() > literal_column(f"interval '{GRACE} seconds'"),
)
_TAKE = "select pg_advisory_lock(hashtextextended(%s, %s))"
# So that the server notices within half a minute when the machine of an engine is gone.
_LIVELY = "set tcp_keepalives_idle=15; set tcp_keepalives_interval=5; set tcp_keepalives_count=3"


class ServerEngine:
    """Membership by a server."""

    def __init__(self, server: Server) -> None:
        """Raises StoreError if the server cannot be used."""
        self._server = server
        self.id = uuid.uuid4().hex
        self._lock = self._taken()

    def _taken(self) -> Any:
        connection = self._server.connect()
        try:
            connection.execute(_LIVELY)
            connection.execute(_TAKE, (self.id, APPLICATION))
        except self._server.errors as error:
            connection.close()
            raise self._server.explained(error) from error
        return connection

    def alive(self, engine: str) -> bool:
        """Whether the process that is `engine` still runs, wherever."""
        if engine == self.id:
            return True
        if not engine:
            return False
        ((free, settled),) = self._server.read(_FREE, engine=engine)
        return not (free and settled)

    def hold(self) -> None:
        with contextlib.suppress(*self._server.errors):
            self._lock.execute("select 1")
            return
        self._lock.close()
        self._lock = self._taken()

    def close(self) -> None:
        self._lock.close()
