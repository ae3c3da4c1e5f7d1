"""Worker processes that runs are spread over, so that the one that serves the pages has time for them.

A worker is an engine of its own on the same store (`research.runtime.child`). What it is to do comes by
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

BUSY = 20  # runs under way for each process, above which another worker is begun
IDLE = 600.0  # seconds without a run after which a worker that was begun for many is let go
TRIES = 3  # workers that end before they are ready; after that there are no more
PATIENCE = 12.0  # seconds that a worker has to interrupt what it is at
MAKER = "research.runtime.child:desk"  # what opens the runs of a worker
_ROOT = str(Path(__file__).resolve().parents[2])
# With -P nothing is imported from the folder that the server was started in.
_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from research.runtime.child import main; main()"
)


@dataclass(eq=False)
class Worker:
    """A process, and the runs that it was given."""

    process: subprocess.Popen[bytes]
    engine: str = ""  # "" until it is ready
    runs: set[str] = field(default_factory=set)
    since: float = field(default_factory=time.monotonic)  # when it last had something to do
    leaving: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, *message: Any) -> None:
        """Says something to it; one that is gone hears nothing, and is noticed by who listens to it."""
        assert self.process.stdin
        with self._lock, suppress(OSError, ValueError):
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def leave(self) -> None:
        """Lets it go: it interrupts what it is at, and ends."""
        self.leaving = True
        assert self.process.stdin
        with self._lock, suppress(OSError):
            self.process.stdin.close()


class Pool:
    """The workers of a process. Safe for several threads."""

    def __init__(
        self,
        settings: Settings,
        over: Callable[[str], None],
        gone: Callable[[str], None],
        maker: str = MAKER,
    ) -> None:
        """`over` hears of each run that a worker has done with; `gone`, of an engine whose worker ended
        by itself. Both are called in threads of the pool's."""
        self.most, self.ahead = settings.processes, settings.workers != "auto"
        self._settings, self._maker = settings, maker
        self._over, self._gone = over, gone
        self._workers: list[Worker] = []
        self._threads: list[threading.Thread] = []
        self._failed = 0
        self._closed = False
        self._lock = threading.RLock()
        if self.ahead:
            for _ in range(self.most):
                self._begin()

    # What there is

    def engines(self) -> dict[str, int]:
        """The engines that are ready, with how many runs each was given."""
        with self._lock:
            return {one.engine: len(one.runs) for one in self._ready()}

    def has(self, engine: str) -> bool:
        """Whether an engine is one of these. It is until `gone` has seen to its runs."""
        with self._lock:
            return any(one.engine == engine for one in self._workers)

    def _ready(self) -> list[Worker]:
        return [one for one in self._workers if one.engine and not one.leaving]

    def holder(self, run_id: str) -> Worker | None:
        """Who was given a run that is not over yet."""
        with self._lock:
            return next((one for one in self._workers if run_id in one.runs), None)

    def pick(self, waiting: Counter[str], here: int) -> str | None:
        """The engine that has the least to do; None if there is none. Others `waiting` will be given to
        some of them, and `here` others go on in this process."""
        with self._lock:
            loads = {engine: given + waiting[engine] for engine, given in self.engines().items()}
            if here + sum(loads.values()) >= BUSY * (1 + len(self._workers)):
                self._begin()
            return min(loads, key=lambda engine: loads[engine]) if loads else None

    # Work

    def give(self, engine: str, run_id: str, *order: Any) -> bool:
        """Has a worker take up a run; whether there is that worker."""
        with self._lock:
            one = next((one for one in self._ready() if one.engine == engine), None)
            if one is None:
                return False
            one.runs.add(run_id)
            one.since = time.monotonic()
        one.tell("run", run_id, *order)
        return True

    def rekeyed(self, owner: str, keys: Mapping[str, str]) -> None:
        """The keys of somebody's session have changed."""
        with self._lock:
            workers = self._ready()
        for one in workers:
            one.tell("keys", owner, dict(keys))

    # The processes

    def _begin(self) -> None:
        """Begins a worker, if there may be one more. Until it is ready the others do the work."""
        with self._lock:
            full = len(self._workers) >= self.most or self._failed >= TRIES
            if full or self._closed or not sys.executable:
                return
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CODE, _ROOT],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                )  # fmt: skip
            except OSError as error:
                self._failed = TRIES
                log.error("no worker can be begun; runs go on in this process: %s", error)
                return
            self._workers.append(one := Worker(process))
            thread = threading.Thread(
                target=self._listen, args=(one,), name="sightline-worker", daemon=True
            )
            thread.start()
            self._threads = [known for known in self._threads if known.is_alive()] + [thread]

    def _listen(self, one: Worker) -> None:
        """Hears what a worker says until it ends."""
        one.tell(self._maker, self._settings)
        stdout = one.process.stdout
        assert stdout
        # What a process that is being killed has half said ends like what it does not say.
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                word, told = pickle.load(stdout)  # noqa: S301 - from a process of our own
                if word == "ready":
                    with self._lock:
                        one.engine, one.since, self._failed = told, time.monotonic(), 0
                else:
                    with self._lock:
                        one.runs.discard(told)
                        one.since = time.monotonic()
                    self._over(told)
        asked = one.leaving
        one.leave()
        code = one.process.wait()
        stdout.close()
        self._ended(one, code, asked=asked)

    def _ended(self, one: Worker, code: int, *, asked: bool) -> None:
        """Sees to what a worker leaves behind, and to another one where it was not let go."""
        with self._lock:
            closed = self._closed
            if not one.engine and not asked:
                self._failed += 1
        if not asked:
            when = "with runs under way" if one.runs else "idle" if one.engine else "at its start"
            log.warning("a worker has ended, %s, with code %s", when, code)
        try:
            if one.engine and not closed:
                self._gone(one.engine)
        finally:
            with self._lock:
                self._workers.remove(one)
        if not asked and (self.ahead or one.runs):
            self._begin()

    def tend(self) -> None:
        """Lets those go that were begun for many runs and have had none for long; to be called now and
        then."""
        now = time.monotonic()
        with self._lock:
            idle = [one for one in self._ready() if not one.runs and now - one.since > IDLE]
        for one in idle if not self.ahead else []:
            one.leave()

    def close(self) -> list[str]:
        """Ends the workers, who interrupt what they are at; returns the engines that they were."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
        for one in workers:
            one.leave() if one.engine else one.process.kill()
        deadline = time.monotonic() + PATIENCE
        for one in workers:
            try:
                one.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.process.kill()
        for thread in self._threads:
            thread.join(PATIENCE)
        return [one.engine for one in workers if one.engine]
