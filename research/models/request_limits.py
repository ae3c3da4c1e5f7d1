"""Limits of concurrent requests and of requests per minute: one limiter per provider."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from research.core.deadlines import loop_time, pause_deadlines
from research.core.records import FailureHint
from research.http.rate_limiter import RateLimiter


class Cooldown:
    """The wait until a model may be called again, with the service's message and hint."""

    def __init__(self) -> None:
        self._ends_at = 0.0
        self.message = ""
        self.hint: FailureHint = ""

    def start(self, seconds: float, message: str, hint: FailureHint = "") -> None:
        """Start a wait of some seconds."""
        self._ends_at = loop_time() + seconds
        self.message, self.hint = message, hint

    @property
    def remaining_seconds(self) -> float:
        """Seconds left; 0 if a call is allowed."""
        return max(0.0, self._ends_at - loop_time())


class RequestLimiter:
    """Limits concurrent requests to `concurrency` and starts to `per_minute` (0: no limit).

    The minute is any window of 60 s, as quotas are counted: a leaky bucket would let twice as many
    start in its first minute.
    """

    def __init__(self, concurrency: int, per_minute: int = 0, *, window_seconds: float = 60.0) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._starts = RateLimiter(window_seconds, loop_time, max_starts=per_minute)
        self._start_lock = asyncio.Lock()  # a cancelled call leaves its start to the next one

    @asynccontextmanager
    async def acquire(self, on_wait: Callable[[bool], None] = lambda is_waiting: None) -> AsyncIterator[None]:
        """Hold a slot for the block. Waiting for it counts against no deadline.

        If there is a wait, `on_wait` is called with True before it and with False after it.
        """
        async with AsyncExitStack() as stack:
            if must_wait := self._is_busy():
                on_wait(True)
            with pause_deadlines():
                await stack.enter_async_context(self._slots)
                async with self._start_lock:
                    if (wait := self._starts.wait_seconds()) > 0:
                        await asyncio.sleep(wait)
                    self._starts.reserve(math.inf)
            if must_wait:
                on_wait(False)
            yield

    async def yield_to_waiters(self) -> None:
        """Let waiting calls send their requests first. A woken task needs a few iterations of the
        event loop for that."""
        for _ in range(3):
            if not self._slots.locked():
                return
            await asyncio.sleep(0)

    def _is_busy(self) -> bool:
        return self._slots.locked() or self._start_lock.locked() or self._starts.wait_seconds() > 0
