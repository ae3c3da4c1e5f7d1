"""Every provider of the table is asked at its own address, with its own key, in the way it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from research.core import settings
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.providers import Provider, load_providers, shipped_providers
from research.core.settings import SettingError
from research.models.capabilities import default_capabilities
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.context_lengths import context_length
from research.models.roles import has_usable_model, missing_setting, parse_spec, role_models
from tests.models.conftest import FAKES, PROMPT, SCHEMA, Colour
from tests.servers import Server
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}
OTHERS = [name for name, one in shipped_providers().items() if one.protocol in ("openai", "anthropic")]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with FAKES["openai"]() as openai, FAKES["anthropic"]() as anthropic:
        yield {"openai": openai, "anthropic": anthropic}


def environment(one: Provider, server: Server) -> dict[str, str]:
    """A desk with a key of every provider, on which one is asked at a server of this machine."""
    keys = {other.key_setting: f"key-of-{other.name}" for other in shipped_providers().values() if other.key_setting}
    url = server.base_url.removesuffix(one.path) if one.path else server.base_url
    return keys | {one.url_setting: url, "SIGHTLINE_MODEL_ATTEMPTS": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
async def test_a_provider_gets_its_own_key_and_no_other(name: str, servers: dict[str, Server]) -> None:
    one = shipped_providers()[name]
    server: Any = servers[one.protocol]
    server.reset()
    clients = ModelClients(settings.load_settings(environment(one, server), data_dir=Path("unused")))
    chat = Chat(parse_spec(f"{name}:some-model"), clients)
    try:
        from langchain_core.messages import HumanMessage

        assert (await chat.ask_text(PROMPT, "write", ignore_event)).text
        assert (await chat.stream_text(PROMPT, "write", ignore_event)).text
        assert (await chat.ask_json(PROMPT, SCHEMA, Colour, "plan", ignore_event)).colour == "green"
        assert await chat.next_message([HumanMessage(PROMPT.user)], [TOOL], "search", ignore_event)
    finally:
        await clients.close()
    assert len(server.log) == 4
    for call in server.log:
        told = " ".join(call.headers.values())
        assert re.findall(r"key-of-\w+", told) == [f"key-of-{name}"]
        assert (one.path or "/v1") in call.path
    wished = server.log[2].body.get("response_format", {}).get("type")
    assert wished == {"schema": "json_schema", "object": "json_object", "words": None}[one.json_mode]
    streamed = server.log[1].body
    assert ("stream_options" in streamed) == (one.has_stream_usage and one.protocol == "openai")


async def test_each_role_has_its_own_provider_address_and_key(servers: dict[str, Server]) -> None:
    """Qwen plans while DeepSeek writes."""
    server: Any = servers["openai"]
    server.reset()
    env = {
        "QUERY_GENERATOR_MODEL": "qwen:qwen-plus", "ANSWER_MODEL": "deepseek:deepseek-chat",
        "DASHSCOPE_API_KEY": "key-of-qwen", "DASHSCOPE_BASE_URL": f"{server.base_url}/qwen/v1",
        "DEEPSEEK_API_KEY": "key-of-deepseek", "DEEPSEEK_BASE_URL": f"{server.base_url}/deepseek/v1",
    }  # fmt: skip
    own = settings.load_settings(env, data_dir=Path("unused"))
    clients = ModelClients(own)
    found = role_models(own)
    try:
        await Chat(found["plan"], clients).ask_json(PROMPT, SCHEMA, Colour, "plan", ignore_event)
        await Chat(found["write"], clients).ask_text(PROMPT, "write", ignore_event)
    finally:
        await clients.close()
    assert [(call.path, call.headers["authorization"]) for call in server.log] == [
        ("/v1/qwen/v1/chat/completions", "Bearer key-of-qwen"),
        ("/v1/deepseek/v1/chat/completions", "Bearer key-of-deepseek"),
    ]
    assert found["search"] == found["write"]  # what is not set has the model that writes


@each_row(
    ("name", "env", "lacks"),
    [
        ("deepseek", {}, "DEEPSEEK_API_KEY"),
        ("deepseek", {"DEEPSEEK_API_KEY": "k"}, ""),
        ("deepseek", {"DEEPSEEK_BASE_URL": "http://127.0.0.1:9/v1"}, ""),
        ("azure", {}, "AZURE_OPENAI_API_KEY"),
        ("azure", {"AZURE_OPENAI_API_KEY": "k"}, "AZURE_OPENAI_ENDPOINT"),
        ("azure", {"AZURE_OPENAI_ENDPOINT": "https://us.openai.azure.com"}, ""),
        ("vllm", {}, ""),
        ("lmstudio", {}, ""),
        ("anthropic", {"OPENAI_API_KEY": "k"}, "ANTHROPIC_API_KEY"),
    ],
)
def test_what_a_provider_lacks_is_named(name: str, env: dict[str, str], lacks: str) -> None:
    own = settings.load_settings({"ANSWER_MODEL": f"{name}:m"} | env, data_dir=Path("unused"))
    assert missing_setting(role_models(own)["write"], own) == lacks
    assert has_usable_model(own) == (not lacks)


def test_the_address_of_azure_leads_to_its_newest_interface() -> None:
    for given in ("https://us.openai.azure.com", "https://us.openai.azure.com/openai/v1/"):
        own = settings.load_settings({"AZURE_OPENAI_ENDPOINT": given}, data_dir=Path("unused"))
        assert own.url("azure") == "https://us.openai.azure.com/openai/v1"


OWN = """
[lab]  # a server of one's own
url = "http://127.0.0.1:9/v1"
key = "LAB_KEY"
json = "object"
context = 16_384

[deepseek]  # takes the place of the one that ships
url = "https://relay.example.org/v1"
key = "RELAY_KEY"
"""


def test_a_file_of_the_data_folder_adds_providers(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text(OWN, encoding="utf-8")
    env = {"LAB_KEY": "lab-secret", "RELAY_KEY": "relay-secret", "ANSWER_MODEL": "lab:qwen3-8b"}
    own = settings.load_settings(env, data_dir=tmp_path)
    spec = role_models(own)["write"]
    assert (str(spec), own.key("lab"), own.url("lab")) == (
        "lab:qwen3-8b", "lab-secret", "http://127.0.0.1:9/v1",
    )  # fmt: skip
    assert default_capabilities(spec.provider_details).json_modes == ("object", "words")
    assert context_length(parse_spec("lab:unheard-of", "", own.providers), own) == 16_384
    assert (own.key("deepseek"), own.url("deepseek")) == (
        "relay-secret", "https://relay.example.org/v1",
    )  # fmt: skip
    assert {"lab-secret", "relay-secret"} <= set(own.secrets)
    assert ("LAB_KEY", "set") in own.display_values()


@each_row(
    ("text", "told"),
    [
        ("[lab]\nurl = 'http://127.0.0.1:9'\ncolour = 'red'", "[lab] colour"),
        ("[lab]\nwire = 'telex'\nurl = 'http://127.0.0.1:9'", "[lab] wire"),
        ("[lab]\nkey = 'LAB_KEY'", "[lab] needs url"),
        ("[Lab Two]\n", "line 1"),
        ("['Lab Two']\nurl = 'http://127.0.0.1:9'", "no name of a provider"),
        ("url = 'http://127.0.0.1:9'", "outside of any provider"),
        ("[lab]\nurl = 'http://127.0.0.1:9'\nkey = 'sk-123'", "[lab] key"),
    ],
)
def test_what_is_wrong_in_the_file_is_told(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingError, match=r"models\.toml") as caught:
        settings.load_settings({}, data_dir=tmp_path)
    assert told in str(caught.value)
    assert "sk-123" not in str(caught.value)


def test_without_a_file_there_are_the_providers_that_ship(tmp_path: Path) -> None:
    assert load_providers(tmp_path) == shipped_providers()


def test_a_key_of_the_server_never_goes_to_an_address_that_a_person_entered(tmp_path: Path) -> None:
    base = settings.load_settings({"VLLM_API_KEY": "server-secret"}, data_dir=tmp_path)
    mine = settings.apply_choices(base, {"VLLM_BASE_URL": "http://127.0.0.1:9/v1"})
    assert (mine.key("vllm"), mine.url("vllm")) == ("", "http://127.0.0.1:9/v1")
    both = {"VLLM_BASE_URL": "http://127.0.0.1:9/v1", "VLLM_API_KEY": "my-own"}
    assert settings.apply_choices(base, both).key("vllm") == "my-own"


async def test_a_provider_whose_library_is_not_installed_says_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "langchain_anthropic", None)
    clients = ModelClients(settings.load_settings({"ANTHROPIC_API_KEY": "k"}, data_dir=Path("unused")))
    with pytest.raises(ServiceError, match=re.escape("pip install langchain-anthropic")):
        await clients.langchain_model(parse_spec("anthropic:m"))
