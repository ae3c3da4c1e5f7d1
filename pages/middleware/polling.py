"""Leaves out looks at a run that would show nothing new.

A page that follows a run asks for its part of the page several times a second, and Streamlit draws all of
it each time. Here the request ends before that while nothing has happened since the last look, but for
one now and then, since the page also tells how long it has taken. So many can follow at once, and see
what happens soon. What Streamlit is not told of, its page does not wait for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from pages.middleware.access import request_owner
from pages.shared import login
from research import StoreError, application

IDLE_POLL_SECONDS = 1.0  # seconds between two looks at a run of which there is nothing new
MAX_IDLE_POLLS_PER_SECOND = 40  # such looks a second of all who follow, in the long run
MAX_POLL_BYTES = 100_000  # bytes of a message that is no look, whatever it is


def parse_poll(data: bytes | None) -> tuple[str, str] | None:
    """The run and the part of the page that a page asks for by itself; None if it asks for other things."""
    if not data or len(data) > MAX_POLL_BYTES:
        return None
    from google.protobuf.message import DecodeError
    from streamlit.proto.BackMsg_pb2 import BackMsg

    try:
        asked = BackMsg.FromString(data).rerun_script
    except DecodeError:  # Streamlit says so
        return None
    if not (asked.is_auto_rerun and asked.fragment_id):
        return None
    run_id = parse_qs(asked.query_string.removeprefix("?")).get("run", [""])[-1]
    return (run_id, asked.fragment_id) if run_id else None


def latest_event(run_id: str, owner: str) -> int | None:
    """The number of the last event of a run; None if that cannot be told."""
    try:
        return application.last_event_number(run_id, owner=owner)
    except StoreError:  # the page says so
        return None


class PollingMiddleware:
    """Passes on what a page asks for by itself only if there is something new, or once in a while."""

    def __init__(
        self,
        app: Any,
        clock: Callable[[], float] = time.monotonic,
        latest_event: Callable[[str, str], int | None] = latest_event,
    ) -> None:
        self.app = app
        self._clock, self._latest_event = clock, latest_event
        self._last_poll_times: dict[object, float] = {}  # by connection, when it asked last

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        owner = request_owner(scope) if login.read_config().is_required else login.LOCAL_OWNER
        connection, shown = object(), dict[tuple[str, str], tuple[int | None, float]]()

        async def heard() -> Any:
            while True:
                message = await receive()
                asked = parse_poll(message.get("bytes"))
                if asked is None:
                    if message.get("bytes"):  # all of the page may be drawn anew
                        shown.clear()
                    return message
                now = self._clock()
                self._last_poll_times[connection] = now
                last = await asyncio.to_thread(self._latest_event, asked[0], owner)
                known, when = shown.get(asked, (None, 0.0))
                if last is None or last != known or now - when >= self._idle_interval(now):
                    shown[asked] = last, now
                    return message

        try:
            await self.app(scope, heard, send)
        finally:
            self._last_poll_times.pop(connection, None)

    def _idle_interval(self, now: float) -> float:
        following = sum(now - when < 2 * IDLE_POLL_SECONDS for when in self._last_poll_times.values())
        return max(IDLE_POLL_SECONDS, following / MAX_IDLE_POLLS_PER_SECOND)
