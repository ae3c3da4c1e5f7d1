"""Where the graph keeps its checkpoints: beside the file of the store, or on its server."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from research import records
from research.runs.databases import Database, File
from research.runs.server import WAIT, Server
from research.storage import APPLICATION, explained, reclaim, reclaimable

log = logging.getLogger(__name__)

MOST = 16  # connections to a server at once
POOL = "sightline-checkpoints"
_RECORDS = [
    ("research.records", name)
    for name, value in vars(records).items()
    if isinstance(value, type) and issubclass(value, records.Record)
]
# A node cancelled between its return and the note of where to go next leaves its writes beside an
# error. A resumed graph would take it for finished, and end there.
_CUT_OFF = (
    "delete from {table} where thread_id={run} and (checkpoint_ns, checkpoint_id, task_id) in "
    "(select checkpoint_ns, checkpoint_id, task_id from {table} "
    "where thread_id={run} and channel='__error__')"
)


class Checkpoints(Protocol):
    """The checkpoints of all runs. Everything here is called on the loop of the runs."""

    saver: BaseCheckpointSaver[Any]

    async def open(self) -> None:
        """Makes what is missing.

        Raises:
            StoreError: they cannot be kept.
        """
        ...

    async def forget_cut_off(self, run_id: str) -> None:
        """Drops what nodes that were cut off have half written."""
        ...

    async def reclaim(self) -> None:
        """Gives the room of what was deleted back, as far as that can be done beside others."""
        ...

    def busy(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task of the loop may still write."""
        ...

    async def close(self) -> None: ...


def checkpoints(database: Database) -> Checkpoints:
    """Those that belong to a store's database."""
    if isinstance(database, Server):
        return _OnServer(database)
    assert isinstance(database, File)
    return _InFile(database.path.with_name("checkpoints.db"))


def _serde() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=_RECORDS)


async def _alone(connection: Any) -> bool:
    """Takes the lock of those who make the tables, if it is free. A statement that waits for it would
    hold up those who make indexes."""
    asked = await connection.execute("select pg_try_advisory_lock(%s) as mine", (-APPLICATION,))
    return bool((await asked.fetchone())["mine"])


class _OnLoop(SqliteSaver):
    """Writes on the loop itself, as the store does: a short statement takes SQLite less time than
    the way to another thread and back takes, and there are about eighty of them in a run. What all
    runs write in one turn of the loop is committed at its end."""

    _due = False

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        with self.lock:
            self.setup()
            cursor = self.conn.cursor()
            try:
                yield cursor
            finally:
                cursor.close()
                if transaction and not self._due:
                    self._due = True
                    asyncio.get_running_loop().call_soon(self.commit)

    def commit(self) -> None:
        """Makes durable what was written. What that fails for is worked out again by a run that is
        resumed, as if the process had ended a moment before."""
        self._due = False
        try:
            self.conn.commit()
        except sqlite3.Error as error:
            log.error("checkpoints could not be written: %s", error)
            with suppress(sqlite3.Error):
                self.conn.rollback()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)


class _InFile:
    """Checkpoints in a SQLite file."""

    saver: BaseCheckpointSaver[Any]

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        try:
            self._connection = sqlite3.connect(self._path, timeout=30)
            reclaimable(self._connection)
            self.saver = self._own = saver = _OnLoop(self._connection, serde=_serde())
            saver.setup()
            # A power failure may cost the last steps of the graph; what they found is in the store.
            self._connection.execute("pragma synchronous=normal")
        except (OSError, sqlite3.Error) as error:
            raise explained(error, self._path) from error

    async def forget_cut_off(self, run_id: str) -> None:
        assert self._connection
        with self._connection:
            self._connection.execute(_CUT_OFF.format(table="writes", run="?1"), (run_id,))

    async def reclaim(self) -> None:
        self._own.commit()
        await asyncio.to_thread(reclaim, self._path)

    def busy(self, task: asyncio.Task[Any]) -> bool:
        return True

    async def close(self) -> None:
        if hasattr(self, "_own"):
            self._own.commit()
        if self._connection:
            self._connection.close()


class _OnServer:
    """Checkpoints in a PostgreSQL database, with connections of their own."""

    saver: BaseCheckpointSaver[Any]

    def __init__(self, server: Server) -> None:
        self._server = server
        self._saver = server.module("langgraph.checkpoint.postgres.aio").AsyncPostgresSaver
        pools, rows = server.module("psycopg_pool"), server.module("psycopg.rows")
        self._pool = pools.AsyncConnectionPool(
            kwargs={
                **server.arguments,
                "autocommit": True,
                "prepare_threshold": 0,
                "row_factory": rows.dict_row,
            },
            min_size=1,
            max_size=MOST,
            timeout=WAIT,
            name=POOL,
            open=False,
            check=pools.AsyncConnectionPool.check_connection,  # the server may have been restarted
        )

    async def open(self) -> None:
        try:
            await self._pool.open(wait=True, timeout=WAIT)
            self.saver = saver = self._saver(self._pool, serde=_serde())
            async with self._pool.connection() as connection:
                while not await _alone(connection):  # noqa: ASYNC110 - other processes send no word
                    await asyncio.sleep(0.1)
                try:
                    await saver.setup()
                finally:
                    await connection.execute("select pg_advisory_unlock(%s)", (-APPLICATION,))
        except self._server.errors as error:
            raise self._server.explained(error) from error

    async def forget_cut_off(self, run_id: str) -> None:
        async with self._pool.connection() as connection:
            text = _CUT_OFF.format(table="checkpoint_writes", run="%(run)s")
            await connection.execute(text, {"run": run_id})

    async def reclaim(self) -> None:
        """Nothing: that is what the server's autovacuum is for."""

    def busy(self, task: asyncio.Task[Any]) -> bool:
        """All may, but the pool's own: its workers, and what its scheduler waits for, namelessly."""
        waits = getattr(task.get_coro(), "__qualname__", "") == "Event.wait"
        return not waits and not task.get_name().startswith(POOL)

    async def close(self) -> None:
        await self._pool.close()
