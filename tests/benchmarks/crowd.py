"""A hundred runs at once in one process: time, processor, memory, and whether an event is lost.

Each call of the scripted helpers takes 0.3 s: plan, three searches side by side, reflect, three more
searches, write. So the critical path of a run is five calls, 1.5 s. Measured with the store in a
SQLite file and, where SIGHTLINE_POSTGRES_TESTS is set, on a PostgreSQL server.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from research.application import tune_garbage_collector
from research.core.events import EventEmitter
from research.core.records import RunOptions
from research.core.settings import Settings
from research.runtime.local_run_manager import LocalRunManager
from tests.benchmarks.figures import Figure, at_once, percentile
from tests.fakes import Outcome, ScriptedSource, Staged, resources
from tests.servers.postgres import Cluster, lacking

WAIT = 0.3
CALLS = 5  # one after the other
MANY = 100
OPTIONS = RunOptions(queries=3, loops=2, sources=("web",))


class Slow(Staged):
    """Waits before each stage, as for a model."""

    async def work(self, stage: str, round_: int, emit: EventEmitter) -> None:
        await asyncio.sleep(WAIT)


def _together(runs: LocalRunManager, number: int) -> tuple[list[str], list[float], float]:
    """The runs' ids, the seconds of each from its creation to its stored end, and the process's CPU
    seconds."""
    cpu = time.process_time()
    ids = [runs.start(f"question {n}", options=OPTIONS).id for n in range(number)]
    times = []
    for run_id in ids:
        while (run := runs.get_run(run_id)) is None or run.is_active:
            time.sleep(0.05)
        assert run.status == "done" and run.finished, run.error
        times.append((run.finished - run.created).total_seconds())
    return ids, times, time.process_time() - cpu


def _whole(runs: LocalRunManager, run_id: str) -> bool:
    """Whether the events of a run have no gap and end with what became of it."""
    events = runs.events(run_id)
    told = [event.data.task.id for event in events if event.kind == "task_finished"]
    return (
        [event.seq for event in events] == list(range(1, len(events) + 1))
        and len(told) == len(set(told)) == 6
        and (events[-1].kind, events[-1].data.status) == ("status_changed", "done")
    )


def _memory() -> float:
    """The memory that this process has now, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _figures("SQLite", Settings(data_dir=Path(folder), max_runs_per_owner=0, starts_per_minute=0))
    if reason := lacking():
        yield Figure("PostgreSQL: nothing measured", float("nan"), note=reason)
        return
    cluster = Cluster()
    try:
        with cluster.database() as address, tempfile.TemporaryDirectory() as folder:
            yield from _figures(
                "PostgreSQL",
                Settings(data_dir=Path(folder), store_url=address, max_runs_per_owner=0, starts_per_minute=0),
            )
    finally:
        cluster.close()


def _figures(place: str, settings: Settings) -> Iterator[Figure]:
    path = WAIT * CALLS
    yield at_once(MANY, settings)
    source = ScriptedSource("web", Outcome(waits=WAIT))
    runs = LocalRunManager(resources(settings, Slow(follow_ups=lambda round_: ("d", "e", "f")), {"web": source}))
    try:
        _together(runs, 5)
        tune_garbage_collector()  # as the app does
        before = _memory()
        ids, times, cpu = _together(runs, MANY)
        memory = _memory() - before
        assert all(_whole(runs, run_id) for run_id in ids), "an event is lost"
        for label, seconds in (("median", percentile(times, 0.5)), ("slowest", max(times))):
            name = f"{place}: wall / critical path, {label}"
            yield Figure(name, seconds / path, target=1.2, note=f"{seconds:.2f} s")
        yield Figure(f"{place}: CPU a run", cpu / MANY * 1000, "ms", target=50)
        yield Figure(f"{place}: memory a run", memory / MANY, "MB", target=0.5)
        yield Figure(f"{place}: runs whose events are whole", len(ids), target=MANY, more=True)
    finally:
        runs.close()
