"""What a run with models costs beyond waiting for them: time, processor and memory.

A fake Gemini in a process of its own answers each call after 0.3 s: plan, three searches, reflect,
one more search, answer. So the critical path of a run is five calls, 1.5 s.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from research.runs import Desk, settle
from research.settings import load
from tests.benchmarks.figures import Figure, at_once, percentile

WAIT = 0.3
CALLS = 5  # one after the other
SEARCHES = 3  # side by side
MANY = 50
ONCE = 5  # single runs, of which the median counts
ROOT = Path(__file__).resolve().parent.parent.parent


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.servers", "gemini", "--latency", str(WAIT)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _measured(desk: Desk, number: int) -> tuple[list[float], float]:
    """Seconds of each run from its creation to its stored end, and CPU seconds of the process."""
    cpu = time.process_time()
    ids = [desk.runs.start(f"How old is building number {n}?").id for n in range(number)]
    times = []
    for run_id in ids:
        for _ in desk.runs.follow(run_id):
            pass
        run = desk.runs.get(run_id)
        assert run is not None and run.finished is not None and run.status == "done", run
        times.append((run.finished - run.created).total_seconds())
    return times, time.process_time() - cpu


def _memory() -> float:
    """The most memory this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def figures() -> Iterator[Figure]:
    path = WAIT * CALLS
    with tempfile.TemporaryDirectory() as folder, _server() as url:
        env = {
            "GEMINI_API_KEY": "benchmark", "GOOGLE_GEMINI_BASE_URL": url,
            "SIGHTLINE_MAX_RUNS_EACH": "0",
        }  # fmt: skip
        settings = load(env, data_dir=Path(folder))
        yield at_once(MANY, settings, calls=MANY * SEARCHES)
        desk = Desk(settings)
        try:
            _measured(desk, 1)
            settle()  # as the app does
            single = [_measured(desk, 1) for _ in range(ONCE)]
            seconds = percentile([times[0] for times, _ in single], 0.5)
            note = f"{seconds:.2f} s, the critical path is {path:.1f} s"
            yield Figure("wall / critical path, one run", seconds / path, target=1.05, note=note)
            cpu = percentile([used for _, used in single], 0.5)
            yield Figure("CPU of one run", cpu * 1000, "ms")
            before = _memory()
            times, cpu = _measured(desk, MANY)
            for label, worst in (("slowest", max(times)), ("median", percentile(times, 0.5))):
                target = 1.5 if label == "slowest" else None
                name = f"wall / critical path, {MANY} runs at once, {label}"
                yield Figure(name, worst / path, target=target, note=f"{worst:.2f} s")
            yield Figure(f"CPU a run, {MANY} at once", cpu / MANY * 1000, "ms")
            yield Figure(f"memory a run, {MANY} at once", (_memory() - before) / MANY, "MB")
            yield Figure("memory of the process", _memory(), "MB")
        finally:
            desk.close()
