"""What one worker, one database and one page server take of a run, and from that how many are needed.

Measured: runs with models of a fake Gemini that answers after 0.3 s, by one worker, in PostgreSQL where
SIGHTLINE_POSTGRES_TESTS is set; and sessions that follow their runs on one page server, runs of two
lengths, so that what a run costs a page and what each second of it costs come apart. Simulated: people
who ask at random, whose runs wait for a worker's core, for the database's and for the page server's. The
simulation is held against a burst that `workers` measures as well; docs/scaling.md tells what comes of it.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import aiohttp

from research.application import Application
from research.core.settings import load_settings
from tests.benchmarks import workers
from tests.benchmarks.figures import Figure, percentile, processor
from tests.benchmarks.sessions import BOX, _visited
from tests.benchmarks.workers import LIMITS, QUICK, Asker, gemini
from tests.fakes import until
from tests.pages.serving import Server
from tests.runtime.lives import hired
from tests.servers.postgres import Cluster, lacking

RUNS = 100
FOLLOWED = 30
LENGTHS = (1.0, 5.0)  # seconds of a call, where runs are followed
CALLS = 5  # one after the other

# What people do, and how long models take: assumptions, to be replaced by your own.
AN_HOUR = 6  # runs of one person at work
PEAK = 3.0  # times as many in the busiest minutes
CALL = 12.0  # seconds of a call
HOUR = 3600.0


@dataclass(frozen=True)
class Costs:
    """What a run takes of each process, in seconds of a core."""

    worker: float  # of its worker
    database: float
    handing: float  # of the page server, followed by nobody
    page: float  # of the page server, to ask it and to read its answer
    second: float  # of the page server, for each second that it is followed


@dataclass(frozen=True)
class Site:
    """How many processes there are, each with a core of its own."""

    pages: int
    workers: int
    database: int = 1  # cores


def figures() -> Iterator[Figure]:
    with ExitStack() as stack:
        database, kind = "", "SQLite"
        if not lacking():
            cluster = Cluster()
            stack.callback(cluster.close)
            database, kind = stack.enter_context(cluster.database()), "PostgreSQL"
        found: list[Figure] = []
        worker, handing, served, others = _runs(cluster if database else None, database, kind, found)
        yield from found
    lengths = [_followed(seconds) for seconds in LENGTHS]
    second = (lengths[1] - lengths[0]) / (CALLS * (LENGTHS[1] - LENGTHS[0]))
    page = lengths[0] - second * CALLS * LENGTHS[0]
    yield Figure("page server, a run that is followed", page * 1000, "ms", note="asked and read")
    yield Figure("page server, a second of a run that is followed", second * 1000, "ms")
    costs = Costs(worker, served, handing, page, second)
    for number in workers.BURSTS:
        ratio = burst(replace(costs, worker=worker + others, handing=handing / 2), number, 2)
        note = "the benchmark `workers` measures it; the fake models' work is on the same two cores"
        yield Figure(f"simulated: {number} runs at once by 2 workers / path", ratio, note=note)
    for people in (100, 1_000, 10_000):
        yield from _needed(costs, people)


# Measured


def _runs(cluster: Cluster | None, database: str, kind: str, found: list[Figure]) -> tuple[float, float, float, float]:
    """Seconds of a core that a run takes of its worker, of the server, of the database and of the fake
    models."""
    with tempfile.TemporaryDirectory() as folder, gemini(QUICK) as (address, models):
        env = {"GEMINI_API_KEY": "sentinel", "GOOGLE_GEMINI_BASE_URL": address, **LIMITS}
        env |= {"SIGHTLINE_WORKERS": "1", "STORE_URL": database}
        desk = Application(load_settings(env | {"SIGHTLINE_STARTS_PER_MINUTE": "0"}, data_dir=Path(folder)))
        store = desk.runs.store
        try:
            desk.warm()
            [worker] = hired(desk, 1)
            _all_over(desk, 4)  # which opens what is opened once
            used, own = processor(worker.process.pid), time.process_time()
            others = processor(models)
            size, served, commits = (
                _size(cluster, Path(folder)),
                _backends(cluster),
                _commits(cluster),
            )
            connections = _all_over(desk, RUNS, cluster)
            time.sleep(1)  # until the checkpoints are cleared up
            used = (processor(worker.process.pid) - used) / 1000 / RUNS
            others = (processor(models) - others) / 1000 / RUNS
            own = (time.process_time() - own) / RUNS
            served = (_backends(cluster) - served) / RUNS
            commits = (_commits(cluster) - commits) // RUNS
            size = (_size(cluster, Path(folder)) - size) // RUNS
            events = sum(len(store.events(run.id)) for run in store.runs("local", RUNS)) // RUNS
        finally:
            desk.close()
        found += [
            Figure("worker, a run", used * 1000, "ms", note=f"{RUNS} at once, {kind}"),
            Figure("page server, a run that nobody follows", own * 1000, "ms"),
            Figure("events of a run", events),
            Figure("stored of a run", size / 1024, "KB", note=kind),
        ]
        if cluster:
            found += [
                Figure("database, a run", served * 1000, "ms", note="its backends"),
                Figure("transactions of a run", commits),
                Figure("connections of the page server and a worker", connections,
                       note=f"at most {MOST_CONNECTIONS} of each process"),
            ]  # fmt: skip
        return used, own, served, others


MOST_CONNECTIONS = 24 + 16 + 1  # of the store, of the checkpoints, and the lock


def _all_over(desk: Application, number: int, cluster: Cluster | None = None) -> int:
    """Has so many runs done at once; returns the most connections meanwhile."""
    ids = [desk.runs.start(f"How old is building {number}-{n}?").id for n in range(number)]
    most = 0

    def over() -> bool:
        nonlocal most
        time.sleep(0.2)
        if cluster:
            most = max(most, len(_pids(cluster)))
        return not desk.runs.store.runs_by_engine()

    until(over, 300)
    assert all((run := desk.runs.store.get_run(run_id)) and run.status == "done" for run_id in ids)
    return most


def _pids(cluster: Cluster) -> list[int]:
    with cluster.connect() as owner:
        asked = "select pid from pg_stat_activity where application_name = 'sightline'"
        return [pid for (pid,) in owner.execute(asked)]


def _backends(cluster: Cluster | None) -> float:
    """Seconds of a core that the database's processes for our connections have had."""
    if not cluster:
        return 0.0
    return sum(processor(pid) for pid in _pids(cluster)) / 1000


def _commits(cluster: Cluster | None) -> int:
    if not cluster:
        return 0
    with cluster.connect() as owner:
        owner.execute("select pg_stat_clear_snapshot()")
        asked = "select sum(xact_commit) from pg_stat_database"
        return int(owner.execute(asked).fetchone()[0])


def _size(cluster: Cluster | None, folder: Path) -> int:
    """Bytes of the database, or of its file."""
    if not cluster:
        return sum(path.stat().st_size for path in folder.glob("runs.db*"))
    with cluster.connect() as owner:
        asked = "select sum(pg_database_size(oid)) from pg_database"
        return int(owner.execute(asked).fetchone()[0])


def _followed(seconds: float) -> float:
    """Seconds of a core that a run takes of the page server on which it is asked, followed and read."""
    with tempfile.TemporaryDirectory() as folder, gemini(seconds) as (address, _):
        server = Server(
            Path(folder) / "data", SIGHTLINE_WORKERS="1", GEMINI_API_KEY="sentinel",
            GOOGLE_GEMINI_BASE_URL=address, **LIMITS,
        ).start()  # fmt: skip
        try:
            locks = Path(folder) / "data" / "engines"
            until(lambda: len(list(locks.glob("*.lock"))) > 1, 120)
            time.sleep(5)
            return asyncio.run(_watched(server))
        finally:
            server.stop()


async def _watched(server: Server) -> float:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        await _visited(http, server, "lang=en", BOX)
        askers = [Asker(http, server) for _ in range(FOLLOWED)]
        for asker in askers:
            await asker.open(BOX)
        cpu = processor(server.pid)
        for n, asker in enumerate(askers):
            await asker.begin(f"How old is building number {n}?")
            await asyncio.sleep(0.2)
        while not all(asker.run for asker in askers) or workers._active(server):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        await asyncio.sleep(1)
        cpu = (processor(server.pid) - cpu) / 1000 / FOLLOWED
        for asker in askers:
            await asker.close()
        return cpu


# Simulated


def burst(costs: Costs, number: int, hands: int) -> float:
    """How many times its path the slowest of some runs takes that begin in the same moment."""
    site, slices = Site(1, hands), [0.0] * number
    ends = simulated(costs, site, slices, QUICK, followed=False)[0]
    return max(ends) / (CALLS * QUICK)


def simulated(
    costs: Costs, site: Site, arrivals: list[float], call: float, *, followed: bool = True
) -> tuple[list[float], list[float]]:
    """Seconds that runs take which begin at some times, and that events take to the page.

    A run is five calls; before each it needs its share of a worker and of the database, and what it
    says then is shown by its page server. Each process does one thing after the other. What a page
    costs by the second comes as one piece each second.
    """
    free = {
        "worker": [0.0] * site.workers,
        "database": [0.0] * site.database,
        "page": [0.0] * site.pages,
    }
    queue: list[tuple[float, int, str, int, int]] = []
    order, began = count(), dict(enumerate(arrivals))
    for run, start in began.items():
        heapq.heappush(queue, (start, next(order), "page", run, 0))
    took: list[float] = []
    late: list[float] = []
    done: set[int] = set()

    def work(what: str, at: float, seconds: float, place: int | None = None) -> float:
        """When a piece of work is done: by a process of its own or by the one that is free first."""
        line = free[what]
        one = min(range(len(line)), key=lambda n: line[n]) if place is None else place % len(line)
        line[one] = max(at, line[one]) + seconds
        return line[one]

    while queue:
        at, _, what, run, step = heapq.heappop(queue)
        if what == "page":  # it is asked
            seconds = costs.handing + (costs.page / 2 if followed else 0)
            asked = work("page", at, seconds, run)
            heapq.heappush(queue, (asked, next(order), "step", run, 0))
            if followed:
                heapq.heappush(queue, (at + 1, next(order), "look", run, 0))
        elif what == "look":
            if run not in done:
                work("page", at, costs.second, run)
                heapq.heappush(queue, (at + 1, next(order), "look", run, 0))
        elif what == "step":  # the share of a step, then its call
            ready = work("worker", at, costs.worker / (CALLS + 1), run)
            ready = work("database", ready, costs.database / (CALLS + 1))
            if followed:
                heapq.heappush(queue, (ready, next(order), "shown", run, step))
            if step == CALLS:
                took.append(ready - began[run])
                done.add(run)
            else:
                heapq.heappush(queue, (ready + call, next(order), "step", run, step + 1))
        else:  # what it has come to is shown
            seconds = costs.page / 2 if step == CALLS else costs.second
            late.append(work("page", at, seconds, run) - at)
    return took, late


def people(costs: Costs, number: int, site: Site) -> tuple[float, float]:
    """In the busiest minutes of so many people: how many times its path a run takes, and the seconds
    from an event to its page beyond the wait between two looks; each the 95th percentile."""
    chance, rate = random.Random(20261125), number * AN_HOUR * PEAK / HOUR
    arrivals, at, minutes = list[float](), 0.0, 10 if number <= 1_000 else 3
    while (at := at + chance.expovariate(rate)) < minutes * 60:
        arrivals.append(at)
    took, late = simulated(costs, site, arrivals, CALL)
    return percentile(took, 0.95) / (CALLS * CALL), percentile(late, 0.95)


def needed(costs: Costs, number: int, most: float = 0.3) -> Site:
    """The fewest processes with which events are shown within `most` seconds and runs take at most 1.1
    times their path: those of the kind that is missing are added one by one."""
    rate = number * AN_HOUR * PEAK / HOUR
    page = rate * (costs.handing + costs.page + costs.second * (CALLS * CALL + CALLS))
    site = Site(
        pages=int(page) + 1,
        workers=int(rate * costs.worker) + 1,
        database=int(rate * costs.database) + 1,
    )
    while True:
        slow, late = people(costs, number, site)
        if slow <= 1.1 and late <= most:
            return site
        more = {
            name: people(costs, number, replace(site, **{name: getattr(site, name) + 1}))
            for name in ("pages", "workers", "database")
        }
        best = min(more, key=lambda name: max(more[name][0] / 1.1, more[name][1] / most))
        site = replace(site, **{best: getattr(site, best) + 1})


def _needed(costs: Costs, number: int) -> Iterator[Figure]:
    site = needed(costs, number)
    slow, late = people(costs, number, site)
    rate = number * AN_HOUR * PEAK / HOUR
    name = f"simulated: {number:,} people"
    note = f"{rate:.2g} runs a second, {rate * CALLS * CALL:.0f} under way, {rate * 7 * 60:,.0f} calls a minute"
    yield Figure(f"{name}: page servers", site.pages, note=note)
    yield Figure(f"{name}: workers", site.workers)
    yield Figure(f"{name}: cores of the database", site.database)
    yield Figure(f"{name}: a run / path, p95", slow)
    yield Figure(f"{name}: event to page, p95", late * 1000, "ms", note="and the wait between two looks")
    yield Figure(f"{name}: connections", MOST_CONNECTIONS * (site.pages + site.workers), note="at most")
