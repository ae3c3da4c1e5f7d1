"""Keeps one browser from taking the whole server: how many requests, uploads and new connections it
may make. The files of the page itself are not counted, and a busy person with many tabs never
comes near.

Who is signed in is known by that. Any other browser is known by its address and by the cookie that
Streamlit gives it; as it could throw that away each time, an address as a whole has a measure too.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from starlette.requests import cookie_parser

from pages.middleware.access import request_owner, send_refusal
from pages.shared import login

UNLIMITED_PATHS = ("/static/", "/assets/", "/component/")  # files of the page, the same for everybody
UPLOAD_PATH = "/_stcore/upload_file/"
BROWSER_COOKIE = "_streamlit_xsrf"
MAX_CLIENTS = 20_000  # that are remembered; whoever comes back after more has a full measure again
ADDRESS_FACTOR = 10  # browsers that one address may have at their busiest


class RateLimit(NamedTuple):
    """So many at once, and so many a second in the long run."""

    burst: float
    per_second: float


RATE_LIMITS = {"request": RateLimit(600, 20), "upload": RateLimit(5_000, 20), "socket": RateLimit(60, 1)}


class TokenBuckets:
    """How much is left to each client; bounded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, max_clients: int = MAX_CLIENTS) -> None:
        self._clock = clock
        self._max_clients = max_clients
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def take(self, client: str, kind: str, limit: RateLimit) -> float:
        """Takes one; returns how many seconds to wait if there is none, else 0."""
        now, key = self._clock(), (client, kind)
        left, last = self._buckets.pop(key, (limit.burst, now))
        left = min(limit.burst, left + (now - last) * limit.per_second)
        wait = 0.0 if left >= 1 else (1 - left) / limit.per_second
        self._buckets[key] = (left if wait else left - 1, now)
        while len(self._buckets) > self._max_clients:
            self._buckets.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._buckets)


def request_clients(scope: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Who sends a request, and how many times the usual measure that is: somebody who is signed in,
    else a browser and its address."""
    if login.read_config().is_required and (owner := request_owner(scope)):
        return [(f"owner {owner}", 1)]
    address = str((scope.get("client") or ("",))[0])
    lines = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
    cookie = cookie_parser("; ".join(lines)).get(BROWSER_COOKIE, "")[:200]
    return [(f"browser {address} {cookie}", 1), (f"address {address}", ADDRESS_FACTOR)]


def request_kind(scope: Mapping[str, Any]) -> str:
    """What a request counts as; "" if it does not count."""
    if scope["type"] == "websocket":
        return "socket"
    if scope["type"] != "http" or any(part in scope["path"] for part in UNLIMITED_PATHS):
        return ""
    return "upload" if UPLOAD_PATH in scope["path"] else "request"


class RateLimitMiddleware:
    """Answers 429 to a browser that asks too much, and says when to come again."""

    def __init__(self, app: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self.buckets = TokenBuckets(clock)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        what = request_kind(scope)
        wait = self._wait_seconds(scope, what) if what else 0.0
        if not wait:
            await self.app(scope, receive, send)
            return
        after = (b"retry-after", str(math.ceil(wait)).encode())
        if what != "socket":
            await send_refusal(send, 429, b"Too many requests", after)
        elif "websocket.http.response" in scope.get("extensions", {}):
            await send_refusal(send, 429, b"Too many connections", after, message_type="websocket.http.response")
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _wait_seconds(self, scope: Any, kind: str) -> float:
        measure = RATE_LIMITS[kind]
        return max(
            self.buckets.take(client, kind, RateLimit(measure.burst * times, measure.per_second * times))
            for client, times in request_clients(scope)
        )
