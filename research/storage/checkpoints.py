"""The store of graph checkpoints: a SQLite file beside the store, or tables on its server."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from research.storage.databases import SQLiteDatabase, StoreDatabase
from research.storage.postgres import CONNECT_TIMEOUT_SECONDS, PostgresDatabase
from research.storage.sqlite_files import (
    APPLICATION_ID,
    StoreError,
    enable_incremental_vacuum,
    make_private_file,
    reclaim_space,
    restrict_access,
    to_store_error,
)

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from research.storage.checkpoint_saver import FileCheckpointSaver

MAX_CONNECTIONS = 16  # connections to a server at once
POOL_NAME = "sightline-checkpoints"
# A node cancelled after its return, but before its successor is stored, leaves its writes beside an
# error. A resumed graph would take it for finished and end there.
_DELETE_CANCELLED_WRITES = (
    "delete from {table} where thread_id={run} and (checkpoint_ns, checkpoint_id, task_id) in "
    "(select checkpoint_ns, checkpoint_id, task_id from {table} "
    "where thread_id={run} and channel='__error__')"
)


class CheckpointStore(Protocol):
    """The checkpoints of all runs. All methods are called on the loop of the runs."""

    async def open(self) -> None:
        """Create missing files or tables.

        Raises:
            StoreError: checkpoints cannot be stored.
        """
        ...

    async def saver(self) -> BaseCheckpointSaver[Any]:
        """Return the saver for the graph. The first call imports it, which takes a while.

        Raises:
            StoreError: checkpoints cannot be stored.
        """
        ...

    async def delete_cancelled_writes(self, run_id: str) -> None:
        """Delete the partial writes of cancelled nodes."""
        ...

    async def reclaim(self) -> None:
        """Return the disk space of deleted rows, as far as other users of the database allow it."""
        ...

    def may_write(self, task: asyncio.Task[Any]) -> bool:
        """Return whether a task of the loop may still write checkpoints."""
        ...

    async def close(self) -> None: ...


def checkpoint_file(database: SQLiteDatabase) -> Path:
    """Return the path of the checkpoints that belong to a database in a file."""
    return database.path.with_name("checkpoints.db")


def checkpoint_store(database: StoreDatabase) -> CheckpointStore:
    """Create the checkpoint store that belongs to a database."""
    if isinstance(database, PostgresDatabase):
        return _PostgresCheckpoints(database)
    assert isinstance(database, SQLiteDatabase)
    return _FileCheckpoints(checkpoint_file(database))


async def _try_setup_lock(connection: Any) -> bool:
    """Try to take the lock for creating tables.

    Waiting for it inside a statement would block other processes that create indexes.
    """
    cursor = await connection.execute("select pg_try_advisory_lock(%s) as mine", (-APPLICATION_ID,))
    return bool((await cursor.fetchone())["mine"])


@contextmanager
def convert_sqlite_errors(path: Path) -> Iterator[None]:
    """Convert SQLite and file errors in the block to `StoreError` of this file.

    Raises:
        StoreError: the file cannot be used.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        store_error = to_store_error(error, path)
        if store_error.problem == "corrupt":
            consequence = "without this file unfinished runs start over, and finished ones stay as they are"
            store_error = StoreError("corrupt", path, f"{store_error.detail}; {consequence}")
        raise store_error from error


class _FileCheckpoints:
    """Checkpoints in a SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._saver: FileCheckpointSaver | None = None

    async def open(self) -> None:
        with convert_sqlite_errors(self._path):
            make_private_file(self._path)
            restrict_access(self._path)
            self._connection = sqlite3.connect(self._path, timeout=30)
            enable_incremental_vacuum(self._connection)
            self._connection.execute("pragma journal_mode=wal")
            # A power failure may lose the last steps of the graph; their findings are in the store.
            self._connection.execute("pragma synchronous=normal")
            self._connection.execute("select count(*) from sqlite_master")  # raises if the file is damaged

    async def saver(self) -> FileCheckpointSaver:
        """Return the saver. It is created without awaiting, so no other task can interleave."""
        if self._saver is None:
            from research.storage.checkpoint_saver import FileCheckpointSaver

            assert self._connection
            saver = FileCheckpointSaver(self._path, self._connection)
            with convert_sqlite_errors(self._path):
                saver.setup()
            self._saver = saver
        return self._saver

    async def delete_cancelled_writes(self, run_id: str) -> None:
        await self.saver()
        assert self._connection
        with convert_sqlite_errors(self._path), self._connection:
            self._connection.execute(_DELETE_CANCELLED_WRITES.format(table="writes", run="?1"), (run_id,))

    async def reclaim(self) -> None:
        if self._saver:
            self._saver.commit()
        await asyncio.to_thread(reclaim_space, self._path)

    def may_write(self, task: asyncio.Task[Any]) -> bool:
        return True

    async def close(self) -> None:
        if self._saver:
            self._saver.commit()
        if self._connection:
            self._connection.close()


class _PostgresCheckpoints:
    """Checkpoints in a PostgreSQL database, with a connection pool of their own."""

    _saver: BaseCheckpointSaver[Any]

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._saver_type = database.import_driver("langgraph.checkpoint.postgres.aio").AsyncPostgresSaver
        pools, rows = database.import_driver("psycopg_pool"), database.import_driver("psycopg.rows")
        self._pool = pools.AsyncConnectionPool(
            kwargs={
                **database.connect_arguments,
                "autocommit": True,
                "prepare_threshold": 0,
                "row_factory": rows.dict_row,
            },
            min_size=1,
            max_size=MAX_CONNECTIONS,
            timeout=CONNECT_TIMEOUT_SECONDS,
            name=POOL_NAME,
            open=False,
            check=pools.AsyncConnectionPool.check_connection,  # the server may have been restarted
        )

    async def open(self) -> None:
        from research.storage.checkpoint_saver import checkpoint_serializer

        try:
            await self._pool.open(wait=True, timeout=CONNECT_TIMEOUT_SECONDS)
            self._saver = saver = self._saver_type(self._pool, serde=checkpoint_serializer())
            async with self._pool.connection() as connection:
                while not await _try_setup_lock(connection):  # noqa: ASYNC110 - other processes send no notification
                    await asyncio.sleep(0.1)
                try:
                    await saver.setup()
                finally:
                    await connection.execute("select pg_advisory_unlock(%s)", (-APPLICATION_ID,))
        except self._database.driver_errors as error:
            raise self._database.to_store_error(error) from error

    async def saver(self) -> BaseCheckpointSaver[Any]:
        return self._saver

    async def delete_cancelled_writes(self, run_id: str) -> None:
        async with self._pool.connection() as connection:
            text = _DELETE_CANCELLED_WRITES.format(table="checkpoint_writes", run="%(run)s")
            await connection.execute(text, {"run": run_id})

    async def reclaim(self) -> None:
        """Do nothing: the server's autovacuum reclaims space."""

    def may_write(self, task: asyncio.Task[Any]) -> bool:
        """Return True for all tasks but the pool's workers and the waits of its scheduler."""
        is_waiting = getattr(task.get_coro(), "__qualname__", "") == "Event.wait"
        return not is_waiting and not task.get_name().startswith(POOL_NAME)

    async def close(self) -> None:
        await self._pool.close()
