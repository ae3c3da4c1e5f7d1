"""Pages that a query names, opened by Gemini's search: what is sent, what is told, what is paid."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research.application import Application
from research.core import settings
from research.core.events import ignore_event
from research.core.records import Report, RunOptions
from research.models.clients import ModelClients
from research.sources.web.gemini import GeminiSearch
from research.sources.web.provider import SearchResult
from research.sources.web.url_context import MAX_PAGES
from tests.models.conftest import Heard, loaded
from tests.servers.brain import Brain
from tests.servers.gemini import TOOL_TOKENS, FakeGemini
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
PAGE = "https://example.org/report.html?year=2026"
OTHER = "https://example.net/a"


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


async def searched(gemini: FakeGemini, query: str, say: Any = ignore_event, **env: str) -> SearchResult:
    own = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    clients = ModelClients(loaded(own | env))
    try:
        return await GeminiSearch(clients, lambda: NOW).search(query, say)
    finally:
        await clients.close()


def tools(gemini: FakeGemini) -> list[list[str]]:
    return [[name for tool in call.body["tools"] for name in tool] for call in gemini.log]


def told(found: SearchResult) -> list[tuple[str, str, str]]:
    return [(failure.source, failure.query, failure.reason) for failure in found.failures]


@each_row(
    ("query", "env", "sent"),
    [
        (f"tower {PAGE}", {}, ["googleSearch", "urlContext"]),
        (f"塔有多高（{PAGE}）", {}, ["googleSearch", "urlContext"]),
        (f"tower {PAGE}", {"GEMINI_URL_CONTEXT": "off"}, ["googleSearch"]),
        ("tower example.org", {}, ["googleSearch"]),
        ("tower ftp://example.org/a", {}, ["googleSearch"]),
    ],
)
async def test_pages_are_opened_only_where_a_query_names_them(
    gemini: FakeGemini, query: str, env: dict[str, str], sent: list[str]
) -> None:
    found = await searched(gemini, query, **env)
    assert tools(gemini)[-1] == sent
    assert found.failures == ()


async def test_a_page_that_was_read_is_a_source_under_its_own_address(gemini: FakeGemini) -> None:
    found = await searched(gemini, f"tower {PAGE}")
    (page,) = [item for item in found.evidence if item.url == PAGE]
    assert not page.url_expires and page.publisher == "example.org"
    assert page.passages and page.passages[0].origin == "grounding"
    assert page.id in {cite.evidence for span in found.summary for cite in span.references}


async def test_a_page_that_was_read_is_a_source_though_no_sentence_cites_it(
    gemini: FakeGemini,
) -> None:
    gemini.fail("search", "gm_chunks_only")
    found = await searched(gemini, f"tower {PAGE}")
    (page,) = [item for item in found.evidence if item.url == PAGE]
    assert (page.title, page.retrieved, page.passages) == ("example.org", NOW, ())


@each_row(
    ("status", "reason", "words"),
    [
        ("ERROR", "unreachable", "could not read"),
        ("PAYWALL", "blocked", "paywall"),
        ("UNSAFE", "blocked", "unsafe"),
        ("UNSPECIFIED", "left out", "not opened"),
        ("SOMETHING_NEW", "left out", "not opened"),
        ("", "left out", "not opened"),
    ],
)
async def test_a_page_that_was_not_read_is_told_with_the_reason(
    gemini: FakeGemini, status: str, reason: str, words: str
) -> None:
    gemini.pages = {PAGE: status}
    found = await searched(gemini, f"tower {PAGE} {OTHER}")
    assert told(found) == [("page", PAGE, reason)]
    assert words in found.failures[0].message
    addresses = {item.url for item in found.evidence}
    assert OTHER in addresses and PAGE not in addresses


@each_row(
    "address",
    [
        "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AbC",
        "http://localhost/secret",
        "http://169.254.169.254/latest/meta-data",
        "http://printer.lan/",
        "https://example.org:22/a",
    ],
)
async def test_an_address_that_no_program_may_open_is_told_and_not_handed_on(gemini: FakeGemini, address: str) -> None:
    found = await searched(gemini, f"tower {address}")
    assert tools(gemini)[-1] == ["googleSearch"]
    assert [(f.source, f.query) for f in found.failures] == [("page", address)]
    assert found.failures[0].message


async def test_no_more_pages_are_opened_than_a_request_may_name(gemini: FakeGemini) -> None:
    named = [f"https://example.org/{n}" for n in range(MAX_PAGES + 2)]
    found = await searched(gemini, " ".join(named))
    assert told(found) == [("page", page, "left out") for page in named[MAX_PAGES:]]


async def test_a_model_that_opens_no_pages_searches_all_the_same_and_is_not_asked_again(
    gemini: FakeGemini,
) -> None:
    gemini.refuses = {"pages"}
    own = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    clients = ModelClients(loaded(own))
    search = GeminiSearch(clients, lambda: NOW)
    for _ in range(2):
        found = await search.search(f"tower {PAGE}", ignore_event)
        assert found.evidence
        assert told(found) == [("page", PAGE, "left out")]
    await clients.close()
    assert tools(gemini) == [["googleSearch", "urlContext"], ["googleSearch"], ["googleSearch"]]


async def test_another_refusal_is_not_blamed_on_the_pages(gemini: FakeGemini) -> None:
    gemini.fail("search", "400tools", times=2)
    own = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    clients = ModelClients(loaded(own))
    search = GeminiSearch(clients, lambda: NOW)
    with pytest.raises(Exception, match="not enabled"):
        await search.search(f"tower {PAGE}", ignore_event)
    assert (await search.search(f"tower {PAGE}", ignore_event)).failures == ()
    await clients.close()
    assert tools(gemini)[-1] == ["googleSearch", "urlContext"]


async def test_what_the_pages_cost_is_counted(gemini: FakeGemini) -> None:
    counts = []
    for query in (f"tower {PAGE}", f"tower {PAGE} {OTHER}"):
        heard = Heard()
        await searched(gemini, query, heard)
        (usage,) = heard.of("usage")
        prompt = gemini.log[-1].prompt
        counts.append((usage["input"], len(prompt)))
    assert counts[0][0] > TOOL_TOKENS and counts[1][0] > 2 * TOOL_TOKENS


@each_row(
    "metadata",
    [None, {}, [], {"urlMetadata": None}, {"urlMetadata": [None, 1, {}]},
     {"urlMetadata": [{"retrievedUrl": 7, "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"}]},
     {"urlMetadata": [{"retrievedUrl": "javascript:alert(1)", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"}]}],
)  # fmt: skip
async def test_whatever_is_said_of_pages_it_is_read_or_passed_over(gemini: FakeGemini, metadata: Any) -> None:
    texts, grounding = Brain().grounded("tower")
    content = {"parts": [{"text": text} for text in texts]}
    candidate = {"content": content, "groundingMetadata": grounding, "finishReason": "STOP"}
    gemini.replay("search", {"candidates": [candidate | {"urlContextMetadata": metadata}]})
    found = await searched(gemini, f"tower {PAGE}")
    assert told(found) == [("page", PAGE, "left out")]
    assert len(found.evidence) == 3


def run(gemini: FakeGemini, folder: Path, question: str) -> Report:
    own = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    desk = Application(settings.load_settings(own, data_dir=folder))
    try:
        made = desk.runs.start(question, options=RunOptions(loops=1, sources=("web",)))
        for _ in desk.runs.follow(made.id):
            pass
        report = desk.runs.report(made.id)
        assert report is not None
        return report
    finally:
        desk.close()


def test_a_question_that_names_a_page_has_it_read_and_is_told_if_it_was_not(gemini: FakeGemini, tmp_path: Path) -> None:
    gemini.pages = {OTHER: "PAYWALL"}
    report = run(gemini, tmp_path, f"What do {PAGE} and {OTHER} say about the Silver Tower?")
    assert report.answer is not None
    pages = [f for f in report.answer.failures if f.source == "page"]
    assert [(f.query, f.reason) for f in pages] == [(OTHER, "blocked")]
    assert PAGE in {item.url for f in report.findings for item in f.evidence}
