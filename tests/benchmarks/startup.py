"""How long a command of the terminal takes that has just been typed, each in a process of its own.

The data folder is there and its sample is indexed. With models, a fake Gemini in a process of its own
answers each call after 0.3 s, so that what the plan and the first search take beyond it is ours. The
processor's time tells more than the wall's where the machine has other work.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from research.application import Application
from research.core.settings import load_settings
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.models import CALLS, ROOT, WAIT, served

TIMES = 5  # of which the median counts
KEYLESS = "西湖哪年列入世界遗产？"
ASKED = "How old is building number 1?"


def _command(folder: Path, *words: str, env: Mapping[str, str]) -> tuple[float, float]:
    """Wall and processor seconds of a command to its end."""
    before, start = _used(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "research", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "SIGHTLINE_DATA_DIR": str(folder), **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - start, _used() - before


def _used() -> float:
    """Processor seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _figures(
    name: str, target: float | None, folder: Path, *words: str, env: Mapping[str, str] | None = None
) -> Iterator[Figure]:
    taken = [_command(folder, *words, env=env or {}) for _ in range(TIMES)]
    note = f"processor {percentile([used for _, used in taken], 0.5):.2f} s"
    yield Figure(name, percentile([wall for wall, _ in taken], 0.5), "s", target=target, note=note)


def _beyond(folder: Path, env: Mapping[str, str]) -> tuple[float, float]:
    """Seconds that the plan and the first search of a new process take beyond the service's."""
    _command(folder, ASKED, env=env)
    desk = Application(load_settings(env | {"SIGHTLINE_STARTS_PER_MINUTE": "0"}, data_dir=folder))
    try:
        events = desk.runs.events(next(iter(desk.runs.recent_runs())).id)
    finally:
        desk.close()
    planned = next(event for event in events if event.kind == "plan_made")
    searched = next(event for event in events if event.kind == "task_finished")
    plan = (planned.time - events[0].time).total_seconds()
    return plan - WAIT, searched.data.seconds - WAIT


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name, served() as url:
        folder = Path(name)
        _command(folder, "library", "list", env={})
        yield from _figures("--help", 0.5, folder, "--help")
        yield from _figures("the list of runs", None, folder, "runs")
        yield from _figures("first answer without a key", 2.0, folder, KEYLESS)
        env = {"GEMINI_API_KEY": "benchmark", "GOOGLE_GEMINI_BASE_URL": url}
        waits = f", of which {WAIT * CALLS:.1f} s wait for the service"
        for figure in _figures("first answer with models", None, folder, ASKED, env=env):
            yield replace(figure, note=figure.note + waits)
        taken = [_beyond(folder, env) for _ in range(TIMES)]
        for what, seconds in zip(("plan", "first search"), zip(*taken, strict=True), strict=True):
            yield Figure(f"{what}, beyond the service", percentile(seconds, 0.5), "s")
