"""Pool of child processes that parse untrusted files.

A parser in C or Rust that meets a hostile file may abort the process, take all memory or hold the
interpreter's lock for minutes; no `except` helps. Files are therefore parsed in child processes
(`research.readers.worker`), each request with limits on memory, processor time and disk. A child
that fails raises a `ParserError` for the caller and is replaced. Results are JSON of bounded size,
never a pickle.

Linux enforces every limit. macOS has no memory limit; Windows has only the wall-clock limit.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

MAX_WAITING_CALLERS = 256  # per pool
MAX_RESULT_BYTES = 256 * 1024**2
MAX_LINE_BYTES = 4_096  # of a protocol line before the result
MAX_WAIT_SECONDS = 120.0  # that a caller waits for a process
WALL_SECONDS_PER_PROCESSOR_SECOND = 6.0  # allows for a busy machine
EXIT_SECONDS = 5.0  # for a process to end
START_SECONDS = 20.0  # for a process to start, wall-clock time
MB = 1024 * 1024
_PROJECT_ROOT = str(Path(__file__).resolve().parents[2])
# With -P, Python imports nothing from the server's working directory.
_CHILD_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from research.readers.worker import main; main(int(sys.argv[2]), *sys.argv[3:])"

# Libraries reserve memory for each thread that they may start.
_THREAD_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

ParserFault = Literal["time", "memory", "crash", "busy", "start"]


class ParserError(Exception):
    """A file could not be parsed.

    The fault is too much time or memory, a crash of the parser, no free process in time ("busy"),
    or no process that can be started ("start", no fault of the file).
    """

    def __init__(self, fault: ParserFault, detail: str = "") -> None:
        self.fault: ParserFault = fault
        super().__init__(f"{fault}: {detail}" if detail else fault)


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits of one request; `disk_bytes` is the size of one file."""

    memory_bytes: int
    processor_seconds: float
    disk_bytes: int = 16 * MB


class ParserPool:
    """Up to `size` parser processes that load the modules `imports` at start. Thread-safe."""

    def __init__(self, size: int, *imports: str) -> None:
        self._imports = imports
        self._slots = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._waiting_count = 0
        self._idle: list[_ChildProcess] = []
        self._busy: set[_ChildProcess] = set()
        self._registered = self._closed = False

    def call(
        self,
        task: str,
        data: bytes = b"",
        arguments: Mapping[str, Any] | None = None,
        *,
        limits: ResourceLimits,
        imports: Sequence[str] = (),
        progress: Callable[[float], None] = lambda part: None,
        max_wait_seconds: float = MAX_WAIT_SECONDS,
    ) -> Any:
        """Run a task ("module:function") in one of the processes and return its result.

        The function receives `data` and `arguments`, which must be JSON. Loading `imports` does not
        count against the limits. `max_wait_seconds` is the wait for a free process.

        Raises:
            ParserError: there is no result.
        """
        with self._slot(max_wait_seconds), _temporary_folder() as scratch:
            header = json.dumps(
                {
                    "task": task,
                    "size": len(data),
                    "imports": list(imports),
                    "arguments": dict(arguments or {}),
                    "memory": min(limits.memory_bytes, max_request_memory_bytes()),
                    "seconds": limits.processor_seconds,
                    "disk": limits.disk_bytes,
                    "scratch": scratch,
                }
            )
            request = header.encode() + b"\n"
            max_wall_seconds = START_SECONDS + WALL_SECONDS_PER_PROCESSOR_SECOND * limits.processor_seconds
            for _ in range(3):
                child, was_running = self._take_child()
                try:
                    result, is_reusable = child.send_request(request, data, max_wall_seconds, progress)
                except _ChildEndedError:
                    self._end_child(child)
                    if was_running:  # it had ended after being idle
                        continue
                    if child.is_ready:
                        raise ParserError("crash", "it ended") from None
                    break
                except BaseException:
                    self._end_child(child)
                    self.start_spare()
                    raise
                self._release_child(child, is_reusable=is_reusable)
                return result
        raise ParserError("start")

    def start_spare(self) -> None:
        """Start a process for the next caller, unless one is idle."""
        with self._lock:
            if not self._closed and not any(child.is_alive for child in self._idle):
                with suppress(OSError):
                    self._idle.append(self._start_child())

    def close(self) -> None:
        """End all processes for good; waiting callers get an error."""
        with self._lock:
            self._closed = True
            children, self._idle = [*self._idle, *self._busy], []
        for child in children:
            child.end()

    @contextmanager
    def _slot(self, max_wait_seconds: float) -> Iterator[None]:
        with self._lock:
            if self._waiting_count >= MAX_WAITING_CALLERS:
                raise ParserError("busy")
            self._waiting_count += 1
        try:
            is_acquired = self._slots.acquire(timeout=max_wait_seconds)
        finally:
            with self._lock:
                self._waiting_count -= 1
        if not is_acquired:
            raise ParserError("busy")
        try:
            yield
        finally:
            self._slots.release()

    def _take_child(self) -> tuple[_ChildProcess, bool]:
        """Return a process, and whether it was already running."""
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.is_alive:
                    self._busy.add(child)
                    return child, True
                child.end()
            if self._closed:
                raise ParserError("busy", "the program ends")
            try:
                child = self._start_child()
            except OSError as error:
                raise ParserError("start", str(error.strerror)) from error
            self._busy.add(child)
            return child, False

    def _start_child(self) -> _ChildProcess:
        if not self._registered:
            atexit.register(self.close)
            self._registered = True
        return _ChildProcess(self._imports)

    def _release_child(self, child: _ChildProcess, *, is_reusable: bool) -> None:
        with self._lock:
            self._busy.discard(child)
            if is_reusable:
                self._idle.append(child)
        if not is_reusable:
            child.end()
            self.start_spare()

    def _end_child(self, child: _ChildProcess) -> None:
        with self._lock:
            self._busy.discard(child)
        child.end()


# For fetched pages and feeds, whose callers wait only seconds.
FETCH_POOL = ParserPool(4, "research.sources.web.page_parser", "trafilatura")


@contextmanager
def _temporary_folder() -> Iterator[str]:
    """Provide a temporary folder for one request.

    Raises:
        ParserError: the folder cannot be created.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True)
    except OSError as error:
        raise ParserError("start", str(error.strerror)) from error
    with folder as scratch:
        yield scratch


class _ChildEndedError(Exception):
    """A process ended before it began a request."""


class _ChildProcess:
    """One parser process."""

    def __init__(self, imports: Sequence[str]) -> None:
        from research.core.settings import child_environment  # children must not import this

        self.is_ready = False  # set when the process reports it
        # The child watches the reading end: the pipe closes when this process ends.
        lifeline, self._parent_pipe = os.pipe() if sys.platform != "win32" else (-1, -1)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CHILD_CODE, _PROJECT_ROOT, str(lifeline), *imports],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**child_environment(), **_THREAD_ENVIRONMENT},
                pass_fds=() if lifeline < 0 else (lifeline,),
                start_new_session=True,  # Ctrl+C reaches the parent, then ends the child
            )
        except BaseException:
            if lifeline >= 0:
                os.close(self._parent_pipe)
            raise
        finally:
            if lifeline >= 0:
                os.close(lifeline)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send_request(
        self, request: bytes, data: bytes, max_wall_seconds: float, progress: Callable[[float], None]
    ) -> tuple[Any, bool]:
        """Send a request; return its result, and whether the process can be reused.

        Raises:
            ParserError: there is no result, or `max_wall_seconds` have passed.
            _ChildEndedError: the process had already ended by itself.
        """
        timed_out = threading.Event()

        def kill_late() -> None:
            timed_out.set()
            self._process.kill()

        timer = threading.Timer(max_wall_seconds, kill_late)
        timer.daemon = True
        timer.start()
        try:
            return self._exchange(request, data, progress)
        except EOFError:
            try:
                code = self._process.wait(EXIT_SECONDS)
            except subprocess.TimeoutExpired:  # it closed its output but still runs
                raise ParserError("crash", "no answer") from None
            if code == 0 or not self.is_ready:
                raise _ChildEndedError from None
            raise ParserError("time" if timed_out.is_set() else _fault_from_exit_code(code), f"code {code}") from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            self._process.kill()
            if not self.is_ready:
                raise _ChildEndedError from None
            raise ParserError("crash", f"no answer: {type(error).__name__}") from None
        finally:
            timer.cancel()
            timer.join()

    def _exchange(self, request: bytes, data: bytes, progress: Callable[[float], None]) -> tuple[Any, bool]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        with suppress(BrokenPipeError):  # reading then fails as well
            stdin.write(request)
            stdin.write(data)
            stdin.flush()
        while True:
            line = stdout.readline(MAX_LINE_BYTES)
            if len(line) >= MAX_LINE_BYTES:
                raise ValueError("line")
            if not line.endswith(b"\n"):
                raise EOFError
            message = json.loads(line)
            if "ready" in message:
                self.is_ready = True
                continue
            if "progress" in message:
                progress(min(1.0, max(0.0, float(message["progress"]))))
                continue
            if "fault" in message:
                raise ParserError("memory" if message["fault"] == "memory" else "crash", str(message.get("detail", "")))
            size = int(message["size"])
            if not 0 <= size <= MAX_RESULT_BYTES:
                raise ValueError("size")
            result = stdout.read(size)
            if len(result) < size:
                raise EOFError
            return json.loads(result.decode("utf-8", "surrogatepass")), message["last"] is False

    def end(self) -> None:
        """End the process and release its resources."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):  # unread data cannot be flushed
                assert pipe
                pipe.close()
        parent_pipe, self._parent_pipe = self._parent_pipe, -1
        if parent_pipe >= 0:
            os.close(parent_pipe)


def _fault_from_exit_code(code: int) -> ParserFault:
    """Return the cause of an exit from its code, the negative number of a signal."""
    if sys.platform != "win32":
        if code in (-signal.SIGPROF, -signal.SIGXCPU):
            return "time"
        if code in (-signal.SIGABRT, -signal.SIGKILL):  # Rust or C++ abort; OOM kill
            return "memory"
    return "crash"


def max_request_memory_bytes() -> int:
    """Return the memory limit of one request: three quarters of the machine or container."""
    candidates = [1 << 40]
    with suppress(AttributeError, OSError, ValueError):
        candidates.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit_file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            candidates.append(int(Path(limit_file).read_text(encoding="ascii")))
    return min(candidates) * 3 // 4
