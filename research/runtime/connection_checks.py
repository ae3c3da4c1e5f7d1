"""Connection tests of models, searches, sources and keys."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel

from research.agent.llm.reasoner import ModelReasoner
from research.agent.nodes.search import search_with_deadline
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.providers import Provider as Server
from research.core.providers import shipped_providers
from research.core.records import ConnectionCheck, Failure, Task
from research.core.settings import ROLES, Settings, model_setting_name
from research.http.responses import convert_errors, parse_json_object, read_streamed_body, ssl_context
from research.models.chat import Chat
from research.models.errors import classify_error
from research.models.gemini import API_VERSION, base_url
from research.models.lifecycle import describe_change
from research.models.prompting import Prompt
from research.models.roles import ModelSpec
from research.sources import registry
from research.sources.base import Retriever
from research.sources.web.provider import WebProvider

if TYPE_CHECKING:
    import httpx

TEST_QUERY = "Palace Museum Beijing"
TEST_PLACE = "天安门"  # a place that Amap can geocode
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_PROMPT = Prompt("Reply with JSON.", 'Which of red, green and blue is grass? Put it in the field "colour".')


class _ColourReply(BaseModel):
    colour: Literal["red", "green", "blue"]


async def check_connections(
    models: ModelReasoner | None,
    providers: Sequence[WebProvider],
    sources: Mapping[str, Retriever],
    timeout_seconds: float,
) -> list[ConnectionCheck]:
    """Test the models, search providers and sources concurrently; return one result for each.

    Every role has one check, as has the model of the reports. Agents ("deep-research") are left
    out: each of their searches is a task that costs dollars. Of the other sources, those with a
    test query are checked. `timeout_seconds` is the deadline of one search.
    """
    checks: list[Awaitable[ConnectionCheck]] = []
    if models and any(not missing for *_, missing in models.role_table()):
        checks = [_check_model(role, model_setting_name(role), models.chat(role)) for role in ROLES]
    if models and (chat := models.report_chat()):
        checks.append(_check_model("news", chat.spec.setting, chat))
    checks += [_check_provider(provider) for provider in providers if provider.name != "deep-research"]
    for name, retriever in sources.items():
        if registry.get_source(name).test_query and retriever.readiness().state == "live":
            checks.append(_check_source(name, retriever, timeout_seconds))
    return list(await asyncio.gather(*checks))


async def _check_model(name: str, setting: str, chat: Chat) -> ConnectionCheck:
    async def ask() -> None:
        await chat.ask_json(_PROMPT, _SCHEMA, _ColourReply, "check", ignore_event)

    seconds, failure = await time_request(ask)
    return ConnectionCheck(
        name=name,
        setting=setting,
        model=str(chat.spec),
        seconds=seconds,
        failure=failure,
        warning=describe_change(chat.spec.name),
    )


async def _check_provider(provider: WebProvider) -> ConnectionCheck:
    async def ask() -> None:
        finding = await provider.search(TEST_QUERY, ignore_event)
        if not finding.evidence:
            raise ServiceError("empty", finding.message or "it answered, but found nothing")

    seconds, failure = await time_request(ask, provider.name)
    return ConnectionCheck(
        name=provider.name, setting="WEB_SEARCH", model=provider.readiness().detail, seconds=seconds, failure=failure
    )


async def _check_source(name: str, retriever: Retriever, timeout_seconds: float) -> ConnectionCheck:
    task = Task(id="", source=name, query=registry.get_source(name).test_query)

    async def ask() -> None:
        finding = await search_with_deadline(
            task, retriever, ignore_event, timeout_seconds * retriever.max_sequential_calls
        )
        if finding.reason:
            raise ServiceError(finding.reason, finding.message, hint=finding.hint)

    seconds, failure = await time_request(ask, name)
    ready = retriever.readiness()
    warning = f"more than models take, not offered to them: {ready.withheld}" if ready.withheld else ""
    return ConnectionCheck(name=name, setting="", model=ready.detail, seconds=seconds, failure=failure, warning=warning)


# Keys

_MAX_LIST_BYTES = 5_000_000  # bytes of a list of models
_MAX_MODELS = 10_000  # names after which no further page of a list is read


async def check_key(
    name: str,
    settings: Settings,
    make_provider: Callable[[str], WebProvider],
) -> ConnectionCheck:
    """Test a key or an address of a service, by the name of its setting.

    A server of models is asked for its list of models, which costs nothing. A search service, made
    by `make_provider` from its name, and the map are sent one query: nothing cheaper tests their
    keys.
    """
    service = next(
        (entry for entry in settings.services_with_keys if name in (entry.key_setting, entry.url_setting)), None
    )
    if service and service.name in settings.providers:
        provider = settings.providers[service.name]

        async def ask() -> None:
            await _fetch_with_key(provider, settings)

        seconds, failure = await time_request(ask)
        return ConnectionCheck(name=service.name, setting=name, seconds=seconds, failure=failure)
    if name == "AMAP_MAPS_API_KEY":
        return await _check_amap(settings)
    web_provider = make_provider(service.name if service else "tavily")
    try:
        check = await _check_provider(web_provider)
    finally:
        await web_provider.close()
    is_empty = check.failure is not None and check.failure.reason == "empty"  # the key works
    return check.model_copy(update={"setting": name, **({"failure": None} if is_empty else {})})


async def _check_amap(settings: Settings) -> ConnectionCheck:
    """Test the Amap key at Amap itself, without the cache, which would answer for any key."""
    from research.sources.places.amap import BASE_URL, AmapBackend

    key = settings.amap_key.get_secret_value()
    amap = AmapBackend(key, base_url=settings.amap_url or BASE_URL, timeout_seconds=settings.amap_timeout)

    async def ask() -> None:
        if not key:
            raise ServiceError("no key", "AMAP_MAPS_API_KEY is not set", hint="key")
        await amap.geocode(TEST_PLACE)

    try:
        seconds, failure = await time_request(ask, "amap")
    finally:
        await amap.close()
    return ConnectionCheck(name="places", setting="AMAP_MAPS_API_KEY", seconds=seconds, failure=failure)


class _ResponseError(Exception):
    """A response of a model server that contains no list of models.

    It has the attributes by which `classify_error` reads the errors of model libraries.
    """

    def __init__(self, response: httpx.Response, body: Any) -> None:
        super().__init__(f"HTTP {response.status_code}")
        self.status_code, self.response, self.body = response.status_code, response, body


async def list_models(settings: Settings) -> list[str]:
    """Read the names of the models that Gemini offers for the key.

    Raises:
        ServiceError: the list cannot be read.
    """
    names: list[str] = []
    page = ""
    while True:
        body = await _fetch_with_key(settings.providers["gemini"], settings, f"pageSize=1000{page}")
        names += [str(entry.get("name", "")) for entry in body.get("models") or ()]
        token = body.get("nextPageToken")
        if not token or len(names) > _MAX_MODELS:
            return names
        page = f"&pageToken={quote(str(token))}"


async def _fetch_with_key(provider: Server, settings: Settings, query: str = "pageSize=1") -> dict[str, Any]:
    """Fetch a resource that needs a valid key: the list of models, or the provider's own proof of a key.

    `query` is the query string of the request to Gemini, whose list has pages.

    Raises:
        ServiceError: the resource cannot be read.
    """
    import httpx

    key, url = settings.key(provider.name), settings.url(provider.name)
    if not key and not provider.is_key_optional:
        raise ServiceError("no key", f"{provider.key_setting} is not set", hint="key")
    path, headers = f"/{provider.key_test_path}", {"Authorization": f"Bearer {key}"} if key else {}
    if provider.protocol == "gemini":
        url, path = base_url(settings), f"/{API_VERSION}/models?{query}"
        headers = {"x-goog-api-key": key}
    elif provider.protocol == "anthropic":
        path = "/v1/models?limit=1"
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    elif provider.protocol == "ollama":
        path = "/api/tags"
    service, seconds = provider.title or provider.name, settings.search_timeout
    async with (
        convert_errors(service, seconds),
        httpx.AsyncClient(verify=ssl_context(), timeout=seconds) as client,
        client.stream("GET", url.rstrip("/") + path, headers=headers) as response,
    ):
        body = await read_streamed_body(response, service, _MAX_LIST_BYTES)
        if response.status_code == 200:
            return parse_json_object(body, response, service)
    try:
        error_body = json.loads(body)
    except (ValueError, RecursionError):
        error_body = ""
    custom = None if provider.name in shipped_providers() else provider
    raise classify_error(
        _ResponseError(response, error_body), ModelSpec(provider.name, provider.key_test_path, custom_provider=custom)
    )


async def time_request(request: Callable[[], Awaitable[None]], source: str = "") -> tuple[float, Failure | None]:
    """Return the seconds that a request took, and its failure or None."""
    start = time.monotonic()
    try:
        await request()
    except ServiceError as error:
        return round(time.monotonic() - start, 3), error.to_failure("check", source)
    return round(time.monotonic() - start, 3), None
