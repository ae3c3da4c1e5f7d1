"""What a run asks back before it searches, and what is said to it while it goes on."""

from __future__ import annotations

import json
import threading

import pytest

from research.core.records import Clarification, RunOptions, Task
from research.export.markdown import report_markdown
from research.export.report_json import report_json
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report

ASKS = Clarification(question="Which tower?", choices=("Leifeng", "Eiffel"))
CLARIFIED = "Which tower? Leifeng"


def asking(runs: LocalRunManager, options: RunOptions = WEB) -> str:
    run = runs.start(QUESTION, options=options)
    assert over(runs, run.id) == "waiting"
    return run.id


def test_what_is_asked_back_is_answered_once_and_planned_with(shared: Bench) -> None:
    reasoner, source = ScriptedReasoner(unclear=ASKS), ScriptedSource()
    runs = shared.open(reasoner, source)
    run_id = asking(runs)
    waits = report(runs, run_id)
    assert (waits.is_awaiting_clarification, waits.clarification, source.calls) == (True, ASKS, [])
    runs.answer_clarification(run_id, "  Leifeng\n")
    assert over(runs, run_id) == "done"
    assert [question.additions for question in reasoner.planned] == [(), (CLARIFIED,)]
    assert dict(reasoner.added)["write"] == (CLARIFIED,)
    done = report(runs, run_id)
    assert done.clarification == ASKS.model_copy(update={"answer": "Leifeng"})
    assert "Clarified: “Which tower?” — Leifeng" in report_markdown(done, None)
    assert json.loads(report_json(done, None))["clarification"]["answer"] == "Leifeng"
    assert runs.answer_clarification(run_id, "Eiffel") == get(runs, run_id)  # never twice


def test_what_is_asked_back_can_be_skipped_and_is_not_planned_again(shared: Bench) -> None:
    reasoner, source = ScriptedReasoner(unclear=ASKS), ScriptedSource()
    runs = shared.open(reasoner, source)
    run_id = asking(runs)
    runs.answer_clarification(run_id)
    assert over(runs, run_id) == "done"
    assert len(reasoner.planned) == 1
    assert source.queries == ["a", "b", "c"]
    assert "Clarified: “Which tower?” — skipped" in report_markdown(report(runs, run_id), None)


def test_a_plan_is_approved_after_what_it_asked_back_was_answered(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(ScriptedReasoner(unclear=ASKS), source)
    run_id = asking(runs, WEB.model_copy(update={"approve": True}))
    runs.answer_clarification(run_id, "Leifeng")
    until(lambda: get(runs, run_id).status == "waiting" and not report(runs, run_id).is_awaiting_clarification)
    assert source.calls == []
    runs.approve(run_id)
    assert over(runs, run_id) == "done"


def test_a_question_outlives_its_process_and_a_stop(shared: Bench) -> None:
    runs = shared.open(ScriptedReasoner(unclear=ASKS))
    run_id = asking(runs)
    runs.close()
    runs = shared.open(ScriptedReasoner(unclear=ASKS))
    assert report(runs, run_id).is_awaiting_clarification
    runs.stop(run_id)
    assert get(runs, run_id).status == "stopped"
    runs.resume(run_id)
    assert over(runs, run_id) == "waiting"
    assert report(runs, run_id).is_awaiting_clarification
    runs.answer_clarification(run_id, "Eiffel")
    assert over(runs, run_id) == "done"
    assert dict(runs.resources.reasoner.added)["write"] == ("Which tower? Eiffel",)  # type: ignore[attr-defined]


def test_of_several_who_answer_at_once_one_is_heard(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(ScriptedReasoner(unclear=ASKS), source)
    run_id = asking(runs)
    threads = [threading.Thread(target=runs.answer_clarification, args=(run_id, said)) for said in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert over(runs, run_id) == "done"
    assert sum(event.kind == "clarification_answered" for event in runs.events(run_id)) == 1


def test_nobody_else_answers_or_instructs(shared: Bench) -> None:
    runs = shared.open(ScriptedReasoner(unclear=ASKS))
    run_id = asking(runs)
    assert runs.answer_clarification(run_id, "Eiffel", owner="other") is None
    assert not runs.add_instruction(run_id, "leave hotels out", owner="other")
    assert report(runs, run_id).is_awaiting_clarification


@pytest.mark.parametrize("rounds", [1, 2])
def test_what_is_said_to_a_run_goes_into_the_next_reflection_and_the_answer(rounds: int, shared: Bench) -> None:
    def once(task: Task) -> None:
        if task.query == "a":
            assert runs.add_instruction(run_id, "only after\n2024")

    run_id = "steered"
    reasoner = ScriptedReasoner(follow_ups=lambda round_: [f"r{round_}"])
    runs = shared.open(reasoner, ScriptedSource(before=once))
    run = runs.start(QUESTION, options=WEB.model_copy(update={"loops": rounds}), run_id=run_id)
    assert over(runs, run.id) == "done"
    said = ("only after 2024",)
    assert reasoner.added == [("reflect", said)] * (rounds - 1) + [("write", said)]
    done = report(runs, run.id)
    assert [(one.text, one.applied) for one in done.instructions] == [("only after 2024", True)]
    assert "Instruction during the run: “only after 2024”" in report_markdown(done, None)
    assert not runs.add_instruction(run.id, "too late")
