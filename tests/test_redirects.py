"""Nobody who carries a key, a prompt or a query follows a redirect: what was meant for one address
reaches no other, and whoever set the address is told where it leads.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from research.core.errors import ServiceError, error_from_status
from research.core.events import ignore_event
from research.core.providers import search_services
from research.core.records import RunOptions
from research.core.settings import Settings
from research.core.tool_servers import ToolServer
from research.core.tracing import TraceExporter
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.models.chat import Chat
from research.models.clients import ModelClients, _google_client_args
from research.models.errors import classify_error
from research.models.roles import ModelSpec, parse_spec
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.remote_run_manager import RemoteRunManager
from research.sources.mcp_tools import session, transports
from research.sources.news.gdelt import GDELT
from research.sources.news.search_tools import NewsRequest
from research.sources.news.tavily import TavilyNews
from research.sources.papers.arxiv import ArXiv
from research.sources.papers.crossref import Crossref
from research.sources.papers.openalex import OpenAlex
from research.sources.papers.pubmed import PubMed
from research.sources.places.amap import AmapBackend
from research.sources.places.amap_sessions import AmapSession, session_factory
from research.sources.web.deep_research import DeepResearch
from research.sources.web.gemini import GeminiSearch
from research.sources.web.json_search import JSONSearch
from research.sources.web.searxng import SearXNG
from research.sources.web.tavily import Tavily
from research.sources.web.wikipedia import Wikipedia
from tests.fakes import ScriptedReasoner, ScriptedSource, resources
from tests.models.conftest import ADDRESSES, PROMPT, SCHEMA, Colour, loaded
from tests.servers.detour import STATUSES, Detour
from tests.servers.site import identity
from tests.tables import each_row

KEY = "sentinel-key-0123456789"
SETTINGS = {
    "GEMINI_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
    "DEEPSEEK_API_KEY": KEY,
    "QUERY_ENGINE_API_KEY": KEY,
    "SIGHTLINE_MODEL_TIMEOUT": "30",  # more than a busy machine takes
}
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
module_loop = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def detour() -> Iterator[Detour]:
    with Detour() as server:
        yield server


def _sent(detour: Detour, status: int) -> Detour:
    detour.status = status
    detour.asked.clear()
    detour.caught.clear()
    return detour


def _held(detour: Detour, found: ServiceError, *told: str) -> None:
    """What has to be true after a client was sent on."""
    assert detour.caught == []
    assert len(detour.asked) == 1  # another attempt would be sent on again
    assert (found.reason, found.is_retryable) == ("redirected", False)
    assert f"HTTP {detour.status}" in found.message
    assert detour.target.removeprefix("http://") in found.message
    assert KEY not in found.message
    assert all(text in found.message for text in told)


# Models

SPECS = {
    "gemini": parse_spec("gemini:m"),
    "openai": parse_spec("openai:m"),
    "ollama": parse_spec("ollama:m"),
    "anthropic": parse_spec("anthropic:m"),
    "deepseek": parse_spec("deepseek:m"),
    "report": ModelSpec("openai", "m", is_report_server=True),
}
WHERE = ADDRESSES | {"report": "QUERY_ENGINE_BASE_URL", "deepseek": "DEEPSEEK_BASE_URL"}
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


async def text(chat: Chat) -> None:
    await chat.ask_text(PROMPT, "write", ignore_event)


async def stream(chat: Chat) -> None:
    await chat.stream_text(PROMPT, "write", ignore_event)


async def json(chat: Chat) -> None:
    await chat.ask_json(PROMPT, SCHEMA, Colour, "plan", ignore_event)


async def tools(chat: Chat) -> None:
    from langchain_core.messages import HumanMessage

    await chat.next_message([HumanMessage(PROMPT.user)], [TOOL], "search", ignore_event)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(detour: Detour) -> AsyncIterator[ModelClients]:
    made = ModelClients(loaded(SETTINGS | dict.fromkeys(WHERE.values(), detour.base_url)))
    yield made
    await made.close()


@pytest.mark.slow
@module_loop
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("way", [text, stream, json, tools])
@pytest.mark.parametrize("name", list(SPECS))
async def test_a_model_that_is_elsewhere_is_not_looked_for_there(
    detour: Detour, clients: ModelClients, name: str, way: Callable[[Chat], Awaitable[None]], status: int
) -> None:
    _sent(detour, status)
    with pytest.raises(ServiceError) as caught:
        await way(Chat(SPECS[name], clients))
    _held(detour, caught.value, WHERE[name], f"{SPECS[name]}: ")


@module_loop
@pytest.mark.parametrize("status", STATUSES)
async def test_a_search_with_google_is_not_sent_on(detour: Detour, clients: ModelClients, status: int) -> None:
    _sent(detour, status)
    with pytest.raises(ServiceError) as caught:
        await GeminiSearch(clients, lambda: NOW).search("tower", ignore_event)
    _held(detour, caught.value, "GOOGLE_GEMINI_BASE_URL")


@module_loop
@pytest.mark.parametrize("status", STATUSES)
async def test_a_task_for_an_agent_is_not_sent_on_and_nor_is_asking_after_it(
    detour: Detour, clients: ModelClients, status: int
) -> None:
    agent = DeepResearch(clients, lambda: NOW)
    for call in (lambda: agent.search("tower", ignore_event), lambda: agent._wait_for_task("v1_task")):
        _sent(detour, status)
        with pytest.raises(ServiceError) as caught:
            await call()
        _held(detour, caught.value, "GOOGLE_GEMINI_BASE_URL")


@module_loop
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("name", list(SPECS))
async def test_the_libraries_own_blocking_calls_are_not_sent_on_either(
    detour: Detour, clients: ModelClients, name: str, status: int
) -> None:
    model: Any = await clients.langchain_model(SPECS[name])
    for call in (lambda: model.invoke("hello"), lambda: list(model.stream("hello"))):
        _sent(detour, status)
        with pytest.raises(Exception) as caught:
            await asyncio.to_thread(call)
        _held(detour, classify_error(caught.value, SPECS[name]), WHERE[name])


@module_loop
@pytest.mark.parametrize("status", STATUSES)
async def test_google_s_blocking_client_is_not_sent_on_either(
    detour: Detour, clients: ModelClients, status: int
) -> None:
    models = (await clients.gemini()).models
    for call in (models.generate_content, lambda **a: list(models.generate_content_stream(**a))):
        _sent(detour, status)
        with pytest.raises(Exception) as caught:
            await asyncio.to_thread(call, model="m", contents="hello")
        _held(detour, classify_error(caught.value, SPECS["gemini"]))


_WITHOUT_AIOHTTP = """
import asyncio, sys
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.roles import parse_spec
from research.core.events import ignore_event
from research.core.records import RunOptions
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.remote_run_manager import RemoteRunManager
from research.core.settings import Settings
from research.sources.web.gemini import GeminiSearch
from research.core.errors import ServiceError, error_from_status
from tests.models.conftest import PROMPT, loaded

sys.modules["aiohttp"] = None  # as where it is not installed: Google's library falls back to httpx

async def main():
    clients = ModelClients(loaded({"GEMINI_API_KEY": sys.argv[1], "GOOGLE_GEMINI_BASE_URL": sys.argv[2]}))
    chat = Chat(parse_spec("gemini:m"), clients)
    for call in (
        chat.ask_text(PROMPT, "write", ignore_event),
        chat.stream_text(PROMPT, "write", ignore_event),
        GeminiSearch(clients, lambda: __import__("datetime").datetime.now()).search("x", ignore_event),
    ):
        try:
            await call
        except ServiceError as found:
            print(found.reason)
    assert not any(name.startswith("aiohttp.") for name in sys.modules)
    await clients.close()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("status", [302, 307])
def test_without_aiohttp_gemini_is_not_sent_on_either(detour: Detour, status: int) -> None:
    _sent(detour, status)
    command = [sys.executable, "-c", _WITHOUT_AIOHTTP, KEY, detour.base_url]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.stdout.split() == ["redirected"] * 3, run.stderr
    assert (len(detour.asked), detour.caught) == (3, [])


@pytest.mark.parametrize("name", list(SPECS))
async def test_no_model_follows_out_of_encryption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    server, _ = identity(tmp_path, ["localhost"])
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "site.pem"))
    monkeypatch.setattr("research.models.clients._google_client_args", _google_client_args.__wrapped__)  # reads it anew
    with Detour(tls=server) as secure:
        clients = ModelClients(loaded(SETTINGS | {WHERE[name]: secure.base_url}))
        for way in (text, stream):
            _sent(secure, 307)
            with pytest.raises(ServiceError) as caught:
                await way(Chat(SPECS[name], clients))
            _held(secure, caught.value)
        await clients.close()


# Searches, places, runs and traces


def _hosted(url: str) -> AmapSession:
    given = {"amap_mcp": f"{url}/mcp", "amap_key": SecretStr(KEY), "data_dir": Path("unused")}
    return AmapSession(session_factory(Settings.model_validate(given)), 10)


def _tools(url: str) -> session.ToolServerSession:
    headers = {"Authorization": SecretStr(f"Bearer {KEY}")}
    server = ToolServer(name="far", url=f"{url}/mcp", headers=headers)
    return session.ToolServerSession(transports.session_factory(server, {}), 10, "the MCP server far")


SERVICES: dict[str, tuple[Callable[[str], Any], Callable[[Any], Awaitable[Any]]]] = {
    "tavily": (lambda url: Tavily(KEY, base_url=url), lambda it: it.search("tower", ignore_event)),
    "tavily-news": (
        lambda url: TavilyNews(KEY, base_url=url),
        lambda it: it.search("tower", NewsRequest(), ignore_event),
    ),
    "searxng": (
        lambda url: SearXNG(url.replace("://", f"://me:{KEY}@")),
        lambda it: it.search("tower", ignore_event),
    ),
    **{
        name: (
            lambda url, one=one: JSONSearch(one, KEY, url=url),
            lambda it: it.search("tower", ignore_event),
        )
        for name, one in search_services().items()
    },
    "wikipedia": (lambda url: Wikipedia(base_url=url), lambda it: it.search("tower", ignore_event)),
    "gdelt": (
        lambda url: GDELT(is_enabled=True, base_url=url, rate_limiter=RateLimiter(0, lambda: 0.0)),
        lambda it: it.search("tower", NewsRequest(), ignore_event),
    ),
    **{
        name: (
            lambda url, make=make: make(ServiceClient(url)),
            lambda it: it.search("tower", 3, ignore_event),
        )
        for name, make in (
            ("openalex", OpenAlex),
            ("crossref", Crossref),
            ("arxiv", lambda client: ArXiv(client, RateLimiter(0))),
            ("pubmed", lambda client: PubMed(client, RateLimiter(0))),
        )
    },
    "amap": (lambda url: AmapBackend(KEY, base_url=url), lambda it: it.geocode("tower")),
    "mcp": (_tools, lambda it: it.call_tool("search", {"query": "tower"})),
    "amap-mcp": (_hosted, lambda it: it.call("maps_geo", {"address": "tower"})),
}


@pytest.mark.slow
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("name", list(SERVICES))
async def test_a_service_that_is_elsewhere_is_not_looked_for_there(detour: Detour, name: str, status: int) -> None:
    _sent(detour, status)
    make, ask = SERVICES[name]
    service = make(detour.base_url)
    with pytest.raises(ServiceError) as caught:
        await ask(service)
    await service.close()
    _held(detour, caught.value)


@pytest.mark.parametrize("status", STATUSES)
def test_a_run_server_that_is_elsewhere_is_not_looked_for_there(detour: Detour, status: int, tmp_path: Path) -> None:
    _sent(detour, status)
    given = {"runs_url": detour.base_url, "runs_key": SecretStr(KEY), "data_dir": tmp_path}
    runs = RemoteRunManager(resources(Settings.model_validate(given), ScriptedReasoner(), {}))
    [check] = runs.run_on_loop(runs.check_connection())
    runs.close()
    assert KEY in detour.asked[0]
    assert detour.caught == []
    assert check.failure


@pytest.mark.parametrize("status", STATUSES)
def test_traces_are_not_sent_on_and_whoever_set_the_collector_is_told(
    detour: Detour,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _sent(detour, status)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-honeycomb-team={KEY}")
    traces = TraceExporter(f"{detour.base_url}/v1/traces")
    source = ScriptedSource()
    given = Settings.model_validate({"data_dir": tmp_path})
    runs = LocalRunManager(resources(given, ScriptedReasoner(), {source.name: source}, traces=traces))
    run = runs.start("How old is the tower?", options=RunOptions(loops=1, sources=("web",)))
    for _ in runs.follow(run.id):
        pass
    runs.close()
    assert detour.asked and KEY in detour.asked[0]
    assert detour.caught == []
    assert "does not take the traces" in caplog.text


# What is told of it


@each_row(
    ("location", "told"),
    [
        ("https://other.example:8443/v1?key=secret", " to https://other.example:8443; "),
        ("//other.example/v1", " to //other.example; "),
        ("https://me:secret@other.example/", " to https://other.example; "),
        ("https://[2001:db8::1]/", " to https://[2001:db8::1]; "),
        ("https://<b>other.example/", " redirects; "),
        ("/elsewhere", " redirects; "),
        ("", " redirects; "),
    ],
)
def test_of_where_a_redirect_leads_only_the_host_is_told(location: str, told: str) -> None:
    found = error_from_status(308, "Amap", {"location": location})
    assert found.reason == "redirected"
    assert told in found.message
    assert "secret" not in found.message
