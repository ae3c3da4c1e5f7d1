"""A worker process, which executes the runs that the server sends it until its input ends.

`research.runtime.worker_pool` starts it with `python -c` and `main()` and defines the messages. It is an engine like any
other: it holds a lock of its own, writes to the same store, and reads requests for its runs there.
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
from research.runtime.run_log import log_to_stderr

log = logging.getLogger(__name__)

NICE_INCREMENT = 5  # gives way to the process that serves the pages


class WorkerApplication(Protocol):
    """The application that a worker uses."""

    @property
    def runs(self) -> Any:
        """A `LocalRunManager`."""

    def warm(self) -> None: ...

    def close(self) -> None: ...


def open_application(settings: Settings) -> WorkerApplication:
    """Open an application with the same services as that of the server."""
    from research.application import Application

    return Application(settings)


def share_limits(settings: Settings) -> Settings:
    """Return the settings of a worker, with its share of the limits on calls to services.

    The limits on concurrent runs are off: the server applies them.
    """
    parts = settings.worker_count
    return settings.model_copy(
        update={
            "workers": "0",
            "max_runs": 0,
            "max_runs_per_owner": 0,
            "model_concurrency": math.ceil(settings.model_concurrency / parts),
            "requests_per_minute": math.ceil(settings.requests_per_minute / parts),
        }
    )


def main() -> None:
    """Execute runs until the input ends, at the latest with the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is handled by the server, which stops the workers
    if hasattr(os, "nice"):
        os.nice(NICE_INCREMENT)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # other output must not get between the messages
    log_to_stderr()
    messages, exit_code = _read_messages(sys.stdin.buffer), 0
    try:
        for factory, settings in messages:
            rate_limiter.process_count = settings.worker_count
            application = _load_factory(factory)(share_limits(settings))
            try:
                _handle_messages(application, messages, output)
            finally:
                application.close()
    except Exception:
        log.exception("a worker cannot go on")
        exit_code = 1
    sys.stderr.flush()
    os._exit(exit_code)  # a thread with a hanging call must not keep the process alive


def _load_factory(factory: str) -> Callable[[Settings], WorkerApplication]:
    module, _, name = factory.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def _read_messages(stream: IO[bytes]) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            yield pickle.load(stream)  # noqa: S301 - written by the parent process
        except (EOFError, OSError, pickle.UnpicklingError):
            return


def _handle_messages(application: WorkerApplication, messages: Iterator[tuple[Any, ...]], output: IO[bytes]) -> None:
    def send_message(kind: str, value: str) -> None:
        try:
            pickle.dump((kind, value), output)
            output.flush()
        except OSError:  # the server is gone, and the input will end
            log.debug("the message that %s is %s cannot be sent", value, kind)

    runs: LocalRunManager = application.runs
    runs.on_run_end = lambda run_id: runs.loop.call_soon(send_message, "ended", run_id)
    application.warm()
    gc.collect()
    gc.freeze()
    runs.loop.call_soon(send_message, "ready", runs.engine)
    for kind, *values in messages:
        if kind == "run":
            _execute_run(runs, *values)
        elif kind == "keys":
            runs.resource_provider.set_session_keys(*values)
        else:
            runs.loop.call_soon(runs.handle_requests)


def _execute_run(
    runs: LocalRunManager,
    run_id: str,
    is_resumed: bool,
    write_only: bool,
    owner: str,
    keys: Mapping[str, str],
    folder: Path | None,
) -> None:
    """Execute a run of an owner with these session keys."""
    runs.resource_provider.set_session_keys(owner, keys)
    if folder:
        runs.resources.report_files.set_folder(run_id, folder)
    run = runs.store.get_run(run_id)
    if run is None or not run.is_active:  # it was stopped before it arrived
        runs.on_run_end(run_id)
    else:
        runs.execute_run(run, is_resumed=is_resumed, write_only=write_only)
