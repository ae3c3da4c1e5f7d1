"""How often and how many at once: one limiter for each provider of the process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Rest:
    """When a model may be asked again: a quota that is used up is not asked for in vain."""

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self, seconds: float) -> None:
        self._until = asyncio.get_running_loop().time() + seconds

    @property
    def left(self) -> float:
        """Seconds until then; 0 if it may be asked now."""
        return max(0.0, self._until - asyncio.get_running_loop().time())


class Limiter:
    """Lets `concurrency` requests run at once and `per_minute` begin in a minute (0: any number).

    The minute is any stretch of 60 s, as quotas are counted: a leaky bucket would let twice as many
    begin in its first one.
    """

    def __init__(self, concurrency: int, per_minute: int = 0, *, minute: float = 60.0) -> None:
        self._turns = asyncio.Semaphore(concurrency)
        self._minute = minute
        self._begun: deque[float] = deque(maxlen=per_minute)
        self._next = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A turn, as soon as there is one."""
        async with self._turns:
            if self._begun.maxlen:
                await self._begin()
            yield

    async def _begin(self) -> None:
        now = asyncio.get_running_loop().time
        async with self._next:
            if len(self._begun) == self._begun.maxlen:
                await asyncio.sleep(self._begun[0] + self._minute - now())
            self._begun.append(now())
