"""How often somebody may start paid work. Knows nothing of what is started."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

OWNERS = 10_000  # that are remembered; the one who started nothing for longest is forgotten first
SPAN = 60.0  # seconds


class PaceError(RuntimeError):
    """Too much was started within a minute; `wait` is the seconds until more may be started, `limit`
    how much may be in a minute."""

    def __init__(self, limit: int, wait: int) -> None:
        self.limit = limit
        self.wait = wait
        super().__init__(
            f"SIGHTLINE_STARTS_PER_MINUTE allows {limit} runs to be started within a minute, and as many "
            f"plans to be previewed. Try again in {wait} seconds."
        )


class Pace:
    """Counts what each owner has started within the last minute."""

    def __init__(
        self, limit: int, clock: Callable[[], float] = time.monotonic, most: int = OWNERS
    ) -> None:
        """With a `limit` of 0 everybody may start what they like."""
        self._limit = limit
        self._clock = clock
        self._most = most
        self._started: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, owner: str) -> None:
        """Notes that an owner starts something now.

        Raises:
            PaceError: it would be too much; nothing is noted.
        """
        if not self._limit:
            return
        with self._lock:
            now = self._clock()
            times = self._started.setdefault(owner, deque())
            self._started.move_to_end(owner)
            while times and times[0] <= now - SPAN:
                times.popleft()
            if len(times) >= self._limit:
                raise PaceError(self._limit, max(1, math.ceil(times[0] + SPAN - now)))
            times.append(now)
            while len(self._started) > self._most:
                self._started.popitem(last=False)

    def __len__(self) -> int:
        return len(self._started)
