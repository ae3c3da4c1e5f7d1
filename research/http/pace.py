"""How often a service may be asked: whoever asks waits for a turn, which counts against no deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from research.core.deadlines import uncounted
from research.core.errors import Trouble
from research.core.records import Say

parts = 1  # processes that ask at the same time: each waits for as many intervals


@dataclass
class Pace:
    """Lets one request begin in an interval (seconds), whichever thread or loop asks: one for the
    process and a service. Where several processes ask, each takes its part of the turns."""

    interval: float
    ticks: Callable[[], float] = time.monotonic
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _next: float = float("-inf")

    def turn(self, most: float, service: str = "the service") -> float:
        """Seconds until the turn that is taken herewith.

        Raises:
            Trouble: that would be more than `most`; no turn is taken.
        """
        with self._lock:
            now = self.ticks()
            begin = max(now, self._next)
            if begin - now > most:
                text = f"{service}: too many searches wait for their turn ({begin - now:.0f} s)"
                raise Trouble("quota", text)
            self._next = begin + self.interval * parts
            return begin - now

    async def waited(self, service: str, say: Say, most: float) -> None:
        """Waits for our own turn.

        Raises:
            Trouble: that would take more than `most` seconds.
        """
        if (wait := self.turn(most, service)) > 0:
            say("queued", stage="search", what=service, over=False)
            with uncounted():
                await self.pause(wait)
            say("queued", stage="search", what=service, over=True)
