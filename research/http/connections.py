"""Closes connections on which no request arrives.

uvicorn waits without limit for the first byte of a request, for the rest of its head and for its body,
so that whoever opens connections and sends little holds one of them, and a file descriptor, for each.
uvicorn has no setting for that, and Streamlit none for the class of its connections; therefore methods
of uvicorn's own class are wrapped.
"""

from __future__ import annotations

import asyncio
from typing import Any

CHECK_INTERVAL_SECONDS = 10.0  # seconds between two looks at a connection: it is closed at the second one
MIN_BODY_BYTES = 10_000  # bytes of a body that have to arrive between two looks
MAX_IDLE_CONNECTIONS = 200  # connections on which there is no request; of more, the oldest is closed
_WATCHER_ATTRIBUTE = "_sightline_watch"


class _ConnectionWatcher:
    """Looks at one connection from time to time."""

    def __init__(self, protocol: Any, interval_seconds: float) -> None:
        self.received_bytes = 0  # bytes since the last look
        self._protocol, self._interval_seconds = protocol, interval_seconds
        self._loop = asyncio.get_running_loop()
        self._previous: tuple[str, object] = ("", None)
        self._timer = self._loop.call_later(interval_seconds, self._check)

    @property
    def state(self) -> str:
        """ "idle" without a request, "receiving" while its body comes, "answering" then, and "over"
        once the connection is closed or has become a websocket."""
        protocol, cycle = self._protocol, self._protocol.cycle
        if protocol.transport.is_closing() or protocol.transport.get_protocol() is not protocol:
            return "over"
        if cycle is None or cycle.response_complete:
            return "idle"
        if cycle.more_body and not protocol.flow.read_paused:  # else it is we who read no more
            return "receiving"
        return "answering"

    def _check(self) -> None:
        now = self.state, self._protocol.cycle
        if self.state == "over":
            return
        if now == self._previous and (
            self.state == "idle" or (self.state == "receiving" and self.received_bytes < MIN_BODY_BYTES)
        ):
            self.abort()
            return
        self._previous, self.received_bytes = now, 0
        self._timer = self._loop.call_later(self._interval_seconds, self._check)

    def abort(self) -> None:
        """Close the connection at once."""
        self._protocol.transport.abort()

    def stop(self) -> None:
        """Look no more."""
        self._timer.cancel()


def limit_connections(
    protocol_class: Any = None,
    *,
    interval_seconds: float = CHECK_INTERVAL_SECONDS,
    max_idle: int = MAX_IDLE_CONNECTIONS,
) -> None:
    """Limit the time and the number of connections without a request, for all servers of this
    process that use uvicorn's usual class, or a class that is given. `wait` is in seconds; a
    connection is closed after one to two of them."""
    if protocol_class is None:
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        protocol_class = AutoHTTPProtocol
    if _WATCHER_ATTRIBUTE in vars(protocol_class):
        return
    made, received, lost = protocol_class.connection_made, protocol_class.data_received, protocol_class.connection_lost
    open_: dict[_ConnectionWatcher, None] = {}  # the oldest first; those with a request leave when it is full

    def connection_made(self: Any, transport: Any) -> None:
        made(self, transport)
        if not hasattr(self, "cycle"):  # a class of another build: it is left as it is
            return
        watch = _ConnectionWatcher(self, interval_seconds)
        setattr(self, _WATCHER_ATTRIBUTE, watch)
        open_[watch] = None
        if len(open_) > max_idle:
            for one in [one for one in open_ if one.state != "idle"]:
                del open_[one]
            if len(open_) > max_idle:
                next(iter(open_)).abort()

    def data_received(self: Any, data: bytes) -> None:
        if watch := getattr(self, _WATCHER_ATTRIBUTE, None):
            watch.received_bytes += len(data)
        received(self, data)

    def connection_lost(self: Any, error: Exception | None) -> None:
        if watch := getattr(self, _WATCHER_ATTRIBUTE, None):
            watch.stop()
            open_.pop(watch, None)
        lost(self, error)

    protocol_class.connection_made, protocol_class.data_received = connection_made, data_received
    protocol_class.connection_lost = connection_lost
    setattr(protocol_class, _WATCHER_ATTRIBUTE, None)
