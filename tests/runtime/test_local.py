"""Runs in this process and beside it: following, stopping, being killed, resuming."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from research.agent.nodes.plan import build_edited_plan
from research.agent.nodes.question import QuestionError
from research.core.events import Event
from research.core.records import MEMORY_SOURCE, Plan, Run, RunOptions
from research.runtime.local_run_manager import LocalRunManager
from research.storage.sqlite_files import StoreError
from tests.fakes import HANGS, Outcome, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report, searched
from tests.storage.test_storage import on_a_file_system_of_its_own

TWO_ROUNDS = WEB.model_copy(update={"loops": 2})


# Following


@pytest.mark.slow
def test_events_are_numbered_from_one_without_gaps_and_tell_the_run_in_order(shared: Bench) -> None:
    runs = shared.open(ScriptedReasoner(follow_ups=lambda round_: ["d"]))
    run = runs.start(QUESTION, options=TWO_ROUNDS)
    events = list(runs.follow(run.id))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {event.run for event in events} == {run.id}
    kinds = [event.kind for event in events]
    assert [k for k in kinds if k not in ("task_started", "task_finished")] == [
        "status_changed", "question_parsed", "plan_made", "reflection_made", "reflection_skipped", "writing_started",
        "answer_written", "status_changed",
    ]  # fmt: skip
    assert Counter(kinds)["task_started"] == Counter(kinds)["task_finished"] == 4
    assert [events[0].data.status, events[-1].data.status] == ["running", "done"]
    assert [event.time for event in events] == sorted(event.time for event in events)


@pytest.mark.slow
def test_two_readers_and_a_late_one_get_every_event(shared: Bench) -> None:
    source = ScriptedSource(usual=Outcome(waits=0.2))
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    read: dict[int, list[Event]] = {}

    def follow(reader: int) -> None:
        read[reader] = list(runs.follow(run.id))

    readers = [threading.Thread(target=follow, args=(n,)) for n in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(60)
    late = list(runs.follow(run.id))
    assert read[0] == read[1] == late
    assert late[-1].data.status == "done"
    assert list(runs.follow(run.id, 3)) == late[3:] == runs.events(run.id, 3)


@pytest.mark.slow
def test_a_reader_sees_a_search_while_it_goes_on(shared: Bench) -> None:
    runs = shared.open(source=ScriptedSource(usual=HANGS))
    run = runs.start(QUESTION, options=WEB)
    for event in runs.follow(run.id):
        if event.kind == "task_started":
            break
    assert get(runs, run.id).status == "running"
    runs.stop(run.id)


@pytest.mark.slow
def test_following_a_run_that_does_not_exist_ends_at_once(shared: Bench) -> None:
    runs = shared.open()
    assert list(runs.follow("nothing")) == []
    assert runs.report("nothing") is None
    assert runs.resume("nothing") is None
    runs.stop("nothing")


# Starting


@pytest.mark.slow
def test_starting_returns_before_anything_is_searched(shared: Bench) -> None:
    runs = shared.open(source=ScriptedSource(usual=HANGS))
    run = runs.start(f"  {QUESTION} ", options=WEB)
    assert (run.status, run.question, run.owner) == ("queued", QUESTION, "local")
    assert [listed.id for listed in runs.recent_runs()] == [run.id]


@pytest.mark.slow
def test_starting_twice_with_one_id_starts_one_run(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(source=source)
    first = runs.start(QUESTION, options=WEB, run_id="one")
    again = runs.start("Something else?", options=WEB, run_id="one")
    assert (again.id, again.question) == ("one", QUESTION)
    assert over(runs, first.id) == "done"
    assert runs.start(QUESTION, options=WEB, run_id="one").status == "done"
    assert len(runs.recent_runs()) == 1
    assert source.queries == ["a", "b", "c"]


@pytest.mark.slow
def test_starting_with_one_id_at_the_same_moment_starts_one_run(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(source=source)
    for run_id in ("one", "two", "three", "four", "five"):
        source.calls.clear()
        barrier = threading.Barrier(8)
        started: list[Run | BaseException] = []

        def start(
            run_id: str = run_id,
            barrier: threading.Barrier = barrier,
            started: list[Run | BaseException] = started,
        ) -> None:
            barrier.wait()
            try:
                started.append(runs.start(QUESTION, options=WEB, run_id=run_id))
            except Exception as error:  # noqa: BLE001 - handed to the test
                started.append(error)

        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert over(runs, run_id) == "done"
        assert sorted(source.queries) == ["a", "b", "c"]
        assert [run for run in started if not isinstance(run, Run)] == []


@pytest.mark.slow
@pytest.mark.parametrize("question", ["", " \n ", "？！", "x" * 2_001, "塔" * 20_000])
def test_a_question_that_cannot_be_researched_starts_nothing(question: str, shared: Bench) -> None:
    runs = shared.open()
    with pytest.raises(QuestionError):
        runs.start(question, options=WEB)
    assert runs.recent_runs() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", ["\U0001f43c 塔?", "$HOME `id` $(ls)", "<script>alert(1)</script>", "![x](http://e.org/x.png)", "'; drop table run; --", "a\x00b塔"]
)  # fmt: skip
def test_odd_characters_in_a_question_do_no_harm(question: str, shared: Bench) -> None:
    runs = shared.open()
    run = runs.start(question, options=WEB)
    assert over(runs, run.id) == "done"
    assert get(runs, run.id).question == run.question == question.replace("\x00", "")


@pytest.mark.slow
def test_the_plan_of_a_question_can_be_had_without_searching(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(source=source)
    plan = runs.preview_plan(QUESTION, options=WEB)
    assert [task.query for task in plan.tasks] == ["a", "b", "c"]
    assert (source.calls, runs.recent_runs()) == ([], [])


@pytest.mark.slow
def test_the_plan_of_a_question_that_needs_no_search_is_the_question_itself(shared: Bench) -> None:
    runs = shared.open(ScriptedReasoner(direct="Hello."))
    plan = runs.preview_plan("Hello?", options=RunOptions(sources=("web", "library")))
    assert [(task.source, task.query) for task in plan.tasks] == [
        ("web", "Hello?"), ("library", "Hello?"),
    ]  # fmt: skip


@pytest.mark.slow
def test_runs_are_listed_newest_first(shared: Bench) -> None:
    runs = shared.open()
    ids = [runs.start(QUESTION, options=WEB).id for _ in range(3)]
    assert [run.id for run in runs.recent_runs()] == ids[::-1]
    assert [run.id for run in runs.recent_runs(limit=2)] == ids[:0:-1]


@pytest.mark.slow
def test_fifty_runs_at_once_all_finish(shared: Bench) -> None:
    source = ScriptedSource(usual=Outcome(waits=0.1))
    runs = shared.open(source=source)
    ids = [runs.start(f"{QUESTION} {n}", options=WEB).id for n in range(50)]
    assert {over(runs, run_id) for run_id in ids} == {"done"}
    assert len(source.calls) == 150
    assert all(report(runs, run_id).answer for run_id in ids)


# Owners


@pytest.mark.slow
def test_another_owner_can_do_nothing_with_a_run(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB, owner="ann")
    until(lambda: source.calls)
    assert runs.get_run(run.id, owner="bob") is None
    assert runs.report(run.id, owner="bob") is None
    assert runs.recent_runs(owner="bob") == []
    assert list(runs.follow(run.id, owner="bob")) == []
    assert runs.events(run.id, owner="bob") == []
    runs.stop(run.id, owner="bob")
    assert runs.resume(run.id, owner="bob") is None
    assert get_as(runs, run.id, "ann").status == "running"
    runs.stop(run.id, owner="ann")
    until(lambda: not get_as(runs, run.id, "ann").is_active)
    assert runs.resume(run.id, owner="bob") is None
    assert get_as(runs, run.id, "ann").status == "stopped"


def get_as(runs: LocalRunManager, run_id: str, owner: str) -> Run:
    run = runs.get_run(run_id, owner=owner)
    assert run is not None
    return run


@pytest.mark.slow
def test_nothing_is_reused_from_a_run_of_another_owner(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(source=source)
    first = runs.start(QUESTION, options=WEB, owner="ann")
    until(lambda: get_as(runs, first.id, "ann").status == "done")
    second = runs.start(QUESTION, options=WEB, owner="bob", based_on=first.id)
    until(lambda: get_as(runs, second.id, "bob").status == "done")
    assert (second.based_on, second.conversation == first.conversation) == ("", False)
    assert source.queries == ["a", "b", "c"] * 2


@pytest.mark.slow
def test_an_id_that_another_owner_has_is_not_given_out_nor_explained(shared: Bench) -> None:
    runs = shared.open()
    runs.start(QUESTION, options=WEB, owner="ann", run_id="one")
    with pytest.raises((StoreError, ValueError)):
        runs.start("Mine?", options=WEB, owner="bob", run_id="one")
    assert get_as(runs, "one", "ann").question == QUESTION


# Stopping and resuming


@pytest.mark.slow
def test_stopping_right_after_starting_always_ends_stopped(shared: Bench) -> None:
    runs = shared.open(source=ScriptedSource(usual=HANGS))
    for _ in range(30):
        run = runs.start(QUESTION, options=WEB)
        runs.stop(run.id)
        assert over(runs, run.id) == "stopped"
        assert list(runs.follow(run.id))[-1].data.status == "stopped"


@pytest.mark.slow
def test_a_run_stopped_before_its_first_step_resumes(shared: Bench) -> None:
    runs = shared.open()
    run = runs.start(QUESTION, options=WEB)
    runs.stop(run.id)
    assert over(runs, run.id) in ("stopped", "done")
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    assert report(runs, run.id).answer is not None


@pytest.mark.slow
def test_stopping_keeps_finished_searches_and_resuming_repeats_none(shared: Bench) -> None:
    source = ScriptedSource(outcomes={"c": HANGS})
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: len(source.done) == 2 and len(source.calls) == 3)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    stopped = report(runs, run.id)
    assert {finding.task.query for finding in stopped.findings} == {"a", "b"}
    assert stopped.plan is not None
    assert stopped.answer is None

    del source.outcomes["c"]
    resumed = runs.resume(run.id)
    assert resumed is not None
    assert resumed.is_active
    assert over(runs, run.id) == "done"
    assert searched(runs, run.id) == {"a": (1, 1), "b": (1, 1), "c": (2, 1)}
    answer = report(runs, run.id).answer
    assert answer is not None
    assert answer.quote_count == 3


@pytest.mark.slow
def test_stopping_a_run_shows_while_its_search_would_go_on(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: source.calls)
    asked = time.monotonic()
    runs.stop(run.id)
    over(runs, run.id)
    assert time.monotonic() - asked < 30


@pytest.mark.slow
def test_stopping_again_while_a_run_is_stopping_leaves_no_search_going_on(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: len(source.calls) == 3)

    async def insist() -> None:
        """Stops at several moments of the stopping, which takes a few turns of the loop."""
        for _ in range(8):
            runs._cancel(run.id)
            await asyncio.sleep(0)

    asyncio.run_coroutine_threadsafe(insist(), runs.loop.asyncio_loop).result(60)
    assert over(runs, run.id) == "stopped"
    until(lambda: len(source.left) == 3)


@pytest.mark.slow
def test_stopping_or_resuming_a_run_that_is_over_changes_nothing(shared: Bench) -> None:
    runs = shared.open()
    run = runs.start(QUESTION, options=WEB)
    assert over(runs, run.id) == "done"
    events = runs.events(run.id)
    runs.stop(run.id)
    resumed = runs.resume(run.id)
    assert resumed is not None
    assert resumed.status == "done"
    assert runs.events(run.id) == events


@pytest.mark.slow
def test_resuming_twice_at_once_goes_on_once(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: len(source.calls) == 3)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    source.usual = Outcome(waits=0.1)
    threads = [threading.Thread(target=runs.resume, args=(run.id,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert over(runs, run.id) == "done"
    assert searched(runs, run.id) == dict.fromkeys("abc", (2, 1))


@pytest.mark.slow
def test_stopping_one_run_leaves_the_others_alone(shared: Bench) -> None:
    source = ScriptedSource(usual=Outcome(waits=0.3))
    runs = shared.open(source=source)
    one, other = (runs.start(QUESTION, options=WEB) for _ in range(2))
    until(lambda: len(source.calls) == 6)
    runs.stop(one.id)
    assert (over(runs, one.id), over(runs, other.id)) == ("stopped", "done")


@pytest.mark.slow
def test_closing_interrupts_and_the_next_opening_resumes(shared: Bench) -> None:
    source = ScriptedSource(outcomes={"c": HANGS})
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: len(source.done) == 2 and len(source.calls) == 3)
    runs.close()
    again = shared.open()
    assert get(again, run.id).status == "interrupted"
    again.resume(run.id)
    assert over(again, run.id) == "done"
    assert searched(again, run.id) == {"a": (1, 1), "b": (1, 1), "c": (2, 1)}


@pytest.mark.slow
def test_closing_amid_searches_leaves_no_file_locked(bench: Bench) -> None:
    for _ in range(15):
        source = ScriptedSource(outcomes={"c": HANGS})
        runs = bench.open(source=source)
        runs.start(QUESTION, options=WEB)
        until(lambda source=source: len(source.done) == 2 and len(source.calls) == 3)
        runs.close()
        assert not any(held(bench.folder / name) for name in ("runs.db", "checkpoints.db"))


@pytest.mark.slow
def test_events_go_on_without_a_gap_after_resuming(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: len(source.calls) == 3)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    before = runs.events(run.id)
    source.usual = Outcome()
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    events = runs.events(run.id)
    assert events[: len(before)] == before
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    states = [event.data.status for event in events if event.kind == "status_changed"]
    assert states == ["running", "stopped", "running", "done"]


# One turn after another


@pytest.mark.slow
def test_a_second_question_starts_from_nothing(shared: Bench) -> None:
    reasoner = ScriptedReasoner(follow_ups=lambda round_: ["d"])
    source = ScriptedSource()
    runs = shared.open(reasoner, source)
    first = runs.start(QUESTION, options=TWO_ROUNDS)
    assert over(runs, first.id) == "done"
    second = runs.start("And of the lake?", options=TWO_ROUNDS)
    assert over(runs, second.id) == "done"
    assert source.queries == ["a", "b", "c", "d"] * 2
    assert [len(findings) for _, findings in reasoner.written] == [4, 4]
    assert [round_ for round_, _ in reasoner.reflected] == [1, 1]
    assert first.conversation != second.conversation
    assert len(report(runs, second.id).reflections) == 1


@pytest.mark.slow
def test_every_turn_of_a_conversation_searches_the_same_number_of_times(shared: Bench) -> None:
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: ["c"])
    source = ScriptedSource()
    runs = shared.open(reasoner, source)
    counts, last = [], ""
    for _ in range(4):
        run = runs.start(QUESTION, options=TWO_ROUNDS, follows=last)
        assert over(runs, run.id) == "done"
        counts.append(len(runs.store.searches(run.id)))
        last = run.id
    assert counts == [3, 3, 3, 3]
    new = [[f for f in findings if f.task.source != MEMORY_SOURCE] for _, findings in reasoner.written]
    assert [len(findings) for findings in new] == [3, 3, 3, 3]


@pytest.mark.slow
def test_an_edited_plan_searches_only_what_changed(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(source=source)
    first = runs.start(QUESTION, options=WEB)
    assert over(runs, first.id) == "done"
    plan = report(runs, first.id).plan
    assert plan is not None
    rows = [("Tower", QUESTION, query, "web") for query in ("a", "b", "changed", "")]
    second = runs.start(QUESTION, options=WEB, plan=build_edited_plan(rows, plan), based_on=first.id)
    assert over(runs, second.id) == "done"
    assert source.queries == ["a", "b", "c", "changed"]
    assert second.conversation == first.conversation
    after = report(runs, second.id)
    assert {f.task.query: f.reused for f in after.findings} == {
        "a": True,
        "b": True,
        "changed": False,
    }
    assert after.plan is not None
    assert after.plan.edited
    assert after.answer is not None
    assert after.answer.quote_count == 3
    assert searched(runs, first.id) == dict.fromkeys("abc", (1, 1))


@pytest.mark.slow
def test_a_failed_search_of_the_run_before_is_tried_again(shared: Bench) -> None:
    source = ScriptedSource(outcomes={"b": Outcome(reason="quota")})
    runs = shared.open(source=source)
    first = runs.start(QUESTION, options=WEB)
    assert over(runs, first.id) == "done"
    del source.outcomes["b"]
    second = runs.start(QUESTION, options=WEB, based_on=first.id)
    assert over(runs, second.id) == "done"
    assert source.queries == ["a", "b", "c", "b"]
    answer = report(runs, second.id).answer
    assert answer is not None
    assert (answer.failures, answer.quote_count) == ((), 3)


@pytest.mark.slow
def test_a_plan_without_a_task_still_ends_with_an_answer(shared: Bench) -> None:
    runs = shared.open()
    run = runs.start(QUESTION, options=WEB, plan=Plan(edited=True))
    assert over(runs, run.id) == "done"
    assert report(runs, run.id).answer is not None


# Killed


@pytest.mark.slow
def test_a_killed_run_resumes_without_repeating_finished_searches(shared: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "stuck").write_text("d", encoding="utf-8")
    child = shared.child(str(log), "1")
    assert child.stdout is not None
    run_id = child.stdout.readline().strip()
    until(lambda: log.exists() and "start d" in log.read_text(encoding="utf-8"))
    child.kill()
    child.wait()

    source = ScriptedSource()
    reasoner = ScriptedReasoner()
    runs = shared.open(reasoner, source)
    until(lambda: [(run.id, run.status) for run in runs.recent_runs()] == [(run_id, "interrupted")])
    assert list(runs.follow(run_id))[-1].data.status == "interrupted"
    assert {f.task.query for f in report(runs, run_id).findings} == {"a", "b", "c"}
    assert len(report(runs, run_id).reflections) == 1
    runs.resume(run_id)
    assert over(runs, run_id) == "done"
    assert source.queries == ["d"]
    assert searched(runs, run_id) == {"a": (1, 1), "b": (1, 1), "c": (1, 1), "d": (2, 1)}
    assert reasoner.planned == []
    answer = report(runs, run_id).answer
    assert answer is not None
    assert answer.quote_count == 4


@pytest.mark.slow
def test_a_run_killed_among_parallel_searches_repeats_only_those_in_flight(shared: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "stuck").write_text("b", encoding="utf-8")
    child = shared.child(str(log), "1")
    assert child.stdout is not None
    run_id = child.stdout.readline().strip()
    runs = shared.open()
    until(lambda: sum(done for _, done in searched(runs, run_id).values()) == 2)
    child.kill()
    child.wait()
    until(lambda: get(runs, run_id).status == "interrupted")
    runs.resume(run_id)
    assert over(runs, run_id) == "done"
    assert searched(runs, run_id) == {"a": (1, 1), "b": (2, 1), "c": (1, 1), "d": (1, 1)} or (
        searched(runs, run_id) == {"a": (1, 1), "b": (2, 1), "c": (1, 1)}
    )


STUCK = "create view forever as with recursive n(i) as (select 1 union all select i + 1 from n) select i from n;"
HOLD = {
    "the outcome is stored": "create trigger hold before insert on answer when new.answer is not null "
    "begin select count(*) from forever; end;",
    "the status is stored": "create trigger hold before update on run when new.status = 'done' "
    "begin select count(*) from forever; end;",
}


@pytest.mark.slow
@pytest.mark.parametrize("before", HOLD)
def test_a_run_killed_between_its_last_checkpoint_and_its_end_repeats_nothing(
    before: str, bench: Bench, tmp_path: Path
) -> None:
    bench.open().close()
    store = bench.folder / "runs.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(STUCK + HOLD[before])
    (tmp_path / "stuck").write_text("", encoding="utf-8")
    child = bench.child(str(tmp_path / "log"), "1")
    assert child.stdout is not None
    run_id = child.stdout.readline().strip()
    until(lambda: all(held(store) for _ in range(20)))
    child.kill()
    child.wait()
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("drop trigger hold")

    source, reasoner = ScriptedSource(), ScriptedReasoner()
    runs = bench.open(reasoner, source)
    assert get(runs, run_id).status == "interrupted"
    runs.resume(run_id)
    assert over(runs, run_id) == "done"
    assert source.queries == []
    assert searched(runs, run_id) == dict.fromkeys("abcd", (1, 1))
    answer = report(runs, run_id).answer
    assert answer is not None
    assert answer.quote_count == 4
    assert (reasoner.planned, reasoner.reflected, reasoner.written) == ([], [], [])


def held(store: Path) -> bool:
    """Whether another process is writing, now and 20 ms later."""
    with closing(sqlite3.connect(store, timeout=0.02, isolation_level=None)) as connection:
        try:
            connection.execute("begin immediate")
        except sqlite3.OperationalError:
            return True
        connection.execute("rollback")
        return False


@pytest.mark.slow
def test_a_run_stopped_at_any_moment_resumes_to_an_answer(shared: Bench) -> None:
    reasoner = ScriptedReasoner(follow_ups=lambda round_: ("d", "e"))
    runs = shared.open(reasoner, ScriptedSource(usual=Outcome(waits=0.002)))
    options = RunOptions(loops=2, sources=("web",))
    moments = random.Random(20261121)
    cut = 0
    for _ in range(60):
        run = runs.start(QUESTION, options=options)
        told = moments.randrange(25)
        until(lambda r=run, n=told: len(runs.events(r.id)) >= n or not get(runs, r.id).is_active)
        runs.stop(run.id)
        if over(runs, run.id) == "stopped":
            cut += 1
            runs.resume(run.id)
        assert over(runs, run.id) == "done"
        answer = report(runs, run.id).answer
        assert answer is not None
        assert answer.quote_count == 5
    assert cut > 10


# Two processes on one data folder


@pytest.mark.slow
def test_two_processes_share_a_data_folder(shared: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "stuck").write_text("a b c", encoding="utf-8")
    child = shared.child(str(log), "2")
    assert child.stdout is not None
    first, second = (child.stdout.readline().strip() for _ in range(2))
    until(lambda: log.exists() and log.read_text(encoding="utf-8").count("start") == 6)

    source = ScriptedSource()
    runs = shared.open(source=source)
    assert {run.id: run.status for run in runs.recent_runs()} == {first: "running", second: "running"}
    runs.resume(first)
    assert source.calls == []

    runs.stop(first)
    assert over(runs, first) == "stopped"
    assert get(runs, second).status == "running"
    mine = runs.start(QUESTION, options=WEB)
    assert over(runs, mine.id) == "done"
    assert {run.id: run.status for run in runs.recent_runs()} == {
        first: "stopped", second: "running", mine.id: "done",
    }  # fmt: skip

    child.kill()
    child.wait()
    until(lambda: {run.id: run.status for run in runs.recent_runs()}[second] == "interrupted")
    for run_id in (first, second):
        runs.resume(run_id)
        assert over(runs, run_id) == "done"
        assert searched(runs, run_id)["a"] == (2, 1)


@pytest.mark.slow
def test_two_openings_in_one_process_leave_each_others_runs_alone(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    one, other = shared.open(source=source), shared.open()
    run = one.start(QUESTION, options=WEB)
    until(lambda: source.calls)
    assert [r.status for r in other.recent_runs()] == ["running"]
    read: list[Event] = []
    reader = threading.Thread(target=lambda: read.extend(other.follow(run.id)))
    reader.start()
    other.stop(run.id)
    assert over(other, run.id) == "stopped"
    reader.join(60)
    assert read == one.events(run.id)


# Files that cannot be used


@pytest.mark.parametrize("name", ["runs.db", "checkpoints.db"])
def test_a_corrupt_file_is_named_and_left_as_it_is(name: str, bench: Bench) -> None:
    bench.folder.mkdir()
    spoiled = b"This is no database. " * 400
    (bench.folder / name).write_bytes(spoiled)
    with pytest.raises(StoreError, match=name) as caught:
        bench.open()
    assert caught.value.problem == "corrupt"
    assert (bench.folder / name).read_bytes() == spoiled
    (bench.folder / name).unlink()
    runs = bench.open()
    assert over(runs, runs.start(QUESTION, options=WEB).id) == "done"


def test_a_data_folder_that_cannot_be_made_is_named(bench: Bench) -> None:
    bench.folder.write_text("a file", encoding="utf-8")
    with pytest.raises(StoreError, match="SIGHTLINE_DATA_DIR"):
        bench.open()


SMALL_DISK = """
import asyncio
import sys
from pathlib import Path
from tests.fakes import Outcome, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report, searched

folder = Path(sys.argv[1])
ballast = folder / "ballast"

def fill(task):
    # Takes all the room there is while the third search is under way.
    if task.query == "c" and not source.queries.count("c") > 1:
        asyncio.get_running_loop().call_later(0.1, take)

def take():
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 1024):
                pass
        except OSError:
            pass

large = Outcome(waits=0.3, passages=("The tower is old. " * 1000,))
source = ScriptedSource(outcomes={"b": large, "c": large}, before=fill)
bench = Bench(folder / "data")
runs = bench.open(source=source)
run = runs.start(QUESTION, options=WEB)
assert over(runs, run.id, 30) == "failed"
error = get(runs, run.id).error
assert "disk is full" in error and str(folder) in error, error
kept = {f.task.query for f in report(runs, run.id).findings}
assert "a" in kept and "c" not in kept, kept
ballast.unlink()
until(lambda: runs.resume(run.id) and get(runs, run.id).status == "done")
counts = searched(runs, run.id)
assert all(counts[query] == (1, 1) for query in kept), (kept, counts)
assert all(done == 1 for _, done in counts.values()), counts
assert report(runs, run.id).answer.quote_count == 3
events = runs.events(run.id)
assert [event.seq for event in events] == list(range(1, len(events) + 1))
bench.close()
print("survived")
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_fails_the_run_by_name_and_room_lets_it_go_on(tmp_path: Path) -> None:
    assert on_a_file_system_of_its_own(tmp_path, SMALL_DISK, 4).strip() == "survived"


def test_a_store_that_may_not_grow_fails_the_run_by_name_and_growth_lets_it_go_on(
    bench: Bench,
) -> None:
    def limit(pages: int) -> None:
        """Acts on the connection that stores findings: that of the loop's thread."""
        connection = runs.store.database.sqlite_file.connection
        now = connection.execute("pragma page_count").fetchone()[0]
        connection.execute(f"pragma max_page_count={now + pages}")

    source = ScriptedSource(
        outcomes={"b": Outcome(passages=("The tower is old. " * 2_000,))},
        before=lambda task: limit(2) if task.query == "b" and len(source.calls) == 2 else None,
    )
    runs = bench.open(ScriptedReasoner(["a"], lambda round_: ["b"]), source)
    run = runs.start(QUESTION, options=TWO_ROUNDS)
    assert over(runs, run.id) == "failed"
    assert "disk is full" in get(runs, run.id).error
    assert str(bench.folder) in get(runs, run.id).error
    assert [finding.task.query for finding in report(runs, run.id).findings] == ["a"]

    runs.loop.call_soon(limit, 100_000)
    until(lambda: runs.resume(run.id) and get(runs, run.id).status == "done")
    assert searched(runs, run.id) == {"a": (1, 1), "b": (2, 1)}
    events = runs.events(run.id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_a_bug_in_a_reasoner_fails_the_run_without_showing_its_insides(bench: Bench) -> None:
    class Broken(ScriptedReasoner):
        async def write(self, *arguments: object) -> tuple[()]:  # type: ignore[override]
            raise LookupError("secret")

    runs = bench.open(Broken())
    run = runs.start(QUESTION, options=WEB)
    assert over(runs, run.id) == "failed"
    error = get(runs, run.id).error
    assert "LookupError" in error
    assert "secret" not in error
    assert len(report(runs, run.id).findings) == 3
    runs.close()
    again = bench.open(source=(source := ScriptedSource()))
    again.resume(run.id)
    assert over(again, run.id) == "done"
    assert source.calls == []
