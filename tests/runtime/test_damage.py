"""Stores and checkpoints that are damaged or forged: told by name, and nothing of them is executed."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from research.core.settings import load_settings
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.services import Services
from research.storage.sqlite_files import APPLICATION_ID, StoreError
from tests.fakes import HANGS, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report, searched
from tests.runtime.tampered import BAD, GOOD, TAMPERED, asked, put, tamper
from tests.servers.postgres import Cluster

FILES = ("runs.db", "checkpoints.db")


def cut_off(bench: Bench) -> tuple[str, str]:
    """A run that is done and one that was stopped amid its searches, `a` and `b` being finished."""
    source = ScriptedSource()
    runs = bench.open(source=source)
    done = runs.start(QUESTION, options=WEB)
    assert over(runs, done.id) == "done"
    source.outcomes["c"] = HANGS
    stopped = runs.start(QUESTION, options=WEB)
    until(lambda: {row[1] for row in searched(runs, stopped.id).values()} == {0, 1})
    until(lambda: [n for _, n in searched(runs, stopped.id).values()] == [1, 1, 0])
    runs.stop(stopped.id)
    assert over(runs, stopped.id) == "stopped"
    runs.close()
    return done.id, stopped.id


# Files


def garbage(data: bytes) -> bytes:
    return random.Random(1).randbytes(len(data))


def page(number: int) -> Callable[[bytes], bytes]:
    """Overwrites a page with noise."""

    def spoil(data: bytes) -> bytes:
        size = int.from_bytes(data[16:18], "big")
        at = size * (number % (len(data) // size))
        return data[:at] + random.Random(number).randbytes(size) + data[at + size :]

    return spoil


def foreign(data: bytes, *, ours: bool = False) -> bytes:
    """A sound file with tables of our names and other columns."""
    with closing(sqlite3.connect(":memory:")) as other:
        for name in ("run", "event", "search", "evidence", "answer", "checkpoints", "writes"):
            other.execute(f"create table {name}(what text)")
            other.execute(f"insert into {name} values ('else')")
        if ours:
            other.execute(f"pragma application_id={APPLICATION_ID}")
            other.execute(f"pragma user_version={int.from_bytes(data[60:64], 'big')}")
        other.commit()
        return other.serialize()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "noise": garbage,
    "empty": lambda data: b"",
    "one byte": lambda data: data[:1],
    "half": lambda data: data[: len(data) // 2],
    "cut within a page": lambda data: data[:-1000],
    "zeros": lambda data: bytes(len(data)),
    "zeros after the header": lambda data: data[:4096] + bytes(len(data) - 4096),
    "a page of noise at the end": page(-1),
    "tables of others": foreign,
    "other columns": lambda data: foreign(data, ours=True),
    **{f"page {number} of noise": page(number) for number in (1, 2, 3, 5, 8, 13)},
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A data folder to be copied, with a run that is done and one that was stopped."""
    folder = tmp_path_factory.mktemp("sound") / "data"
    bench = Bench(folder)
    ids = cut_off(bench)
    bench.close()
    for name in FILES:
        with closing(sqlite3.connect(folder / name)) as connection:
            connection.execute("pragma wal_checkpoint(truncate)")
    return (folder, *ids)


def used(runs: LocalRunManager, *known: str) -> list[str]:
    """Does all that can be done with runs; the messages of those that failed."""
    errors = []
    new = runs.start(QUESTION, options=WEB)
    resumed = [run_id for run_id in known if runs.resume(run_id)]
    for run in runs.recent_runs():
        runs.events(run.id)
        runs.report(run.id)
    for run_id in (new.id, *resumed):
        if over(runs, run_id) == "failed":
            errors.append(get(runs, run_id).error)
    runs.store.conversations("local")
    runs.store.recorded_places("local")
    runs.delete_conversation(new.conversation)
    return errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "damage"),
    [(name, damage) for name in FILES for damage in DAMAGE],
)
def test_a_damaged_file_is_a_trouble_of_a_known_kind_and_nothing_worse(
    name: str, damage: str, sound: tuple[Path, str, str], bench: Bench
) -> None:
    folder, *known = sound
    shutil.copytree(folder, bench.folder, ignore=shutil.ignore_patterns("engines", "*-wal", "*-shm"))
    file = bench.folder / name
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    try:
        errors = used(bench.open(), *known)
    except StoreError as error:
        errors = [str(error)]
    assert all(str(file) in error and "; the log" not in error for error in errors), errors
    if name == "checkpoints.db":
        damaged = [error for error in errors if "is damaged" in error]
        assert all("unfinished runs start over" in error for error in damaged), damaged


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell")
def test_where_the_store_cannot_be_opened_the_library_is_not_kept_open(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError) as caught:
        Services(load_settings({}, data_dir=tmp_path))
    opened = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    assert caught.value.problem == "corrupt"  # and holds what there was when it was raised
    assert [path for path in opened if path.is_relative_to(tmp_path)] == []


def test_the_checkpoints_may_be_lost_and_a_run_still_goes_on_from_what_is_stored(
    sound: tuple[Path, str, str], bench: Bench
) -> None:
    folder, _, stopped = sound
    shutil.copytree(folder, bench.folder, ignore=shutil.ignore_patterns("checkpoints*", "engines"))
    source = ScriptedSource()
    runs = bench.open(source=source)
    runs.resume(stopped)
    assert over(runs, stopped) == "done"
    assert source.queries == ["c"]


# Forged rows


def forged(kind: str, command: str) -> bytes:
    """What a checkpoint of that type would have to hold to run a command when it is loaded."""
    if kind == "pickle":

        class Call:
            def __reduce__(self) -> tuple[Any, tuple[str]]:
                import os

                return os.system, (command,)

        return pickle.dumps(Call())
    if kind == "json":
        call = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [command]}
        return json.dumps(call).encode()
    return ormsgpack.packb(ext(command))


def ext(command: str) -> ormsgpack.Ext:
    return ormsgpack.Ext(1, ormsgpack.packb(("os", "system", (command,))))


def within(data: bytes, command: str) -> bytes:
    """A checkpoint of msgpack with a forged value among its own."""
    whole = ormsgpack.unpackb(data, ext_hook=ormsgpack.Ext, option=ormsgpack.OPT_NON_STR_KEYS)
    whole["channel_values"]["asked"] = ext(command)
    return ormsgpack.packb(whole, option=ormsgpack.OPT_NON_STR_KEYS)


KINDS = ("msgpack", "pickle", "json")


@pytest.mark.parametrize("kind", KINDS)
def test_the_forged_rows_of_these_tests_would_run_a_command(kind: str, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    careless = JsonPlusSerializer(pickle_fallback=True, allowed_json_modules=True, allowed_msgpack_modules=True)
    careless.loads_typed((kind, forged(kind, f"touch {mark}")))
    assert mark.exists()


def tampered(bench: Bench, place: Path | str, cluster: Callable[[], Cluster]) -> Any:
    """A connection to where the checkpoints are, and the names of their tables of values."""
    if isinstance(place, Path):
        connection = sqlite3.connect(bench.folder / "checkpoints.db", isolation_level=None)
        return connection, {"checkpoints": "checkpoint", "writes": "value"}, "?"
    connection = cluster().connect(urlsplit(place).path[1:])
    return connection, {"checkpoint_blobs": "blob", "checkpoint_writes": "blob"}, "%s"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "within"])
@pytest.mark.parametrize("table", [0, 1])
def test_a_forged_checkpoint_is_not_executed_and_spoils_no_other_run(
    table: int, kind: str, shared: Bench, place: Path | str, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    done, stopped = cut_off(shared)
    mark = tmp_path / "executed"
    command = f"touch {mark}"
    connection, tables, value = tampered(shared, place, lambda: request.getfixturevalue("cluster"))
    name, column = list(tables.items())[table]
    with closing(connection):
        if kind == "within":
            if table or not isinstance(place, Path):
                pytest.skip("a value of its own is a row of its own there")
            rows = connection.execute(f"select rowid, {column} from {name}").fetchall()
            for row, data in rows:
                connection.execute(f"update {name} set {column}=? where rowid=?", (within(data, command), row))
        else:
            rows = connection.execute(f"select count(*) from {name}").fetchall()
            connection.execute(
                f"update {name} set type={value}, {column}={value}",
                (kind, forged(kind, command)),
            )
        assert rows
    source = ScriptedSource()
    runs = shared.open(source=source)
    assert {run.id: run.status for run in runs.recent_runs()} == {done: "done", stopped: "stopped"}
    before = report(runs, stopped)
    runs.resume(stopped)
    status = over(runs, stopped)
    assert not mark.exists()
    assert status == "done" or get(runs, stopped).error
    assert set(source.queries) <= {"c"}
    assert report(runs, stopped).findings[:2] == before.findings
    answer = report(runs, done).answer
    assert answer is not None and answer.quote_count == 3
    assert over(runs, runs.start(QUESTION, options=WEB).id) == "done"
    assert not mark.exists()


# Tampered rows


def known(error: Callable[[], object]) -> None:
    """Does something that may be refused with a trouble of a known kind."""
    with contextlib.suppress(StoreError):
        error()


@pytest.mark.slow
@pytest.mark.parametrize("what", TAMPERED)
def test_a_row_that_cannot_be_read_takes_no_other_run_with_it(what: str, shared: Bench, place: Path | str) -> None:
    runs = shared.open()
    for run_id in (GOOD, BAD):
        put(runs.store, run_id)
    whole = report(runs, GOOD)
    tamper(place, what)
    assert get(runs, GOOD).status == "done"
    assert GOOD in [run.id for run in runs.recent_runs()]
    assert GOOD in [talk.id for talk in runs.store.conversations("local")]
    assert asked(GOOD) in [q for seen in runs.store.recorded_places("local") for q in seen.questions]
    assert GOOD in [run.id for run, _ in runs.store.finished_runs("local", 10)]
    assert report(runs, GOOD) == whole
    assert len(runs.events(GOOD)) == 10
    known(lambda: runs.report(BAD))
    known(lambda: runs.events(BAD))
    known(lambda: runs.start(QUESTION, options=WEB, follows=BAD))
    known(lambda: runs.start(QUESTION, options=WEB, based_on=BAD))
    last = runs.start(QUESTION, options=WEB, follows=GOOD)
    assert over(runs, last.id) == "done"
    known(lambda: runs.delete_conversation(BAD))
