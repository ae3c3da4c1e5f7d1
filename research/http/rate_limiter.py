"""How often a service may be asked: whoever asks waits for a turn, which counts against no deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from research.core.deadlines import pause_deadlines
from research.core.errors import ServiceError
from research.core.records import EventEmitter

process_count = 1  # processes that ask at the same time: each waits for as many intervals


@dataclass
class RateLimiter:
    """Lets one request begin in an interval (seconds), whichever thread or loop asks: one for the
    process and a service. Where several processes ask, each takes its part of the turns."""

    interval_seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next_slot: float = float("-inf")

    def reserve(self, max_wait_seconds: float, service: str = "the service") -> float:
        """Seconds until the turn that is taken herewith.

        Raises:
            Trouble: that would be more than `most`; no turn is taken.
        """
        with self._lock:
            now = self.clock()
            begin = max(now, self._next_slot)
            if begin - now > max_wait_seconds:
                text = f"{service}: too many searches wait for their turn ({begin - now:.0f} s)"
                raise ServiceError("quota", text)
            self._next_slot = begin + self.interval_seconds * process_count
            return begin - now

    async def acquire(self, service: str, emit: EventEmitter, max_wait_seconds: float) -> None:
        """Waits for our own turn.

        Raises:
            Trouble: that would take more than `most` seconds.
        """
        if (wait := self.reserve(max_wait_seconds, service)) > 0:
            emit("queued", stage="search", what=service, over=False)
            with pause_deadlines():
                await self.sleep(wait)
            emit("queued", stage="search", what=service, over=True)
