"""Which engines of a data folder, or of a server, are alive."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from research.runtime.engine_lock import EngineLock, FileEngineLock, PostgresEngineLock, acquire_engine_lock
from research.storage import tables
from research.storage.databases import SQLiteDatabase, StoreDatabase
from research.storage.postgres import PostgresDatabase
from research.storage.sqlite_files import StoreError
from tests.fakes import until
from tests.runtime.conftest import ROOT
from tests.servers.postgres import Cluster

CHILD = """
import sys, time
from research.runtime.engine_lock import acquire_engine_lock
from research.storage.store import Store
from research.core.settings import load_settings
engine = acquire_engine_lock(Store(load_settings({"STORE_URL": sys.argv[1]}).store).database)
print(engine.id, flush=True)
time.sleep(600)
"""
Join = Callable[[], EngineLock]


def opened(place: Path | str) -> StoreDatabase:
    return (
        SQLiteDatabase(place, tables.SQLITE_MIGRATIONS)
        if isinstance(place, Path)
        else PostgresDatabase(place, tables.POSTGRESQL_MIGRATIONS)
    )


@pytest.fixture
def join(place: Path | str) -> Iterator[Join]:
    """Joins an engine, each as a process of its own would."""
    made: list[tuple[EngineLock, StoreDatabase]] = []

    def join_() -> EngineLock:
        database = opened(place)
        made.append((acquire_engine_lock(database), database))
        return made[-1][0]

    yield join_
    for engine, database in made:
        engine.close()
        database.close()


def engines(folder: Path) -> set[str]:
    """The engines that have files in the folder."""
    return {file.name.partition(".")[0] for file in folder.iterdir()}


@pytest.mark.slow
def test_an_engine_is_alive_to_itself_and_to_others_until_it_is_closed(join: Join) -> None:
    one, other = join(), join()
    assert one.id != other.id
    assert one.is_alive(one.id)
    assert one.is_alive(other.id)
    other.close()
    until(lambda: not one.is_alive(other.id))


def test_an_engine_that_has_left_leaves_no_file(tmp_path: Path) -> None:
    one, other = FileEngineLock(tmp_path), FileEngineLock(tmp_path)
    assert engines(tmp_path) == {one.id, other.id}
    other.close()
    one.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_asking_after_a_living_engine_does_not_disturb_it(join: Join) -> None:
    one, other = join(), join()
    assert all(one.is_alive(other.id) and other.is_alive(one.id) for _ in range(20))
    other.ensure_held()
    assert one.is_alive(other.id)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "never-seen", "塔's \\ %s"])
def test_an_engine_that_was_never_there_is_dead(name: str, join: Join) -> None:
    assert not join().is_alive(name)


@pytest.mark.slow
def test_a_killed_process_is_known_to_be_dead_at_once(place: Path | str, join: Join) -> None:
    engine = join()
    address = f"sqlite:///{place}" if isinstance(place, Path) else place
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, address],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    other = child.stdout.readline().strip()
    assert engine.is_alive(other)
    child.kill()
    child.wait()
    child.stdout.close()
    until(lambda: not engine.is_alive(other))
    if isinstance(place, Path):
        assert engines(place.parent / "engines") == {engine.id}


@pytest.mark.slow
@pytest.mark.postgres
def test_a_lock_that_the_server_took_away_is_taken_again(cluster: Cluster) -> None:
    with cluster.database() as address:
        server, others = (
            PostgresDatabase(address, tables.POSTGRESQL_MIGRATIONS),
            PostgresDatabase(address, tables.POSTGRESQL_MIGRATIONS),
        )
        engine, other = PostgresEngineLock(server), PostgresEngineLock(others)
        with cluster.connect(urlsplit(address).path[1:]) as owner:
            owner.execute(
                "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid()"
            )
        until(lambda: not other.is_alive(engine.id))
        engine.ensure_held()
        assert other.is_alive(engine.id)
        for thing in (engine, other, server, others):
            thing.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="SIGHTLINE_DATA_DIR"):
        FileEngineLock(tmp_path / "file" / "engines")
