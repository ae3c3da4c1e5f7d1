"""Rate limiter: requests to a service wait for a slot, and waiting counts against no deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from research.core.deadlines import pause_deadlines
from research.core.errors import ServiceError
from research.core.events import RateLimitWait
from research.core.records import EventEmitter

process_count = 1  # processes that share the limit; each waits that many intervals


@dataclass
class RateLimiter:
    """Starts one request per interval (seconds), across the threads and event loops of the process.

    Use one limiter for each service. With several processes the interval is multiplied by their
    number.
    """

    interval_seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next_slot: float = float("-inf")

    def reserve(self, max_wait_seconds: float, service: str = "the service") -> float:
        """Reserve the next slot and return the seconds until it.

        Raises:
            ServiceError: The wait would exceed `max_wait_seconds`; no slot is reserved.
        """
        with self._lock:
            now = self.clock()
            slot = max(now, self._next_slot)
            if slot - now > max_wait_seconds:
                text = f"{service}: too many searches wait for their turn ({slot - now:.0f} s)"
                raise ServiceError("quota", text)
            self._next_slot = slot + self.interval_seconds * process_count
            return slot - now

    async def acquire(self, service: str, emit: EventEmitter, max_wait_seconds: float) -> None:
        """Wait for the next slot and emit a `RateLimitWait` before and after the wait.

        Raises:
            ServiceError: The wait would exceed `max_wait_seconds`.
        """
        if (wait := self.reserve(max_wait_seconds, service)) > 0:
            emit(RateLimitWait(stage="search", service=service, is_over=False))
            with pause_deadlines():
                await self.sleep(wait)
            emit(RateLimitWait(stage="search", service=service, is_over=True))
