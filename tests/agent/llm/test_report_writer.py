"""Reports by chat models: outlines, sections whose citations last, and what is said where they fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr

from research.agent.llm.reasoner import LLM
from research.core.records import (
    Evidence,
    Finding,
    Options,
    Part,
    Passage,
    Plan,
    Question,
    Section,
    Span,
    Task,
    fingerprint,
    silent,
)
from research.core.settings import Settings
from research.models.clients import Clients
from tests.servers.gemini import FakeGemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
TOPIC = Question(text="The reopening of the tower", language="en")
NEWS = Options(sections=5, reflections=2, sources=("news", "web"))
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
async def llm(gemini: FakeGemini, tmp_path: Path) -> AsyncIterator[LLM]:
    settings = Settings(
        data_dir=tmp_path, gemini_key=SecretStr("k"), gemini_url=gemini.base_url, model_timeout=2
    )
    clients = Clients(settings)
    yield LLM(clients, lambda: NOW)
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


async def test_an_outline_has_sections_with_a_search_each(llm: LLM, gemini: FakeGemini) -> None:
    gemini.brain.chapters = ["Opening", " What\n changed ", ""]
    plan = await llm.outline(TOPIC, NEWS, silent)
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
    fields: dict[str, str], way: tuple[object, ...], llm: LLM, gemini: FakeGemini
) -> None:
    gemini.brain.tools = [fields]
    plan = await llm.outline(TOPIC, NEWS, silent)
    assert [(t.tool, t.start, t.end) for t in plan.tasks] == [way] * 3
    reflection = await llm.reconsider(
        TOPIC, PLAN, Section(part="s1"), [found("a b")], NEWS, 1, silent
    )
    assert [(t.tool, t.start, t.end) for t in reflection.follow_ups] == [way]
    assert [(t.part, t.round) for t in reflection.follow_ups] == [("s1", 2)]


async def test_without_a_model_the_outline_is_empty_and_says_why(
    llm: LLM, gemini: FakeGemini
) -> None:
    gemini.fail("outline", "400key")
    plan = await llm.outline(TOPIC, NEWS, silent)
    assert (plan.parts, plan.outline) == ((), True)
    assert [failure.reason for failure in plan.failures] == ["refused"]


async def test_a_section_cites_what_was_found_for_it(llm: LLM) -> None:
    finding = found("The tower opens on Monday.", "It was closed for three years.")
    section = await llm.fill(TOPIC, PLAN, Section(part="s1"), [finding], NEWS, silent)
    cited = {cite.evidence for span in section.spans for cite in span.cites}
    assert cited == {item.id for item in finding.evidence}
    assert section.author.startswith("gemini:")


async def test_the_text_of_before_is_shown_with_its_citations(llm: LLM, gemini: FakeGemini) -> None:
    finding = found("The tower opens on Monday.")
    first = await llm.fill(TOPIC, PLAN, Section(part="s1"), [finding], NEWS, silent)
    later = found("Tickets cost 5 yuan.", query="tickets")
    await llm.fill(TOPIC, PLAN, first, [finding, later], NEWS, silent)
    prompt = [call.prompt for call in gemini.log if call.stage == "summarise"][-1]
    text = prompt.split("Text of before:")[1].split("Queries that were run:")[0]
    handle = text.split("[@")[1].split("]")[0]
    material = prompt.split("Material:")[1]
    assert f"[@{handle}]" in material


async def test_a_section_keeps_its_text_when_it_cannot_be_put_right(
    llm: LLM, gemini: FakeGemini
) -> None:
    finding = found("The tower opens on Monday.")
    first = await llm.fill(TOPIC, PLAN, Section(part="s1"), [finding], NEWS, silent)
    gemini.fail("summarise", "400key")
    second = await llm.fill(TOPIC, PLAN, first, [finding], NEWS, silent)
    assert second.spans == first.spans
    assert [failure.reason for failure in second.failures] == ["refused"]
    none = await llm.fill(TOPIC, PLAN, Section(part="s1"), [finding], NEWS, silent)
    assert [span.kind for span in none.spans if span.cites] == ["quote"]


async def test_what_stands_before_the_sections_cites_what_they_cite(llm: LLM) -> None:
    finding = found("The tower opens on Monday.")
    section = await llm.fill(TOPIC, PLAN, Section(part="s1"), [finding], NEWS, silent)
    head = await llm.preface(TOPIC, PLAN, [section], [finding], NEWS, silent)
    assert {c.evidence for s in head.spans for c in s.cites} <= {finding.evidence[0].id}
    assert any(span.cites for span in head.spans)


async def test_nothing_stands_before_sections_that_found_nothing(
    llm: LLM, gemini: FakeGemini
) -> None:
    head = await llm.preface(TOPIC, PLAN, [Section(part="s1")], [found()], NEWS, silent)
    assert (head.spans, gemini.calls()) == ((), 0)


LONG = [f"Fact {n} of the tower. " + "It is told at length. " * 90 for n in range(30)]


async def test_a_section_of_a_part_of_the_material_says_what_was_left_out(
    llm: LLM, gemini: FakeGemini
) -> None:
    gemini.context, gemini.wording = 8_192, "gemini"
    finding = found(*LONG)
    section = await llm.fill(TOPIC, PLAN, Section(part="s1"), [finding], NEWS, silent)
    (notice,) = [span.text for span in section.spans if span.kind == "notice"]
    assert "of 30 sources were left out, the least relevant first" in notice
    assert any(span.cites for span in section.spans)
    assert section.failures == ()
    later = found("Tickets cost 5 yuan.", query="tickets")
    await llm.fill(TOPIC, PLAN, section, [finding, later], NEWS, silent)
    assert "least relevant" not in gemini.log[-1].prompt  # which is ours, not the section's
    assert [call.fault for call in gemini.log] == ["too long", "", ""]


async def test_what_stands_before_long_sections_is_written_of_their_beginnings(
    llm: LLM, gemini: FakeGemini
) -> None:
    finding = found("The tower opens on Monday.", "It was closed for three years.")
    made = await llm.fill(TOPIC, PLAN, Section(part="s1"), [finding], NEWS, silent)
    filler = tuple(Span(kind="text", text="It is told at length. " * 20) for _ in range(60))
    long = made.model_copy(update={"spans": (*made.spans, *filler)})
    gemini.log.clear()
    gemini.context, gemini.wording = 8_192, "zhipu"
    head = await llm.preface(TOPIC, PLAN, [long, long], [finding], NEWS, silent)
    assert any(span.cites for span in head.spans)
    assert gemini.log[-1].prompt.count("[…]") == 2
    judged = await llm.reconsider(TOPIC, PLAN, long, [finding], NEWS, 1, silent)
    assert judged.failures == ()
    assert [call.fault for call in gemini.log].count("too long") == 1


async def test_headlines_are_judged_as_many_at_once_as_have_room(
    llm: LLM, gemini: FakeGemini, tmp_path: Path
) -> None:
    headlines = [f"{n} 塔重新开放的消息。" * 12 for n in range(60)]
    await llm.tones(TOPIC, headlines, NEWS, silent)
    assert gemini.calls("tones") == 1
    gemini.log.clear()
    gemini.context = 8_192
    short = Settings(
        data_dir=tmp_path, gemini_key=SecretStr("k"), gemini_url=gemini.base_url,
        context_length="8192",
    )  # fmt: skip
    clients = Clients(short)
    tones = await LLM(clients, lambda: NOW).tones(TOPIC, headlines, NEWS, silent)
    await clients.close()
    assert len(tones.tones) == 60 and None not in tones.tones and not tones.failures
    assert 1 < gemini.calls("tones") < 10


async def test_a_section_whose_searches_failed_is_not_judged(llm: LLM, gemini: FakeGemini) -> None:
    failed = found().model_copy(update={"reason": "quota"})
    reflection = await llm.reconsider(TOPIC, PLAN, Section(part="s1"), [failed], NEWS, 1, silent)
    assert (reflection.follow_ups, gemini.calls()) == ((), 0)
