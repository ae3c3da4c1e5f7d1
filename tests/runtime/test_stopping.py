"""Ending the searching of a run: it writes with what there is, in whichever process it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from research.agent.reasoner import ReasonerInput
from research.core.records import Draft, Plan, Reflection, Span
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report, searched

TWO_ROUNDS = WEB.model_copy(update={"loops": 2})
ENDED = "The search was ended early, as you asked: the answer uses what had been found by then."


class Hanging(ScriptedReasoner):
    """Never comes back from a stage."""

    def __init__(self, stage: str) -> None:
        super().__init__(("a",), lambda round_: ("b",))
        self.stage = stage
        self.reached = False

    async def _hang(self, stage: str) -> None:
        if stage == self.stage:
            self.reached = True
            await asyncio.Event().wait()

    async def plan(self, inputs: ReasonerInput) -> Plan | Draft:
        await self._hang("plan")
        return await super().plan(inputs)

    async def reflect(self, inputs: ReasonerInput, round_: int) -> Reflection:
        await self._hang("reflect")
        return await super().reflect(inputs, round_)


def told(runs: LocalRunManager, run_id: str) -> tuple[int, list[str], list[str]]:
    """How many quotes the answer has, what it says about the run, and what was left out."""
    answer = report(runs, run_id).answer
    assert answer is not None
    spans: Sequence[Span] = answer.spans
    notices = [span.text for span in spans if span.kind == "notice"]
    return answer.quote_count, notices, [f.query for f in answer.failures if f.reason == "left out"]


def test_a_run_that_is_to_write_cuts_off_its_searches_and_keeps_what_is_finished(
    shared: Bench,
) -> None:
    source = ScriptedSource(outcomes={"c": HANGS})
    reasoner = ScriptedReasoner(follow_ups=lambda round_: ("d",))
    runs = shared.open(reasoner, source)
    run = runs.start(QUESTION, options=TWO_ROUNDS)
    until(lambda: len(source.done) == 2 and len(source.calls) == 3)
    runs.stop(run.id, write_only=True)
    assert over(runs, run.id) == "done"
    assert [task.query for task in source.left] == ["c"]
    assert told(runs, run.id) == (2, [ENDED], ["c"])
    assert source.queries == ["a", "b", "c"]
    assert (reasoner.reflected, len(reasoner.written)) == ([], 1)


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "quotes"), [("plan", 0), ("reflect", 1)])
def test_a_thought_is_cut_off_too(stage: str, quotes: int, shared: Bench) -> None:
    reasoner, source = Hanging(stage), ScriptedSource()
    runs = shared.open(reasoner, source)
    run = runs.start(QUESTION, options=TWO_ROUNDS)
    until(lambda: reasoner.reached)
    runs.stop(run.id, write_only=True)
    assert over(runs, run.id) == "done"
    assert told(runs, run.id) == (quotes, [ENDED], [])
    assert len(source.calls) == quotes


def test_a_run_that_is_to_write_before_its_first_step_searches_nothing(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = shared.open(source=source)
    for _ in range(10):
        run = runs.start(QUESTION, options=WEB)
        runs.stop(run.id, write_only=True)
        assert over(runs, run.id) == "done"


def test_a_run_that_is_to_write_can_still_be_stopped(shared: Bench) -> None:
    class Writing(ScriptedReasoner):
        async def write(self, *arguments: object) -> Draft:  # type: ignore[override]
            return await asyncio.Event().wait()  # type: ignore[return-value]

    runs = shared.open(Writing(), source=(source := ScriptedSource(usual=HANGS)))
    run = runs.start(QUESTION, options=WEB)
    until(lambda: source.calls)
    runs.stop(run.id, write_only=True)
    until(lambda: "writing_started" in [event.kind for event in runs.events(run.id)])
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"


@pytest.mark.slow
def test_it_is_asked_for_from_another_process(shared: Bench, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "stuck").write_text("b", encoding="utf-8")
    child = shared.child(str(log), "1")
    assert child.stdout is not None
    run_id = child.stdout.readline().strip()
    runs = shared.open()
    until(lambda: sum(done for _, done in searched(runs, run_id).values()) == 2)
    runs.stop(run_id, write_only=True)
    assert over(runs, run_id) == "done"
    assert told(runs, run_id) == (2, [ENDED], ["b"])
    assert child.poll() is None


@pytest.mark.parametrize("reopened", [False, True])
def test_a_stopped_run_can_still_write_with_what_it_has(reopened: bool, shared: Bench) -> None:
    source = ScriptedSource(outcomes={"c": HANGS})
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=TWO_ROUNDS)
    until(lambda: len(source.done) == 2 and len(source.calls) == 3)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    if reopened:
        runs.close()
        runs = shared.open(source=source)
    runs.resume(run.id, write_only=True)
    assert over(runs, run.id) == "done"
    assert source.queries == ["a", "b", "c"]
    assert told(runs, run.id) == (2, [ENDED], ["c"])
    assert get(runs, run.id).error == ""


def test_another_owner_cannot_end_the_searching(shared: Bench) -> None:
    runs = shared.open(source=(source := ScriptedSource(usual=HANGS)))
    run = runs.start(QUESTION, options=WEB)
    until(lambda: source.calls)
    runs.stop(run.id, write_only=True, owner="bob")
    runs.store.request_write("nothing")
    assert runs.store.run_requests() == []
    assert get(runs, run.id).status == "running"
    runs.stop(run.id)
