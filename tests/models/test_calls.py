"""Asking a chat model: JSON, texts and streams, what is repeated and what is told meanwhile."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any

import pytest

from research.core.errors import ServiceError
from research.models import clients
from research.models.chat import EMIT_INTERVAL_SECONDS, Chat
from research.models.clients import STREAM_TIMEOUT_FACTOR
from research.models.prompting import Prompt
from research.models.request_limits import RequestLimiter
from research.models.roles import parse_spec
from tests.fakes import until
from tests.models.conftest import KEY, PROMPT, Heard, Wire
from tests.servers import tokens
from tests.servers.search import FakeTavily

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKED = Prompt("Follow the rules.", "Question: how old is the tower?\n[@3fa9] It is old.")


async def stream(wire: Wire, chat: Chat) -> Any:
    return await chat.stream_text(ASKED, "write", wire.heard)


def completion(text: str | None, finish: str = "stop") -> dict[str, Any]:
    """A reply of an OpenAI-compatible server as it stands on the wire."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


# JSON


@pytest.mark.slow
async def test_json_comes_back_as_the_object_that_was_asked_for(wire: Wire) -> None:
    assert (await wire.colour(wire.chat())).colour == "green"
    assert wire.server.calls() == 1
    [usage] = wire.heard.of("usage")
    assert (usage["stage"], usage["model"]) == ("check", f"{wire.name}:some-model")
    assert usage["input"] > 0
    assert usage["output"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["fenced", "bom"])
async def test_a_fence_or_a_byte_order_mark_around_json_is_taken_off(fault: str, wire: Wire) -> None:
    wire.server.fail("check", fault)
    assert (await wire.colour(wire.chat())).colour == "green"
    assert wire.server.calls() == 1


async def test_json_after_a_word_of_courtesy_is_taken_as_it_is(openai: Wire) -> None:
    openai.server.replay("check", completion('Sure!\n\n```json\n{"colour": "green"}\n```\nDone.'))
    assert (await openai.colour(openai.chat())).colour == "green"
    assert openai.server.calls() == 1


async def test_json_that_does_not_fit_is_asked_for_once_more_and_the_problem_is_named(
    wire: Wire,
) -> None:
    wire.server.fail("check", "wrongtypes", times=1)
    assert (await wire.colour(wire.chat())).colour == "green"
    first, second = wire.server.log
    assert "could not be used" not in first.prompt
    assert "could not be used: colour: Input should be 'red' or 'green'" in second.prompt


@pytest.mark.parametrize("fault", ["wrongtypes", "wrongjson", "prose"])
async def test_json_that_never_fits_is_malformed_after_two_requests(openai: Wire, fault: str) -> None:
    openai.server.fail("check", fault)
    with pytest.raises(ServiceError) as caught:
        await openai.colour(openai.chat())
    assert caught.value.reason == "malformed"
    assert "openai:some-model: " in caught.value.message
    assert openai.server.calls() == 2


async def test_half_of_a_json_is_not_mended_although_that_would_give_an_object(
    openai: Wire,
) -> None:
    openai.server.replay("check", completion('{"colour": "green"'))
    with pytest.raises(ServiceError) as caught:
        await openai.colour(openai.chat())
    assert caught.value.reason == "malformed"
    assert openai.server.calls() == 2


async def test_json_that_reached_the_limit_of_output_is_cut_off_even_if_it_can_be_read(
    openai: Wire,
) -> None:
    openai.server.replay("check", completion('{"colour": "green"}', "length"))
    with pytest.raises(ServiceError) as caught:
        await openai.colour(openai.chat())
    assert caught.value.reason == "cut off"
    assert openai.server.calls() == 2
    assert "limit of output" in openai.server.log[1].prompt


async def test_json_that_was_cut_off_once_is_asked_for_again(wire: Wire) -> None:
    wire.server.fail("check", "maxtokens", times=1)
    assert (await wire.colour(wire.chat())).colour == "green"


async def test_thoughts_before_json_are_left_out(openai: Wire) -> None:
    thought = '<think>\nGrass, {"colour": "red"}?\n</think>\n\n```json\n{"colour": "green"}\n```'
    openai.server.replay("check", completion(thought))
    assert (await openai.colour(openai.chat())).colour == "green"


async def test_thoughts_before_json_are_left_out_even_if_only_their_end_is_marked(
    openai: Wire,
) -> None:
    thought = 'Grass: {"colour": "red"}?\n</think>\n{"colour": "green"}'
    openai.server.replay("check", completion(thought))
    assert (await openai.colour(openai.chat())).colour == "green"
    assert openai.server.calls() == 1


# Texts and streams


async def test_a_stream_is_told_as_it_is_written_and_counted_once(wire: Wire) -> None:
    wire.server.fail("write", f"slow:{EMIT_INTERVAL_SECONDS}")
    found = await stream(wire, wire.chat())
    told = wire.heard.of("text_written")
    assert len(told) > 2
    assert "".join(part["text"] for part in told) == found.text
    assert (found.is_cut, found.error) == (False, None)
    assert len(wire.heard.of("usage")) == 1


async def test_chunks_that_come_fast_are_told_together(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("research.models.chat.EMIT_INTERVAL_SECONDS", 60)
    found = await stream(wire, wire.chat())
    first, rest = (part["text"] for part in wire.heard.of("text_written"))
    assert first and rest and first + rest == found.text


async def test_a_stream_that_breaks_off_begins_anew(wire: Wire) -> None:
    chat = wire.chat()
    whole = (await stream(wire, chat)).text
    wire.server.fail("write", "midreset", times=1)
    wire.heard.told.clear()
    found = await stream(wire, chat)
    assert (found.text, found.error) == (whole, None)
    told = wire.heard.of("text_written")
    [restart] = [at for at, part in enumerate(told) if part.get("restart")]
    assert restart > 0
    assert "".join(part["text"] for part in told[restart:]) == whole
    assert [data["reason"] for data in wire.heard.of("retry_scheduled")] == ["unreachable"]


@pytest.mark.parametrize("fault", ["midreset", "midclose", "midend", "miderror", "midbadjson"])
async def test_a_stream_that_breaks_off_for_good_leaves_what_was_written_and_says_so(wire: Wire, fault: str) -> None:
    chat = wire.chat(SIGHTLINE_MODEL_ATTEMPTS="1")
    whole = (await stream(wire, chat)).text
    wire.server.fail("write", fault)
    found = await stream(wire, chat)
    assert found.error is not None
    assert whole.startswith(found.text)
    assert 0 < len(found.text) < len(whole)


async def test_of_several_attempts_that_break_off_the_longest_text_is_left(openai: Wire) -> None:
    chat = openai.chat()
    openai.server.fail("write", "midreset", times=1)
    openai.server.brain.answer = lambda prompt: "short" if openai.server.calls() > 1 else "long " * 9
    found = await stream(openai, chat)
    assert (found.text, found.error) == ("short", None)
    openai.server.reset()
    openai.server.fail("write", "midreset")
    openai.server.brain.answer = lambda prompt: "short" if openai.server.calls() > 1 else "long " * 9
    found = await stream(openai, chat)
    assert found.text.startswith("long long")
    assert found.error is not None


async def test_a_stream_that_fails_before_its_first_word_has_nothing_to_begin_anew(
    openai: Wire,
) -> None:
    openai.server.fail("write", "503", times=1)
    await stream(openai, openai.chat())
    assert not any(part.get("restart") for part in openai.heard.of("text_written"))


async def test_a_text_at_the_limit_of_output_is_cut_and_not_asked_for_again(wire: Wire) -> None:
    wire.server.fail("any", "maxtokens")
    chat = wire.chat()
    assert (await stream(wire, chat)).is_cut
    assert (await chat.ask_text(ASKED, "summarise", wire.heard)).is_cut
    assert wire.server.calls() == 2


async def test_thoughts_are_neither_told_nor_part_of_the_text(openai: Wire) -> None:
    openai.server.brain.answer = "<think>\nHm, is it old?\n</think>\n\nThe tower is old."
    found = await stream(openai, openai.chat())
    assert found.text == "The tower is old."
    assert "".join(part["text"] for part in openai.heard.of("text_written")) == found.text


@pytest.mark.parametrize("shift", range(12))
async def test_thoughts_of_which_only_the_end_is_marked_are_taken_back(openai: Wire, shift: int) -> None:
    thoughts = f"Okay{'.' * shift} is it old?\n"  # so that the tag falls apart at every place
    openai.server.brain.answer = thoughts + "</think>\n\nThe tower is old. 塔很古老。"
    found = await stream(openai, openai.chat())
    assert found.text == "The tower is old. 塔很古老。"
    told = openai.heard.of("text_written")
    begun = max(at for at, part in enumerate(told) if part.get("restart"))
    assert "".join(part["text"] for part in told[begun:]) == found.text
    openai.server.replay("any", completion(openai.server.brain.answer))
    assert (await openai.chat().ask_text(ASKED, "summarise", openai.heard)).text == found.text


async def test_a_byte_order_mark_is_no_part_of_a_text(wire: Wire) -> None:
    wire.server.brain.answer = "塔很古老。"
    wire.server.fail("any", "bom")
    assert (await stream(wire, wire.chat())).text == "塔很古老。"
    assert "".join(part["text"] for part in wire.heard.of("text_written")) == "塔很古老。"


async def test_a_text_that_begins_with_an_angle_bracket_is_whole(openai: Wire) -> None:
    openai.server.brain.answer = "<thin> walls & <think> are words."
    assert (await stream(openai, openai.chat())).text == openai.server.brain.answer


async def test_thoughts_alone_are_no_text(openai: Wire) -> None:
    openai.server.brain.answer = "<think>\nHm, is it old? I cannot tell yet, so let me think"
    openai.server.fail("write", "maxtokens")
    with pytest.raises(ServiceError) as caught:
        await stream(openai, openai.chat())
    assert caught.value.reason == "cut off"
    openai.server.fail("write", "midreset")
    with pytest.raises(ServiceError) as caught:
        await stream(openai, openai.chat())
    assert caught.value.reason == "unreachable"
    assert openai.heard.of("text_written") == []


BLOCKED = {
    "gemini": {"promptblock": "blocked", "safety": "blocked", "recitation": "blocked"},
    "openai": {"safety": "blocked"},
    "anthropic": {"refusal": "blocked"},
    "ollama": {},
}
EMPTY = {
    "gemini": {"empty": "malformed", "emptylist": "malformed", "noparts": "malformed"},
    "openai": {"empty": "malformed", "nullcontent": "malformed"},
    "anthropic": {"empty": "malformed"},
    "ollama": {"empty": "malformed", "nothing": "malformed", "load": "malformed"},
}


async def test_a_model_that_says_nothing_is_a_trouble_that_names_the_cause(wire: Wire) -> None:
    chat = wire.chat(SIGHTLINE_MODEL_ATTEMPTS="1")
    causes = BLOCKED[wire.name] | EMPTY[wire.name] | {"maxtokensempty": "cut off"}
    for fault, reason in causes.items():
        wire.server.fail("any", fault)
        for call in (
            stream(wire, chat),
            chat.ask_text(ASKED, "summarise", wire.heard),
            wire.colour(chat),
        ):
            with pytest.raises(ServiceError) as caught:
                await call
            assert (fault, caught.value.reason) == (fault, reason)
            assert len(caught.value.message) > 20


async def test_a_refusal_in_words_is_blocked_and_told(openai: Wire) -> None:
    openai.server.fail("any", "refusal")
    with pytest.raises(ServiceError) as caught:
        await openai.colour(openai.chat())
    assert (caught.value.reason, openai.server.calls()) == ("blocked", 1)
    assert "I can't help with that" in caught.value.message


# Again, or not


async def test_a_pause_that_the_service_asks_for_is_kept_to_and_told(gemini: Wire, openai: Wire) -> None:
    for wire in (gemini, openai):
        wire.server.fail("check", "429:0.7", times=1)
        await wire.colour(wire.chat())
        first, second = wire.server.log
        assert second.time - first.time >= 0.7
        [told] = wire.heard.of("retry_scheduled")
        assert told == {
            "stage": "check",
            "seconds": 0.7,
            "reason": "quota",
            "service": f"{wire.name}:some-model",
        }


async def test_a_pause_that_ends_at_a_date_is_kept_to(openai: Wire) -> None:
    later = datetime.now(UTC) + timedelta(hours=2)
    openai.server.fail("check", f"429:{format_datetime(later, usegmt=True)}", times=1)
    with pytest.raises(ServiceError) as caught:
        await openai.colour(openai.chat("dated"))
    assert caught.value.reason == "quota" and 7_000 < (caught.value.retry_after_seconds or 0) <= 7_200
    assert re.search(r"possible again in 7\d\d\d s", caught.value.message)
    assert openai.server.calls() == 1


async def test_a_pause_beyond_the_limit_is_not_waited_for_and_nothing_is_asked_until_it_is_over(
    openai: Wire,
) -> None:
    openai.server.fail("check", "429:1.3", times=1)
    chat = openai.chat("of-its-own")
    for _ in range(2):
        with pytest.raises(ServiceError) as caught:
            await openai.colour(chat)
        assert caught.value.reason == "quota"
        assert re.search(r"possible again in (1.3|2|1) s", caught.value.message)
    assert openai.server.calls() == 1
    assert openai.heard.of("retry_scheduled") == []
    over = openai.server.log[0].ended + 1.4
    await asyncio.to_thread(until, lambda: time.monotonic() > over)
    assert (await openai.colour(chat)).colour == "green"


async def test_a_pause_holds_for_one_model_and_not_for_its_searches(openai: Wire) -> None:
    openai.server.fail("check", "429:60", times=1)
    clients = openai.clients()
    chat, other = (Chat(parse_spec(f"openai:{name}"), clients) for name in ("spent", "other"))
    with pytest.raises(ServiceError):
        await openai.colour(chat)
    assert (await openai.colour(other)).colour == "green"
    assert clients.cooldown(chat.spec).remaining_seconds > 50
    assert clients.cooldown(chat.spec, is_search=True).remaining_seconds == 0


@pytest.mark.parametrize("attempts", [1, 2, 4])
async def test_the_setting_counts_attempts(openai: Wire, attempts: int) -> None:
    openai.server.fail("check", "429:0.05")
    own = {"SIGHTLINE_MODEL_ATTEMPTS": str(attempts)}
    with pytest.raises(ServiceError):
        await openai.colour(openai.chat(f"asked-{attempts}-times", **own))
    assert openai.server.calls() == attempts
    assert len(openai.heard.of("retry_scheduled")) == attempts - 1


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        *((fault, 1) for fault in ("400key", "400context", "403", "404", "hang", "safety")),
        ("echokey", 3),  # refused for no known reason: once for each way to ask
    ],
)
async def test_what_repeating_cannot_help_is_asked_once(openai: Wire, fault: str, calls: int) -> None:
    openai.server.fail("check", fault)
    with pytest.raises(ServiceError) as caught:
        await openai.colour(openai.chat(SIGHTLINE_MODEL_TIMEOUT="0.3", OPENAI_API_KEY=KEY))
    assert openai.server.calls() == calls
    assert openai.heard.of("retry_scheduled") == []
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("fault", ["reset", "html502", "html200", "badjson", "500", "503", "empty"])
async def test_what_may_pass_is_asked_again(openai: Wire, fault: str) -> None:
    openai.server.fail("check", fault, times=1)
    assert (await openai.colour(openai.chat())).colour == "green"
    assert openai.server.calls() == 2


async def test_a_provider_without_its_key_is_not_asked(openai: Wire) -> None:
    chat = Chat(parse_spec("gemini:m"), openai.clients(GEMINI_API_KEY=" "))
    with pytest.raises(ServiceError) as caught:
        await openai.colour(chat)
    assert (caught.value.reason, caught.value.hint) == ("no key", "key")
    assert "GEMINI_API_KEY" in caught.value.message


# Deadlines


async def test_a_call_ends_with_its_deadline_and_the_server_is_left(wire: Wire) -> None:
    wire.server.fail("check", "hang")
    chat = wire.chat(SIGHTLINE_MODEL_TIMEOUT="1")
    with pytest.raises(ServiceError) as caught:
        await wire.colour(chat)
    assert (caught.value.reason, caught.value.message) == (
        "timeout",
        f"{wire.name}:some-model did not answer within 1 s",
    )
    await asyncio.to_thread(until, lambda: wire.server.log[0].left)


async def test_a_call_that_waits_for_its_turn_says_so_and_is_not_late(
    openai: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "RequestLimiter", partial(RequestLimiter, window_seconds=0.6))
    limits = {"SIGHTLINE_REQUESTS_PER_MINUTE": "1", "SIGHTLINE_MODEL_TIMEOUT": "1"}
    chat = openai.chat(**limits)
    await chat.load_client()
    colours = await asyncio.gather(*(openai.colour(chat) for _ in range(3)))
    assert [colour.colour for colour in colours] == ["green"] * 3
    queued = {"stage": "check", "service": "openai:some-model"}
    told = [kind for kind, _ in openai.heard.told if kind in ("rate_limit_wait", "usage")]
    assert told == ["rate_limit_wait"] * 2 + ["usage", "rate_limit_wait"] * 2 + ["usage"]
    overs = (False, False, True, True)
    assert openai.heard.of("rate_limit_wait") == [{**queued, "is_over": over} for over in overs]


async def test_a_reply_that_trickles_in_is_over_with_the_deadline(openai: Wire) -> None:
    with FakeTavily(fault="trickles") as slow:  # a byte every 0.05 s
        chat, start = openai.chat(OPENAI_BASE_URL=slow.base_url, SIGHTLINE_MODEL_TIMEOUT="0.4"), 0.0
        for call in (openai.colour(chat), stream(openai, chat)):
            start = time.monotonic()
            with pytest.raises(ServiceError) as caught:
                await call
            assert caught.value.reason == "timeout"
            assert time.monotonic() - start < 30


@pytest.mark.slow
async def test_a_stream_may_last_longer_than_one_answer_but_not_for_ever(openai: Wire) -> None:
    openai.server.fail("write", "slow:0.25")  # for each piece
    openai.server.brain.answer = "word " * 30  # 7 pieces
    start = time.monotonic()
    assert (await stream(openai, openai.chat(SIGHTLINE_MODEL_TIMEOUT="1"))).error is None
    assert time.monotonic() - start > 1
    openai.server.brain.answer = "word " * 100  # 16 pieces
    chat = openai.chat(SIGHTLINE_MODEL_TIMEOUT="0.7")
    await chat.load_client()
    start = time.monotonic()
    found = await stream(openai, chat)
    assert found.error is not None
    assert found.error.reason == "timeout"
    assert found.text.startswith("word word")
    assert time.monotonic() - start >= 0.7 * STREAM_TIMEOUT_FACTOR


async def test_a_call_that_is_cancelled_ends_at_once_and_the_server_is_left(wire: Wire) -> None:
    wire.server.fail("check", "hang")
    chat = wire.chat()
    call = asyncio.create_task(wire.colour(chat))
    await asyncio.to_thread(until, wire.server.calls)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.to_thread(until, lambda: wire.server.log[0].left)


# What is sent

SAMPLING = {"temperature", "top_p", "top_k", "topp", "topk", "n", "seed"}


def names(body: Any) -> set[str]:
    """Every name in a body, wherever it stands."""
    if isinstance(body, dict):
        return {str(name).lower() for name in body} | names(list(body.values()))
    if isinstance(body, list):
        return {name for item in body for name in names(item)}
    return set()


async def test_no_request_has_a_sampling_parameter_and_every_prompt_ends_with_the_user(
    wire: Wire,
) -> None:
    chat = wire.chat()
    await wire.colour(chat)
    await stream(wire, chat)
    await chat.ask_text(ASKED, "summarise", Heard())
    for call in wire.server.log:
        assert names(call.body) & SAMPLING == set()
        turns = call.body.get("messages") or call.body["contents"]
        assert turns[-1]["role"] == "user"
        assert PROMPT.user in call.prompt or ASKED.user in call.prompt


# The account


@pytest.mark.parametrize("counts", ["left out", "zero"])
async def test_a_call_that_the_server_did_not_count_is_counted_by_its_length_and_marked(
    wire: Wire, counts: Any
) -> None:
    wire.server.counts = counts
    chat = wire.chat()
    reply = await stream(wire, chat)
    assert (await wire.colour(chat)).colour == "green"
    written, judged = wire.heard.of("usage")
    assert (written["calls"], judged["calls"]) == (1, 1)
    assert written["estimated"] and judged["estimated"]
    assert written["output"] == -(-len(reply.text.encode()) // 3)
    assert written["input"] == -(-len((ASKED.system + ASKED.user).encode()) // 3)
    assert judged["input"] > 0 < judged["output"]


async def test_what_the_server_has_counted_is_taken_as_it_is(wire: Wire) -> None:
    await stream(wire, wire.chat())
    [usage] = wire.heard.of("usage")
    assert not usage["estimated"]
    assert usage["input"] == tokens(wire.server.log[0].prompt)


async def test_an_answer_that_broke_off_uncounted_is_counted_by_what_came_of_it(
    openai: Wire,
) -> None:
    openai.server.counts = "left out"
    openai.server.fail("write", "midclose")
    reply = await stream(openai, openai.chat(SIGHTLINE_MODEL_ATTEMPTS="1"))
    [usage] = openai.heard.of("usage")
    assert (usage["output"], usage["estimated"]) == (-(-len(reply.text.encode()) // 3), True)


async def test_a_call_that_was_refused_counts_for_nothing(wire: Wire) -> None:
    wire.server.counts = "left out"
    wire.server.fail("any", "403")
    chat = wire.chat()
    for call in (stream(wire, chat), wire.colour(chat)):
        with pytest.raises(ServiceError):
            await call
    assert wire.heard.of("usage") == []
