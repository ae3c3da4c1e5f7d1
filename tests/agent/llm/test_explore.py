"""The loop in which a model calls tools, over both wires: what it is told, and when it ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research.agent.llm.reasoner import ModelReasoner
from research.core import settings
from research.core.errors import ServiceError
from research.core.events import RunEvent, dump_event, ignore_event
from research.models.clients import ModelClients
from research.sources.places.server import specifications
from tests.servers import Server
from tests.servers.brain import Ask, ToolCall
from tests.servers.gemini import FakeGemini
from tests.servers.openai import FakeOpenAI

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
QUERY = "王府井附近的公园"
ROLES = ("QUERY_GENERATOR_MODEL", "REFLECTION_MODEL", "ANSWER_MODEL", "WEB_SEARCH_MODEL")
GEO = ToolCall("maps_geo", {"address": "王府井"})
WEATHER = ToolCall("maps_weather", {"city": "北京"})


@pytest.fixture(scope="module")
def wires() -> Iterator[dict[str, Server]]:
    with FakeGemini() as gemini, FakeOpenAI() as openai:
        yield {"gemini": gemini, "openai": openai}


@pytest.fixture(params=["gemini", "openai"])
def wire(request: pytest.FixtureRequest, wires: dict[str, Server]) -> Server:
    wires[request.param].reset()
    return wires[request.param]


class Tools:
    """Answers every call with what it was told to, and remembers them."""

    def __init__(self, said: Callable[[str], str] = lambda tool: '{"ok": 1}') -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._said = said

    async def __call__(self, tool: str, arguments: Mapping[str, Any]) -> str:
        self.calls.append((tool, dict(arguments)))
        return self._said(tool)


@pytest.fixture
async def llm(wire: Server, tmp_path: Path) -> AsyncIterator[ModelReasoner]:
    env = {"SIGHTLINE_MODEL_ATTEMPTS": "1", "GEMINI_API_KEY": "k"}
    env |= {"GOOGLE_GEMINI_BASE_URL": wire.base_url}
    if isinstance(wire, FakeOpenAI):
        env = {"OPENAI_BASE_URL": wire.base_url} | dict.fromkeys(ROLES, "openai:gpt-fake")
    clients = ModelClients(settings.load_settings(env | {"SIGHTLINE_MODEL_ATTEMPTS": "1"}, data_dir=tmp_path))
    yield ModelReasoner(clients, lambda: NOW)
    await clients.close()


async def explored(llm: ModelReasoner, tools: Tools, budget: int = 8, say: Any = ignore_event) -> None:
    await llm.explore(QUERY, specifications(), tools, budget, say)


def rounds(*made: Sequence[ToolCall]) -> Callable[[Ask], Sequence[ToolCall]]:
    """A model that asks for these calls, one message after the other, and then ends."""
    return lambda ask: made[len(ask.rounds)] if len(ask.rounds) < len(made) else ()


async def test_each_call_is_made_and_its_result_comes_back_between_fences(llm: ModelReasoner, wire: Server) -> None:
    seen: list[Ask] = []
    steps = rounds([GEO], [WEATHER])

    def caller(ask: Ask) -> Sequence[ToolCall]:
        seen.append(ask)
        return steps(ask)

    wire.brain.caller = caller
    tools = Tools(lambda tool: json.dumps({"of": tool}))
    await explored(llm, tools)
    assert tools.calls == [(GEO.name, GEO.args), (WEATHER.name, WEATHER.args)]
    assert wire.calls() == wire.calls("tools") == 3
    results = [call.result or "" for made in seen[-1].rounds for call in made]
    assert [text.splitlines()[1] for text in results] == ['{"of": "maps_geo"}', '{"of": "maps_weather"}']  # fmt: skip
    assert all(text.startswith("<<<result ") and text.endswith(" result>>>") for text in results)
    assert [ask.problem for ask in seen] == [""] * 3


async def test_what_tools_say_is_shortened_to_the_room_and_the_longest_first(llm: ModelReasoner, wire: Server) -> None:
    wire.brain.caller = rounds([GEO], [WEATHER], [WEATHER])
    long = json.dumps({"pois": [f"公园 {n}" for n in range(900)]}, ensure_ascii=False)
    wire.context, wire.wording = 4_096, "vllm"
    seen: list[dict[str, Any]] = []
    tools = Tools(lambda tool: long if tool == "maps_weather" else '{"location": "116.4,39.9"}')
    await explored(llm, tools, say=lambda event: seen.append(dump_event(event)[1]))
    assert [call.fault for call in wire.log].count("too long") <= 1
    assert '"116.4,39.9"' in wire.log[-1].prompt
    assert wire.log[-1].prompt.count("[…]") == 2
    assert len(seen) == 4


async def test_the_query_is_outside_text_and_the_date_and_the_budget_are_told(llm: ModelReasoner, wire: Server) -> None:
    await explored(llm, Tools(), budget=5)
    prompt = wire.log[0].prompt
    assert f"\n{QUERY}\n" in prompt
    assert "<<<query " in prompt
    assert "Today is 2026-11-21." in prompt
    assert "at most 5 calls" in prompt


async def test_all_tools_are_offered_with_their_required_arguments(llm: ModelReasoner, wire: Server) -> None:
    await explored(llm, Tools())
    body = json.dumps(wire.log[0].body)
    for tool in specifications():
        assert f'"{tool["function"]["name"]}"' in body
    assert '"origins"' in body
    assert '"required": ["location"]' in body


async def test_the_budget_ends_the_loop_whatever_the_model_wants(llm: ModelReasoner, wire: Server) -> None:
    wire.brain.caller = lambda ask: [WEATHER, GEO]
    tools = Tools()
    await explored(llm, tools, budget=5)
    assert wire.calls("tools") == 3  # two calls a message
    assert len(tools.calls) == 6  # the last message's calls are the tools' to refuse


async def test_a_model_without_calls_is_asked_once(llm: ModelReasoner, wire: Server) -> None:
    wire.fail("tools", "nocall")
    tools = Tools()
    await explored(llm, tools)
    assert (tools.calls, wire.calls()) == ([], 1)


async def test_calls_of_one_message_are_answered_in_its_order(llm: ModelReasoner, wire: Server) -> None:
    seen: list[Ask] = []
    steps = rounds([GEO, WEATHER, GEO])

    def caller(ask: Ask) -> Sequence[ToolCall]:
        seen.append(ask)
        return steps(ask)

    wire.brain.caller = caller
    count = iter(range(9))
    await explored(llm, Tools(lambda tool: f'{{"n": {next(count)}}}'))
    (made,) = seen[-1].rounds
    assert [call.name for call in made] == ["maps_geo", "maps_weather", "maps_geo"]
    assert [f'"n": {n}' in (call.result or "") for n, call in enumerate(made)] == [True] * 3


async def test_every_message_of_the_model_is_told_as_usage(llm: ModelReasoner, wire: Server) -> None:
    heard: list[dict[str, Any]] = []
    wire.brain.caller = rounds([GEO])

    def say(event: RunEvent, /) -> None:
        heard.append(event.model_dump(mode="json"))

    await explored(llm, Tools(), say=say)
    used = [item for item in heard if item["kind"] == "usage"]
    assert len(used) == 2
    assert {item["stage"] for item in used} == {"search"}
    assert all(item["input"] > 0 for item in used)


@pytest.mark.parametrize(
    ("fault", "reason"), [("400tools", "refused"), ("500", "unavailable"), ("html502", "unavailable")]
)  # fmt: skip
async def test_a_model_that_cannot_be_asked_is_a_trouble(
    llm: ModelReasoner, wire: Server, fault: str, reason: str
) -> None:
    wire.fail("tools", fault)
    with pytest.raises(ServiceError) as caught:
        await explored(llm, Tools())
    assert caught.value.reason == reason


async def test_arguments_that_are_no_json_are_told_and_cost_of_the_budget(
    wires: dict[str, Server], tmp_path: Path
) -> None:
    wire = wires["openai"]
    wire.reset()
    wire.fail("tools", "cutargs")
    wire.brain.caller = lambda ask: [GEO]
    env = {"OPENAI_BASE_URL": wire.base_url} | dict.fromkeys(ROLES, "openai:gpt-fake")
    clients = ModelClients(settings.load_settings(env, data_dir=tmp_path))
    tools = Tools()
    await explored(ModelReasoner(clients, lambda: NOW), tools, budget=3)
    await clients.close()
    assert (tools.calls, wire.calls("tools")) == ([], 3)
    assert "the arguments of this call are no JSON object" in json.dumps(wire.log[-1].body)
