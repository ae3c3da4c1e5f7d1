"""What is deleted is gone, and the disk has its room back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from research.runtime.local_run_manager import LocalRunManager
from research.storage.sqlite_files import MAX_REWRITE_BYTES, SQLiteFile, reclaim_space
from tests.fakes import HANGS, Outcome, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, over, report
from tests.servers.postgres import PASSWORD, USER

TABLES = ("run", "event", "search", "evidence", "answer", "conversation")
LARGE = Outcome(passages=tuple(f"{n}: " + "The tower is old. " * 500 for n in range(20)))
RUNS = 10
OLD = "pragma journal_mode=wal; create table thing(what blob);"


def size(file: Path) -> int:
    """The bytes of a SQLite file with what goes with it."""
    return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*") if "-shm" not in part.name)  # fmt: skip


def rows(bench: Bench, place: Path | str) -> dict[str, int]:
    """How many rows each table has, those of the checkpoints included."""
    if isinstance(place, Path):
        out = {}
        for name, tables in (("runs", TABLES), ("checkpoints", ("checkpoints", "writes"))):
            with closing(sqlite3.connect(bench.folder / f"{name}.db")) as connection:
                out |= {table: connection.execute(f"select count(*) from {table}").fetchone()[0] for table in tables}
        return out
    import psycopg

    to = urlsplit(place)
    kept = (*TABLES, "checkpoints", "checkpoint_blobs", "checkpoint_writes")
    with psycopg.connect(host=to.hostname, port=to.port, user=USER, password=PASSWORD, dbname=to.path[1:]) as server:
        return {name: server.execute(f"select count(*) from {name}").fetchone()[0] for name in kept}


def stopped(runs: LocalRunManager, number: int) -> list[str]:
    """Conversations of one run each, stopped amid its second round: it has found much, and has its
    checkpoints."""
    ids = [runs.start(QUESTION, options=WEB.model_copy(update={"loops": 2})) for _ in range(number)]
    for run in ids:
        until(lambda run=run: len(report(runs, run.id).findings) == 3)
        until(lambda run=run: report(runs, run.id).reflections)
        runs.stop(run.id)
        assert over(runs, run.id) == "stopped"
    return [run.conversation for run in ids]


def opened(bench: Bench) -> LocalRunManager:
    source = ScriptedSource(usual=LARGE, outcomes={"d": HANGS})
    return bench.open(ScriptedReasoner(follow_ups=lambda round_: ["d"]), source)


def test_nothing_is_left_of_conversations_that_were_deleted(shared: Bench, place: Path | str) -> None:
    runs = opened(shared)
    talks = stopped(runs, 2)
    kept = rows(shared, place)
    talks += stopped(runs, 2)
    assert all(rows(shared, place)[name] > n for name, n in kept.items() if n)
    for talk in talks[2:]:
        runs.delete_conversation(talk)
    assert rows(shared, place) == kept
    for talk in talks[:2]:
        runs.delete_conversation(talk)
    assert set(rows(shared, place).values()) == {0}


def freed(bench: Bench, runs: LocalRunManager) -> None:
    runs.store.database.reclaim()
    runs.run_on_loop(runs._checkpoint_store.reclaim())


def test_the_disk_has_its_room_back_when_it_is_reclaimed(bench: Bench) -> None:
    runs = opened(bench)
    files = [bench.folder / "runs.db", bench.folder / "checkpoints.db"]
    (first,) = stopped(runs, 1)
    freed(bench, runs)
    one = [size(file) for file in files]
    talks = stopped(runs, RUNS)
    much = [size(file) for file in files]
    assert all(large > 2 * small for large, small in zip(much, one, strict=True))
    for talk in talks:
        runs.delete_conversation(talk)
    freed(bench, runs)
    after = [size(file) for file in files]
    assert all(small <= 1.3 * before for small, before in zip(after, one, strict=True)), (
        one,
        after,
    )
    assert [run.conversation for run in runs.recent_runs()] == [first]
    assert report(runs, runs.recent_runs()[0].id).findings


def test_forgetting_a_conversation_gives_its_room_back_to_the_disk(bench: Bench) -> None:
    runs = opened(bench)
    talks = stopped(runs, 3)
    much = size(bench.folder / "runs.db"), size(bench.folder / "checkpoints.db")
    for talk in talks:
        runs.delete_conversation(talk)
    assert size(bench.folder / "runs.db") < much[0] / 3
    assert size(bench.folder / "checkpoints.db") < much[1] / 3


# Reclaiming


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file of before, with 4 MB of which most is free."""
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.executescript(OLD)
        for _ in range(1000):
            connection.execute("insert into thing values(zeroblob(4000))")
        connection.execute("delete from thing where rowid > 10")
    return file


def test_a_file_from_before_is_written_anew_once_and_then_shrinks_by_itself(old: Path) -> None:
    assert size(old) > 4_000_000
    reclaim_space(old)
    assert size(old) < 100_000
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        assert connection.execute("pragma auto_vacuum").fetchone() == (2,)
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
        connection.execute("insert into thing values(zeroblob(9000000))")
        connection.execute("delete from thing where rowid > 10")
        reclaim_space(old)
        assert size(old) < 100_000
        assert connection.execute("select count(*) from thing").fetchone() == (10,)


def test_a_large_file_from_before_stays_as_it_is(old: Path) -> None:
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute(f"insert into thing values(zeroblob({MAX_REWRITE_BYTES}))")
    reclaim_space(old)
    assert size(old) > MAX_REWRITE_BYTES


def test_reclaiming_waits_for_nobody_who_writes_and_spoils_nothing(tmp_path: Path) -> None:
    database = SQLiteFile(tmp_path / "some.db", ("create table thing(what blob);",))
    with database.transaction() as connection:
        connection.execute("insert into thing values(zeroblob(5000000))")
    with database.transaction() as connection:
        connection.execute("delete from thing")
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("begin immediate")
        other.execute("insert into thing values('kept')")
        database.reclaim()
        other.execute("commit")
    assert database.read("select what from thing") == [("kept",)]
    database.reclaim()
    assert size(database.path) < 100_000
    assert database.read("select what from thing") == [("kept",)]
    database.close()


def test_reclaiming_a_file_that_cannot_be_used_leaves_it_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    reclaim_space(file)
    assert not file.exists()
    file.write_bytes(spoilt := b"no database at all " * 300)
    reclaim_space(file)
    assert file.read_bytes() == spoilt
