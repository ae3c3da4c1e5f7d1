"""Batching of the writes of one loop iteration into one transaction.

When many runs write at the same moment, a transaction for each would take longer than the writes.
This module is independent of what is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from research.storage.databases import StoreDatabase

_T = TypeVar("_T")


def _do_nothing() -> None:
    pass


class WriteBatcher:
    """Collects writes and executes them in the order of their calls. Used on one loop."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._queue: list[tuple[Callable[[], Any], Callable[[], None], asyncio.Future[Any]]] = []

    def add(self, write: Callable[[], _T], on_committed: Callable[[], None] = _do_nothing) -> asyncio.Future[_T]:
        """Queue a write and return a future of its result, which is set after the commit.

        `on_committed` is called right after the commit, before other work on the loop. If the write
        fails, the future has the exception.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        if not self._queue:
            loop.call_soon(self.flush)
        self._queue.append((write, on_committed, future))
        return future

    def write_now(self, write: Callable[[], _T], on_committed: Callable[[], None] = _do_nothing) -> _T:
        """Execute a write at once, after those that are queued."""
        self.flush()
        result = write()
        on_committed()
        return result

    def flush(self) -> None:
        """Execute all queued writes in one transaction; if it fails, each in its own."""
        queue, self._queue = self._queue, []
        if not queue:
            return
        try:
            with self._database.transaction():
                results = [write() for write, _, _ in queue]
        except Exception as error:  # noqa: BLE001 - passed to the waiting caller
            if len(queue) == 1:
                _set_error(queue[0][2], error)
            else:
                for entry in queue:
                    self._write_one(*entry)
            return
        for (_, on_committed, future), result in zip(queue, results, strict=True):
            on_committed()
            if not future.done():  # a cancelled caller no longer waits
                future.set_result(result)

    def _write_one(self, write: Callable[[], _T], on_committed: Callable[[], None], future: asyncio.Future[_T]) -> None:
        try:
            result = write()
        except Exception as error:  # noqa: BLE001 - passed to the waiting caller
            _set_error(future, error)
            return
        on_committed()
        if not future.done():
            future.set_result(result)


def _set_error(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # marks the exception as retrieved: asyncio would log it if nobody waits
