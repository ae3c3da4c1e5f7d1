"""What the failures of the model services mean: each client, each failure, as it comes over the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from research.core.errors import ServiceError
from research.models.chat import Chat
from research.models.errors import classify_error
from research.models.roles import parse_spec
from research.sources.web.gemini import GeminiSearch
from tests.fakes import RETRIEVED
from tests.models.conftest import ADDRESSES, KEY, PROMPT, Heard, Wire
from tests.servers import refused_url

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENV = {
    "GEMINI_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "SIGHTLINE_MODEL_ATTEMPTS": "1",
}
# Seconds: short where silence is what is tested, else more than a busy machine takes to answer.
PATIENCE = {"hang": "0.5", "midhang": "0.5"}
# The fault, the reason and the hint that it has to give, and whether another attempt may help.
FAILURES: dict[str, tuple[str, str, bool]] = {
    "400key": ("refused", "key", False),
    "400context": ("refused", "context", False),
    "403": ("refused", "", False),
    "404": ("refused", "model", False),
    "429bare": ("quota", "", True),
    "500": ("unavailable", "", True),
    "503": ("unavailable", "", True),
    "504": ("unavailable", "", True),
    "html502": ("unavailable", "", True),
    "html200": ("malformed", "", True),
    "badjson": ("malformed", "", True),
    "echokey": ("refused", "", False),
    "hang": ("timeout", "", False),
    "reset": ("unreachable", "", True),
    "midreset": ("unreachable", "", True),
    "midclose": ("unreachable", "", True),
    "midhang": ("timeout", "", False),
    "midbadjson": ("malformed", "", True),
    "miderror": ("unavailable", "", True),
    "maxtokensempty": ("cut off", "", False),
    "empty": ("malformed", "", True),
}
GEMINI: dict[str, tuple[str, str, bool]] = {
    "400location": ("refused", "location", False),
    "promptblock": ("blocked", "", False),
    "safety": ("blocked", "", False),
    "recitation": ("blocked", "", False),
    "noparts": ("malformed", "", True),
    "emptylist": ("malformed", "", True),
    "midend": ("malformed", "", True),
}
OPENAI = {
    "403": ("refused", "location", False),  # its body says so
    "safety": ("blocked", "", False),
    "nullcontent": ("malformed", "", True),
    "midend": ("malformed", "", True),
}
OLLAMA = {"load": ("malformed", "", True), "midend": ("unreachable", "", True)}

Ask = Callable[[Wire, str], Awaitable[Any]]


def env(fault: str) -> dict[str, str]:
    return ENV | {"SIGHTLINE_MODEL_TIMEOUT": PATIENCE.get(fault, "20")}


async def text(wire: Wire, fault: str) -> None:
    await wire.chat(**env(fault)).ask_text(PROMPT, "write", wire.heard)


async def stream(wire: Wire, fault: str) -> None:
    """A stream that broke off is not raised: it comes with its trouble."""
    found = await wire.chat(**env(fault)).stream_text(PROMPT, "write", wire.heard)
    assert found.error is not None
    raise found.error


async def search(wire: Wire, fault: str) -> None:
    """Google's own client."""
    await GeminiSearch(wire.clients(**env(fault)), lambda: RETRIEVED).search("tower", Heard())


CASES = [
    pytest.param(client, way, fault, *expected, id=f"{client}-{way.__name__}-{fault}")
    for client, own, ways in (
        ("gemini", GEMINI, (text, stream, search)),
        ("openai", OPENAI, (text, stream)),
        ("ollama", OLLAMA, (text, stream)),
    )
    for way in ways
    for fault, expected in (FAILURES | own).items()
    if (way, fault) != (stream, "midend")  # the end of its stream is all that is missing: see below
]


async def failed(call: Awaitable[Any]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await call
    assert KEY not in caught.value.message
    assert len(caught.value.message) > 15
    assert "<" not in caught.value.message
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize(("client", "way", "fault", "reason", "hint", "again"), CASES)
async def test_a_failure_has_its_reason_and_hint_and_is_repeated_only_where_that_may_help(
    wires: dict[str, Wire], client: str, way: Ask, fault: str, reason: str, hint: str, again: bool
) -> None:
    wire = wires[client]
    wire.server.reset()
    wire.server.fail("any", fault)
    found = await failed(way(wire, fault))
    if way is search and reason == "quota":  # a key without billing has no searches at all
        hint, again = "billing", False
    assert (found.reason, found.hint, found.is_retryable) == (reason, hint, again)


@pytest.mark.parametrize("client", ["gemini", "openai", "ollama"])
async def test_a_stream_without_its_last_piece_broke_off(wires: dict[str, Wire], client: str) -> None:
    wires[client].server.reset()
    wires[client].server.fail("any", "midend")
    assert (await failed(stream(wires[client], "midend"))).reason == "unreachable"


@pytest.mark.parametrize("client", ["gemini", "openai", "ollama"])
async def test_a_port_at_which_nobody_listens_is_unreachable_and_told_with_its_address(
    wires: dict[str, Wire], client: str
) -> None:
    url = refused_url()
    clients = wires[client].clients(**ENV | {ADDRESSES[client]: url})
    found = await failed(Chat(parse_spec(f"{client}:m"), clients).ask_text(PROMPT, "write", Heard()))
    assert (found.reason, found.is_retryable) == ("unreachable", True)
    assert (url.removeprefix("http://") if client == "gemini" else ADDRESSES[client]) in found.message


@pytest.mark.parametrize("client", ["gemini", "openai"])
async def test_a_pause_is_read_from_the_body_or_the_header(wires: dict[str, Wire], client: str) -> None:
    wires[client].server.reset()
    wires[client].server.fail("any", "429:0.25")
    chat = wires[client].chat("spent", **ENV)
    found = await failed(chat.ask_text(PROMPT, "write", Heard()))
    assert (found.reason, found.retry_after_seconds) == ("quota", 0.25)


async def test_the_service_s_own_words_are_told(wires: dict[str, Wire]) -> None:
    words = {"gemini": "overloaded", "openai": "overloaded", "ollama": "maximum pending requests"}
    for client, expected in words.items():
        wires[client].server.reset()
        wires[client].server.fail("any", "503")
        assert expected in (await failed(text(wires[client], "503"))).message


async def test_what_a_service_says_of_a_missing_model_is_told(wires: dict[str, Wire]) -> None:
    words = {"gemini": "is not found", "openai": "does not exist", "ollama": "try pulling it first"}
    for client, expected in words.items():
        wires[client].server.reset()
        wires[client].server.fail("any", "404")
        found = await failed(text(wires[client], "404"))
        assert "another model" in found.message
        assert expected in found.message


@pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("ours"), AssertionError()])
async def test_an_error_of_our_own_is_no_failure_of_a_service(error: Exception) -> None:
    with pytest.raises(type(error)):
        classify_error(error, parse_spec("gemini:m"))


async def test_a_trouble_within_an_error_is_what_it_means() -> None:
    error = ValueError("around it")
    error.__cause__ = ServiceError("blocked", "inside")
    assert classify_error(error, parse_spec("gemini:m")) is error.__cause__
