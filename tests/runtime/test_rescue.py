"""A damaged file is set aside and never deleted; one that is whole stays where it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from research.storage.recovery import is_damaged, set_aside_damaged_file
from research.storage.sqlite_files import StoreError
from research.storage.store import Store

SPOILT = b"This is no database. " * 500


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    Store(path).close()
    return path


def test_a_damaged_file_is_renamed_with_its_journals_and_a_new_one_begins(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(SPOILT)
    path.with_name("runs.db-wal").write_bytes(b"journal")
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert caught.value.damaged_file == path
    aside = set_aside_damaged_file(path)
    assert aside.read_bytes() == SPOILT
    assert aside.name.startswith("runs.damaged-20")
    assert aside.with_name(f"{aside.name}-wal").read_bytes() == b"journal"
    assert {file.name.partition("-shm")[0] for file in tmp_path.iterdir()} == {
        aside.name,
        f"{aside.name}-wal",
    }
    Store(path).close()


def test_one_of_before_is_not_overwritten(tmp_path: Path) -> None:
    path, asides = tmp_path / "runs.db", []
    for n in range(3):
        path.write_bytes(SPOILT + bytes([n]))
        asides.append(set_aside_damaged_file(path))
    assert [aside.read_bytes()[-1] for aside in asides] == [0, 1, 2]


def test_pages_that_are_overwritten_are_damage(whole: Path) -> None:
    data = bytearray(whole.read_bytes())
    data[1024:] = b"\xff" * (len(data) - 1024)
    whole.write_bytes(data)
    assert is_damaged(whole)


def test_a_file_that_is_whole_stays(whole: Path) -> None:
    before = whole.read_bytes()
    assert not is_damaged(whole)
    with pytest.raises(ValueError, match="not damaged"):
        set_aside_damaged_file(whole)
    assert whole.read_bytes() == before
    assert list(whole.parent.iterdir()) == [whole]


def test_another_program_s_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table theirs(x)")
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert (caught.value.problem, caught.value.damaged_file) == ("corrupt", None)
    with pytest.raises(ValueError, match="not damaged"):
        set_aside_damaged_file(path)


def test_what_is_no_file_stays(tmp_path: Path) -> None:
    for path in (tmp_path / "none.db", tmp_path):
        with pytest.raises(ValueError, match="not damaged"):
            set_aside_damaged_file(path)


@pytest.mark.parametrize("trouble", ["full", "locked", "newer", "read-only", "unusable"])
def test_no_other_trouble_is_damage(trouble: str, tmp_path: Path) -> None:
    assert StoreError(trouble, tmp_path / "runs.db").damaged_file is None  # type: ignore[arg-type]
    assert StoreError("corrupt", "postgresql://h/d").damaged_file is None
