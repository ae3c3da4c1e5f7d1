"""Which engines of a data folder are alive."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from research.runs.engine import Engine
from research.storage import StoreError
from tests.runs.conftest import ROOT

CHILD = """
import sys, time
from pathlib import Path
from research.runs.engine import Engine
print(Engine(Path(sys.argv[1])).id, flush=True)
time.sleep(600)
"""


def engines(folder: Path) -> set[str]:
    """The engines that have files in the folder."""
    return {file.name.partition(".")[0] for file in folder.iterdir()}


def test_an_engine_is_alive_to_itself_and_to_others_until_it_is_closed(tmp_path: Path) -> None:
    one, other = Engine(tmp_path), Engine(tmp_path)
    assert one.id != other.id
    assert one.alive(one.id)
    assert one.alive(other.id)
    other.close()
    assert not one.alive(other.id)
    one.close()
    assert list(tmp_path.iterdir()) == []


def test_asking_after_a_living_engine_does_not_disturb_it(tmp_path: Path) -> None:
    one, other = Engine(tmp_path), Engine(tmp_path)
    assert all(one.alive(other.id) and other.alive(one.id) for _ in range(20))
    one.close()
    other.close()


@pytest.mark.parametrize("name", ["", "never-seen"])
def test_an_engine_that_was_never_there_is_dead(name: str, tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    assert not engine.alive(name)
    assert engines(tmp_path) == {engine.id}
    engine.close()


def test_a_killed_process_is_known_to_be_dead_at_once_and_its_lock_is_removed(
    tmp_path: Path,
) -> None:
    engine = Engine(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    other = child.stdout.readline().strip()
    assert engine.alive(other)
    child.kill()
    child.wait()
    child.stdout.close()
    assert not engine.alive(other)
    assert engines(tmp_path) == {engine.id}
    engine.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="SIGHTLINE_DATA_DIR"):
        Engine(tmp_path / "file" / "engines")
