"""Where the graph keeps its checkpoints: beside the file of the store, or on its server."""

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
# A node cancelled between its return and the note of where to go next leaves its writes beside an
# error. A resumed graph would take it for finished, and end there.
_DELETE_CANCELLED_WRITES = (
    "delete from {table} where thread_id={run} and (checkpoint_ns, checkpoint_id, task_id) in "
    "(select checkpoint_ns, checkpoint_id, task_id from {table} "
    "where thread_id={run} and channel='__error__')"
)


class CheckpointStore(Protocol):
    """The checkpoints of all runs. Everything here is called on the loop of the runs."""

    async def open(self) -> None:
        """Makes what is missing.

        Raises:
            StoreError: they cannot be kept.
        """
        ...

    async def saver(self) -> BaseCheckpointSaver[Any]:
        """What the graph writes them with. It is loaded with the first call, which takes a while.

        Raises:
            StoreError: they cannot be kept.
        """
        ...

    async def delete_cancelled_writes(self, run_id: str) -> None:
        """Drops what nodes that were cut off have half written."""
        ...

    async def reclaim(self) -> None:
        """Gives the room of what was deleted back, as far as that can be done beside others."""
        ...

    def may_write(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task of the loop may still write."""
        ...

    async def close(self) -> None: ...


def checkpoint_store(database: StoreDatabase) -> CheckpointStore:
    """Those that belong to a store's database."""
    if isinstance(database, PostgresDatabase):
        return _PostgresCheckpoints(database)
    assert isinstance(database, SQLiteDatabase)
    return _FileCheckpoints(database.path.with_name("checkpoints.db"))


async def _try_setup_lock(connection: Any) -> bool:
    """Takes the lock of those who make the tables, if it is free. A statement that waits for it would
    hold up those who make indexes."""
    asked = await connection.execute("select pg_try_advisory_lock(%s) as mine", (-APPLICATION_ID,))
    return bool((await asked.fetchone())["mine"])


@contextmanager
def convert_sqlite_errors(path: Path) -> Iterator[None]:
    """Raise what SQLite complains of as a trouble of this file, with what can be done about it.

    Raises:
        StoreError: the file cannot be used.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        found = to_store_error(error, path)
        if found.problem == "corrupt":
            lost = "without this file unfinished runs start over, and finished ones stay as they are"
            found = StoreError("corrupt", path, f"{found.detail}; {lost}")
        raise found from error


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
            # A power failure may cost the last steps of the graph; what they found is in the store.
            self._connection.execute("pragma synchronous=normal")
            self._connection.execute("select count(*) from sqlite_master")  # damage shows here

    async def saver(self) -> FileCheckpointSaver:
        """As it stands in the protocol; all of it happens in one turn of the loop."""
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
    """Checkpoints in a PostgreSQL database, with connections of their own."""

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
                while not await _try_setup_lock(connection):  # noqa: ASYNC110 - other processes send no word
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
        """Nothing: that is what the server's autovacuum is for."""

    def may_write(self, task: asyncio.Task[Any]) -> bool:
        """All may, but the pool's own: its workers, and what its scheduler waits for, namelessly."""
        waits = getattr(task.get_coro(), "__qualname__", "") == "Event.wait"
        return not waits and not task.get_name().startswith(POOL_NAME)

    async def close(self) -> None:
        await self._pool.close()
