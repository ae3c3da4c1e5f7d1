"""A worker process: takes up the runs that the server gives it, until its input ends.

`python -c` with `main()` is how `research.runtime.worker_pool` begins one. It is an engine like any other: it
holds a lock of its own, writes into the same store, and looks there for what is asked of its runs.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

from research.core.settings import Settings
from research.http import rate_limiter
from research.runtime.local_run_manager import LocalRunManager

log = logging.getLogger(__name__)

NICE_INCREMENT = 5  # whoever waits for a page goes first


class WorkerApplication(Protocol):
    """What a worker works with."""

    @property
    def runs(self) -> Any:
        """A `LocalRuns`."""

    def warm(self) -> None: ...

    def close(self) -> None: ...


def open_application(settings: Settings) -> WorkerApplication:
    """Everything that a worker needs, as the server has it."""
    from research.application import Application

    return Application(settings)


def share_limits(settings: Settings) -> Settings:
    """The settings of a worker: its part of what a service may be asked at once. How many runs go on
    is for the server to say."""
    parts = settings.processes
    return settings.model_copy(
        update={
            "workers": "0",
            "runs_at_once": 0,
            "runs_each": 0,
            "model_concurrency": math.ceil(settings.model_concurrency / parts),
            "requests_per_minute": math.ceil(settings.requests_per_minute / parts),
        }
    )


def main() -> None:
    """Works until the input ends, which it does with the server at the latest."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, which ends the others
    if hasattr(os, "nice"):
        os.nice(NICE_INCREMENT)
    said = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed is no message
    heard, code = _read_messages(sys.stdin.buffer), 0
    try:
        for maker, settings in heard:
            rate_limiter.process_count = settings.processes
            household = _load_factory(maker)(share_limits(settings))
            try:
                _handle_messages(household, heard, said)
            finally:
                household.close()
    except Exception:
        log.exception("a worker cannot go on")
        code = 1
    sys.stderr.flush()
    os._exit(code)  # a call that still hangs in a thread holds up nobody


def _load_factory(factory: str) -> Callable[[Settings], WorkerApplication]:
    module, _, name = factory.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def _read_messages(stream: IO[bytes]) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            yield pickle.load(stream)  # noqa: S301 - from the process that began this one
        except (EOFError, OSError, pickle.UnpicklingError):
            return


def _handle_messages(application: WorkerApplication, messages: Iterator[tuple[Any, ...]], output: IO[bytes]) -> None:
    def say(word: str, told: str) -> None:
        try:
            pickle.dump((word, told), output)
            output.flush()
        except OSError:  # the server is gone, and the input ends
            log.debug("nobody hears that %s is %s", told, word)

    runs: LocalRunManager = application.runs
    runs.on_run_end = lambda run_id: runs.loop.call_soon(say, "over", run_id)
    application.warm()
    gc.collect()
    gc.freeze()
    runs.loop.call_soon(say, "ready", runs.engine)
    for word, *told in messages:
        if word == "run":
            _take_run(runs, *told)
        elif word == "keys":
            runs.set_session_keys(*told)
        else:
            runs.loop.call_soon(runs.handle_requests)


def _take_run(
    runs: LocalRunManager,
    run_id: str,
    is_resumed: bool,
    write_only: bool,
    owner: str,
    keys: Mapping[str, str],
    folder: Path | None,
) -> None:
    """Takes up a run of an owner's, who has brought these keys."""
    runs.set_session_keys(owner, keys)
    if folder:
        runs.resources.report_files.set_folder(run_id, folder)
    run = runs.store.get_run(run_id)
    if run is None or not run.is_active:  # it was stopped on its way here
        runs.on_run_end(run_id)
    else:
        runs.take_run(run, is_resumed=is_resumed, write_only=write_only)
