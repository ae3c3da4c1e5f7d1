"""Processes of this machine by a mark in their environment: it stays with a child whose parents are
gone, whatever group or session it is in. Only where there is /proc.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
MARK = "NPM_CONFIG_SIGHTLINE_TEST"  # npm takes any setting of its own, and we hand those down


def lacking() -> str:
    """Why processes cannot be looked for here; "" if they can."""
    return "" if (PROC / "self" / "environ").exists() else "there is no /proc"


def marked(mark: str, words: str = "", but: str = "\n") -> list[int]:
    """The living processes with a mark and, in their command, with some words and without others."""
    found = []
    for folder in PROC.iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            environment = b"\0" + _read(folder / "environ")
            command = _read(folder / "cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
            if f"\0{MARK}={mark}\0".encode() in environment and words in command and but not in command:
                found.append(int(folder.name))
    return [pid for pid in found if alive(pid)]


def alive(pid: int) -> bool:
    """Whether a process is there, and no mere entry that nobody has collected."""
    state = _read(PROC / str(pid) / "stat").rpartition(b") ")[2][:1]
    return state not in (b"", b"Z", b"X")


def children(pid: int) -> Iterator[int]:
    """The living children of a process."""
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            fields = _read(folder / "stat").rpartition(b") ")[2].split()
            if len(fields) > 1 and int(fields[1]) == pid and fields[0] not in (b"Z", b"X"):
                yield int(folder.name)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended, or is not ours
        return b""
