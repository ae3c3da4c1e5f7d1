"""The SQLite checkpoint saver of the graph.

It is imported with the first run, because importing LangGraph is slow.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from research import records as former_records
from research.core import records
from research.storage.checkpoints import convert_sqlite_errors

log = logging.getLogger(__name__)

_RECORDS = [value for value in vars(records).values() if isinstance(value, type) and issubclass(value, records.Record)]
_RECORD_NAMES = [record.__name__ for record in _RECORDS]
# Checkpoints of earlier versions hold the former names of the records and of their module.
_RECORD_TYPES = [
    *((record.__module__, record.__name__) for record in _RECORDS),
    *((records.__name__, name) for name in _RECORD_NAMES),
    *((former_records.__name__, name) for name in (*_RECORD_NAMES, *former_records.FORMER_NAMES)),
]


def checkpoint_serializer() -> JsonPlusSerializer:
    """Create the serializer of graph states, which deserialises only this program's records."""
    return JsonPlusSerializer(allowed_msgpack_modules=_RECORD_TYPES)


class FileCheckpointSaver(SqliteSaver):
    """A saver that writes on the loop itself.

    A short SQLite statement takes less time than switching to a thread and back, and a run has
    about eighty. All writes of one loop iteration are committed at its end.
    """

    _commit_scheduled = False

    def __init__(self, path: Path, conn: sqlite3.Connection) -> None:
        super().__init__(conn, serde=checkpoint_serializer())
        self._path = path

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Open a cursor on the file.

        Raises:
            StoreError: the file cannot be used.
        """
        with self.lock, convert_sqlite_errors(self._path):
            self.setup()
            cursor = self.conn.cursor()
            try:
                yield cursor
            finally:
                cursor.close()
                if transaction and not self._commit_scheduled:
                    self._commit_scheduled = True
                    asyncio.get_running_loop().call_soon(self.commit)

    def commit(self) -> None:
        """Commit pending writes. If that fails, a resumed run repeats the lost steps."""
        self._commit_scheduled = False
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
