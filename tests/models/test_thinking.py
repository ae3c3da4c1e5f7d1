"""How much Gemini is to think: what is sent for each role, and what becomes of a refusal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from research.core.errors import ServiceError
from research.core.records import Stage
from research.models.chat import Chat
from research.sources.web.gemini import GeminiSearch
from tests.models.conftest import PROMPT, SCHEMA, Colour, Wire

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
PAGE = "https://example.org/a"
LEVELS = "low, write=high, search=medium"
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


async def asked(wire: Wire, chat: Chat, way: str, stage: Stage) -> Any:
    from langchain_core.messages import HumanMessage

    if way == "json":
        return await chat.ask_json(PROMPT, SCHEMA, Colour, stage, wire.heard)
    if way == "tools":
        return await chat.next_message([HumanMessage(PROMPT.user)], [TOOL], stage, wire.heard)
    ask = chat.ask_text if way == "text" else chat.stream_text
    return await ask(PROMPT, stage, wire.heard)


@pytest.mark.parametrize("way", ["json", "text", "stream", "tools"])
async def test_each_role_is_asked_with_its_level_of_thinking(gemini: Wire, way: str) -> None:
    chat = gemini.chat("gemini-3.8-flash", GEMINI_THINKING=LEVELS)
    stages: tuple[Stage, ...] = ("plan", "reflect", "check", "write", "summarise")
    for stage in stages:
        await asked(gemini, chat, way, stage)
    assert [level.upper() for level in gemini.server.levels] == [
        "LOW",
        "LOW",
        "LOW",
        "HIGH",
        "MEDIUM",
    ]


@pytest.mark.parametrize("way", ["json", "text", "stream", "tools"])
async def test_nothing_is_said_of_thinking_unless_it_is_set(gemini: Wire, way: str) -> None:
    await asked(gemini, gemini.chat("gemini-3.8-flash"), way, "plan")
    write_only = gemini.chat("gemini-3.8-flash", GEMINI_THINKING="write=high")
    await asked(gemini, write_only, way, "plan")
    assert gemini.server.levels == ["", ""]
    assert all("thinkingConfig" not in str(call.body) for call in gemini.server.log)


async def test_other_servers_are_sent_no_level(openai: Wire) -> None:
    await asked(openai, openai.chat(GEMINI_THINKING="high"), "text", "plan")
    assert "think" not in str(openai.server.log[0].body).lower()


@pytest.mark.parametrize("way", ["json", "text", "stream", "tools"])
async def test_a_model_that_refuses_levels_is_asked_without_from_then_on_and_that_is_told_once(
    gemini: Wire, way: str
) -> None:
    gemini.server.refuses = {"thinking"}
    chat = gemini.chat(f"without-levels-{way}", GEMINI_THINKING="low")
    for _ in range(2):
        await asked(gemini, chat, way, "plan")
    assert [bool(level) for level in gemini.server.levels] == [True, False, False]
    told = {"stage": "plan", "service": f"gemini:without-levels-{way}", "level": "low"}
    assert gemini.heard.of("thinking_unsupported") == [told]
    gemini.server.refuses = set()
    await asked(gemini, gemini.chat(f"another-{way}", GEMINI_THINKING="low"), way, "plan")
    assert gemini.server.levels[-1]


@pytest.mark.parametrize("fault", ["400tools", "400key", "500", "429bare"])
async def test_no_other_failure_is_blamed_on_the_level(gemini: Wire, fault: str) -> None:
    chat = gemini.chat("with-levels", GEMINI_THINKING="low", SIGHTLINE_MODEL_ATTEMPTS="1")
    gemini.server.fail("any", fault)
    with pytest.raises(ServiceError):
        await asked(gemini, chat, "text", "plan")
    gemini.server.fail("any", "ok")
    await asked(gemini, chat, "text", "reflect")
    assert all(gemini.server.levels)
    assert gemini.heard.of("thinking_unsupported") == []


async def test_a_schema_that_is_refused_beside_a_level_is_put_into_words_with_the_level(
    gemini: Wire,
) -> None:
    gemini.server.fail("any", "400schema", times=1)
    chat = gemini.chat("no-such-schema", GEMINI_THINKING="low")
    await asked(gemini, chat, "json", "plan")
    assert len(gemini.server.levels) == 2 and all(gemini.server.levels)


async def test_a_search_thinks_as_is_set_and_pages_are_opened_beside_it(gemini: Wire) -> None:
    clients = gemini.clients(GEMINI_THINKING="low, search=high", GEMINI_API_KEY="k", WEB_SEARCH_MODEL="deep")
    await GeminiSearch(clients, lambda: NOW).search(f"tower {PAGE}", gemini.heard)
    assert gemini.server.levels == ["HIGH"]


@pytest.mark.parametrize("refuses", [{"thinking"}, {"thinking", "pages"}])
async def test_a_search_goes_on_without_what_its_model_refuses(gemini: Wire, refuses: set[str]) -> None:
    gemini.server.refuses = refuses
    name = "searches-" + "-".join(sorted(refuses))
    clients = gemini.clients(GEMINI_THINKING="low", GEMINI_API_KEY="k", WEB_SEARCH_MODEL=name)
    for _ in range(2):
        found = await GeminiSearch(clients, lambda: NOW).search(f"tower {PAGE}", gemini.heard)
        assert found.evidence
    last = [name for tool in gemini.server.log[-1].body["tools"] for name in tool]
    assert last == ["googleSearch", *(["urlContext"] if "pages" not in refuses else [])]
    assert gemini.server.calls() == 2 + len(refuses)
    [told] = gemini.heard.of("thinking_unsupported")
    assert told == {"stage": "search", "service": f"gemini:{name}", "level": "low"}
