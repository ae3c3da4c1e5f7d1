"""Failures in words: which service, how, and what can be done; those that read the same once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import get_args

import httpx
import pytest

from research import explain_failure, group_failures, parse_failure
from research.core.errors import ServiceError, connection_hint, error_from_status
from research.core.records import Failure, FailureHint, FailureReason, Language
from research.http.responses import convert_errors
from research.models.errors import classify_error
from research.models.roles import parse_spec
from tests.catalogue import LANGUAGES
from tests.servers.search import FakeTavily
from tests.tables import each_row

KINDS: dict[str, tuple[FailureReason, FailureHint]] = {
    "a key that is missing": ("no key", "key"),
    "a key that is refused": ("refused", "key"),
    "another refusal": ("refused", ""),
    "an address of something else": ("refused", "endpoint"),
    "an outage": ("unavailable", ""),
    "a name that is not found": ("unreachable", "dns"),
    "a certificate that does not hold": ("unreachable", "tls"),
    "no connection": ("unreachable", ""),
    "no answer in time": ("timeout", ""),
    "a quota that is used up": ("quota", ""),
    "a quota of the day": ("quota", "day"),
    "too many requests": ("quota", "minute"),
    "no credit": ("quota", "billing"),
    "nothing found": ("empty", ""),
    "an answer that cannot be read": ("malformed", ""),
}
RAW = "Tavily: ConnectError: [Errno -2] Name or service not known"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_trouble_is_a_sentence_of_its_own(language: Language) -> None:
    told = {
        kind: explain_failure(Failure(source="tavily", reason=reason, hint=hint), language)
        for kind, (reason, hint) in KINDS.items()
    }
    assert len(set(told.values())) == len(KINDS)
    assert all("Tavily" in text for text in told.values())
    assert all(text.endswith(("。", ".")) for text in told.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_repeats_what_a_library_said(language: Language) -> None:
    for reason in get_args(FailureReason):
        for hint in get_args(FailureHint):
            failure = Failure(source="web", reason=reason, hint=hint, message=RAW)
            text = explain_failure(failure, language)
            if reason not in (
                "unclear",
                "no model",
                "empty",
                "left out",
            ):  # these are our own words
                assert "Errno" not in text and "ConnectError" not in text


def test_a_missing_model_is_told_in_the_words_of_the_source_or_in_ours() -> None:
    told = Failure(source="database", reason="no model", message="It needs a model.")
    assert explain_failure(told, "en") == "It needs a model."
    assert "Set one up in Settings" in explain_failure(told.model_copy(update={"message": ""}), "en")


@each_row(
    ("failure", "service"),
    [
        (Failure(source="web", reason="timeout", message="Tavily: no answer within 3 s"), "Tavily"),
        (Failure(source="tavily", reason="timeout"), "Tavily"),
        (Failure(stage="write", reason="unreachable", message="gemini:gemini-3.8-flash: ClientConnectorDNSError: x"), "gemini-3.8-flash"),
        (Failure(stage="plan", reason="timeout", message="ollama:qwen3:8b did not answer within 60 s"), "qwen3:8b"),
        (Failure(source="places", reason="unreachable", message="Amap: no connection (ConnectError)"), "Amap"),
        (Failure(source="papers", reason="unavailable", message="HTTP 503: out"), "papers"),
        (Failure(source="mine", reason="timeout", message="something: odd"), "mine"),
        (Failure(stage="write", reason="timeout"), "A service"),
    ],
)  # fmt: skip
def test_the_service_that_failed_is_named(failure: Failure, service: str) -> None:
    assert service.lower() in explain_failure(failure, "en").lower()


def test_a_missing_setting_is_named() -> None:
    failure = Failure(source="web", reason="no key", hint="key", message="web search needs one of GEMINI_API_KEY, TAVILY_API_KEY")  # fmt: skip
    for language in LANGUAGES:
        text = explain_failure(failure, language)
        assert "GEMINI_API_KEY" in text and "TAVILY_API_KEY" in text


def test_failures_that_read_the_same_are_told_once_with_their_number() -> None:
    failures = [
        Failure(source="tavily", query=f"query {n}", reason="unreachable", hint="dns", message=f"{RAW} {n % 2}")
        for n in range(12)
    ]  # fmt: skip
    failures.append(Failure(source="tavily", query="last", reason="timeout"))
    many, one = group_failures(failures, "en")
    assert (many.failure_count, one.failure_count) == (12, 1)
    assert many.queries == tuple(f"query {n}" for n in range(12))
    assert many.details == (f"{RAW} 0", f"{RAW} 1")


@each_row(
    ("error", "reason", "message"),
    [
        ("unreachable: gemini:gemini-3.8-flash: ClientConnectorDNSError", "unreachable", "gemini:gemini-3.8-flash: ClientConnectorDNSError"),
        ("no key: gemini:x needs GEMINI_API_KEY", "no key", "gemini:x needs GEMINI_API_KEY"),
        ("cut off: it ended", "cut off", "it ended"),
    ],
)  # fmt: skip
def test_the_recorded_error_of_a_run_is_read(error: str, reason: str, message: str) -> None:
    failure = parse_failure(error)
    assert failure is not None
    assert (failure.reason, failure.message) == (reason, message)


@each_row("error", ["", "the store is full", "KeyError; the log has the details", "lost: x"])
def test_an_error_of_no_known_reason_stays_as_it_is(error: str) -> None:
    assert parse_failure(error) is None


# How the kinds of trouble are told apart


@pytest.fixture
def plain_server() -> Iterator[str]:
    """The https address of a server that speaks no TLS."""
    with FakeTavily() as fake:
        yield fake.base_url.replace("http://", "https://")


async def test_a_server_without_tls_is_told_as_that(plain_server: str) -> None:
    with pytest.raises(ServiceError) as caught:
        async with convert_errors("Tavily", 20), httpx.AsyncClient() as client:
            await client.get(plain_server)
    assert (caught.value.reason, caught.value.hint) == ("unreachable", "tls")


async def test_nobody_at_an_address_is_neither_dns_nor_tls() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServiceError) as caught:
        async with convert_errors("Tavily", 20), httpx.AsyncClient() as client:
            await client.get(f"http://127.0.0.1:{port}")
    assert (caught.value.reason, caught.value.hint) == ("unreachable", "")


class ClientConnectorDNSError(OSError):
    """As aiohttp has it, which other clients wrap."""


@each_row(
    ("error", "hint"),
    [
        (socket.gaierror(-2, "Name or service not known"), "dns"),
        (socket.gaierror(-3, "Temporary failure in name resolution"), "dns"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "dns"),
        (httpx.ConnectError("[Errno 8] nodename nor servname provided, or not known"), "dns"),
        (ClientConnectorDNSError("Cannot connect to host x:443"), "dns"),
        (OSError("getaddrinfo ENOTFOUND restapi.amap.com"), "dns"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), "tls"),
        (ConnectionRefusedError(111, "Connection refused"), ""),
        (ConnectionResetError(104, "Connection reset by peer"), ""),
        (TimeoutError(), ""),
    ],
)
def test_a_connection_that_failed_says_how(error: Exception, hint: str) -> None:
    wrapped = RuntimeError("it failed")
    wrapped.__cause__ = error
    assert connection_hint(error) == connection_hint(wrapped) == hint


def test_a_model_whose_server_has_no_name_is_told_as_that() -> None:
    error = httpx.ConnectError("[Errno -2] Name or service not known")
    found = classify_error(error, parse_spec("openai:gpt-fake"))
    assert (found.reason, found.hint) == ("unreachable", "dns")
    assert "DNS" in explain_failure(found.to_failure("write"), "en")


@each_row(("status", "kind"), [(401, "refused the key"), (429, "quota"), (503, "out of service"), (408, "in time")])  # fmt: skip
def test_a_status_is_told_as_what_it_means(status: int, kind: str) -> None:
    failure = error_from_status(status, "").to_failure("search", "tavily")
    assert kind in explain_failure(failure, "en")


def test_reaching_keeps_other_troubles() -> None:
    async def ask() -> None:
        async with convert_errors("Tavily", 20):
            raise ServiceError("quota", "Tavily: enough", hint="day")

    with pytest.raises(ServiceError, match="enough"):
        asyncio.run(ask())
