"""Twenty sessions, each following a run of its own, on one real server.

A session is what a browser's page is to the server: it gets the page, opens the socket, asks for the
script, and asks again as often as the page is told to. So the server's time is measured and not that
of twenty browsers on the same machine. Timed is, from navigation, until the first words of the page
that are not the menu's: the question box, or the progress of the run. The runs are those of another
process, and go on until the end. Needs Linux, for the server's processor time.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.middleware.rate_limits import BROWSER_COOKIE
from research.core.records import RunOptions
from research.core.settings import Settings
from research.runtime.local_run_manager import LocalRunManager
from tests.benchmarks.figures import Figure, at_once, percentile, processor
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, resources, until
from tests.pages.serving import Server

MANY = 20
ROUNDS = 3  # in which every session goes to its page anew
TARGET = 1000.0  # milliseconds, at the 95th percentile
BUSY = 1000.0  # milliseconds of processor a second, for all together
SECONDS = 10.0  # how long the server's processor time is watched
BOX, PROGRESS = b"question", b"Round 1"


class Session:
    """A page that is open in a browser of its own, and asks again when it is to."""

    _browsers = itertools.count()

    def __init__(self, http: aiohttp.ClientSession, server: Server, query: str) -> None:
        self._http, self._server, self._query = http, server, query
        self._known = {"Cookie": f"{BROWSER_COOKIE}=browser{next(self._browsers)}"}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.answered = 0  # how often it was told something

    async def open(self, words: bytes) -> float:
        """Milliseconds from navigation until some words have come; then it goes on by itself."""
        started = time.perf_counter()
        async with self._http.get(f"{self._server.url}/?{self._query}") as page:
            await page.read()
        url = f"ws://127.0.0.1:{self._server.port}/_stcore/stream"
        self._socket = await self._http.ws_connect(url, headers=self._known, protocols=("streamlit",), max_msg_size=0)
        await self._ask("")
        while words not in await self._told():
            pass
        taken = (time.perf_counter() - started) * 1000
        self._tasks["reader"] = asyncio.create_task(self._read())
        return taken

    async def _ask(self, fragment: str) -> None:
        message = BackMsg()
        message.rerun_script.query_string = self._query
        if fragment:
            message.rerun_script.fragment_id = fragment
            message.rerun_script.is_auto_rerun = True
        await self._socket.send_bytes(message.SerializeToString())

    async def _told(self) -> bytes:
        """What the next message draws."""
        got = await asyncio.wait_for(self._socket.receive_bytes(), 30)
        message = ForwardMsg.FromString(got)
        self.answered += 1
        if message.WhichOneof("type") == "auto_rerun":
            again = message.auto_rerun
            if again.fragment_id not in self._tasks:
                self._tasks[again.fragment_id] = asyncio.create_task(self._poll(again.fragment_id, again.interval))
        return got if message.WhichOneof("type") == "delta" else b""

    async def _poll(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            await self._ask(fragment)

    async def _read(self) -> None:
        while True:
            await self._told()

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
        await self._socket.close()


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", starts_per_minute=0)
        yield at_once(MANY, settings)
        server = Server(settings.data_dir).start()
        source = ScriptedSource("library", HANGS)
        runs = LocalRunManager(resources(settings, ScriptedReasoner(), {"library": source}))
        try:
            ids = [runs.start(f"question {n}", options=RunOptions(sources=("library",))).id for n in range(MANY)]
            until(lambda: len(source.calls) == 3 * MANY)
            yield from asyncio.run(_measured(server, ids))
        finally:
            server.kill()
            runs.close()


async def _measured(server: Server, ids: list[str]) -> list[Figure]:
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        await _visited(http, server, "", BOX)  # which warms the server
        alone = [await _visited(http, server, "", BOX) for _ in range(MANY)]
        sessions = [Session(http, server, f"run={run_id}&lang=en") for run_id in ids]
        for session in sessions:
            await session.open(PROGRESS)
            stack.push_async_callback(session.close)
        again = []
        for _ in range(ROUNDS):
            for session in sessions:
                await session.close()
                again.append(await session.open(PROGRESS))
        boxes = [await _visited(http, server, "", BOX) for _ in range(MANY)]
        cpu, told = processor(server.pid), sum(session.answered for session in sessions)
        await asyncio.sleep(SECONDS)
        cpu = (processor(server.pid) - cpu) / SECONDS
        told = sum(session.answered for session in sessions) - told
    assert told > MANY * SECONDS, "the sessions do not follow"
    return [
        *_shown("Ask page, nobody else", alone),
        *_shown(f"Ask page, {MANY} following", boxes),
        *_shown(f"a run's page, {MANY} following", again),
        Figure(f"server CPU, {MANY} following", cpu, "ms/s", BUSY, note=f"{told / SECONDS:.0f} messages/s"),
    ]  # fmt: skip


async def _visited(http: aiohttp.ClientSession, server: Server, query: str, words: bytes) -> float:
    session = Session(http, server, query)
    taken = await session.open(words)
    await session.close()
    return taken


def _shown(name: str, taken: list[float]) -> list[Figure]:
    note = f"{len(taken)} times, at most {max(taken):.0f} ms"
    return [
        Figure(f"{name}: first content, p50", percentile(taken, 0.5), "ms"),
        Figure(f"{name}: first content, p95", percentile(taken, 0.95), "ms", TARGET, note=note),
    ]
