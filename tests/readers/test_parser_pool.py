"""Parser processes: whatever a file does to one, its caller gets an error and everything else goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from research.readers.pool import MB, ParserError, ParserPool, ResourceLimits
from tests.hostile_pages import ticking

ROOT = Path(__file__).resolve().parents[2]
LITTLE = ResourceLimits(64 * MB, 1.0, 16 * MB)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces every limit")


@pytest.fixture
def pool() -> Iterator[ParserPool]:
    made = ParserPool(2)
    yield made
    made.close()


def call(pool: ParserPool, name: str, data: bytes = b"", arguments: Any = None, **more: Any) -> Any:
    return pool.call(f"tests.readers.tasks:{name}", data, arguments, limits=LITTLE, **more)


def wait_until_gone(process: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    pytest.fail(f"process {process} is still there")


def test_a_process_serves_one_caller_after_the_other(pool: ParserPool) -> None:
    first = call(pool, "echo", b"x" * 300_000, {"text": "中文 \ud800"})
    assert (first["text"], first["size"]) == ("中文 \ud800", 300_000)
    assert call(pool, "echo")["process"] == first["process"] != os.getpid()
    assert not Path(first["scratch"]).exists()


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize(
    ("name", "fault", "arguments"),
    [
        ("lock", "time", {}),
        ("take", "memory", {"megabytes": 500}),
        ("abort", "memory", {}),  # as Rust and C++ end where they are given no memory
        ("crash", "crash", {}),
        ("leave", "crash", {}),
        ("fail", "crash", {}),
        ("connect", "crash", {}),
        ("fill", "crash", {}),
        ("scribble", "crash", {"line": "nonsense\n"}),
        ("scribble", "crash", {"line": '{"size": 99999999999, "last": false}\n'}),
        ("scribble", "crash", {"line": '{"size": 9, "last": false}\n[[[[[[[[['}),
        ("scribble", "crash", {"line": '{"progress": {}}\n'}),
        ("scribble", "crash", {"line": "x" * 100_000}),
    ],
)
def test_a_parser_that_breaks_off_costs_its_own_caller_alone(
    pool: ParserPool, name: str, fault: str, arguments: dict[str, Any]
) -> None:
    known = call(pool, "echo")["process"]
    with pytest.raises(ParserError) as caught:
        call(pool, name, arguments=arguments)
    assert caught.value.fault == fault
    assert call(pool, "echo", b"next")["size"] == 4
    if name != "leave":
        wait_until_gone(known)


@LINUX
def test_the_limit_of_memory_is_on_what_a_request_adds(pool: ParserPool) -> None:
    for _ in range(5):
        assert call(pool, "take", arguments={"megabytes": 40}) == 40 * MB


@pytest.mark.slow
@LINUX
def test_no_thread_stands_still_while_a_parser_holds_the_lock_of_its_interpreter(
    pool: ParserPool,
) -> None:
    with ticking() as longest, pytest.raises(ParserError):
        call(pool, "lock")
    assert longest[0] < 0.5


def test_a_slow_file_does_not_hold_up_another_one(pool: ParserPool) -> None:
    begun, faults = threading.Event(), []

    def wait() -> None:
        try:
            call(pool, "sleep", progress=lambda part: begun.set())
        except ParserError as error:
            faults.append(error.fault)

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(30)
    assert call(pool, "echo", b"meanwhile")["size"] == 9
    assert thread.is_alive()
    pool.close()
    thread.join(30)
    assert len(faults) == 1


def test_who_finds_all_processes_busy_is_told_so() -> None:
    pool, begun = ParserPool(1), threading.Event()

    def wait() -> None:
        with pytest.raises(ParserError):
            call(pool, "sleep", progress=lambda part: begun.set())

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(30)
    with pytest.raises(ParserError) as caught:
        call(pool, "echo", max_wait_seconds=0.05)
    assert caught.value.fault == "busy"
    pool.close()
    thread.join(30)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such programs")
@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", "/bin/cat"])
def test_a_process_that_cannot_be_started_is_no_fault_of_the_file(
    pool: ParserPool, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    for _ in range(4):
        with pytest.raises(ParserError) as caught:
            call(pool, "echo")
        assert caught.value.fault == "start"
    monkeypatch.undo()
    assert call(pool, "echo")["text"] == ""


def test_without_a_folder_for_temporary_files_nothing_is_read_and_that_is_told(
    pool: ParserPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ParserError) as caught:
        call(pool, "echo")
    assert caught.value.fault == "start"


def test_a_parser_sees_no_variable_of_ours(pool: ParserPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "key-of-somebody")
    found = call(pool, "environment")
    assert "key-of-somebody" not in found.values()
    assert not {"HOME", "PATH", "PYTHONPATH"} & set(found) or sys.platform == "win32"


PARENT = """
import sys
from research.readers.pool import ParserPool, ResourceLimits
pool = ParserPool(1)
print(pool.call("tests.readers.tasks:echo", limits=ResourceLimits(10**8, 60.0))["process"], flush=True)
if len(sys.argv) > 1:
    pool.call("tests.readers.tasks:lock", b"", {"note": sys.argv[1]}, limits=ResourceLimits(10**8, 600.0))
"""


@LINUX
def test_a_parser_ends_with_its_parent_even_where_that_is_killed_meanwhile(tmp_path: Path) -> None:
    note = tmp_path / "note"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(note)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout
        child = int(parent.stdout.readline())
        deadline = time.monotonic() + 30
        while not note.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert Path(f"/proc/{child}").exists()
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_until_gone(child)


def test_a_program_that_used_a_parser_ends_at_once_and_without_a_warning() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", PARENT],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    if sys.platform == "linux":
        wait_until_gone(int(done.stdout))
