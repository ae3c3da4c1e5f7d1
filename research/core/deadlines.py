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

_countdowns: ContextVar[tuple[Countdown, ...]] = ContextVar("clocks", default=())


class Countdown:
    """Seconds that run down, and stand still while any part of the work waits for its turn."""

    def __init__(self, seconds: float, timeout: asyncio.Timeout | None = None) -> None:
        self._ends_at = _loop_time() + seconds
        self._timeout = timeout
        self._paused_at = 0.0
        self._pause_count = 0

    @property
    def remaining_seconds(self) -> float:
        """How many are left; less than 0 when they are over."""
        return self._ends_at - (self._paused_at if self._pause_count else _loop_time())

    def pause(self) -> None:
        if not self._pause_count:
            self._paused_at = _loop_time()
            self._reschedule(None)
        self._pause_count += 1

    def resume(self) -> None:
        self._pause_count -= 1
        if not self._pause_count:
            self._ends_at += _loop_time() - self._paused_at
            self._reschedule(self._ends_at)

    def _reschedule(self, when: float | None) -> None:
        if self._timeout and not self._timeout.expired():
            self._timeout.reschedule(when)

    def detach_timeout(self) -> None:
        """Its deadline is over with; whoever was left behind may still stop and start it."""
        self._timeout = None


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


@contextmanager
def count_down(seconds: float, timeout: asyncio.Timeout | None = None) -> Iterator[Countdown]:
    """A clock for what happens inside. It tells how much is left and ends nothing by itself."""
    clock = Countdown(seconds, timeout)
    token = _countdowns.set((*_countdowns.get(), clock))
    try:
        yield clock
    finally:
        clock.detach_timeout()
        _countdowns.reset(token)


@asynccontextmanager
async def deadline(seconds: float) -> AsyncIterator[Countdown]:
    """As `asyncio.timeout`: what is not done after these seconds is cancelled with a TimeoutError."""
    async with asyncio.timeout(seconds) as alarm:
        with count_down(seconds, alarm) as clock:
            yield clock


@contextmanager
def pause_deadlines() -> Iterator[None]:
    """What is waited for in here counts against no deadline around it."""
    clocks = _countdowns.get()
    for clock in clocks:
        clock.pause()
    try:
        yield
    finally:
        for clock in clocks:
            clock.resume()
