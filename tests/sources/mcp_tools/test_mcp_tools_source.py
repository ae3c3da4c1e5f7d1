"""A server of tools as a source: what its tools say becomes evidence, with a model and without, and
whatever the server does costs a line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from research.agent.llm.reasoner import ModelReasoner
from research.citations.numbering import check_numbering, number_citations
from research.citations.registry import collect_evidence
from research.core import settings
from research.core.errors import ServiceError, register_secrets
from research.core.events import dump_event, ignore_event
from research.core.records import Answer, Finding, PassageReference, Span, Task
from research.core.tool_servers import ToolServer
from research.models.clients import ModelClients
from research.sources.mcp_tools import transports
from research.sources.mcp_tools.retriever import MISSING_SEARCH, MISSING_TOOLS, MCPRetriever
from research.sources.mcp_tools.session import ToolServerSession
from research.sources.mcp_tools.transports import build_sessions
from tests.fakes import until
from tests.servers import refused_url
from tests.servers.brain import Ask, ToolCall
from tests.servers.crooked import TOOL
from tests.servers.openai import FakeOpenAI
from tests.servers.processes import MARK, lacking, marked
from tests.servers.tools import FACTS, HOSTILE, Towers

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
SERVERS = Path(__file__).resolve().parents[2] / "servers"
KEY = "sentinel-mcp-0123456789"
SEARCH = {"tool": "find_towers", "argument": "query", "arguments": {"limit": 2}}
ROLES = ("QUERY_GENERATOR_MODEL", "REFLECTION_MODEL", "ANSWER_MODEL", "WEB_SEARCH_MODEL")
QUERY = "height of the old tower"
Explore = Callable[..., Any]
needs_proc = pytest.mark.skipif(bool(lacking()), reason=lacking())


def towers(**more: Any) -> dict[str, Any]:
    """An entry of the file for our server over stdio."""
    command = {"command": sys.executable, "args": [str(SERVERS / "tools.py")]}
    return {**command, "env": {"TOWERS_KEY": KEY}, "search": SEARCH, "title": "Towers", **more}


def crooked(mode: str, **more: Any) -> dict[str, Any]:
    command = {"command": sys.executable, "args": [str(SERVERS / "crooked.py"), mode]}
    search = {"tool": TOOL, "argument": "keywords"}
    return {**command, "tools": [TOOL], "search": search, "timeout": 2, **more}


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark for the processes of a test, none of which may outlive it."""
    made = uuid4().hex
    yield made
    try:
        until(lambda: not marked(made))
    finally:
        for pid in marked(made):
            os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def opened(
    folder: Path,
    entry: Mapping[str, Any],
    explore: Explore | None = None,
    mark: str = "",
    **more: Any,
) -> AsyncIterator[tuple[MCPRetriever, ToolServerSession]]:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"towers": entry}}), "utf-8")
    found = settings.load_settings({}, data_dir=folder)
    register_secrets(found.secrets)
    (server,) = found.servers
    session = build_sessions(found.servers, {MARK: mark} if mark else {})[server.source_name]
    try:
        yield MCPRetriever(server, session, explorer=explore, clock=lambda: NOW, **{"timeout_seconds": 30.0, **more}), session  # fmt: skip
    finally:
        await session.close()


async def searched(source: MCPRetriever, query: str = QUERY, say: Any = ignore_event) -> Finding:
    return await source.search(Task(id="1.1", source="mcp_towers", query=query), say)


async def failed(source: MCPRetriever) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await searched(source)
    return caught.value


async def soon(true: Callable[[], bool]) -> None:
    """Waits for a condition while the loop goes on."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - what is waited for happens in a process
            await asyncio.sleep(0.01)


def says(*rounds: Sequence[ToolCall]) -> Explore:
    """What explores as a model would that makes these calls, and notes what it was told."""

    async def explore(query, tools, call, budget, say, material):  # type: ignore[no-untyped-def]
        explore.tools, explore.material = tools, material  # type: ignore[attr-defined]
        explore.told = [await call(one.name, one.args) for calls in rounds for one in calls]  # type: ignore[attr-defined]

    return explore


# What is found


async def test_without_a_model_the_query_is_put_to_the_tool_that_the_file_names(tmp_path: Path, mark: str) -> None:
    events: list[dict[str, Any]] = []
    async with opened(tmp_path, towers(), mark=mark) as (source, _):
        found = await searched(source, say=lambda event: events.append(dict([dump_event(event)])))
    tool, link = found.evidence
    assert (tool.kind, tool.title, tool.publisher) == ("web", "Towers: find_towers", "Towers")
    assert (tool.url, tool.retrieved) == ("", NOW)
    assert tool.locator == f'mcp:towers/find_towers {{"limit": 2, "query": "{QUERY}"}}'
    assert [p.text for p in tool.passages] == [f"{FACTS} Asked: {QUERY}."]
    assert (link.url, link.title) == ("https://towers.example/old", "Towers: find_towers: Tower archive")  # fmt: skip
    assert "leans by two degrees" in link.passages[0].text
    assert (found.reason, found.failures, found.message) == (None, (), "")
    assert events == [{"tool_called": {"task": "1.1", "tool": "find_towers", "arguments": {"limit": "2", "query": QUERY}}}]  # fmt: skip


async def test_what_it_says_is_numbered_and_cited_like_everything_else(tmp_path: Path, mark: str) -> None:
    async with opened(tmp_path, towers(), mark=mark) as (source, _):
        found = await searched(source)
    item = found.evidence[0]
    cite = PassageReference(evidence=item.id, passage=item.passages[0].id)
    span = Span(kind="quote", text="It is 45 metres high.", references=(cite,))
    answer = Answer(title="T", language="en", author="digest", spans=(span,), created=NOW)
    cited = number_citations(answer, collect_evidence([found]))
    assert [one.evidence.title for one in cited.sources] == ["Towers: find_towers"]
    assert check_numbering(cited) == []


async def test_structured_content_and_resources_are_read_and_pictures_are_left_out(tmp_path: Path, mark: str) -> None:
    calls = [ToolCall("measure", {"name": "Old Tower"}), ToolCall("records", {"name": "Old Tower"})]
    async with opened(tmp_path, towers(), says(calls), mark) as (source, _):
        found = await searched(source)
    measured, record = found.evidence
    assert measured.passages[0].text == "name: Old Tower; height: 45"
    assert (record.url, record.locator) == ("", "mcp:towers memo://towers/old")
    assert record.passages[0].text == "The Old Tower was restored in 1978."
    assert found.message == "Left out: a picture, a non-text file"


async def test_what_is_endless_is_cut_into_few_passages(tmp_path: Path, mark: str) -> None:
    explore = says([ToolCall("endless", {})])
    async with opened(tmp_path, towers(), explore, mark, max_passages=3) as (source, _):
        (item,) = (await searched(source, "line 7 of the tower")).evidence
    assert len(item.passages) == 3
    assert all(len(passage.text) <= 900 for passage in item.passages)
    assert len(explore.told[0]) <= 8_000  # type: ignore[attr-defined]


# A model


async def test_a_model_has_the_tools_that_only_read_and_no_word_of_theirs_outside_the_fence(
    tmp_path: Path, mark: str
) -> None:
    explore = says([ToolCall("write_note", {"text": "x"}), ToolCall("undeclared", {})])
    async with opened(tmp_path, towers(search=None), explore, mark) as (source, _):
        assert (await searched(source)).reason == "empty"
    names = [tool["function"]["name"] for tool in explore.tools]  # type: ignore[attr-defined]
    assert names[:8] == ["find_towers", "measure", "records", "hostile", "environment", "endless", "fails", "slow"]  # fmt: skip
    assert not {"write_note", "undeclared"} & {*names}
    assert all("there is no tool" in told for told in explore.told)  # type: ignore[attr-defined]
    assert HOSTILE not in json.dumps(explore.tools)  # type: ignore[attr-defined]
    assert HOSTILE in explore.material  # type: ignore[attr-defined]


async def test_the_file_may_name_other_tools(tmp_path: Path, mark: str) -> None:
    explore = says([ToolCall("write_note", {"text": "x"}), ToolCall("measure", {"name": "x"})])
    entry = towers(search=None, tools=["write_note", "gone"])
    async with opened(tmp_path, entry, explore, mark) as (source, _):
        (item,) = (await searched(source)).evidence
        assert source.readiness().detail == "write_note"
    assert item.title == "Towers: write_note"


async def test_the_budget_of_calls_is_kept(tmp_path: Path, mark: str) -> None:
    explore = says([ToolCall("measure", {"name": str(n)}) for n in range(5)])
    async with opened(tmp_path, towers(calls=2), explore, mark) as (source, _):
        found = await searched(source)
    assert len(found.evidence) == 2
    assert ["budget" in told for told in explore.told] == [False, False, True, True, True]  # type: ignore[attr-defined]


async def test_a_real_model_calls_the_tools_and_reads_them_as_material(tmp_path: Path, mark: str) -> None:
    asks: list[Ask] = []

    def caller(ask: Ask) -> list[ToolCall]:
        asks.append(ask)
        return [] if ask.rounds else [ToolCall("find_towers", {"query": "old tower"})]

    with FakeOpenAI() as model:
        model.brain.caller = caller
        env = {"OPENAI_BASE_URL": model.base_url} | dict.fromkeys(ROLES, "openai:gpt-fake")
        clients = ModelClients(settings.load_settings(env, data_dir=tmp_path / "m"))
        explore = ModelReasoner(clients, lambda: NOW).explore
        async with opened(tmp_path, towers(search=None), explore, mark) as (source, _):
            found = await searched(source)
        await clients.close()
        log = [json.dumps(call.body, ensure_ascii=False) for call in model.log]
    assert [item.title for item in found.evidence] == ["Towers: find_towers", "Towers: find_towers: Tower archive"]  # fmt: skip
    assert len(asks) == 2
    body = json.loads(log[0])
    system, user = (message["content"] for message in body["messages"][:2])
    assert HOSTILE not in system and HOSTILE not in json.dumps(body["tools"])
    fence = user.partition("<<<tools ")[2].partition("tools>>>")[0]
    assert HOSTILE in fence and user.count(HOSTILE) == 1
    said = [m["content"] for m in json.loads(log[1])["messages"] if m["role"] == "tool"]
    assert said[0].startswith("<<<result ") and FACTS in said[0]


@pytest.mark.slow
async def test_where_the_model_fails_the_tool_of_the_file_is_asked(tmp_path: Path, mark: str) -> None:
    async def explore(*_: Any) -> None:
        raise ServiceError("quota", "no more today")

    async with opened(tmp_path, towers(), explore, mark) as (source, _):
        found = await searched(source)
    assert found.evidence[0].title == "Towers: find_towers"
    assert [failure.reason for failure in found.failures] == ["quota"]
    async with opened(tmp_path, towers(search=None), explore, mark) as (source, _):
        assert (await failed(source)).reason == "quota"


@pytest.mark.slow
async def test_a_model_that_takes_too_long_keeps_what_it_has(tmp_path: Path, mark: str) -> None:
    explore = says([ToolCall("measure", {"name": "x"}), ToolCall("slow", {})])
    async with opened(tmp_path, towers(timeout=60), explore, mark, timeout_seconds=4.0) as (source, _):
        found = await searched(source)
    assert [item.title for item in found.evidence] == ["Towers: measure"]
    assert [failure.reason for failure in found.failures] == ["timeout"]


# What it says of itself


@pytest.mark.slow
async def test_it_says_what_it_can_do(tmp_path: Path, mark: str) -> None:
    async with opened(tmp_path, towers(search=None)) as (source, _):
        assert (source.readiness().state, source.readiness().detail) == ("missing", MISSING_SEARCH)
    async with opened(tmp_path, towers(), mark=mark) as (source, session):
        assert source.readiness().state == "live"
        await source.warm()
        await soon(lambda: bool(session.tools))
        told = "find_towers, measure, records, hostile, environment +6"
        assert (source.readiness().state, source.readiness().detail) == ("live", told)
    async with opened(tmp_path, towers(tools=[], search=None), says(), mark) as (source, _):
        trouble = await failed(source)
        assert trouble.reason == "refused" and "none of its tools says" in trouble.message
        assert (source.readiness().state, source.readiness().detail) == ("missing", MISSING_TOOLS)


# Secrets


async def test_no_secret_of_its_own_comes_back_in_what_it_says(
    tmp_path: Path, mark: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    events: list[Any] = []
    explore = says([ToolCall("environment", {}), ToolCall("measure", {"name": KEY})])
    async with opened(tmp_path, towers(), explore, mark) as (source, _):
        found = await searched(source, say=lambda event: events.append(dump_event(event)[1]))
    assert "TOWERS_KEY=•••" in found.evidence[0].passages[0].text
    everything = found.model_dump_json() + caplog.text + "".join(explore.told)  # type: ignore[attr-defined]
    assert KEY not in everything + str(events)
    assert "towers: a complaint •••" in caplog.text
    said = capfd.readouterr()
    assert "a complaint" not in said.out + said.err


# Servers that go wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("silent", "timeout"),
        ("exits", "unavailable"),
        ("dies", "unavailable"),
        ("sleepy", "timeout"),
    ],
)
async def test_a_server_that_goes_wrong_costs_a_reason(mode: str, reason: str, tmp_path: Path, mark: str) -> None:
    async with opened(tmp_path, crooked(mode), mark=mark) as (source, _):
        trouble = await failed(source)
        assert trouble.reason == reason
        assert "towers" in trouble.message or TOOL in trouble.message
        if mode in ("silent", "exits"):
            assert source.readiness().state == "missing"
            assert source.readiness().detail == trouble.message


@pytest.mark.parametrize("mode", ["junk", "bytes", "flood", "html"])
async def test_what_breaks_the_protocol_is_passed_over_or_read_as_text(mode: str, tmp_path: Path, mark: str) -> None:
    async with opened(tmp_path, crooked(mode, timeout=10), mark=mark) as (source, _):
        found = await searched(source)
    assert (found.reason, bool(found.evidence)) == ((None, True) if mode == "html" else ("empty", False))  # fmt: skip
    assert found.failures == ()


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["shouts", "babbles", "chatters", "slow"])
async def test_one_that_never_stops_talking_costs_a_deadline_and_no_line_of_the_log(
    tool: str, tmp_path: Path, mark: str, caplog: pytest.LogCaptureFixture
) -> None:
    entry = towers(search={"tool": tool, "argument": "x"}, timeout=2)
    async with opened(tmp_path, entry, mark=mark) as (source, _):
        assert (await failed(source)).reason == "timeout"
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


async def test_an_error_of_a_tool_is_a_reason_and_its_words_are_bounded(tmp_path: Path, mark: str) -> None:
    entry = towers(search={"tool": "fails", "argument": "x"})
    async with opened(tmp_path, entry, mark=mark) as (source, _):
        trouble = await failed(source)
    assert trouble.reason == "refused"
    assert "the archive is shut" in trouble.message and len(trouble.message) <= 300


async def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    entry = {"command": str(tmp_path / "nobody"), "search": SEARCH}
    async with opened(tmp_path, entry) as (source, _):
        assert (await failed(source)).reason in ("unavailable", "unreachable")
        assert source.readiness().state == "missing"


@needs_proc
async def test_no_process_outlives_its_session(tmp_path: Path, mark: str) -> None:
    async with opened(tmp_path, towers(), mark=mark) as (source, _):
        await searched(source)
        assert marked(mark, "tools.py")
    await soon(lambda: not marked(mark))


# Over HTTP


async def test_a_server_at_an_address_is_asked_with_its_headers(tmp_path: Path) -> None:
    with Towers() as server:
        entry = {"url": server.url, "headers": {"X-Key": KEY}, "search": SEARCH, "title": "Towers"}
        async with opened(tmp_path, entry) as (source, _):
            found = await searched(source)
        assert FACTS in found.evidence[0].passages[0].text
        assert {given.get("x-key") for given in server.headers} == {KEY}
    assert KEY not in found.model_dump_json()


@pytest.mark.slow
@pytest.mark.parametrize(("streams", "reason"), [(True, "timeout"), (False, "too large")])
async def test_an_answer_that_is_too_long_is_not_read(
    streams: bool, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "MAX_RESPONSE_BYTES", 200_000)
    with Towers(streams=streams) as server:
        entry = {"url": server.url, "search": {"tool": "endless", "argument": "x"}, "timeout": 3}
        async with opened(tmp_path, entry) as (source, _):
            assert (await failed(source)).reason == reason


async def test_an_address_where_nobody_is_cannot_be_reached(tmp_path: Path) -> None:
    entry = {"url": f"{refused_url()}/mcp", "headers": {"X-Key": KEY}, "search": SEARCH}
    async with opened(tmp_path, entry) as (source, _):
        trouble = await failed(source)
    assert trouble.reason == "unreachable"


def test_a_server_is_described_by_its_file_as_material() -> None:
    from research.sources.mcp_tools import build_sources

    (source,) = build_sources([ToolServer(name="a", command="b", title="Towers", about="towers, old")])
    assert (source.name, source.prompt_phrase, source.is_external) == ("mcp_a", "towers, old", True)
    (source,) = build_sources([ToolServer(name="a", command="b")])
    assert source.prompt_phrase == "the tools of the MCP server a"
