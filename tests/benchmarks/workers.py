"""A hundred sessions, each following a run of its own, on one server with worker processes.

A session is what a browser's page is to the server (`sessions`): it types a question, presses Start, and
asks again as often as the page is told to. A fake Gemini in a process of its own answers each call after
some seconds. Timed are an event's way from its store to the message that shows it, which lacks what a
browser draws it in (`page` has that), and what others wait for on the same server meanwhile. Before that,
many runs are begun in the same moment. Beside it stands the same without workers. Needs Linux, for the processor time of each process.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import aiohttp
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from research.application import Application, tune_garbage_collector
from research.core.settings import Settings, load_settings
from tests.benchmarks.figures import Figure, at_once, percentile, processor
from tests.benchmarks.page import EVENT_TARGET, _first, _label
from tests.benchmarks.sessions import BOX, PROGRESS, TARGET, Session, _visited
from tests.fakes import until
from tests.pages.serving import ROOT, Server
from tests.runtime.lives import hired

MANY = 100
WORKERS = 2
WAIT = 10.0  # seconds of a call of a model: a run has five of them in a row
PAUSE = 0.3  # seconds between two who press Start
QUICK = 0.3  # seconds of a call where many are begun in the same moment
BURSTS = (50, 100)
ACTS = 0.4  # seconds between two acts of others
SHORT = 400  # bytes of a message, which more than what it draws is never longer than
LABEL = re.compile(rb"(?:Plan|Round \d+|Answer): \d+(?:/\d+)?")
LIMITS = {
    "SIGHTLINE_SOURCES": "web",
    "SIGHTLINE_MAX_RUNS": "0",
    "SIGHTLINE_MAX_RUNS_EACH": "0",
    "SIGHTLINE_STARTS_PER_MINUTE": "0",
    "SIGHTLINE_CACHE_HOURS": "0",
    "SIGHTLINE_MODEL_CONCURRENCY": "1000",
}


class Asker(Session):
    """A page on which a question is asked, and its run followed."""

    def __init__(self, http: aiohttp.ClientSession, server: Server) -> None:
        super().__init__(http, server, "lang=en")
        self.seen: dict[str, float] = {}  # by label, milliseconds since 1970 when it first came
        self.run = ""
        self._box = self._start = ""
        self._going: set[str] = set()  # what asks again on the page that is being drawn

    async def _told(self) -> bytes:
        got: bytes = await self._socket.receive_bytes()
        self._heard(got)
        return got

    async def _read(self) -> None:
        async for message in self._socket:
            self._heard(message.data)

    def _heard(self, got: bytes) -> None:
        self.answered += 1
        for label in LABEL.findall(got):
            self.seen.setdefault(label.decode(), time.time() * 1000)
        if self.run and len(got) > SHORT:  # what is drawn of the run
            return
        message = ForwardMsg.FromString(got)
        kind = message.WhichOneof("type")
        if kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self._rest()
        elif kind == "auto_rerun":
            again = message.auto_rerun
            self._going.add(again.fragment_id)
            if again.fragment_id not in self._tasks:
                self._tasks[again.fragment_id] = asyncio.create_task(self._poll(again.fragment_id, again.interval))
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
            if found := re.search(r"run=(\w+)", self._query):
                self.run = found[1]
        elif kind == "delta":
            element = message.delta.new_element
            what = element.WhichOneof("type")
            if what == "text_area" and element.text_area.id.endswith("-question"):
                self._box = element.text_area.id
            if what == "button" and element.button.id.endswith("-start"):
                self._start = element.button.id

    def _rest(self) -> None:
        """The page is drawn anew: what is not on it any more asks no more."""
        for name in self._tasks.keys() - self._going - {"reader"}:
            self._tasks.pop(name).cancel()
        self._going.clear()

    async def begin(self, question: str) -> None:
        """Types a question and presses Start."""
        while not self._start:  # noqa: ASYNC110 - the reader finds it
            await asyncio.sleep(0.01)
        message = BackMsg()
        message.rerun_script.query_string = self._query
        typed = message.rerun_script.widget_states.widgets.add()
        typed.id, typed.string_value = self._box, question
        pressed = message.rerun_script.widget_states.widgets.add()
        pressed.id, pressed.trigger_value = self._start, True
        await self._socket.send_bytes(message.SerializeToString())


@contextmanager
def gemini(latency: float) -> Iterator[tuple[str, int]]:
    """A fake Gemini in a process of its own; its address, and the process."""
    command = [sys.executable, "-m", "tests.servers", "gemini", "--latency", str(latency)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip(), server.pid
        finally:
            server.terminate()


def figures() -> Iterator[Figure]:
    settings = Settings(data_dir=Path(), max_runs=0, max_runs_per_owner=0, model_concurrency=1000)
    yield at_once(MANY, settings, calls=3 * MANY)
    for count in (WORKERS, 0):
        yield from _burst(count)
    for count in (WORKERS, 0):
        yield from _served(count)


def _burst(count: int) -> Iterator[Figure]:
    """Many runs begun in the same moment, whose models answer at once: what the processor can do."""
    name = f"{count or 'no'} workers"
    with tempfile.TemporaryDirectory() as folder, gemini(QUICK) as (address, _):
        env = {"GEMINI_API_KEY": "sentinel", "GOOGLE_GEMINI_BASE_URL": address}
        env |= {**LIMITS, "SIGHTLINE_WORKERS": str(count)}
        desk = Application(load_settings(env, data_dir=Path(folder)))
        try:
            desk.warm()
            began = time.perf_counter()
            pids = [worker.process.pid for worker in hired(desk, count)] if count else []
            if pids:
                taken, rss = time.perf_counter() - began, max(map(_memory, pids))
                yield Figure(f"{name}: until both are ready", taken, "s")
                yield Figure("memory of a worker that is ready", rss, "MB")
            tune_garbage_collector()
            for number in (1, *BURSTS):
                ids = [desk.runs.start(f"How old is building {number}-{n}?").id for n in range(number)]
                until(lambda ids=ids: not any(_going(desk, run_id) for run_id in ids), 300)
                ends = [desk.runs.store.get_run(run_id) for run_id in ids]
                times = [(run.finished - run.created).total_seconds() for run in ends]  # type: ignore[union-attr,operator]
                note = f"slowest, {max(times):.2f} s"
                ratio = max(times) / (5 * QUICK)
                yield Figure(f"{name}: {number} runs at once / path", ratio, note=note)
            if pids:
                yield Figure("memory of a worker after these runs", max(map(_memory, pids)), "MB")
        finally:
            desk.close()


def _going(desk: Application, run_id: str) -> bool:
    run = desk.runs.store.get_run(run_id)
    assert run is not None and run.status in ("queued", "running", "done"), run
    return run.is_active


def _memory(pid: int) -> float:
    """The memory of a process that no other one shares, in MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    return int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) / 1024  # type: ignore[index]


def _served(count: int) -> Iterator[Figure]:
    """What those who follow their runs on a server see."""
    with tempfile.TemporaryDirectory() as folder, gemini(WAIT) as (address, _):
        server = Server(
            Path(folder) / "data", SIGHTLINE_WORKERS=str(count), GEMINI_API_KEY="sentinel",
            GOOGLE_GEMINI_BASE_URL=address, **LIMITS,
        ).start()  # fmt: skip
        try:
            locks = Path(folder) / "data" / "engines"
            until(lambda: len(list(locks.glob("*.lock"))) > count, 120)
            time.sleep(5)  # until it has loaded what it loads ahead
            yield from asyncio.run(_measured(server, count))
        finally:
            server.stop()


async def _measured(server: Server, count: int) -> list[Figure]:
    acts: list[float] = []
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        await _visited(http, server, "lang=en", BOX)
        askers = [Asker(http, server) for _ in range(MANY)]
        for asker in askers:
            await asker.open(BOX)
            stack.push_async_callback(asker.close)
        others = asyncio.create_task(_others(http, server, askers, acts))
        cpu, began = processor(server.pid), time.time()
        for n, asker in enumerate(askers):
            await asker.begin(f"How old is building number {n}?")
            await asyncio.sleep(PAUSE)
        while not all(asker.run for asker in askers) or _active(server):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        took = time.time() - began
        cpu = (processor(server.pid) - cpu) / took
        await asyncio.sleep(2)
        others.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await others
    late, lost = _late(server, askers)
    runs = _runs(server)
    name = f"{count or 'no'} workers"
    return [
        Figure(f"{name}: event to message, p50", percentile(late, 0.5), "ms"),
        Figure(f"{name}: event to message, p95", percentile(late, 0.95), "ms", EVENT_TARGET,
               note=f"{len(late)} events, at most {max(late):.0f} ms"),
        Figure(f"{name}: an act of others on the server, p95", percentile(acts, 0.95), "ms", TARGET,
               note=f"{len(acts)} acts, at most {max(acts):.0f} ms"),
        Figure(f"{name}: events that no session was shown or that are missing", lost, target=0),
        Figure(f"{name}: a run, median", percentile(runs, 0.5), "s",
               note=f"its path is {5 * WAIT:g} s"),
        Figure(f"{name}: processor of the page server", cpu, "ms/s", note=f"over {took:.0f} s"),
    ]  # fmt: skip


async def _others(http: aiohttp.ClientSession, server: Server, askers: list[Asker], acts: list[float]) -> None:
    """Others open the Ask page and the pages of runs, one act after the other."""
    for n in range(10**6):
        run_id = askers[n % MANY].run
        going = n % 2 and any(label.startswith("Round 1") for label in askers[n % MANY].seen)
        query, words = (f"run={run_id}&lang=en", PROGRESS) if going else ("lang=en", BOX)
        with contextlib.suppress(asyncio.TimeoutError):
            visit: Callable[..., object] = _visited
            acts.append(await asyncio.wait_for(visit(http, server, query, words), 20))  # type: ignore[arg-type]
        await asyncio.sleep(ACTS)


def _active(server: Server) -> int:
    return int(server.rows("select count(*) from run where status in ('queued', 'running')")[0][0])


def _runs(server: Server) -> list[float]:
    rows = server.rows("select created, finished, status from run")
    assert {status for _, _, status in rows} == {"done"} and len(rows) == MANY, Counter(status for *_, status in rows)
    return [(datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() for start, end, _ in rows]


def _late(server: Server, askers: list[Asker]) -> tuple[list[float], int]:
    """Milliseconds from each event that changes a label to the message with it, and how many events
    are missing in the store or were shown to nobody."""
    late, lost = [], 0
    for asker in askers:
        rows = server.rows(
            "select seq, kind, time, coalesce(json_extract(data, '$.task.round'), "
            "json_extract(data, '$.reflection.round')) from event where run=? order by seq",
            asker.run,
        )
        lost += [seq for seq, *_ in rows] != list(range(1, len(rows) + 1))
        happened: dict[str, float] = {}
        last = max(round_ for _, kind, _, round_ in rows if kind == "task_finished")
        for _, kind, moment, round_ in rows:
            if kind == "reflection_made" and round_ >= last:  # which leads to no further round
                continue
            if label := _label(kind, round_):
                happened[label] = datetime.fromisoformat(moment).timestamp() * 1000
        for label, when in happened.items():
            shown = _first(asker.seen, label)
            if shown is None:
                lost += 1
            else:
                late.append(shown - when)
    return late, lost
