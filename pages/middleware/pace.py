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

from pages.middleware.gate import refuse, sender
from pages.shared import login

FREE = ("/static/", "/assets/", "/component/")  # files of the page, the same for everybody
UPLOAD = "/_stcore/upload_file/"
COOKIE = "_streamlit_xsrf"
CLIENTS = 20_000  # that are remembered; whoever comes back after more has a full measure again
SHARED = 10  # browsers that one address may have at their busiest


class Measure(NamedTuple):
    """So many at once, and so many a second in the long run."""

    burst: float
    rate: float


MEASURES = {"request": Measure(600, 20), "upload": Measure(5_000, 20), "socket": Measure(60, 1)}


class Buckets:
    """How much is left to each client; bounded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = CLIENTS) -> None:
        self._clock = clock
        self._most = most
        self._left: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def take(self, client: str, kind: str, measure: Measure) -> float:
        """Takes one; returns how many seconds to wait if there is none, else 0."""
        now, key = self._clock(), (client, kind)
        left, last = self._left.pop(key, (measure.burst, now))
        left = min(measure.burst, left + (now - last) * measure.rate)
        wait = 0.0 if left >= 1 else (1 - left) / measure.rate
        self._left[key] = (left if wait else left - 1, now)
        while len(self._left) > self._most:
            self._left.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._left)


def clients(scope: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Who sends a request, and how many times the usual measure that is: somebody who is signed in,
    else a browser and its address."""
    if login.setup().on and (owner := sender(scope)):
        return [(f"owner {owner}", 1)]
    address = str((scope.get("client") or ("",))[0])
    lines = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
    cookie = cookie_parser("; ".join(lines)).get(COOKIE, "")[:200]
    return [(f"browser {address} {cookie}", 1), (f"address {address}", SHARED)]


def kind(scope: Mapping[str, Any]) -> str:
    """What a request counts as; "" if it does not count."""
    if scope["type"] == "websocket":
        return "socket"
    if scope["type"] != "http" or any(part in scope["path"] for part in FREE):
        return ""
    return "upload" if UPLOAD in scope["path"] else "request"


class Pace:
    """Answers 429 to a browser that asks too much, and says when to come again."""

    def __init__(self, app: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self.buckets = Buckets(clock)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        what = kind(scope)
        wait = self._wait(scope, what) if what else 0.0
        if not wait:
            await self.app(scope, receive, send)
            return
        after = (b"retry-after", str(math.ceil(wait)).encode())
        if what != "socket":
            await refuse(send, 429, b"Too many requests", after)
        elif "websocket.http.response" in scope.get("extensions", {}):
            await refuse(send, 429, b"Too many connections", after, kind="websocket.http.response")
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _wait(self, scope: Any, what: str) -> float:
        measure = MEASURES[what]
        return max(
            self.buckets.take(client, what, Measure(measure.burst * times, measure.rate * times))
            for client, times in clients(scope)
        )
