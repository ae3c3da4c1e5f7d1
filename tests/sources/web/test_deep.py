"""Deep Research: a task is begun once, asked after until it is over, and told whatever comes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research.agent.nodes.search import run_search
from research.application import Application
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Finding, Task
from research.core.settings import load_settings
from research.models.clients import ModelClients
from research.sources.base import STEP_RESULTS
from research.sources.web.deep_research import MAX_FAILED_POLLS, DeepResearch, parse_report
from research.sources.web.provider import SearchResult
from research.sources.web.retriever import WebRetriever
from tests.fakes import until
from tests.models.conftest import Heard, loaded
from tests.servers.gemini import FakeGemini
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
AGENT = "gemini:deep-research-preview-04-2026"


class Pad:
    """Notes of a run."""

    def __init__(self) -> None:
        self.told: dict[str, str] = {}

    def load_result(self, step: str) -> str | None:
        return self.told.get(step)

    async def save_result(self, step: str, text: str) -> None:
        self.told[step] = text


class Unkept:
    """A ledger of nothing."""

    async def find(self, task: Task) -> Finding | None:
        return None

    async def start_search(self, task: Task) -> int:
        return 1

    async def finish_search(self, search_id: int, finding: Finding) -> None:
        pass


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest.fixture
async def pad() -> AsyncIterator[Pad]:
    yield Pad()


async def searched(
    gemini: FakeGemini, say: Any = ignore_event, pad: Pad | None = None, query: str = "tower", **env: str
) -> SearchResult:
    own = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    clients = ModelClients(loaded(own | env))
    token = STEP_RESULTS.set(pad)
    try:
        return await DeepResearch(clients, lambda: NOW, max_poll_seconds=0.01).search(query, say)
    finally:
        STEP_RESULTS.reset(token)
        await clients.close()


@each_row("query", ["How old is the Silver Tower?", "雷峰塔是什么时候建成的"])
async def test_a_task_is_begun_in_the_background_and_asked_after_until_it_is_over(
    gemini: FakeGemini, query: str
) -> None:
    gemini.reset()
    gemini.going = 3
    found = await searched(gemini, query=query)
    assert [call.stage for call in gemini.log] == ["begin", *["look"] * 4]
    asked = gemini.log[0].body
    assert (asked["agent"], asked["background"], asked["store"]) == (AGENT[7:], True, True)
    assert query in asked["input"]
    assert gemini.log[1].path.endswith("/interactions/v1_task0")
    texts, metadata = gemini.brain.grounded(query)
    assert "".join(span.text for span in found.summary) == "".join(texts)
    sources = {item.id: item for item in found.evidence}
    cited = [[sources[cite.evidence].url[-1] for cite in span.references] for span in found.summary]
    assert cited == [["0"], ["0", "1"], ["1", "2"], []]
    assert all(item.url_expires for item in found.evidence)
    said = [support["segment"]["text"] for support in metadata["groundingSupports"]]
    assert {p.text for item in found.evidence for p in item.passages} == set(said)
    assert found.executed_queries and "chip" in found.suggestions


async def test_a_task_is_paid_for_with_all_of_its_tokens_and_searches(gemini: FakeGemini) -> None:
    heard = Heard()
    await searched(gemini, heard)
    [used] = heard.of("usage")
    told = (
        used["stage"],
        used["model"],
        used["input"],
        used["cached"],
        used["output"],
        used["searches"],
    )
    assert told == ("search", AGENT, 25_000, 12_000, 4_000, 7)


async def test_the_deadline_of_a_search_is_none_for_a_task(gemini: FakeGemini) -> None:
    gemini.going = 60
    own = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    clients = ModelClients(loaded(own))
    agent = DeepResearch(clients, lambda: NOW, max_poll_seconds=0.02)
    source = WebRetriever([agent], timeout_seconds=0.5, clock=lambda: NOW)
    await clients.gemini()  # importing takes seconds
    task = Task(id="1.1", source="web", query="tower")
    finding = await run_search(task, source, Unkept(), ignore_event, deadline_seconds=0.5)
    await clients.close()
    assert (finding.provider, finding.reason, len(finding.evidence)) == ("deep-research", None, 3)
    assert finding.seconds > 0.5 and gemini.calls("look") == 61


# Failures


ENDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "failed": ({"status": "failed", "steps": [], "errors": [{"code": "x", "message": "It broke."}]}, "unavailable", "failed: It broke."),
    "cancelled": ({"status": "cancelled", "steps": []}, "unavailable", "was cancelled"),
    "incomplete": ({"status": "incomplete", "steps": []}, "cut off", "ended before it was done"),
    "budget": ({"status": "budget_exceeded", "steps": []}, "quota", "used up its budget"),
    "asks": ({"status": "requires_action", "steps": []}, "unavailable", "asks for something"),
    "a new status": ({"status": "abandoned", "steps": []}, "malformed", "abandoned"),
    "no text": ({"steps": []}, "malformed", "without a text"),
    "nothing": ({"status": None, "steps": None, "usage": None}, "malformed", "ended as ''"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
async def test_however_a_task_ends_it_is_told_and_a_resumed_run_begins_anew(
    gemini: FakeGemini, pad: Pad, name: str
) -> None:
    gemini.ends, reason, words = ENDS[name]
    with pytest.raises(ServiceError) as caught:
        await searched(gemini, pad=pad)
    assert (caught.value.reason, words in caught.value.message) == (reason, True)
    gemini.ends = {}
    assert (await searched(gemini, pad=pad)).evidence
    assert gemini.calls("begin") == 2


@pytest.mark.parametrize("status", ["incomplete", "budget_exceeded"])
async def test_what_a_task_has_found_before_it_broke_off_is_kept(gemini: FakeGemini, status: str) -> None:
    gemini.ends = {"status": status}
    found = await searched(gemini)
    assert len(found.evidence) == 3
    assert [failure.source for failure in found.failures] == ["deep-research"]


REFUSALS = {
    "400key": ("refused", "key"), "400location": ("refused", "location"), "403": ("refused", ""),
    "404": ("refused", "model"), "429bare": ("quota", ""), "500": ("unavailable", ""),
    "503": ("unavailable", ""), "reset": ("unreachable", ""), "html502": ("unavailable", ""),
    "html200": ("malformed", ""), "badjson": ("malformed", ""),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSALS)
async def test_a_task_that_cannot_begin_is_told_and_not_begun_twice(gemini: FakeGemini, pad: Pad, fault: str) -> None:
    gemini.fail("begin", fault)
    with pytest.raises(ServiceError) as caught:
        await searched(gemini, pad=pad, SIGHTLINE_RETRY_WAIT="0")
    assert (caught.value.reason, caught.value.hint) == REFUSALS[fault]
    if fault == "404":
        assert "GEMINI_DEEP_RESEARCH" in caught.value.message
    assert gemini.calls("begin") == (2 if fault == "429bare" else 1)
    assert pad.told == {}


async def test_a_task_that_does_not_end_is_told_and_waited_for_again(gemini: FakeGemini, pad: Pad) -> None:
    gemini.going = 10**6
    with pytest.raises(ServiceError, match="still at work after 1 s") as caught:
        await searched(gemini, pad=pad, GEMINI_DEEP_RESEARCH_TIMEOUT="1")
    assert caught.value.reason == "timeout"
    gemini.tasks["v1_task0"][1] = 0
    assert (await searched(gemini, pad=pad)).evidence
    assert gemini.calls("begin") == 1


@pytest.mark.parametrize("fault", ["503", "reset", "badjson", "html502", "429:0.01"])
async def test_a_task_that_cannot_be_reached_for_a_while_is_asked_after_again(
    gemini: FakeGemini, pad: Pad, fault: str
) -> None:
    gemini.fail("look", fault, times=MAX_FAILED_POLLS - 1)
    assert (await searched(gemini, pad=pad)).evidence
    gemini.fail("look", fault)
    with pytest.raises(ServiceError):
        await searched(gemini, query="another", pad=pad)
    assert gemini.calls("begin") == 2


async def test_a_task_that_is_gone_is_told_and_begun_anew_the_next_time(gemini: FakeGemini, pad: Pad) -> None:
    gemini.fail("look", "404", times=1)
    with pytest.raises(ServiceError, match="not there any more") as caught:
        await searched(gemini, pad=pad)
    assert caught.value.reason == "not found"
    assert (await searched(gemini, pad=pad)).evidence
    assert gemini.calls("begin") == 2


async def test_a_search_that_was_cut_off_goes_on_with_its_task(gemini: FakeGemini, pad: Pad) -> None:
    gemini.going = 10**6
    search = asyncio.create_task(searched(gemini, pad=pad))
    await asyncio.to_thread(until, lambda: gemini.calls("look") > 1)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert list(map(json.loads, pad.told.values())) == ["v1_task0"]
    gemini.tasks["v1_task0"][1] = gemini.going = 1
    assert (await searched(gemini, pad=pad)).evidence
    other = await searched(gemini, pad=pad, query="another tower")
    assert other.evidence and gemini.calls("begin") == 2


async def test_without_a_key_nothing_is_asked(gemini: FakeGemini) -> None:
    provider = DeepResearch(ModelClients(loaded({"GEMINI_API_KEY": ""})), lambda: NOW)
    assert (provider.readiness().state, provider.readiness().detail) == ("missing", "GEMINI_API_KEY")
    with pytest.raises(ServiceError) as caught:
        await provider.search("tower", ignore_event)
    assert (caught.value.reason, gemini.log) == ("no key", [])


# Reading a report


def output(*contents: Any) -> dict[str, Any]:
    return {"steps": [{"type": "model_output", "content": list(contents)}]}


@each_row(
    "body",
    [
        None, 7, [], {"steps": None}, {"steps": [None, 7, {}]}, output(None), output({"type": "text"}),
        output({"type": "text", "text": 7, "annotations": 7}), output({"type": "image", "data": "x"}),
    ],
)  # fmt: skip
def test_whatever_stands_where_a_report_should_it_has_no_text(body: Any) -> None:
    assert parse_report(body, NOW).text == ""


@each_row(
    ("cite", "sources", "unplaced"),
    [
        ({"start_index": 0, "end_index": 9, "url": "https://a.example/"}, 1, 0),
        ({"end_index": 9, "url": "https://a.example/"}, 1, 0),
        ({"start_index": 1, "end_index": 9, "url": "https://a.example/"}, 1, 1),
        ({"start_index": 0, "end_index": 900, "url": "https://a.example/"}, 1, 1),
        ({"start_index": 9, "end_index": 0, "url": "https://a.example/"}, 1, 1),
        ({"url": "https://a.example/"}, 1, 1),
        ({"start_index": 0, "end_index": 9}, 0, 0),
        ({"start_index": 0, "end_index": 9, "url": 7}, 0, 0),
    ],
)
def test_a_citation_that_does_not_fit_is_counted_and_no_source_is_lost(
    cite: dict[str, Any], sources: int, unplaced: int
) -> None:
    part = {"type": "text", "text": "塔很高。", "annotations": [{"type": "url_citation", **cite}]}
    grounded = parse_report(output(part), NOW)
    assert (len(grounded.evidence), grounded.unplaced_count) == (sources, unplaced)
    placed = [cite for span in grounded.spans for cite in span.references]
    assert len(placed) == (sources and not unplaced)


def test_only_the_last_output_is_the_report_and_an_older_server_s_is_read_too() -> None:
    steps = [*output({"type": "text", "text": "A draft."})["steps"], *output({"type": "text", "text": "Done."})["steps"]]  # fmt: skip
    assert parse_report({"steps": steps}, NOW).text == "Done."
    assert parse_report({"outputs": [{"type": "text", "text": "Done."}]}, NOW).text == "Done."


def test_a_test_of_the_connections_begins_no_task(gemini: FakeGemini, tmp_path: Path) -> None:
    env = {
        "GEMINI_API_KEY": "k",
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "WEB_SEARCH": "deep-research,gemini",
    }
    desk = Application(load_settings(env, data_dir=tmp_path))
    try:
        checks = desk.check_connections()
    finally:
        desk.close()
    assert {check.name for check in checks} > {"plan", "gemini"}
    assert gemini.calls("begin") == 0
