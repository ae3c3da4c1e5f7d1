"""A data folder that an earlier version has filled: everything is there, and what was open goes on.

`earlier.zip` was filled by the program as it was on 24 November 2026, before the modules of
the engine were moved: three documents
(one removed), a conversation of two turns, a run with places, one with rows, one that waits for the
approval of its plan, one whose process was killed, a conversation in the bin, choices, remembered
keys and a confirmed statement. `earlier.json` is what that version found in it (holdings.py).
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from research import runs
from tests.store.holdings import told

HERE = Path(__file__).parent
PAGODA = "雷峰塔重建于2002年，塔高71.679米。"


@pytest.fixture
def earlier(tmp_path: Path) -> Iterator[Path]:
    with zipfile.ZipFile(HERE / "earlier.zip") as archive:
        archive.extractall(tmp_path)
    runs.close()
    runs.desk(tmp_path)
    yield tmp_path
    runs.close()


def answer(run_id: str) -> list[str]:
    for _ in runs.follow(run_id):
        pass
    report = runs.report(run_id)
    assert report is not None and report.answer is not None
    return [span.text for span in report.answer.spans]


def test_everything_is_there(earlier: Path) -> None:
    assert told() == json.loads((HERE / "earlier.json").read_text(encoding="utf-8"))


def test_a_plan_that_waited_is_approved_and_worked_on(earlier: Path) -> None:
    waiting = "f" * 32
    runs.approve(waiting)
    assert any("rebuilt in 2002" in text for text in answer(waiting))


def test_a_run_that_was_killed_goes_on(earlier: Path) -> None:
    killed = "8" * 32
    assert runs.resume(killed) is not None
    assert "West Lake is in Hangzhou." in answer(killed)


def test_a_conversation_goes_on_with_what_it_has_found(earlier: Path) -> None:
    run = runs.start("它是哪年重建的？", based_on="a" * 32)
    assert PAGODA in answer(run.id)
