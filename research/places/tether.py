"""Ties a process to its parent: tether.py COMMAND…

npx starts a shell and that starts node; when we are killed, or when a call hangs, nobody would end
them. This stands between. It ends itself as soon as its own parent is gone; and a watcher that it
leaves behind then ends the group of processes that all of them are in, whoever was killed first.
The protocol passes it by: the command has our standard input and output for itself. What the
command complains of is passed on without the key. Only for POSIX.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO

EVERY = 0.5  # seconds between looks at a parent
KEY = re.compile(rb"(?i)(key[=:\"'\s]+)[\w-]{4,}")


def _while_there(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)


def _leave_watcher(me: int) -> None:
    """A process that ends our group once we are gone; none if the group is not ours alone."""
    if os.getpgrp() != me or os.fork():
        return
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    _while_there(me)
    os.killpg(0, signal.SIGKILL)


def _follow(parent: int) -> None:
    _while_there(parent)
    os._exit(1)


def _complaints(stream: IO[bytes]) -> None:
    for line in stream:
        with suppress(OSError):
            os.write(2, KEY.sub("\\1•••".encode(), line))


def main() -> int:
    """Runs the command and returns its exit code."""
    parent = os.getppid()
    try:
        child = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
        return 127
    _leave_watcher(os.getpid())
    assert child.stderr is not None
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    threading.Thread(target=_complaints, args=(child.stderr,), daemon=True).start()
    for descriptor in (0, 1):  # else nobody would see that the command has closed them
        os.close(descriptor)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
