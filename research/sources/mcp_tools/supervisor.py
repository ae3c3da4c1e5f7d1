"""Supervisor that ends a command when its parent process ends: supervisor.py ERRORS COMMAND…

npx starts a shell, which starts node; if the application is killed or a call hangs, nothing else
would end them. Two processes stand between. The outer one exits when its parent is gone. The inner
one runs the command in a new session and, when the command or the outer process has ended, kills
all descendants of the command. If the inner one is killed, the outer one does that.

On Linux both are subreapers: a descendant that has left its group and session, and whose parents
are gone, becomes their child and can be found. On other systems only the command's process group is
killed.

The command inherits standard input and output, which carry the protocol. Its error output goes to
the pipe or file ERRORS, with keys masked. In environment values, a $ followed by U+0001 stands for
a $. On Windows the command is only started, and the MCP SDK ends it.
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

POLL_SECONDS = 0.5  # between checks of the parent
GRACE_SECONDS = 1.0  # for the command to end after SIGTERM
KILL_TIMEOUT_SECONDS = 10.0  # for repeated attempts to kill descendants
ERROR_OUTPUT_TIMEOUT_SECONDS = 1.0  # for the rest of the error output after the command has ended
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
IS_LINUX = sys.platform == "linux"
PROC = Path("/proc")
# The value of anything named key, and anything in the form of Amap's keys.
KEY_PATTERN = re.compile(rb"(?i)(?<=key)([\"']?\s*[=:]\s*[\"']?)[^\s&\"',]{4,}|\b[0-9a-f]{32}\b")
MASKED_KEY = rb"\1" + "•••".encode()


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end (Linux only)."""
    if IS_LINUX:
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def find_descendants() -> set[int]:
    """Return the living descendants of this process (Linux only, see proc_pid_stat(5))."""
    children: dict[int, list[int]] = {}
    for folder in PROC.iterdir() if IS_LINUX else ():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError):
                state, parent = (folder / "stat").read_bytes().rpartition(b") ")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(folder.name))
    descendants: set[int] = set()
    pending = [os.getpid()]
    while pending:
        child_pids = children.get(pending.pop(), [])
        descendants.update(child_pids)
        pending += child_pids
    return descendants


def kill_all(process_group: int = 0) -> None:
    """Kill all descendants; on systems where they cannot be found, kill the process group."""
    deadline = time.monotonic() + KILL_TIMEOUT_SECONDS
    while (remaining := find_descendants()) and time.monotonic() < deadline:
        for pid in remaining:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)  # the next pass finds processes created in the meantime
    if process_group and not IS_LINUX:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process_group, signal.SIGKILL)


def exit_code(status: int) -> int:
    """Return an exit code for a wait status: 128 plus the signal number for a killed process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


# The outer process


def main() -> int:
    """Run the command and return its exit code, 128 plus the signal number if a signal ended it."""
    _, errors, *command = sys.argv
    for name, value in os.environ.items():
        os.environ[name] = value.replace("$\x01", "$")
    try:  # non-blocking, since the pipe of a closed session has no reader
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
    reading, writing = os.pipe()  # closes when this process ends, which the inner process detects
    inner = os.fork()
    if not inner:
        os.close(writing)
        os._exit(run_command(command, reading))
    for descriptor in (0, 1, reading):  # otherwise the command closing them would go unnoticed
        os.close(descriptor)
    threading.Thread(target=exit_with_parent, args=(parent,), daemon=True).start()
    status = os.waitpid(inner, 0)[1]
    kill_all(inner)
    return exit_code(status)


def exit_with_parent(parent: int) -> None:
    """Exit once the parent process is gone."""
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


# The inner process


def run_command(command: list[str], outer_pipe: int) -> int:
    """Run the command in a new session until it ends or the pipe from the outer process closes."""
    os.setsid()
    adopt_orphans()
    try:
        child = subprocess.Popen(command, stderr=subprocess.PIPE)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
        return 127
    assert child.stderr is not None
    threading.Thread(target=end_with_outer, args=(outer_pipe, child.pid), daemon=True).start()
    copier = threading.Thread(target=copy_error_output, args=(child.stderr,), daemon=True)
    copier.start()
    for descriptor in (0, 1):
        os.close(descriptor)
    pid = 0
    while pid != child.pid:  # other pids are adopted orphans
        pid, status = os.waitpid(-1, 0)
    copier.join(ERROR_OUTPUT_TIMEOUT_SECONDS)  # with a limit: descendants of the command may keep the stream open
    kill_all()
    return exit_code(status)


def end_with_outer(outer_pipe: int, command_pid: int) -> None:
    """Kill the command and its descendants once the outer process is gone."""
    with suppress(OSError):
        os.read(outer_pipe, 1)
    for pid in find_descendants() | {command_pid}:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)  # if the command ends earlier, `run_command` exits this process
    kill_all(os.getpgrp())
    os._exit(1)


def copy_error_output(stream: IO[bytes]) -> None:
    """Copy the command's error output to standard error, with keys masked."""
    for line in stream:
        with suppress(OSError):
            os.write(2, KEY_PATTERN.sub(MASKED_KEY, line))


if __name__ == "__main__":
    sys.exit(main())
