"""The fake model servers, asked by the clients that the project uses."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal

import aiohttp
import httpx
import pytest
import pytest_asyncio
from google import genai
from google.genai import errors, types
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

from tests.fakes import until
from tests.servers import refused_url
from tests.servers.brain import Ask, Brain, ToolCall, keywords_of, place_of
from tests.servers.gemini import BYPASS, FakeGemini
from tests.servers.ollama import FakeOllama
from tests.servers.openai import FakeOpenAI
from tests.tables import each_row

pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:coroutine 'ClientResponse.json':RuntimeWarning"),
]

QUESTION = "Earlier: nothing\nQuestion: 雷峰塔是什么时候建成的？\nFollow the rules."
CITED = QUESTION + "\n[@3fa9] A tower. [@77aa01] A bell. [@beef] A gate."


class Plan(BaseModel):
    route: Literal["direct", "search"]
    answer: str
    sub_questions: list[str] = Field(max_length=2)
    web_queries: list[str] = Field(max_length=4)
    news_queries: list[str] = Field(max_length=12)


class Reflection(BaseModel):
    is_sufficient: bool
    knowledge_gap: str
    web_queries: list[str] = Field(max_length=3)


class Check(BaseModel):
    colour: Literal["blue", "green"]


# Servers and clients are made once: each client costs a tenth of a second of certificates.


@pytest.fixture(scope="module")
def gemini() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture(scope="module")
def openai() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="module")
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama() as server:
        yield server


@pytest.fixture(autouse=True)
def fresh(gemini: FakeGemini, openai: FakeOpenAI, ollama: FakeOllama) -> None:
    for server in (gemini, openai, ollama):
        server.reset()


def shared(make: Callable[..., AsyncIterator[Any]]) -> Any:
    return pytest_asyncio.fixture(scope="module", loop_scope="module")(make)


@shared
async def google(gemini: FakeGemini) -> AsyncIterator[ChatGoogleGenerativeAI]:
    model = ChatGoogleGenerativeAI(
        model="g",
        api_key="k",
        base_url=gemini.base_url,
        api_version="v1beta",
        timeout=5,
        max_retries=1,
    )
    yield model
    await model.aclose()


@shared
async def client(gemini: FakeGemini) -> AsyncIterator[genai.Client]:
    """google-genai over httpx: with aiohttp it tries again by itself after a reset."""
    options = types.HttpOptions(
        base_url=gemini.base_url,
        api_version="v1beta",
        timeout=5000,
        async_client_args={"transport": httpx.AsyncHTTPTransport()},
    )
    made = genai.Client(api_key="k", http_options=options)
    yield made
    await made.aio.aclose()
    made.close()


@shared
async def chat(openai: FakeOpenAI) -> AsyncIterator[ChatOpenAI]:
    url = openai.base_url
    async with httpx.AsyncClient() as http:
        yield ChatOpenAI(
            model="m",
            base_url=url,
            api_key="k",
            timeout=5,
            max_retries=0,
            http_async_client=http,
        )


@shared
async def local(ollama: FakeOllama) -> AsyncIterator[ChatOllama]:
    model = ChatOllama(model="m", base_url=ollama.base_url, num_ctx=64)
    yield model
    await model._async_client.close()
    model._client.close()


SEARCH = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])


# What the brain says


async def test_json_stages_keep_to_their_schema_over_every_wire(
    google: ChatGoogleGenerativeAI, chat: ChatOpenAI, local: ChatOllama
) -> None:
    for model in (google, chat, local):
        plan = await model.with_structured_output(Plan).ainvoke(QUESTION)
        assert plan.route == "search"
        assert len(set(plan.web_queries)) == 4
        assert len(set(plan.news_queries)) == 12
        assert all("雷峰塔" in query for query in plan.web_queries + plan.sub_questions)
        seen = [await model.with_structured_output(Reflection).ainvoke(f"{QUESTION}\n{n}") for n in range(2)]
        assert [r.is_sufficient for r in seen] == [False, True]
        assert (len(seen[0].web_queries), len(seen[1].web_queries)) == (1, 0)
        assert (await model.with_structured_output(Check).ainvoke("Say green.")).colour == "green"


async def test_small_talk_is_answered_directly(google: ChatGoogleGenerativeAI) -> None:
    plan = await google.with_structured_output(Plan).ainvoke("Question:\n你好！\n")
    assert (plan.route, plan.web_queries, plan.sub_questions) == ("direct", [], [])
    assert plan.answer.startswith("你好")


async def test_runs_of_one_question_at_once_do_not_count_for_each_other() -> None:
    brain, schema = Brain(), Reflection.model_json_schema()

    def reflect(text: str) -> dict[str, Any]:
        prompt = f"{QUESTION}\n{text}"
        return json.loads(brain.reply(Ask(prompt=prompt, user=prompt, schema=schema)))

    brain.sufficient_after = 3
    first = [reflect("same evidence") for _ in range(4)]
    assert all(reply == first[0] and not reply["is_sufficient"] for reply in first)
    second = [reflect(f"run {n}, searched {first[0]['web_queries']}") for n in range(4)]
    assert not any(reply["is_sufficient"] for reply in second)
    assert {reply["web_queries"][0] for reply in second}.isdisjoint(first[0]["web_queries"])
    assert reflect(f"searched {second[0]['web_queries']}")["is_sufficient"]


@each_row(
    ("prompt", "question", "query"),
    [("Question: Who?\nEarlier question: Why?", "Who?", "Who?"),
     ("Question:\n<<<question a1\nWho\n\nis it?\na1 question>>>\nGo.", "Who is it?", "Who is it?"),
     ("Today is 2026-01-02. Search query:\n雷峰塔", "雷峰塔", "雷峰塔"),
     ("Search query:\n<<<query b2\n塔\nb2 query>>>\nMaterial:\nQuestion: X?", "塔", "塔"),
     ("Rules.\n## 问题\n\n在哪里？\n", "在哪里？", "在哪里？"), ("a\nlast", "last", "a\nlast")],
)  # fmt: skip
async def test_question_and_query_of_a_prompt(prompt: str, question: str, query: str) -> None:
    ask = Ask(prompt=f"You are a desk.\n{prompt}", user=prompt)
    assert (ask.question, ask.query) == (question, query)


async def test_a_reflection_that_nobody_could_read_does_not_count() -> None:
    brain, schema = Brain(), Reflection.model_json_schema()
    first = Ask(prompt=QUESTION, user=QUESTION, schema=schema)
    again = Ask(prompt=QUESTION + " Again.", user=QUESTION, schema=schema)
    assert brain.reply(first, "wrongjson") == '{"nope": 1}'
    assert not json.loads(brain.reply(again))["is_sufficient"]
    assert json.loads(brain.reply(first))["is_sufficient"]


async def test_text_stages_cite_the_handles_of_the_prompt(gemini: FakeGemini, google: ChatGoogleGenerativeAI) -> None:
    written = "".join([chunk.text async for chunk in google.astream(CITED)])
    summary = (await google.ainvoke(CITED)).text
    assert [call.stage for call in gemini.log] == ["write", "summarise"]
    assert written.startswith("## 雷峰塔")
    assert "\n- " in written
    for handle in ("[@3fa9]", "[@77aa01]", "[@beef]"):
        assert handle in written
        assert handle in summary
    gemini.brain.answer = lambda prompt: "As told." if "gate" in prompt else None
    assert "".join([chunk.text async for chunk in google.astream(CITED)]) == "As told."


async def test_fields_of_the_prompt_stand_in_for_a_schema(chat: ChatOpenAI) -> None:
    said = f'{QUESTION} Answer JSON with "route", "answer", "sub_questions", "web_queries".'
    told = f"{QUESTION} Answer JSON: {json.dumps(Plan.model_json_schema())}"
    bound = chat.bind(response_format={"type": "json_object"})
    assert len(json.loads((await bound.ainvoke(said)).text)["web_queries"]) == 3
    assert Plan.model_validate_json((await bound.ainvoke(told)).text).route == "search"


# Gemini


async def test_offsets_of_a_search_are_bytes(client: genai.Client) -> None:
    reply = await client.aio.models.generate_content(model="g", contents="雷峰塔", config=SEARCH)
    found, data = reply.candidates[0].grounding_metadata, reply.text.encode()
    assert len(reply.candidates[0].content.parts) == 2
    assert len(found.grounding_supports) == len(found.grounding_chunks) == 3
    assert "" in found.web_search_queries
    for support in found.grounding_supports:
        segment = support.segment
        assert data[segment.start_index : segment.end_index].decode() == segment.text
        assert reply.text[segment.start_index : segment.end_index] != segment.text


@pytest.mark.parametrize(
    ("fault", "chunks", "supports"),
    [("gm_queries_only", None, None), ("gm_chunks_only", 3, None), ("gm_emptychunks", 2, 3),
     ("gm_badindex", 3, 3), ("gm_drift", 3, 3), ("gm_nulls", None, None), ("gm_empty", None, None)],
)  # fmt: skip
async def test_grounding_in_part(
    gemini: FakeGemini, client: genai.Client, fault: str, chunks: int | None, supports: int | None
) -> None:
    gemini.fail("search", fault)
    reply = await client.aio.models.generate_content(model="g", contents="塔", config=SEARCH)
    found = reply.candidates[0].grounding_metadata
    assert (found.grounding_chunks and len(found.grounding_chunks)) == chunks
    assert (found.grounding_supports and len(found.grounding_supports)) == supports


async def test_a_test_can_say_what_is_found(gemini: FakeGemini, client: genai.Client) -> None:
    gemini.brain.grounded = lambda query: ([f"On {query}.", " More."], None)
    reply = await client.aio.models.generate_content(model="g", contents="Search.\nQuery: towers\n", config=SEARCH)
    assert reply.text == "On towers. More."
    assert reply.candidates[0].grounding_metadata is None


async def test_stream_grows_and_ends_with_what_was_found(client: genai.Client) -> None:
    chunks = [
        chunk
        async for chunk in await client.aio.models.generate_content_stream(model="g", contents="雷峰塔", config=SEARCH)
    ]
    counts = [chunk.usage_metadata.candidates_token_count for chunk in chunks]
    assert len(chunks) >= 3
    assert counts == sorted(set(counts))
    assert [bool(chunk.candidates[0].finish_reason) for chunk in chunks][-2:] == [False, True]
    assert not chunks[0].candidates[0].grounding_metadata.grounding_chunks
    assert chunks[-1].candidates[0].grounding_metadata.grounding_chunks


@pytest.mark.parametrize(
    ("fault", "error"),
    [("400key", "GoogleInvalidRequestError"), ("400location", "GoogleInvalidRequestError"),
     ("400context", "GoogleContextOverflowError"), ("403", "GooglePermissionDeniedError"),
     ("404", "GoogleModelNotFoundError"), ("429:26", "GoogleRateLimitError"),
     ("429bare", "GoogleRateLimitError"), ("500", "GoogleAPIError"), ("503", "GoogleAPIError"),
     ("504", "GoogleAPIError"), ("html502", "GoogleAPIError"), ("html200", "JSONDecodeError"),
     ("badjson", "JSONDecodeError"), ("reset", "ClientOSError")],
)  # fmt: skip
async def test_gemini_errors_in_langchain(
    gemini: FakeGemini, google: ChatGoogleGenerativeAI, fault: str, error: str
) -> None:
    gemini.fail("any", fault)
    with pytest.raises(Exception) as caught:
        await google.ainvoke(QUESTION)
    assert type(caught.value).__name__ == error
    assert gemini.log[-1].fault == fault


async def test_quota_error_tells_when_to_come_back(gemini: FakeGemini, client: genai.Client) -> None:
    gemini.fail("any", "429:26")
    with pytest.raises(errors.ClientError) as caught:
        await client.aio.models.generate_content(model="g", contents="x")
    assert caught.value.details["error"]["details"][-1]["retryDelay"] == "26s"


@pytest.mark.parametrize(
    ("fault", "finish"),
    [("noparts", "STOP"), ("safety", "SAFETY"), ("recitation", "RECITATION"),
     ("maxtokensempty", "MAX_TOKENS"), ("promptblock", ""), ("empty", ""), ("emptylist", "")],
)  # fmt: skip
async def test_gemini_says_nothing(gemini: FakeGemini, client: genai.Client, fault: str, finish: str) -> None:
    gemini.fail("summarise", fault)
    reply = await client.aio.models.generate_content(model="g", contents=QUESTION)
    assert reply.text is None
    assert (reply.candidates[0].finish_reason.name if reply.candidates else "") == finish
    assert bool(reply.prompt_feedback) == (fault == "promptblock")


@pytest.mark.parametrize(
    ("fault", "parsed"),
    [("fenced", True), ("wrongtypes", False), ("wrongjson", False), ("prose", False)],
)
async def test_gemini_spoils_json(gemini: FakeGemini, google: ChatGoogleGenerativeAI, fault: str, parsed: bool) -> None:
    gemini.fail("plan", fault)
    model = google.with_structured_output(Plan, include_raw=True)
    assert bool((await model.ainvoke(QUESTION))["parsed"]) is parsed


async def test_gemini_breaks_off_json(gemini: FakeGemini, google: ChatGoogleGenerativeAI) -> None:
    model = google.with_structured_output(Plan, include_raw=True)
    for fault, finish in (("maxtokens", "MAX_TOKENS"), ("truncated", "STOP")):
        gemini.fail("plan", fault)
        raw = (await model.ainvoke(QUESTION))["raw"]
        assert raw.response_metadata["finish_reason"] == finish
        with pytest.raises(json.JSONDecodeError):
            json.loads(raw.text)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("midreset", httpx.ReadError), ("midclose", httpx.RemoteProtocolError),
     ("miderror", errors.ServerError), ("midbadjson", errors.UnknownApiResponseError)],
)  # fmt: skip
async def test_gemini_stream_breaks_off_after_some_text(
    gemini: FakeGemini, client: genai.Client, fault: str, error: type[Exception]
) -> None:
    gemini.fail("write", fault)
    got = ""
    with pytest.raises(error):
        async for chunk in await client.aio.models.generate_content_stream(model="g", contents=CITED):
            got += chunk.text
    assert got.startswith("## 雷峰塔")


async def test_slow_stream(gemini: FakeGemini, google: ChatGoogleGenerativeAI) -> None:
    gemini.fail("write", "slow:0.1")
    start = time.monotonic()
    assert "".join([chunk.text async for chunk in google.astream(CITED)]).startswith("##")
    assert time.monotonic() - start > 0.3


@pytest.mark.parametrize("fault", ["hang", "midhang"])
async def test_hanging_requests_notice_that_the_client_went(
    gemini: FakeGemini, google: ChatGoogleGenerativeAI, fault: str
) -> None:
    gemini.fail("any", fault)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(google.ainvoke(QUESTION), 1)
    await asyncio.to_thread(until, lambda: gemini.log[-1].left)


async def test_a_server_with_hanging_requests_closes_quickly() -> None:
    with FakeGemini() as fake:
        fake.fail("any", "hang")
        async with aiohttp.ClientSession(headers={"x-goog-api-key": "k"}) as session:
            url = f"{fake.base_url}/v1beta/models/g:generateContent"
            asked = [asyncio.create_task(session.post(url, json={})) for _ in range(20)]
            await asyncio.to_thread(until, lambda: fake.calls() == 20)
            start = time.monotonic()
            await asyncio.to_thread(fake.close)
            assert time.monotonic() - start < 30
            ended = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(error, aiohttp.ClientError) for error in ended)


async def test_two_hundred_at_once(gemini: FakeGemini) -> None:
    gemini.latency = 0.5
    url = f"{gemini.base_url}/v1beta/models/g:generateContent"
    body = {"contents": [{"parts": [{"text": CITED}]}]}

    async def ask(session: aiohttp.ClientSession) -> int:
        async with session.post(url, json=body) as reply:
            return len((await reply.json())["candidates"])

    start = time.monotonic()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers={"x-goog-api-key": "k"}) as session:
        assert sum(await asyncio.gather(*(ask(session) for _ in range(200)))) == 200
    assert time.monotonic() - start < 30


# Rules, keys, replays


async def test_newest_rule_that_fits_is_used_until_it_is_used_up(gemini: FakeGemini, client: genai.Client) -> None:
    async def says(prompt: str) -> str:
        try:
            await client.aio.models.generate_content(model="g", contents=prompt)
        except errors.APIError as error:
            return str(error.code)
        return "fine"

    gemini.fail("any", "500")
    gemini.fail("summarise", "503", times=2, matching="tower")
    gemini.fail("plan", "404")
    gemini.fail("any", "ok", matching="bridge")
    assert [await says(word) for word in ("tower", "gate", "tower", "tower", "bridge")] == [
        "503", "500", "503", "500", "fine",
    ]  # fmt: skip
    assert (gemini.calls("summarise"), gemini.calls("plan"), gemini.calls()) == (5, 0, 5)
    with pytest.raises(ValueError, match="no fault"):
        gemini.fail("any", "refused")


async def test_keys_and_the_server_that_repeats_them(gemini: FakeGemini, client: genai.Client) -> None:
    gemini.fail("any", "echokey")
    with pytest.raises(errors.ClientError, match=r"\?key=k with"):
        await client.aio.models.generate_content(model="g", contents="x")
    gemini.reset()
    gemini.keys = {"other"}
    with pytest.raises(errors.ClientError, match="API_KEY_INVALID"):
        await client.aio.models.list()
    gemini.keys = {"k"}
    names = [model.name async for model in await client.aio.models.list()]
    assert "models/gemini-3.8-flash" in names
    assert gemini.log[-1].headers["x-goog-api-key"] == "k"


async def test_replay(gemini: FakeGemini, client: genai.Client) -> None:
    body = {"candidates": [{"content": {"parts": [{"text": "old"}]}, "finishReason": "STOP"}]}
    gemini.replay("any", body, times=2)
    assert (await client.aio.models.generate_content(model="g", contents="x")).text == "old"
    stream = await client.aio.models.generate_content_stream(model="g", contents="x")
    assert [chunk.text async for chunk in stream] == ["old"]
    assert (await client.aio.models.generate_content(model="g", contents="x")).text != "old"


async def test_refused() -> None:
    async with httpx.AsyncClient() as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(refused_url())


# OpenAI


async def test_openai_stream_has_usage_when_it_is_asked_for(openai: FakeOpenAI, chat: ChatOpenAI) -> None:
    chunks = [chunk async for chunk in chat.astream(CITED, stream_usage=True)]
    assert "".join(chunk.text for chunk in chunks).startswith("## 雷峰塔")
    assert sum(chunk.usage_metadata["output_tokens"] for chunk in chunks if chunk.usage_metadata)
    assert (openai.log[-1].stage, openai.log[-1].path) == ("write", "/v1/chat/completions")
    plain = [chunk async for chunk in chat.astream(CITED)]
    assert not any(chunk.usage_metadata for chunk in plain)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("400key", "OpenAIAuthenticationError"), ("403", "OpenAIPermissionDeniedError"),
     ("404", "OpenAIModelNotFoundError"), ("429", "OpenAIRateLimitError"),
     ("500", "OpenAIAPIError"), ("html502", "OpenAIAPIError"), ("badjson", "JSONDecodeError"),
     ("reset", "OpenAIConnectionError"), ("midclose", "OpenAIConnectionError"),
     ("maxtokens", "LengthFinishReasonError"), ("safety", "ContentFilterFinishReasonError"),
     ("truncated", "ValidationError"), ("prose", "ValidationError"), ("empty", "IndexError")],
)  # fmt: skip
async def test_openai_errors_in_langchain(openai: FakeOpenAI, chat: ChatOpenAI, fault: str, error: str) -> None:
    openai.fail("plan", fault)
    with pytest.raises(Exception) as caught:
        await chat.with_structured_output(Plan).ainvoke(QUESTION)
    assert type(caught.value).__name__ == error


async def test_openai_says_nothing(openai: FakeOpenAI, chat: ChatOpenAI) -> None:
    for fault, refusal in (
        ("nullcontent", None),
        ("refusal", "I'm sorry, I can't help with that."),
    ):
        openai.fail("any", fault)
        message = await chat.ainvoke(QUESTION)
        assert message.text == ""
        assert message.additional_kwargs.get("refusal") == refusal


async def test_openai_without_schemas(openai: FakeOpenAI, chat: ChatOpenAI) -> None:
    prompt = f'{QUESTION} JSON with "route", "answer", "sub_questions", "web_queries", please.'
    openai.fail("plan", "400schema")
    with pytest.raises(Exception, match="response_format type is unavailable"):
        await chat.with_structured_output(Plan).ainvoke(prompt)
    bound = chat.bind(response_format={"type": "json_object"})
    assert json.loads((await bound.ainvoke(prompt)).text)["route"] == "search"
    openai.reset()
    openai.ignores_schemas = True
    with pytest.raises(ValueError, match="validation error"):
        await chat.with_structured_output(Plan).ainvoke(prompt)
    assert json.loads((await bound.ainvoke(prompt)).text)["route"] == "search"


async def test_openai_on_the_wire(openai: FakeOpenAI) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    async with httpx.AsyncClient(base_url=openai.base_url) as http:
        assert (await http.get("/models")).json()["data"][0]["object"] == "model"
        assert (await http.post("/chat/completions", json=body)).text.endswith("data: [DONE]\n\n")
        openai.fail("any", "429:7")
        reply = await http.post("/chat/completions", json=body)
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "7")


# Ollama


async def test_ollama_stream_and_counts(ollama: FakeOllama, local: ChatOllama) -> None:
    message = await local.ainvoke(CITED * 20)
    assert message.text.startswith("## 雷峰塔")
    assert message.usage_metadata["input_tokens"] == 64
    assert message.response_metadata["done_reason"] == "stop"
    ollama.fail("any", "maxtokens")
    assert (await local.ainvoke(CITED)).response_metadata["done_reason"] == "length"
    assert len([chunk async for chunk in local.astream(CITED)]) > 3


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [("404", "ResponseError", "model 'm' not found"), ("500", "ResponseError", "terminated"),
     ("miderror", "ResponseError", "running the model"), ("html502", "ResponseError", "502"),
     ("reset", "ReadError", "^$"), ("midclose", "RemoteProtocolError", "incomplete"),
     ("badjson", "JSONDecodeError", "Unterminated"), ("load", "ValueError", "No data received")],
)  # fmt: skip
async def test_ollama_errors(ollama: FakeOllama, local: ChatOllama, fault: str, error: str, message: str) -> None:
    ollama.fail("write", fault)
    with pytest.raises(Exception, match=message) as caught:
        await local.ainvoke(QUESTION)
    assert type(caught.value).__name__ == error


async def test_ollama_tells_of_its_models(ollama: FakeOllama) -> None:
    async with httpx.AsyncClient(base_url=ollama.base_url) as http:
        tags = (await http.get("/api/tags")).json()
        shown = (await http.post("/api/show", json={"model": tags["models"][0]["name"]})).json()
        assert shown["model_info"]["qwen3.context_length"] > 0
        ollama.fail("models", "503")
        assert (await http.get("/api/tags")).status_code == 503


# Tools

TRIP = "Find places.\nSearch query:\n<<<query a1\n王府井附近遛娃\na1 query>>>"
FAMILY = "亲子乐园|儿童乐园|博物馆|公园"
GEO = {"return": [{"location": "116.41,39.91", "level": "热点商圈"}], "crs": "gcj02"}
AROUND = {"pois": [{"id": f"B{n}", "name": "公园", "location": "116.4,39.9"} for n in range(5)]}
BARE = {"pois": [{"id": f"B{n}", "name": "公园"} for n in range(5)]}  # as Amap's own server says it
DETAIL = {"id": "B0", "name": "公园", "location": "116.4,39.9"}
ANSWERS = {
    "maps_geo": GEO,
    "maps_around_search": AROUND,
    "maps_search_detail": DETAIL,
    "maps_text_search": AROUND,
}


def _tool(name: str, *fields: str) -> StructuredTool:
    text = {"type": "string"}
    schema = {"type": "object", "properties": dict.fromkeys(fields, text)}
    return StructuredTool(name=name, description="A tool.", args_schema=schema, func=print)


MAP = [
    _tool("maps_geo", "address", "city"),
    _tool("maps_around_search", "location", "radius", "keywords"),
    _tool("maps_text_search", "keywords", "city"),
    _tool("maps_search_detail", "id"),
]


async def talk(
    model: Any,
    answers: dict[str, Any] = ANSWERS,
    *,
    question: str = TRIP,
    most: int = 6,
    streamed: bool = False,
) -> list[BaseMessage]:
    """A conversation until the model says something, or has called `most` times."""
    bound, messages = model.bind_tools(MAP), [HumanMessage(question)]
    for _ in range(most):
        message = await (_streamed(bound, messages) if streamed else bound.ainvoke(messages))
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            said = answers.get(call["name"], "refused: there is no such tool")
            text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
            messages.append(ToolMessage(text, tool_call_id=call["id"]))
    return messages


async def _streamed(bound: Any, messages: list[BaseMessage]) -> AIMessage:
    chunks = [chunk async for chunk in bound.astream(messages)]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


def called(messages: list[BaseMessage]) -> list[list[tuple[str, dict[str, Any]]]]:
    """What each message of the model called."""
    said = [message for message in messages if isinstance(message, AIMessage)]
    return [[(call["name"], call["args"]) for call in message.tool_calls] for message in said]


def names(messages: list[BaseMessage]) -> list[list[str]]:
    return [[name for name, _ in calls] for calls in called(messages)]


@pytest.fixture(params=["google", "newest", "chat", "local"])
def model(
    request: pytest.FixtureRequest,
    google: ChatGoogleGenerativeAI,
    newest: ChatGoogleGenerativeAI,
    chat: ChatOpenAI,
    local: ChatOllama,
) -> Any:
    return {"google": google, "newest": newest, "chat": chat, "local": local}[request.param]


@shared
async def newest(gemini: FakeGemini) -> AsyncIterator[ChatGoogleGenerativeAI]:
    """One whose name LangChain knows for a Gemini 3, which it speaks to in another way."""
    made = ChatGoogleGenerativeAI(
        model="gemini-3.8-flash",
        api_key="k",
        base_url=gemini.base_url,
        api_version="v1beta",
        timeout=5,
        max_retries=1,
    )
    yield made
    await made.aclose()


@pytest.fixture
def server(request: pytest.FixtureRequest, gemini: FakeGemini, openai: FakeOpenAI, ollama: FakeOllama) -> Any:
    named = request.node.callspec.params["model"]
    return {"chat": openai, "local": ollama}.get(named, gemini)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_model_finds_the_place_and_then_what_is_around_it(model: Any, server: Any, streamed: bool) -> None:
    messages = await talk(model, streamed=streamed)
    assert called(messages) == [
        [("maps_geo", {"address": "王府井"})],
        [
            (
                "maps_around_search",
                {"location": "116.41,39.91", "radius": "2000", "keywords": FAMILY},
            )
        ],
        [],
    ]
    assert messages[-1].text == "done"
    assert [call.stage for call in server.log] == ["tools"] * 3


async def test_places_without_coordinates_are_looked_up_at_once(model: Any) -> None:
    messages = await talk(model, ANSWERS | {"maps_around_search": BARE})
    assert called(messages)[2:] == [[("maps_search_detail", {"id": f"B{n}"}) for n in range(3)], []]


async def test_results_in_blocks_and_by_another_name_are_read(model: Any) -> None:
    bound = model.bind_tools(MAP)
    asked = await bound.ainvoke(TRIP)
    block = {"type": "text", "text": json.dumps({"results": GEO["return"]})}
    result = ToolMessage([block], tool_call_id=asked.tool_calls[0]["id"])
    answered = await bound.ainvoke([HumanMessage(TRIP), asked, result])
    assert answered.tool_calls[0]["args"]["location"] == "116.41,39.91"


@pytest.mark.parametrize("said", ["timeout: no answer within 10 s", GEO | {"error": "quota: used up"}, {"return": []}])
async def test_a_tool_that_fails_ends_the_calls(model: Any, said: Any) -> None:
    assert names(await talk(model, {"maps_geo": said})) == [["maps_geo"], []]


async def test_only_what_is_declared_is_called(model: Any) -> None:
    bound = model.bind_tools(MAP[1:])
    assert (await bound.ainvoke(TRIP)).text == "done"


async def test_faults_of_a_model_with_tools(model: Any, server: Any) -> None:
    async def talked(fault: str) -> list[BaseMessage]:
        server.reset()
        server.fail("tools", fault)
        return await talk(model)

    at_once = await talked("nocall")
    assert names(at_once) == [[]]
    assert "without a map" in at_once[-1].text
    bad = await talked("badargs")
    assert names(bad) == [["maps_around_search", "maps_teleport"], []]
    assert called(bad)[0][0][1]["location"] == "somewhere"
    endless = called(await talked("loop"))
    assert [calls[0][0] for calls in endless] == ["maps_text_search"] * 6
    assert len({calls[0][1]["keywords"] for calls in endless}) == 6
    around = called(await talked("parallel"))
    assert [args["keywords"] for _, args in around[1]] == FAMILY.split("|")
    assert {name for name, _ in around[1]} == {"maps_around_search"}
    invented = await talked("invent")
    assert names(invented)[-2:] == [["maps_around_search"], []]
    assert re.search(r"月球乐园.*\d+\.\d+,\d+\.\d+", invented[-1].text)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("429:26", "RateLimit|too many requests"), ("500", "APIError|terminated"),
     ("400tools", "tool choice|not enabled|not support tools"), ("badjson", "JSONDecodeError"),
     ("reset", "ClientOSError|ConnectionError|ReadError")],
)  # fmt: skip
async def test_requests_with_tools_fail_as_any(model: Any, server: Any, fault: str, error: str) -> None:
    server.fail("tools", fault)
    with pytest.raises(Exception) as caught:
        await talk(model)
    assert re.search(error, f"{type(caught.value).__name__}: {caught.value}")


async def test_requests_with_tools_hang(model: Any, server: Any) -> None:
    server.fail("tools", "hang")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(talk(model), 1)
    await asyncio.to_thread(until, lambda: server.log[-1].left)


async def test_a_test_can_say_what_is_called(model: Any, server: Any) -> None:
    def caller(ask: Ask) -> list[ToolCall]:
        return [] if ask.rounds else [ToolCall("maps_search_detail", {"id": "B7"})]

    server.brain.caller = caller
    assert called(await talk(model)) == [[("maps_search_detail", {"id": "B7"})], []]


async def test_a_schema_goes_before_tools(chat: ChatOpenAI) -> None:
    bound = chat.bind_tools(MAP, response_format=Check)
    assert (await bound.ainvoke("Say green.")).additional_kwargs["parsed"].colour == "green"


@each_row(
    ("query", "place", "keywords"),
    [("王府井附近遛娃", "王府井", FAMILY), ("外滩的周边有什么", "外滩", "景点"),
     ("Coffee near the Bund?", "the Bund", "咖啡厅"), ("雷峰塔", "雷峰塔", "景点"),
     ("What to do with kids around 西湖, on a wet day", "西湖", FAMILY)],
)  # fmt: skip
async def test_place_and_keywords_of_a_query(query: str, place: str, keywords: str) -> None:
    assert (place_of(query), keywords_of(query)) == (place, keywords)


@pytest.mark.parametrize("name", ["google", "newest"])
async def test_gemini_wants_its_signature_back(gemini: FakeGemini, request: pytest.FixtureRequest, name: str) -> None:
    google = request.getfixturevalue(name)
    messages = await talk(google)
    given = gemini.signatures
    assert [len(signatures) for signatures in given] == [0, 1, 2]
    assert all(given[2])
    assert BYPASS not in given[2]
    asked, bound = messages[1], google.bind_tools(MAP)
    bare = AIMessage("", tool_calls=asked.tool_calls)
    if name == "newest":  # for which LangChain has a way around
        await bound.ainvoke([messages[0], bare, messages[2]])
        assert gemini.signatures[-1] == [BYPASS]
        return
    with pytest.raises(Exception, match=r"missing a thought_signature.*maps_geo"):
        await bound.ainvoke([messages[0], bare, messages[2]])


async def test_gemini_knows_its_signatures_and_counts_responses(
    gemini: FakeGemini, google: ChatGoogleGenerativeAI
) -> None:
    first, asked, result, other = (await talk(google))[:4]
    bound = google.bind_tools(MAP)
    calls = [asked.tool_calls[0] | {"args": {"address": "elsewhere"}}]
    changed = AIMessage("", tool_calls=calls, additional_kwargs=asked.additional_kwargs)
    with pytest.raises(Exception, match="signature is not valid"):
        await bound.ainvoke([first, changed, result])
    with pytest.raises(Exception, match="number of function response parts"):
        await bound.ainvoke([first, asked, result, other])


async def test_gemini_fails_to_write_a_call(gemini: FakeGemini, google: ChatGoogleGenerativeAI) -> None:
    gemini.fail("tools", "malformedcall")
    (_, said) = await talk(google)
    assert said.response_metadata["finish_reason"] == "MALFORMED_FUNCTION_CALL"
    assert said.text == ""


async def test_openai_wants_a_result_for_each_call(chat: ChatOpenAI) -> None:
    first, asked, *_ = await talk(chat)
    with pytest.raises(Exception, match=r"did not have response messages: call_1_1"):
        await chat.bind_tools(MAP).ainvoke([first, asked])


async def test_openai_breaks_off_the_arguments_of_a_call(openai: FakeOpenAI, chat: ChatOpenAI) -> None:
    openai.fail("tools", "cutargs")
    first, said = await talk(chat)
    assert not said.tool_calls
    (broken,) = said.invalid_tool_calls
    assert broken["name"] == "maps_geo"
    told = ToolMessage("refused: the arguments are no JSON", tool_call_id=broken["id"])
    assert (await chat.bind_tools(MAP).ainvoke([first, said, told])).text == "done"


# In a process of its own


@pytest.mark.parametrize(("name", "path"), [("openai", "/models"), ("amap", "/v3/ip")])
async def test_a_server_of_its_own_says_where_it_is(name: str, path: str) -> None:
    command = [sys.executable, "-m", "tests.servers", name, "--latency", "0.2"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        url = (await process.stdout.readline()).decode().strip()
        start = time.monotonic()
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"{url}{path}")).status_code == 200
        assert time.monotonic() - start >= 0.2
    finally:
        process.terminate()
        await process.wait()
