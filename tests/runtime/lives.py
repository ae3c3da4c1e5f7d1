"""Processes that work on one run and are killed, each a fork of one that has everything imported.

A life begins a run, or goes on with it, and stays when the run is over. What its stages and searches
do is a line of a log each, written by all lives of the run one after the other.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from multiprocessing.process import BaseProcess
from operator import itemgetter
from pathlib import Path
from types import ModuleType

from research.application import Application
from research.citations.numbering import number_report_answer
from research.core.events import EventEmitter
from research.core.records import Column, Evidence, Grid, Plan, Report, Row, RunOptions, RunStatus
from research.core.settings import Settings, load_settings
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.worker_pool import WorkerProcess
from tests.fakes import RETRIEVED, Outcome, ScriptedSource, Staged, note, resources, until
from tests.runtime.conftest import QUESTION

STEP = 0.02  # seconds that each stage and each search takes
THREE_ROUNDS = RunOptions(queries=4, loops=3, sources=("web",))
ROUNDS = (("a1", "a2", "a3", "a4"), ("b1", "b2", "b3"), ("c1", "c2", "c3"))


class Noted(Staged):
    """Takes its time for each stage, and notes when it begins and ends."""

    def __init__(self, log: Path) -> None:
        super().__init__(ROUNDS[0], lambda round_: ROUNDS[round_] if round_ < len(ROUNDS) else ())
        self._log = log

    async def work(self, stage: str, round_: int, emit: EventEmitter) -> None:
        name = f"{stage}{round_ or ''}"
        note(self._log, f"start {name}")
        await asyncio.sleep(STEP)
        note(self._log, f"end {name}")


def scripted(settings: Settings, log: Path) -> LocalRunManager:
    """Runs of three rounds, in which each search finds something of its own."""
    outcomes = {
        query: Outcome(waits=STEP * (1 + n / 4), passages=(f"The tower has {query}.", f"It is {n}."))
        for n, query in enumerate(query for round_ in ROUNDS for query in round_)
    }
    source = ScriptedSource(outcomes=outcomes, log=log)
    return LocalRunManager(resources(settings, Noted(log), {"web": source}))


def ended(runs: LocalRunManager, run_id: str, options: RunOptions | None) -> RunStatus:
    """Begins a run, or goes on with it as often as it takes."""
    run = runs.start(QUESTION, options=options, run_id=run_id)
    while run.status not in ("done", "failed"):
        for _ in runs.follow(run_id):
            pass
        run = runs.resume(run_id) or run
    return run.status


def live(settings: Mapping[str, object], log: Path, run_id: str) -> None:
    """A life over scripted helpers."""
    runs = scripted(Settings.model_validate(settings), log)
    note(log, "here")
    note(log, f"over {ended(runs, run_id, THREE_ROUNDS)}")
    while True:
        time.sleep(60)


def live_with_models(env: Mapping[str, str], folder: Path, log: Path, run_id: str) -> None:
    """A life over models."""
    desk = Application(load_settings(env, data_dir=folder))
    note(log, f"over {ended(desk.runs, run_id, None)}")
    while True:
        time.sleep(60)


def tabled(desk: Application, run_id: str) -> RunStatus:
    """Begins a table of 20 by 8, or goes on with it as often as it takes."""
    rows = tuple(Row(id=f"r{n}", name=f"Tower {n}") for n in range(20))
    columns = tuple(Column(id=f"c{n}", name=f"aspect {n}") for n in range(8))
    options = RunOptions(table=True, sources=("web",))
    run = desk.runs.start(QUESTION, options=options, plan=Plan(grid=Grid(rows=rows, columns=columns)), run_id=run_id)
    while run.status not in ("done", "failed"):
        for _ in desk.runs.follow(run_id):
            pass
        run = desk.runs.resume(run_id) or run
    return run.status


def live_with_a_table(env: Mapping[str, str], folder: Path, log: Path, run_id: str) -> None:
    """A life that fills in a table, over models."""
    desk = Application(load_settings(env, data_dir=folder))
    note(log, f"over {tabled(desk, run_id)}")
    while True:
        time.sleep(60)


def live_with_workers(env: Mapping[str, str], folder: Path, log: Path, run_id: str) -> None:
    """A life over models, whose work a worker does as soon as there is a file `go` beside the log."""
    desk = Application(load_settings(env, data_dir=folder))
    desk.runs.start_workers()
    note(log, f"here {hired(desk, 1)[0].process.pid}")
    until(lambda: log.with_suffix(".go").exists(), 600)
    note(log, f"over {ended(desk.runs, run_id, None)}")
    while True:
        time.sleep(60)


def hired(desk: Application, count: int) -> list[WorkerProcess]:
    """The workers of a desk, once so many are ready."""
    pool = desk.runs._worker_pool  # type: ignore[attr-defined]
    until(lambda: len(pool.run_counts()) >= count, 120)
    return [worker for worker in pool._workers if worker.engine]


@contextmanager
def without_main() -> Iterator[None]:
    """A process that begins here runs no script: where pages are tested, `__main__` is the last of them,
    and a new process would run that first."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class Lives:
    """Begins lives and kills them."""

    def __init__(self) -> None:
        self._fork = multiprocessing.get_context("forkserver")
        self._fork.set_forkserver_preload(["tests.runtime.lives", "google.genai"])
        self._begun: list[BaseProcess] = []

    def begin(self, work: object, *arguments: object) -> BaseProcess:
        self._begun.append(self._fork.Process(target=work, args=arguments, daemon=True))  # type: ignore[arg-type]
        with without_main():
            self._begun[-1].start()
        return self._begun[-1]

    def kill(self, life: BaseProcess) -> None:
        assert life.is_alive()
        life.kill()
        life.join(60)
        assert life.exitcode == -9

    def close(self) -> None:
        for life in self._begun:
            life.kill()
            life.join(60)
            life.close()


def lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def reached(log: Path, count: int) -> None:
    """Waits until a log has that many lines, or its run is over."""
    until(lambda: len(found := lines(log)) >= count or found[-1:] == ["over done"], 120)


def _untimed(evidence: Evidence) -> Evidence:
    return evidence.model_copy(update={"retrieved": RETRIEVED})


def outcome(report: Report) -> dict[str, object]:
    """What a run has come to, without the times at which it did."""
    numbered = number_report_answer(report)
    assert report.answer is not None and numbered is not None
    return {
        "question": report.run.question,
        "plan": report.plan,
        "reflections": report.reflections,
        "answer": report.answer.model_copy(update={"created": RETRIEVED}),
        "findings": {
            finding.task: (
                [_untimed(item) for item in finding.evidence],
                finding.reason,
                finding.provider,
                finding.summary,
            )
            for finding in report.findings
        },
        "cited": [(span.span.text, span.numbers, span.unsourced) for span in numbered.spans],
        "sources": [source.model_copy(update={"evidence": _untimed(source.evidence)}) for source in numbered.sources],
        "evidence": sorted(map(_untimed, report.evidence), key=lambda item: item.id),
    }


def phases(asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """For each call the number of its phase: calls of one stage that follow each other are one."""
    found: dict[tuple[str, str], int] = {}
    for number, (_, calls) in enumerate(groupby(asked, key=itemgetter(0))):
        for call in calls:
            found.setdefault(call, number)
    return found
