"""What the tests of runs share: runs on a data folder, and processes that work on one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from research.core.records import Report, Run, RunOptions, RunStatus
from research.core.settings import Settings
from research.runtime.engine_lock import RESTART_GRACE_SECONDS
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import ScriptedReasoner, ScriptedSource, resources, until
from tests.servers.postgres import Cluster, lacking

ROOT = Path(__file__).resolve().parents[2]
WEB = RunOptions(loops=1, sources=("web",))
QUESTION = "What is known of the tower?"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server that is settled: those who held locks before its start had their time."""
    if reason := lacking():
        pytest.skip(reason)
    made = Cluster()
    try:
        with made.connect() as owner:
            until(lambda: settled(owner), RESTART_GRACE_SECONDS + 5)
        yield made
    finally:
        made.close()


def settled(connection: Any) -> bool:
    age = connection.execute("select now() - pg_postmaster_start_time()").fetchone()[0]
    return bool(age > timedelta(seconds=RESTART_GRACE_SECONDS))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where a store may keep its rows: a file, or a database of its own on the server."""
    if request.param == "sqlite":
        yield tmp_path / "data" / "runs.db"
        return
    with request.getfixturevalue("cluster").database() as address:
        yield address


class Bench:
    """Runs over scripted helpers; several of them may share the data folder and the database."""

    def __init__(self, folder: Path, place: Path | str | None = None) -> None:
        self.folder = folder
        self._url = place if isinstance(place, str) else ""
        self._opened: list[LocalRunManager] = []
        self._children: list[subprocess.Popen[str]] = []

    def open(
        self,
        reasoner: ScriptedReasoner | None = None,
        source: ScriptedSource | Sequence[ScriptedSource] | None = None,
        **settings: object,
    ) -> LocalRunManager:
        sources = source if isinstance(source, Sequence) else [source or ScriptedSource()]
        self._opened.append(
            LocalRunManager(
                resources(
                    Settings.model_validate({"data_dir": self.folder, "store_url": self._url, **settings}),
                    reasoner or ScriptedReasoner(),
                    {item.name: item for item in sources},
                )
            )
        )
        return self._opened[-1]

    def child(self, *arguments: str) -> subprocess.Popen[str]:
        """A process of `tests/runtime/child.py` on the data folder; its lines are run ids."""
        self._children.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.runtime.child", str(self.folder), *arguments],
                cwd=ROOT,
                env={
                    **{k: v for k, v in os.environ.items() if not k.startswith("SIGHTLINE_")},
                    "STORE_URL": self._url,
                },
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return self._children[-1]

    def close(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()
            if child.stdout:
                child.stdout.close()
        for runs in self._opened:
            runs.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture
def shared(tmp_path: Path, place: Path | str) -> Iterator[Bench]:
    """A bench on each kind of database."""
    made = Bench(tmp_path / "data", place)
    yield made
    made.close()


def get(runs: LocalRunManager, run_id: str, owner: str = "local") -> Run:
    run = runs.get_run(run_id, owner=owner)
    assert run is not None
    return run


def over(runs: LocalRunManager, run_id: str, seconds: float = 60.0, *, owner: str = "local") -> RunStatus:
    """The status of a run once it has ended."""
    until(lambda: not get(runs, run_id, owner).is_active, seconds)
    return get(runs, run_id, owner).status


def report(runs: LocalRunManager, run_id: str) -> Report:
    found = runs.report(run_id)
    assert found is not None
    return found


def searched(runs: LocalRunManager, run_id: str) -> dict[str, tuple[int, int]]:
    """For each query, how often it was begun and how often it was finished, as the store has it."""
    out: dict[str, tuple[int, int]] = {}
    for row in runs.store.searches(run_id):
        begun, finished = out.get(row["query"], (0, 0))
        out[row["query"]] = (begun + 1, finished + bool(row["finished"]))
    return out
