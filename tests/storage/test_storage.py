"""SQLite files that several threads share: opening, migrating, writing, and every way to fail."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from research.storage.sqlite_files import SQLiteFile, StoreError, to_store_error
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
FIRST = "create table thing(name text primary key, size integer not null default 0);"
SECOND = """
create table log(line text);
create trigger noted after insert on thing begin
    insert into log values (new.name);
    insert into log values ('again; ' || new.name);
end;
insert into thing(name) values ('from the second migration');
"""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., SQLiteFile]]:
    """Opens databases below tmp_path and closes them in the end."""
    databases: list[SQLiteFile] = []

    def open_(*migrations: str, name: str = "some.db") -> SQLiteFile:
        databases.append(SQLiteFile(tmp_path / name, migrations or (FIRST,)))
        return databases[-1]

    yield open_
    for database in databases:
        database.close()


def names(database: SQLiteFile) -> list[object]:
    return [row[0] for row in database.read("select name from thing order by name")]


# Opening


def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    database = SQLiteFile(tmp_path / "a" / "b" / "some.db", (FIRST,))
    assert names(database) == []
    database.close()


def test_the_migrations_that_a_file_lacks_are_run_once_each(
    opened: Callable[..., SQLiteFile],
) -> None:
    first = opened(FIRST)
    with first.transaction() as connection:
        connection.execute("insert into thing(name) values ('kept')")
    first.close()
    for _ in range(2):
        later = opened(FIRST, SECOND)
        assert names(later) == ["from the second migration", "kept"]
        assert later.read("pragma user_version") == [(2,)]
        assert len(later.read("select line from log")) == 2
        later.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(opened: Callable[..., SQLiteFile]) -> None:
    opened(FIRST).close()
    with pytest.raises(StoreError):
        opened(FIRST, "create table log(line text);\ncreate table thing(name text);\n")
    database = opened(FIRST)
    assert database.read("pragma user_version") == [(1,)]
    assert database.read("select name from sqlite_master where name='log'") == []


def test_a_file_of_a_newer_version_is_refused_and_left_alone(opened: Callable[..., SQLiteFile], tmp_path: Path) -> None:
    newer = opened(FIRST, SECOND)
    newer.close()
    with pytest.raises(StoreError, match="newer version of Sightline") as caught:
        opened(FIRST)
    assert caught.value.problem == "newer"
    assert opened(FIRST, SECOND).read("pragma user_version") == [(2,)]


def valid(path: Path) -> bytes:
    database = SQLiteFile(path, (FIRST,))
    with database.transaction() as connection:
        connection.executemany("insert into thing(name) values (?)", [(f"{n:0500}",) for n in range(200)])
    database.close()
    return path.read_bytes()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell")
@each_row("trouble", ["corrupt", "newer"])
def test_a_file_that_cannot_be_opened_is_not_kept_open(trouble: str, tmp_path: Path) -> None:
    path = tmp_path / f"{trouble}.db"
    if trouble == "corrupt":
        path.write_bytes(b"not a database at all" * 100)
    else:
        SQLiteFile(path, (FIRST, SECOND)).close()
    with pytest.raises(StoreError) as caught:
        SQLiteFile(path, (FIRST,))
    open_ = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    assert caught.value.problem == trouble  # and holds what there was when it was raised
    assert path not in open_


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda data: b"not a database at all" * 100, id="other content"),
        pytest.param(lambda data: os.urandom(8192), id="noise"),
        pytest.param(lambda data: b"\x00" * 8192, id="zeros"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut in half"),
        pytest.param(lambda data: data[:100] + b"\xff" * (len(data) - 100), id="only the head"),
    ],
)
def test_a_corrupt_file_is_named_and_not_touched(spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    spoiled = spoil(valid(path))
    path.write_bytes(spoiled)
    with pytest.raises(StoreError) as caught:
        database = SQLiteFile(path, (FIRST,))
        try:
            database.read("select count(name) from thing")
        finally:
            database.close()
    assert caught.value.problem == "corrupt"
    assert str(path) in str(caught.value)
    assert "left as it is" in str(caught.value)
    assert path.read_bytes() == spoiled


# Who else may look into it


def modes(folder: Path) -> dict[str, str]:
    """The rights of a folder (".") and of all that is in it."""
    return {str(path.relative_to(folder)): f"{path.stat().st_mode & 0o777:o}" for path in (folder, *folder.rglob("*"))}


ALONE = {".": "700", "some.db": "600", "some.db-wal": "600", "some.db-shm": "600"}


@pytest.mark.parametrize("mask", [0, 0o022, 0o077], ids=oct)
def test_a_new_file_is_for_its_user_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        database = SQLiteFile(tmp_path / "data" / "some.db", (FIRST,))
        with database.transaction() as connection:
            connection.execute("insert into thing values ('mine', 0)")
    finally:
        os.umask(before)
    assert modes(tmp_path / "data") == ALONE
    database.close()


def test_a_file_from_before_is_taken_from_others_with_its_journals(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first = SQLiteFile(folder / "some.db", (FIRST,))
    with first.transaction() as connection:
        connection.execute("insert into thing values ('mine', 0)")
    folder.chmod(0o2755)  # the group that files in it are given is no matter of ours
    for name in ALONE.keys() - {"."}:
        (folder / name).chmod(0o644)
    second = SQLiteFile(folder / "some.db", (FIRST,))
    assert modes(folder) == ALONE
    assert folder.stat().st_mode & 0o2000
    assert names(second) == ["mine"]
    first.close()
    second.close()


def test_what_is_another_program_s_or_everybody_s_stays_so(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    (folder / "other.db").write_bytes(b"not a database at all" * 100)
    (folder / "other.db").chmod(0o644)
    with pytest.raises(StoreError):
        SQLiteFile(folder / "other.db", (FIRST,))
    SQLiteFile(folder / "some.db", (FIRST,)).close()
    assert modes(folder) == {".": "777", "other.db": "644", "some.db": "600"}


# Folders that cannot be used


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreError) as caught:
        SQLiteFile(folder / "some.db", (FIRST,))
    assert caught.value.problem in ("read-only", "unusable")
    assert str(folder) in str(caught.value)


def test_a_path_below_a_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="SIGHTLINE_DATA_DIR") as caught:
        SQLiteFile(tmp_path / "file" / "data" / "some.db", (FIRST,))
    assert str(tmp_path / "file") in str(caught.value)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
def test_a_file_system_that_takes_no_files_is_named_with_what_to_do() -> None:
    for path in (Path("/proc/sightline/some.db"), Path("/proc/some.db")):
        with pytest.raises(StoreError, match="SIGHTLINE_DATA_DIR") as caught:
            SQLiteFile(path, (FIRST,))
        assert caught.value.problem in ("read-only", "unusable")
        assert "/proc" in str(caught.value)


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "some.db").mkdir()
    with pytest.raises(StoreError, match="SIGHTLINE_DATA_DIR"):
        SQLiteFile(tmp_path / "some.db", (FIRST,))


# Writing


def test_a_block_that_fails_writes_nothing(opened: Callable[..., SQLiteFile]) -> None:
    database = opened()
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        connection.execute("insert into thing(name) values ('lost')")
        raise ZeroDivisionError
    assert names(database) == []
    with database.transaction() as connection:
        connection.execute("insert into thing(name) values ('kept')")
    assert names(database) == ["kept"]


def test_nested_blocks_are_one_transaction(opened: Callable[..., SQLiteFile]) -> None:
    database = opened()
    with pytest.raises(ZeroDivisionError), database.transaction() as outer:
        outer.execute("insert into thing(name) values ('outer')")
        with database.transaction() as inner:
            inner.execute("insert into thing(name) values ('inner')")
        raise ZeroDivisionError
    assert names(database) == []
    with database.transaction() as outer, database.transaction() as inner:
        assert inner is outer
        inner.execute("insert into thing(name) values ('both')")
    assert names(database) == ["both"]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_mistake_of_ours_stays_an_error_of_sqlite_at_any_depth(depth: int, opened: Callable[..., SQLiteFile]) -> None:
    database = opened()

    def insert(left: int) -> None:
        with database.transaction() as connection:
            if left:
                insert(left - 1)
            else:
                connection.execute("insert into thing(name) values ('twice'), ('twice')")

    with pytest.raises(sqlite3.IntegrityError):
        insert(depth - 1)
    assert names(database) == []


def test_a_reader_sees_only_what_was_committed(opened: Callable[..., SQLiteFile]) -> None:
    database, other = opened(), opened()
    with database.transaction() as connection:
        connection.execute("insert into thing(name) values ('new')")
        assert names(other) == []
        assert names(database) == ["new"]
    assert names(other) == ["new"]


def test_many_threads_lose_no_write(opened: Callable[..., SQLiteFile]) -> None:
    databases = [opened(), opened()]
    errors: list[BaseException] = []

    def add(thread: int) -> None:
        try:
            for n in range(25):
                with databases[thread % 2].transaction() as connection:
                    count = connection.execute("select count(*) from thing").fetchone()[0]
                    connection.execute("insert into thing values (?, ?)", (f"{thread}-{n}", count))
        except BaseException as error:  # noqa: BLE001 - handed to the test
            errors.append(error)

    threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    sizes = databases[0].read("select size from thing order by size")
    assert [size for (size,) in sizes] == list(range(200))


def test_each_thread_has_its_own_connection_and_closing_closes_them_all(
    opened: Callable[..., SQLiteFile],
) -> None:
    database = opened()
    seen: list[sqlite3.Connection] = []
    thread = threading.Thread(target=lambda: seen.append(database.connection))
    thread.start()
    thread.join()
    assert seen[0] is not database.connection
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        seen[0].execute("select 1")


def test_the_connection_of_a_thread_that_has_ended_is_closed(
    opened: Callable[..., SQLiteFile],
) -> None:
    """A page has a new thread each time it is drawn: connections that stay use up the files."""
    database = opened()
    seen: list[sqlite3.Connection] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: seen.append(database.connection))
        thread.start()
        thread.join()
    for connection in seen:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("select 1")
    assert names(database) == []


# A full disk


def fill(database: SQLiteFile) -> int:
    """Writes until there is no more room; returns how many rows were stored."""
    stored = 0
    with pytest.raises(StoreError) as caught:
        while stored < 5_000:
            with database.transaction() as connection:
                connection.execute("insert into thing values (?, ?)", (f"{stored:06}" + "x" * 5_000, stored))
            stored += 1
    assert caught.value.problem == "full"
    assert "disk is full" in str(caught.value)
    assert "nothing stored was lost" in str(caught.value)
    return stored


def test_a_full_disk_loses_nothing_and_is_over_when_there_is_room(
    opened: Callable[..., SQLiteFile],
) -> None:
    database = opened()
    database.connection.execute("pragma max_page_count=40")
    stored = fill(database)
    assert [int(str(n)[:6]) for n in names(database)] == list(range(stored))
    database.connection.execute("pragma max_page_count=100000")
    with database.transaction() as connection:
        connection.execute("insert into thing values ('room again', 0)")
    assert len(names(database)) == stored + 1


def on_a_file_system_of_its_own(folder: Path, script: str, megabytes: int = 1) -> str:
    """What a script prints that finds a small tmpfs at `folder`, which goes away with it."""
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "{folder}"'
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    done = subprocess.run(
        [
            "unshare",
            "-rm",
            "sh",
            "-c",
            f'{mount} && exec "{sys.executable}" -c "$0" "{folder}"',
            script,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SMALL_DISK = """
import os, sys
from pathlib import Path
from tests.storage.test_storage import FIRST, fill, names
from research.storage.sqlite_files import SQLiteFile
folder = Path(sys.argv[1])
ballast = folder / "ballast"
ballast.write_bytes(b"x" * 300_000)
database = SQLiteFile(folder / "some.db", (FIRST,))
stored = fill(database)
assert 0 < stored == len(names(database)), stored
ballast.unlink()
with database.transaction() as connection:
    connection.execute("insert into thing values ('room again', 0)")
assert len(names(database)) == stored + 1
assert database.read("pragma integrity_check") == [("ok",)]
print("survived", stored)
"""


def test_a_file_system_without_room_loses_nothing(tmp_path: Path) -> None:
    assert on_a_file_system_of_its_own(tmp_path, SMALL_DISK).startswith("survived")


FULL_DISK = """
import shutil, sys
from pathlib import Path
from tests.storage.test_storage import FIRST
from research.storage.sqlite_files import SQLiteFile, StoreError
folder = Path(sys.argv[1])
SQLiteFile(folder / "some.db", (FIRST,)).close()
for left in (0, 16_384):
    (folder / "ballast").write_bytes(bytes(shutil.disk_usage(folder).free - left))
    for name in ("some.db", "new.db"):
        try:
            SQLiteFile(folder / name, (FIRST,))
        except StoreError as error:
            print(left, name, error.problem)
    (folder / "new.db").unlink(missing_ok=True)
    (folder / "ballast").unlink()
SQLiteFile(folder / "some.db", (FIRST,)).close()
"""


def test_a_disk_that_has_become_full_in_the_meantime_is_told_as_that(tmp_path: Path) -> None:
    told = on_a_file_system_of_its_own(tmp_path, FULL_DISK).splitlines()
    assert told == [f"{left} {name} full" for left in (0, 16384) for name in ("some.db", "new.db")]


def test_an_error_of_a_disk_with_room_is_not_told_as_a_full_one(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_READ"
    told = to_store_error(error, tmp_path / "some.db")
    assert (told.problem, told.detail) == ("unusable", "disk I/O error")
    quota = OSError(errno.EDQUOT, "Disk quota exceeded")
    assert to_store_error(quota, tmp_path / "some.db").problem == "full"


READ_ONLY_DISK = """
import subprocess, sys
from pathlib import Path
from tests.storage.test_storage import FIRST
from research.storage.sqlite_files import SQLiteFile, StoreError
folder = Path(sys.argv[1])
database = SQLiteFile(folder / "some.db", (FIRST,))
with database.transaction() as connection:
    connection.execute("insert into thing values ('kept', 1)")
database.close()
subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
for name in ("some.db", "other.db", "below/other.db"):
    try:
        SQLiteFile(folder / name, (FIRST,)).close()
    except StoreError as error:
        print(name, error.problem in ("read-only", "unusable"), "SIGHTLINE_DATA_DIR" in str(error))
"""


def test_a_read_only_file_system_is_named_with_what_to_do(tmp_path: Path) -> None:
    assert on_a_file_system_of_its_own(tmp_path, READ_ONLY_DISK).splitlines() == [
        "some.db True True",
        "other.db True True",
        "below/other.db True True",
    ]


def test_a_file_that_may_not_grow_gives_a_store_error_and_keeps_what_it_has(tmp_path: Path) -> None:
    child = """
import resource, signal, sys
from pathlib import Path
from research.storage.sqlite_files import SQLiteFile, StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
database = SQLiteFile(Path(sys.argv[1]), ("create table thing(name text);",))
stored = 0
try:
    while stored < 1000:
        with database.transaction() as connection:
            connection.execute("insert into thing values (?)", ("x" * 5000,))
        stored += 1
except StoreError as error:
    print(stored, len(database.read("select name from thing")), str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", child, str(tmp_path / "some.db")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    stored, kept, message = done.stdout.split(" ", 2)
    assert 0 < int(stored) == int(kept) < 1000
    assert str(tmp_path / "some.db") in message


FORKED = """
import os, sys, threading, time
from pathlib import Path
from research.storage.sqlite_files import SQLiteFile

db = SQLiteFile(Path(sys.argv[1]), ("create table t(n integer);",))
long = "with recursive c(n) as (select 1 union all select n + 1 from c where n < 20000000) select count(*) from c"
begun = threading.Event()

def work():
    db.read("select 1")
    begun.set()
    db.read(long)

thread = threading.Thread(target=work)
thread.start()
begun.wait()
time.sleep(0.1)  # by now SQLite is at it, and holds the lock of the connection
child = os.fork()
if child == 0:
    os._exit(0)
end = time.monotonic() + 20
while os.waitpid(child, os.WNOHANG) == (0, 0):
    if time.monotonic() > end:
        os.kill(child, 9)
        sys.exit("the copy of the process never got to its own work")
    time.sleep(0.01)
thread.join()
with db.transaction() as connection:
    connection.execute("insert into t values(1)")
print(db.read("select n from t"))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")
def test_a_process_can_be_started_while_another_thread_reads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path / "a.db")],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.stdout.strip(), done.returncode) == ("[(1,)]", 0), done.stderr
