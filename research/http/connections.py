"""Closes connections on which no request arrives.

uvicorn waits without limit for the first byte of a request, for the rest of its head and for its
body: a client that opens connections and sends little holds one connection and one file descriptor
each. uvicorn has no setting for that, and Streamlit none for the connection class; therefore
methods of uvicorn's own class are wrapped.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

CHECK_INTERVAL_SECONDS = 10.0  # between two checks of a connection; it is closed at the second
MIN_BODY_BYTES = 10_000  # bytes of a body that must arrive between two checks
MAX_IDLE_CONNECTIONS = 200  # connections without a request; beyond that the oldest is closed
_WATCHER_ATTRIBUTE = "_sightline_watch"
ConnectionState = Literal["idle", "receiving", "answering", "ended"]


class _ConnectionWatcher:
    """Checks one connection at regular intervals."""

    def __init__(self, protocol: Any, interval_seconds: float) -> None:
        self.received_bytes = 0  # since the last check
        self._protocol, self._interval_seconds = protocol, interval_seconds
        self._loop = asyncio.get_running_loop()
        self._previous: tuple[str, object] = ("", None)
        self._timer = self._loop.call_later(interval_seconds, self._check)

    @property
    def state(self) -> ConnectionState:
        """State of the connection: "idle" without a request, "receiving" while a body arrives,
        "answering" after that, "ended" once the connection is closed or has become a websocket."""
        protocol, cycle = self._protocol, self._protocol.cycle
        if protocol.transport.is_closing() or protocol.transport.get_protocol() is not protocol:
            return "ended"
        if cycle is None or cycle.response_complete:
            return "idle"
        if cycle.more_body and not protocol.flow.read_paused:  # otherwise it is our side that has paused reading
            return "receiving"
        return "answering"

    def _check(self) -> None:
        now = self.state, self._protocol.cycle
        if self.state == "ended":
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
        """Cancel all further checks."""
        self._timer.cancel()


def limit_connections(
    protocol_class: Any = None,
    *,
    interval_seconds: float = CHECK_INTERVAL_SECONDS,
    max_idle: int = MAX_IDLE_CONNECTIONS,
) -> None:
    """Limit the time and the number of connections without a request.

    Applies to all servers of this process that use uvicorn's default class or `protocol_class`. An
    idle connection is closed after one to two intervals.
    """
    if protocol_class is None:
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        protocol_class = AutoHTTPProtocol
    if _WATCHER_ATTRIBUTE in vars(protocol_class):
        return
    original_made, original_received, original_lost = (
        protocol_class.connection_made,
        protocol_class.data_received,
        protocol_class.connection_lost,
    )
    open_watchers: dict[_ConnectionWatcher, None] = {}  # oldest first; busy ones are removed when it is full

    def connection_made(self: Any, transport: Any) -> None:
        original_made(self, transport)
        if not hasattr(self, "cycle"):  # a class of another uvicorn version is left as it is
            return
        watcher = _ConnectionWatcher(self, interval_seconds)
        setattr(self, _WATCHER_ATTRIBUTE, watcher)
        open_watchers[watcher] = None
        if len(open_watchers) > max_idle:
            for other in [other for other in open_watchers if other.state != "idle"]:
                del open_watchers[other]
            if len(open_watchers) > max_idle:
                next(iter(open_watchers)).abort()

    def data_received(self: Any, data: bytes) -> None:
        if watcher := getattr(self, _WATCHER_ATTRIBUTE, None):
            watcher.received_bytes += len(data)
        original_received(self, data)

    def connection_lost(self: Any, error: Exception | None) -> None:
        if watcher := getattr(self, _WATCHER_ATTRIBUTE, None):
            watcher.stop()
            open_watchers.pop(watcher, None)
        original_lost(self, error)

    protocol_class.connection_made, protocol_class.data_received = connection_made, data_received
    protocol_class.connection_lost = connection_lost
    setattr(protocol_class, _WATCHER_ATTRIBUTE, None)
