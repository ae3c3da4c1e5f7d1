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
POLITE = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
LAST = 1.0  # seconds for what a command complained of at its end
# What is called a key, up to the end of it, and what looks like Amap's wherever it stands.
KEY = re.compile(rb"(?i)(?<=key)([\"']?\s*[=:]\s*[\"']?)[^\s&\"',]{4,}|\b[0-9a-f]{32}\b")
HIDDEN = rb"\1" + "•••".encode()


def _while_there(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)


def _leave_watcher(me: int) -> None:
    """A process that ends our group once we are gone; none if the group is not ours alone.

    What ends us politely does not end it: the others may not listen to that.
    """
    if os.getpgrp() != me:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, POLITE)
    if os.fork():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, POLITE)
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
            os.write(2, KEY.sub(HIDDEN, line))


def main() -> int:
    """Runs the command and returns its exit code, 128 and the signal if one has ended it."""
    parent = os.getppid()
    _leave_watcher(os.getpid())  # first, so that it knows nothing of the command's pipes
    try:
        child = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
        return 127
    assert child.stderr is not None
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    complaints = threading.Thread(target=_complaints, args=(child.stderr,), daemon=True)
    complaints.start()
    for descriptor in (0, 1):  # else nobody would see that the command has closed them
        os.close(descriptor)
    code = child.wait()
    complaints.join(LAST)  # not for ever: what the command has left behind may hold the stream
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
