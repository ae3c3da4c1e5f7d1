"""The clients of the providers: made once, shared on the one loop, closed at the end.

The libraries are imported when a client is first made: they are heavy, and a desk without a key
needs none of them. No sampling parameter is ever sent: current models ignore or refuse them.
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
# A redirect would take keys and prompts to another address. The names are those of httpx and aiohttp.
_NO_REDIRECTS = {"follow_redirects": False, "allow_redirects": False}
ANTHROPIC_INSTALL = "pip install langchain-anthropic"
STREAM_TIMEOUT_FACTOR = 5  # a whole stream may take this many times as long as one answer


class ModelClients:
    """One chat model for each name, one google-genai client, one limiter for each provider."""

    def __init__(self, settings: Settings, shared: ModelClients | None = None) -> None:
        """`others` are those of the process: who asks with the same key waits in the same line."""
        self.settings = settings
        self._shared = shared
        self._models: dict[tuple[str, bool], BaseChatModel] = {}
        self._gemini: genai.Client | None = None
        self._session: aiohttp.ClientSession | None = None  # its connections
        self._limiters: dict[tuple[str, bool], RequestLimiter] = {}
        self._cooldowns: dict[tuple[str, bool, bool], Cooldown] = {}
        self._token_budgets: dict[tuple[str, bool], int] = {}
        self._capabilities: dict[tuple[str, bool, str], ServerCapabilities] = {}
        self._refused_features: dict[tuple[str, bool], set[str]] = {}
        self._build_lock = asyncio.Lock()
        self._preload_task: asyncio.Task[None] | None = None

    def limiter(self, provider: str, is_report_server: bool = False) -> RequestLimiter:
        """The turns at a provider; a server that is set for reports alone has its own."""
        if self._shared and (
            is_report_server or _quota_account(self, provider) == _quota_account(self._shared, provider)
        ):
            return self._shared.limiter(provider, is_report_server)
        if (provider, is_report_server) not in self._limiters:
            self._limiters[provider, is_report_server] = RequestLimiter(
                self.settings.model_concurrency, self.settings.requests_per_minute
            )
        return self._limiters[provider, is_report_server]

    def cooldown(self, spec: ModelSpec, for_search: bool = False) -> Cooldown:
        """The pause that a model's quota asks for; searches of a model have a quota of their own."""
        return self._clients_in_charge(spec)._cooldowns.setdefault(
            (str(spec), spec.is_report_server, for_search), Cooldown()
        )

    def token_budget(self, spec: ModelSpec) -> int:
        """The tokens that a prompt to a model may have, as far as is known."""
        known = context_lengths.prompt_token_budget(spec, self.settings)
        return min(known, self._clients_in_charge(spec)._token_budgets.get((str(spec), spec.is_report_server), known))

    def limit_token_budget(self, spec: ModelSpec, token_budget: int) -> None:
        """From now on prompts to a model have no more tokens: a longer one was refused."""
        self._clients_in_charge(spec)._token_budgets[str(spec), spec.is_report_server] = token_budget

    def _clients_in_charge(self, spec: ModelSpec) -> ModelClients:
        """Who keeps what is known of a model: the process, where it is asked as by the process."""
        others = self._shared
        if others and (
            spec.is_report_server or _quota_account(self, spec.provider) == _quota_account(others, spec.provider)
        ):
            return others._clients_in_charge(spec)
        return self

    def capabilities(self, spec: ModelSpec, schema: str = "") -> ServerCapabilities:
        """How the server of a model lets itself be asked. Gemini takes schemas, and may refuse one: of
        its service it is known by schema."""
        own = schema if spec.protocol == "gemini" else ""
        known = default_capabilities(spec.provider_details)
        return self._clients_in_charge(spec)._capabilities.setdefault(
            (spec.provider, spec.is_report_server, own), known
        )

    def refused_features(self, spec: ModelSpec) -> set[str]:
        """What a model does not take that others do; who learns of more adds it."""
        return self._clients_in_charge(spec)._refused_features.setdefault((str(spec), spec.is_report_server), set())

    async def chat(self, spec: ModelSpec) -> BaseChatModel:
        """Return LangChain's model of a name, made once."""
        name = str(spec), spec.is_report_server
        if name not in self._models:
            google = await self.gemini() if spec.protocol == "gemini" else None
            async with self._build_lock:
                if name not in self._models:  # importing takes a second: not on the loop
                    build = _MODEL_BUILDERS[spec.protocol]
                    model = await asyncio.to_thread(_build_locked, build, spec, self.settings)
                    if google is not None:
                        await share_client(cast("ChatGoogleGenerativeAI", model), google)
                    self._models[name] = model
        return self._models[name]

    async def gemini(self) -> genai.Client:
        """The google-genai client, which all models of Gemini share."""
        if self._gemini is None:
            async with self._build_lock:
                if self._gemini is None:
                    await asyncio.to_thread(_build_locked, _import_google)  # takes a second: not on the loop
                    self._session = _build_session(self.settings)
                    self._gemini = await asyncio.to_thread(
                        _build_locked, _build_google_client, self.settings, self._session
                    )
        return self._gemini

    async def interactions_api(self) -> Any:
        """The part of the google-genai client that agents are asked with. It repeats nothing: what it
        begins twice is paid for twice."""
        found = (await self.gemini()).aio.interactions
        found.sdk_configuration.retry_config = None
        return found

    def preload(self, specs: Sequence[ModelSpec], *, with_search: bool) -> None:
        """Begins to make the clients of some models, in this order, and with `search` that of Gemini's
        search: whoever asks one of them later need not wait for its library. Only the first call
        of a process's clients does anything."""
        if self._preload_task is None:
            self._preload_task = asyncio.create_task(self._preload_clients(specs, with_search))

    async def _preload_clients(self, specs: Sequence[ModelSpec], with_search: bool) -> None:
        try:
            for spec in specs:
                await self.chat(spec)
            if with_search:
                await self.gemini()
        except Exception as error:  # noqa: BLE001 - who asks meets it again, and is told
            log.debug("not every client is made ahead: %s", type(error).__name__)

    async def close(self) -> None:
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
    """Whose quota the requests to a provider count against: a key, and an address."""
    settings = clients.settings
    return settings.key(provider), settings.url(provider)


_import_lock = threading.Lock()


def _build_locked(build: Callable[..., _T], *args: Any) -> _T:
    """Builds one client at a time: libraries that import themselves in a circle break when two
    threads import them at once."""
    with _import_lock:
        return build(*args)


def _silence_warnings() -> None:
    """Keep warnings of Gemini's libraries from the terminal: a failure is reported as such anyway.

    They warn of empty answers and of names that are new to them, and google-genai does not await the
    body of an error response over aiohttp.
    """
    warnings.filterwarnings("ignore", message="coroutine 'ClientResponse.json' was never awaited")
    warnings.filterwarnings("ignore", module=r"(?:google\.genai|langchain_google_genai)\.")
    for name in ("google_genai", "langchain_google_genai"):
        logging.getLogger(name).setLevel(logging.ERROR)


@cache
def _google_client_args() -> Mapping[str, Any]:
    """What clients of Gemini are made with. Left alone, each of them reads the certificates three
    times, for 25 ms and 0.3 MB each; httpx calls them `verify`, aiohttp `ssl`."""
    import httpx

    certificates = httpx.create_ssl_context()
    return {**_NO_REDIRECTS, "verify": certificates, "ssl": certificates}


def _import_google() -> None:
    from google import genai  # noqa: F401

    _silence_warnings()


def _build_session(settings: Settings) -> aiohttp.ClientSession | None:
    """The connections to Gemini; None without aiohttp, in whose place httpx comes. Those that google-genai
    makes by itself ask a thread for the proxy and another for a password before every request."""
    try:
        import aiohttp
    except ImportError:
        return None

    class Response(aiohttp.ClientResponse):
        """A response whose event stream is a regular one, and whose text has no byte order mark."""

        async def start(self, connection: Connection) -> aiohttp.ClientResponse:
            await super().start(connection)
            if self.content_type == event_stream.CONTENT_TYPE:
                self.content = cast("aiohttp.StreamReader", event_stream.NormalisedContent(self.content))
            return self

        async def text(self, encoding: str | None = None, errors: str = "strict") -> str:
            return (await super().text(encoding, errors)).removeprefix("\ufeff")

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),  # the turns at a provider are ours
        cookie_jar=aiohttp.DummyCookieJar(),
        response_class=Response,
        proxy=_proxy_url(base_url(settings)),
    )


async def _normalise_stream(response: Any) -> None:
    """Let an event stream over httpx, of whatever version, be read as a regular one."""
    if response.headers.get("content-type", "").startswith(event_stream.CONTENT_TYPE):
        chunks = response.aiter_bytes
        vars(response)["aiter_bytes"] = lambda: event_stream.normalise_events(chunks(), "openai")


def _proxy_url(url: str) -> str | None:
    """The proxy that the environment sets for an address."""
    parts = urlsplit(url)
    passed = proxy_bypass(parts.hostname or "")
    return None if passed else getproxies().get(parts.scheme)


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
            # Repeating is decided by `Chat`, which knows what was paid for. Without options the library
            # repeats a lost connection by itself, after up to 10 s.
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
        base_url=url,  # said outright: the library reads no address by itself
        # Not a number: for those LangChain shares one client in the process, even one that is closed.
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
    """Its client is set here: the one that the library makes follows redirects, and is shared."""
    try:
        import anthropic
        from langchain_anthropic import ChatAnthropic
    except ImportError:
        raise ServiceError("refused", f"{spec} needs {ANTHROPIC_INSTALL}", hint="package") from None
    from pydantic import SecretStr

    key, url = settings.key(spec.provider) or "none", settings.url(spec.provider)
    timeout = settings.model_timeout * STREAM_TIMEOUT_FACTOR
    model = ChatAnthropic(
        model=spec.name, api_key=SecretStr(key), base_url=url, timeout=timeout, max_retries=0,
        stop=None,
    )  # fmt: skip
    made: dict[str, Any] = {"api_key": key, "base_url": url, "timeout": timeout, "max_retries": 0}
    vars(model)["_client"] = anthropic.Client(**made, http_client=anthropic.DefaultHttpxClient(follow_redirects=False))
    vars(model)["_async_client"] = anthropic.AsyncClient(
        **made, http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False)
    )
    return model


_MODEL_BUILDERS = {
    "gemini": _build_gemini_model, "openai": _build_openai_model, "ollama": _build_ollama_model, "anthropic": _build_anthropic_model,
}  # fmt: skip


async def _close_model(model: Any) -> None:
    """Closes a chat model's connections, whatever its library calls that."""
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
