"""Worker processes that runs are spread over, so that the one that serves the pages has time for them.

A worker is an engine of its own on the same store (`research.runtime.worker_process`). What it is to do comes by
its standard input, keys of a session included: they are in no file, argument, environment or log.
When that input ends, so does the worker, and what it was at is interrupted. Who is followed looks into
the store, as ever; from a worker comes only that it is ready, and which run is over.
"""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from research.core.settings import Settings

log = logging.getLogger(__name__)

MAX_RUNS_PER_PROCESS = 20  # runs under way for each process, above which another worker is begun
IDLE_TIMEOUT_SECONDS = 600.0  # seconds without a run after which a worker that was begun for many is let go
MAX_FAILED_STARTS = 3  # workers that end before they are ready; after that there are no more
STOP_TIMEOUT_SECONDS = 12.0  # seconds that a worker has to interrupt what it is at
FACTORY = "research.runtime.worker_process:open_application"  # what opens the runs of a worker
_ROOT = str(Path(__file__).resolve().parents[2])
# With -P nothing is imported from the folder that the server was started in.
_CHILD_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from research.runtime.worker_process import main; main()"


@dataclass(eq=False)
class WorkerProcess:
    """A process, and the runs that it was given."""

    process: subprocess.Popen[bytes]
    engine: str = ""  # "" until it is ready
    runs: set[str] = field(default_factory=set)
    idle_since: float = field(default_factory=time.monotonic)  # when it last had something to do
    is_closing: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, *message: Any) -> None:
        """Says something to it; one that is gone hears nothing, and is noticed by who listens to it."""
        assert self.process.stdin
        with self._lock, suppress(OSError, ValueError):
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def close(self) -> None:
        """Lets it go: it interrupts what it is at, and ends."""
        self.is_closing = True
        assert self.process.stdin
        with self._lock, suppress(OSError):
            self.process.stdin.close()


class WorkerPool:
    """The workers of a process. Safe for several threads."""

    def __init__(
        self,
        settings: Settings,
        on_run_end: Callable[[str], None],
        on_worker_lost: Callable[[str], None],
        factory: str = FACTORY,
    ) -> None:
        """`over` hears of each run that a worker has done with; `gone`, of an engine whose worker ended
        by itself. Both are called in threads of the pool's."""
        self.max_workers, self.starts_eagerly = settings.processes, settings.workers != "auto"
        self._settings, self._factory = settings, factory
        self._on_run_end, self._on_worker_lost = on_run_end, on_worker_lost
        self._workers: list[WorkerProcess] = []
        self._threads: list[threading.Thread] = []
        self._failed_starts = 0
        self._is_closed = False
        self._lock = threading.RLock()
        if self.starts_eagerly:
            for _ in range(self.max_workers):
                self._start_worker()

    # What there is

    def run_counts(self) -> dict[str, int]:
        """The engines that are ready, with how many runs each was given."""
        with self._lock:
            return {one.engine: len(one.runs) for one in self._ready_workers()}

    def has_engine(self, engine: str) -> bool:
        """Whether an engine is one of these. It is until `gone` has seen to its runs."""
        with self._lock:
            return any(one.engine == engine for one in self._workers)

    def _ready_workers(self) -> list[WorkerProcess]:
        return [one for one in self._workers if one.engine and not one.is_closing]

    def worker_of(self, run_id: str) -> WorkerProcess | None:
        """Who was given a run that is not over yet."""
        with self._lock:
            return next((one for one in self._workers if run_id in one.runs), None)

    def pick_engine(self, queued_runs: Counter[str], local_runs: int) -> str | None:
        """The engine that has the least to do; None if there is none. Others `waiting` will be given to
        some of them, and `here` others go on in this process."""
        with self._lock:
            loads = {engine: given + queued_runs[engine] for engine, given in self.run_counts().items()}
            if local_runs + sum(loads.values()) >= MAX_RUNS_PER_PROCESS * (1 + len(self._workers)):
                self._start_worker()
            return min(loads, key=lambda engine: loads[engine]) if loads else None

    # Work

    def assign_run(self, engine: str, run_id: str, *arguments: Any) -> bool:
        """Has a worker take up a run; whether there is that worker."""
        with self._lock:
            one = next((one for one in self._ready_workers() if one.engine == engine), None)
            if one is None:
                return False
            one.runs.add(run_id)
            one.idle_since = time.monotonic()
        one.send("run", run_id, *arguments)
        return True

    def send_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """The keys of somebody's session have changed."""
        with self._lock:
            workers = self._ready_workers()
        for one in workers:
            one.send("keys", owner, dict(keys))

    # The processes

    def _start_worker(self) -> None:
        """Begins a worker, if there may be one more. Until it is ready the others do the work."""
        with self._lock:
            full = len(self._workers) >= self.max_workers or self._failed_starts >= MAX_FAILED_STARTS
            if full or self._is_closed or not sys.executable:
                return
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CHILD_CODE, _ROOT],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                )  # fmt: skip
            except OSError as error:
                self._failed_starts = MAX_FAILED_STARTS
                log.error("no worker can be begun; runs go on in this process: %s", error)
                return
            self._workers.append(one := WorkerProcess(process))
            thread = threading.Thread(target=self._listen, args=(one,), name="sightline-worker", daemon=True)
            thread.start()
            self._threads = [known for known in self._threads if known.is_alive()] + [thread]

    def _listen(self, worker: WorkerProcess) -> None:
        """Hears what a worker says until it ends."""
        worker.send(self._factory, self._settings)
        stdout = worker.process.stdout
        assert stdout
        # What a process that is being killed has half said ends like what it does not say.
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                word, told = pickle.load(stdout)  # noqa: S301 - from a process of our own
                if word == "ready":
                    with self._lock:
                        worker.engine, worker.idle_since, self._failed_starts = told, time.monotonic(), 0
                else:
                    with self._lock:
                        worker.runs.discard(told)
                        worker.idle_since = time.monotonic()
                    self._on_run_end(told)
        asked = worker.is_closing
        worker.close()
        code = worker.process.wait()
        stdout.close()
        self._handle_exit(worker, code, was_requested=asked)

    def _handle_exit(self, worker: WorkerProcess, code: int, *, was_requested: bool) -> None:
        """Sees to what a worker leaves behind, and to another one where it was not let go."""
        with self._lock:
            closed = self._is_closed
            if not worker.engine and not was_requested:
                self._failed_starts += 1
        if not was_requested:
            when = "with runs under way" if worker.runs else "idle" if worker.engine else "at its start"
            log.warning("a worker has ended, %s, with code %s", when, code)
        try:
            if worker.engine and not closed:
                self._on_worker_lost(worker.engine)
        finally:
            with self._lock:
                self._workers.remove(worker)
        if not was_requested and (self.starts_eagerly or worker.runs):
            self._start_worker()

    def close_idle_workers(self) -> None:
        """Lets those go that were begun for many runs and have had none for long; to be called now and
        then."""
        now = time.monotonic()
        with self._lock:
            idle = [
                one for one in self._ready_workers() if not one.runs and now - one.idle_since > IDLE_TIMEOUT_SECONDS
            ]
        for one in idle if not self.starts_eagerly else []:
            one.close()

    def close(self) -> list[str]:
        """Ends the workers, who interrupt what they are at; returns the engines that they were."""
        with self._lock:
            self._is_closed = True
            workers = list(self._workers)
        for one in workers:
            one.close() if one.engine else one.process.kill()
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for one in workers:
            try:
                one.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.process.kill()
        for thread in self._threads:
            thread.join(STOP_TIMEOUT_SECONDS)
        return [one.engine for one in workers if one.engine]
