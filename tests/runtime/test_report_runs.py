"""A report: an outline whose sections are searched, written and deepened side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from research.agent.reasoner import ReasonerInput
from research.citations.numbering import number_report_answer
from research.core.events import dump_event
from research.core.records import Plan, Reflection, ReportSection, RunOptions
from tests.fakes import HANGS, Outcome, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import Bench, over, report

TOPIC = "The tower in the news"
REPORT = RunOptions(sections=5, reflections=2, sources=("web",))


def kinds(events: Sequence[object], kind: str) -> list[dict[str, object]]:
    return [dump_event(event.data)[1] for event in events if event.kind == kind]  # type: ignore[attr-defined]


def test_each_section_is_searched_written_and_deepened_by_itself(shared: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["a", "b", "c"], lambda round_: [f"more {round_}"])
    runs = shared.open(reasoner, source)
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    own = [f"s{n} more {k}" for n in (1, 2, 3) for k in (1, 2)]
    assert sorted(source.queries) == sorted(["a", "b", "c", *own])
    assert len(reasoner.reflected) == 6
    assert len(reasoner.written) == 9
    found = report(runs, run.id)
    assert found.plan and found.plan.outline
    assert found.answer and not found.answer.failures
    headings = [span.text.strip() for span in found.answer.spans if "## " in span.text]
    assert headings == ["## About a", "## About b", "## About c"]
    numbered = number_report_answer(found)
    assert numbered and len(numbered.sources) == 9
    steps = kinds(runs.events(run.id), "section_advanced")
    assert [s["step"] for s in steps if s["part"] == "s2"] == [
        "searching", "writing", "reflecting", "searching", "writing", "reflecting", "searching",
        "writing", "done",
    ]  # fmt: skip


def test_a_section_that_says_enough_is_deepened_no_further(shared: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: ["more"], sufficient=True)
    runs = shared.open(reasoner, source)
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    assert sorted(source.queries) == ["a", "b"]
    assert len(reasoner.reflected) == 2


def test_no_reflections_are_made_where_none_are_wanted(shared: Bench) -> None:
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: ["more"])
    runs = shared.open(reasoner)
    run = runs.start(TOPIC, options=REPORT.model_copy(update={"reflections": 0}))
    assert over(runs, run.id) == "done"
    assert reasoner.reflected == []


def test_an_outline_beyond_the_limit_is_cut_and_says_so(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(ScriptedReasoner(["a", "b", "c"]), source)
    run = runs.start(TOPIC, options=REPORT.model_copy(update={"sections": 2}))
    assert over(runs, run.id) == "done"
    plan = report(runs, run.id).plan
    assert plan and len(plan.parts) == 2 and plan.notes[0].startswith("1 section ")
    assert sorted(source.queries) == ["a", "b"]


def test_sections_that_want_the_same_search_share_it(shared: Bench) -> None:
    class Alike(ScriptedReasoner):
        async def plan_report(self, inputs: ReasonerInput) -> Plan:
            plan = await super().plan_report(inputs)
            same = [task.model_copy(update={"query": "same"}) for task in plan.tasks]
            return plan.model_copy(update={"tasks": (*same[:1],)})

        async def reflect_on_section(self, inputs: ReasonerInput, section: ReportSection, round_: int) -> Reflection:
            made = await super().reflect_on_section(inputs, section, round_)
            tasks = [task.model_copy(update={"query": "shared"}) for task in made.follow_ups]
            return made.model_copy(update={"follow_ups": tuple(tasks)})

    source = ScriptedSource(usual=Outcome(waits=0.1))
    runs = shared.open(Alike(["a", "b", "c"], lambda round_: ["more"]), source)
    run = runs.start(TOPIC, options=REPORT.model_copy(update={"reflections": 1}))
    assert over(runs, run.id) == "done"
    assert source.queries.count("shared") == 1


def test_a_search_that_fails_costs_its_section_only(shared: Bench) -> None:
    source = ScriptedSource(outcomes={"b": Outcome(reason="quota", message="used up")})
    runs = shared.open(ScriptedReasoner(["a", "b"]), source)
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    answer = report(runs, run.id).answer
    assert answer
    assert [failure.reason for failure in answer.failures] == ["quota"]
    assert answer.cited_span_count == 2  # once in the section that has something, once before it


def test_a_report_that_was_cut_off_repeats_no_step(shared: Bench) -> None:
    source = ScriptedSource(outcomes={"s2 more 1": HANGS})
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: [f"more {round_}"])
    runs = shared.open(reasoner, source)
    run = runs.start(TOPIC, options=REPORT)
    until(lambda: "s2 more 1" in source.queries and len(reasoner.written) == 4)
    runs.close()
    again, second = ScriptedSource(), ScriptedReasoner(["a", "b"], lambda r: [f"more {r}"])
    later = shared.open(second, again)
    assert later.resume(run.id)
    assert over(later, run.id) == "done"
    assert sorted(again.queries) == ["s2 more 1", "s2 more 2"]
    assert (len(second.planned), len(second.written), len(second.reflected)) == (0, 2, 1)
    assert len(report(later, run.id).findings) == 6


def test_stop_and_write_ends_with_the_sections_as_they_are(shared: Bench) -> None:
    source = ScriptedSource(outcomes={"s2 more 1": HANGS})
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: [f"more {round_}"])
    runs = shared.open(reasoner, source)
    run = runs.start(TOPIC, options=REPORT)
    until(lambda: "s2 more 1" in source.queries)
    runs.stop(run.id, write_only=True)
    assert over(runs, run.id) == "done"
    answer = report(runs, run.id).answer
    assert answer and {span.part for span in answer.spans if span.references} >= {"s1", "s2"}


@pytest.mark.slow
def test_sections_do_not_wait_for_each_other(shared: Bench) -> None:
    order: list[str] = []

    class Slow(ScriptedReasoner):
        async def write_section(self, inputs: ReasonerInput, section: ReportSection) -> ReportSection:
            if section.part == "s1":
                await asyncio.sleep(0.3)
            order.append(section.part)
            return await super().write_section(inputs, section)

    runs = shared.open(Slow(["a", "b"], lambda round_: [f"more {round_}"]))
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    assert order[:3] == ["s2", "s2", "s2"]


def test_one_more_round_deepens_each_section_and_repeats_nothing(shared: Bench) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: [f"more {round_}"])
    runs = shared.open(reasoner, source)
    run = runs.start(TOPIC, options=REPORT.model_copy(update={"reflections": 1}))
    assert over(runs, run.id) == "done"
    written, judged = len(reasoner.written), len(reasoner.reflected)
    further = runs.extend(run.id)
    assert further is not None and further.based_on == run.id
    assert over(runs, further.id) == "done"
    assert sorted(source.queries) == ["a", "b", "s1 more 1", "s1 more 2", "s2 more 1", "s2 more 2"]
    assert len(reasoner.written) == written + 2
    assert len(reasoner.reflected) == judged + 2
    found = report(runs, further.id)
    assert found.plan and found.plan.outline
    assert len(found.findings) == 6
