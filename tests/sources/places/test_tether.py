"""What ties a server to us: whoever is killed, nothing is left, and nothing is in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from research.sources.mcp_tools.transports import SUPERVISOR
from tests.fakes import until
from tests.servers.processes import MARK, alive, children, lacking, marked
from tests.tables import each_row

REASON = "only for POSIX" if os.name != "posix" else lacking()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")

KEY = "sentinel+amap/0123456789"
BARE = "0123456789abcdef" * 2  # as Amap's look
SOON = 60.0  # seconds that are waited for what takes two looks at a parent
FAMILY = "trap '' TERM; sleep 1000 & sleep 1000"  # a shell with children, none of which obeys
# Python that leaves processes behind in sessions of their own, whose parents are gone at once.
DAEMONS = """
import os, signal, sys, time
def daemon(depth):
    if os.fork():
        return
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if depth:
        daemon(depth - 1)
        os._exit(0)
    for descriptor in range(3):
        os.close(descriptor)
    os.chdir("/")
    os.execv("/bin/sleep", ["sleep", "1000"])
for depth in range(3):
    daemon(depth)
"""
STORM = (
    DAEMONS
    + """
for _ in range(200):
    daemon(1)
"""
)
PARENT = """
import subprocess, sys
subprocess.Popen(sys.argv[1:], start_new_session=True).wait()
"""


@pytest.fixture
def mark() -> Iterator[str]:
    made = uuid4().hex
    yield made
    for pid in marked(made):
        os.kill(pid, signal.SIGKILL)


def tied(*command: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(SUPERVISOR), "/dev/stderr", *command]


def run(*command: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """A command that ends by itself, as a client starts it."""
    return subprocess.run(
        tied(*command), env=os.environ | env, capture_output=True, timeout=30, check=False,
        start_new_session=True,
    )  # fmt: skip


def sleeping(mark: str) -> bool:
    return len(marked(mark, "sleep 1000", but="supervisor.py")) >= 2


def test_it_ends_the_whole_group_when_its_parent_is_killed(mark: str) -> None:
    command = [sys.executable, "-c", PARENT, *tied("sh", "-c", FAMILY)]
    with subprocess.Popen(command, env=os.environ | {MARK: mark}) as parent:
        until(lambda: sleeping(mark))
        parent.kill()
    until(lambda: not marked(mark), SOON)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("group", [False, True], ids=["tether", "group"])
def test_it_ends_the_whole_group_when_it_is_ended_itself(how: signal.Signals, group: bool, mark: str) -> None:
    given = {"env": os.environ | {MARK: mark}, "start_new_session": True}
    with subprocess.Popen(tied("sh", "-c", FAMILY), **given) as tether:
        until(lambda: sleeping(mark))
        (os.killpg if group else os.kill)(tether.pid, how)
        assert tether.wait(60) == -how
    until(lambda: not marked(mark), SOON)


def test_what_a_command_leaves_behind_ends_with_it(mark: str) -> None:
    done = run("sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0", **{MARK: mark})
    assert done.returncode == 0
    until(lambda: not marked(mark), SOON)


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("script", [DAEMONS, STORM], ids=["few", "many"])
@pytest.mark.parametrize("victim", ["parent", "outer", "outer politely", "group", "inner"])
def test_what_has_left_the_group_and_the_session_ends_whoever_is_killed(victim: str, script: str, mark: str) -> None:
    server = [sys.executable, "-c", f"{script}\nprint(flush=True)\ntime.sleep(1000)"]
    command = [sys.executable, "-c", PARENT, *tied(*server)]
    given = {"env": os.environ | {MARK: mark}, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **given) as parent:
        try:
            assert parent.stdout and parent.stdout.readline() == b"\n"
            until(lambda: sleeping(mark))
            (outer,) = children(parent.pid)
            match victim:
                case "parent":
                    parent.kill()
                case "group":
                    os.killpg(outer, signal.SIGKILL)
                case "inner":
                    os.kill(next(children(outer)), signal.SIGKILL)
                case _:
                    os.kill(outer, signal.SIGKILL if victim == "outer" else signal.SIGTERM)
            until(lambda: not marked(mark), SOON)
        finally:
            parent.kill()


@needs_linux
def test_what_has_left_the_session_ends_with_the_command(mark: str) -> None:
    assert run(sys.executable, "-c", DAEMONS, **{MARK: mark}).returncode == 0
    assert marked(mark) == []


def test_a_group_that_is_not_its_own_is_left_alone(mark: str) -> None:
    """Started by hand, it is in the group of a shell, which is not its to end."""
    command = [sys.executable, "-c", PARENT.replace(", start_new_session=True", ""), *tied("true")]
    with subprocess.Popen(["sleep", "1000"], process_group=0) as other:
        given = {"env": os.environ | {MARK: mark}, "process_group": other.pid}
        done = subprocess.run(command, **given, timeout=30, check=False)
        until(lambda: not marked(mark), SOON)
        assert (done.returncode, alive(other.pid)) == (0, True)
        other.kill()


@each_row("code", [0, 1, 3, 127])
def test_it_passes_on_how_a_command_ends(code: int) -> None:
    assert run("sh", "-c", f"exit {code}").returncode == code


def test_a_command_that_is_killed_ends_with_its_signal() -> None:
    assert run("sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = run(str(tmp_path / "npx"), "-y")
    assert done.returncode == 127
    assert b"npx" in done.stderr and b"Traceback" not in done.stderr


def test_a_marked_dollar_in_the_environment_is_a_dollar() -> None:
    done = run("sh", "-c", 'echo "$VALUE"', VALUE="$\x01{HOME} $\x01$\x01 \x01")
    assert done.stdout == b"${HOME} $$ \x01\n"


@pytest.mark.parametrize("there", [True, False], ids=["nobody reads it", "it is gone"])
def test_without_its_pipe_for_errors_it_ends_at_once(there: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "errors"
    if there:
        os.mkfifo(pipe)
    command = [sys.executable, "-I", "-S", str(SUPERVISOR), str(pipe), "echo", "started"]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_the_protocol_passes_it_by() -> None:
    said = "王府井\n".encode() * 1000
    done = subprocess.run(tied("cat"), input=said, capture_output=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == (said, b"")


def test_a_command_that_closes_its_output_is_seen_to() -> None:
    with subprocess.Popen(
        tied("sh", "-c", "echo last; exec >&-; read line"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    ) as tether:  # fmt: skip
        assert tether.stdout and tether.stdin
        assert tether.stdout.read() == b"last\n"  # to its end, although the command goes on
        (inner,) = children(tether.pid)
        (command,) = children(inner)
        assert tether.poll() is None and alive(command)
        tether.stdin.write(b"\n")
        tether.stdin.close()
        assert tether.wait(60) == 0


def test_a_command_whose_input_is_closed_ends() -> None:
    with subprocess.Popen(tied("cat"), stdin=subprocess.PIPE, start_new_session=True) as tether:
        assert tether.stdin
        tether.stdin.close()
        assert tether.wait(60) == 0


@each_row(
    "line",
    [
        f"AMAP_MAPS_API_KEY={KEY} is wrong",
        f"wrong: {BARE}, it is",
        "request to https://a.example/geo?address=x&key=sentinel%2Bamap%2F0123456789&source=ts",
        "API key: sentinel+unknown/0123456789",
        '{"api_key": "sentinel+unknown/0123456789"}',
    ],
)
def test_what_it_complains_of_is_passed_on_without_the_key(line: str) -> None:
    script = 'printf "before\\n%s\\nafter" "$LINE" >&2; exit 1'
    done = run("sh", "-c", script, AMAP_MAPS_API_KEY=KEY, LINE=line)
    told = done.stderr.decode()
    assert told.startswith("before\n") and told.endswith("\nafter")
    assert "•••" in told and "sentinel" not in told and BARE not in told
    assert done.returncode == 1


def test_other_complaints_are_passed_on_as_they_are() -> None:
    told = "AMAP_MAPS_API_KEY environment variable is not set (see the keys: none)"
    assert run("sh", "-c", 'echo "$LINE" >&2', LINE=told).stderr.decode() == told + "\n"


def test_complaints_of_any_length_and_bytes_do_not_stop_a_command() -> None:
    script = r"""head -c 300000 /dev/zero | tr '\0' x >&2; printf '\377\376\n' >&2; echo done"""
    done = run("sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert len(done.stderr) == 300_003
