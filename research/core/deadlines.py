"""Deadlines that pause while the application itself holds a request back.

Waiting for a rate limit of our own must not count as a time-out of the service: `pause_deadlines`
stops every countdown around it. The countdowns of a task are held in its context, so that the
waiting code need not know who set a deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

_countdowns: ContextVar[tuple[Countdown, ...]] = ContextVar("countdowns", default=())


class Countdown:
    """A countdown in seconds that can be paused, by several callers at once."""

    def __init__(self, seconds: float, timeout: asyncio.Timeout | None = None) -> None:
        self._ends_at = loop_time() + seconds
        self._timeout = timeout
        self._paused_at = 0.0
        self._pause_count = 0

    @property
    def remaining_seconds(self) -> float:
        """Seconds left; negative after the end."""
        return self._ends_at - (self._paused_at if self._pause_count else loop_time())

    def pause(self) -> None:
        """Pause the countdown; several pauses may overlap."""
        if not self._pause_count:
            self._paused_at = loop_time()
            self._reschedule(None)
        self._pause_count += 1

    def resume(self) -> None:
        """End one pause; the countdown runs again after the last one."""
        self._pause_count -= 1
        if not self._pause_count:
            self._ends_at += loop_time() - self._paused_at
            self._reschedule(self._ends_at)

    def _reschedule(self, when: float | None) -> None:
        if self._timeout and not self._timeout.expired():
            self._timeout.reschedule(when)

    def detach_timeout(self) -> None:
        """Detach the ended timeout, because background tasks may still pause and resume the countdown."""
        self._timeout = None


def loop_time() -> float:
    """Return the time of the running event loop in seconds."""
    return asyncio.get_running_loop().time()


@contextmanager
def count_down(seconds: float, timeout: asyncio.Timeout | None = None) -> Iterator[Countdown]:
    """Run a countdown for the block. It reports the remaining time and cancels nothing."""
    countdown = Countdown(seconds, timeout)
    token = _countdowns.set((*_countdowns.get(), countdown))
    try:
        yield countdown
    finally:
        countdown.detach_timeout()
        _countdowns.reset(token)


@asynccontextmanager
async def deadline(seconds: float) -> AsyncIterator[Countdown]:
    """Cancel the block with a TimeoutError after `seconds`, not counting pauses."""
    async with asyncio.timeout(seconds) as timeout:
        with count_down(seconds, timeout) as countdown:
            yield countdown


@contextmanager
def pause_deadlines() -> Iterator[None]:
    """Pause every enclosing deadline for the duration of the block."""
    countdowns = _countdowns.get()
    for countdown in countdowns:
        countdown.pause()
    try:
        yield
    finally:
        for countdown in countdowns:
            countdown.resume()
