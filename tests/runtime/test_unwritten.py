"""Answers that could not be written, and texts as they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from research.agent.nodes.plan import build_edited_plan
from research.agent.reasoner import ReasonerInput
from research.core.events import DraftStarted, Event, TextWritten, dump_event
from research.core.records import Draft, Failure, Reflection, Span
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import Outcome, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report, searched

TWO_ROUNDS = WEB.model_copy(update={"loops": 2})
DOWN = Failure(stage="write", reason="unavailable", message="HTTP 503: overloaded")
NOTICE = Span(kind="notice", text="What was found stands in for an answer.")


class Wordless(ScriptedReasoner):
    """Finds no words as often as it is told, and quotes instead; it counts how often it tried."""

    def __init__(self, times: int, *, follow_ups: Sequence[str] = ("d",)) -> None:
        super().__init__(follow_ups=lambda round_: follow_ups)
        self.times = times

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        draft = await super().write(inputs, reflections)
        if len(self.written) > self.times:
            return draft
        spans = (NOTICE, *draft.spans)
        return draft.model_copy(update={"spans": spans, "failures": (DOWN,), "placeholder": True})


def kinds(events: Sequence[Event]) -> list[str]:
    return [event.kind for event in events]


# Answers that could not be written


def test_a_run_whose_answer_cannot_be_written_has_failed_and_keeps_all_it_found(
    bench: Bench,
) -> None:
    source = ScriptedSource(outcomes={"b": Outcome(reason="quota", message="used up")})
    runs = bench.open(Wordless(9), source)
    run = runs.start(QUESTION, options=TWO_ROUNDS)
    assert over(runs, run.id) == "failed"
    assert get(runs, run.id).error == "unavailable: HTTP 503: overloaded"
    assert get(runs, run.id).is_resumable
    found = report(runs, run.id)
    assert found.answer is not None
    assert found.answer.placeholder
    assert found.answer.spans[0] == NOTICE
    assert found.answer.quote_count == 3
    assert [(f.stage, f.reason) for f in found.answer.failures] == [
        ("search", "quota"), ("write", "unavailable"),
    ]  # fmt: skip
    assert {finding.task.query for finding in found.findings} == set("abcd")
    assert found.plan is not None
    assert [reflection.round for reflection in found.reflections] == [1]
    assert kinds(runs.events(run.id))[-1] == "status_changed"
    assert "answer_written" not in kinds(runs.events(run.id))


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("loops", [1, 2, 3])
def test_going_on_with_such_a_run_only_writes(loops: int, reopened: bool, bench: Bench) -> None:
    source = ScriptedSource()
    runs = bench.open(Wordless(1), source)
    run = runs.start(QUESTION, options=WEB.model_copy(update={"loops": loops}))
    assert over(runs, run.id) == "failed"
    before, counts = report(runs, run.id), searched(runs, run.id)
    told = len(runs.events(run.id))
    assert set(counts.values()) == {(1, 1)}

    reasoner = Wordless(0)
    if reopened:
        runs.close()
        runs = bench.open(reasoner, source)
        assert report(runs, run.id) == before
    asked = len(source.calls)
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    assert len(source.calls) == asked
    assert searched(runs, run.id) == counts
    if reopened:
        assert (reasoner.planned, reasoner.reflected) == ([], [])
        ((plan, findings),) = reasoner.written
        assert plan == before.plan
        assert {finding.task.query for finding in findings} == set(counts)
    after = report(runs, run.id)
    assert after.answer is not None
    assert not after.answer.placeholder
    assert (after.answer.quote_count, after.answer.failures) == (len(counts), ())
    assert (after.plan, after.findings, after.reflections) == (
        before.plan, before.findings, before.reflections,
    )  # fmt: skip
    new = [kind for kind in kinds(runs.events(run.id, told)) if not kind.startswith("reflection_")]
    assert new == ["status_changed", "writing_started", "answer_written", "status_changed"]
    assert get(runs, run.id).error == ""


def test_an_answer_may_fail_as_often_as_it_is_tried(bench: Bench) -> None:
    source, reasoner = ScriptedSource(), Wordless(3, follow_ups=())
    runs = bench.open(reasoner, source)
    run = runs.start(QUESTION, options=WEB)
    for _ in range(2):
        assert over(runs, run.id) == "failed"
        runs.resume(run.id)
    assert over(runs, run.id) == "failed"
    stand_in = report(runs, run.id).answer
    assert stand_in is not None
    assert (stand_in.placeholder, stand_in.failures) == (True, (DOWN,))
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    assert len(reasoner.written) == 4
    assert source.queries == ["a", "b", "c"]


def test_what_stands_in_is_there_until_the_answer_is(bench: Bench) -> None:
    runs = bench.open(Wordless(9))
    run = runs.start(QUESTION, options=WEB)
    assert over(runs, run.id) == "failed"
    stand_in = report(runs, run.id).answer
    assert stand_in is not None
    runs.close()
    slow = Telling()
    runs = bench.open(slow)
    runs.resume(run.id)
    until(lambda: "text_written" in kinds(runs.events(run.id)))
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    assert report(runs, run.id).answer == stand_in


def test_such_a_run_can_be_run_again_with_another_plan(bench: Bench) -> None:
    source, reasoner = ScriptedSource(), Wordless(1)
    runs = bench.open(reasoner, source)
    first = runs.start(QUESTION, options=WEB)
    assert over(runs, first.id) == "failed"
    plan = report(runs, first.id).plan
    assert plan is not None
    rows = [("Tower", QUESTION, query, "web") for query in ("a", "b", "new")]
    second = runs.start(QUESTION, options=WEB, plan=build_edited_plan(rows, plan), based_on=first.id)
    assert over(runs, second.id) == "done"
    assert source.queries == ["a", "b", "c", "new"]


def test_without_a_round_of_search_an_answer_that_fails_can_be_written_later(bench: Bench) -> None:
    source, reasoner = ScriptedSource(), Wordless(1)
    runs = bench.open(reasoner, source)
    run = runs.start(QUESTION, options=WEB.model_copy(update={"loops": 0}))
    assert over(runs, run.id) == "failed"
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    assert (source.calls, len(reasoner.planned), len(reasoner.written)) == ([], 1, 2)


# Texts as they are written


class Telling(ScriptedReasoner):
    """Writes a few words at a time: `said` at once, then `more` when it is told to go on."""

    def __init__(self, said: Sequence[str] = ("One",), more: Sequence[str] = ()) -> None:
        super().__init__(("a",))
        self.said, self.more = said, more
        self.loop: asyncio.AbstractEventLoop | None = None

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        self.loop, self._told = asyncio.get_running_loop(), asyncio.Event()
        inputs.emit(DraftStarted(handles={"abcd": ("e1", "p1")}))
        for text in self.said:
            inputs.emit(TextWritten(text=text))
        await self._told.wait()
        for text in self.more:
            inputs.emit(TextWritten(text=text, restart=text == "Again"))
        return await super().write(inputs, reflections)

    def go_on(self) -> None:
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self._told.set)


def texts(runs: LocalRunManager, run_id: str) -> list[dict[str, Any]]:
    return [dump_event(event.data)[1] for event in runs.events(run_id) if event.kind == "text_written"]


def read(runs: LocalRunManager, run_id: str) -> str:
    """The text as a reader of the events has it."""
    text = ""
    for data in texts(runs, run_id):
        text = data["text"] if data.get("restart") else text + data["text"]
    return text


def test_words_that_come_close_together_are_one_event(bench: Bench) -> None:
    counted = "".join(f"{n} " for n in range(200))
    reasoner = Telling([f"{n} " for n in range(200)], ["and ", "more"])
    runs = bench.open(reasoner)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: read(runs, run.id) == counted)
    assert len(texts(runs, run.id)) < 10  # one, unless the machine was held up meanwhile
    reasoner.go_on()
    assert over(runs, run.id) == "done"
    assert read(runs, run.id) == f"{counted}and more"
    events = runs.events(run.id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    expected = ["writing_started", "draft_started", "text_written", "answer_written"]
    assert list(dict.fromkeys(kind for kind in kinds(events) if kind in expected)) == expected


def test_a_text_that_begins_anew_is_not_added_to_what_was_written(bench: Bench) -> None:
    reasoner = Telling(["One"], ["two", "Again", " and", " on"])
    runs = bench.open(reasoner)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: read(runs, run.id) == "One")
    reasoner.go_on()
    assert over(runs, run.id) == "done"
    assert read(runs, run.id) == "Again and on"
    (anew,) = (data for data in texts(runs, run.id) if data.get("restart"))
    assert anew["text"].startswith("Again")


def test_a_text_is_there_while_it_is_written_and_after_it_was_stopped(bench: Bench) -> None:
    runs = bench.open(Telling(["The tower", " is"]))
    run = runs.start(QUESTION, options=WEB)
    until(lambda: read(runs, run.id) == "The tower is")
    assert get(runs, run.id).status == "running"
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    assert read(runs, run.id) == "The tower is"
    assert report(runs, run.id).answer is None
