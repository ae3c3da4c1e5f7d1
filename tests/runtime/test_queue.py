"""Whose turn it is, and that it comes: in a process, and in several of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.core.records import RunOptions
from research.runtime.local_run_manager import LocalRunManager
from research.storage.run_queue import QueueEntry, queue_position, select_next
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import WEB, Bench, over


def line(*entries: str) -> list[QueueEntry]:
    """Runs such as "ann:running", in the order of their coming, named by it."""
    split = [entry.split(":") for entry in entries]
    return [QueueEntry(str(n), owner, status, "e") for n, (owner, status) in enumerate(split)]


def turn(entries: list[QueueEntry], total: int, each: int) -> list[str]:
    return [one.id for one in select_next(entries, total, each)]


def test_the_first_to_come_is_the_first_to_begin() -> None:
    waiting = line("ann:queued", "bob:queued", "cat:queued")
    assert turn(waiting, 2, 0) == ["0", "1"]
    assert turn(waiting, 0, 0) == ["0", "1", "2"]


def test_who_has_its_share_holds_up_nobody_behind_it() -> None:
    waiting = line("ann:running", "ann:running", "ann:queued", "bob:queued", "bob:queued")
    assert turn(waiting, 0, 2) == ["3", "4"]
    assert turn(waiting, 3, 2) == ["3"]
    assert turn(waiting, 2, 9) == []
    assert turn(waiting, 1, 9) == []


def test_a_share_counts_what_begins_in_the_same_moment() -> None:
    assert turn(line("ann:queued", "ann:queued", "bob:queued"), 0, 1) == ["0", "2"]


def test_what_is_ahead_is_told_with_whose_it_is() -> None:
    waiting = line("ann:running", "bob:queued", "ann:queued", "ann:queued")
    assert queue_position(waiting, "3", max_per_owner=0) == (2, False)
    assert queue_position(waiting, "3", max_per_owner=1) == (1, True)
    assert queue_position(waiting, "1", max_per_owner=1) == (0, False)
    assert queue_position(waiting, "none", max_per_owner=1) == (0, False)


def status(runs: LocalRunManager, run_id: str, owner: str = "local") -> str:
    run = runs.get_run(run_id, owner=owner)
    return run.status if run else "gone"


def test_runs_wait_for_their_turn_and_say_so(shared: Bench) -> None:
    runs = shared.open(source=ScriptedSource(outcomes={"hangs": HANGS}), max_runs=1)
    first = runs.start("What hangs?", options=WEB)
    until(lambda: status(runs, first.id) == "running")
    second, third = (runs.start(f"What is tower {n}?", options=WEB) for n in range(2))
    assert status(runs, second.id) == "queued"
    assert (runs.queue_position(second.id), runs.queue_position(third.id)) == ((0, False), (1, False))
    assert runs.queue_position(third.id, owner="somebody else") == (0, False)
    runs.stop(first.id)
    assert [over(runs, run.id) for run in (first, second, third)] == ["stopped", "done", "done"]


@pytest.fixture
def busy(shared: Bench) -> LocalRunManager:
    """Runs of which one may go on for each owner, and one of ann's hangs."""
    runs = shared.open(ScriptedReasoner(["hangs"]), ScriptedSource(outcomes={"hangs": HANGS}), max_runs_per_owner=1)
    first = runs.start("What hangs?", options=WEB, owner="ann")
    until(lambda: status(runs, first.id, "ann") == "running")
    return runs


def test_one_who_asks_much_waits_for_itself_and_others_do_not(busy: LocalRunManager) -> None:
    second = busy.start("What else hangs?", options=WEB, owner="ann")
    other = busy.start("What hangs too?", options=WEB, owner="bob")
    until(lambda: status(busy, other.id, "bob") == "running")
    assert status(busy, second.id, "ann") == "queued"
    assert busy.queue_position(second.id, owner="ann") == (0, True)


def test_what_waits_for_its_turn_can_be_stopped_and_resumed(busy: LocalRunManager) -> None:
    second = busy.start("What else hangs?", options=WEB, owner="ann")
    busy.stop(second.id, owner="ann")
    until(lambda: status(busy, second.id, "ann") == "stopped")
    assert busy.resume(second.id, owner="ann") is not None
    assert status(busy, second.id, "ann") == "queued"


def test_another_process_stops_what_waits_here(busy: LocalRunManager, shared: Bench) -> None:
    second = busy.start("What else hangs?", options=WEB, owner="ann")
    other = shared.open(max_runs_per_owner=1)
    other.stop(second.id, owner="ann")
    until(lambda: status(other, second.id, "ann") == "stopped")


@pytest.mark.slow
def test_the_share_is_one_for_all_processes(busy: LocalRunManager, shared: Bench) -> None:
    other = shared.open(max_runs_per_owner=1)
    second = other.start("What is the tower?", options=WEB, owner="ann")
    assert status(other, second.id, "ann") == "queued"
    busy.stop(busy.recent_runs(owner="ann")[-1].id, owner="ann")
    until(lambda: status(other, second.id, "ann") == "done")


@pytest.mark.slow
def test_a_process_that_is_gone_holds_up_nobody(shared: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "stuck").write_text("a b c", encoding="utf-8")
    child = shared.child(str(log), "1")
    assert child.stdout
    stuck = child.stdout.readline().strip()
    runs = shared.open(max_runs=1)
    until(lambda: status(runs, stuck) == "running")
    mine = runs.start("What is the tower?", options=WEB)
    assert status(runs, mine.id) == "queued"
    child.kill()
    assert over(runs, mine.id) == "done"
    assert status(runs, stuck) == "interrupted"


def test_what_waits_when_the_process_ends_is_interrupted(busy: LocalRunManager, shared: Bench) -> None:
    second = busy.start("What else hangs?", options=WEB, owner="ann")
    busy.close()
    later = shared.open()
    assert status(later, second.id, "ann") == "interrupted"


@pytest.mark.slow
def test_a_hundred_at_once_pass_through_a_narrow_gate(shared: Bench) -> None:
    runs = shared.open(max_runs=7, max_runs_per_owner=3)
    limits = RunOptions(loops=1, sources=("web",))
    started = [
        (owner, runs.start(f"What is tower {n}?", options=limits, owner=owner).id)
        for n in range(33)
        for owner in ("ann", "bob", "cat")
    ]
    assert {over(runs, run_id, owner=owner) for owner, run_id in started} == {"done"}
