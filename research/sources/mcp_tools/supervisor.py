"""Ties a process to its parent: supervisor.py ERRORS COMMAND…

npx starts a shell and that starts node; when we are killed, or when a call hangs, nobody would end
them. Two processes stand between. The outer one ends as soon as its own parent is gone. The inner one
runs the command in a session of its own and, when the command or the outer one has ended, ends all
that has come of the command. If the inner one is killed, the outer one does that.

On Linux both are subreapers: a descendant that has left its group and its session, and whose parents
are gone, becomes their child, and is found. Elsewhere only the group of the command is ended.

The protocol passes it by: the command has our standard input and output for itself. Its error output
goes to the pipe or file ERRORS, without the key. In values of the environment, a $ with U+0001 after
it stands for a $. On Windows the command is only started, and the MCP SDK ends it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

POLL_SECONDS = 0.5  # seconds between looks at a parent
GRACE_SECONDS = 1.0  # seconds that the command has to end after SIGTERM
KILL_TIMEOUT_SECONDS = 10.0  # seconds for which descendants are looked for that are still there
ERROR_OUTPUT_TIMEOUT_SECONDS = 1.0  # seconds for what a command complained of at its end
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
IS_LINUX = sys.platform == "linux"
PROC = Path("/proc")
# What is called a key, up to the end of it, and what looks like Amap's wherever it stands.
KEY_PATTERN = re.compile(rb"(?i)(?<=key)([\"']?\s*[=:]\s*[\"']?)[^\s&\"',]{4,}|\b[0-9a-f]{32}\b")
MASKED_KEY = rb"\1" + "•••".encode()


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parents end (Linux)."""
    if IS_LINUX:
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def find_descendants() -> set[int]:
    """Return the living descendants of this process (Linux, proc_pid_stat(5))."""
    children: dict[int, list[int]] = {}
    for folder in PROC.iterdir() if IS_LINUX else ():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError):
                state, parent = (folder / "stat").read_bytes().rpartition(b") ")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(folder.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        new = children.get(waiting.pop(), [])
        found.update(new)
        waiting += new
    return found


def kill_all(process_group: int = 0) -> None:
    """Kill all descendants, and a process group where descendants cannot be found."""
    deadline = time.monotonic() + KILL_TIMEOUT_SECONDS
    while (left := find_descendants()) and time.monotonic() < deadline:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)  # those that are being made meanwhile are found by the next look
    if process_group and not IS_LINUX:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process_group, signal.SIGKILL)


def exit_code(status: int) -> int:
    """Return an exit code, 128 and the signal if one has ended the process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


# The outer process


def main() -> int:
    """Run the command and return its exit code, 128 and the signal if one has ended it."""
    _, errors, *command = sys.argv
    for name, value in os.environ.items():
        os.environ[name] = value.replace("$\x01", "$")
    try:  # without waiting: nobody reads the pipe of a session that is over
        descriptor = os.open(errors, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return 1
    os.dup2(descriptor, 2)
    os.close(descriptor)
    if sys.platform == "win32":
        command[0] = shutil.which(command[0]) or command[0]
        return subprocess.run(command, stderr=2, check=False).returncode
    os.set_blocking(2, True)
    parent = os.getppid()
    adopt_orphans()
    reading, writing = os.pipe()  # its end tells the inner process that this one is gone
    inner = os.fork()
    if not inner:
        os.close(writing)
        os._exit(run_command(command, reading))
    for descriptor in (0, 1, reading):  # else nobody would see that the command has closed them
        os.close(descriptor)
    threading.Thread(target=exit_with_parent, args=(parent,), daemon=True).start()
    status = os.waitpid(inner, 0)[1]
    kill_all(inner)
    return exit_code(status)


def exit_with_parent(parent: int) -> None:
    """End this process once its parent is gone."""
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


# The inner process


def run_command(command: list[str], outer_pipe: int) -> int:
    """Run the command in a session of its own, for as long as a pipe from the outer process is open."""
    os.setsid()
    adopt_orphans()
    try:
        child = subprocess.Popen(command, stderr=subprocess.PIPE)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
        return 127
    assert child.stderr is not None
    threading.Thread(target=end_with_outer, args=(outer_pipe, child.pid), daemon=True).start()
    complaints = threading.Thread(target=copy_error_output, args=(child.stderr,), daemon=True)
    complaints.start()
    for descriptor in (0, 1):
        os.close(descriptor)
    pid = 0
    while pid != child.pid:  # others are orphans
        pid, status = os.waitpid(-1, 0)
    complaints.join(ERROR_OUTPUT_TIMEOUT_SECONDS)  # not for ever: what the command has left behind may hold the stream
    kill_all()
    return exit_code(status)


def end_with_outer(outer_pipe: int, command_pid: int) -> None:
    """End the command and all that has come of it once the outer process is gone."""
    with suppress(OSError):
        os.read(outer_pipe, 1)
    for pid in find_descendants() | {command_pid}:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)  # once the command has ended, its end is waited for no longer
    kill_all(os.getpgrp())
    os._exit(1)


def copy_error_output(stream: IO[bytes]) -> None:
    """Write what a command complains of to our standard error, without keys."""
    for line in stream:
        with suppress(OSError):
            os.write(2, KEY_PATTERN.sub(MASKED_KEY, line))


if __name__ == "__main__":
    sys.exit(main())
