"""Liveness of engines: each process holds a lock that is released when it dies.

With SQLite it is an exclusive transaction on a file of the engine's own, which works on every
platform; with PostgreSQL an advisory lock on a connection of its own, visible to other machines.
Neither needs a clock: the death of a killed process is known at once, or as soon as the server
notices, and a busy process is never taken for a dead one.
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

RESTART_GRACE_SECONDS = 5  # seconds after a server restart in which lock holders reacquire their locks

SERVER_ENGINE_PREFIX = "agent "  # prefix of the engine ids under which an Agent Server executes runs
LATER_TURN_ID = re.compile(r"([0-9a-f]{32})-\d+")  # the id of a later run of an Agent Server thread


class _ServerEngines:
    """The set of all engine ids of Agent Servers. None of them holds a lock."""

    def __contains__(self, engine: object) -> bool:
        return str(engine).startswith(SERVER_ENGINE_PREFIX)


SERVER_ENGINES = _ServerEngines()


class EngineLock(Protocol):
    """The lock by which other processes see that this engine is alive."""

    id: str

    def is_alive(self, engine: str) -> bool:
        """Return whether the process of the engine is still running."""
        ...

    def ensure_held(self) -> None:
        """Check that the lock is still held and reacquire it if not; call this periodically.

        Raises:
            StoreError: the lock is lost and cannot be reacquired now.
        """
        ...

    def close(self) -> None: ...


def acquire_engine_lock(database: StoreDatabase) -> EngineLock:
    """Register a new engine with the database of a store.

    Raises:
        StoreError: the folder cannot be written, or the server cannot be used.
    """
    if isinstance(database, PostgresDatabase):
        return PostgresEngineLock(database)
    assert isinstance(database, SQLiteDatabase)
    return FileEngineLock(database.path.parent / "engines")


class FileEngineLock:
    """An engine lock as a locked file in a folder."""

    def __init__(self, folder: Path) -> None:
        """Acquire the lock. Raises StoreError if the folder cannot be written."""
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
        """Return whether the process of the engine is still running.

        The lock file of a dead process is deleted.
        """
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
        """Do nothing: the operating system never revokes a file lock."""

    def close(self) -> None:
        self._connection.close()
        with contextlib.suppress(OSError):
            self._path(self.id).unlink()


_LOCK_KEY = func.hashtextextended(bindparam("engine"), APPLICATION_ID)
_SELECT_IS_FREE = select(  # A shared lock for one statement does not disturb other processes that probe.
    func.pg_try_advisory_xact_lock_shared(_LOCK_KEY),
    func.now() - func.pg_postmaster_start_time() > literal_column(f"interval '{RESTART_GRACE_SECONDS} seconds'"),
)
_ACQUIRE_LOCK = "select pg_advisory_lock(hashtextextended(%s, %s))"
# The server notices within half a minute that the machine of an engine is gone.
_SET_KEEPALIVE = "set tcp_keepalives_idle=15; set tcp_keepalives_interval=5; set tcp_keepalives_count=3"


class PostgresEngineLock:
    """An engine lock as an advisory lock of a PostgreSQL server."""

    def __init__(self, database: PostgresDatabase) -> None:
        """Acquire the lock. Raises StoreError if the server cannot be used."""
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
        """Return whether the process of the engine is still running, on any machine."""
        if engine == self.id:
            return True
        if not engine:
            return False
        ((is_free, has_grace_passed),) = self._database.read(_SELECT_IS_FREE, engine=engine)
        return not (is_free and has_grace_passed)

    def ensure_held(self) -> None:
        with contextlib.suppress(*self._database.driver_errors):
            self._connection.execute("select 1")
            return
        self._connection.close()
        self._connection = self._acquire()

    def close(self) -> None:
        self._connection.close()
