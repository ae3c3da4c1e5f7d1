"""What is to be written in one turn of a loop, written in one transaction at its end.

When many runs reach the same point in the same moment, a transaction for each would take longer than
what is written in it. Knows nothing of what is stored.
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
    """Gathers what is to be written. Used on one loop, in the order in which it is called."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._queue: list[tuple[Callable[[], Any], Callable[[], None], asyncio.Future[Any]]] = []

    def add(self, write: Callable[[], _T], on_committed: Callable[[], None] = _do_nothing) -> asyncio.Future[_T]:
        """Writes something soon; what comes of it, once it is durable. `kept` is called then at once,
        before anything else on the loop. If it cannot be written, the future says why."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        if not self._queue:
            loop.call_soon(self.flush)
        self._queue.append((write, on_committed, future))
        return future

    def write_now(self, write: Callable[[], _T], on_committed: Callable[[], None] = _do_nothing) -> _T:
        """Writes something at once, after what came before it."""
        self.flush()
        result = write()
        on_committed()
        return result

    def flush(self) -> None:
        """Writes all that waits. If that fails, each by itself: one must not cost the others."""
        queue, self._queue = self._queue, []
        if not queue:
            return
        try:
            with self._database.transaction():
                results = [act() for act, _, _ in queue]
        except Exception as error:  # noqa: BLE001 - it goes to who waits for it
            if len(queue) == 1:
                _set_error(queue[0][2], error)
            else:
                for one in queue:
                    self._write_one(*one)
            return
        for (_, kept, future), result in zip(queue, results, strict=True):
            kept()
            if not future.done():  # nobody may wait for it any more
                future.set_result(result)

    def _write_one(self, write: Callable[[], _T], on_committed: Callable[[], None], future: asyncio.Future[_T]) -> None:
        try:
            result = write()
        except Exception as error:  # noqa: BLE001 - it goes to who waits for it
            _set_error(future, error)
            return
        on_committed()
        if not future.done():
            future.set_result(result)


def _set_error(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # who does not wait for it has nothing to be told
