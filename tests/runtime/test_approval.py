"""A run that waits for its plan to be approved, however long that takes and whoever is asked."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from research.agent.nodes.plan import build_edited_plan
from research.core.records import RunOptions
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report

WAITS = WEB.model_copy(update={"approve": True})


def waiting(runs: LocalRunManager, options: RunOptions = WAITS) -> str:
    run = runs.start(QUESTION, options=options)
    assert over(runs, run.id) == "waiting"
    return run.id


def states(runs: LocalRunManager, run_id: str) -> list[str]:
    return [e.data.status for e in runs.events(run_id) if e.kind == "status_changed"]


def test_nothing_is_searched_before_the_plan_is_approved(shared: Bench) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner()
    runs = shared.open(reasoner, source)
    run_id = waiting(runs)
    assert (source.calls, report(runs, run_id).answer) == ([], None)
    plan = report(runs, run_id).plan
    assert plan is not None
    assert [task.query for task in plan.tasks] == ["a", "b", "c"]
    run = get(runs, run_id)
    assert (run.is_active, run.is_resumable) == (False, False)
    assert runs.resume(run_id) == run

    runs.approve(run_id)
    assert over(runs, run_id) == "done"
    assert source.queries == ["a", "b", "c"]
    assert len(reasoner.planned) == 1
    assert states(runs, run_id) == ["running", "waiting", "running", "done"]
    events = runs.events(run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_the_plan_and_the_limits_may_be_changed(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(ScriptedReasoner(follow_ups=lambda round_: [f"r{round_}"]), source)
    run_id = waiting(runs)
    plan = report(runs, run_id).plan
    assert plan is not None
    edited = build_edited_plan([("Tower", QUESTION, query, "web") for query in ("a", "mine")], plan)
    options = WAITS.model_copy(update={"loops": 3, "searches": 3})
    runs.approve(run_id, plan=edited, options=options)
    assert over(runs, run_id) == "done"
    assert source.queries == ["a", "mine", "r1"]
    done = report(runs, run_id)
    assert done.run.options == options
    assert done.plan == edited


@pytest.mark.parametrize("plan", ["given", "direct", "no search"])
def test_where_there_is_nothing_to_approve_a_run_does_not_wait(plan: str, shared: Bench) -> None:
    reasoner = ScriptedReasoner(direct="Hello." if plan == "direct" else "")
    runs = shared.open(reasoner)
    options = WAITS.model_copy(update={"loops": 0}) if plan == "no search" else WAITS
    given = runs.preview_plan(QUESTION, options=WEB) if plan == "given" else None
    run = runs.start(QUESTION, options=options, plan=given)
    assert over(runs, run.id) == "done"


@pytest.mark.slow
def test_a_waiting_run_outlives_its_process(shared: Bench, tmp_path: Path) -> None:
    (tmp_path / "stuck").write_text("", encoding="utf-8")
    child = shared.child(str(tmp_path / "log"), "1", "approve")
    assert child.stdout is not None
    run_id = child.stdout.readline().strip()
    other = shared.open()
    until(lambda: get(other, run_id).status == "waiting")
    child.kill()
    child.wait()

    reasoner, source = ScriptedReasoner(), ScriptedSource()
    runs = shared.open(reasoner, source)
    assert [run.status for run in runs.recent_runs()] == ["waiting"]
    runs.approve(run_id)
    assert over(runs, run_id) == "done"
    assert (reasoner.planned, source.queries) == ([], ["a", "b", "c"])


def test_what_was_approved_need_not_be_approved_again(shared: Bench) -> None:
    runs = shared.open(source=(source := ScriptedSource(usual=HANGS)))
    run_id = waiting(runs)
    plan = report(runs, run_id).plan
    assert plan is not None
    runs.approve(run_id, plan=build_edited_plan([("Tower", QUESTION, "mine", "web")], plan))
    until(lambda: source.calls)
    runs.close()
    runs = shared.open(source=(later := ScriptedSource()))
    assert get(runs, run_id).status == "interrupted"
    runs.resume(run_id)
    assert over(runs, run_id) == "done"
    assert later.queries == ["mine"]


def test_of_several_who_approve_at_once_one_starts_the_run(shared: Bench) -> None:
    source = ScriptedSource()
    runs, other = shared.open(source=source), shared.open(source=source)
    run_id = waiting(runs)
    threads = [threading.Thread(target=runs_.approve, args=(run_id,)) for runs_ in (runs, other) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert over(runs, run_id) == "done"
    assert sorted(source.queries) == ["a", "b", "c"]
    assert runs.approve(run_id) == get(runs, run_id)


def test_another_owner_cannot_approve_and_a_source_has_to_be_there(shared: Bench) -> None:
    runs = shared.open(source=(source := ScriptedSource()))
    run_id = waiting(runs)
    assert runs.approve(run_id, owner="bob") is None
    with pytest.raises(ValueError, match="no source 'sea'"):
        runs.approve(run_id, options=RunOptions(sources=("sea",)))
    assert get(runs, run_id).status == "waiting"
    assert source.calls == []


def test_the_wait_does_not_count_as_work(shared: Bench) -> None:
    runs = shared.open()
    run_id = waiting(runs, WAITS.model_copy(update={"seconds": 30.0}))
    runs.approve(run_id)
    assert over(runs, run_id) == "done"
    answer = report(runs, run_id).answer
    assert answer is not None
    assert [span for span in answer.spans if span.kind == "notice"] == []


def test_a_plan_that_nobody_wants_is_put_off_and_can_be_taken_up_again(shared: Bench) -> None:
    runs = shared.open()
    run = runs.start(QUESTION, options=WEB.model_copy(update={"approve": True}))
    assert over(runs, run.id) == "waiting"
    runs.stop(run.id, owner="somebody else")
    runs.stop(run.id, write_only=True)
    assert over(runs, run.id) == "waiting"
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    assert runs.approve(run.id) == runs.get_run(run.id)
    assert runs.resume(run.id) is not None
    assert over(runs, run.id) == "waiting"
    assert runs.approve(run.id) is not None
    assert over(runs, run.id) == "done"
