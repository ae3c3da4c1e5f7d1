"""What a run with models costs beyond waiting for them: time, processor and memory.

A fake Gemini in a process of its own answers each call after 0.3 s: plan, three searches, reflect,
one more search, answer. So the critical path of a run is five calls, 1.5 s. Beside it stands the floor:
the same calls by bare asyncio with no program around them, in the same process and against the same
server, whose own processor time is part of both.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path

import aiohttp

from research.application import Application, tune_garbage_collector
from research.core.settings import load_settings
from tests.benchmarks.figures import Figure, Others, at_once, percentile

WAIT = 0.3
CALLS = 5  # one after the other
SEARCHES = 3  # side by side
MANY, MOST = 50, 100
TARGETS = {1: 1.04, MANY: 1.6, MOST: 2.2}  # wall / critical path, by the runs at once
CPU = 40  # milliseconds a run, MANY at once
ROUNDS = 5  # of each, of which the median counts
BUILDINGS = count()  # nobody asks what has been asked before
ROOT = Path(__file__).resolve().parent.parent.parent


@contextmanager
def served() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.servers", "gemini", "--latency", str(WAIT)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _measured(desk: Application, number: int) -> tuple[list[float], float]:
    """Seconds of each run from its creation to its stored end, and CPU seconds of the process."""
    cpu = time.process_time()
    ids = [desk.runs.start(f"How old is building number {next(BUILDINGS)}?").id for _ in range(number)]
    times = []
    for run_id in ids:
        for _ in desk.runs.follow(run_id):
            pass
        run = desk.runs.get_run(run_id)
        assert run is not None and run.finished is not None and run.status == "done", run
        times.append((run.finished - run.created).total_seconds())
    return times, time.process_time() - cpu


class Bare:
    """Calls by bare asyncio, with no program around them."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self._url, self._http = url, http

    async def ask(self, what: str, method: str = "generateContent", **more: object) -> None:
        body = {"contents": [{"role": "user", "parts": [{"text": what}]}], **more}
        place = f"{self._url}/v1beta/models/m:{method}"
        async with self._http.post(place, json=body, headers={"x-goog-api-key": "k"}) as reply:
            assert reply.status == 200 and await reply.read()

    async def search(self, what: str) -> None:
        await self.ask(what, tools=[{"googleSearch": {}}])


@asynccontextmanager
async def bare(url: str) -> AsyncIterator[Bare]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        yield Bare(url, http)


async def _bare(url: str, number: int) -> list[float]:
    """Seconds of each of so many runs that consist of nothing but their calls."""
    async with bare(url) as calls:

        async def run(n: int) -> float:
            started = time.perf_counter()
            question = f"How old is building number {n}?"
            await calls.ask(question)
            await asyncio.gather(*(calls.search(f"{question} {at}") for at in range(SEARCHES)))
            await calls.ask(question)
            await calls.search(question)
            await calls.ask(question, "streamGenerateContent?alt=sse")
            return time.perf_counter() - started

        return await asyncio.gather(*map(run, range(number)))


def _floor(url: str, number: int) -> tuple[list[float], float]:
    """As `_measured`, of bare calls."""
    cpu = time.process_time()
    times = asyncio.run(_bare(url, number))
    return times, time.process_time() - cpu


def _median(found: Iterable[tuple[list[float], float]]) -> tuple[float, float]:
    """The slowest of a batch and its processor time, each the median of several batches."""
    rounds = list(found)
    return (
        percentile([max(times) for times, _ in rounds], 0.5),
        percentile([cpu for _, cpu in rounds], 0.5),
    )


def _memory() -> float:
    """The most memory this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def figures() -> Iterator[Figure]:
    path = WAIT * CALLS
    with tempfile.TemporaryDirectory() as folder, served() as url:
        env = {
            "GEMINI_API_KEY": "benchmark", "GOOGLE_GEMINI_BASE_URL": url,
            "SIGHTLINE_MAX_RUNS_EACH": "0", "SIGHTLINE_MODEL_CONCURRENCY": str(MOST * SEARCHES),
        }  # fmt: skip
        settings = load_settings(env | {"SIGHTLINE_STARTS_PER_MINUTE": "0"}, data_dir=Path(folder))
        yield at_once(MOST, settings, calls=MOST * SEARCHES)
        desk = Application(settings)
        try:
            _measured(desk, 1)
            _floor(url, 1)
            tune_garbage_collector()  # as the app does
            for number, target in TARGETS.items():
                before, others = _memory(), Others()
                floor, floor_cpu = _median(_floor(url, number) for _ in range(ROUNDS))
                wall, cpu = _median(_measured(desk, number) for _ in range(ROUNDS))
                what = "one run" if number == 1 else f"{number} runs at once"
                note = f"{wall:.2f} s, the slowest; {others}"
                yield Figure(f"wall / critical path, {what}", wall / path, target=target, note=note)
                note = f"{floor:.2f} s, the critical path is {path:.1f} s"
                yield Figure(f"the same of bare calls, {what}", floor / path, note=note)
                yield Figure(f"wall / wall of bare calls, {what}", wall / floor)
                budget = CPU if number == MANY else None
                note = f"bare calls: {floor_cpu / number * 1000:.1f} ms"
                yield Figure(f"CPU a run, {what}", cpu / number * 1000, "ms", budget, note=note)
                if number > 1:
                    grown = (_memory() - before) / number
                    yield Figure(f"memory a run, {what}", grown, "MB")
            yield Figure("memory of the process", _memory(), "MB")
        finally:
            desk.close()
