"""What goes to Gemini and comes from it as JSON, through google-genai's own client, over loopback.

The first tests hold what we rely on in that library and its documentation does not promise.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from google.genai import errors
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from research.models.calls import Chat, Prompt
from research.models.gemini import Gemini, _body, _calls, _first, _less, _meta, _text, _usage
from research.models.ways import at_level
from research.trouble import Trouble
from tests.models.conftest import KEY, PROMPT, SCHEMA, Wire

module_loop = pytest.mark.asyncio(loop_scope="module")
TOLD: list[Any] = [SystemMessage("Be brief."), HumanMessage("塔有多高？")]
BODY = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [{"role": "user", "parts": [{"text": "塔有多高？"}]}],
}
LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
}


async def model(gemini: Wire, name: str = "some-model") -> Gemini:
    return Gemini(await gemini.clients().gemini(), name)


# What we rely on in google-genai


@module_loop
async def test_the_client_sends_a_dict_as_it_is_to_the_address_with_the_key(gemini: Wire) -> None:
    client: Any = (await gemini.clients().gemini())._api_client
    response = await client.async_request("post", "models/m:generateContent", dict(BODY))
    assert json.loads(response.body)["candidates"][0]["finishReason"] == "STOP"
    [call] = gemini.server.log
    assert call.path == "/v1beta/models/m:generateContent"
    assert call.body == BODY
    assert call.headers["x-goog-api-key"] == KEY
    assert call.headers["x-server-timeout"] == "25"


@module_loop
async def test_the_client_gives_each_chunk_of_a_stream_as_json(gemini: Wire) -> None:
    client: Any = (await gemini.clients().gemini())._api_client
    path = "models/m:streamGenerateContent?alt=sse"
    chunks = await client.async_request_streamed("post", path, dict(BODY))
    bodies = [json.loads(chunk.body) async for chunk in chunks]
    assert len(bodies) > 1
    assert all(isinstance(body["candidates"], list) for body in bodies)
    assert gemini.server.log[0].body == BODY


@module_loop
@pytest.mark.parametrize("method", ["async_request", "async_request_streamed"])
async def test_the_client_raises_what_the_service_refuses(gemini: Wire, method: str) -> None:
    client: Any = (await gemini.clients().gemini())._api_client
    gemini.server.fail("any", "429:7")
    with pytest.raises(errors.ClientError) as caught:
        await getattr(client, method)("post", "models/m:generateContent", dict(BODY))
    assert caught.value.code == 429
    assert caught.value.details["error"]["details"][-1]["retryDelay"] == "7s"
    assert gemini.server.calls() == 1  # it repeats nothing by itself


@module_loop
async def test_the_client_raises_an_error_in_the_middle_of_a_stream(gemini: Wire) -> None:
    gemini.server.fail("any", "miderror")
    heard: list[str] = []
    with pytest.raises(errors.ServerError) as caught:
        async for piece in (await model(gemini)).astream(TOLD):
            heard.append(piece.text)
    assert caught.value.code == 503
    assert any(heard)


# Requests


@module_loop
async def test_a_request_has_the_messages_and_what_is_bound_and_nothing_else(gemini: Wire) -> None:
    wanted = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    wanted |= at_level("low")
    await (await model(gemini)).ainvoke(TOLD, None, **wanted)
    async for _ in (await model(gemini)).astream(TOLD):
        pass
    first, second = gemini.server.log
    assert first.body == {**BODY, "generationConfig": wanted}
    assert wanted["thinkingConfig"] == {"thinkingLevel": "LOW"}
    assert second.body == BODY


@module_loop
@pytest.mark.parametrize("name", ["gemini-3.8-flash", "qwen3:8b", "a?key=b&c", "a b", "塔"])
async def test_a_name_is_part_of_the_path_whatever_is_in_it(gemini: Wire, name: str) -> None:
    await (await model(gemini, name)).ainvoke(TOLD)
    path = unquote(gemini.server.log[0].path)
    assert path.partition("/models/")[2] == f"{name}:generateContent"


@module_loop
async def test_calls_go_back_as_they_came_and_what_the_tools_said_in_one_turn(gemini: Wire) -> None:
    parts = [
        {"text": "I look.", "thought": True},
        {"functionCall": {"name": "look", "args": {"at": 1}, "id": "c1"}, "thoughtSignature": "s="},
        {"functionCall": {"name": "look", "args": {"at": 2}}},
    ]
    content = {"role": "model", "parts": parts}
    gemini.server.replay("any", {"candidates": [{"content": content, "finishReason": "STOP"}]})
    bound = (await model(gemini)).bind_tools([LOOK])
    said = await bound.ainvoke(TOLD)
    assert [(call["id"], call["args"]) for call in said.tool_calls] == [
        ("c1", {"at": 1}),
        (None, {"at": 2}),
    ]
    answers = [
        ToolMessage("one", tool_call_id="c1", name="look"),
        ToolMessage("two", tool_call_id="look", name="look"),
    ]
    await bound.ainvoke([*TOLD, said, *answers, HumanMessage("And now?")])
    body = gemini.server.log[-1].body
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "look",
                    "description": "Looks.",
                    "parametersJsonSchema": {"type": "object"},
                }
            ]
        }
    ]
    told = [
        {"functionResponse": {"id": "c1", "name": "look", "response": {"output": "one"}}},
        {"functionResponse": {"name": "look", "response": {"output": "two"}}},
    ]
    assert body["contents"][1:] == [
        content,
        {"role": "user", "parts": told},
        {"role": "user", "parts": [{"text": "And now?"}]},
    ]


def test_what_a_model_said_without_calls_is_its_turn() -> None:
    body = _body([HumanMessage("Hello"), AIMessage("Good day")], (), {})
    assert [content["role"] for content in body["contents"]] == ["user", "model"]


# Answers


@module_loop
async def test_usage_of_a_stream_is_what_each_chunk_adds(gemini: Wire) -> None:
    gemini.server.cached = 5
    pieces = [piece async for piece in (await model(gemini)).astream(TOLD)]
    client: Any = (await gemini.clients().gemini())._api_client
    path = "models/m:streamGenerateContent?alt=sse"
    told = [
        json.loads(chunk.body)
        async for chunk in await client.async_request_streamed("post", path, dict(BODY))
    ]
    usage = _usage(told[-1])
    assert len(pieces) == len(told) > 1
    for name in ("input_tokens", "output_tokens"):
        assert sum(piece.usage_metadata[name] for piece in pieces) == usage[name] > 0
    cached = [piece.usage_metadata["input_token_details"]["cache_read"] for piece in pieces]
    assert sum(cached) == usage["input_token_details"]["cache_read"] == 5


def test_thoughts_and_what_tools_have_read_are_counted() -> None:
    told = {
        "promptTokenCount": 1,
        "toolUsePromptTokenCount": "120",
        "candidatesTokenCount": 90,
        "thoughtsTokenCount": 60,
    }
    usage = _usage({"usageMetadata": told})
    assert (usage["input_tokens"], usage["output_tokens"]) == (121, 150)
    assert _usage({}) == _usage({"usageMetadata": None}) == {}


@module_loop
async def test_arguments_that_are_no_object_are_a_broken_call(gemini: Wire) -> None:
    call = {"functionCall": {"name": "look", "args": [1], "id": "c"}}
    gemini.server.replay("any", {"candidates": [{"content": {"parts": [call]}}]})
    said = await (await model(gemini)).bind_tools([LOOK]).ainvoke(TOLD)
    assert (said.tool_calls, len(said.invalid_tool_calls)) == ([], 1)


@module_loop
@pytest.mark.parametrize(
    "body", [None, [], "text", 7, {}, {"candidates": [None]}, {"candidates": {}}]
)
async def test_json_that_is_no_answer_is_a_malformed_one(gemini: Wire, body: Any) -> None:
    chat: Chat = gemini.chat(SIGHTLINE_MODEL_ATTEMPTS="1")
    gemini.server.replay("any", body)
    for ask in (chat.text, chat.stream):
        with pytest.raises(Trouble) as caught:
            await ask(Prompt("", PROMPT.user), "write", lambda kind, **data: None)
        assert caught.value.reason == "malformed"


_anything: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
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


@given(_answer, _answer)
def test_nothing_that_can_come_breaks_the_reading(first: Any, second: Any) -> None:
    candidate = _first(first)
    content = candidate.get("content") if isinstance(candidate, dict) else None
    calls, broken = _calls(content)
    AIMessage(
        _text(content),
        tool_calls=calls,
        invalid_tool_calls=broken,
        usage_metadata=_usage(first) or None,
        response_metadata=_meta(first, candidate),
    )
    added = _less(_usage(second), _usage(first))
    assert all(number >= 0 for number in added.values() if isinstance(number, int))
