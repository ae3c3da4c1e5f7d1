"""Conversations: what a turn knows of those before it, and what it costs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import func, select

from research import report_json, report_markdown
from research.agent.nodes.turn_memory import MAX_ANSWER_CHARS, MAX_PASSAGE_CHARS, MAX_SOURCES
from research.application import Application
from research.citations.numbering import check_numbering, number_report_answer
from research.core.records import MEMORY_SOURCE, Report, RunOptions
from research.core.settings import Settings
from research.runtime.memory import conversation_memory
from research.storage.tables import answer, event, evidence, search
from tests.servers.gemini import FakeGemini
from tests.servers.search import FakeTavily

TICKET = "故宫博物院的门票多少钱？"


@pytest.fixture
def gemini() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


def address(place: Path | str) -> SecretStr:
    return SecretStr(place if isinstance(place, str) else "")


@pytest.fixture
def desk(tmp_path: Path, place: Path | str) -> Iterator[Application]:
    made = Application(Settings(data_dir=tmp_path / "data", store_url=address(place)))
    yield made
    made.close()


@pytest.fixture
def modelled(tmp_path: Path, gemini: FakeGemini, place: Path | str) -> Iterator[Application]:
    settings = Settings(
        data_dir=tmp_path / "data", gemini_key=SecretStr("k"), gemini_url=gemini.base_url,
        store_url=address(place),
    )  # fmt: skip
    made = Application(settings)
    yield made
    made.close()


def turn(desk: Application, question: str, follows: str = "", **options: object) -> Report:
    usual = {"sources": ("web",) if desk.services.models else ("library",)}
    limits = RunOptions.model_validate(usual | options)
    run = desk.runs.start(question, options=limits, follows=follows)
    for _ in desk.runs.follow(run.id):
        pass
    report = desk.runs.report(run.id)
    assert report is not None and report.run.status == "done", report
    return report


def quotes(report: Report) -> str:
    assert report.answer is not None
    return " ".join(span.text for span in report.answer.spans if span.kind == "quote")


# Without a model


@pytest.mark.slow
def test_a_follow_up_is_rewritten_and_answered(desk: Application) -> None:
    first = turn(desk, TICKET)
    second = turn(desk, "那周几闭馆呢？", first.run.id)
    assert second.plan is not None and second.plan.question == "故宫博物院周几闭馆"
    assert "周一" in quotes(second)
    assert second.answer is not None and second.answer.title == "那周几闭馆呢？"
    assert second.run.conversation == first.run.conversation


@pytest.mark.slow
def test_what_an_earlier_answer_cites_is_not_searched_again(desk: Application) -> None:
    first = turn(desk, TICKET)
    second = turn(desk, "它的门票多少钱？", first.run.id)
    assert second.plan is not None and second.plan.from_memory
    assert second.findings == () and desk.runs.store.searches(second.run.id) == []
    assert quotes(second) and set(quotes(second)) <= set(quotes(first))
    numbered = number_report_answer(second)
    assert numbered is not None and numbered.sources and check_numbering(numbered) == []


@pytest.mark.slow
def test_another_subject_takes_over_what_was_asked(desk: Application) -> None:
    first = turn(desk, TICKET)
    second = turn(desk, "那颐和园呢？", first.run.id)
    assert second.plan is not None and second.plan.question == "颐和园的门票多少钱？"


@pytest.mark.slow
def test_a_question_that_follows_nothing_knows_nothing(desk: Application) -> None:
    turn(desk, TICKET)
    second = turn(desk, "那周几闭馆呢？")
    assert second.plan is None or second.plan.question == ""


@pytest.mark.slow
def test_a_branch_knows_its_own_line_alone(desk: Application) -> None:
    first = turn(desk, TICKET)
    turn(desk, "那颐和园呢？", first.run.id)
    branch = turn(desk, "那周几闭馆呢？", first.run.id)
    assert branch.plan is not None and branch.plan.question == "故宫博物院周几闭馆"


@pytest.mark.slow
def test_a_turn_run_again_follows_what_it_followed(desk: Application) -> None:
    first = turn(desk, TICKET)
    second = turn(desk, "那周几闭馆呢？", first.run.id)
    again = desk.runs.start("那周几闭馆呢？", based_on=second.run.id)
    assert again.follows == first.run.id
    assert again.conversation == first.run.conversation


@pytest.mark.slow
def test_a_run_of_another_owner_is_not_followed(desk: Application) -> None:
    first = turn(desk, TICKET)
    run = desk.runs.start("那周几闭馆呢？", owner="mallory", follows=first.run.id)
    assert run.follows == "" and run.conversation != first.run.conversation
    plan = desk.runs.preview_plan("那周几闭馆呢？", follows=first.run.id, owner="mallory")
    assert plan.question == ""


@pytest.mark.slow
def test_the_plan_of_a_follow_up_is_that_of_its_run(desk: Application) -> None:
    first = turn(desk, TICKET)
    plan = desk.runs.preview_plan("那周几闭馆呢？", follows=first.run.id)
    assert plan.question == "故宫博物院周几闭馆"


# With one


def everything(prompt: str) -> str:
    """An answer that cites all that is in the material, the earlier sources too."""
    material = prompt.split("Material:")[-1]
    handles = dict.fromkeys(re.findall(r"\[@([0-9a-f]{4,8})\]", material))
    return " ".join(f"Fact {n} [@{handle}]." for n, handle in enumerate(handles, 1))


@pytest.mark.slow
def test_twenty_turns_cost_what_two_do_and_cite_what_they_say(
    modelled: Application, gemini: FakeGemini, capsys: pytest.CaptureFixture[str]
) -> None:
    gemini.brain.answer = everything
    last, calls, lengths, sizes = "", [], [], []
    report = None
    for n in range(1, 21):
        before = len(gemini.log)
        report = turn(modelled, f"What is known of tower {n}?", last, loops=1, queries=2)
        last = report.run.id
        asked = gemini.log[before:]
        calls.append(len(asked))
        lengths.append(max(len(call.prompt) for call in asked))
        sizes.append(size(modelled))
    with capsys.disabled():
        growth = [b - a for a, b in pairwise(sizes)]
        print(f"\nbytes a turn: {growth}; longest prompt a turn: {lengths}")
    assert set(calls[1:]) == {calls[1]}
    assert max(lengths[3:]) < 1.2 * lengths[2]
    early, late = sizes[10] - sizes[2], sizes[18] - sizes[10]
    assert late < 1.3 * early
    assert report is not None
    numbered = number_report_answer(report)
    assert numbered is not None and check_numbering(numbered) == []
    registry = {item.id: item for item in modelled.runs.store.evidence(report.run.conversation)}
    earlier = [s for s in numbered.sources if s.evidence.id not in found(report)]
    assert earlier, "nothing of the turns before is cited"
    for source in numbered.sources:
        known = registry[source.evidence.id]
        assert (known.url, known.title) == (source.evidence.url, source.evidence.title)
        assert set(source.evidence.passages) <= set(known.passages)


def found(report: Report) -> set[str]:
    return {item.id for finding in report.findings for item in finding.evidence}


def size(desk: Application) -> int:
    """Bytes that the store's rows take: files grow by pages, and the log beside them by bursts."""
    kept = (event.c.data, search.c.finding, evidence.c.record, answer.c.answer)
    read = desk.runs.store.database.read
    return sum(read(select(func.coalesce(func.sum(func.length(c)), 0)))[0][0] for c in kept)


@pytest.mark.slow
def test_the_model_says_that_the_earlier_answer_suffices(modelled: Application, gemini: FakeGemini) -> None:
    first = turn(modelled, "What is known of the tower?")
    gemini.brain.values["plan"] = {"route": "earlier", "question": "When was the tower built?"}
    gemini.brain.answer = everything
    before = len(gemini.log)
    second = turn(modelled, "And when was it built?", first.run.id)
    assert [call.stage for call in gemini.log[before:]] == ["plan", "write"]
    assert second.findings == ()
    assert second.plan is not None and second.plan.question == "When was the tower built?"
    numbered = number_report_answer(second)
    assert numbered is not None and numbered.sources and check_numbering(numbered) == []


@pytest.mark.slow
def test_a_question_without_a_conversation_has_no_such_route(modelled: Application, gemini: FakeGemini) -> None:
    gemini.brain.values["plan"] = {"route": "earlier"}
    report = turn(modelled, "What is known of the tower?")
    assert report.findings
    (plan,) = [call for call in gemini.log if call.stage == "plan"]
    assert "earlier" not in plan.prompt and "Conversation so far" not in plan.prompt


@pytest.mark.slow
def test_the_memory_is_bounded_and_fenced(modelled: Application, gemini: FakeGemini) -> None:
    gemini.brain.answer = lambda prompt: "x" * 50_000 + everything(prompt)
    first = turn(modelled, "What is known of the tower?")
    before = len(gemini.log)
    turn(modelled, "And of the bridge?", first.run.id)
    (plan,) = [call.prompt for call in gemini.log[before:] if call.stage == "plan"]
    conversation = re.search(r"<<<conversation (\w+)\n(.*?)\n\1 conversation>>>", plan, re.S)
    assert conversation and len(conversation[2]) < MAX_ANSWER_CHARS + 500


@pytest.mark.slow
def test_remembered_evidence_is_bounded(modelled: Application, gemini: FakeGemini) -> None:
    gemini.brain.answer = everything
    last = ""
    for n in range(4):
        last = turn(modelled, f"What is known of tower {n}?", last, queries=6, loops=2).run.id
    run = modelled.runs.get_run(last)
    assert run is not None
    memory = conversation_memory(modelled.runs.store, run.model_copy(update={"id": "", "follows": run.id}))
    assert 0 < len(memory.evidence) <= MAX_SOURCES
    assert sum(len(p.text) for item in memory.evidence for p in item.passages) <= MAX_PASSAGE_CHARS
    assert MEMORY_SOURCE not in {f.task.source for f in modelled.runs.store.report(run).findings}


# Keeping and forgetting


@pytest.mark.slow
def test_conversations_are_listed_labelled_and_forgotten(desk: Application) -> None:
    store = desk.runs.store
    first = turn(desk, TICKET)
    second = turn(desk, "那周几闭馆呢？", first.run.id)
    other = turn(desk, "颐和园的门票多少钱？")
    assert [(c.title, c.turns) for c in store.conversations("local")] == [
        ("颐和园的门票多少钱？", 1),
        (TICKET, 2),
    ]
    store.update_conversation(first.run.conversation, "local", title="故宫", pinned=True)
    (top, _) = store.conversations("local")
    assert (top.title, top.pinned, top.latest) == ("故宫", True, second.run.id)
    assert [run.id for run in store.turns(top.id, "local")] == [first.run.id, second.run.id]
    assert store.conversations("mallory") == [] and store.turns(top.id, "mallory") == []
    desk.runs.delete_conversation(top.id, owner="mallory")
    assert len(store.conversations("local")) == 2
    desk.runs.delete_conversation(top.id)
    assert [c.id for c in store.conversations("local")] == [other.run.conversation]
    assert store.evidence(top.id) == [] and desk.runs.get_run(first.run.id) is None
    assert store.evidence(other.run.conversation)


def test_a_conversation_under_way_is_stopped_before_it_is_forgotten(tmp_path: Path) -> None:
    desk = Application(Settings(data_dir=tmp_path / "data", search_delay=30.0))
    try:
        run = desk.runs.start(TICKET, options=RunOptions(sources=("library",)))
        desk.runs.delete_conversation(run.conversation)
        assert desk.runs.get_run(run.id) is None
        assert desk.runs.store.conversations("local") == []
    finally:
        desk.close()


# What another run has searched


@pytest.fixture
def tavily() -> Iterator[FakeTavily]:
    page = {"title": "West Lake", "url": "https://a.example/", "content": "West Lake is a lake."}
    with FakeTavily(results=[page]) as server:
        yield server


def cached_desk(folder: Path, tavily: FakeTavily, hours: float = 1.0) -> Application:
    return Application(
        Settings(
            data_dir=folder, tavily_key=SecretStr("tvly-sentinel"), tavily_url=tavily.base_url,
            cache_hours=hours,
        )
    )  # fmt: skip


@pytest.mark.parametrize(("hours", "calls"), [(1.0, 1), (0.0, 2)])
def test_a_search_of_another_run_is_used_again_for_a_while(
    tmp_path: Path, tavily: FakeTavily, hours: float, calls: int
) -> None:
    desk = cached_desk(tmp_path, tavily, hours)
    try:
        first = turn(desk, "What is known of West Lake?", sources=("web",), loops=1)
        second = turn(desk, "What is known of West Lake?", sources=("web",), loops=1)
    finally:
        desk.close()
    assert len(tavily.log) == calls
    (before,), (after,) = first.findings, second.findings
    assert after.cached == (hours > 0)
    if after.cached:
        assert (after.started, after.evidence) == (before.started, before.evidence)
        assert "from a search at" in report_markdown(second, number_report_answer(second))
        assert (
            json.loads(report_json(second, number_report_answer(second)))["rounds"][0]["findings"][0]["cached"] is True
        )


def test_nobody_is_given_what_another_has_searched(tmp_path: Path, tavily: FakeTavily) -> None:
    desk = cached_desk(tmp_path, tavily)
    limits = RunOptions(sources=("web",), loops=1)
    try:
        for owner in ("alice", "bob"):
            run = desk.runs.start("What is known of West Lake?", options=limits, owner=owner)
            for _ in desk.runs.follow(run.id, owner=owner):
                pass
    finally:
        desk.close()
    assert len(tavily.log) == 2


@pytest.mark.slow
def test_what_googles_search_grounds_is_not_kept_for_others(modelled: Application, gemini: FakeGemini) -> None:
    for _ in range(2):
        turn(modelled, "What is known of the tower?", loops=1, queries=1)
    assert [call.stage for call in gemini.log].count("search") == 2
