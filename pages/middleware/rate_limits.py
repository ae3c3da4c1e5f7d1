"""Rate limits for requests, uploads and new connections, so that no browser occupies the server.

Static files are not counted, and the limits are far above what one person with many tabs needs.

A signed-in client is identified by its owner id. Any other browser is identified by its address
and Streamlit's cookie; as it could discard the cookie each time, the address has a limit too.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from starlette.requests import HTTPConnection

from pages.middleware.access import refusal, request_owner
from pages.shared import login

UNLIMITED_PATHS = ("/static/", "/assets/", "/component/")  # static files
UPLOAD_PATH = "/_stcore/upload_file/"
BROWSER_COOKIE = "_streamlit_xsrf"
MAX_CLIENTS = 20_000  # remembered; a forgotten client starts with a full bucket
ADDRESS_FACTOR = 10  # times the limit of one browser


class RateLimit(NamedTuple):
    """Size and refill rate of a token bucket, in requests and requests per second."""

    burst: float
    per_second: float


RATE_LIMITS = {"request": RateLimit(600, 20), "upload": RateLimit(5_000, 20), "socket": RateLimit(60, 1)}


class TokenBuckets:
    """Token buckets by client and kind of request, for at most `max_clients` entries."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, max_clients: int = MAX_CLIENTS) -> None:
        self._clock = clock
        self._max_clients = max_clients
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def take(self, client: str, kind: str, limit: RateLimit) -> float:
        """Take one token. Return 0, or the seconds to wait if the bucket is empty."""
        now, key = self._clock(), (client, kind)
        tokens, last = self._buckets.pop(key, (limit.burst, now))
        tokens = min(limit.burst, tokens + (now - last) * limit.per_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / limit.per_second
        self._buckets[key] = (tokens if wait else tokens - 1, now)
        while len(self._buckets) > self._max_clients:
            self._buckets.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._buckets)


def request_clients(scope: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the client ids that a request counts for, each with the factor of its limit.

    These are the signed-in owner, or else the browser and its address.
    """
    if login.read_config().is_required and (owner := request_owner(scope)):
        return [(f"owner {owner}", 1)]
    address = str((scope.get("client") or ("",))[0])
    cookie = HTTPConnection(scope).cookies.get(BROWSER_COOKIE, "")[:200]
    return [(f"browser {address} {cookie}", 1), (f"address {address}", ADDRESS_FACTOR)]


def request_kind(scope: Mapping[str, Any]) -> str:
    """Return "socket", "upload" or "request", or "" if the request is not counted."""
    if scope["type"] == "websocket":
        return "socket"
    if scope["type"] != "http" or any(part in scope["path"] for part in UNLIMITED_PATHS):
        return ""
    return "upload" if UPLOAD_PATH in scope["path"] else "request"


class RateLimitMiddleware:
    """Answers 429 with Retry-After to a client above its limit."""

    def __init__(self, app: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self.buckets = TokenBuckets(clock)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        kind = request_kind(scope)
        wait = self._wait_seconds(scope, kind) if kind else 0.0
        if not wait:
            await self.app(scope, receive, send)
            return
        if kind == "socket" and "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
        reason = "Too many connections" if kind == "socket" else "Too many requests"
        await refusal(429, reason, **{"retry-after": str(math.ceil(wait))})(scope, receive, send)

    def _wait_seconds(self, scope: Any, kind: str) -> float:
        limit = RATE_LIMITS[kind]
        return max(
            self.buckets.take(client, kind, RateLimit(limit.burst * factor, limit.per_second * factor))
            for client, factor in request_clients(scope)
        )
