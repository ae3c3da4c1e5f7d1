"""Agent Servers of the tests' own, on ports of this machine: LangGraph's development server, and a
cluster of aegra's over one database. What they keep is in a folder that goes with them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import httpx

from tests.servers.postgres import Cluster, absent

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "langgraph.json"
_FOREIGN = ("SIGHTLINE_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "AEGRA_", "OTEL_")
_OWN = ("STORE_URL", "RUNS_URL", "DATABASE_URL", "REDIS_URL")
_PATIENCE = 90.0  # seconds for a start: the first one compiles every module


def lacking(kind: str) -> str:
    """Why servers of a kind, "dev" or "aegra", cannot be started here; "" if they can."""
    if os.environ.get("SIGHTLINE_AGENT_TESTS") != "1":
        return "set SIGHTLINE_AGENT_TESTS=1 to start Agent Servers"
    if kind == "dev":
        return "" if _program("dev", "langgraph") else "langgraph-cli[inmem] is not installed"
    if importlib.util.find_spec("psycopg") is None:
        return "not installed: psycopg"
    if not _program("aegra", "uvicorn"):
        return "SIGHTLINE_AEGRA_VENV names no environment with aegra-api"
    if not shutil.which("redis-server"):
        return "Redis is not installed"
    return absent()


def _program(kind: str, name: str) -> str | None:
    """A program of the environment that a variable names, or for the development server of ours."""
    named = os.environ.get(f"SIGHTLINE_{'AGENT' if kind == 'dev' else 'AEGRA'}_VENV")
    if named:
        return shutil.which(name, path=str(Path(named) / "bin"))
    own = str(Path(sys.executable).parent)
    found = shutil.which(name, path=own) or shutil.which(name)
    return found if kind == "dev" else None


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Agent:
    """Servers of one kind; in a `with` block they answer. Their logs are shown when that fails.

    `graph` is the file and the name of what is served, as "tests/runtime/standin.py:graph"; without
    one it is what `langgraph.json` says. `environment` is added to that of the servers.
    """

    kind: ClassVar[str]
    health: ClassVar[str]

    def __init__(self, graph: str = "", *, environment: Mapping[str, str] | None = None, servers: int = 1) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"sightline-{self.kind}-"))
        self.ports = [free_port() for _ in range(servers)]
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * servers
        self._given = dict(environment or {})
        self._write(graph)

    def _write(self, graph: str) -> None:
        """The project's configuration, readable from any folder: the state goes where it starts."""
        config: dict[str, Any] = json.loads(CONFIG.read_text(encoding="utf-8"))
        config["dependencies"] = [str(ROOT / path) for path in config["dependencies"]]
        graphs = {"research": graph} if graph else config["graphs"]
        config["graphs"] = {name: str(ROOT / path) for name, path in graphs.items()}
        (self.folder / "langgraph.json").write_text(json.dumps(config), encoding="utf-8")

    def __enter__(self) -> Self:
        try:
            self.prepare()
            self.restart()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind and kind.__name__ != "Skipped":
            print(self.logs())
        self.close()

    def prepare(self) -> None:
        """Starts what the servers need."""

    def command(self, port: int) -> Sequence[str]:
        """How one server is started."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """What the servers see: nothing of ours that would lead them elsewhere."""
        mine = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN) and k not in _OWN}
        keys = {name for name in mine if name.endswith("_API_KEY")}
        quiet = {
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_NO_VERSION_CHECK": "true",
            "LANGGRAPH_STRICT_MSGPACK": "true",
            "LANGSMITH_TRACING": "false",
            "PYTHONUNBUFFERED": "1",
        }
        return {k: v for k, v in mine.items() if k not in keys} | quiet | self._given

    @property
    def urls(self) -> list[str]:
        """The address of each server."""
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    @property
    def url(self) -> str:
        """The address of the first server that lives."""
        return next(url for url, process in zip(self.urls, self._processes, strict=True) if process)

    def logs(self) -> str:
        """What the servers have written, the end of it."""
        out = []
        for file in sorted(self.folder.glob("*.log")):
            text = file.read_text(encoding="utf-8", errors="replace")
            out.append(f"--- {file.name}\n{text[-2500:]}")
        return "\n".join(out)

    def restart(self) -> None:
        """Starts every server that does not live, at its old address, and waits for them.

        The first one may have tables to make, which two at once would trip over.
        """
        deadline = time.monotonic() + _PATIENCE
        fresh = [n for n, process in enumerate(self._processes) if process is None]
        for n in fresh:
            with (self.folder / f"server-{n}.log").open("ab") as log:
                self._processes[n] = subprocess.Popen(
                    self.command(self.ports[n]),
                    cwd=self.folder,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            if n == fresh[0]:
                self._await(n, deadline)
        for n in fresh[1:]:
            self._await(n, deadline)

    def _await(self, n: int, deadline: float) -> None:
        process = self._processes[n]
        assert process
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(self.urls[n] + self.health, timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"server {n} does not answer\n{self.logs()}")

    def of(self, pid: int) -> int:
        """Which server a process is."""
        return [process.pid if process else 0 for process in self._processes].index(pid)

    def kill(self, n: int = 0) -> None:
        """Ends a server as a power cut would."""
        self._end(n, signal.SIGKILL)

    def stop(self, n: int = 0) -> None:
        """Ends a server as an update would: it may finish or hand on what it has."""
        self._end(n, signal.SIGTERM)

    def _end(self, n: int, how: signal.Signals) -> None:
        process, self._processes[n] = self._processes[n], None
        if process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def close(self) -> None:
        """Ends all servers, and their folder with them."""
        for n in range(len(self._processes)):
            self.kill(n)
        shutil.rmtree(self.folder, ignore_errors=True)


class Dev(Agent):
    """LangGraph's development server: one process, state in memory and in files beside it.

    The files are written every ten seconds: `settle` before a `kill`, or what is younger is lost.
    """

    kind = "dev"
    health = "/ok"

    def command(self, port: int) -> Sequence[str]:
        program = _program("dev", "langgraph")
        assert program, lacking("dev")
        return [
            program, "dev", "--host", "127.0.0.1", "--port", str(port), "--no-browser",
            "--no-reload", "--allow-blocking", "--n-jobs-per-worker", "100",
            "--config", str(self.folder / "langgraph.json"),
        ]  # fmt: skip

    def settle(self) -> None:
        """Waits until all that is known now is in the files. A new thread is something to write."""
        now, deadline = time.time(), time.monotonic() + _PATIENCE
        httpx.post(f"{self.url}/threads", json={}).raise_for_status()
        threads = self.folder / ".langgraph_api" / ".langgraph_ops.pckl"
        while time.monotonic() < deadline:
            written = threads.stat().st_mtime if threads.exists() else 0.0
            if now < written < time.time() - 0.5:  # the other files are written right after it
                return
            time.sleep(0.1)
        raise RuntimeError(f"the state is not written\n{self.logs()}")


class Aegra(Agent):
    """Several of aegra's servers over one PostgreSQL and one Redis. A dead one is soon noticed."""

    kind = "aegra"
    health = "/health"

    def __init__(self, graph: str = "", *, environment: Mapping[str, str] | None = None, servers: int = 2) -> None:
        super().__init__(graph, environment=environment, servers=servers)
        self.redis_port = free_port()
        self._redis: subprocess.Popen[bytes] | None = None
        self._cluster: Cluster | None = None
        self._database = contextlib.ExitStack()
        self.store = ""  # the address of a database for the app's own rows
        self._address = ""

    def prepare(self) -> None:
        self._cluster = Cluster()
        self._address = self._database.enter_context(self._cluster.database())
        self.store = self._database.enter_context(self._cluster.database())
        with (self.folder / "redis.log").open("ab") as log:
            self._redis = subprocess.Popen(
                [
                    "redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1",
                    "--save", "", "--dir", str(self.folder),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip

    def command(self, port: int) -> Sequence[str]:
        program = _program("aegra", "uvicorn")
        assert program, lacking("aegra")
        address = ("--host", "127.0.0.1", "--port", str(port))
        return [program, "aegra_api.main:app", *address, "--no-access-log"]

    def environment(self) -> dict[str, str]:
        leases = {"LEASE_DURATION_SECONDS": "3", "HEARTBEAT_INTERVAL_SECONDS": "1"}
        return {
            "DATABASE_URL": self._address.replace("postgresql+psycopg", "postgresql"),
            "REDIS_BROKER_ENABLED": "true",
            "REDIS_URL": f"redis://127.0.0.1:{self.redis_port}/0",
            "AUTH_TYPE": "noop",
            "N_JOBS_PER_WORKER": "50",
            "WORKER_DRAIN_TIMEOUT": "1",
            "REAPER_INTERVAL_SECONDS": "1",
            "STUCK_PENDING_THRESHOLD_SECONDS": "5",
            "POSTGRES_POLL_INTERVAL_SECONDS": "1",
            "AEGRA_CHECKPOINT_DURABILITY": "sync",
            **leases,
            "STORE_URL": self.store,
            **super().environment(),
        }

    def close(self) -> None:
        for n in range(len(self._processes)):
            self.kill(n)
        if self._redis:
            self._redis.kill()
            self._redis.wait()
        with contextlib.suppress(Exception):
            self._database.close()
        if self._cluster:
            self._cluster.close()
        super().close()
