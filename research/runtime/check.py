"""The test connection: does each model answer in the form that is asked of it, does each search find, and
does a key work."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel

from research.agent.llm.reasoner import LLM
from research.agent.nodes.search import searched
from research.core.errors import Trouble
from research.core.providers import Provider as Server
from research.core.providers import shipped
from research.core.records import Check, Failure, Task, silent
from research.core.settings import ROLES, Settings, model_setting
from research.http.replies import body_of, parsed, reaching, trusted
from research.models.calls import Chat, Prompt
from research.models.errors import trouble
from research.models.gemini import API_VERSION, base_url
from research.models.lifecycle import describe
from research.models.roles import Spec
from research.sources import registry
from research.sources.base import Retriever
from research.sources.web.provider import Provider

if TYPE_CHECKING:
    import httpx

QUERY = "Palace Museum Beijing"
PLACE = "天安门"  # which Amap knows
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_PROMPT = Prompt(
    "Reply with JSON.", 'Which of red, green and blue is grass? Put it in the field "colour".'
)


class _Colour(BaseModel):
    colour: Literal["red", "green", "blue"]


async def connections(
    models: LLM | None,
    providers: Sequence[Provider],
    sources: Mapping[str, Retriever],
    deadline: float,
) -> list[Check]:
    """One check for each role, for the model of the reports, named by their source, for each search
    provider but agents, whose every search is a task that costs dollars, and for each other source that names a query to be tested with, all at once. `deadline`
    are the seconds of a search."""
    checks: list[Awaitable[Check]] = []
    if models and any(not lacks for *_, lacks in models.table()):
        checks = [_model(role, model_setting(role), models.chat(role)) for role in ROLES]
    if models and (chat := models.reporting()):
        checks.append(_model("news", chat.spec.setting, chat))
    checks += [_provider(provider) for provider in providers if provider.name != "deep-research"]
    for name, retriever in sources.items():
        if registry.of(name).probe and retriever.ready().state == "live":
            checks.append(_source(name, retriever, deadline))
    return list(await asyncio.gather(*checks))


async def _model(name: str, setting: str, chat: Chat) -> Check:
    async def ask() -> None:
        await chat.json(_PROMPT, _SCHEMA, _Colour, "check", silent)

    seconds, failure = await timed(ask)
    return Check(
        name=name,
        setting=setting,
        model=str(chat.spec),
        seconds=seconds,
        failure=failure,
        warning=describe(chat.spec.name),
    )


async def _provider(provider: Provider) -> Check:
    async def ask() -> None:
        found = await provider.search(QUERY, silent)
        if not found.evidence:
            raise Trouble("empty", found.message or "it answered, but found nothing")

    seconds, failure = await timed(ask, provider.name)
    return Check(
        name=provider.name, setting="WEB_SEARCH", model=provider.ready().detail,
        seconds=seconds, failure=failure,
    )  # fmt: skip


async def _source(name: str, retriever: Retriever, deadline: float) -> Check:
    task = Task(id="", source=name, query=registry.of(name).probe)

    async def ask() -> None:
        found = await searched(task, retriever, silent, deadline * retriever.turns)
        if found.reason:
            raise Trouble(found.reason, found.message, hint=found.hint)

    seconds, failure = await timed(ask, name)
    ready = retriever.ready()
    warning = (
        f"more than models take, not offered to them: {ready.withheld}" if ready.withheld else ""
    )
    return Check(
        name=name, setting="", model=ready.detail, seconds=seconds, failure=failure, warning=warning
    )


# Keys

_MOST = 5_000_000  # bytes of a list of models
_LONGEST = 10_000  # models of a list


async def key_check(
    name: str,
    settings: Settings,
    search: Callable[[str], Provider],
) -> Check:
    """Whether a key or an address of a service works, by the name of its setting. A server of models is
    asked for their list, which costs nothing; a search service, made by `search` from its name, and the map are asked one
    thing, since none of them tells of a key otherwise."""
    one = next((each for each in settings.services if name in (each.key, each.address)), None)
    if one and one.name in settings.providers:
        provider = settings.providers[one.name]

        async def ask() -> None:
            await _proved(provider, settings)

        seconds, failure = await timed(ask)
        return Check(name=one.name, setting=name, seconds=seconds, failure=failure)
    if name == "AMAP_MAPS_API_KEY":
        return await _amap(settings)
    asked = search(one.name if one else "tavily")
    try:
        found = await _provider(asked)
    finally:
        await asked.close()
    nothing = found.failure is not None and found.failure.reason == "empty"  # it has answered
    return found.model_copy(update={"setting": name, **({"failure": None} if nothing else {})})


async def _amap(settings: Settings) -> Check:
    """Asks Amap itself: what the map knows already says nothing of the key."""
    from research.sources.places.amap import BASE_URL, Amap

    key = settings.amap_key.get_secret_value()
    amap = Amap(key, base_url=settings.amap_url or BASE_URL, timeout=settings.amap_timeout)

    async def ask() -> None:
        if not key:
            raise Trouble("no key", "AMAP_MAPS_API_KEY is not set", hint="key")
        await amap.geocode(PLACE)

    try:
        seconds, failure = await timed(ask, "amap")
    finally:
        await amap.close()
    return Check(name="places", setting="AMAP_MAPS_API_KEY", seconds=seconds, failure=failure)


class _Answer(Exception):
    """What a server of models has answered that gives no list."""

    def __init__(self, response: httpx.Response, body: Any) -> None:
        super().__init__(f"HTTP {response.status_code}")
        self.status_code, self.response, self.body = response.status_code, response, body


async def list_models(settings: Settings) -> list[str]:
    """Read the names of the models that Gemini offers for the key.

    Raises:
        Trouble: The list cannot be read, for a reason of a known kind.
    """
    names: list[str] = []
    page = ""
    while True:
        body = await _proved(settings.providers["gemini"], settings, f"pageSize=1000{page}")
        names += [str(entry.get("name", "")) for entry in body.get("models") or ()]
        token = body.get("nextPageToken")
        if not token or len(names) > _LONGEST:
            return names
        page = f"&pageToken={quote(str(token))}"


async def _proved(
    provider: Server, settings: Settings, query: str = "pageSize=1"
) -> dict[str, Any]:
    """Read what can be read with the right key alone; `query` is that of a list of Gemini's models.

    Raises:
        Trouble: It cannot be read, for a reason of a known kind.
    """
    import httpx

    key, url = settings.key(provider.name), settings.url(provider.name)
    if not key and not provider.keyless:
        raise Trouble("no key", f"{provider.key} is not set", hint="key")
    path, headers = f"/{provider.proof}", {"Authorization": f"Bearer {key}"} if key else {}
    if provider.wire == "gemini":
        url, path = base_url(settings), f"/{API_VERSION}/models?{query}"
        headers = {"x-goog-api-key": key}
    elif provider.wire == "anthropic":
        path = "/v1/models?limit=1"
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    elif provider.wire == "ollama":
        path = "/api/tags"
    service, seconds = provider.title or provider.name, settings.search_timeout
    async with (
        reaching(service, seconds),
        httpx.AsyncClient(verify=trusted(), timeout=seconds) as client,
        client.stream("GET", url.rstrip("/") + path, headers=headers) as response,
    ):
        body = await body_of(response, service, _MOST)
        if response.status_code == 200:
            return parsed(body, response, service)
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        told = ""
    own = None if provider.name in shipped() else provider
    raise trouble(_Answer(response, told), Spec(provider.name, provider.proof, own=own))


async def timed(
    ask: Callable[[], Awaitable[None]], source: str = ""
) -> tuple[float, Failure | None]:
    """Return the seconds that a request to a source takes, and its failure, or None if it
    succeeds."""
    start = time.monotonic()
    try:
        await ask()
    except Trouble as trouble:
        return round(time.monotonic() - start, 3), trouble.failure("check", source)
    return round(time.monotonic() - start, 3), None
