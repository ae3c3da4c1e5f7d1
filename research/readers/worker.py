"""Child process that parses untrusted files within limits enforced by the system.

`research.readers.pool` starts and reuses it. Input: a JSON line with the fields of `Request`, then
`size` bytes. Output: JSON lines, {"ready"} once, any number of {"progress"}, then either {"fault"}
or {"size", "last"} and `size` bytes of JSON, the result. A file that breaks a parser can at worst
end this process, which has no API keys in its environment and cannot open connections.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

IDLE_SECONDS = 300.0  # without a request, after which the process ends
MAX_GROWTH_BYTES = 192 * 1024**2  # memory growth after which the process is replaced

ProgressCallback = Callable[[float], None]
"""Takes the part of the work that is done, 0 to 1."""


class ParserTask(Protocol):
    """A function that parses `data` or a file and returns a JSON-serialisable value."""

    def __call__(self, data: bytes, progress: ProgressCallback, **arguments: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Request:
    """A request to run a task ("module:function"); a limit of 0 means none.

    `memory` is in bytes beyond those of the idle process, `seconds` are of processor time, `disk`
    is in bytes per file. `imports` are loaded before the limits apply; `scratch` is the temporary
    folder.
    """

    task: str
    size: int = 0
    imports: tuple[str, ...] = ()
    arguments: dict[str, Any] | None = None
    memory: int = 0
    seconds: float = 0.0
    disk: int = 0
    scratch: str = ""


# Limits


def refuse_connections(event: str, _arguments: Any) -> None:
    """Refuse network connections; an audit hook.

    Raises:
        PermissionError: a connection is attempted.
    """
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise PermissionError("this process connects nowhere")


def end_with_parent(parent_pipe: int) -> None:
    """Make the kernel end this process when the parent's end of a pipe closes.

    A thread could not do this, because a parser may hold the interpreter's lock.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(parent_pipe, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(parent_pipe, fcntl.F_GETFL)
        fcntl.fcntl(parent_pipe, fcntl.F_SETFL, flags | os.O_ASYNC)  # SIGIO ends the process


def _set_resource_limit(name: str, value: int) -> None:
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        kind = getattr(resource, name)
        _, hard_limit = resource.getrlimit(kind)
        soft_limit = value or hard_limit
        resource.setrlimit(
            kind, (soft_limit if hard_limit == resource.RLIM_INFINITY else min(soft_limit, hard_limit), hard_limit)
        )


def _limit_processor_time(seconds: float) -> None:
    """End the process after this many seconds of processor time; 0 for no limit."""
    with suppress(ImportError, AttributeError, OSError):
        import signal

        signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends a process by default


def data_size_bytes() -> int:
    """Return the size of this process's writable memory, or 0 where it is not reported."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _apply_restrictions() -> None:
    """Apply the restrictions that hold for every request."""
    sys.addaudithook(refuse_connections)
    _set_resource_limit("RLIMIT_CORE", 1)  # one byte, so that no core dump is written
    with suppress(OSError):  # when memory runs out, the system ends this process first
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
    warnings.simplefilter("ignore")


# Requests


def _run_task(request: Request, data: bytes, progress: ProgressCallback) -> bytes:
    """Run the task of a request within its limits, and return the result as JSON."""
    module, _, name = request.task.partition(":")
    task: ParserTask = getattr(importlib.import_module(module), name)
    for import_name in request.imports:
        importlib.import_module(import_name)
    tempfile.tempdir = request.scratch or None
    if request.memory and (used_bytes := data_size_bytes()):
        _set_resource_limit("RLIMIT_DATA", used_bytes + request.memory)
    _set_resource_limit("RLIMIT_FSIZE", request.disk)
    _limit_processor_time(request.seconds)
    try:
        result = task(data, progress, **(request.arguments or {}))
        return json.dumps(result, ensure_ascii=False).encode("utf-8", "surrogatepass")
    finally:
        _limit_processor_time(0)
        _set_resource_limit("RLIMIT_DATA", 0)
        _set_resource_limit("RLIMIT_FSIZE", 0)


def _send(output: BinaryIO, **fields: Any) -> None:
    output.write(json.dumps(fields).encode() + b"\n")
    output.flush()


def _answer_request(line: bytes, input_stream: BinaryIO, output: BinaryIO, initial_bytes: int) -> bool:
    """Answer one request, and return whether the process can take another one."""
    request = Request(**json.loads(line))
    data = input_stream.read(request.size)
    try:
        result = _run_task(request, data, lambda part: _send(output, progress=part))
    except MemoryError:
        _send(output, fault="memory")
        return False
    except BaseException as error:  # noqa: BLE001 - a Rust panic is no Exception
        _send(output, fault="crash", detail=type(error).__name__)
        return False
    last = data_size_bytes() - initial_bytes > MAX_GROWTH_BYTES
    _send(output, size=len(result), last=last)
    output.write(result)
    output.flush()
    return not last


def _wait_for_request(input_stream: BinaryIO) -> bool:
    """Wait for a request; return False if none arrives within `IDLE_SECONDS`."""
    if sys.platform == "win32":
        return True
    import select

    return bool(select.select([input_stream], [], [], IDLE_SECONDS)[0])


def main(parent_pipe: int, *imports: str) -> None:
    """Answer requests until there are no more. `imports` are loaded before the first one."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # library output must not mix with the protocol
    input_stream = sys.stdin.buffer
    if parent_pipe >= 0:
        end_with_parent(parent_pipe)
    _apply_restrictions()
    for name in imports:
        importlib.import_module(name)
    initial_bytes = data_size_bytes()
    with suppress(BrokenPipeError):
        _send(output, ready=True)
        while _wait_for_request(input_stream) and (line := input_stream.readline()):
            if not _answer_request(line, input_stream, output, initial_bytes):
                break
    os._exit(0)
