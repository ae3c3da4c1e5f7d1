"""The loop of the runs ends with all that is on it."""

from __future__ import annotations

import asyncio
import socket
import threading

from research.runtime.event_loop import EventLoopThread


async def nothing() -> None:
    pass


def test_what_is_under_way_is_ended_with_the_loop() -> None:
    """A request whose answer never comes, one that clears up at its end, and a thread at work."""
    reading, cleared, worked = threading.Event(), threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as silent:

        async def ask() -> None:
            reader, writer = await asyncio.open_connection(*silent.getsockname())
            try:
                reading.set()
                await reader.read()
            finally:
                writer.close()
                await asyncio.sleep(0)
                cleared.set()

        async def work() -> None:
            await asyncio.to_thread(lambda: (reading.wait(60), worked.set()))

        loop = EventLoopThread("tested")
        loop.start(ask())
        loop.start(work())
        assert reading.wait(60)
        loop.close(nothing())
    assert loop.is_closed
    assert cleared.is_set()
    assert worked.is_set()
