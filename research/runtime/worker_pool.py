"""A pool of worker processes, which relieves the process that serves the pages.

Each worker is an engine of its own on the same store (`research.runtime.worker_process`). It gets
its tasks through standard input, session keys included, so that these are in no file, argument,
environment or log. When its input ends, the worker stops and its runs are interrupted. Readers
follow runs in the store as always.

Messages are pickled tuples. The first one to a worker is the factory of its application and the
settings. Then follow ("run", run id, is resumed, write only, owner, session keys, folder),
("keys", owner, session keys) and ("check_requests",). A worker sends ("ready", engine id) once and
("ended", run id) for each run.
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

MAX_RUNS_PER_PROCESS = 20  # runs under way per process, above which another worker is started
IDLE_TIMEOUT_SECONDS = 600.0  # seconds without a run after which an additional worker is closed
MAX_FAILED_STARTS = 3  # workers that exit before they are ready; after that none is started
STOP_TIMEOUT_SECONDS = 12.0  # seconds that a worker has to interrupt its runs
FACTORY = "research.runtime.worker_process:open_application"  # opens the application of a worker
_ROOT = str(Path(__file__).resolve().parents[2])
# With -P nothing is imported from the folder in which the server was started.
_CHILD_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from research.runtime.worker_process import main; main()"


@dataclass(eq=False)
class WorkerProcess:
    """A worker process and the runs assigned to it."""

    process: subprocess.Popen[bytes]
    engine: str = ""  # "" until it is ready
    runs: set[str] = field(default_factory=set)
    idle_since: float = field(default_factory=time.monotonic)  # when its last run was assigned or ended
    is_closing: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, *message: Any) -> None:
        """Send a message to the worker; one that has exited is noticed by its listener."""
        assert self.process.stdin
        with self._lock, suppress(OSError, ValueError):
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def close(self) -> None:
        """Close the input of the worker, which then interrupts its runs and exits."""
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
        """Start the workers, unless the settings say "auto".

        `on_run_end` is called with each run that a worker has ended, `on_worker_lost` with the
        engine of a worker that exited unexpectedly. Both are called in threads of the pool.
        """
        self.max_workers, self.starts_eagerly = settings.worker_count, settings.workers != "auto"
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

    # State

    def run_counts(self) -> dict[str, int]:
        """Return the number of assigned runs of each engine that is ready."""
        with self._lock:
            return {worker.engine: len(worker.runs) for worker in self._ready_workers()}

    def has_engine(self, engine: str) -> bool:
        """Return whether an engine belongs to the pool.

        A dead one still does until `on_worker_lost` has returned.
        """
        with self._lock:
            return any(worker.engine == engine for worker in self._workers)

    def _ready_workers(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if worker.engine and not worker.is_closing]

    def worker_of(self, run_id: str) -> WorkerProcess | None:
        """Return the worker to which a run under way was assigned."""
        with self._lock:
            return next((worker for worker in self._workers if run_id in worker.runs), None)

    def pick_engine(self, queued_runs: Counter[str], local_runs: int) -> str | None:
        """Return the engine with the fewest runs; None if there is none.

        `queued_runs` counts the runs that wait for an engine, `local_runs` is the number of runs in
        this process. Under high load another worker is started.
        """
        with self._lock:
            loads = {engine: assigned + queued_runs[engine] for engine, assigned in self.run_counts().items()}
            if local_runs + sum(loads.values()) >= MAX_RUNS_PER_PROCESS * (1 + len(self._workers)):
                self._start_worker()
            return min(loads, key=lambda engine: loads[engine]) if loads else None

    # Work

    def assign_run(self, engine: str, run_id: str, *arguments: Any) -> bool:
        """Assign a run to a worker. Return whether that worker exists."""
        with self._lock:
            worker = next((worker for worker in self._ready_workers() if worker.engine == engine), None)
            if worker is None:
                return False
            worker.runs.add(run_id)
            worker.idle_since = time.monotonic()
        worker.send("run", run_id, *arguments)
        return True

    def send_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Send the changed session keys of an owner to all workers."""
        with self._lock:
            workers = self._ready_workers()
        for worker in workers:
            worker.send("keys", owner, dict(keys))

    # Processes

    def _start_worker(self) -> None:
        """Start a worker unless the limit is reached.

        Until it is ready, the others execute the runs.
        """
        with self._lock:
            is_full = len(self._workers) >= self.max_workers or self._failed_starts >= MAX_FAILED_STARTS
            if is_full or self._is_closed or not sys.executable:
                return
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CHILD_CODE, _ROOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            except OSError as error:
                self._failed_starts = MAX_FAILED_STARTS
                log.error("no worker can be begun; runs go on in this process: %s", error)
                return
            self._workers.append(worker := WorkerProcess(process))
            thread = threading.Thread(target=self._listen, args=(worker,), name="sightline-worker", daemon=True)
            thread.start()
            self._threads = [running for running in self._threads if running.is_alive()] + [thread]

    def _listen(self, worker: WorkerProcess) -> None:
        """Read the messages of a worker until it exits."""
        worker.send(self._factory, self._settings)
        stdout = worker.process.stdout
        assert stdout
        # A message that was cut off by a kill ends the loop like a regular end.
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                kind, value = pickle.load(stdout)  # noqa: S301 - written by our own worker
                if kind == "ready":
                    with self._lock:
                        worker.engine, worker.idle_since, self._failed_starts = value, time.monotonic(), 0
                else:
                    with self._lock:
                        worker.runs.discard(value)
                        worker.idle_since = time.monotonic()
                    self._on_run_end(value)
        was_requested = worker.is_closing
        worker.close()
        code = worker.process.wait()
        stdout.close()
        self._handle_exit(worker, code, was_requested=was_requested)

    def _handle_exit(self, worker: WorkerProcess, code: int, *, was_requested: bool) -> None:
        """Recover the runs of a worker that exited, and replace it unless it was closed."""
        with self._lock:
            is_closed = self._is_closed
            if not worker.engine and not was_requested:
                self._failed_starts += 1
        if not was_requested:
            when = "with runs under way" if worker.runs else "idle" if worker.engine else "at its start"
            log.warning("a worker has ended, %s, with code %s", when, code)
        try:
            if worker.engine and not is_closed:
                self._on_worker_lost(worker.engine)
        finally:
            with self._lock:
                self._workers.remove(worker)
        if not was_requested and (self.starts_eagerly or worker.runs):
            self._start_worker()

    def close_idle_workers(self) -> None:
        """Close additional workers that have been idle for long. Call this periodically."""
        now = time.monotonic()
        with self._lock:
            idle = [
                worker
                for worker in self._ready_workers()
                if not worker.runs and now - worker.idle_since > IDLE_TIMEOUT_SECONDS
            ]
        for worker in idle if not self.starts_eagerly else []:
            worker.close()

    def close(self) -> list[str]:
        """Stop all workers, which interrupt their runs. Return the ids of their engines."""
        with self._lock:
            self._is_closed = True
            workers = list(self._workers)
        for worker in workers:
            worker.close() if worker.engine else worker.process.kill()
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for worker in workers:
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
        for thread in self._threads:
            thread.join(STOP_TIMEOUT_SECONDS)
        return [worker.engine for worker in workers if worker.engine]
