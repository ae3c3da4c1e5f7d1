"""How long a prompt may be: by the table, by the settings, and by what servers say of one too long."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.core.errors import ServiceError
from research.core.providers import shipped_providers
from research.core.settings import SettingError
from research.models import context_lengths
from research.models.clients import ModelClients
from research.models.context_lengths import MAX_PROMPT_TOKENS, reduce_token_budget
from research.models.prompt_overflow import detect_overflow
from research.models.prompting import Prompt
from research.models.roles import parse_spec
from research.models.token_counts import estimate_tokens, minimum_tokens
from tests.models.conftest import SCHEMA, Colour, Wire, loaded
from tests.servers.lengths import LENGTHS, too_long
from tests.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")
RULES = "Reply with JSON: colour, red or green."
WORDS = "The grass is green, and so is the hill behind it. "


def context(name: str, **env: str) -> int:
    return context_lengths.context_length(parse_spec(name), loaded(env))


# The table and the setting


@each_row(
    ("name", "length"),
    [
        ("gemini-3.8-flash", 1_048_576),
        ("gemini-99-next", 1_048_576),
        ("gemini:gemma-3-27b-it", 131_072),
        ("openai:gpt-4", 8_192),
        ("openai:gpt-4-0613", 8_192),
        ("openai:gpt-4-turbo-2024-04-09", 128_000),
        ("openai:gpt-4o-mini", 128_000),
        ("openai:gpt-4.1-nano", 1_047_576),
        ("openai:openai/gpt-oss-120b", 131_072),
        ("openai:Qwen/Qwen3-8B", 32_768),
        ("openai:moonshot-v1-8k", 8_000),
        ("openai:doubao-pro-256k-240828", 256_000),
        ("openai:gpt-4-32k", 32_000),
        ("openai:llama3-70b-8192", 8_192),
        ("openai:glm-4.6", 200_000),
        ("openai:nobody-knows-this-one", 131_072),
        ("ollama:qwen3:8b", 32_768),
        ("ollama:bespoke-minicheck:7b", 32_768),
        ("openai:bespokelabs/Bespoke-MiniCheck-7B", 32_768),
    ],
)
async def test_a_model_has_the_context_that_its_name_or_the_table_tells(name: str, length: int) -> None:
    assert context(name) == length


async def test_ollama_is_asked_for_no_more_than_a_model_is_known_to_take() -> None:
    more = {"OLLAMA_CONTEXT_LENGTH": "131072"}
    assert context("ollama:qwen3:8b", **more) == 131_072
    assert context("ollama:jmorgan/bespoke-minicheck", **more) == 32_768
    assert context("ollama:bespoke-minicheck", OLLAMA_CONTEXT_LENGTH="8192") == 8_192


async def test_the_table_has_a_context_for_each_provider_and_no_name_that_nothing_has() -> None:
    path = Path(context_lengths.__file__).parents[1] / "data" / "contexts.json"
    table = json.loads(path.read_text(encoding="utf-8"))
    assert all(2_048 <= provider.context_tokens <= 10_000_000 for provider in shipped_providers().values())
    assert all(name == name.lower() and ":" in name for name in table["tokens"])
    assert all(2_048 <= length <= 10_000_000 for length in table["tokens"].values())


@each_row(
    ("value", "lengths"),
    [
        ("16384", {"gemini-3.8-flash": 16_384, "openai:x": 16_384, "ollama:x": 32_768}),
        ("openai=20000", {"gemini-3.8-flash": 1_048_576, "openai:gpt-4o": 20_000}),
        (
            "openai:Qwen3=9000, openai:qwen3-8b = 7000,openai=5000,4000",
            {"openai:qwen3-32b": 9_000, "openai:Qwen/Qwen3-8B": 7_000, "openai:x": 5_000,
             "gemini-3.8-flash": 4_000},
        ),
        ("gemini-3.8-flash=30000", {"gemini-3.8-flash": 30_000, "gemini-3.7-flash": 1_048_576}),
        ("ollama:qwen3:8b=9000", {"ollama:qwen3:8b": 9_000, "ollama:llama": 32_768}),
        (" ", {"openai:gpt-4": 8_192}),
    ],
)  # fmt: skip
async def test_the_setting_goes_before_the_table_and_the_longest_name_before_others(
    value: str, lengths: dict[str, int]
) -> None:
    found = {name: context(name, SIGHTLINE_CONTEXT_LENGTH=value) for name in lengths}
    assert found == lengths


@each_row("value", ["many", "100", "openai:x", "openai:x=", "8192=openai", "1e6"])
async def test_a_context_that_is_none_is_refused_and_named(value: str) -> None:
    with pytest.raises(SettingError, match="SIGHTLINE_CONTEXT_LENGTH is"):
        loaded({"SIGHTLINE_CONTEXT_LENGTH": value})


async def test_the_setting_is_shown_as_it_was_given() -> None:
    shown = dict(loaded({"SIGHTLINE_CONTEXT_LENGTH": "openai:x=9000 , 8000"}).display_values())
    assert shown["SIGHTLINE_CONTEXT_LENGTH"] == "openai:x=9000, 8000"


async def test_a_prompt_leaves_room_for_the_answer_and_is_not_endless() -> None:
    def room(name: str, **env: str) -> int:
        return context_lengths.prompt_token_budget(parse_spec(name), loaded(env))

    assert room("openai:gpt-4") == 6_144
    assert room("openai:Qwen3-8B") == 24_576
    assert room("openai:gpt-4o") == 119_808
    assert room("gemini-3.8-flash") == MAX_PROMPT_TOKENS - 8_192
    assert room("gemini-3.8-flash", SIGHTLINE_CONTEXT_LENGTH="900000") == 891_808


async def test_ollama_is_asked_for_the_context_that_is_set(ollama: Wire) -> None:
    chat = ollama.chat(SIGHTLINE_CONTEXT_LENGTH="ollama:some-model=5000")
    await ollama.colour(chat)
    assert ollama.server.log[0].body["options"]["num_ctx"] == 5_000
    assert chat.token_budget == 3_750


# What a refusal says


def told(wording: str, limit: int = 32_768, asked: int = 41_234) -> tuple[int, Any]:
    return too_long(wording, limit, asked)


@each_row("wording", LENGTHS)
async def test_every_provider_s_words_for_a_prompt_too_long_are_understood(wording: str) -> None:
    status, body = told(wording)
    found = detect_overflow(status, body if isinstance(body, dict) else {}, str(body))
    assert found is not None
    text = json.dumps(LENGTHS[wording])
    assert found.max_tokens == (32_768 if "{limit}" in text else 0)
    assert found.prompt_tokens == (41_234 if "{asked}" in text else 0)


OTHERS: list[tuple[int, Any]] = [
    (400, {"error": {"message": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}}),
    (400, {"error": {"message": "max_tokens is too large: 100000. This model supports at most 16384 "
                     "completion tokens, whereas you provided 100000."}}),
    (400, {"error": {"message": "Range of max_tokens should be [1, 8192]"}}),
    (400, {"error": {"message": "'temperature' must be less than or equal to 2"}}),
    (422, {"detail": [{"loc": ["body", "temperature"], "input": "context too long " * 90,
                       "msg": "Input should be less than or equal to 2"}]}),
    (400, {"error": {"message": "Invalid 'tools[0].function.name': string too long. Expected a string "
                     "with maximum length 64, but got a string with length 90 instead."}}),
    (400, {"error": {"message": "'messages' must contain the word 'json' in some form, to use "
                     "'response_format' of type 'json_object'."}}),
    (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}),
    (400, {"error": {"message": "Input data may contain inappropriate content."}}),
    (400, {"error": {"code": "1213", "message": "未正常接收到prompt参数。"}}),
    (400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
    (400, {"error": {"message": "请求频率超过限制，请稍后再试"}}),
    (400, {"error": {"message": "对话次数超过上限"}}),
    (400, {"error": {"message": "输入参数 temperature 大于 2"}}),
    (400, {"error": {"message": "The conversation limit of your plan is reached"}}),
    (403, {"error": {"message": "maximum context length exceeded"}}),
    (429, {"error": {"message": "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, "
                     "Used 29000, Requested 2500. Please try again in 3s."}}),
    (429, {"error": {"message": "Too many requests"}}),
    (500, {"error": "context deadline exceeded"}),
    (500, {"error": {"message": "The server exceeded its time limit for the request."}}),
    (503, {"error": {"message": "The engine is overloaded: too many tokens in the queue."}}),
]  # fmt: skip


@each_row(("status", "body"), OTHERS)
async def test_another_refusal_is_not_taken_for_one_of_length(status: int, body: Any) -> None:
    assert detect_overflow(status, body, str(body)) is None


@each_row(
    ("limit", "asked", "sent", "room"),
    [
        (8_192, 12_000, 14_000, 5_529),  # 6,144 for the prompt, a tenth less
        (8_192, 20_000, 10_000, 2_764),  # counted twice as high as by us
        (30_720, 0, 40_000, 20_736),
        (30_720, 0, 24_000, 12_960),  # counted higher, though it was not said how much
        (0, 0, 90_000, 6_144),
        (0, 41_000, 90_000, 6_144),
        (0, 0, 5_000, 2_500),
        (900_000, 0, 5_000, 2_500),  # of another thing
        (2_013, 0, 90_000, 6_144),  # a code
        (8_192, 20_251_121, 14_000, 5_529),  # a number of another thing beside it
        (100_000, 101_000, 90_000, 72_000),
    ],
)
async def test_the_second_prompt_is_as_long_as_what_was_said_allows(
    limit: int, asked: int, sent: int, room: int
) -> None:
    found = reduce_token_budget(limit, asked, sent)
    assert found == room
    assert found < sent


# Asking again


def sized(room: int) -> Prompt:
    """A prompt of as much as has room, of 90,000 tokens at most."""
    most = min(room, 90_000) - estimate_tokens(RULES) - 10
    return Prompt(RULES, "\n" + (WORDS * (most * 3 // len(WORDS) + 1))[: most * 3])


async def asked(wire: Wire, way: str, **env: str) -> Any:
    chat = wire.chat("of-length", **env)
    if way == "json":
        return await chat.ask_json(sized, SCHEMA, Colour, "check", wire.heard)
    if way == "text":
        return await chat.ask_text(sized, "summarise", wire.heard)
    return await chat.stream_text(sized, "write", wire.heard)


async def fresh(wire: Wire, wording: str = "openai", limit: int = 0) -> Wire:
    """The wire with clients that have learnt nothing yet."""
    await wire.close()
    wire._made.clear()
    wire.server.context, wire.server.wording = limit, wording
    return wire


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wording", "way"),
    [*((wording, "stream") for wording in LENGTHS), ("vllm", "json"), ("vllm", "text")],
)
async def test_a_prompt_too_long_is_made_shorter_and_asked_once_more(openai: Wire, wording: str, way: str) -> None:
    await fresh(openai, wording, 8_192)
    assert await asked(openai, way)
    assert [call.fault for call in openai.server.log] == ["too long", ""]
    assert openai.heard.of("retry_scheduled") == []
    assert len(openai.heard.of("usage")) == 1
    assert await asked(openai, way)  # and what was learnt is remembered
    assert [call.fault for call in openai.server.log] == ["too long", "", ""]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [8_192, 32_768])
@pytest.mark.parametrize("weight", [0.6, 1.0, 1.6])
@pytest.mark.parametrize("wording", ["openai", "dashscope", "zhipu"])
async def test_the_second_prompt_fits_however_the_server_counts(
    openai: Wire, wording: str, weight: float, limit: int
) -> None:
    (await fresh(openai, wording, limit)).server.weight = weight
    assert await asked(openai, "stream")
    assert [call.fault for call in openai.server.log] == ["too long", ""]
    sizes = [len(call.prompt) for call in openai.server.log]
    assert sizes[1] < sizes[0]


async def test_gemini_and_ollama_are_asked_once_more_as_well(gemini: Wire, ollama: Wire) -> None:
    more = {"SIGHTLINE_CONTEXT_LENGTH": "ollama=400000"}
    for wire, wording in ((gemini, "gemini"), (ollama, "ollama")):
        await fresh(wire, wording, 8_192)
        assert await asked(wire, "stream", **more)
        assert [call.fault for call in wire.server.log] == ["too long", ""]


async def test_a_refusal_in_the_middle_of_a_stream_is_understood(openai: Wire) -> None:
    body = {"error": {"message": "the request exceeds the available context size", "code": None}}
    await fresh(openai)
    openai.server.replay("write", body, times=1)
    reply = await asked(openai, "stream")
    assert (reply.error, openai.server.calls()) == (None, 2)


async def test_a_prompt_that_is_refused_again_is_given_up_and_nothing_is_learnt(
    openai: Wire,
) -> None:
    await fresh(openai)
    openai.server.fail("write", "400context")
    chat = openai.chat("of-length")
    before = chat.token_budget
    with pytest.raises(ServiceError) as caught:
        await chat.stream_text(sized, "write", openai.heard)
    assert (caught.value.reason, caught.value.hint) == ("refused", "context")
    assert openai.server.calls() == 2
    assert chat.token_budget == before


async def test_a_prompt_that_cannot_be_made_shorter_is_not_asked_again(openai: Wire) -> None:
    openai.server.fail("write", "400context")
    for prompt in (Prompt(RULES, WORDS * 900), lambda room: Prompt(RULES, WORDS * 900)):
        openai.server.log.clear()
        with pytest.raises(ServiceError):
            await openai.chat("of-length").stream_text(prompt, "write", openai.heard)
        assert openai.server.calls() == 1


async def test_what_is_learnt_of_one_model_is_not_said_of_another(openai: Wire) -> None:
    await fresh(openai, "openai", 8_192)
    await asked(openai, "text")
    clients = openai.clients()
    learnt, other = (clients.token_budget(parse_spec(f"openai:{n}")) for n in ("of-length", "other"))
    assert learnt < 8_192 < other
    own = ModelClients(loaded({"OPENAI_API_KEY": "sk-somebody-else"}), clients)
    same = ModelClients(openai.clients().settings, clients)
    assert own.token_budget(parse_spec("openai:of-length")) == other
    assert same.token_budget(parse_spec("openai:of-length")) == learnt


async def test_several_that_are_refused_at_once_are_each_asked_once_more(openai: Wire) -> None:
    (await fresh(openai, "vllm", 8_192)).server.latency = 0.1
    await asyncio.gather(*(asked(openai, "text") for _ in range(4)))
    faults = [call.fault for call in openai.server.log]
    assert sorted(faults) == [""] * 4 + ["too long"] * 4


# Prompts that are cut without a word


async def test_a_prompt_that_ollama_has_cut_is_asked_once_more_shorter(ollama: Wire) -> None:
    """The fake counts what it reads, and no more than it was asked for."""
    chat = ollama.chat(SIGHTLINE_CONTEXT_LENGTH="ollama:some-model=5000")

    def make(room: int) -> Prompt:
        return Prompt(RULES, "\n" + WORDS * (room * 4 // len(WORDS) + 100))

    reply = await chat.stream_text(make, "write", ollama.heard)
    assert ollama.server.calls() == 2
    first, second = ollama.server.log
    assert len(second.prompt) < len(first.prompt)
    told = ollama.heard.of("text_written")
    [restart] = [at for at, part in enumerate(told) if part.get("restart")]
    assert "".join(part["text"] for part in told[restart:]) == reply.text
    assert len(ollama.heard.of("usage")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("way", ["json", "text", "stream"])
async def test_an_answer_is_kept_with_a_warning_where_the_server_counts_too_few_tokens(wire: Wire, way: str) -> None:
    await fresh(wire)
    wire.server.counts = "low"  # as of servers that count what was not in their cache
    assert await asked(wire, way)
    assert wire.server.calls() == 1
    [warned] = wire.heard.of("prompt_undercounted")
    assert warned["service"] == f"{wire.name}:of-length" and 0 < warned["tokens"] < 10_000
    wire.server.reset()
    wire.heard.told.clear()
    assert await asked(wire, way)
    assert wire.heard.of("prompt_undercounted") == []


@given(st.text(max_size=300))
async def test_the_least_that_a_text_can_have_is_less_than_it_is_taken_to_have(text: str) -> None:
    assert minimum_tokens(text) <= estimate_tokens(text)
