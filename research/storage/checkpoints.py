"""Where the graph keeps its checkpoints: beside the file of the store, or on its server."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from research.storage.databases import Database, File
from research.storage.files import (
    APPLICATION,
    StoreError,
    explained,
    private_file,
    reclaim,
    reclaimable,
    shut,
)
from research.storage.postgres import WAIT, Server

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from research.storage.saver import FileSaver

MOST = 16  # connections to a server at once
POOL = "sightline-checkpoints"
# A node cancelled between its return and the note of where to go next leaves its writes beside an
# error. A resumed graph would take it for finished, and end there.
_CUT_OFF = (
    "delete from {table} where thread_id={run} and (checkpoint_ns, checkpoint_id, task_id) in "
    "(select checkpoint_ns, checkpoint_id, task_id from {table} "
    "where thread_id={run} and channel='__error__')"
)


class Checkpoints(Protocol):
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


async def _alone(connection: Any) -> bool:
    """Takes the lock of those who make the tables, if it is free. A statement that waits for it would
    hold up those who make indexes."""
    asked = await connection.execute("select pg_try_advisory_lock(%s) as mine", (-APPLICATION,))
    return bool((await asked.fetchone())["mine"])


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """Raise what SQLite complains of as a trouble of this file, with what can be done about it.

    Raises:
        StoreError: the file cannot be used.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        found = explained(error, path)
        if found.trouble == "corrupt":
            lost = (
                "without this file unfinished runs start over, and finished ones stay as they are"
            )
            found = StoreError("corrupt", path, f"{found.detail}; {lost}")
        raise found from error


class _InFile:
    """Checkpoints in a SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._saver: FileSaver | None = None

    async def open(self) -> None:
        with told_of(self._path):
            private_file(self._path)
            shut(self._path)
            self._connection = sqlite3.connect(self._path, timeout=30)
            reclaimable(self._connection)
            self._connection.execute("pragma journal_mode=wal")
            # A power failure may cost the last steps of the graph; what they found is in the store.
            self._connection.execute("pragma synchronous=normal")
            self._connection.execute("select count(*) from sqlite_master")  # damage shows here

    async def saver(self) -> FileSaver:
        """As it stands in the protocol; all of it happens in one turn of the loop."""
        if self._saver is None:
            from research.storage.saver import FileSaver

            assert self._connection
            saver = FileSaver(self._path, self._connection)
            with told_of(self._path):
                saver.setup()
            self._saver = saver
        return self._saver

    async def forget_cut_off(self, run_id: str) -> None:
        await self.saver()
        assert self._connection
        with told_of(self._path), self._connection:
            self._connection.execute(_CUT_OFF.format(table="writes", run="?1"), (run_id,))

    async def reclaim(self) -> None:
        if self._saver:
            self._saver.commit()
        await asyncio.to_thread(reclaim, self._path)

    def busy(self, task: asyncio.Task[Any]) -> bool:
        return True

    async def close(self) -> None:
        if self._saver:
            self._saver.commit()
        if self._connection:
            self._connection.close()


class _OnServer:
    """Checkpoints in a PostgreSQL database, with connections of their own."""

    _saver: BaseCheckpointSaver[Any]

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kind = server.module("langgraph.checkpoint.postgres.aio").AsyncPostgresSaver
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
        from research.storage.saver import serde

        try:
            await self._pool.open(wait=True, timeout=WAIT)
            self._saver = saver = self._kind(self._pool, serde=serde())
            async with self._pool.connection() as connection:
                while not await _alone(connection):  # noqa: ASYNC110 - other processes send no word
                    await asyncio.sleep(0.1)
                try:
                    await saver.setup()
                finally:
                    await connection.execute("select pg_advisory_unlock(%s)", (-APPLICATION,))
        except self._server.errors as error:
            raise self._server.explained(error) from error

    async def saver(self) -> BaseCheckpointSaver[Any]:
        return self._saver

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
