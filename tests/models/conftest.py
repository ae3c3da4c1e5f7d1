"""What the tests of the models share: a fake server of each kind, and chat models that ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest
import pytest_asyncio
from pydantic import BaseModel

from research.core import settings
from research.core.events import RunEvent, dump_event
from research.core.settings import Settings
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.prompting import Prompt
from research.models.roles import parse_spec
from tests.servers import Server
from tests.servers.anthropic import FakeAnthropic
from tests.servers.gemini import FakeGemini
from tests.servers.ollama import FakeOllama
from tests.servers.openai import FakeOpenAI

KEY = "sentinel-key-0123456789"
PROMPT = Prompt("Reply with JSON.", "What colour is grass?")
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
FAKES: dict[str, type[Server]] = {
    "gemini": FakeGemini, "openai": FakeOpenAI, "ollama": FakeOllama, "anthropic": FakeAnthropic,
}  # fmt: skip
ADDRESSES = {
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
}


class Colour(BaseModel):
    colour: Literal["red", "green"]


class Heard:
    """Keeps what is said while it happens."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, event: RunEvent, /) -> None:
        self.told.append(dump_event(event))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [data for told, data in self.told if told == kind]


class Wire:
    """A fake server of one kind, and chat models that ask it."""

    def __init__(self, name: str, server: Any) -> None:
        self.name = name
        self.server = server
        self.heard = Heard()
        self._made: dict[tuple[tuple[str, str], ...], ModelClients] = {}

    def clients(self, **env: str) -> ModelClients:
        """Those of an environment; they are made once, since each takes a tenth of a second."""
        key = tuple(sorted(env.items()))
        if key not in self._made:
            own = {ADDRESSES[self.name]: self.server.base_url}
            self._made[key] = ModelClients(loaded(own | env))
        return self._made[key]

    def chat(self, name: str = "some-model", **env: str) -> Chat:
        """A chat model that knows nothing yet of the server."""
        return Chat(parse_spec(f"{self.name}:{name}", "ANSWER_MODEL"), self.clients(**env))

    async def colour(self, chat: Chat) -> Colour:
        return await chat.ask_json(PROMPT, SCHEMA, Colour, "check", self.heard)

    async def close(self) -> None:
        for clients in self._made.values():
            await clients.close()


def loaded(env: dict[str, str]) -> Settings:
    """The settings of an environment, with a short timeout and a Gemini key unless it says else."""
    usual = {"GEMINI_API_KEY": KEY, "SIGHTLINE_MODEL_TIMEOUT": "5", "SIGHTLINE_RETRY_WAIT": "1"}
    return settings.load_settings(usual | env, data_dir=Path("unused"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wires() -> AsyncIterator[dict[str, Wire]]:
    with ExitStack() as stack:
        made = {name: Wire(name, stack.enter_context(fake())) for name, fake in FAKES.items()}
        yield made
        for wire in made.values():
            await wire.close()


def _fresh(wire: Wire) -> Wire:
    wire.server.reset()
    wire.heard.told.clear()
    return wire


@pytest.fixture(params=list(FAKES))
def wire(request: pytest.FixtureRequest, wires: dict[str, Wire]) -> Wire:
    """Each kind of server in turn."""
    return _fresh(wires[request.param])


@pytest.fixture
def gemini(wires: dict[str, Wire]) -> Wire:
    return _fresh(wires["gemini"])


@pytest.fixture
def openai(wires: dict[str, Wire]) -> Wire:
    return _fresh(wires["openai"])


@pytest.fixture
def ollama(wires: dict[str, Wire]) -> Wire:
    return _fresh(wires["ollama"])
