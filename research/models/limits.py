"""How often and how many at once: one limiter for each provider of the process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from research.core.deadlines import uncounted
from research.core.records import Hint


class Rest:
    """When a model may be asked again, and what its service said and could help: a quota that is used
    up is not asked for in vain."""

    def __init__(self) -> None:
        self._until = 0.0
        self.message = ""
        self.hint: Hint = ""

    def begin(self, seconds: float, message: str, hint: Hint = "") -> None:
        self._until = asyncio.get_running_loop().time() + seconds
        self.message, self.hint = message, hint

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
    async def turn(self, tell: Callable[[bool], None] = lambda waits: None) -> AsyncIterator[None]:
        """A turn, as soon as there is one. Waiting for it counts against no deadline.

        `tell` hears True when there is none yet and False when it has come.
        """
        async with AsyncExitStack() as held:
            if waits := self._busy():
                tell(True)
            with uncounted():
                await held.enter_async_context(self._turns)
                if self._begun.maxlen:
                    await self._begin()
            if waits:
                tell(False)
            yield

    async def give_way(self) -> None:
        """Lets those who wait send their requests before anything else is done. Whoever is woken takes
        a few turns of the loop until then."""
        for _ in range(3):
            if not self._turns.locked():
                return
            await asyncio.sleep(0)

    def _busy(self) -> bool:
        return self._turns.locked() or self._next.locked() or self._pause() > 0

    def _pause(self) -> float:
        """Seconds until one more may begin."""
        if not self._begun or len(self._begun) < (self._begun.maxlen or 0):
            return 0.0
        return self._begun[0] + self._minute - asyncio.get_running_loop().time()

    async def _begin(self) -> None:
        async with self._next:
            if (pause := self._pause()) > 0:
                await asyncio.sleep(pause)
            self._begun.append(asyncio.get_running_loop().time())
