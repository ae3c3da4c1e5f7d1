"""The web as one source: who is asked, who takes over, what is read and summed up, and what is said."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from research import Report, number_report_answer, report_json, report_markdown
from research.agent.llm.reasoner import ModelReasoner
from research.agent.nodes.budget import WorkScope
from research.agent.nodes.search import run_search
from research.application import Application
from research.core.errors import ServiceError
from research.core.events import EventEmitter, ignore_event
from research.core.records import Evidence, Finding, Readiness, RunOptions, Task
from research.core.settings import Settings
from research.models import clients
from research.models.clients import ModelClients
from research.models.request_limits import RequestLimiter
from research.sources.web.fetcher import PageFetcher
from research.sources.web.gemini import GeminiSearch
from research.sources.web.page_reader import PageReader
from research.sources.web.provider import SearchResult
from research.sources.web.retriever import WebRetriever
from research.sources.web.searxng import SearXNG
from research.sources.web.tavily import Tavily
from tests.fakes import until
from tests.servers.gemini import FakeGemini
from tests.servers.search import FakeSearXNG, FakeTavily, nowhere
from tests.servers.site import Reply, Site, page

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
TASK = Task(id="1.1", source="web", query="雷峰塔 门票")
ROWS = [
    {"title": f"Page {n}", "url": f"https://site{n}.example.org/", "content": f"Tickets cost {n}0 yuan."}
    for n in (1, 2, 3)
]  # fmt: skip
REASONS = {
    "429:40": ("quota", "minute"),
    "429day:40": ("quota", "day"),
    "429free:40": ("quota", "billing"),
    "429bare": ("quota", "billing"),
    "400key": ("refused", "key"),
    "400location": ("refused", "location"),
    "404": ("refused", "model"),
    "403": ("refused", ""),
    "500": ("unavailable", ""),
    "html502": ("unavailable", ""),
    "html200": ("malformed", ""),
    "badjson": ("malformed", ""),
    "reset": ("unreachable", ""),
    "safety": ("blocked", ""),
    "promptblock": ("blocked", ""),
    "noparts": ("malformed", ""),
    "maxtokensempty": ("cut off", ""),
    "hang": ("timeout", ""),
}


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest.fixture
def tavily() -> Iterator[FakeTavily]:
    with FakeTavily(results=ROWS) as server:
        yield server


@pytest.fixture
def searxng() -> Iterator[FakeSearXNG]:
    with FakeSearXNG(results=ROWS) as server:
        yield server


class Web:
    """A web source over real providers, and what they need."""

    def __init__(self, gemini: FakeGemini, **settings: Any) -> None:
        given = {
            "data_dir": Path("unused"),
            "gemini_key": SecretStr("k"),
            "gemini_url": gemini.base_url,
            "model_attempts": 1,
            **settings,
        }
        self.clients = ModelClients(Settings.model_validate(given))
        self.models = ModelReasoner(self.clients, lambda: NOW)
        self.google = GeminiSearch(self.clients, lambda: NOW)

    def source(self, *providers: Any, deadline: float = 10.0, **more: Any) -> WebRetriever:
        return WebRetriever(providers, timeout_seconds=deadline, clock=lambda: NOW, **more)


@pytest.fixture
async def web(gemini: FakeGemini) -> AsyncIterator[Web]:
    made = Web(gemini)
    await made.clients.gemini()  # importing takes seconds, which no deadline here is meant for
    yield made
    await made.clients.close()


@contextlib.asynccontextmanager
async def by_tavily(server: FakeTavily) -> AsyncIterator[Tavily]:
    provider = Tavily("tvly-k", base_url=server.base_url, timeout_seconds=5, clock=lambda: NOW)
    try:
        yield provider
    finally:
        await provider.close()


def told(finding: Finding) -> list[tuple[str, str]]:
    return [(failure.source, failure.reason) for failure in finding.failures]


# Who is asked


async def test_the_first_choice_answers_and_nobody_else_is_asked(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    async with by_tavily(tavily) as other:
        finding = await web.source(web.google, other).search(TASK, ignore_event)
    assert (finding.provider, finding.reason, finding.failures) == ("gemini", None, ())
    assert (gemini.calls("search"), tavily.log) == (1, [])
    assert (finding.task, finding.started) == (TASK, NOW)


async def test_the_order_is_the_one_given(web: Web, gemini: FakeGemini, tavily: FakeTavily) -> None:
    async with by_tavily(tavily) as other:
        source = web.source(other, web.google)
        finding = await source.search(TASK, ignore_event)
    assert (finding.provider, gemini.log) == ("tavily", [])
    assert [provider.name for provider in source.live_providers] == ["tavily", "gemini"]
    assert (source.readiness().state, source.readiness().detail) == ("live", "tavily, gemini")


async def test_those_that_are_not_configured_are_left_out(gemini: FakeGemini, tavily: FakeTavily) -> None:
    web = Web(gemini, gemini_key=SecretStr(""))
    async with by_tavily(tavily) as other:
        source = web.source(web.google, SearXNG(""), other)
        finding = await source.search(TASK, ignore_event)
    assert (finding.provider, finding.failures, gemini.log) == ("tavily", (), [])


async def test_with_nobody_configured_the_settings_are_named(gemini: FakeGemini) -> None:
    web = Web(gemini, gemini_key=SecretStr(""))
    source = web.source(web.google, Tavily(""), SearXNG(""))
    ready = source.readiness()
    assert (ready.state, ready.detail) == ("missing", "GEMINI_API_KEY, TAVILY_API_KEY, SEARXNG_URL")
    with pytest.raises(ServiceError, match="GEMINI_API_KEY, TAVILY_API_KEY, SEARXNG_URL") as caught:
        await source.search(TASK, ignore_event)
    assert (caught.value.reason, caught.value.hint) == ("no key", "key")
    assert web.source().readiness().detail == "WEB_SEARCH"


# Who takes over


@pytest.mark.parametrize("fault", REASONS)
async def test_whatever_fails_is_named_beside_who_took_over(
    fault: str, web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    gemini.fail("search", fault)
    async with by_tavily(tavily) as other:
        deadline = 2.0 if fault == "hang" else 10.0
        finding = await web.source(web.google, other, deadline=deadline).search(TASK, ignore_event)
    assert (finding.provider, finding.reason, len(finding.evidence)) == ("tavily", None, 3)
    (failure,) = finding.failures
    assert (failure.stage, failure.source, failure.query) == ("search", "gemini", TASK.query)
    assert (failure.reason, failure.hint) == REASONS[fault]
    assert failure.message


@pytest.mark.slow
async def test_a_provider_that_hangs_leaves_time_for_the_next(
    web: Web, gemini: FakeGemini, tavily: FakeTavily, searxng: FakeSearXNG
) -> None:
    gemini.fail("search", "hang")
    tavily.fault = "hangs"
    last = SearXNG(searxng.base_url, timeout_seconds=60, clock=lambda: NOW)
    async with by_tavily(tavily) as second:
        source = web.source(web.google, second, last, deadline=4.5)
        finding = await source.search(TASK, ignore_event)
    await last.close()
    assert (finding.provider, len(finding.evidence)) == ("searxng", 3)
    assert told(finding) == [("gemini", "timeout"), ("tavily", "timeout")]
    await asyncio.to_thread(until, lambda: gemini.log[0].left)


async def test_time_that_one_did_not_need_is_left_to_the_others(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    gemini.fail("search", "500")
    tavily.waits = 1.3
    async with by_tavily(tavily) as other:
        finding = await web.source(web.google, other, deadline=2.4).search(TASK, ignore_event)
    assert finding.provider == "tavily"


@pytest.mark.slow
@pytest.mark.parametrize("summed_up", [False, True])
async def test_waiting_for_our_own_turn_is_no_time_that_a_search_takes(
    summed_up: bool, gemini: FakeGemini, tavily: FakeTavily, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "RequestLimiter", partial(RequestLimiter, window_seconds=0.6))
    web = Web(gemini, requests_per_minute=1)
    await web.clients.gemini()  # importing takes a second
    await web.models.load_clients()
    async with by_tavily(tavily) as results:
        provider = results if summed_up else web.google
        source = web.source(provider, summarise=web.models.summarise, deadline=1.5)
        findings = await asyncio.gather(
            *(run_search(TASK, source, NoLedger(), ignore_event, deadline_seconds=1.5) for _ in range(5))
        )
    await web.clients.close()
    assert gemini.calls() == 5
    assert [(finding.reason, finding.failures) for finding in findings] == [(None, ())] * 5
    assert all(finding.summary for finding in findings)


async def test_if_all_fail_the_reason_is_the_first_ones_and_each_is_named(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    gemini.fail("search", "429:40")
    tavily.status, tavily.error = 401, {"detail": {"error": "Unauthorized: wrong key"}}
    async with by_tavily(tavily) as second:
        last = SearXNG(nowhere(), clock=lambda: NOW)
        finding = await web.source(web.google, second, last).search(TASK, ignore_event)
        await last.close()
    assert (finding.reason, finding.hint, finding.provider) == ("quota", "minute", "gemini")
    assert finding.message.startswith("gemini")
    assert (finding.evidence, finding.task) == ((), TASK)
    assert told(finding) == [("tavily", "refused"), ("searxng", "unreachable")]
    assert finding.failures[0].hint == "key"


async def test_a_lone_failure_tells_whose_it_is(web: Web, tavily: FakeTavily) -> None:
    tavily.status, tavily.error = 432, {"detail": {"error": "used up"}}
    async with by_tavily(tavily) as only:
        finding = await web.source(only).search(TASK, ignore_event)
    assert (finding.reason, finding.provider, finding.failures) == ("quota", "tavily", ())
    assert "tavily" in finding.message and "used up" in finding.message


async def test_nothing_found_is_an_answer_and_nobody_takes_over(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    tavily.results = []
    async with by_tavily(tavily) as other:
        finding = await web.source(other, web.google).search(TASK, ignore_event)
    assert (finding.reason, finding.provider, finding.failures) == ("empty", "tavily", ())
    assert gemini.log == []


class Stored:
    """A provider whose results were there before anybody asked."""

    name, has_summary = "stored", False

    def __init__(self, *evidence: Evidence) -> None:
        self._evidence = evidence

    def readiness(self) -> Readiness:
        return Readiness(state="live")

    async def search(self, query: str, say: EventEmitter) -> SearchResult:
        return SearchResult(evidence=self._evidence)

    async def close(self) -> None:
        """Nothing is open."""


# What Gemini brings


async def test_a_text_without_sources_is_kept_and_said_to_have_none(web: Web, gemini: FakeGemini) -> None:
    gemini.fail("search", "gm_none")
    finding = await web.source(web.google).search(TASK, ignore_event)
    assert (finding.reason, finding.message) == ("empty", "no sources returned")
    assert "1925年" in "".join(span.text for span in finding.summary)
    assert not any(span.references for span in finding.summary)


async def test_the_queries_that_were_run_and_the_suggestions_come_along(web: Web) -> None:
    finding = await web.source(web.google).search(TASK, ignore_event)
    assert finding.provider_queries == (TASK.query, f"{TASK.query} 历史")
    assert TASK.query in finding.suggestions and "chip" in finding.suggestions


async def test_citations_that_could_not_be_placed_are_counted(web: Web, gemini: FakeGemini) -> None:
    metadata = {
        "groundingChunks": [{"web": {"uri": "https://a.example.org/", "title": "a"}}],
        "groundingSupports": [
            {"segment": {"endIndex": 900, "text": text}, "groundingChunkIndices": [0]}
            for text in ("The tower is old.", "This is said nowhere.")
        ],
    }
    gemini.brain.grounded = lambda query: (["The tower is old."], metadata)
    finding = await web.source(web.google).search(TASK, ignore_event)
    assert finding.message == "1 citations could not be placed"
    assert [len(span.references) for span in finding.summary] == [1]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("SAFETY", "blocked"), ("LANGUAGE", "blocked"), ("OTHER", "malformed"), ("STOP", "")],
)
async def test_a_text_that_the_service_broke_off_does_not_pass_as_whole(
    finish: str, reason: str, web: Web, gemini: FakeGemini
) -> None:
    texts, metadata = gemini.brain.grounded(TASK.query)
    content = {"parts": [{"text": text} for text in texts], "role": "model"}
    candidate = {"content": content, "finishReason": finish, "groundingMetadata": metadata}
    gemini.replay("search", {"candidates": [candidate]})
    finding = await web.source(web.google).search(TASK, ignore_event)
    assert (finding.reason, bool(finding.evidence)) == (None, True)
    assert told(finding) == ([("gemini", reason)] if reason else [])
    assert all(finish in failure.message for failure in finding.failures)
    assert (finish in finding.message) == bool(reason)


async def test_a_byte_order_mark_before_the_response_does_no_harm(web: Web, gemini: FakeGemini) -> None:
    gemini.fail("search", "bombody")
    finding = await web.source(web.google).search(TASK, ignore_event)
    assert (finding.reason, bool(finding.evidence)) == (None, True)


async def test_a_search_that_sums_up_itself_is_neither_summed_up_nor_read_again(web: Web, gemini: FakeGemini) -> None:
    with Site() as site:
        uri = f"http://127.0.0.1:{site.port}/grounding-api-redirect/x"
        gemini.brain.grounded = lambda query: (
            ["The tower is old."],
            {
                "groundingChunks": [{"web": {"uri": uri, "title": "site.example"}}],
                "groundingSupports": [{"segment": {"endIndex": 17}, "groundingChunkIndices": [0]}],
            },
        )
        async with reading(site) as reader:
            source = web.source(web.google, summarise=web.models.summarise, page_reader=reader, pages_per_search=3)
            finding = await source.search(TASK, ignore_event)
        assert [item.url for item in finding.evidence] == [uri]
        assert (site.requests, site.connections) == ([], 0)
    assert gemini.calls() == gemini.calls("search") == 1


# Results without a summary of their own


@contextlib.asynccontextmanager
async def reading(site: Site, deadline: float = 15.0) -> AsyncIterator[PageReader]:
    async def names(host: str, port: int) -> list[Any]:
        return [ip_address("127.0.0.1")]

    fetcher = PageFetcher(
        resolve=names,
        allowed_ports=frozenset({site.port}),
        allowed_endpoints=frozenset({site.endpoint}),
        timeout_seconds=deadline,
    )
    try:
        yield PageReader(fetcher)
    finally:
        await fetcher.close()


TOWER = Reply(
    page(
        "".join(
            f"<p>Paragraph {n}: tickets for the tower, 门票, cost {n}5 yuan in the year 200{n}, and "
            "children below the height of one metre and twenty go in for nothing.</p>"
            for n in range(1, 6)
        ),
        title="The tower",
    )
)


def rows(site: Site, *paths: str) -> list[dict[str, str]]:
    return [
        {"title": path, "url": f"http://site.example:{site.port}{path}", "content": f"Snippet of {path}."}
        for path in paths
    ]  # fmt: skip


async def test_results_are_summed_up_with_a_citation_for_each_sentence(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    async with by_tavily(tavily) as only:
        finding = await web.source(only, summarise=web.models.summarise).search(TASK, ignore_event)
    passages = {p.id: p for item in finding.evidence for p in item.passages}
    cites = [cite for span in finding.summary for cite in span.references]
    assert cites and {cite.passage for cite in cites} == set(passages)
    assert not any(span.unsourced for span in finding.summary)
    (call,) = gemini.log
    assert call.stage == "summarise"
    assert all(passage.text in call.prompt for passage in passages.values())


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "429:40", "hang", "safety", "empty", "html200"])
async def test_a_summary_that_fails_costs_only_the_summary(
    fault: str, web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    gemini.fail("summarise", fault)
    async with by_tavily(tavily) as only:
        source = web.source(only, summarise=web.models.summarise, deadline=2.0 if fault == "hang" else 10.0)
        finding = await source.search(TASK, ignore_event)
    assert (finding.reason, len(finding.evidence), finding.summary) == (None, 3, ())
    (failure,) = finding.failures
    assert (failure.stage, failure.source, failure.query) == ("summarise", "web", TASK.query)
    assert fault != "hang" or failure.reason == "timeout"


class NoLedger:
    """Remembers nothing."""

    async def find(self, task: Task) -> None:
        return None

    async def start_search(self, task: Task) -> int:
        return 1

    async def finish_search(self, search_id: int, finding: Finding) -> None:
        """Nothing is kept."""


@pytest.mark.slow
async def test_what_was_found_outlasts_the_deadline_of_the_stage(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    gemini.fail("summarise", "hang")
    async with by_tavily(tavily) as only:
        source = web.source(only, summarise=web.models.summarise, deadline=2.0)
        finding = await run_search(TASK, source, NoLedger(), ignore_event, deadline_seconds=2.0)
    assert (finding.reason, len(finding.evidence)) == (None, 3)


@pytest.mark.slow
async def test_pages_are_read_only_if_that_is_turned_on(web: Web, tavily: FakeTavily) -> None:
    with Site({f"/{n}": TOWER for n in range(4)}) as site:
        tavily.results = rows(site, "/0", "/1", "/2", "/3")
        for pages in (0, 2):
            async with reading(site) as reader, by_tavily(tavily) as only:
                finding = await web.source(only, page_reader=reader, pages_per_search=pages).search(TASK, ignore_event)
            assert site.paths == [f"/{n}" for n in range(pages)]
            assert len(finding.evidence) == 4
            assert finding.failures == ()


async def test_what_a_page_says_stands_before_the_snippet_of_it(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    with Site({"/tower": TOWER}) as site:
        tavily.results = rows(site, "/tower")
        async with reading(site) as reader, by_tavily(tavily) as only:
            source = web.source(only, page_reader=reader, pages_per_search=1, summarise=web.models.summarise)
            (item,) = (await source.search(TASK, ignore_event)).evidence
    assert len(item.passages) >= 2
    assert "Paragraph 1" in item.passages[0].text
    assert item.passages[-1].text == "Snippet of /tower."
    assert "Paragraph 1" in gemini.log[-1].prompt


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(Reply(b"", 404), "not found"), (Reply(b"", 403), "blocked"), (Reply(b"", 500), "unavailable"),
     (Reply(b"%PDF", type="application/pdf"), "refused"), (Reply(b"", waits=60), "timeout")],
)  # fmt: skip
async def test_a_page_that_cannot_be_read_is_named_and_its_snippet_stays(
    reply: Reply, reason: str, web: Web, tavily: FakeTavily
) -> None:
    with Site({"/good": TOWER, "/bad": reply}) as site:
        tavily.results = rows(site, "/good", "/bad")
        async with reading(site) as reader, by_tavily(tavily) as only:
            source = web.source(only, page_reader=reader, pages_per_search=2, deadline=2.0)
            finding = await source.search(TASK, ignore_event)
    good, bad = finding.evidence
    (failure,) = finding.failures
    assert (failure.stage, failure.source, failure.query) == ("search", "page", bad.url)
    assert failure.reason == reason
    assert (len(good.passages) > 1, [p.text for p in bad.passages]) == (True, ["Snippet of /bad."])


async def test_the_text_of_an_application_is_not_taken_for_that_of_a_page_that_it_draws(
    web: Web, tavily: FakeTavily
) -> None:
    with Site({"/": TOWER}) as site:
        tavily.results = rows(site, "/#/a", "/#/b")
        async with reading(site) as reader, by_tavily(tavily) as only:
            finding = await web.source(only, page_reader=reader, pages_per_search=2).search(TASK, ignore_event)
    texts = [[passage.text for passage in item.passages] for item in finding.evidence]
    assert texts == [["Snippet of /#/a."], ["Snippet of /#/b."]]
    assert [failure.reason for failure in finding.failures] == ["empty", "empty"]
    assert [failure.query for failure in finding.failures] == [i.url for i in finding.evidence]


async def test_a_page_that_two_searches_want_is_fetched_once_and_serves_both(web: Web, tavily: FakeTavily) -> None:
    with Site({"/tower": TOWER}) as site:
        tavily.results = rows(site, "/tower")
        async with reading(site) as reader, by_tavily(tavily) as only:
            source = web.source(only, page_reader=reader, pages_per_search=1)
            tasks = [Task(id=f"1.{n}", source="web", query=f"门票 {n}") for n in range(3)]
            findings = await asyncio.gather(*(source.search(task, ignore_event) for task in tasks))
            findings.append(await source.search(TASK, ignore_event))
        assert site.paths == ["/tower"]
    assert all(len(finding.evidence[0].passages) > 1 for finding in findings)


async def test_a_reader_is_never_given_an_address_that_only_redirects(web: Web, tavily: FakeTavily) -> None:
    with Site({"/0": TOWER, "/1": TOWER}) as site:
        tavily.results = rows(site, "/0", "/1")
        async with reading(site) as reader, by_tavily(tavily) as other:
            first, second = (await other.search("x", ignore_event)).evidence
            stored = Stored(first.model_copy(update={"url_expires": True}), second)
            await web.source(stored, page_reader=reader, pages_per_search=2).search(TASK, ignore_event)
        assert site.paths == ["/1"]


# On a whole run


def asked(desk: Application, question: str = "雷峰塔的门票多少钱？", **options: Any) -> Report:
    given = RunOptions.model_validate({"sources": ("web",), "loops": 1, "queries": 2} | options)
    run = desk.runs.start(question, options=given)
    for _ in desk.runs.follow(run.id):
        pass
    report = desk.runs.report(run.id)
    assert report is not None and report.run.status == "done"
    return report


@contextlib.contextmanager
def desk(folder: Path, gemini: FakeGemini, **settings: Any) -> Iterator[Application]:
    given = {
        "data_dir": folder,
        "gemini_key": SecretStr("k"),
        "gemini_url": gemini.base_url,
        "model_attempts": 1,
        **settings,
    }
    made = Application(Settings.model_validate(given))
    try:
        yield made
    finally:
        made.close()


def test_the_report_says_who_took_over_and_from_whom(tmp_path: Path, gemini: FakeGemini, tavily: FakeTavily) -> None:
    gemini.fail("search", "429:40")
    key = SecretStr("tvly-k")
    with desk(tmp_path, gemini, tavily_key=key, tavily_url=tavily.base_url) as made:
        report = asked(made)
    answer = number_report_answer(report)
    assert answer is not None and len(answer.sources) == 3
    assert {finding.provider for finding in report.findings} == {"tavily"}
    assert [(f.source, f.reason, f.hint) for f in answer.answer.failures] == [("gemini", "quota", "minute")] * 2
    text = report_markdown(report, answer)
    assert "Tavily" in text and "Gemini" in text
    assert all(line in text for line in ("“雷峰塔的门票多少钱 历史”", "“雷峰塔的门票多少钱 现状”"))
    assert '"hint": "minute"' in report_json(report, answer)


def test_suggestions_reach_the_answer_once_each(tmp_path: Path, gemini: FakeGemini) -> None:
    with desk(tmp_path, gemini) as made:
        different = asked(made)
        usual = gemini.brain.grounded

        def alike(query: str) -> tuple[list[str], dict[str, Any] | None]:
            texts, metadata = usual(query)
            return texts, {**(metadata or {}), "searchEntryPoint": {"renderedContent": "<p>x</p>"}}

        gemini.brain.grounded = alike
        same = asked(made, "Another question about the tower?")
    assert different.answer is not None and same.answer is not None
    assert [finding.suggestions for finding in different.findings] == [*different.answer.suggestions]
    assert len(set(different.answer.suggestions)) == 2
    assert same.answer.suggestions == ("<p>x</p>",)


def test_no_link_of_a_search_is_ever_followed_by_a_run_or_an_export(tmp_path: Path, gemini: FakeGemini) -> None:
    with Site() as site:
        uri = f"http://127.0.0.1:{site.port}/grounding-api-redirect/"
        usual = gemini.brain.grounded

        def local(query: str) -> tuple[list[str], dict[str, Any] | None]:
            texts, metadata = usual(query)
            chunks = [{"web": {"uri": f"{uri}{n}", "title": "site.example"}} for n in range(3)]
            return texts, {**(metadata or {}), "groundingChunks": chunks}

        gemini.brain.grounded = local
        with desk(tmp_path, gemini, pages_per_search=5) as made:
            report = asked(made, loops=3)
        answer = number_report_answer(report)
        assert uri in report_markdown(report, answer) and uri in report_json(report, answer)
        assert (site.requests, site.connections) == ([], 0)


def test_a_redirect_is_shown_with_its_domain_and_said_to_expire(tmp_path: Path, gemini: FakeGemini) -> None:
    with desk(tmp_path, gemini) as made:
        report = asked(made)
    answer = number_report_answer(report)
    assert answer is not None and answer.sources
    assert all(source.evidence.url_expires for source in answer.sources)
    text = report_markdown(report, answer)
    assert "museum.example.org" in text and "链接约 30 天后失效" in text


def test_a_search_that_failed_for_all_lists_each_of_them(
    tmp_path: Path, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    gemini.fail("search", "429:40", matching="历史")
    tavily.status = 401
    key = SecretStr("tvly-k")
    with desk(tmp_path, gemini, tavily_key=key, tavily_url=tavily.base_url) as made:
        report = asked(made)
    assert report.answer is not None
    lost = [(f.source, f.reason) for f in report.answer.failures]
    assert lost == [("tavily", "refused"), ("web", "quota")]
    assert [finding.reason for finding in report.findings] == ["quota", None]


async def test_what_was_found_is_kept_when_its_summary_is_cut_off(
    web: Web, gemini: FakeGemini, tavily: FakeTavily
) -> None:
    gemini.fail("summarise", "hang")
    gate = WorkScope()
    async with by_tavily(tavily) as only:
        source = web.source(only, summarise=web.models.summarise)

        async def searched() -> Finding:
            async with gate.enter():
                return await source.search(TASK, ignore_event)

        search = asyncio.create_task(searched())
        await asyncio.to_thread(until, lambda: gemini.calls("summarise"))
        gate.close("seconds")
        gate.cancel()
        finding = await search
    assert (finding.reason, len(finding.evidence), finding.summary) == (None, 3, ())
    (failure,) = finding.failures
    assert (failure.reason, failure.stage) == ("left out", "summarise")
