"""Tasks that do to a parser process what hostile files do."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import tempfile
import time
from pathlib import Path
from typing import Any


def echo(data: bytes, progress: Any, *, text: str = "") -> dict[str, Any]:
    return {
        "text": text,
        "size": len(data),
        "process": os.getpid(),
        "scratch": tempfile.gettempdir(),
    }


def lock(data: bytes, progress: Any, *, note: str = "") -> None:
    """Holds the interpreter's lock for hours."""
    if note:
        Path(note).write_text(str(os.getpid()), encoding="ascii")
    re.match("(a+)+$", "a" * 60 + "b")


def sleep(data: bytes, progress: Any) -> None:
    progress(0.5)
    time.sleep(600)


def abort(data: bytes, progress: Any) -> None:
    os.abort()


def crash(data: bytes, progress: Any) -> None:
    ctypes.string_at(0)


def leave(data: bytes, progress: Any) -> None:
    os._exit(0)


def fail(data: bytes, progress: Any) -> None:
    raise KeyError("a bug")


def take(data: bytes, progress: Any, *, megabytes: int) -> int:
    return len(bytearray(megabytes << 20))


def scribble(data: bytes, progress: Any, *, line: str) -> None:
    """Writes into every open file, as a parser that was taken over might."""
    for number in range(3, 20):
        try:
            os.write(number, line.encode())
        except OSError:
            continue
    time.sleep(600)


def environment(data: bytes, progress: Any) -> dict[str, str]:
    return dict(os.environ)


def connect(data: bytes, progress: Any) -> None:
    socket.create_connection(("127.0.0.1", 9), 1)


def fill(data: bytes, progress: Any) -> None:
    with Path(tempfile.gettempdir(), "large").open("wb") as file:
        for _ in range(100):
            file.write(bytes(1 << 20))
