"""Rate limit on starting paid work, by owner."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

MAX_OWNERS = 10_000  # owners remembered; the one whose last start is longest ago is forgotten first
WINDOW_SECONDS = 60.0


class RateLimitError(RuntimeError):
    """The limit on starts was exceeded.

    `limit` is the number of starts allowed within a minute, `wait_seconds` the time until the next.
    """

    def __init__(self, limit: int, wait_seconds: int) -> None:
        self.limit = limit
        self.wait_seconds = wait_seconds
        super().__init__(
            f"SIGHTLINE_STARTS_PER_MINUTE allows {limit} runs to be started within a minute, and as many "
            f"plans to be previewed. Try again in {wait_seconds} seconds."
        )


class StartRateLimiter:
    """Counts the starts of each owner within the last minute."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic, max_owners: int = MAX_OWNERS) -> None:
        """Set the number of starts within a minute; 0 is no limit."""
        self._limit = limit
        self._clock = clock
        self._max_owners = max_owners
        self._start_times: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def record_start(self, owner: str) -> None:
        """Record that an owner starts something now.

        Raises:
            RateLimitError: the limit is reached; nothing is recorded.
        """
        if not self._limit:
            return
        with self._lock:
            now = self._clock()
            times = self._start_times.setdefault(owner, deque())
            self._start_times.move_to_end(owner)
            while times and times[0] <= now - WINDOW_SECONDS:
                times.popleft()
            if len(times) >= self._limit:
                raise RateLimitError(self._limit, max(1, math.ceil(times[0] + WINDOW_SECONDS - now)))
            times.append(now)
            while len(self._start_times) > self._max_owners:
                self._start_times.popitem(last=False)

    def __len__(self) -> int:
        return len(self._start_times)
