"""The limits of a run: searches, tokens, money, seconds; each is kept, and the answer says so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from research.agent.nodes.budget import RunBudget, RunEndedError, WorkScope, count_worked_seconds
from research.core.events import Event, EventEmitter, UsageRecorded, parse_event
from research.core.records import Answer, Finding, RunOptions, Task, Usage
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, Outcome, ScriptedSource, Staged, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report

LITE = "gemini:gemini-3.5-flash-lite"  # 0.3 and 2.5 dollars a million
HAN = "塔有多高？"


class Costly(Staged):
    """Each call of its uses 1,000 tokens in; follow-ups never end. `hangs` names a stage."""

    def __init__(self, queries: Sequence[str] = ("a", "b"), hangs: str = "") -> None:
        super().__init__(queries, lambda round_: [f"r{round_}-{n}" for n in range(3)])
        self.hangs = hangs

    async def work(self, stage: str, round_: int, emit: EventEmitter) -> None:
        usage = Usage.model_validate({"stage": stage, "model": LITE, "input": 1_000})
        emit(UsageRecorded(**usage.model_dump()))
        if stage == self.hangs:
            await asyncio.Event().wait()


def limited(loops: int = 5, **limits: Any) -> RunOptions:
    return WEB.model_copy(update={"loops": loops, **limits})


def answered(runs: LocalRunManager, options: RunOptions, question: str = QUESTION) -> Answer:
    run = runs.start(question, options=options)
    assert over(runs, run.id) == "done"
    answer = report(runs, run.id).answer
    assert answer is not None
    assert not answer.placeholder
    return answer


def notices(answer: Answer) -> list[str]:
    return [span.text for span in answer.spans if span.kind == "notice"]


# Searches


@pytest.mark.parametrize("searches", range(1, 10))
def test_no_more_is_searched_than_the_limit_allows(searches: int, bench: Bench) -> None:
    source = ScriptedSource()
    runs = bench.open(Costly(), source)
    answer = answered(runs, limited(searches=searches))
    assert len(source.calls) == searches
    assert len(runs.store.searches(runs.recent_runs()[0].id)) == searches
    assert answer.quote_count == searches
    limit = "1 search" if searches == 1 else f"{searches} searches"
    assert notices(answer) == [
        f"This run's limit is {limit}, so no further searches were made: the answer uses what had been found by then."
    ]


def test_what_was_planned_but_not_searched_is_listed(bench: Bench) -> None:
    runs = bench.open(Costly(["a", "b", "c"]))
    answer = answered(runs, limited(searches=2), HAN)
    assert [(f.query, f.reason, f.message) for f in answer.failures] == [("c", "left out", "2 searches")]
    assert notices(answer) == ["本次研究的上限是2 次搜索，因此没有再搜索：答案只用了已找到的内容。"]


def test_a_limit_that_changes_nothing_is_not_mentioned(bench: Bench) -> None:
    runs = bench.open(Costly())
    options = limited(1, searches=2, tokens=100_000, cost=5.0, seconds=600.0)
    assert notices(answered(runs, options)) == []


def test_what_is_known_from_an_earlier_run_is_no_search(bench: Bench) -> None:
    source = ScriptedSource()
    runs = bench.open(Costly(["a", "b", "c"]), source)
    first = runs.start(QUESTION, options=limited(1, searches=2))
    assert over(runs, first.id) == "done"
    second = runs.start(QUESTION, options=limited(1, searches=1), based_on=first.id)
    assert over(runs, second.id) == "done"
    assert sorted(source.queries) == ["a", "b", "c"]
    answer = report(runs, second.id).answer
    assert answer is not None
    assert (answer.quote_count, answer.failures, notices(answer)) == (3, (), [])


class Grounded(ScriptedSource):
    """Each search reports that its service has billed as many queries as `billed` says, one by default."""

    def __init__(self, **billed: int) -> None:
        super().__init__()
        self.billed = billed

    async def search(self, task: Task, say: EventEmitter) -> Finding:
        searches = self.billed.get(task.query, self.billed.get("all", 1))
        usage = Usage(stage="search", model="gemini:m", searches=searches, cost=0.0)
        say(UsageRecorded(**usage.model_dump()))
        return await super().search(task, say)


@pytest.mark.parametrize(
    ("limit", "billed", "searched", "counted"),
    [
        (4, {"all": 3}, ["a"], 3),  # a second one might pass the limit
        (6, {"all": 3}, ["a", "r1-0"], 6),
        # those under way are reckoned as dear as the first
        (7, {"all": 2}, ["a", "r1-0", "r1-1"], 6),
        (5, {"a": 2}, ["a", "r1-0", "r2-0"], 4),  # the dearest so far is expected of the next
        (6, {"a": 2, "r1-0": 1, "r1-1": 1}, ["a", "r1-0", "r1-1", "r2-0"], 5),
        (1, {"all": 1}, ["a"], 1),
    ],
)
def test_a_search_begins_only_if_the_limit_has_room_for_what_its_service_bills(
    limit: int, billed: dict[str, int], searched: list[str], counted: int, bench: Bench
) -> None:
    source = Grounded(**billed)
    runs = bench.open(Costly(["a"]), source)
    answer = answered(runs, limited(searches=limit))
    assert source.queries == searched
    used = report(runs, runs.recent_runs()[0].id).usage
    assert sum(usage.searches for usage in used) == counted <= limit
    assert not [text for text in notices(answer) if "billed" in text]


@pytest.mark.parametrize(("question", "word"), [(QUESTION, "but 8 were billed"), (HAN, "实际计费 8 次")])
def test_a_limit_that_the_first_replies_pass_ends_the_searching_and_the_answer_says_so(
    question: str, word: str, bench: Bench
) -> None:
    source = Grounded(all=4)
    answer = answered(bench.open(Costly(["a", "b"]), source), limited(searches=3), question)
    assert sorted(source.queries) == ["a", "b"]  # each reported four only when both had begun
    assert any(word in text for text in notices(answer))


# Tokens and money: 1,000 tokens cost 0.0003 dollars


@pytest.mark.parametrize(
    ("name", "limit", "rounds"),
    [
        ("tokens", 100_000, 5), ("tokens", 3_000, 2), ("tokens", 2_900, 1), ("tokens", 2_000, 1),
        ("cost", 1.0, 5), ("cost", 0.00091, 2), ("cost", 0.00089, 1), ("cost", 0.00061, 1),
    ],
)  # fmt: skip
def test_near_a_limit_nothing_more_is_searched_and_the_answer_is_written_within_it(
    name: str, limit: float, rounds: int, bench: Bench
) -> None:
    source, reasoner = ScriptedSource(), Costly()
    runs = bench.open(reasoner, source)
    answer = answered(runs, limited(**{name: limit}))
    used = report(runs, runs.recent_runs()[0].id).usage
    count = (lambda usage: usage.input) if name == "tokens" else (lambda usage: usage.cost or 0)
    assert sum(map(count, used)) <= limit
    assert {task.round for task in source.calls} == set(range(1, rounds + 1))
    assert len(reasoner.written) == 1
    assert answer.quote_count == len(source.calls)
    assert len(notices(answer)) == (rounds < 5)


@pytest.mark.parametrize("limit", [{"tokens": 900}, {"cost": 0.00029}])
def test_at_a_limit_nothing_is_written_and_the_run_is_done(limit: dict[str, float], bench: Bench) -> None:
    source, reasoner = ScriptedSource(), Costly()
    answer = answered(bench.open(reasoner, source), limited(**limit))
    assert source.calls == []
    assert reasoner.written == []
    assert (answer.quote_count, len(answer.failures)) == (0, 2)
    assert "left no room to write an answer" in notices(answer)[0]


def test_searches_under_way_are_cut_off_at_a_limit(bench: Bench) -> None:
    class Draining(ScriptedSource):
        async def search(self, task: Task, say: EventEmitter) -> Finding:
            if task.query == "b":
                usage = Usage(stage="search", model=LITE, input=5_000, searches=1)
                say(UsageRecorded(**usage.model_dump()))
            return await super().search(task, say)

    source = Draining(outcomes={"a": HANGS})
    runs = bench.open(Costly(), source)
    answer = answered(runs, limited(tokens=5_000))
    assert [task.query for task in source.left] == ["a"]
    assert (answer.quote_count, [f.query for f in answer.failures]) == (1, ["a"])
    assert "left no room to write an answer" in notices(answer)[0]


def test_an_answer_whose_own_usage_is_the_last_there_was_room_for_is_kept(bench: Bench) -> None:
    reasoner = Costly()
    answer = answered(bench.open(reasoner), limited(1, tokens=2_000))
    assert (len(reasoner.written), answer.quote_count, notices(answer)) == (1, 2, [])


def test_a_model_without_a_price_is_told_beside_a_limit_of_cost(bench: Bench) -> None:
    class Unpriced(Costly):
        async def work(self, stage: str, round_: int, say: EventEmitter) -> None:
            usage = Usage.model_validate({"stage": stage, "model": "openai:own", "input": 1_000})
            say(UsageRecorded(**usage.model_dump()))

    answer = answered(bench.open(Unpriced()), limited(1, cost=0.01))
    assert notices(answer) == ["The cost limit could not be enforced: the price of a model is not known."]


# Seconds


def test_a_search_that_hangs_is_cut_off_in_time_to_write(bench: Bench) -> None:
    source, reasoner = ScriptedSource(outcomes={"b": HANGS}), Costly()
    answer = answered(bench.open(reasoner, source), limited(seconds=2.0))
    assert source.queries == ["a", "b"]
    assert len(reasoner.written) == 1
    assert [(f.query, f.reason, f.message) for f in answer.failures] == [("b", "left out", "2 seconds")]
    assert "limit is 2 seconds" in notices(answer)[0]


@pytest.mark.parametrize("stage", ["plan", "reflect"])
def test_a_thought_that_hangs_is_cut_off_in_time_to_write(stage: str, bench: Bench) -> None:
    source, reasoner = ScriptedSource(), Costly(hangs=stage)
    answer = answered(bench.open(reasoner, source), limited(seconds=1.0))
    assert len(source.calls) == (0 if stage == "plan" else 2)
    assert len(reasoner.written) == 1
    assert "limit is 1 second," in notices(answer)[0]


def test_an_answer_that_hangs_is_cut_off_and_what_was_found_stands_in(bench: Bench) -> None:
    answer = answered(bench.open(Costly(hangs="write")), limited(1, seconds=1.0))
    assert answer.quote_count == 2
    assert "left no room to write" in notices(answer)[0]


def test_the_time_that_a_run_worked_has_no_pauses_in_it() -> None:
    start = datetime(2026, 1, 2, tzinfo=UTC)

    def event(at: float, kind: str, **data: Any) -> Event:
        return Event(run="r", seq=1, time=start + timedelta(seconds=at), data=parse_event(kind, data))

    told = [
        event(0, "status", status="running"), event(4, "found"), event(5, "status", status="stopped"),
        event(500, "status", status="running"), event(507, "found"),
        event(9_000, "status", status="interrupted"),
    ]  # fmt: skip
    assert count_worked_seconds(told) == 12
    assert count_worked_seconds([*told, event(9_100, "status", status="running"), event(9_101, "found")]) == 13
    assert count_worked_seconds([]) == 0


# Going on


def test_a_run_that_goes_on_keeps_its_account(bench: Bench) -> None:
    source = ScriptedSource(outcomes={"b": HANGS})
    runs = bench.open(Costly(["a", "b", "c"]), source)
    run = runs.start(QUESTION, options=limited(searches=4, tokens=9_000))
    until(lambda: len(source.done) == 2 and len(source.calls) == 3)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    runs.close()

    later, reasoner = ScriptedSource(), Costly(["a", "b", "c"])
    runs = bench.open(reasoner, later)
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    assert later.queries == ["b"]  # the fourth; the one that was cut off counts
    answer = report(runs, run.id).answer
    assert answer is not None
    assert "limit is 4 searches" in notices(answer)[0]
    assert reasoner.reflected == []


def test_a_run_that_has_used_its_limit_goes_on_to_an_answer(bench: Bench) -> None:
    runs = bench.open(Costly(hangs="reflect"))
    run = runs.start(QUESTION, options=limited(tokens=3_100))
    until(lambda: len(report(runs, run.id).usage) == 2)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    runs.close()
    reasoner = Costly()
    runs = bench.open(reasoner)
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    assert (reasoner.reflected, len(reasoner.written)) == ([], 1)
    assert get(runs, run.id).options.tokens == 3_100


# Gates


async def test_a_gate_that_is_cut_tells_why_and_leaves_other_endings_alone() -> None:
    gate = WorkScope()
    with pytest.raises(TimeoutError):
        async with gate.enter(), asyncio.timeout(0):
            await asyncio.Event().wait()
    with pytest.raises(LookupError):
        async with gate.enter():
            raise LookupError
    gate.cancel()
    asyncio.get_running_loop().call_later(0.01, lambda: (gate.close("tokens"), gate.cancel()))
    with pytest.raises(RunEndedError) as ended:
        async with gate.enter():
            await asyncio.Event().wait()
    gate.close("seconds")
    assert (ended.value.reason, gate.closed_reason) == ("tokens", "tokens")
    with pytest.raises(RunEndedError):
        async with gate.enter():
            raise AssertionError


async def test_a_stop_is_still_a_stop_inside_a_gate() -> None:
    gate = WorkScope()

    async def work() -> None:
        async with gate.enter():
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_account_of_a_run_counts_each_start_of_a_search() -> None:
    meter = RunBudget(RunOptions(searches=5), ["1.1", "1.1", "1.2"])
    assert (meter.search_count, meter.search_block_reason) == (3, "")
    meter.start_search(Task(id="1.3", source="web", query="c"))
    meter.start_search(Task(id="1.4", source="web", query="d"))
    with pytest.raises(RunEndedError, match="searches"):
        meter.start_search(Task(id="1.5", source="web", query="e"))
    assert meter.search_count == 5


def test_an_outcome_that_comes_late_is_within_the_limit(bench: Bench) -> None:
    source = ScriptedSource(usual=Outcome(waits=0.05))
    answered(bench.open(Costly([f"q{n}" for n in range(10)]), source), limited(2, queries=10, searches=7))  # fmt: skip
    assert len(source.calls) == 7
