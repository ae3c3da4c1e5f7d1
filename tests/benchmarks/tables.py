"""What a table costs beyond waiting: 20 rows by 8 columns, with models that answer after 0.3 s.

A fake Gemini in a process of its own answers. Each cell takes a search, each row one call that reads its
cells: 180 calls. With 40 of them at once the last search cannot end before the fourth wave of them does, and its
row is read after it: five calls one after the other are the critical path. Beside it stands what a strictly serial
engine would need.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from research.application import Application, tune_garbage_collector
from research.core.records import Column, Grid, Plan, Row, RunOptions
from research.core.settings import load_settings
from tests.benchmarks.figures import Figure, Others, percentile
from tests.benchmarks.models import WAIT, bare, served

ROWS, COLUMNS = 20, 8
AT_ONCE = 40
CALLS = ROWS * COLUMNS + ROWS
ROUNDS = 5
TABLES = count()  # nobody asks what has been asked before


def _grid() -> Plan:
    number = next(TABLES)
    rows = tuple(Row(id=f"r{n}", name=f"Tower {number}.{n}") for n in range(ROWS))
    columns = tuple(Column(id=f"c{n}", name=f"aspect {n}") for n in range(COLUMNS))
    return Plan(grid=Grid(rows=rows, columns=columns))


def _measured(desk: Application) -> tuple[float, float, int]:
    """Seconds of a table, those of the processor, and how many calls it took."""
    cpu = time.process_time()
    run = desk.runs.start("Towers", options=RunOptions(table=True, sources=("web",)), plan=_grid())
    for _ in desk.runs.follow(run.id):
        pass
    report = desk.runs.report(run.id)
    assert report and report.run.status == "done" and report.run.finished, report
    assert report.answer and all(cell.readings for cell in report.answer.cells)
    seconds = (report.run.finished - report.run.created).total_seconds()
    calls = sum(usage.calls for usage in report.usage)
    return seconds, time.process_time() - cpu, calls


async def _bare(url: str) -> float:
    """Seconds of a table that consists of nothing but its calls."""
    turns = asyncio.Semaphore(AT_ONCE)
    async with bare(url) as calls:

        async def cell(what: str) -> None:
            async with turns:
                await calls.search(what)

        async def row(n: int) -> None:
            await asyncio.gather(*(cell(f"Tower {n} aspect {at}") for at in range(COLUMNS)))
            async with turns:
                await calls.ask(f"Tower {n}")

        started = time.perf_counter()
        await asyncio.gather(*map(row, range(ROWS)))
        return time.perf_counter() - started


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, served() as url:
        env = {
            "GEMINI_API_KEY": "benchmark", "GOOGLE_GEMINI_BASE_URL": url,
            "SIGHTLINE_MODEL_CONCURRENCY": str(AT_ONCE),
        }  # fmt: skip
        desk = Application(load_settings(env | {"SIGHTLINE_STARTS_PER_MINUTE": "0"}, data_dir=Path(folder)))
        try:
            _measured(desk)
            asyncio.run(_bare(url))
            tune_garbage_collector()  # as the app does
            others = Others()
            floor = percentile([asyncio.run(_bare(url)) for _ in range(ROUNDS)], 0.5)
            found = [_measured(desk) for _ in range(ROUNDS)]
            path = (ROWS * COLUMNS / AT_ONCE + 1) * WAIT
            wall = percentile([seconds for seconds, _, _ in found], 0.5)
            note = f"{wall:.2f} s, {AT_ONCE} calls at once; {others}"
            what = f"wall / critical path, {ROWS} x {COLUMNS}"
            yield Figure(what, wall / path, target=1.15, note=note)
            yield Figure("the same of bare calls", floor / path, note=f"{floor:.2f} s")
            yield Figure("strictly serial / wall", CALLS * WAIT / wall, more=True)
            calls = {calls for _, _, calls in found}
            note = f"planned: {CALLS}"
            yield Figure("calls", float(max(calls)), target=float(CALLS), note=note)
            cpu = percentile([used for _, used, _ in found], 0.5)
            yield Figure("CPU a cell", cpu / (ROWS * COLUMNS) * 1000, "ms")
        finally:
            desk.close()
