"""The API version of Gemini in the path of every request, whatever makes it and whatever address is set."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from research.core.events import ignore_event
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.roles import parse_spec
from research.runtime.connection_checks import check_key
from research.sources.web.deep_research import DeepResearch
from research.sources.web.gemini import GeminiSearch
from tests.models.conftest import PROMPT, SCHEMA, Colour, loaded
from tests.servers.gemini import FakeGemini
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
NAME = "gemini-flash-latest"
LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
}


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest.fixture
async def asked(gemini: FakeGemini) -> AsyncIterator[Any]:
    """Make a request of each kind to an address and return the paths that the server saw."""
    opened: list[ModelClients] = []

    async def ask(address: str, **env: str) -> list[str]:
        settings = loaded({"GOOGLE_GEMINI_BASE_URL": address} | env)
        clients = ModelClients(settings)
        opened.append(clients)
        gemini.log.clear()
        chat = Chat(parse_spec(f"gemini:{NAME}"), clients)
        await chat.ask_json(PROMPT, SCHEMA, Colour, "check", ignore_event)
        await chat.ask_text(PROMPT, "summarise", ignore_event)
        await chat.stream_text(PROMPT, "write", ignore_event)
        await chat.next_message([_human("Where is the tower?")], [LOOK], "search", ignore_event)
        await GeminiSearch(clients, lambda: NOW).search("tower https://example.org/a", ignore_event)
        await DeepResearch(clients, lambda: NOW, max_poll_seconds=0.01).search("tower", ignore_event)
        check = await check_key("GEMINI_API_KEY", settings, lambda name: pytest.fail(name))
        assert check.failure is None
        return [call.path for call in gemini.log]

    yield ask
    for clients in opened:
        await clients.close()


def _human(text: str) -> Any:
    from langchain_core.messages import HumanMessage

    return HumanMessage(text)


@pytest.mark.slow
@each_row(
    ("address", "prefix"),
    [
        ("{url}", ""),
        ("{url}/", ""),
        ("{url}/relay/google", "/relay/google"),
        ("{url}/v1beta", ""),  # as it stands in examples of requests
        ("{url}/v1beta/", ""),
        ("{url}/v1", ""),
        ("{url}/v1/relay/v1alpha", "/v1/relay"),
    ],
)
async def test_every_request_names_the_version_v1beta_once(
    gemini: FakeGemini, asked: Any, address: str, prefix: str
) -> None:
    paths = await asked(address.format(url=gemini.base_url))
    below = [path.removeprefix(f"{prefix}/v1beta/") for path in paths]
    model = f"models/{NAME}"
    chats = [f"{model}:{name}" for name in ("generateContent", "streamGenerateContent")]
    assert below[:4] == [chats[0], chats[0], chats[1], chats[0]]
    assert below[4].startswith("models/") and below[4].endswith(":generateContent")
    assert below[5] == "interactions" and below[6].startswith("interactions/")
    assert below[-1] == "models"
    assert all(path.startswith(f"{prefix}/v1beta/") for path in paths)


async def test_no_variable_of_the_library_changes_the_version(
    gemini: FakeGemini, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1")
    paths = await asked(gemini.base_url)
    assert paths and all(path.startswith("/v1beta/") for path in paths)
