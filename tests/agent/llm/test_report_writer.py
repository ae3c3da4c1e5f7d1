"""Reports by chat models: outlines, sections whose citations last, and what is said where they fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr

from research.agent.llm.reasoner import ModelReasoner
from research.agent.reasoner import ReasonerInput
from research.core.events import ignore_event
from research.core.records import (
    Evidence,
    Finding,
    Part,
    Passage,
    Plan,
    Question,
    ReportSection,
    RunOptions,
    Span,
    Task,
    fingerprint,
)
from research.core.settings import Settings
from research.models.clients import ModelClients
from tests.servers.gemini import FakeGemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
TOPIC = Question(text="The reopening of the tower", language="en")
NEWS = RunOptions(sections=5, reflections=2, sources=("news", "web"))
PLAN = Plan(outline=True, parts=(Part(id="s1", subject="Opening", text="When it opens"),))


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest_asyncio.fixture(loop_scope="module")
async def llm(gemini: FakeGemini, tmp_path: Path) -> AsyncIterator[ModelReasoner]:
    settings = Settings(data_dir=tmp_path, gemini_key=SecretStr("k"), gemini_url=gemini.base_url, model_timeout=2)
    clients = ModelClients(settings)
    yield ModelReasoner(clients, lambda: NOW)
    await clients.close()


def found(*texts: str, query: str = "tower") -> Finding:
    items = tuple(
        Evidence(
            id=f"web-{fingerprint(text)}", kind="web", title=text[:20], url=f"https://a.example/{n}",
            retrieved=NOW, passages=(Passage(id=fingerprint(text), text=text, end=len(text)),),
        )
        for n, text in enumerate(texts)
    )  # fmt: skip
    return Finding(task=Task(id="1.s1.1", source="web", query=query), evidence=items, started=NOW)


async def test_an_outline_has_sections_with_a_search_each(llm: ModelReasoner, gemini: FakeGemini) -> None:
    gemini.brain.chapters = ["Opening", " What\n changed ", ""]
    plan = await llm.plan_report(ReasonerInput(TOPIC, NEWS, ignore_event))
    assert [(part.id, part.subject) for part in plan.parts] == [
        ("s1", "Opening"), ("s2", "What changed"),
    ]  # fmt: skip
    assert [(task.part, task.source) for task in plan.tasks] == [("s1", "news"), ("s2", "news")]
    assert plan.outline and not plan.failures


@pytest.mark.parametrize(
    ("fields", "way"),
    [
        ({"search_tool": "deep_search_news"}, ("deep_search_news", None, None)),
        (
            {"search_tool": "search_news_by_date", "start_date": "2026-11-01", "end_date": "2026-11-20"},
            ("search_news_by_date", date(2026, 11, 1), date(2026, 11, 20)),
        ),
        ({"search_tool": "search_news_by_date", "start_date": "soon"}, ("search_news_by_date", None, None)),
    ],
)  # fmt: skip
async def test_the_tool_and_the_dates_that_a_model_chooses_reach_the_task(
    fields: dict[str, str], way: tuple[object, ...], llm: ModelReasoner, gemini: FakeGemini
) -> None:
    gemini.brain.tools = [fields]
    plan = await llm.plan_report(ReasonerInput(TOPIC, NEWS, ignore_event))
    assert [(t.tool, t.start, t.end) for t in plan.tasks] == [way] * 3
    reflection = await llm.reflect_on_section(
        ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [found("a b")]), ReportSection(part="s1"), 1
    )
    assert [(t.tool, t.start, t.end) for t in reflection.follow_ups] == [way]
    assert [(t.part, t.round) for t in reflection.follow_ups] == [("s1", 2)]


async def test_without_a_model_the_outline_is_empty_and_says_why(llm: ModelReasoner, gemini: FakeGemini) -> None:
    gemini.fail("outline", "400key")
    plan = await llm.plan_report(ReasonerInput(TOPIC, NEWS, ignore_event))
    assert (plan.parts, plan.outline) == ((), True)
    assert [failure.reason for failure in plan.failures] == ["refused"]


async def test_a_section_cites_what_was_found_for_it(llm: ModelReasoner) -> None:
    finding = found("The tower opens on Monday.", "It was closed for three years.")
    section = await llm.write_section(
        ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), ReportSection(part="s1")
    )
    cited = {cite.evidence for span in section.spans for cite in span.references}
    assert cited == {item.id for item in finding.evidence}
    assert section.author.startswith("gemini:")


async def test_the_text_of_before_is_shown_with_its_citations(llm: ModelReasoner, gemini: FakeGemini) -> None:
    finding = found("The tower opens on Monday.")
    first = await llm.write_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), ReportSection(part="s1"))
    later = found("Tickets cost 5 yuan.", query="tickets")
    await llm.write_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding, later]), first)
    prompt = [call.prompt for call in gemini.log if call.stage == "summarise"][-1]
    text = prompt.split("Text of before:")[1].split("Queries that were run:")[0]
    handle = text.split("[@")[1].split("]")[0]
    material = prompt.split("Material:")[1]
    assert f"[@{handle}]" in material


async def test_a_section_keeps_its_text_when_it_cannot_be_put_right(llm: ModelReasoner, gemini: FakeGemini) -> None:
    finding = found("The tower opens on Monday.")
    first = await llm.write_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), ReportSection(part="s1"))
    gemini.fail("summarise", "400key")
    second = await llm.write_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), first)
    assert second.spans == first.spans
    assert [failure.reason for failure in second.failures] == ["refused"]
    none = await llm.write_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), ReportSection(part="s1"))
    assert [span.kind for span in none.spans if span.references] == ["quote"]


async def test_what_stands_before_the_sections_cites_what_they_cite(llm: ModelReasoner) -> None:
    finding = found("The tower opens on Monday.")
    section = await llm.write_section(
        ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), ReportSection(part="s1")
    )
    head = await llm.write_preface(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), [section])
    assert {c.evidence for s in head.spans for c in s.references} <= {finding.evidence[0].id}
    assert any(span.references for span in head.spans)


async def test_nothing_stands_before_sections_that_found_nothing(llm: ModelReasoner, gemini: FakeGemini) -> None:
    head = await llm.write_preface(
        ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [found()]), [ReportSection(part="s1")]
    )
    assert (head.spans, gemini.calls()) == ((), 0)


LONG = [f"Fact {n} of the tower. " + "It is told at length. " * 90 for n in range(30)]


async def test_a_section_of_a_part_of_the_material_says_what_was_left_out(
    llm: ModelReasoner, gemini: FakeGemini
) -> None:
    gemini.context, gemini.wording = 8_192, "gemini"
    finding = found(*LONG)
    section = await llm.write_section(
        ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), ReportSection(part="s1")
    )
    (notice,) = [span.text for span in section.spans if span.kind == "notice"]
    assert "of 30 sources were left out, the least relevant first" in notice
    assert any(span.references for span in section.spans)
    assert section.failures == ()
    later = found("Tickets cost 5 yuan.", query="tickets")
    await llm.write_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding, later]), section)
    assert "least relevant" not in gemini.log[-1].prompt  # which is ours, not the section's
    assert [call.fault for call in gemini.log] == ["too long", "", ""]


async def test_what_stands_before_long_sections_is_written_of_their_beginnings(
    llm: ModelReasoner, gemini: FakeGemini
) -> None:
    finding = found("The tower opens on Monday.", "It was closed for three years.")
    made = await llm.write_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), ReportSection(part="s1"))
    filler = tuple(Span(kind="text", text="It is told at length. " * 20) for _ in range(60))
    long = made.model_copy(update={"spans": (*made.spans, *filler)})
    gemini.log.clear()
    gemini.context, gemini.wording = 8_192, "zhipu"
    head = await llm.write_preface(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), [long, long])
    assert any(span.references for span in head.spans)
    assert gemini.log[-1].prompt.count("[…]") == 2
    judged = await llm.reflect_on_section(ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [finding]), long, 1)
    assert judged.failures == ()
    assert [call.fault for call in gemini.log].count("too long") == 1


async def test_headlines_are_judged_as_many_at_once_as_have_room(
    llm: ModelReasoner, gemini: FakeGemini, tmp_path: Path
) -> None:
    headlines = [f"{n} 塔重新开放的消息。" * 12 for n in range(60)]
    await llm.judge_tones(ReasonerInput(TOPIC, NEWS, ignore_event), headlines)
    assert gemini.calls("tones") == 1
    gemini.log.clear()
    gemini.context = 8_192
    short = Settings(
        data_dir=tmp_path, gemini_key=SecretStr("k"), gemini_url=gemini.base_url,
        context_length="8192",
    )  # fmt: skip
    clients = ModelClients(short)
    tones = await ModelReasoner(clients, lambda: NOW).judge_tones(ReasonerInput(TOPIC, NEWS, ignore_event), headlines)
    await clients.close()
    assert len(tones.tones) == 60 and None not in tones.tones and not tones.failures
    assert 1 < gemini.calls("tones") < 10


async def test_a_section_whose_searches_failed_is_not_judged(llm: ModelReasoner, gemini: FakeGemini) -> None:
    failed = found().model_copy(update={"reason": "quota"})
    reflection = await llm.reflect_on_section(
        ReasonerInput(TOPIC, NEWS, ignore_event, PLAN, [failed]), ReportSection(part="s1"), 1
    )
    assert (reflection.follow_ups, gemini.calls()) == ((), 0)
