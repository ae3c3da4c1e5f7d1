"""Conversion of parser errors into failures of the source whose text was being parsed."""

from __future__ import annotations

from research.core.errors import Trouble
from research.readers.pool import ParserError


def broken_off(error: ParserError, what: str) -> Trouble:
    """Return the failure for fetched content that could not be parsed; `what` names it, such as
    "the page"."""
    if error.fault == "busy":
        return Trouble("timeout", f"too much is being read at once; {what} was not", again=True)
    if error.fault == "start":
        return Trouble(
            "unavailable", f"no process can be started here that reads {what}", again=True
        )
    if error.fault == "time":
        return Trouble("malformed", f"reading {what} takes longer than its size allows")
    if error.fault == "memory":
        return Trouble("malformed", f"reading {what} takes more memory than its size allows")
    return Trouble("malformed", f"the parser broke off over {what}")
