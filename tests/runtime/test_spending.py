"""What was paid for: priced and stored when it is told of, whatever becomes of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from research.agent.reasoner import ReasonerInput
from research.core.events import EventEmitter, PlanMade, TextWritten, UsageRecorded, dump_event
from research.core.records import Draft, Finding, Plan, Reflection, RunOptions, Task, Usage
from research.models.prices import with_cost
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, ScriptedSource, Staged, until
from tests.runtime.conftest import QUESTION, WEB, Bench, over, report

LITE = "gemini:gemini-3.5-flash-lite"
THOUGHT = Usage(stage="plan", model=LITE, input=2_000, output=400)
JUDGED = Usage(stage="reflect", model=LITE, input=1_000, output=20)
WRITTEN = Usage(stage="write", model="openai:nobody-knows-it", input=9_000, cached=50, output=700)
SEARCHED = Usage(stage="search", model="tavily", searches=1)
TWO_ROUNDS = WEB.model_copy(update={"loops": 2})


def tell(say: EventEmitter, usage: Usage) -> None:
    say(UsageRecorded(**usage.model_dump()))


def with_prices(*usages: Usage) -> list[Usage]:
    return [with_cost(usage, datetime.now(UTC).date()) for usage in usages]


def used(runs: LocalRunManager, run_id: str) -> list[Usage]:
    """The usage of a run, whatever search each was for."""
    return [usage.model_copy(update={"task": ""}) for usage in report(runs, run_id).usage]


class PaidSource(ScriptedSource):
    """Tells of a paid search each time, before it may hang."""

    async def search(self, task: Task, say: EventEmitter) -> Finding:
        tell(say, SEARCHED)
        return await super().search(task, say)


class PaidReasoner(Staged):
    """Tells of a paid call at each stage; with `hangs` it never ends its answer."""

    def __init__(self, queries: Sequence[str] = ("a",), *, hangs: bool = False) -> None:
        super().__init__(queries, lambda round_: [f"after {round_}"])
        self.hangs = hangs

    async def work(self, stage: str, round_: int, emit: EventEmitter) -> None:
        if stage != "write":
            tell(emit, THOUGHT if stage == "plan" else JUDGED)

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        """As with a stream, what was used is known at its end, however it comes."""
        try:
            if self.hangs:
                inputs.emit(TextWritten(text="The tower"))
                await asyncio.Event().wait()
        finally:
            tell(inputs.emit, WRITTEN)
        return await super().write(inputs, reflections)


def test_what_each_stage_and_each_search_used_is_priced_and_in_the_report(bench: Bench) -> None:
    runs = bench.open(PaidReasoner(), PaidSource())
    run = runs.start(QUESTION, options=TWO_ROUNDS)
    assert over(runs, run.id) == "done"
    expected = with_prices(THOUGHT, SEARCHED, JUDGED, SEARCHED, WRITTEN)
    spent = report(runs, run.id).usage
    assert used(runs, run.id) == expected
    assert [usage.task for usage in spent] == ["", "1.1", "", "2.1", ""]
    assert spent[0].cost == pytest.approx((2_000 * 0.3 + 400 * 2.5) / 1_000_000)
    assert [usage.cost for usage in spent if usage.model != LITE] == [None] * 3
    told = [dump_event(event.data)[1] for event in runs.events(run.id) if event.kind == "usage"]
    assert [Usage.model_validate({**data, "task": ""}) for data in told] == expected


def test_calls_at_the_same_time_are_each_counted(bench: Bench) -> None:
    runs = bench.open(PaidReasoner([f"q{n}" for n in range(10)]), PaidSource())
    run = runs.start(QUESTION, options=RunOptions(queries=10, loops=1, sources=("web",)))
    assert over(runs, run.id) == "done"
    spent = report(runs, run.id).usage
    assert sum(usage.searches for usage in spent) == 10
    assert len(spent) == 12


def test_what_was_used_is_there_while_the_run_goes_on(bench: Bench) -> None:
    source = PaidSource(usual=HANGS)
    runs = bench.open(PaidReasoner(), source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: used(runs, run.id) == with_prices(THOUGHT, SEARCHED))
    runs.stop(run.id)


def test_what_a_stopped_run_used_stays_and_is_not_counted_again_when_it_goes_on(
    bench: Bench,
) -> None:
    source = PaidSource(outcomes={"b": HANGS})
    runs = bench.open(PaidReasoner(["a", "b"]), source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: [task.query for task in source.done] == ["a"] and len(source.calls) == 2)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    before = with_prices(THOUGHT, SEARCHED, SEARCHED)
    assert used(runs, run.id) == before
    runs.close()

    again = bench.open(PaidReasoner(["a", "b"]), PaidSource())
    assert used(again, run.id) == before
    again.resume(run.id)
    assert over(again, run.id) == "done"
    assert used(again, run.id) == [*before, *with_prices(SEARCHED, WRITTEN)]


@pytest.mark.parametrize("ending", ["stopped", "interrupted"])
def test_what_an_answer_used_until_it_was_cut_off_is_counted(ending: str, bench: Bench) -> None:
    runs = bench.open(PaidReasoner(hangs=True), PaidSource())
    run = runs.start(QUESTION, options=WEB)
    until(lambda: "text_written" in [event.kind for event in runs.events(run.id)])
    if ending == "stopped":
        runs.stop(run.id)
    else:
        runs.close()
        runs = bench.open(PaidReasoner(), PaidSource())
    assert over(runs, run.id) == ending
    expected = with_prices(THOUGHT, SEARCHED, WRITTEN)
    assert used(runs, run.id) == expected
    told = [dump_event(event.data)[1] for event in runs.events(run.id) if event.kind == "usage"]
    assert [Usage.model_validate({**data, "task": ""}) for data in told] == expected


class TwiceAtOnce(PaidReasoner):
    """Says two things in one moment, each of which is written at once."""

    async def work(self, stage: str, round_: int, say: EventEmitter) -> None:
        await super().work(stage, round_, say)
        if stage == "plan":
            for query in ("first", "second"):
                task = Task(id="1.1", source="web", query=query)
                say(PlanMade(plan=Plan(tasks=(task,))))


def test_what_is_written_in_one_moment_is_written_once(bench: Bench) -> None:
    runs = bench.open(TwiceAtOnce(), PaidSource())
    run = runs.start(QUESTION, options=WEB)
    assert over(runs, run.id) == "done"
    events = runs.events(run.id)
    plans = [event.data.plan.tasks[0].query for event in events if isinstance(event.data, PlanMade)]
    assert plans[:2] == ["first", "second"]
    times = [event.time for event in events]
    assert times == sorted(times)
    assert used(runs, run.id) == with_prices(THOUGHT, SEARCHED, WRITTEN)


def test_one_run_does_not_pay_for_another(bench: Bench) -> None:
    runs = bench.open(PaidReasoner(), PaidSource())
    first = runs.start(QUESTION, options=WEB)
    assert over(runs, first.id) == "done"
    second = runs.start(QUESTION, options=WEB, based_on=first.id)
    assert over(runs, second.id) == "done"
    assert used(runs, second.id) == with_prices(THOUGHT, WRITTEN)
