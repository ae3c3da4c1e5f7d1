"""Clients are made once, belong to one loop, and are closed without a trace."""

from __future__ import annotations

import asyncio
import gc
import ssl
from pathlib import Path
from typing import Any

import pytest

from research.agent.llm.reasoner import ModelReasoner
from research.agent.reasoner import ReasonerInput
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Question, RunOptions
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.roles import parse_spec
from research.sources.web.gemini import GeminiSearch
from tests.fakes import RETRIEVED
from tests.models.conftest import ADDRESSES, FAKES, PROMPT, Wire, loaded
from tests.servers import Server
from tests.servers.detour import Detour
from tests.servers.site import identity


async def _used(servers: dict[str, Server]) -> None:
    """Asks every provider, and closes the clients."""
    clients = ModelClients(loaded({ADDRESSES[name]: servers[name].base_url for name in servers}))
    for name in servers:
        assert (await Chat(parse_spec(f"{name}:m"), clients).ask_text(PROMPT, "write", ignore_event)).text
    assert (await GeminiSearch(clients, lambda: RETRIEVED).search("tower", ignore_event)).evidence
    await clients.close()
    await clients.close()


@pytest.mark.slow
def test_clients_close_without_a_warning_and_can_be_made_again_on_another_loop() -> None:
    with FAKES["gemini"]() as one, FAKES["openai"]() as two, FAKES["ollama"]() as three:
        servers = {"gemini": one, "openai": two, "ollama": three}
        for _ in range(2):
            asyncio.run(_used(servers))
            gc.collect()


@pytest.mark.asyncio(loop_scope="module")
async def test_two_sets_of_clients_of_one_server_do_not_close_each_other(wire: Wire) -> None:
    first = ModelClients(loaded({ADDRESSES[wire.name]: wire.server.base_url}))
    chat = Chat(parse_spec(f"{wire.name}:m"), first)
    await chat.ask_text(PROMPT, "write", ignore_event)
    second = ModelClients(first.settings)
    await Chat(chat.spec, second).ask_text(PROMPT, "write", ignore_event)
    await second.close()
    assert (await chat.ask_text(PROMPT, "write", ignore_event)).text
    await first.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_roles_with_one_model_share_its_client(openai: Wire) -> None:
    clients = openai.clients()
    specs = [parse_spec("openai:shared", setting) for setting in ("ANSWER_MODEL", "REFLECTION_MODEL")]
    made = await asyncio.gather(*(clients.langchain_model(spec) for spec in specs * 3))
    assert len({id(model) for model in made}) == 1
    assert await clients.langchain_model(parse_spec("openai:other")) is not made[0]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_key_goes_only_to_the_address_that_is_set(wire: Wire) -> None:
    key = "sentinel-of-openai"
    chat = wire.chat(OPENAI_API_KEY=key)
    await chat.ask_text(PROMPT, "write", ignore_event)
    [call] = wire.server.log
    assert (key in call.headers.get("authorization", "")) == (wire.name == "openai")
    assert ("x-goog-api-key" in call.headers) == (wire.name == "gemini")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_local_server_needs_no_key(openai: Wire) -> None:
    await openai.chat().ask_text(PROMPT, "write", ignore_event)
    assert openai.server.log[0].headers["authorization"] == "Bearer none"


@pytest.mark.asyncio(loop_scope="module")
async def test_ollama_is_told_how_much_context_it_has_to_hold(ollama: Wire) -> None:
    for tokens in ("8192", "65536"):
        ollama.server.log.clear()
        await ollama.chat(OLLAMA_CONTEXT_LENGTH=tokens).ask_text(PROMPT, "write", ignore_event)
        assert ollama.server.log[0].body["options"]["num_ctx"] == int(tokens)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("tokens", [2_048, 4_096, 8_192, 131_072])
async def test_a_prompt_for_ollama_leaves_room_and_never_none_for_the_material(ollama: Wire, tokens: int) -> None:
    room = ollama.chat(OLLAMA_CONTEXT_LENGTH=str(tokens)).token_budget
    assert tokens * 3 // 4 <= room < tokens


@pytest.mark.asyncio(loop_scope="module")
async def test_the_clients_of_later_calls_are_made_while_the_plan_is_waited_for() -> None:
    with FAKES["gemini"]() as google, FAKES["openai"]() as other:
        clients = ModelClients(
            loaded(
                {
                    "ANSWER_MODEL": "openai:writer",
                    "GOOGLE_GEMINI_BASE_URL": google.base_url,
                    "OPENAI_BASE_URL": other.base_url,
                }
            )
        )
        question = Question(text="How tall is it?", language="en")
        await ModelReasoner(clients, lambda: RETRIEVED).plan(
            ReasonerInput(question, RunOptions(sources=("web",)), ignore_event)
        )
        assert clients._preload_task is not None
        await clients._preload_task
        assert "openai:writer" in {name for name, _ in clients._models}
        assert clients._gemini is not None and not other.log
        await clients.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_made_ahead_may_fail_or_be_broken_off_and_nothing_is_left() -> None:
    clients = ModelClients(loaded({"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}))
    clients.preload([parse_spec("gemini:m"), parse_spec("openai:m")], with_search=True)
    await clients.close()
    assert (clients._models, clients._gemini, clients._preload_task) == ({}, None, None)


@pytest.mark.asyncio(loop_scope="module")
async def test_all_clients_of_gemini_read_the_certificates_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Any] = []
    load = ssl.create_default_context

    def counted(*args: Any, **named: Any) -> ssl.SSLContext:
        read.append(named)
        return load(*args, **named)

    monkeypatch.setattr(ssl, "create_default_context", counted)
    for _ in range(2):
        clients = ModelClients(loaded({"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}))
        for name in ("gemini:m", "gemini:n"):
            await clients.langchain_model(parse_spec(name))
        await clients.gemini()
        await clients.close()
    assert len(read) <= 1  # none, if another test has had them read


@pytest.mark.asyncio(loop_scope="module")
async def test_a_server_whose_certificate_nobody_vouches_for_is_not_asked(tmp_path: Path) -> None:
    with Detour(tls=identity(tmp_path, ["localhost"])[0]) as server:
        url = server.base_url
        clients = ModelClients(loaded({"GOOGLE_GEMINI_BASE_URL": url, "SIGHTLINE_MODEL_ATTEMPTS": "1"}))
        for ask in (
            lambda: Chat(parse_spec("gemini:m"), clients).ask_text(PROMPT, "write", ignore_event),
            lambda: GeminiSearch(clients, lambda: RETRIEVED).search("tower", ignore_event),
        ):
            with pytest.raises(ServiceError) as caught:
                await ask()
            assert caught.value.reason == "unreachable"
        await clients.close()
        assert server.asked == []


@pytest.mark.asyncio(loop_scope="module")
async def test_gemini_is_asked_through_the_proxy_of_the_environment_and_with_no_password_of_netrc(
    gemini: Wire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    passwords = tmp_path / "netrc"
    passwords.write_text("default login me password sentinel-of-netrc\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(passwords))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    own = gemini.server.base_url
    monkeypatch.setenv("http_proxy", own.replace("//", "//me:word@"))
    clients = ModelClients(loaded({"GOOGLE_GEMINI_BASE_URL": "http://gemini.invalid"}))
    await Chat(parse_spec("gemini:m"), clients).ask_text(PROMPT, "write", ignore_event)
    await clients.close()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    clients = ModelClients(loaded({"GOOGLE_GEMINI_BASE_URL": own}))
    await Chat(parse_spec("gemini:m"), clients).ask_text(PROMPT, "write", ignore_event)
    await clients.close()
    first, second = gemini.server.log
    assert first.headers["host"] == "gemini.invalid"
    assert first.headers["proxy-authorization"].startswith("Basic ")
    assert "authorization" not in first.headers | second.headers
