"""Child processes in which the parsers of files from outside run, a few of them reused by all callers.

A parser in C or Rust that meets a hostile file may abort the process, take all of its memory or hold
the interpreter's lock for minutes; no `except` helps. So files are parsed in children
(`research.readers.worker`), each request with a limit on memory, processor time and disk. A child that
breaks off costs the caller a `ParserError`, and is replaced. What comes back is JSON of bounded
size, never a pickle.

Linux enforces every limit. macOS knows none on memory, and Windows none but the time on the clock.
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

MAX_WAITING_CALLERS = 256  # callers that may wait for a process of one pool
MAX_RESULT_BYTES = 256 * 1024**2  # bytes of a result
MAX_LINE_BYTES = 4_096  # bytes of a line before it
MAX_WAIT_SECONDS = 120.0  # seconds that a caller waits for a process
WALL_SECONDS_PER_PROCESSOR_SECOND = 6.0  # seconds on the clock for each second of processor time, on a busy machine
EXIT_SECONDS = 5.0  # seconds that a process has to end
START_SECONDS = 20.0  # seconds on the clock for a process to start
MB = 1024 * 1024
_PROJECT_ROOT = str(Path(__file__).resolve().parents[2])
# With -P, Python imports nothing from the server's working directory.
_CHILD_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from research.readers.worker import main; main(int(sys.argv[2]), *sys.argv[3:])"

# Libraries reserve memory for each thread that they might begin.
_THREAD_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

ParserFault = Literal["time", "memory", "crash", "busy", "start"]


class ParserError(Exception):
    """Error for a file without a result.

    Parsing took more time or memory than is allowed, the parser crashed, all processes were busy
    for too long, or no process can be started, which is no fault of the file.
    """

    def __init__(self, fault: ParserFault, detail: str = "") -> None:
        self.fault: ParserFault = fault
        super().__init__(f"{fault}: {detail}" if detail else fault)


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits of one request: `memory` in bytes, `seconds` of processor time, `disk` in bytes of a file."""

    memory_bytes: int
    processor_seconds: float
    disk_bytes: int = 16 * MB


class ParserPool:
    """Up to `size` processes, which load the modules `imports` as they start. Safe for several threads."""

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
        """Run a task ("module:function") in one of the processes and return its result. The
        function is passed the `data` and the `arguments`, which must be JSON.

        `imports` are modules whose loading does not count against the limits. `patience` is the
        time in seconds that the caller waits for a free process.

        Raises:
            ParserError: there is no result.
        """
        with self._slot(max_wait_seconds), _temporary_folder() as scratch:
            head = json.dumps(
                {
                    "task": task, "size": len(data), "imports": list(imports),
                    "arguments": dict(arguments or {}),
                    "memory": min(limits.memory_bytes, max_request_memory_bytes()), "seconds": limits.processor_seconds,
                    "disk": limits.disk_bytes, "scratch": scratch,
                }
            )  # fmt: skip
            request = head.encode() + b"\n"
            clock = START_SECONDS + WALL_SECONDS_PER_PROCESSOR_SECOND * limits.processor_seconds
            for _ in range(3):
                child, used = self._take_child()
                try:
                    result, fit = child.send_request(request, data, clock, progress)
                except _ChildEndedError:
                    self._end_child(child)
                    if used:  # it had ended because it was idle
                        continue
                    if child.is_ready:
                        raise ParserError("crash", "it ended") from None
                    break
                except BaseException:
                    self._end_child(child)
                    self.start_spare()
                    raise
                self._release_child(child, is_reusable=fit)
                return result
        raise ParserError("start")

    def start_spare(self) -> None:
        """Start a process for the next caller, unless one is idle."""
        with self._lock:
            if not self._closed and not any(child.is_alive for child in self._idle):
                with suppress(OSError):
                    self._idle.append(self._start_child())

    def close(self) -> None:
        """End all processes for good; callers that are waiting for one get an error."""
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
            free = self._slots.acquire(timeout=max_wait_seconds)
        finally:
            with self._lock:
                self._waiting_count -= 1
        if not free:
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


# For fetched pages and feeds, whose callers wait for seconds only.
FETCH_POOL = ParserPool(4, "research.sources.web.page_parser", "trafilatura")


@contextmanager
def _temporary_folder() -> Iterator[str]:
    """Make a folder for the temporary files of one request, and remove it afterwards.

    Raises:
        ParserError: the folder cannot be made.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True)
    except OSError as error:
        raise ParserError("start", str(error.strerror)) from error
    with folder as scratch:
        yield scratch


class _ChildEndedError(Exception):
    """Error for a process that ended before it began a request."""


class _ChildProcess:
    """One parser process."""

    def __init__(self, imports: Sequence[str]) -> None:
        from research.core.settings import child_environment  # children must not load this

        self.is_ready = False  # it has reported that it is ready
        # The child holds the reading end. Nothing is written; the pipe closes with this process.
        lifeline, self._parent_pipe = os.pipe() if sys.platform != "win32" else (-1, -1)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CHILD_CODE, _PROJECT_ROOT, str(lifeline), *imports],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**child_environment(), **_THREAD_ENVIRONMENT},
                pass_fds=() if lifeline < 0 else (lifeline,),
                start_new_session=True,  # Ctrl+C reaches the parent, then ends the child
            )  # fmt: skip
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
        """Send a request to the process. Return its result, and whether the process can take
        another one.

        `clock` is the time in seconds, on the clock, that the request may take.

        Raises:
            ParserError: there is no result.
            _Gone: the process had already ended by itself.
        """
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(max_wall_seconds, end)
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
            raise ParserError("time" if late.is_set() else _fault_from_exit_code(code), f"code {code}") from None
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
        with suppress(BrokenPipeError):  # then reading finds no answer either
            stdin.write(request)
            stdin.write(data)
            stdin.flush()
        while True:
            line = stdout.readline(MAX_LINE_BYTES)
            if len(line) >= MAX_LINE_BYTES:
                raise ValueError("line")
            if not line.endswith(b"\n"):
                raise EOFError
            told = json.loads(line)
            if "ready" in told:
                self.is_ready = True
                continue
            if "progress" in told:
                progress(min(1.0, max(0.0, float(told["progress"]))))
                continue
            if "fault" in told:
                raise ParserError("memory" if told["fault"] == "memory" else "crash", str(told.get("detail", "")))  # fmt: skip
            size = int(told["size"])
            if not 0 <= size <= MAX_RESULT_BYTES:
                raise ValueError("size")
            result = stdout.read(size)
            if len(result) < size:
                raise EOFError
            return json.loads(result.decode("utf-8", "surrogatepass")), told["last"] is False

    def end(self) -> None:
        """End the process and release its resources."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):  # data that the process did not read
                assert pipe
                pipe.close()
        line, self._parent_pipe = self._parent_pipe, -1
        if line >= 0:
            os.close(line)


def _fault_from_exit_code(code: int) -> ParserFault:
    """Return the cause of a process's end, from its exit code: the negative number of a signal."""
    if sys.platform != "win32":
        if code in (-signal.SIGPROF, -signal.SIGXCPU):
            return "time"
        if code in (-signal.SIGABRT, -signal.SIGKILL):  # Rust or C++ abort; OOM kill
            return "memory"
    return "crash"


def max_request_memory_bytes() -> int:
    """Return the most memory, in bytes, that one request may take: three quarters of the memory of
    the machine or its container."""
    known = [1 << 40]
    with suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            known.append(int(Path(limit).read_text(encoding="ascii")))
    return min(known) * 3 // 4
