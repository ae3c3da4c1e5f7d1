"""A worker process: takes up the runs that the server gives it, until its input ends.

`python -c` with `main()` is how `research.runtime.pool` begins one. It is an engine like any other: it
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
from research.http import pace
from research.runtime.local import LocalRuns

log = logging.getLogger(__name__)

NICE = 5  # whoever waits for a page goes first


class Household(Protocol):
    """What a worker works with."""

    @property
    def runs(self) -> Any:
        """A `LocalRuns`."""

    def warm(self) -> None: ...

    def close(self) -> None: ...


def desk(settings: Settings) -> Household:
    """Everything that a worker needs, as the server has it."""
    from research.application import Desk

    return Desk(settings)


def share(settings: Settings) -> Settings:
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
        os.nice(NICE)
    said = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed is no message
    heard, code = _messages(sys.stdin.buffer), 0
    try:
        for maker, settings in heard:
            pace.parts = settings.processes
            household = _made(maker)(share(settings))
            try:
                _work(household, heard, said)
            finally:
                household.close()
    except Exception:
        log.exception("a worker cannot go on")
        code = 1
    sys.stderr.flush()
    os._exit(code)  # a call that still hangs in a thread holds up nobody


def _made(maker: str) -> Callable[[Settings], Household]:
    module, _, name = maker.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def _messages(stream: IO[bytes]) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            yield pickle.load(stream)  # noqa: S301 - from the process that began this one
        except (EOFError, OSError, pickle.UnpicklingError):
            return


def _work(household: Household, heard: Iterator[tuple[Any, ...]], said: IO[bytes]) -> None:
    def say(word: str, told: str) -> None:
        try:
            pickle.dump((word, told), said)
            said.flush()
        except OSError:  # the server is gone, and the input ends
            log.debug("nobody hears that %s is %s", told, word)

    runs: LocalRuns = household.runs
    runs.over = lambda run_id: runs.loop.soon(say, "over", run_id)
    household.warm()
    gc.collect()
    gc.freeze()
    runs.loop.soon(say, "ready", runs.engine)
    for word, *told in heard:
        if word == "run":
            _take(runs, *told)
        elif word == "keys":
            runs.hold_keys(*told)
        else:
            runs.loop.soon(runs.attend)


def _take(
    runs: LocalRuns,
    run_id: str,
    resumed: bool,
    write: bool,
    owner: str,
    keys: Mapping[str, str],
    folder: Path | None,
) -> None:
    """Takes up a run of an owner's, who has brought these keys."""
    runs.hold_keys(owner, keys)
    if folder:
        runs.resources.files.into(run_id, folder)
    run = runs.store.run(run_id)
    if run is None or not run.active:  # it was stopped on its way here
        runs.over(run_id)
    else:
        runs.take(run, resumed=resumed, write=write)
