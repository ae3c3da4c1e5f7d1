"""Deadlines that run only while somebody else is waited for.

A desk that holds its own requests back, to keep to a quota, must not call that a time-out of the
service: `uncounted` stops every clock around it. The clocks of a task are those of its context, so
that whoever waits need not know who set a deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

_clocks: ContextVar[tuple[Clock, ...]] = ContextVar("clocks", default=())


class Clock:
    """Seconds that run down, and stand still while any part of the work waits for its turn."""

    def __init__(self, seconds: float, alarm: asyncio.Timeout | None = None) -> None:
        self._end = _now() + seconds
        self._alarm = alarm
        self._stopped = 0.0
        self._waits = 0

    @property
    def left(self) -> float:
        """How many are left; less than 0 when they are over."""
        return self._end - (self._stopped if self._waits else _now())

    def stop(self) -> None:
        if not self._waits:
            self._stopped = _now()
            self._set(None)
        self._waits += 1

    def go(self) -> None:
        self._waits -= 1
        if not self._waits:
            self._end += _now() - self._stopped
            self._set(self._end)

    def _set(self, when: float | None) -> None:
        if self._alarm and not self._alarm.expired():
            self._alarm.reschedule(when)

    def mute(self) -> None:
        """Its deadline is over with; whoever was left behind may still stop and start it."""
        self._alarm = None


def _now() -> float:
    return asyncio.get_running_loop().time()


@contextmanager
def counted(seconds: float, alarm: asyncio.Timeout | None = None) -> Iterator[Clock]:
    """A clock for what happens inside. It tells how much is left and ends nothing by itself."""
    clock = Clock(seconds, alarm)
    token = _clocks.set((*_clocks.get(), clock))
    try:
        yield clock
    finally:
        clock.mute()
        _clocks.reset(token)


@asynccontextmanager
async def deadline(seconds: float) -> AsyncIterator[Clock]:
    """As `asyncio.timeout`: what is not done after these seconds is cancelled with a TimeoutError."""
    async with asyncio.timeout(seconds) as alarm:
        with counted(seconds, alarm) as clock:
            yield clock


@contextmanager
def uncounted() -> Iterator[None]:
    """What is waited for in here counts against no deadline around it."""
    clocks = _clocks.get()
    for clock in clocks:
        clock.stop()
    try:
        yield
    finally:
        for clock in clocks:
            clock.go()
