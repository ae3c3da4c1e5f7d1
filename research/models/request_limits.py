"""How often and how many at once: one limiter for each provider of the process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from research.core.deadlines import pause_deadlines
from research.core.records import FailureHint


class Cooldown:
    """When a model may be asked again, and what its service said and could help: a quota that is used
    up is not asked for in vain."""

    def __init__(self) -> None:
        self._ends_at = 0.0
        self.message = ""
        self.hint: FailureHint = ""

    def start(self, seconds: float, message: str, hint: FailureHint = "") -> None:
        self._ends_at = asyncio.get_running_loop().time() + seconds
        self.message, self.hint = message, hint

    @property
    def remaining_seconds(self) -> float:
        """Seconds until then; 0 if it may be asked now."""
        return max(0.0, self._ends_at - asyncio.get_running_loop().time())


class RequestLimiter:
    """Lets `concurrency` requests run at once and `per_minute` begin in a minute (0: any number).

    The minute is any stretch of 60 s, as quotas are counted: a leaky bucket would let twice as many
    begin in its first one.
    """

    def __init__(self, concurrency: int, per_minute: int = 0, *, window_seconds: float = 60.0) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._window_seconds = window_seconds
        self._start_times: deque[float] = deque(maxlen=per_minute)
        self._start_lock = asyncio.Lock()

    @asynccontextmanager
    async def acquire(self, on_wait: Callable[[bool], None] = lambda waits: None) -> AsyncIterator[None]:
        """A turn, as soon as there is one. Waiting for it counts against no deadline.

        `tell` hears True when there is none yet and False when it has come.
        """
        async with AsyncExitStack() as held:
            if waits := self._is_busy():
                on_wait(True)
            with pause_deadlines():
                await held.enter_async_context(self._slots)
                if self._start_times.maxlen:
                    await self._wait_and_start()
            if waits:
                on_wait(False)
            yield

    async def yield_to_waiters(self) -> None:
        """Lets those who wait send their requests before anything else is done. Whoever is woken takes
        a few turns of the loop until then."""
        for _ in range(3):
            if not self._slots.locked():
                return
            await asyncio.sleep(0)

    def _is_busy(self) -> bool:
        return self._slots.locked() or self._start_lock.locked() or self._pause_seconds() > 0

    def _pause_seconds(self) -> float:
        """Seconds until one more may begin."""
        if not self._start_times or len(self._start_times) < (self._start_times.maxlen or 0):
            return 0.0
        return self._start_times[0] + self._window_seconds - asyncio.get_running_loop().time()

    async def _wait_and_start(self) -> None:
        async with self._start_lock:
            if (pause := self._pause_seconds()) > 0:
                await asyncio.sleep(pause)
            self._start_times.append(asyncio.get_running_loop().time())
