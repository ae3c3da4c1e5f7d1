"""API clients of the providers: created once, shared on one event loop, closed at the end.

The libraries are imported when a client is first created: they are slow to load, and an
installation without a key needs none of them. No sampling parameter is ever sent, since current
models ignore or refuse them.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from research.core.errors import ServiceError
from research.core.settings import Settings
from research.models import context_lengths, event_stream
from research.models.capabilities import ServerCapabilities, default_capabilities
from research.models.gemini import API_VERSION, base_url, build_model, share_client
from research.models.request_limits import Cooldown, RequestLimiter
from research.models.roles import ModelSpec

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.connector import Connection
    from google import genai
    from langchain_core.language_models import BaseChatModel
    from langchain_google_genai import ChatGoogleGenerativeAI

log = logging.getLogger(__name__)

_T = TypeVar("_T")
# A redirect would send keys and prompts to another address. Named as in httpx and aiohttp.
_NO_REDIRECTS = {"follow_redirects": False, "allow_redirects": False}
ANTHROPIC_INSTALL = "pip install langchain-anthropic"
STREAM_TIMEOUT_FACTOR = 5  # a whole stream may take this many times the timeout of one answer


class ModelClients:
    """Cache of chat models by name, the google-genai client, and a limiter for each provider."""

    def __init__(self, settings: Settings, shared: ModelClients | None = None) -> None:
        """`shared` are the clients of the process: users of the same key share its limits."""
        self.settings = settings
        self._shared = shared
        self._models: dict[tuple[str, bool], BaseChatModel] = {}
        self._gemini: genai.Client | None = None
        self._session: aiohttp.ClientSession | None = None  # connections of the Gemini client
        self._limiters: dict[tuple[str, bool], RequestLimiter] = {}
        self._cooldowns: dict[tuple[str, bool, bool], Cooldown] = {}
        self._token_budgets: dict[tuple[str, bool], int] = {}
        self._capabilities: dict[tuple[str, bool, str], ServerCapabilities] = {}
        self._refused_features: dict[tuple[str, bool], set[str]] = {}
        self._build_lock = asyncio.Lock()
        self._preload_task: asyncio.Task[None] | None = None

    def limiter(self, spec: ModelSpec) -> RequestLimiter:
        """Return the request limiter of a model's provider; a separate report server has its own."""
        clients = self._state_owner(spec)
        limiter = RequestLimiter(clients.settings.model_concurrency, clients.settings.requests_per_minute)
        return clients._limiters.setdefault((spec.provider, spec.is_report_server), limiter)

    def cooldown(self, spec: ModelSpec, *, is_search: bool = False) -> Cooldown:
        """Return the cooldown of a model's quota; searches of a model have a separate quota."""
        return self._state_owner(spec)._cooldowns.setdefault((str(spec), spec.is_report_server, is_search), Cooldown())

    def token_budget(self, spec: ModelSpec) -> int:
        """Return the known maximum number of tokens of a prompt to a model."""
        default = context_lengths.prompt_token_budget(spec, self.settings)
        return min(default, self._state_owner(spec)._token_budgets.get((str(spec), spec.is_report_server), default))

    def limit_token_budget(self, spec: ModelSpec, token_budget: int) -> None:
        """Lower the token budget of a model after it has refused a longer prompt."""
        self._state_owner(spec)._token_budgets[str(spec), spec.is_report_server] = token_budget

    def _state_owner(self, spec: ModelSpec) -> ModelClients:
        """Return the clients that keep the limits of a model: the shared ones for the same quota account."""
        shared = self._shared
        if shared and (
            spec.is_report_server or _quota_account(self, spec.provider) == _quota_account(shared, spec.provider)
        ):
            return shared._state_owner(spec)
        return self

    def capabilities(self, spec: ModelSpec, schema: str = "") -> ServerCapabilities:
        """Return the capabilities of a model's server. For Gemini they are kept per schema, since
        it supports schemas but may refuse a particular one."""
        schema_key = schema if spec.protocol == "gemini" else ""
        defaults = default_capabilities(spec.provider_details)
        return self._state_owner(spec)._capabilities.setdefault(
            (spec.provider, spec.is_report_server, schema_key), defaults
        )

    def refused_features(self, spec: ModelSpec) -> set[str]:
        """Return the features that a model has refused, a set that callers add to."""
        return self._state_owner(spec)._refused_features.setdefault((str(spec), spec.is_report_server), set())

    async def langchain_model(self, spec: ModelSpec) -> BaseChatModel:
        """Return the LangChain chat model of a spec, created once."""
        key = str(spec), spec.is_report_server
        if key not in self._models:
            google = await self.gemini() if spec.protocol == "gemini" else None
            async with self._build_lock:
                if key not in self._models:  # importing takes a second and must not block the event loop
                    build = _MODEL_BUILDERS[spec.protocol]
                    model = await asyncio.to_thread(_build_locked, build, spec, self.settings)
                    if google is not None:
                        await share_client(cast("ChatGoogleGenerativeAI", model), google)
                    self._models[key] = model
        return self._models[key]

    async def gemini(self) -> genai.Client:
        """Return the google-genai client that all Gemini models share."""
        if self._gemini is None:
            async with self._build_lock:
                if self._gemini is None:
                    await asyncio.to_thread(_build_locked, _import_google)  # importing takes a second
                    self._session = _build_session(self.settings)
                    self._gemini = await asyncio.to_thread(
                        _build_locked, _build_google_client, self.settings, self._session
                    )
        return self._gemini

    async def interactions_api(self) -> Any:
        """Return the agent API of the google-genai client, without its retries: a task started
        twice is charged twice."""
        interactions = (await self.gemini()).aio.interactions
        interactions.sdk_configuration.retry_config = None
        return interactions

    def preload(self, specs: Sequence[ModelSpec], *, with_search: bool) -> None:
        """Start to create the clients of some models in this order, and with `with_search` that of
        Gemini's search, so that later calls need not wait for the libraries. Only the first call
        has an effect."""
        if self._preload_task is None:
            self._preload_task = asyncio.create_task(self._preload_clients(specs, with_search))

    async def _preload_clients(self, specs: Sequence[ModelSpec], with_search: bool) -> None:
        try:
            for spec in specs:
                await self.langchain_model(spec)
            if with_search:
                await self.gemini()
        except Exception as error:  # noqa: BLE001 - the error is raised again when the client is first used
            log.debug("not every client is made ahead: %s", type(error).__name__)

    async def close(self) -> None:
        """Cancel preloading and close all clients."""
        if self._preload_task is not None:
            self._preload_task.cancel()
            await asyncio.wait([self._preload_task])
            self._preload_task = None
        for model in self._models.values():
            await _close_model(model)
        if self._gemini is not None:
            await self._gemini.aio.aclose()
            self._gemini.close()
        if self._session is not None:
            await self._session.close()
        self._models.clear()
        self._gemini = self._session = None


def _quota_account(clients: ModelClients, provider: str) -> tuple[str, str]:
    """Return the key and the address whose quota the requests to a provider count against."""
    settings = clients.settings
    return settings.key(provider), settings.url(provider)


_import_lock = threading.Lock()


def _build_locked(build: Callable[..., _T], *args: Any) -> _T:
    """Build one client at a time: libraries with circular imports break when two threads import
    them at once."""
    with _import_lock:
        return build(*args)


def _silence_warnings() -> None:
    """Suppress warnings of Gemini's libraries on the terminal: failures are reported separately.

    They warn of empty answers and of names unknown to them, and google-genai does not await the
    body of an error response over aiohttp.
    """
    warnings.filterwarnings("ignore", message="coroutine 'ClientResponse.json' was never awaited")
    warnings.filterwarnings("ignore", module=r"(?:google\.genai|langchain_google_genai)\.")
    for name in ("google_genai", "langchain_google_genai"):
        logging.getLogger(name).setLevel(logging.ERROR)


@cache
def _google_client_args() -> Mapping[str, Any]:
    """Return the arguments for Gemini's HTTP clients. Without them each client loads the certificates
    three times, at 25 ms and 0.3 MB each. The argument is `verify` in httpx, `ssl` in aiohttp."""
    import httpx

    certificates = httpx.create_ssl_context()
    return {**_NO_REDIRECTS, "verify": certificates, "ssl": certificates}


def _import_google() -> None:
    from google import genai  # noqa: F401

    _silence_warnings()


def _build_session(settings: Settings) -> aiohttp.ClientSession | None:
    """Return the HTTP session for Gemini; None without aiohttp, in which case httpx is used. The
    sessions that google-genai creates start one thread for the proxy and one for a password before
    every request."""
    try:
        import aiohttp
    except ImportError:
        return None

    class Response(aiohttp.ClientResponse):
        """A response that normalises event streams and strips the byte order mark of its text."""

        async def start(self, connection: Connection) -> aiohttp.ClientResponse:
            await super().start(connection)
            if self.content_type == event_stream.CONTENT_TYPE:
                self.content = cast("aiohttp.StreamReader", event_stream.NormalisedContent(self.content))
            return self

        async def text(self, encoding: str | None = None, errors: str = "strict") -> str:
            return (await super().text(encoding, errors)).removeprefix("\ufeff")

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),  # our own limiter bounds the requests
        cookie_jar=aiohttp.DummyCookieJar(),
        response_class=Response,
        proxy=_proxy_url(base_url(settings)),
    )


async def _normalise_stream(response: Any) -> None:
    """Normalise an event stream over any version of httpx."""
    if response.headers.get("content-type", "").startswith(event_stream.CONTENT_TYPE):
        chunks = response.aiter_bytes
        vars(response)["aiter_bytes"] = lambda: event_stream.normalise_events(chunks(), "openai")


def _proxy_url(url: str) -> str | None:
    """Return the proxy that the environment sets for a URL."""
    parts = urlsplit(url)
    is_bypassed = proxy_bypass(parts.hostname or "")
    return None if is_bypassed else getproxies().get(parts.scheme)


def _build_google_client(settings: Settings, session: aiohttp.ClientSession | None) -> genai.Client:
    from google import genai

    return genai.Client(
        api_key=settings.gemini_key.get_secret_value(),
        vertexai=False,
        http_options=genai.types.HttpOptions(
            base_url=base_url(settings),
            api_version=API_VERSION,
            timeout=int(settings.model_timeout * STREAM_TIMEOUT_FACTOR * 1000),
            client_args=_google_client_args(),
            async_client_args=_google_client_args(),
            aiohttp_client=session,
            # `Chat` decides about retries, since it knows what was paid for. Without options the
            # library repeats a lost connection by itself, after up to 10 s.
            retry_options=genai.types.HttpRetryOptions(attempts=1),
        ),
    )


def _build_gemini_model(spec: ModelSpec, settings: Settings) -> BaseChatModel:
    return build_model(spec.name, settings, _google_client_args())


def _build_openai_model(spec: ModelSpec, settings: Settings) -> BaseChatModel:
    import httpx
    import openai
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    key, url = settings.key(spec.provider), settings.url(spec.provider)
    if spec.is_report_server:
        key, url = settings.report_key.get_secret_value(), settings.report_url or spec.provider_details.url
    return ChatOpenAI(
        model=spec.name,
        api_key=SecretStr(key or "none"),
        base_url=url,  # explicit, so that the library reads no address from the environment
        # Not a number: for numbers LangChain shares one client in the process, even a closed one.
        timeout=httpx.Timeout(settings.model_timeout * STREAM_TIMEOUT_FACTOR),
        max_retries=0,
        http_client=openai.DefaultHttpxClient(follow_redirects=False),
        http_async_client=openai.DefaultAsyncHttpxClient(
            follow_redirects=False, event_hooks={"response": [_normalise_stream]}
        ),
        stream_usage=True,
        use_responses_api=False,
    )


def _build_ollama_model(spec: ModelSpec, settings: Settings) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    return ChatOllama(
        model=spec.name,
        base_url=settings.url(spec.provider),
        num_ctx=context_lengths.context_length(spec, settings),
        client_kwargs={"timeout": settings.model_timeout * STREAM_TIMEOUT_FACTOR, "follow_redirects": False},
    )


def _build_anthropic_model(spec: ModelSpec, settings: Settings) -> BaseChatModel:
    """Build a model with our own client: the library's would follow redirects, and is shared."""
    try:
        import anthropic
        from langchain_anthropic import ChatAnthropic
    except ImportError:
        raise ServiceError("refused", f"{spec} needs {ANTHROPIC_INSTALL}", hint="package") from None
    from pydantic import SecretStr

    key, url = settings.key(spec.provider) or "none", settings.url(spec.provider)
    timeout = settings.model_timeout * STREAM_TIMEOUT_FACTOR
    model = ChatAnthropic(
        model=spec.name, api_key=SecretStr(key), base_url=url, timeout=timeout, max_retries=0, stop=None
    )
    arguments: dict[str, Any] = {"api_key": key, "base_url": url, "timeout": timeout, "max_retries": 0}
    vars(model)["_client"] = anthropic.Client(
        **arguments, http_client=anthropic.DefaultHttpxClient(follow_redirects=False)
    )
    vars(model)["_async_client"] = anthropic.AsyncClient(
        **arguments, http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False)
    )
    return model


_MODEL_BUILDERS = {
    "gemini": _build_gemini_model,
    "openai": _build_openai_model,
    "ollama": _build_ollama_model,
    "anthropic": _build_anthropic_model,
}


async def _close_model(model: Any) -> None:
    """Close the connections of a chat model, by whatever name its library has for that."""
    candidates = (
        model,
        getattr(model, "root_async_client", None),
        getattr(model, "root_client", None),
        getattr(getattr(model, "_async_client", None), "_client", None),
        getattr(getattr(model, "_client", None), "_client", None),
    )
    for candidate in candidates:
        close = getattr(candidate, "aclose", None) or getattr(candidate, "close", None)
        if close is None:
            continue
        result = close()
        if inspect.isawaitable(result):
            await result
