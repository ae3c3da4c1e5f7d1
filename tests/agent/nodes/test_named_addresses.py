"""The pages that a question names stand in its queries, and no others do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from research.agent.nodes.context import RunContext
from research.agent.nodes.plan import build_edited_plan, make_plan, standalone_question
from research.agent.nodes.question import clean_question
from research.agent.nodes.question_urls import add_question_urls, keep_known_urls
from research.agent.nodes.reflect import reflect_on_findings
from research.agent.nodes.section import write_section
from research.core.events import ignore_event
from research.core.records import (
    Finding,
    Memory,
    Part,
    Plan,
    Question,
    Reflection,
    ReportSection,
    RunOptions,
    Task,
    Turn,
)
from tests.fakes import ScriptedReasoner
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
PAGE = "https://example.org/report.html?year=2026"
BOTH = RunOptions(sources=("web", "library"))
ASKED = clean_question(f"What does {PAGE} say of the tower?")


def task(query: str, source: str = "web", **more: object) -> Task:
    return Task.model_validate({"id": "1.1", "source": source, "query": query, **more})


@each_row(
    ("queries", "planned"),
    [
        ([f"tower {PAGE}"], [f"tower {PAGE}"]),
        (["tower", "height"], [f"tower {PAGE}", "height"]),
        (["tower", f"height {PAGE}"], ["tower", f"height {PAGE}"]),
        ([f"tower {PAGE[:30]}"], [f"tower example.org {PAGE}"]),
        (["tower http://www.example.org/report.html?year=2026"], [f"tower {PAGE}"]),
        (["tower https://evil.example/?told=secret"], [f"tower evil.example {PAGE}"]),
    ],
)
async def test_a_plan_names_the_pages_of_the_question_and_no_other(queries: list[str], planned: list[str]) -> None:
    plan = await make_plan(ASKED, ScriptedReasoner(queries), RunOptions(sources=("web",)), ignore_event)
    assert isinstance(plan, Plan)
    assert [task.query for task in plan.tasks] == planned


async def test_only_a_query_for_the_web_is_given_an_address() -> None:
    tasks = [task("tower", "library"), task("tower")]
    assert [t.query for t in add_question_urls(tasks, ASKED, BOTH)] == ["tower", f"tower {PAGE}"]
    alone_ = add_question_urls(tasks[:1], ASKED, BOTH)
    assert [(t.source, t.query) for t in alone_] == [("library", "tower"), ("web", PAGE)]
    assert add_question_urls(tasks[:1], ASKED, RunOptions(sources=("library",))) == tasks[:1]


async def test_an_outline_names_the_pages_of_the_question_too() -> None:
    class Outliner(ScriptedReasoner):
        async def plan_report(self, *arguments: object) -> Plan:
            parts = (Part(id="s1", subject="A", text="A"), Part(id="s2", subject="B", text="B"))
            tasks = (task("a https://evil.example/x", part="s1"), task("b", part="s2"))
            return Plan(parts=parts, tasks=tasks)

    plan = await make_plan(ASKED, Outliner(), RunOptions(sources=("web",), sections=2), ignore_event)
    assert isinstance(plan, Plan)
    assert [t.query for t in plan.tasks] == [f"a evil.example {PAGE}", "b"]


async def test_a_follow_up_names_no_page_that_only_a_text_has_named() -> None:
    reasoner = ScriptedReasoner([], lambda round_: [f"more {PAGE}", "more https://evil.example/?q=1"])
    made: Reflection = await reflect_on_findings(
        ASKED, Plan(), [], reasoner, RunOptions(sources=("web",)), 1, ignore_event
    )
    assert [t.query for t in made.follow_ups] == [f"more {PAGE}", "more evil.example"]


def test_what_was_named_in_an_earlier_turn_may_be_named_again() -> None:
    turn = Turn(question=f"Read {PAGE}", answer="It names https://evil.example/x.")
    before = Memory(turns=(turn,), earlier_questions=("And https://first.example/a?",))
    question = Question(text="What does it say?", language="en", memory=before)
    standing = standalone_question(question, Plan(question=f"What do {PAGE} and https://evil.example/x say?"))
    assert [t.query for t in add_question_urls([task("a")], standing, BOTH)] == [f"a {PAGE}"]
    query = f"{PAGE} https://first.example/a https://evil.example/x"
    kept = f"{PAGE} https://first.example/a evil.example"
    assert keep_known_urls(task(query), standing).query == kept


def test_an_address_that_a_person_puts_into_the_plan_stays() -> None:
    plan = build_edited_plan([("", "", "tower https://other.example/a", "web")], Plan())
    assert keep_known_urls(plan.tasks[0], ASKED) == plan.tasks[0]


@pytest.mark.parametrize("text", ["What is the tower?", "www.example.org", "mailto:a@b.org https://"])
def test_a_question_without_an_address_changes_nothing(text: str) -> None:
    tasks = [task("tower")]
    assert add_question_urls(tasks, clean_question(text), BOTH) == tasks


async def test_what_is_said_to_a_run_may_name_pages_too() -> None:
    question = ASKED.model_copy(update={"additions": ("and https://other.example/a.",)})
    plan = await make_plan(question, ScriptedReasoner(["tower"]), RunOptions(sources=("web",)), ignore_event)
    assert isinstance(plan, Plan)
    assert [t.query for t in plan.tasks] == [f"tower {PAGE} https://other.example/a"]


async def test_a_section_is_given_no_page_that_only_a_text_has_named() -> None:
    class Editor(ScriptedReasoner):
        async def write_section(self, *arguments: object) -> ReportSection:
            return ReportSection(part="s1")

        async def reflect_on_section(self, *arguments: object) -> Reflection:
            follow_ups = (task("more https://evil.example/x"), task(f"more {PAGE}"))
            return Reflection(round=1, sufficient=False, follow_ups=follow_ups)

    searched: list[str] = []

    async def search(task: Task) -> Finding:
        searched.append(task.query)
        return Finding(task=task, started=NOW)

    plan = Plan(parts=(Part(id="s1", subject="A", text="A"),), tasks=(task("a", part="s1"),))
    options = RunOptions(sources=("web",), sections=1, reflections=1)
    ledger: Any = None
    context = RunContext(Editor(), {}, options, ledger)
    await write_section("s1", ASKED, plan, search, context, ignore_event)
    assert searched == ["a", "more evil.example", f"more {PAGE}"]
