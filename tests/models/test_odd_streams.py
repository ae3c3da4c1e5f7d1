"""Streams that are all there although they are odd, and those that are not: the text is taken once, a
second attempt is in one piece, and what was paid for stays."""

from __future__ import annotations

import time
from typing import Any

import pytest

from research.core.errors import ServiceError
from research.models.clients import STREAM_TIMEOUT_FACTOR
from research.models.prompting import Prompt
from tests.models.conftest import Wire
from tests.servers import Call

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "<<<question q\nHow old is the tower?\nq question>>>"
ASKED = Prompt("Follow the rules.", f"{QUESTION}\n[@3fa9] It is old.")
TEXT = 'The tower is old [@3fa9]. 塔很古老，建于1925年。\n\nIt writes "delta": null and data: [DONE].'
WHOLE = ["comments", "nullevent", "done", "unended", "cumulative", "repeated"]


@pytest.fixture(params=["openai", "gemini"])
def either(request: pytest.FixtureRequest, wires: dict[str, Wire]) -> Wire:
    wire = wires[request.param]
    wire.server.reset()
    wire.heard.told.clear()
    wire.server.brain.answer = TEXT
    return wire


async def stream(wire: Wire, **env: str) -> Any:
    return await wire.chat(**env).stream_text(ASKED, "write", wire.heard)


def told(wire: Wire) -> str:
    """The text as whoever follows it has it in the end."""
    text = ""
    for part in wire.heard.of("text_written"):
        text = part["text"] if part.get("restart") else text + part["text"]
    return text


def is_streamed(call: Call) -> bool:
    return bool(call.body.get("stream")) or "stream" in call.path.lower()


@pytest.mark.parametrize("fault", WHOLE)
async def test_a_text_that_is_all_there_is_taken_once(either: Wire, fault: str) -> None:
    either.server.fail("write", fault)
    found = await stream(either)
    assert (found.text, found.is_cut, found.error) == (TEXT, False, None)
    assert told(either) == TEXT
    assert either.server.calls() <= (1 if either.name == "openai" else 2)


@pytest.mark.parametrize("fault", ["nodelta", "deltaless"])
async def test_an_end_whose_event_has_no_delta_is_an_end(openai: Wire, fault: str) -> None:
    openai.server.brain.answer = TEXT
    openai.server.fail("write", fault)
    assert (await stream(openai)).text == told(openai) == TEXT
    assert openai.server.calls() == 1


async def test_a_byte_order_mark_before_a_stream_costs_no_word(either: Wire) -> None:
    either.server.fail("write", "bombody")
    assert (await stream(either)).text == told(either) == TEXT
    assert either.server.calls() == 1


@pytest.mark.parametrize("reason", ["network_error", "insufficient_system_resource", "error", "abort"])
async def test_an_end_that_is_a_failure_of_the_server_is_no_end(openai: Wire, reason: str) -> None:
    openai.server.brain.answer = TEXT
    openai.server.fail("write", f"finish:{reason}", times=1)
    found = await stream(openai)
    assert (found.text, found.error) == (TEXT, None)
    assert [is_streamed(call) for call in openai.server.log] == [True, False]
    openai.server.fail("write", f"finish:{reason}")
    found = await stream(openai)
    assert found.text == TEXT
    assert found.error is not None and found.error.reason == "unreachable"


async def test_a_text_that_a_filter_has_ended_is_said_to_be_so(openai: Wire) -> None:
    openai.server.brain.answer = TEXT
    openai.server.fail("write", "finish:sensitive")
    found = await stream(openai)
    assert found.error is not None and found.error.reason == "blocked"


async def test_a_stream_without_any_end_is_asked_for_once_more_in_one_piece(either: Wire) -> None:
    either.server.fail("write", "endless")
    found = await stream(either)
    assert (found.text, found.error) == (TEXT, None)
    assert told(either) == TEXT
    assert [is_streamed(call) for call in either.server.log] == [True, False]


@pytest.mark.parametrize("fault", ["midbadjson", "miderror"])
async def test_a_stream_that_cannot_be_read_is_asked_for_once_more_in_one_piece(either: Wire, fault: str) -> None:
    either.server.fail("write", fault, times=1)
    found = await stream(either)
    assert (found.text, found.error) == (TEXT, None)
    assert told(either) == TEXT
    assert [is_streamed(call) for call in either.server.log] == [True, False]


async def test_what_a_stream_has_brought_stays_where_the_second_attempt_brings_nothing(
    either: Wire,
) -> None:
    either.server.fail("write", "503")
    either.server.fail("write", "endless", times=1)
    found = await stream(either)
    assert found.text == TEXT
    assert found.error is not None and found.error.reason == "unreachable"


async def test_text_that_repeats_itself_is_no_stream_that_does(either: Wire) -> None:
    for text in ("ha " * 40, "word word word " * 60, "0" * 200, "重要的事说三遍。" * 30):
        either.server.brain.answer = text
        assert (await stream(either)).text == text


@pytest.mark.parametrize(
    "written",
    [
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{}",
        "<|start|>assistant<|channel|>final<|message|>{}<|return|>",
        "analysisThe user asks. Easy.assistantfinal{}",
        "<think>\nHm.\n</think>\n\n{}",
        "{}<think>Wait, is [@abcd1234] older? No.</think>",
        "<answer>{}</answer>",
        "{}<|im_end|>",
    ],
)
async def test_what_a_template_puts_around_a_text_is_no_part_of_it(either: Wire, written: str) -> None:
    plain = "The tower is old [@3fa9]. 塔很古老。"
    either.server.brain.answer = written.replace("{}", plain)
    assert (await stream(either)).text == told(either) == plain
    found = await either.chat().ask_text(ASKED, "summarise", either.heard)
    assert found.text == plain


# Time


@pytest.mark.slow
async def test_a_stream_that_is_too_slow_is_said_to_be_so_and_its_text_stays(either: Wire) -> None:
    either.server.fail("write", "slow:0.2")
    either.server.brain.answer = "word " * 100  # 16 pieces
    start = time.monotonic()
    found = await stream(either, SIGHTLINE_MODEL_TIMEOUT="0.5")
    assert found.text.startswith("word word") and found.error is not None
    assert found.error.reason == "timeout"
    assert found.error.message.endswith(f"was still answering after {0.5 * STREAM_TIMEOUT_FACTOR:g} s")
    assert time.monotonic() - start < 30


async def test_a_stream_that_stops_is_said_to_have_begun(either: Wire) -> None:
    either.server.fail("write", "midhang")
    found = await stream(either, SIGHTLINE_MODEL_TIMEOUT="0.7")
    assert found.text and found.error is not None
    assert found.error.message.endswith("sent nothing more for 0.7 s")


# Nothing to be seen

BLANK = [
    "\u200b" * 9,
    "\ufeff \u2060\u00ad",
    "\u3164\u115f",
    "\u200e\u2800\n",
    "\u3000\u00a0",
    "\u0301\ufe0f",
]


@pytest.mark.parametrize("blank", BLANK)
async def test_an_answer_in_which_nothing_can_be_seen_is_asked_for_again(either: Wire, blank: str) -> None:
    either.server.brain.answer = lambda prompt: blank if either.server.calls() == 1 else TEXT
    assert (await stream(either)).text == TEXT
    assert either.server.calls() == 2


@pytest.mark.parametrize("blank", BLANK)
async def test_an_answer_in_which_nothing_can_be_seen_is_none(either: Wire, blank: str) -> None:
    either.server.brain.answer = either.server.brain.section = blank
    chat = either.chat(SIGHTLINE_MODEL_ATTEMPTS="1")
    with pytest.raises(ServiceError) as caught:
        await chat.stream_text(ASKED, "write", either.heard)
    assert caught.value.reason == "malformed"
