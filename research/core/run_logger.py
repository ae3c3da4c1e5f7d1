"""Loggers for code that runs on behalf of a run: each line begins with the id of that run."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any

_run_id: ContextVar[str] = ContextVar("run_id", default="")


def set_logged_run(run_id: str) -> None:
    """Set the run that the current task, and the tasks it starts, work on."""
    _run_id.set(run_id)


class RunLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines begin with the id of the run that the current task works on, if any.

    `log = RunLogger(logging.getLogger(__name__))` in a stage or source is all that is needed.
    """

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a line, as `logging.Logger.log` does."""
        kwargs.setdefault("stacklevel", 2)  # the caller, not this method
        if run_id := _run_id.get():
            msg, args = f"run %s: {msg}", (run_id, *args)
        self.logger.log(level, msg, *args, **kwargs)
