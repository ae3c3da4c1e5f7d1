"""Drop polls of a run that would show nothing new, so that many pages can follow runs at once.

A page that follows a run asks to redraw a fragment several times a second, and Streamlit draws all
of it each time. Such a poll is dropped while the run has no new event. One passes now and then,
because the fragment also shows the elapsed time. The page does not wait for a dropped poll.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from pages.middleware.access import request_owner
from pages.shared import login
from research import StoreError, get_application

IDLE_POLL_SECONDS = 1.0  # between two redraws of a run without new events
MAX_IDLE_POLLS_PER_SECOND = 40  # of all connections together, in the long run
MAX_POLL_BYTES = 100_000  # a larger message is no poll and is not parsed


def parse_poll(data: bytes | None) -> tuple[str, str] | None:
    """Return the run id and fragment id of an automatic rerun, or None for any other message."""
    if not data or len(data) > MAX_POLL_BYTES:
        return None
    from google.protobuf.message import DecodeError
    from streamlit.proto.BackMsg_pb2 import BackMsg

    try:
        rerun = BackMsg.FromString(data).rerun_script
    except DecodeError:  # Streamlit reports it
        return None
    if not (rerun.is_auto_rerun and rerun.fragment_id):
        return None
    run_id = parse_qs(rerun.query_string.removeprefix("?")).get("run", [""])[-1]
    return (run_id, rerun.fragment_id) if run_id else None


def last_event_number(run_id: str, owner: str) -> int | None:
    """Return the number of the last event of a run, or None if the store cannot be read."""
    try:
        return get_application().store.last_event_number(run_id, owner=owner)
    except StoreError:  # the page reports it
        return None


class PollingMiddleware:
    """Passes on a poll only if its run has a new event or the idle interval is over."""

    def __init__(
        self,
        app: Any,
        clock: Callable[[], float] = time.monotonic,
        get_last_event: Callable[[str, str], int | None] = last_event_number,
    ) -> None:
        self.app = app
        self._clock, self._get_last_event = clock, get_last_event
        self._last_poll_times: dict[object, float] = {}  # by connection

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        owner = request_owner(scope) if login.read_config().is_required else login.LOCAL_OWNER
        connection, delivered = object(), dict[tuple[str, str], tuple[int | None, float]]()

        async def receive_filtered() -> Any:
            while True:
                message = await receive()
                poll = parse_poll(message.get("bytes"))
                if poll is None:
                    if message.get("bytes"):  # the whole page may be redrawn
                        delivered.clear()
                    return message
                now = self._clock()
                self._last_poll_times[connection] = now
                last = await asyncio.to_thread(self._get_last_event, poll[0], owner)
                delivered_event, delivered_at = delivered.get(poll, (None, 0.0))
                if last is None or last != delivered_event or now - delivered_at >= self._idle_interval(now):
                    delivered[poll] = last, now
                    return message

        try:
            await self.app(scope, receive_filtered, send)
        finally:
            self._last_poll_times.pop(connection, None)

    def _idle_interval(self, now: float) -> float:
        active_count = sum(now - when < 2 * IDLE_POLL_SECONDS for when in self._last_poll_times.values())
        return max(IDLE_POLL_SECONDS, active_count / MAX_IDLE_POLLS_PER_SECOND)
