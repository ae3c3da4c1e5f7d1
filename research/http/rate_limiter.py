"""Rate limiter: at most so many starts within any interval. Waiting counts against no deadline.

Other limits are of another kind and have other names: `models.request_limits` also limits requests
at the same time, the web server's token buckets refuse bursts of a browser, and the daily quota of
map searches is counted in the store.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from research.core.deadlines import pause_deadlines
from research.core.errors import ServiceError
from research.core.events import EventEmitter, RateLimitWait

MAX_KEYS = 10_000  # keys remembered; the one whose last start is longest ago is forgotten first
process_count = 1  # processes that share the services' limits


@dataclass
class RateLimiter:
    """Allows `max_starts` starts within any interval (seconds), for each key; "" is one key as well.

    It works across the threads and event loops of the process. `max_starts` of 0 is no limit. With
    `is_shared`, several processes share the allowance: the interval is multiplied by their number.
    """

    interval_seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    max_starts: int = 1
    max_keys: int = MAX_KEYS
    is_shared: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _starts: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)

    def wait_seconds(self, key: str = "") -> float:
        """Return the seconds until the next start is allowed."""
        starts = self._starts.get(key, ())
        if not starts or len(starts) < self.max_starts:
            return 0.0
        interval = self.interval_seconds * (process_count if self.is_shared else 1)
        return max(0.0, starts[0] + interval - self.clock())

    def reserve(self, max_wait_seconds: float, key: str = "") -> float:
        """Reserve the next start and return the seconds until it.

        If they exceed `max_wait_seconds`, nothing is reserved.
        """
        if not self.max_starts:
            return 0.0
        with self._lock:
            wait = self.wait_seconds(key)
            if wait <= max_wait_seconds:
                starts = self._starts.setdefault(key, deque(maxlen=self.max_starts))
                starts.append(self.clock() + wait)
                self._starts.move_to_end(key)
            while len(self._starts) > self.max_keys:
                self._starts.popitem(last=False)
            return wait

    async def acquire(self, service: str, emit: EventEmitter, max_wait_seconds: float) -> None:
        """Wait for the next start and emit a `RateLimitWait` before and after the wait.

        Raises:
            ServiceError: The wait would exceed `max_wait_seconds`.
        """
        wait = self.reserve(max_wait_seconds)
        if wait > max_wait_seconds:
            raise ServiceError("quota", f"{service}: too many searches wait for their turn ({wait:.0f} s)")
        if wait > 0:
            emit(RateLimitWait(stage="search", service=service, is_over=False))
            with pause_deadlines():
                await self.sleep(wait)
            emit(RateLimitWait(stage="search", service=service, is_over=True))

    def __len__(self) -> int:
        """Return the number of keys remembered."""
        return len(self._starts)
