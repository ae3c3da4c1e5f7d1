"""What a parser process that gave no result means to who fetched the text."""

from __future__ import annotations

from research.parsing.pool import ParserError
from research.trouble import Trouble


def broken_off(error: ParserError, what: str) -> Trouble:
    """The failure of `what` was fetched, such as "the page", over which the parser broke off."""
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
