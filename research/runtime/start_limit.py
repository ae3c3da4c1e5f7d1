"""The limit on the starts of paid work by an owner within a minute."""

from __future__ import annotations

import math

from research.http.rate_limiter import RateLimiter


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


def count_start(limiter: RateLimiter, owner: str) -> None:
    """Count a start of an owner.

    Raises:
        RateLimitError: the limit is reached; nothing is counted.
    """
    if (wait := limiter.reserve(0, owner)) > 0:
        raise RateLimitError(limiter.max_starts, math.ceil(wait))


def check_start(limiter: RateLimiter, owner: str) -> None:
    """Check that another start is allowed, without counting one.

    Raises:
        RateLimitError: the limit is reached.
    """
    if (wait := limiter.wait_seconds(owner)) > 0:
        raise RateLimitError(limiter.max_starts, math.ceil(wait))
