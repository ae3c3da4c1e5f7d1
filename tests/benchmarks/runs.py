"""How much time a run takes beyond waiting for its sources, alone and beside 49 others.

The source waits 0.3 s a search and the reasoner is scripted: 3 queries, 2 rounds. So the critical
path of a run is two searches, 0.6 s; all else is the graph, the checkpoints and the store.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from research.core.records import Run, RunOptions
from research.core.settings import Settings
from research.runtime.local_run_manager import LocalRunManager
from tests.benchmarks.figures import Figure, at_once, percentile
from tests.fakes import Outcome, ScriptedReasoner, ScriptedSource, resources

WAIT = 0.3
ROUNDS = 2
MANY = 50
ONCE = 5  # single runs, of which the median counts


def _measured(runs: LocalRunManager, number: int) -> tuple[list[float], float]:
    """Seconds of each run from its creation to its stored end, and CPU seconds of the process."""
    options = RunOptions(queries=3, loops=ROUNDS, sources=("web",))
    cpu = time.process_time()
    ids = [runs.start(f"question {n}", options=options).id for n in range(number)]
    done = [run for run_id in ids if (run := _ended(runs, run_id))]
    cpu = time.process_time() - cpu
    return [(run.finished - run.created).total_seconds() for run in done if run.finished], cpu


def _ended(runs: LocalRunManager, run_id: str) -> Run:
    while True:
        run = runs.get_run(run_id)
        assert run is not None
        if not run.is_active:
            assert run.status == "done", run.error
            return run
        time.sleep(0.02)


def figures() -> Iterator[Figure]:
    path = WAIT * ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), max_runs_per_owner=0, starts_per_minute=0)
        yield at_once(MANY, settings)
        source = ScriptedSource("web", Outcome(waits=WAIT))
        reasoner = ScriptedReasoner(follow_ups=lambda round_: ("d", "e", "f"))
        runs = LocalRunManager(resources(settings, reasoner, {"web": source}))
        try:
            _measured(runs, 1)
            single = [_measured(runs, 1) for _ in range(ONCE)]
            seconds = percentile([times[0] for times, _ in single], 0.5)
            note = f"{seconds:.2f} s, the critical path is {path:.1f} s"
            yield Figure("wall / critical path, one run", seconds / path, target=1.04, note=note)
            cpu = percentile([used for _, used in single], 0.5)
            yield Figure("CPU of one run", cpu * 1000, "ms")
            times, cpu = _measured(runs, MANY)
            for label, worst in (("slowest", max(times)), ("median", percentile(times, 0.5))):
                note = f"{worst:.2f} s"
                target = 1.6 if label == "slowest" else None
                name = f"wall / critical path, {MANY} runs at once, {label}"
                yield Figure(name, worst / path, target=target, note=note)
            yield Figure(f"CPU a run, {MANY} at once", cpu / MANY * 1000, "ms")
        finally:
            runs.close()
