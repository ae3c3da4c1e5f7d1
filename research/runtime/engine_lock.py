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

from research.storage.databases import SQLiteDatabase, StoreDatabase
from research.storage.postgres import PostgresDatabase
from research.storage.sqlite_files import APPLICATION_ID, make_private_file, make_private_folder, to_store_error

RESTART_GRACE_SECONDS = 5  # seconds after the start of a server in which those that held locks take them again

SERVER_ENGINE_PREFIX = "agent "  # how the names begin in which an Agent Server works on runs
LATER_TURN_ID = re.compile(r"([0-9a-f]{32})-\d+")  # a run that is a later turn of a thread of a server's


class _ServerEngines:
    """The names of all engines that are a server's. None of them is a process that holds a lock."""

    def __contains__(self, engine: object) -> bool:
        return str(engine).startswith(SERVER_ENGINE_PREFIX)


SERVER_ENGINES = _ServerEngines()


class EngineLock(Protocol):
    """This process's membership among those that share a store."""

    id: str

    def is_alive(self, engine: str) -> bool:
        """Whether the process that is `engine` still runs."""
        ...

    def ensure_held(self) -> None:
        """Makes sure that the lock is still held; to be called now and then.

        Raises:
            StoreError: it is not, and cannot be taken again now.
        """
        ...

    def close(self) -> None: ...


def acquire_engine_lock(database: StoreDatabase) -> EngineLock:
    """A new engine among those of a store's database.

    Raises:
        StoreError: the folder cannot be written, or the server cannot be used.
    """
    if isinstance(database, PostgresDatabase):
        return PostgresEngineLock(database)
    assert isinstance(database, SQLiteDatabase)
    return FileEngineLock(database.path.parent / "engines")


class FileEngineLock:
    """Membership in a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreError if the folder cannot be written."""
        self._folder = folder
        self.id = uuid.uuid4().hex
        try:
            make_private_folder(folder)
            make_private_file(self._path(self.id))
            self._connection = sqlite3.connect(
                self._path(self.id), timeout=0, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("begin exclusive")
        except (OSError, sqlite3.Error) as error:
            raise to_store_error(error, folder) from error

    def _path(self, engine: str) -> Path:
        return self._folder / f"{engine}.lock"

    def is_alive(self, engine: str) -> bool:
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

    def ensure_held(self) -> None:
        """The system takes no lock away."""

    def close(self) -> None:
        self._connection.close()
        with contextlib.suppress(OSError):
            self._path(self.id).unlink()


_LOCK_KEY = func.hashtextextended(bindparam("engine"), APPLICATION_ID)
_SELECT_IS_FREE = select(  # a shared lock for the time of a statement disturbs nobody who asks the same
    func.pg_try_advisory_xact_lock_shared(_LOCK_KEY),
    func.now() - func.pg_postmaster_start_time() > literal_column(f"interval '{RESTART_GRACE_SECONDS} seconds'"),
)
_ACQUIRE_LOCK = "select pg_advisory_lock(hashtextextended(%s, %s))"
# So that the server notices within half a minute when the machine of an engine is gone.
_SET_KEEPALIVE = "set tcp_keepalives_idle=15; set tcp_keepalives_interval=5; set tcp_keepalives_count=3"


class PostgresEngineLock:
    """Membership by a server."""

    def __init__(self, database: PostgresDatabase) -> None:
        """Raises StoreError if the server cannot be used."""
        self._database = database
        self.id = uuid.uuid4().hex
        self._connection = self._acquire()

    def _acquire(self) -> Any:
        connection = self._database.connect()
        try:
            connection.execute(_SET_KEEPALIVE)
            connection.execute(_ACQUIRE_LOCK, (self.id, APPLICATION_ID))
        except self._database.driver_errors as error:
            connection.close()
            raise self._database.to_store_error(error) from error
        return connection

    def is_alive(self, engine: str) -> bool:
        """Whether the process that is `engine` still runs, wherever."""
        if engine == self.id:
            return True
        if not engine:
            return False
        ((free, settled),) = self._database.read(_SELECT_IS_FREE, engine=engine)
        return not (free and settled)

    def ensure_held(self) -> None:
        with contextlib.suppress(*self._database.driver_errors):
            self._connection.execute("select 1")
            return
        self._connection.close()
        self._connection = self._acquire()

    def close(self) -> None:
        self._connection.close()
