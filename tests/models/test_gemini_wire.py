"""What goes to Gemini and comes from it as JSON, through the model and the client of its libraries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_google_genai import ChatGoogleGenerativeAI

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.prompting import Prompt
from research.models.roles import parse_spec
from tests.models.conftest import KEY, PROMPT, SCHEMA, Colour, Wire, loaded
from tests.servers.gemini import FakeGemini
from tests.tables import each_row

module_loop = pytest.mark.asyncio(loop_scope="module")
BODY = {
    "systemInstruction": {"parts": [{"text": PROMPT.system}]},
    "contents": [{"role": "user", "parts": [{"text": PROMPT.user}]}],
    "safetySettings": [],
}
ONE = {"candidateCount": 1}
TURNS: list[Any] = [SystemMessage("Be brief."), HumanMessage("塔有多高？")]
ARGUMENTS = {"type": "object", "properties": {"at": {"type": "object", "properties": {}}}}
LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": ARGUMENTS},
}


def answer(*parts: Any, **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP"} | more]}


async def act(chat: Chat, turns: list[Any]) -> AIMessage:
    return await chat.next_message(turns, [LOOK], "search", ignore_event)


# The model


@module_loop
async def test_all_models_are_langchain_s_and_share_the_one_client(gemini: Wire) -> None:
    clients = gemini.clients()
    first, second = [await clients.langchain_model(parse_spec(f"gemini:{name}")) for name in ("one", "two")]
    assert isinstance(first, ChatGoogleGenerativeAI) and isinstance(second, ChatGoogleGenerativeAI)
    assert first.client is second.client is await clients.gemini()
    assert await clients.langchain_model(parse_spec("gemini:one")) is first


@module_loop
async def test_nothing_in_the_environment_changes_where_a_model_is_asked(
    gemini: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = "http://127.0.0.1:9"
    for name, value in {
        "GOOGLE_API_KEY": "another-key",
        "LANGSMITH_GATEWAY": elsewhere,
        "LANGSMITH_GATEWAY_API_KEY": "another-key",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_API_VERSION": "v1",
        "GOOGLE_CLOUD_PROJECT": "project",
        "GOOGLE_CLOUD_LOCATION": "location",
        "GOOGLE_GEMINI_BASE_URL": elsewhere,
        "GOOGLE_VERTEX_BASE_URL": elsewhere,
    }.items():
        monkeypatch.setenv(name, value)
    clients = ModelClients(loaded({"GOOGLE_GEMINI_BASE_URL": gemini.server.base_url}))
    assert (await Chat(parse_spec("gemini:m"), clients).ask_text(PROMPT, "write", ignore_event)).text
    await clients.close()
    [call] = gemini.server.log
    assert call.path == "/v1beta/models/m:generateContent"
    assert call.headers["x-goog-api-key"] == KEY
    assert "another-key" not in str(call.headers)


_PRINTS = """
import asyncio, sys
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.roles import parse_spec
from research.core.events import ignore_event
from research.core.errors import ServiceError
from tests.models.conftest import PROMPT, loaded

async def main():
    own = {"GOOGLE_GEMINI_BASE_URL": sys.argv[1], "SIGHTLINE_MODEL_ATTEMPTS": "1"}
    clients = ModelClients(loaded(own))
    chat = Chat(parse_spec("gemini:gemini-3.5-flash-lite"), clients)
    for ask in (chat.ask_text, chat.stream_text):
        try:
            await ask(PROMPT, "write", ignore_event)
        except ServiceError as found:
            print(found.reason)
    await clients.close()

asyncio.run(main())
"""


@pytest.mark.slow
@each_row(
    ("body", "reasons"),
    [
        ({}, ["malformed"] * 2),
        ({"promptFeedback": {"blockReason": "NEWLY\nNAMED"}}, ["blocked"] * 2),
        (answer({"text": "Green."}, finishReason="NEWLY_NAMED"), []),
        (answer({"executableCode": {"code": "1", "language": "PYTHON"}}), ["malformed"] * 2),
        ({"candidates": answer({"text": "Green."})["candidates"] * 2}, []),
    ],
)
def test_the_libraries_print_nothing_on_the_terminal(body: Any, reasons: list[str]) -> None:
    with FakeGemini() as server:
        server.replay("any", body)
        command = [sys.executable, "-c", _PRINTS, server.base_url]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (run.stdout.split(), run.stderr) == (reasons, "")


# Requests


@module_loop
@pytest.mark.parametrize("name", ["some-model", "gemini-2.5-pro", "gemini-3.5-flash-lite"])
async def test_a_request_has_the_prompt_and_what_is_asked_for_and_no_parameter_of_sampling(
    gemini: Wire, name: str
) -> None:
    chat = gemini.chat(name, GEMINI_THINKING="low")
    await chat.ask_text(PROMPT, "write", ignore_event)
    await chat.stream_text(PROMPT, "write", ignore_event)
    await chat.ask_json(PROMPT, SCHEMA, Colour, "plan", ignore_event)
    thinking = {"thinkingConfig": {"thinking_level": "LOW"}}
    schema = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    plain = {**BODY, "generationConfig": {**ONE, **thinking}}
    assert [call.body for call in gemini.server.log] == [
        plain,
        plain,
        {**BODY, "generationConfig": {**ONE, **thinking, **schema}},
    ]
    assert {call.headers["x-goog-api-key"] for call in gemini.server.log} == {KEY}
    assert {call.headers["x-server-timeout"] for call in gemini.server.log} == {"25"}


@module_loop
@pytest.mark.parametrize("name", ["gemini-3.8-flash", "qwen3:8b", "a?key=b&c", "a b", "塔"])
async def test_a_name_is_part_of_the_path_whatever_is_in_it(gemini: Wire, name: str) -> None:
    await gemini.chat(name).ask_text(PROMPT, "write", ignore_event)
    path = unquote(gemini.server.log[0].path)
    assert path.partition("/models/")[2] == f"{name}:generateContent"


@module_loop
@pytest.mark.parametrize("version", ["gemini-3.8-flash", "gemini-2.5-pro", ""])
async def test_calls_go_back_with_their_signatures_and_what_the_tools_said_in_one_turn(
    gemini: Wire, version: str
) -> None:
    thought = {"text": "I look.", "thought": True, "thoughtSignature": "dGhvdWdodA=="}
    calls = [
        {"functionCall": {"name": "look", "args": {"at": {"n": 1}}, "id": "c1"}},
        {"functionCall": {"name": "look", "args": {"at": {"n": 2}}}},
    ]
    signature = {"thoughtSignature": "c2lnbmF0dXJl"}
    made = answer(thought, {"text": "Now."}, calls[0] | signature, calls[1])
    gemini.server.replay("any", made | {"modelVersion": version})
    chat = gemini.chat("gemini-3.8-flash")
    said = await act(chat, TURNS)
    assert said.text == "Now."
    assert [call["args"] for call in said.tool_calls] == [{"at": {"n": 1}}, {"at": {"n": 2}}]
    told = [
        ToolMessage(text, tool_call_id=call["id"], name="look")
        for text, call in zip(("one", "two"), said.tool_calls, strict=True)
    ]
    await act(chat, [*TURNS, said, *told, HumanMessage("And now?")])
    contents = gemini.server.log[-1].body["contents"]
    without_id = {"functionCall": {"name": "look", "args": {"at": {"n": 1}}}}
    results = [{"functionResponse": {"name": "look", "response": {"output": text}}} for text in ("one", "two")]
    assert contents[1:] == [
        {"role": "model", "parts": [thought, {"text": "Now."}, without_id | signature, calls[1]]},
        {"role": "user", "parts": results},
        {"role": "user", "parts": [{"text": "And now?"}]},
    ]


@module_loop
async def test_a_function_is_declared_with_the_schema_of_its_arguments_as_it_is(
    gemini: Wire,
) -> None:
    await act(gemini.chat(), TURNS)
    declared = {"name": "look", "description": "Looks.", "parameters_json_schema": ARGUMENTS}
    assert gemini.server.log[0].body["tools"] == [{"functionDeclarations": [declared]}]


# Answers


@module_loop
async def test_a_text_is_that_of_all_parts_that_are_no_thoughts(gemini: Wire) -> None:
    parts = ({"text": "Hm.", "thought": True}, {"text": "塔高"}, {"text": "45.9 米。\n"})
    gemini.server.replay("any", answer(*parts))
    chat = gemini.chat()
    assert (await chat.ask_text(PROMPT, "write", ignore_event)).text == "塔高45.9 米。"
    assert (await chat.stream_text(PROMPT, "write", ignore_event)).text == "塔高45.9 米。\n"


@module_loop
async def test_a_byte_order_mark_before_an_answer_is_no_part_of_it(gemini: Wire) -> None:
    gemini.server.fail("any", "bombody")
    assert (await gemini.colour(gemini.chat())).colour == "green"
    assert gemini.server.calls() == 1


def _usage(gemini: Wire) -> tuple[int, int, int]:
    used = gemini.heard.of("usage")
    gemini.heard.told.clear()
    names = ("input", "output", "cached")
    first, second, third = (sum(part[name] for part in used) for name in names)
    return first, second, third


@module_loop
async def test_the_usage_of_a_stream_is_that_of_the_same_answer_in_one_piece(gemini: Wire) -> None:
    gemini.server.cached = 5
    gemini.server.brain.answer = "word " * 60  # several chunks, each with all tokens so far
    prompt = Prompt("Follow the rules.", "<<<question q\nHow old is the tower?\nq question>>>")
    used = []
    for ask in (gemini.chat().ask_text, gemini.chat().stream_text):
        await ask(prompt, "write", gemini.heard)
        used.append(_usage(gemini))
    assert used[0] == used[1]
    assert all(used[0]) and used[0][2] == 5


@module_loop
async def test_thoughts_and_what_tools_have_read_are_counted(gemini: Wire) -> None:
    counts = {
        "promptTokenCount": 30,
        "toolUsePromptTokenCount": "120",
        "candidatesTokenCount": 90,
        "thoughtsTokenCount": 60,
    }
    gemini.server.replay("any", answer({"text": "Green."}) | {"usageMetadata": counts})
    for ask in (gemini.chat().ask_text, gemini.chat().stream_text):
        await ask(PROMPT, "write", gemini.heard)
        assert _usage(gemini) == (150, 150, 0)


@module_loop
async def test_an_end_whose_name_is_new_is_an_end(gemini: Wire) -> None:
    gemini.server.replay("any", answer({"text": "Green."}, finishReason="NEWLY_NAMED"))
    for ask in (gemini.chat().ask_text, gemini.chat().stream_text):
        assert (await ask(PROMPT, "write", ignore_event)).text == "Green."


async def _malformed(ask: Callable[[], Any]) -> None:
    with pytest.raises(ServiceError) as caught:
        await ask()
    assert caught.value.reason == "malformed"


@module_loop
async def test_a_call_whose_arguments_are_no_object_is_a_malformed_answer(gemini: Wire) -> None:
    call = {"functionCall": {"name": "look", "args": [1], "id": "c"}}
    gemini.server.replay("any", answer(call))
    await _malformed(lambda: act(gemini.chat(SIGHTLINE_MODEL_ATTEMPTS="1"), TURNS))


@module_loop
@pytest.mark.parametrize("body", [None, [], "text", 7, {}, {"candidates": [None]}, {"candidates": {}}])
async def test_json_that_is_no_answer_is_a_malformed_one(gemini: Wire, body: Any) -> None:
    chat = gemini.chat(SIGHTLINE_MODEL_ATTEMPTS="1")
    gemini.server.replay("any", body)
    for ask in (chat.ask_text, chat.stream_text):
        await _malformed(lambda: ask(Prompt("", PROMPT.user), "write", ignore_event))  # noqa: B023


@module_loop
async def test_json_within_an_answer_may_be_nested_too_deep(gemini: Wire) -> None:
    gemini.server.replay("any", answer({"text": "[" * 100_000}))
    chat = gemini.chat(SIGHTLINE_MODEL_ATTEMPTS="1")
    await _malformed(lambda: gemini.colour(chat))


_anything: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_call = st.fixed_dictionaries(
    {}, optional={"name": _anything, "args": _anything, "id": st.none() | st.text(max_size=4)}
)
_part = _anything | st.fixed_dictionaries(
    {}, optional={"text": _anything, "thought": _anything, "functionCall": _call | _anything}
)
_counts = st.dictionaries(
    st.sampled_from(["promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount"]),
    _anything,
)
_answer = _anything | st.fixed_dictionaries(
    {},
    optional={
        "candidates": st.lists(
            _anything
            | st.fixed_dictionaries(
                {},
                optional={
                    "content": st.fixed_dictionaries({"parts": st.lists(_part, max_size=3)}),
                    "finishReason": _anything,
                },
            ),
            max_size=2,
        ),
        "usageMetadata": _counts | _anything,
        "promptFeedback": _anything | st.fixed_dictionaries({"blockReason": _anything}),
    },
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=_answer)
@module_loop
async def test_whatever_comes_is_an_answer_or_a_trouble(gemini: Wire, body: Any) -> None:
    gemini.server.reset()
    gemini.server.replay("any", body)
    chat = gemini.chat(SIGHTLINE_MODEL_ATTEMPTS="1")
    for ask in (
        lambda: chat.ask_text(PROMPT, "write", ignore_event),
        lambda: chat.stream_text(PROMPT, "write", ignore_event),
        lambda: act(chat, TURNS),
    ):
        try:
            await ask()
        except ServiceError as found:
            assert found.reason in ("malformed", "blocked", "unavailable", "unreachable", "cut off")
