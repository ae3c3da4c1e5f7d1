"""The order of the stages: rounds, limits, branches that fail, and what a checkpoint gives back."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph.state import CompiledStateGraph

from research.agent.graph import build_graph
from research.core.errors import ServiceError
from research.core.events import Event, PlanMade
from research.core.records import Finding, Plan, RunOptions, Task
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, Outcome, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report, searched


def ask(runs: LocalRunManager, loops: int = 1, queries: int = 3, **more: object) -> str:
    options = RunOptions.model_validate({"loops": loops, "queries": queries, "sources": ("web",), **more})
    run = runs.start(QUESTION, options=options)
    assert over(runs, run.id) == "done"
    return run.id


def of(runs: LocalRunManager, run_id: str, kind: str) -> list[Event]:
    return [event for event in runs.events(run_id) if event.kind == kind]


# Wiring


def test_there_is_one_node_a_source_with_the_names_the_field_knows() -> None:
    graph = build_graph({name: f"{name}_research" for name in ("web", "library")}).compile()
    assert isinstance(graph, CompiledStateGraph)
    assert set(graph.get_graph().nodes) - {"__start__", "__end__"} == {
        "generate_query", "approval", "clarification", "web_research", "library_research", "section", "row", "reflection",
        "finalize_answer", "check_answer",
    }  # fmt: skip


def test_each_source_that_was_chosen_is_asked_and_no_other(bench: Bench) -> None:
    sources = [ScriptedSource(name) for name in ("web", "library", "news")]
    runs = bench.open(ScriptedReasoner(["a", "b"]), sources)
    ask(runs, sources=("web", "news"))
    assert [source.queries for source in sources] == [["a", "b"], [], ["a", "b"]]


def test_the_searches_of_a_round_go_on_at_the_same_time(bench: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = bench.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: len(source.calls) == 3)
    runs.stop(run.id)


def test_a_question_that_needs_no_search_is_answered_at_once(bench: Bench) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner(direct="Hello.")
    runs = bench.open(reasoner, source)
    answer = report(runs, ask(runs)).answer
    assert answer is not None
    assert [span.text for span in answer.spans] == ["Hello."]
    assert (source.calls, reasoner.planned, reasoner.written) == ([], [], [])


def test_with_a_plan_of_the_analyst_nothing_is_planned_nor_answered_without_it(
    bench: Bench,
) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner(direct="Hello.")
    runs = bench.open(reasoner, source)
    plan = Plan(tasks=(Task(id="1.1", source="web", query="mine"),), edited=True)
    run = runs.start(QUESTION, options=WEB, plan=plan)
    assert over(runs, run.id) == "done"
    assert (source.queries, reasoner.planned) == (["mine"], [])


# Rounds and limits


@pytest.mark.parametrize("loops", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("new", [1, 2])
def test_every_round_searches_only_its_own_new_queries(loops: int, new: int, bench: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: [f"r{round_}-{n}" for n in range(new)])
    runs = bench.open(reasoner, source)
    run_id = ask(runs, loops)
    assert len(source.calls) == 2 + (loops - 1) * new
    assert len(set(source.queries)) == len(source.queries)
    assert {task.round for task in source.calls} == set(range(1, loops + 1))
    assert [len(findings) for _, findings in reasoner.reflected] == [2 + n * new for n in range(loops - 1)]
    assert len(of(runs, run_id, "reflection_made")) == loops - 1
    assert len(of(runs, run_id, "reflection_skipped")) == 1
    assert len(report(runs, run_id).reflections) == loops - 1


@pytest.mark.parametrize("loops", [0, 1, 2, 3, 5, 10])
def test_exactly_as_many_rounds_are_searched_as_the_limit_says(loops: int, bench: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["a"], lambda round_: [f"r{round_}"])
    runs = bench.open(reasoner, source)
    run_id = ask(runs, loops)
    assert source.queries == ["a", *(f"r{round_}" for round_ in range(1, loops))][:loops]
    assert [task.round for task in source.calls] == list(range(1, loops + 1))
    assert [round_ for round_, _ in reasoner.reflected] == list(range(1, loops))
    assert [len(findings) for _, findings in reasoner.written] == [loops]
    kinds = [event.kind for event in runs.events(run_id)]
    assert sum(kind in ("reflection_made", "reflection_skipped") for kind in kinds) == loops


@pytest.mark.slow
@pytest.mark.parametrize("queries", range(1, 11))
def test_each_round_searches_as_many_queries_as_the_limit_says(queries: int, bench: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner([f"q{n}" for n in range(12)], lambda round_: [f"r{round_}-{n}" for n in range(12)])
    ask(bench.open(reasoner, source), 3, queries)
    assert Counter(task.round for task in source.calls) == dict.fromkeys((1, 2, 3), queries)
    assert len(set(source.queries)) == 3 * queries


def test_the_limits_hold_for_each_source_of_a_round(bench: Bench) -> None:
    sources = [ScriptedSource(name) for name in ("web", "news")]
    runs = bench.open(ScriptedReasoner([f"q{n}" for n in range(12)]), sources)
    ask(runs, queries=4, sources=("web", "news"))
    assert [len(source.calls) for source in sources] == [4, 4]


def test_without_a_round_of_search_the_answer_is_written_of_nothing(bench: Bench) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner(follow_ups=lambda round_: ["more"])
    runs = bench.open(reasoner, source)
    run_id = ask(runs, 0)
    found = report(runs, run_id)
    assert (source.calls, searched(runs, run_id), found.findings) == ([], {}, ())
    assert found.answer is not None
    assert [span.kind for span in found.answer.spans] == ["missing"]
    assert found.reflections == ()
    told = {event.kind for event in runs.events(run_id)}
    assert not told & {"task_started", "task_finished", "reflection_made", "reflection_skipped"}


def test_a_plan_of_the_analyst_is_not_searched_either_without_a_round(bench: Bench) -> None:
    source = ScriptedSource()
    runs = bench.open(source=source)
    plan = Plan(tasks=(Task(id="1.1", source="web", query="mine"),), edited=True)
    run = runs.start(QUESTION, options=WEB.model_copy(update={"loops": 0}), plan=plan)
    assert over(runs, run.id) == "done"
    assert source.calls == []


def test_no_reflection_is_made_that_nothing_could_follow(bench: Bench) -> None:
    reasoner = ScriptedReasoner(follow_ups=lambda round_: ["more"])
    ask(bench.open(reasoner), 1)
    assert reasoner.reflected == []


def test_enough_is_enough_even_if_more_is_proposed(bench: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(follow_ups=lambda round_: ["more"], sufficient=True)
    ask(bench.open(reasoner, source), 5)
    assert source.queries == ["a", "b", "c"]


def test_a_gap_that_nothing_follows_goes_to_the_answer_and_stays_named(bench: Bench) -> None:
    reasoner = ScriptedReasoner()
    runs = bench.open(reasoner)
    found = report(runs, ask(runs, 5))
    assert found.answer is not None
    assert len(reasoner.written) == 1
    assert [(r.sufficient, r.gap) for r in found.reflections] == [(False, ("what is not known",))]


def test_a_plan_without_queries_searches_the_question_itself_and_says_so(bench: Bench) -> None:
    source = ScriptedSource()
    runs = bench.open(ScriptedReasoner([]), source)
    found = report(runs, ask(runs))
    assert source.queries == [QUESTION]
    assert found.plan is not None
    assert "the question itself is searched" in " ".join(found.plan.notes)
    assert found.answer is not None


def test_queries_beyond_the_number_asked_for_are_dropped_and_it_is_noted(bench: Bench) -> None:
    source = ScriptedSource()
    runs = bench.open(ScriptedReasoner([f"q{n}" for n in range(40)]), source)
    found = report(runs, ask(runs, queries=3))
    assert source.queries == ["q0", "q1", "q2"]
    assert found.plan is not None
    assert "37 queries beyond the limits were left out" in found.plan.notes


def test_follow_ups_beyond_the_number_asked_for_are_dropped(bench: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["a"], lambda round_: [f"{round_}-{n}" for n in range(9)])
    ask(bench.open(reasoner, source), 2, queries=2)
    assert source.queries == ["a", "1-0", "1-1"]


def test_a_query_that_ran_before_is_not_run_again_however_it_is_spelled(bench: Bench) -> None:
    source = ScriptedSource()
    asked = [
        ["Tower Height", "塔高", "TOWER  height!", "塔高？"],
        ["tower height", "ＴＯＷＥＲ height", "age"],
    ]
    rounds = {1: asked[1], 2: ["Age", "塔高"], 3: ["never reached"]}
    plan = Plan(tasks=tuple(Task(id=f"1.{n}", source="web", query=query) for n, query in enumerate(asked[0], 1)))

    class Spelling(ScriptedReasoner):
        async def plan(self, *arguments: object) -> Plan:  # type: ignore[override]
            return plan

    reasoner = Spelling(follow_ups=lambda round_: rounds[round_])
    ask(bench.open(reasoner, source), 5, queries=10)
    assert source.queries == ["Tower Height", "塔高", "age"]
    assert [round_ for round_, _ in reasoner.reflected] == [1, 2]


# Branches that fail


@pytest.mark.parametrize(
    ("outcome", "reason", "message"),
    [
        (Outcome(raises=RuntimeError("secret")), "internal", "RuntimeError"),
        (Outcome(raises=TimeoutError()), "timeout", ""),
        (HANGS, "timeout", "no answer within 0.6 s"),
        (Outcome(reason="quota", message="used up until noon"), "quota", "used up until noon"),
        (Outcome(reason="no key"), "no key", ""),
        (
            Outcome(raises=ServiceError("blocked", "not for robots", hint="location")),
            "blocked",
            "robots",
        ),
    ],
)
def test_one_failing_search_of_three_costs_only_itself_and_is_listed(
    outcome: Outcome, reason: str, message: str, bench: Bench
) -> None:
    source = ScriptedSource(outcomes={"b": outcome})
    runs = bench.open(source=source, search_timeout=0.6)
    run_id = ask(runs)
    answer = report(runs, run_id).answer
    assert answer is not None
    assert answer.quote_count == 2
    assert [(f.source, f.query, f.reason) for f in answer.failures] == [("web", "b", reason)]
    assert message in answer.failures[0].message
    assert "secret" not in answer.failures[0].message
    assert sorted((e.data.task.query, e.data.reason) for e in of(runs, run_id, "task_finished")) == [
        ("a", None), ("b", reason), ("c", None),
    ]  # fmt: skip


def test_a_search_that_found_nothing_has_not_failed(bench: Bench) -> None:
    source = ScriptedSource(outcomes={"b": Outcome(passages=())})
    runs = bench.open(source=source)
    answer = report(runs, ask(runs)).answer
    assert answer is not None
    assert (answer.failures, answer.quote_count) == ((), 2)


@pytest.mark.parametrize("loops", [1, 3])
@pytest.mark.parametrize("queries", [("a",), ("a", "b", "c")])
def test_an_answer_is_written_even_if_every_search_fails(queries: tuple[str, ...], loops: int, bench: Bench) -> None:
    source = ScriptedSource(usual=Outcome(raises=ConnectionError()))
    reasoner = ScriptedReasoner(queries, lambda round_: [f"r{round_}"])
    runs = bench.open(reasoner, source)
    answer = report(runs, ask(runs, loops)).answer
    assert answer is not None
    assert answer.quote_count == 0
    assert len(answer.failures) == len(queries) + loops - 1
    assert len(reasoner.written) == 1


def test_one_source_of_two_that_is_down_leaves_the_other(bench: Bench) -> None:
    up, down = ScriptedSource("web"), ScriptedSource("news", Outcome(reason="unreachable"))
    runs = bench.open(source=[up, down])
    answer = report(runs, ask(runs, sources=("web", "news"))).answer
    assert answer is not None
    assert answer.quote_count == 3
    assert {failure.source for failure in answer.failures} == {"news"}


# Checkpoints


def interrupted(bench: Bench) -> tuple[str, ScriptedReasoner, ScriptedSource]:
    """A run cut off in its second round."""
    source = ScriptedSource(outcomes={"d": HANGS, "b": Outcome(reason="quota", message="x")})
    reasoner = ScriptedReasoner(follow_ups=lambda round_: ["d"])
    runs = bench.open(reasoner, source)
    run = runs.start(QUESTION, options=WEB.model_copy(update={"loops": 2}))
    until(lambda: "d" in source.queries)
    runs.close()
    return run.id, reasoner, source


def test_records_come_out_of_a_checkpoint_equal_to_what_went_in(bench: Bench) -> None:
    run_id, before, old = interrupted(bench)
    source, reasoner = ScriptedSource(), ScriptedReasoner()
    runs = bench.open(reasoner, source)
    runs.resume(run_id)
    assert over(runs, run_id) == "done"
    (plan, findings), *_ = reasoner.written
    assert [type(finding) for finding in findings] == [Finding] * 4
    assert findings[:3] == before.reflected[0][1]
    assert plan == told_plan(runs, run_id)
    for finding in findings[:3]:
        assert isinstance(finding.evidence, tuple)
        assert finding.task.subject == ("Tower", "塔")
        hash(finding)
    assert source.calls[0] == next(task for task in old.calls if task.query == "d")
    assert [type(task.subject) for task in plan.tasks] == [tuple] * 3
    assert len(report(runs, run_id).reflections) == 1


def told_plan(runs: LocalRunManager, run_id: str) -> Plan:
    """The plan as the events told it when it was made."""
    data = of(runs, run_id, "plan_made")[0].data
    assert isinstance(data, PlanMade)
    return data.plan


BUILT: list[str] = []


@dataclass
class Stranger:
    """No record: something that a forged checkpoint would like to have built."""

    name: str

    def __post_init__(self) -> None:
        BUILT.append(self.name)


def test_a_checkpoint_with_an_unknown_type_builds_nothing_of_it(bench: Bench) -> None:
    run_id, _, _ = interrupted(bench)
    BUILT.clear()
    forger = JsonPlusSerializer(allowed_msgpack_modules=True)
    with closing(sqlite3.connect(bench.folder / "checkpoints.db")) as connection:
        rows = connection.execute("select checkpoint_id, type, checkpoint from checkpoints").fetchall()
        for number, kind, blob in rows:
            checkpoint = forger.loads_typed((kind, blob))
            checkpoint["channel_values"]["asked"] = Stranger("forged")
            kind, blob = forger.dumps_typed(checkpoint)
            connection.execute(
                "update checkpoints set type=?, checkpoint=? where checkpoint_id=?",
                (kind, blob, number),
            )
        connection.commit()
    forger.loads_typed((kind, blob))
    assert BUILT.count("forged") > len(rows)  # the forgery works where it is let in
    BUILT.clear()
    runs = bench.open()
    runs.resume(run_id)
    over(runs, run_id)
    assert BUILT == []


def test_the_checkpoints_of_a_finished_run_are_gone(bench: Bench) -> None:
    runs = bench.open()
    run_id = ask(runs)
    with closing(sqlite3.connect(bench.folder / "checkpoints.db")) as connection:

        def left() -> int:
            rows = "select (select count(*) from checkpoints) + (select count(*) from writes)"
            return int(connection.execute(rows).fetchone()[0])

        until(lambda: left() == 0)  # they are removed after the run is over
    assert get(runs, run_id).status == "done"
    assert searched(runs, run_id) == dict.fromkeys("abc", (1, 1))
