"""A server that does not take all that is asked of it is asked in another way, and that is learnt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from pydantic import BaseModel

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.roles import parse_spec
from tests.models.conftest import ADDRESSES, FAKES, PROMPT, Wire, loaded
from tests.servers import reply
from tests.servers.brain import Ask
from tests.servers.openai import FakeOpenAI

pytestmark = pytest.mark.asyncio(loop_scope="module")


def fastapi(*where: str, said: str, **more: Any) -> dict[str, Any]:
    return {"detail": [{"loc": ["body", *where], "msg": said, "type": "value_error"} | more]}


# Refusals of a format for the answer, as servers word them: the status and the body.
FORMAT: dict[str, tuple[int, Any]] = {
    "lmstudio": (400, {"error": "'response_format.type' must be 'text'"}),
    "zhipu": (400, {"error": {"code": "1210", "message": "API 调用参数有误，请检查文档。"}}),
    "zhipu-en": (400, {"error": {"code": "1210", "message": "Invalid API parameter, please check."}}),
    "deepseek": (400, {"error": {"message": "This response_format type is unavailable now"}}),
    "dashscope": (
        400,
        {"error": {"code": "invalid_parameter_error", "message": "Json mode response is not supported when enable_thinking is true"}},
    ),
    "openai": (
        400,
        {"error": {"message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "param": None}},
    ),
    "openai-old": (400, {"error": {"message": "Unrecognized request argument supplied: response_format"}}),
    "moonshot": (400, {"error": {"message": "Invalid request: unsupported format", "type": "invalid_request_error"}}),
    "structured": (400, {"error": {"message": "This model does not support structured outputs."}}),
    "vllm": (422, fastapi("response_format", "type", said="Input should be 'text'", input={"a": "b"})),
    "extra": (422, fastapi("response_format", said="Extra inputs are not permitted")),
    "plain-detail": (422, {"detail": "Unprocessable"}),
    "detail-400": (400, {"detail": "response_format is not a known field"}),
    "openrouter": (404, {"error": {"message": "No endpoints found that can handle the requested parameters."}}),
    "llama.cpp": (500, {"error": {"message": "Failed to parse grammar", "type": "server_error"}}),
    "not-implemented": (501, {"error": {"message": "guided decoding is not implemented"}}),
    "chinese": (400, {"error": {"message": "该模型不支持此输出格式"}}),
    "relayed": (200, {"error": {"message": "response_format: unsupported", "code": 20015}}),
    "nothing-said": (400, {}),
    "own-words": (400, {"error": {"message": "Output mode 3 is switched off here."}}),
    "code-only": (400, {"code": 20015, "data": None}),
    "bad-request": (400, {"error": {"message": "Bad Request"}}),
}  # fmt: skip
COUNT: dict[str, tuple[int, Any]] = {
    "openai-old": (400, {"error": {"message": "Unrecognized request argument supplied: stream_options"}}),
    "mistral": (422, fastapi("stream_options", said="Extra inputs are not permitted")),
    "only-when": (400, {"error": {"message": "The 'stream_options' parameter is only allowed when 'stream' is enabled."}}),
    "zhipu": (400, {"error": {"code": "1210", "message": "API 调用参数有误，请检查文档。"}}),
    "field": (400, {"error": "json: unknown field \"stream_options\""}),
    "keyword": (500, {"detail": "create() got an unexpected keyword argument 'stream_options'"}),
    "usage": (400, {"message": "include_usage is not available"}),
    "nothing-said": (400, {}),
}  # fmt: skip


class Shaded(BaseModel):
    colour: str
    shades: list[str]
    maxLength: int


class Strict(FakeOpenAI):
    """Refuses requests with a parameter, in its own words; what it sees of it is in `wishes`."""

    refuses = ""
    status = 400
    body: Any = None
    kinds: tuple[str, ...] = ("json_schema", "json_object")

    def reset(self) -> None:
        super().reset()
        self.wishes: list[Any] = []

    def ask(self, request: web.Request, body: Mapping[str, Any]) -> Ask:
        wish = body.get(self.refuses)
        self.wishes.append(wish["type"] if wish and "type" in wish else wish)
        return super().ask(request, body)

    def error(self, name: str, arg: str, request: web.Request, ask: Ask | None) -> web.Response | None:
        if self.wishes[-1] and (isinstance(self.wishes[-1], dict) or self.wishes[-1] in self.kinds):
            return reply(self.body, self.status)
        return super().error(name, arg, request, ask)


@pytest_asyncio.fixture(loop_scope="module")
async def strict() -> AsyncIterator[Wire]:
    """A server of which nothing is known yet."""
    with Strict() as server:
        server.reset()
        wire = Wire("openai", server)
        yield wire
        await wire.close()


def refusing(wire: Wire, parameter: str, status: int, body: Any) -> Strict:
    wire.server.refuses, wire.server.status, wire.server.body = parameter, status, body
    return wire.server


@pytest.mark.parametrize("words", list(FORMAT))
async def test_a_server_that_takes_no_format_is_asked_in_words(strict: Wire, words: str) -> None:
    server = refusing(strict, "response_format", *FORMAT[words])
    for name in ("one", "two"):  # remembered of the server, whichever model is asked
        assert (await strict.colour(strict.chat(name))).colour == "green"
    assert server.wishes == ["json_schema", "json_object", None, None]
    assert "Answer with one JSON object" in server.log[3].prompt


async def test_a_server_that_takes_no_schema_is_asked_for_any_object_and_told_the_schema(
    strict: Wire,
) -> None:
    server = refusing(strict, "response_format", *FORMAT["deepseek"])
    server.kinds = ("json_schema",)
    for _ in range(2):
        assert (await strict.colour(strict.chat())).colour == "green"
    assert server.wishes == ["json_schema", "json_object", "json_object"]
    assert '"enum": ["red", "green"]' in server.log[1].prompt


@pytest.mark.slow
@pytest.mark.parametrize("words", list(COUNT))
async def test_a_server_that_does_not_count_in_a_stream_is_not_asked_to(strict: Wire, words: str) -> None:
    server = refusing(strict, "stream_options", *COUNT[words])
    for name in ("one", "two"):
        found = await strict.chat(name).stream_text(PROMPT, "write", strict.heard)
        assert (found.text != "", found.error) == (True, None)
    assert server.wishes == [{"include_usage": True}, None, None]
    assert [usage["estimated"] for usage in strict.heard.of("usage")] == [True, True]


async def test_what_is_known_of_a_server_is_known_to_whoever_asks_it_with_the_same_key(
    strict: Wire,
) -> None:
    server = refusing(strict, "response_format", *FORMAT["zhipu"])
    await strict.colour(strict.chat())
    guest = ModelClients(strict.clients().settings, strict.clients())
    other = ModelClients(
        loaded({ADDRESSES["openai"]: server.base_url, "OPENAI_API_KEY": "another"}),
        strict.clients(),
    )
    server.wishes.clear()
    for clients in (guest, other):
        await strict.colour(Chat(parse_spec("openai:m"), clients))
        await clients.close()
    assert server.wishes == [None, "json_schema", "json_object", None]


@pytest.mark.parametrize("fault", ["400context", "400key", "403", "404"])
async def test_a_refusal_for_a_known_reason_is_told_and_nothing_is_learnt(strict: Wire, fault: str) -> None:
    server = refusing(strict, "response_format", 400, {})
    server.fail("check", fault, times=1)
    server.kinds = ()
    with pytest.raises(ServiceError):
        await strict.colour(strict.chat())
    server.fail("check", "ok")
    await strict.colour(strict.chat())
    assert server.wishes == ["json_schema", "json_schema"]


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refusal_of_every_way_is_told_and_nothing_is_learnt(strict: Wire, status: int) -> None:
    server = refusing(strict, "model", status, {"detail": "a parameter is wrong: seed"})
    server.kinds = ("some-model",)
    for _ in range(2):
        with pytest.raises(ServiceError) as caught:
            await strict.colour(strict.chat())
        assert caught.value.reason == "refused"
        assert f"HTTP {status}: a parameter is wrong: seed" in caught.value.message
    with pytest.raises(ServiceError):
        await strict.chat().stream_text(PROMPT, "write", ignore_event)
    formats = [(call.body.get("response_format") or {}).get("type") for call in server.log]
    assert formats == ["json_schema", "json_object", None] * 2 + [None, None]


async def test_two_requests_at_once_may_learn_the_same_about_a_server(strict: Wire) -> None:
    server = refusing(strict, "response_format", *FORMAT["vllm"])
    server.latency = 0.1
    chat = strict.chat()
    found = await asyncio.gather(strict.colour(chat), strict.colour(chat))
    assert [item.colour for item in found] == ["green", "green"]
    server.wishes.clear()
    await strict.colour(chat)
    assert server.wishes == [None]


@pytest.mark.parametrize("name", ["gemini", "ollama"])
async def test_gemini_and_ollama_are_asked_in_other_ways_as_well(name: str) -> None:
    with FAKES[name]() as server:
        wire = Wire(name, server)
        server.fail("check", "400schema")
        for _ in range(2):
            assert (await wire.colour(wire.chat())).colour == "green"
        assert server.calls() == 3
        await wire.close()


@pytest.mark.parametrize(("name", "limited"), [("openai", False), ("gemini", True), ("ollama", True)])
async def test_a_schema_has_limits_of_length_only_where_the_server_takes_them(name: str, limited: bool) -> None:
    """Strict mode of OpenAI refuses them: the fake server does too, and would be asked again."""
    text = {"type": "string", "maxLength": 9, "minLength": 1}
    schema = {
        "type": "object",
        "properties": {
            "colour": text,
            "shades": {"type": "array", "items": text, "maxItems": 2},
            "maxLength": {"type": "integer"},
        },
        "required": ["colour", "shades", "maxLength"],
        "additionalProperties": False,
    }
    with FAKES[name]() as server:
        wire = Wire(name, server)
        await wire.chat().ask_json(PROMPT, schema, Shaded, "check", ignore_event)
        sent = json.dumps(server.log[0].body)
        await wire.close()
    assert server.calls() == 1
    assert (sent.count('"maxLength": 9'), sent.count('"maxItems": 2')) == (2 * limited, 1)
    assert '"maxLength": {"type": "integer"}' in sent
