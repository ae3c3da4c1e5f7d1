"""One asyncio loop in one daemon thread: where the runs of a process and their clients live."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

log = logging.getLogger(__name__)

_T = TypeVar("_T")


class EventLoopThread:
    """A loop that other threads give work to."""

    def __init__(self, name: str) -> None:
        self.asyncio_loop = _new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run_forever, name=name, daemon=True)
        self._thread.start()

    def _run_forever(self) -> None:
        asyncio.set_event_loop(self.asyncio_loop)
        self.asyncio_loop.run_forever()

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs something on the loop and waits for it. Not to be called on the loop itself."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.asyncio_loop).result()

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Starts something on the loop and does not wait; its failure is logged."""
        self.call_soon(self.start_task, coroutine)

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """The same, called on the loop."""
        self._tasks.add(task := self.asyncio_loop.create_task(_log_errors(coroutine)))
        task.add_done_callback(self._tasks.discard)

    def call_soon(self, callback: Callable[..., object], *arguments: object) -> None:
        """Calls something on the loop, after what it is at."""
        self.asyncio_loop.call_soon_threadsafe(callback, *arguments)

    @property
    def is_closed(self) -> bool:
        return self.asyncio_loop.is_closed()

    def close(self, final: Coroutine[Any, Any, None], timeout_seconds: float = 10) -> None:
        """Runs something to its end, then stops the loop, its thread and those that work for it."""
        asyncio.run_coroutine_threadsafe(final, self.asyncio_loop).result(timeout=timeout_seconds)
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._cancel_tasks(), self.asyncio_loop).result(timeout=5)
        self.call_soon(self.asyncio_loop.stop)
        self._thread.join(timeout=5)
        self.asyncio_loop.close()

    async def _cancel_tasks(self) -> None:
        """Ends what is left on the loop: a call that is cut off closes its connection, and a thread
        that ends closes its files, of which the last to close one still writes in it."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.asyncio_loop.shutdown_asyncgens()
        await self.asyncio_loop.shutdown_default_executor()
        await asyncio.sleep(0)  # connections that were closed just now are gone in the next turn


async def _log_errors(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        await coroutine
    except Exception:
        log.exception("a task in the background failed")


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop where there is one: it takes a fifth off the processor time of a run."""
    try:
        import uvloop
    except ImportError:  # Windows has none
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
