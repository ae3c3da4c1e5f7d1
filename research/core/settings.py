"""Settings of the application: the only reader of the environment.

Explicit values override the environment, the environment overrides the default, and a blank value
is unset. `Settings` is a frozen value; nothing is read at import. Keys are `SecretStr`, so that no
print, log or traceback of a setting shows them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from research import data
from research.core import database_config
from research.core import tool_servers as toolservers
from research.core.database_config import DatabaseConfig, DatabaseConfigs
from research.core.domains import FILE_NAME as DOMAINS_FILE
from research.core.domains import DomainStatus, merge_domain_lists
from research.core.providers import FILE_NAME as MODELS_FILE
from research.core.providers import Provider, SearchService, load_providers, search_services, shipped_providers
from research.core.records import RunOptions
from research.core.tool_servers import InvalidToolServer, ToolServer

if TYPE_CHECKING:
    from research.sources.base import Setting

APP_NAME = "sightline"
SERVERS = ("memory", "stdio", "npm", "hosted")  # transports of Amap's MCP tools
TILES = ("osm", "off")
# Providers of web search.
PROVIDERS = ("gemini", "tavily", *search_services(), "searxng", "wikipedia", "deep-research")
Role = Literal["plan", "reflect", "write", "search"]
ROLES: tuple[Role, ...] = ("plan", "reflect", "write", "search")
LEVELS = ("low", "medium", "high")  # thinking levels that every current Gemini model supports
REPORT_MODEL = "QUERY_ENGINE_MODEL_NAME"  # setting of the model for reports
CONTEXT = "SIGHTLINE_CONTEXT_LENGTH"
CHECK_MODEL = "CHECK_MODEL"  # setting of the model that judges sentences
REPORTS = "query_engine_streamlit_reports"  # default folder of reports in the data folder
MCP_CONFIG = "SIGHTLINE_MCP_CONFIG"
DATABASES = "SIGHTLINE_DATABASES"
CHECKS = ("rules", "model")
TOKEN = 16  # minimum length in characters
REPAIRS = ("off", "drop", "rewrite")
LOG_LEVELS = ("info", "debug", "warning", "error")  # of the log of this program, the default first
_FIELDS = {  # keys and addresses with a field of their own
    "GEMINI_API_KEY": "gemini_key",
    "GOOGLE_GEMINI_BASE_URL": "gemini_url",
    "TAVILY_API_KEY": "tavily_key",
    "AMAP_MAPS_API_KEY": "amap_key",
    "OPENAI_API_KEY": "openai_key",
    "OPENAI_BASE_URL": "openai_url",
    "OLLAMA_BASE_URL": "ollama_url",
}
# Addresses that a user may supply: of servers at home, and of providers with one per customer.
ADDRESSES = tuple(
    one.address
    for one in shipped_providers().values()
    if one.wire != "gemini" and (one.keyless or not one.url or one.name == "openai")
)
KEYS = (  # keys and addresses that a user may supply
    "GEMINI_API_KEY",
    "TAVILY_API_KEY",
    "AMAP_MAPS_API_KEY",
    *(one.key for one in shipped_providers().values() if one.key and one.wire != "gemini"),
    *(one.key for one in search_services().values()),
    *ADDRESSES,
)


class Outlet(NamedTuple):
    """A news outlet whose feed can be selected."""

    name: str
    language: str
    title: str
    url: str


OUTLETS = {row[0]: Outlet(*row) for row in data.rows("outlet_feeds.tsv")}
CHOICES = {  # settings that a user may override
    "NUMBER_OF_INITIAL_QUERIES": "queries",
    "MAX_RESEARCH_LOOPS": "loops",
    "SIGHTLINE_SOURCES": "usual_sources",
    "SIGHTLINE_APPROVE_PLAN": "approve_plan",
    "SIGHTLINE_CLARIFY": "clarify",
    "SIGHTLINE_MAX_SEARCHES": "max_searches",
    "SIGHTLINE_MAX_TOKENS": "max_tokens",
    "SIGHTLINE_MAX_COST": "max_cost",
    "SIGHTLINE_MAX_SECONDS": "max_seconds",
    "SIGHTLINE_REPORT_SECTIONS": "sections",
    "MAX_REFLECTIONS": "reflections",
    "SIGHTLINE_REPORT_SOURCES": "report_sources",
    "QUERY_GENERATOR_MODEL": "plan_model",
    "REFLECTION_MODEL": "reflect_model",
    "ANSWER_MODEL": "write_model",
    "WEB_SEARCH_MODEL": "search_model",
    "CHECK_MODEL": "check_model",
    "WEB_SEARCH": "web_search",
    "SIGHTLINE_OPEN_SOURCES": "open_sources",
    "SIGHTLINE_OUTLETS": "outlets",
    "SIGHTLINE_DOMAINS": "domains",
    "SIGHTLINE_CHECK": "check",
    "SIGHTLINE_REPAIR": "repair",
    "MAP_TILES": "map_tiles",
}
_ROLE_SETTINGS: dict[Role, str] = {
    "plan": "QUERY_GENERATOR_MODEL",
    "reflect": "REFLECTION_MODEL",
    "write": "ANSWER_MODEL",
    "search": "WEB_SEARCH_MODEL",
}

# Environment variables that a tool server process may need to reach the internet.
_CHILD = re.compile(
    r"(?:https?|no|all)_proxy|node_options|node_extra_ca_certs|ssl_cert_(?:file|dir)|npm_config_\w+",
    re.I,
)
# Variables of LangChain's legacy tracing: if one is set while LangSmith is off, LangChain refuses
# every call.
_REFUSED = re.compile(r"langchain_(?:tracing|handler)", re.I)
# A comma separates only before a blank, a URL or the end: it may be part of a URL.
_PARTS = re.compile(r"\s+|,+(?=\s|https?://|$)")
_NAME_AND_PASSWORD = re.compile(r"//[^/]*@")
_NO_KEY = SecretStr("")


class SettingError(ValueError):
    """An unusable setting; the message names it, its value and the remedy."""


class Settings(BaseModel):
    """All external settings. Times are in seconds; "" means unset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_dir: Path
    store_url: SecretStr = _NO_KEY
    database_url: SecretStr = _NO_KEY  # queried in addition to the shipped database
    database_file: str = ""  # configuration file; "" is the one in the data folder
    listed: DatabaseConfigs = DatabaseConfigs()  # entries of that file
    database_samples: str = "on"  # sample cell values are read in advance
    database_timeout: float = 5.0  # per statement
    database_rows: int = 1_000  # maximum of a result
    queries: int = 3
    loops: int = 2
    capped: tuple[str, ...] = ()  # which of the two the operator has set: a cap for quickstart clients
    sections: int = 5
    reflections: int = 2
    usual_sources: str = ""  # default for questions; "" is every available source
    report_sources: str = ""  # default for reports
    max_searches: int = 0
    max_tokens: int = 0
    max_cost: float = 0.0
    max_seconds: float = 0.0
    runs_url: str = ""
    runs_key: SecretStr = _NO_KEY
    mcp_token: SecretStr = _NO_KEY  # bearer token of MCP clients over HTTP
    runs_at_once: int = 100
    runs_each: int = 20
    starts_per_minute: int = 30
    workers: str = "auto"  # worker processes beside that of the pages
    approve_plan: str = "off"
    clarify: str = "on"  # ask back about an ambiguous question
    check: str = "rules"  # judge of the doubtful sentences of an answer
    repair: str = "off"  # treatment of unsupported sentences
    check_model: str = ""
    search_timeout: float = 60.0
    search_delay: float = 0.0
    cache_hours: float = 1.0
    passages_per_search: int = 8

    gemini_key: SecretStr = _NO_KEY
    gemini_url: str = Field(default="", repr=False)
    openai_key: SecretStr = _NO_KEY
    openai_url: str = Field(default="", repr=False)
    ollama_url: str = Field(default="", repr=False)
    providers: Mapping[str, Provider] = Field(default_factory=shipped_providers)
    more: Mapping[str, SecretStr] = Field(default_factory=dict)  # keys and addresses without a field
    ollama_context: int = 32_768
    context_length: str = ""
    plan_model: str = ""
    reflect_model: str = ""
    write_model: str = ""
    search_model: str = ""
    report_key: SecretStr = _NO_KEY
    report_url: str = Field(default="", repr=False)
    report_model: str = ""
    model_timeout: float = 60.0
    model_attempts: int = 2
    retry_wait: float = 30.0
    model_concurrency: int = 200
    requests_per_minute: int = 0

    gemini_thinking: str = ""  # one level, or role=level pairs
    gemini_pages: str = "on"  # Google opens the pages named in a query
    deep_research: str = "deep-research-preview-04-2026"  # agent name
    deep_research_timeout: float = 1_800.0
    web_search: str = "auto"
    tavily_key: SecretStr = _NO_KEY
    tavily_url: str = Field(default="", repr=False)
    searxng_url: str = Field(default="", repr=False)
    wikipedia_url: str = "https://{language}.wikipedia.org"
    news_feeds: str = Field(default="", repr=False)
    outlets: str = ""  # comma-separated names from data/outlet_feeds.tsv
    news_gdelt: str = "off"
    domains: str = ""  # domain list of the setting or the user
    desk_domains: str = ""  # domain list in the data folder
    open_sources: str = "off"  # services without a key, used only if switched on
    gdelt_url: str = Field(default="", repr=False)
    contact: str = Field(default="", repr=False)  # e-mail address for those services
    wikidata_url: str = Field(default="", repr=False)
    openalex_key: SecretStr = _NO_KEY
    openalex_url: str = Field(default="", repr=False)
    crossref_url: str = Field(default="", repr=False)
    arxiv_url: str = Field(default="", repr=False)
    pubmed_url: str = Field(default="", repr=False)
    nominatim_url: str = Field(default="", repr=False)
    overpass_url: str = Field(default="", repr=False)
    amap_key: SecretStr = _NO_KEY
    amap_url: str = Field(default="", repr=False)
    amap_mcp: str = Field(default="memory", repr=False)
    amap_daily: int = 100
    amap_details: int = 10
    amap_calls: int = 8
    amap_timeout: float = 15.0
    amap_cache: float = 24.0
    map_tiles: str = "osm"
    otlp_url: str = Field(default="", repr=False)
    otlp_traces_url: str = Field(default="", repr=False)
    traces_exporter: str = "otlp"
    otel_disabled: str = "false"
    child_env: tuple[tuple[str, SecretStr], ...] = ()  # environment of tool server processes
    results_per_search: int = 8
    pages_per_search: int = 0
    report_content: int = 1_500
    output_dir: Path | None = Path(REPORTS)  # None saves no report automatically
    save_states: str = "on"
    log_level: str = "info"
    mcp_config: str = ""  # MCP configuration file; "" is the one in the data folder
    servers: tuple[ToolServer, ...] = ()  # MCP servers
    unusable: tuple[InvalidToolServer, ...] = ()  # unusable entries of that file
    of_sources: tuple[tuple[str, SecretStr], ...] = ()  # settings of plug-in sources

    @property
    def databases(self) -> tuple[DatabaseConfig, ...]:
        """The databases that can be queried besides the shipped one."""
        return database_config.list_databases(self.database_url, self.listed)

    @property
    def default_database(self) -> str:
        """Name of the database that is queried when none is chosen."""
        return database_config.default_database(self.database_url, self.listed)

    def source_setting(self, name: str) -> str:
        """Return the value of a setting that a plug-in source declares; "" for any other name."""
        return dict(self.of_sources).get(name, _NO_KEY).get_secret_value()

    @property
    def store(self) -> Path | str:
        """The storage of the runs: path of a SQLite file, or URL of a PostgreSQL database."""
        url = self.store_url.get_secret_value()
        if not url:
            return self.data_dir / "runs.db"
        scheme, _, path = url.partition(":///")
        return Path(unquote(path)).expanduser().absolute() if scheme == "sqlite" else url

    @property
    def reports_folder(self) -> Path | None:
        """The folder in which every report is saved; None if reports are not saved."""
        return self.data_dir / self.output_dir if self.output_dir else None

    @property
    def processes(self) -> int:
        """Number of worker processes.

        With `auto` it is one per core if there are several, but none with a request limit, which is
        enforced within one process.
        """
        if self.runs_url:
            return 0
        if self.workers != "auto":
            return int(self.workers)
        cores = _cores()
        return cores if cores > 1 and not self.requests_per_minute else 0

    @property
    def options(self) -> RunOptions:
        """Default options of a run."""
        return RunOptions(
            queries=self.queries,
            loops=self.loops,
            searches=self.max_searches,
            tokens=self.max_tokens,
            cost=self.max_cost,
            seconds=self.max_seconds,
            approve=self.approve_plan == "on",
        )

    @property
    def web_providers(self) -> tuple[str, ...]:
        """Providers of web search in order of preference. `auto` excludes agents, and Wikipedia
        unless the open sources are on."""
        names = [name.strip() for name in self.web_search.split(",") if name.strip()]
        if names == ["off"]:
            return ()
        if names == ["auto"]:
            left_out = {"deep-research"} if self.opened else {"deep-research", "wikipedia"}
            return tuple(name for name in PROVIDERS if name not in left_out)
        return tuple(dict.fromkeys(names))

    @property
    def verdicts(self) -> Mapping[str, DomainStatus]:
        """Domain statuses of the data folder's file, overridden by the setting or the user."""
        return merge_domain_lists((self.desk_domains, self.domains))

    @property
    def opened(self) -> bool:
        """True if services without a key may be used."""
        return self.open_sources == "on"

    @property
    def known_outlets(self) -> Mapping[str, Outlet]:
        """The selectable outlets by name."""
        return OUTLETS

    @property
    def feeds(self) -> tuple[str, ...]:
        """Sources of news: URLs of feeds or feed lists, or the path of a list."""
        picked = [OUTLETS[name].url for name in self.outlets.split(",") if name]
        return tuple(dict.fromkeys([*_listed(self.news_feeds), *picked]))

    @property
    def traces_url(self) -> str:
        """The full URL to which traces are exported; "" (the default) exports none."""
        if self.otel_disabled == "true" or self.traces_exporter == "none":
            return ""
        return self.otlp_traces_url or (self.otlp_url and f"{self.otlp_url}/v1/traces")

    def provider_value(self, name: str) -> str:
        """Return the key or address of a provider by the name of its setting; "" if unset."""
        field = _FIELDS.get(name)
        value = getattr(self, field) if field else self.more.get(name, "")
        return value.get_secret_value() if isinstance(value, SecretStr) else value

    def key(self, provider: str) -> str:
        """Return the key of a provider; "" if none is set."""
        return self.provider_value(self.providers[provider].key)

    def url(self, provider: str) -> str:
        """Return the URL of a provider; "" if unknown, or built into the provider's library."""
        details = self.providers[provider]
        address = self.provider_value(details.address)
        if not address or address.endswith(details.path):
            return address or details.url
        return address + details.path

    @property
    def services(self) -> Sequence[Provider | SearchService]:
        """Model providers, then search services: everything with a key or address in the tables."""
        return [*self.providers.values(), *search_services().values()]

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secret values, to be masked everywhere."""
        keys = (self.gemini_key, self.openai_key, self.report_key, self.tavily_key,
                self.amap_key, self.openalex_key, self.runs_key, self.mcp_token)  # fmt: skip
        urls = [self.gemini_url, self.openai_url, self.report_url, self.ollama_url, self.tavily_url,
                self.searxng_url, self.wikipedia_url, self.amap_url, self.amap_mcp, self.runs_url,
                self.otlp_url, self.otlp_traces_url, self.gdelt_url, self.wikidata_url,
                self.openalex_url, self.crossref_url, self.arxiv_url, self.pubmed_url,
                self.nominatim_url, self.overpass_url,
                *self.feeds]  # fmt: skip
        secrets = [key.get_secret_value() for key in keys]
        urls += [value.get_secret_value() for _, value in self.child_env]
        addresses = {entry.address for entry in self.services}
        for name, secret in self.more.items():
            (urls if name in addresses else secrets).append(secret.get_secret_value())
        urls += map(self.source_setting, _brought())
        secrets += [self.source_setting(name) for name, entry in _brought().items() if entry.is_secret]
        secrets += [_password(url) for url in urls]
        secrets += toolservers.server_secrets(self.servers)
        for url in (self.store_url, self.database_url, *(entry.url for entry in self.databases)):
            secrets += _passwords(url.get_secret_value())
        return tuple(filter(None, secrets))

    def display_values(self) -> list[tuple[str, str]]:
        """Return every setting by name with its value as text; for a key only "set" or ""."""
        values = [
            ("NUMBER_OF_INITIAL_QUERIES", str(self.queries)),
            ("MAX_RESEARCH_LOOPS", str(self.loops)),
            ("SIGHTLINE_REPORT_SECTIONS", str(self.sections)),
            ("MAX_REFLECTIONS", str(self.reflections)),
            ("SIGHTLINE_SOURCES", self.usual_sources),
            ("SIGHTLINE_REPORT_SOURCES", self.report_sources),
            ("SIGHTLINE_MAX_SEARCHES", str(self.max_searches)),
            ("SIGHTLINE_MAX_TOKENS", str(self.max_tokens)),
            ("SIGHTLINE_MAX_COST", f"{self.max_cost:g}"),
            ("SIGHTLINE_MAX_SECONDS", f"{self.max_seconds:g} s"),
            ("RUNS_URL", strip_credentials(self.runs_url)),
            ("RUNS_API_KEY", "set" if self.runs_key.get_secret_value() else ""),
            ("SIGHTLINE_MCP_TOKEN", "set" if self.mcp_token.get_secret_value() else ""),
            ("SIGHTLINE_MAX_RUNS", str(self.runs_at_once)),
            ("SIGHTLINE_MAX_RUNS_EACH", str(self.runs_each)),
            ("SIGHTLINE_STARTS_PER_MINUTE", str(self.starts_per_minute)),
            ("SIGHTLINE_WORKERS", self.workers),
            ("SIGHTLINE_APPROVE_PLAN", self.approve_plan),
            ("SIGHTLINE_CLARIFY", self.clarify),
            ("SIGHTLINE_CHECK", self.check),
            ("SIGHTLINE_REPAIR", self.repair),
            (CHECK_MODEL, self.check_model),
            *((model_setting_name(role), self.model(role)) for role in ROLES),
            ("GEMINI_API_KEY", "set" if self.gemini_key.get_secret_value() else ""),
            ("GOOGLE_GEMINI_BASE_URL", strip_credentials(self.gemini_url)),
            ("OPENAI_API_KEY", "set" if self.openai_key.get_secret_value() else ""),
            ("OPENAI_BASE_URL", strip_credentials(self.openai_url)),
            *self._shown_providers(),
            (REPORT_MODEL, self.report_model),
            ("QUERY_ENGINE_API_KEY", "set" if self.report_key.get_secret_value() else ""),
            ("QUERY_ENGINE_BASE_URL", strip_credentials(self.report_url)),
            ("OLLAMA_BASE_URL", strip_credentials(self.ollama_url)),
            ("OLLAMA_CONTEXT_LENGTH", str(self.ollama_context)),
            (CONTEXT, self.context_length),
            ("GEMINI_THINKING", self.gemini_thinking),
            ("GEMINI_URL_CONTEXT", self.gemini_pages),
            ("GEMINI_DEEP_RESEARCH", self.deep_research),
            ("GEMINI_DEEP_RESEARCH_TIMEOUT", f"{self.deep_research_timeout:g} s"),
            ("WEB_SEARCH", self.web_search),
            ("TAVILY_API_KEY", "set" if self.tavily_key.get_secret_value() else ""),
            ("TAVILY_BASE_URL", strip_credentials(self.tavily_url)),
            ("SEARXNG_URL", strip_credentials(self.searxng_url)),
            ("WIKIPEDIA_URL", self.wikipedia_url),
            ("NEWS_FEEDS", " ".join(map(strip_credentials, _listed(self.news_feeds)))),
            ("SIGHTLINE_OUTLETS", self.outlets),
            ("NEWS_GDELT", self.news_gdelt),
            ("SIGHTLINE_OPEN_SOURCES", self.open_sources),
            ("SIGHTLINE_DOMAINS", self.domains),
            ("GDELT_BASE_URL", strip_credentials(self.gdelt_url)),
            ("SIGHTLINE_CONTACT", self.contact),
            ("WIKIDATA_URL", strip_credentials(self.wikidata_url)),
            ("OPENALEX_API_KEY", "set" if self.openalex_key.get_secret_value() else ""),
            ("OPENALEX_URL", strip_credentials(self.openalex_url)),
            ("CROSSREF_URL", strip_credentials(self.crossref_url)),
            ("ARXIV_URL", strip_credentials(self.arxiv_url)),
            ("PUBMED_URL", strip_credentials(self.pubmed_url)),
            ("NOMINATIM_URL", strip_credentials(self.nominatim_url)),
            ("OVERPASS_URL", strip_credentials(self.overpass_url)),
            ("AMAP_MAPS_API_KEY", "set" if self.amap_key.get_secret_value() else ""),
            ("AMAP_BASE_URL", strip_credentials(self.amap_url)),
            ("AMAP_MCP", strip_credentials(self.amap_mcp)),
            ("AMAP_DAILY_SEARCHES", str(self.amap_daily)),
            ("AMAP_DETAIL_CALLS", str(self.amap_details)),
            ("AMAP_TOOL_CALLS", str(self.amap_calls)),
            ("AMAP_TIMEOUT", f"{self.amap_timeout:g} s"),
            ("AMAP_CACHE_HOURS", f"{self.amap_cache:g}"),
            ("MAP_TILES", self.map_tiles),
            (MCP_CONFIG, self.mcp_config),
            ("SIGHTLINE_DATA_DIR", str(self.data_dir)),
            ("STORE_URL", _bare(self.store_url.get_secret_value())),
            ("DATABASE_URL", _bare(self.database_url.get_secret_value())),
            (DATABASES, self.database_file),
            ("DATABASE_SAMPLES", self.database_samples),
            ("DATABASE_TIMEOUT", f"{self.database_timeout:g} s"),
            ("DATABASE_ROWS", str(self.database_rows)),
            ("SIGHTLINE_SEARCH_TIMEOUT", f"{self.search_timeout:g} s"),
            ("SIGHTLINE_SEARCH_DELAY", f"{self.search_delay:g} s"),
            ("SIGHTLINE_CACHE_HOURS", f"{self.cache_hours:g}"),
            ("SIGHTLINE_PASSAGES_PER_SEARCH", str(self.passages_per_search)),
            ("SIGHTLINE_RESULTS_PER_SEARCH", str(self.results_per_search)),
            ("SIGHTLINE_PAGES_PER_SEARCH", str(self.pages_per_search)),
            ("SEARCH_CONTENT_MAX_LENGTH", str(self.report_content)),
            ("OUTPUT_DIR", str(self.output_dir or "")),
            ("SAVE_INTERMEDIATE_STATES", self.save_states),
            ("LOG_LEVEL", self.log_level),
            ("SIGHTLINE_MODEL_TIMEOUT", f"{self.model_timeout:g} s"),
            ("SIGHTLINE_MODEL_ATTEMPTS", str(self.model_attempts)),
            ("SIGHTLINE_RETRY_WAIT", f"{self.retry_wait:g} s"),
            ("SIGHTLINE_MODEL_CONCURRENCY", str(self.model_concurrency)),
            ("SIGHTLINE_REQUESTS_PER_MINUTE", str(self.requests_per_minute)),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", strip_credentials(self.otlp_url)),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", strip_credentials(self.traces_url)),
            ("OTEL_TRACES_EXPORTER", self.traces_exporter),
            ("OTEL_SDK_DISABLED", self.otel_disabled),
        ]
        return values + [
            (name, self._shown(setting)) for name, setting in _brought().items() if name not in dict(values)
        ]

    def _shown(self, setting: Setting) -> str:
        value = self.source_setting(setting.name)
        if setting.is_secret:
            return "set" if value else ""
        return _NAME_AND_PASSWORD.sub("//", value)

    def _shown_providers(self) -> Iterator[tuple[str, str]]:
        for service in self.services:
            if service.key and service.key not in _FIELDS:
                yield service.key, "set" if self.provider_value(service.key) else ""
            if service.address and service.address not in _FIELDS:
                yield service.address, strip_credentials(self.provider_value(service.address))

    @property
    def contexts(self) -> dict[str, int]:
        """Configured context lengths in tokens by model name; "" applies to all others."""
        parts = (part.rpartition("=") for part in self.context_length.split(", ") if part)
        return {name: int(number) for name, _, number in parts}

    def thinking_level(self, role: Role) -> str:
        """Return the thinking level of a Gemini model in a role; "" leaves it to the model."""
        parts = (part.rpartition("=") for part in self.gemini_thinking.split(", "))
        levels = {name: level for name, _, level in parts}
        return levels.get(role, levels.get("", ""))

    def model(self, role: Role) -> str:
        """Return the configured model of a role; "" if none is set."""
        return {
            "plan": self.plan_model,
            "reflect": self.reflect_model,
            "write": self.write_model,
            "search": self.search_model,
        }[role]


def model_setting_name(role: Role) -> str:
    """Return the name of the setting for a role's model."""
    return _ROLE_SETTINGS[role]


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:  # not a URL
        return ""


def strip_credentials(url: str) -> str:
    """Remove the user name and password from a URL."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _passwords(url: str) -> list[str]:
    """Return the passwords in a database URL, both decoded and as written there."""
    parts = urlsplit(url)
    written = [parts.password or ""]
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        written += [value] if "password" in name else []
    return [form for value in written if value for form in {value, unquote(value)}]


def _bare(url: str) -> str:
    """Remove the user name, password and options from a database URL."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" if url else ""


def _database(env: Mapping[str, str], name: str, instead: str) -> SecretStr:
    """Read the URL of a database; "" if unset. `instead` names what is used without it. The error
    does not repeat the value, which may be a password."""
    value = _text(env, name)
    files = ("sqlite", "duckdb") if name == "DATABASE_URL" else ("sqlite",)  # DuckDB cannot store runs
    if url := database_config.parse_database_url(value, files):
        return url
    if value:
        raise SettingError(
            f"{name} must be an address such as postgresql://user:password@host/database or "
            "sqlite:////folder/file.db; in a user or password write %40 for @, %2F for /, %3A for :, "
            f"%23 for # and %3F for ?. Correct it or remove it to use {instead}."
        )
    return _NO_KEY


def _databases(env: Mapping[str, str], folder: Path) -> DatabaseConfigs:
    """Load the databases of the configuration file."""
    try:
        return database_config.load_databases(_text(env, DATABASES), folder, env)
    except ValueError as error:
        raise SettingError(
            f"{error}. Correct the file, or set {DATABASES}={database_config.OFF} to do without."
        ) from None


def _number(env: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    raw = env.get(name, "").strip()
    if not raw:
        return default
    try:
        value = float(raw)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise SettingError(
            f"{name} is {raw!r}; it must be a number from {low:.12g} to {high:.12g}. "
            f"Correct it or remove it to use the default, {default:.12g}."
        )
    return value


def _whole(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    value = _number(env, name, default, low, high)
    if value != int(value):
        raise SettingError(
            f"{name} is {env[name]!r}; it must be a whole number from {low} to {high}. "
            f"Correct it or remove it to use the default, {default}."
        )
    return int(value)


def _workers(env: Mapping[str, str]) -> str:
    name = "SIGHTLINE_WORKERS"
    text = _text(env, name).lower() or "auto"
    return text if text == "auto" else str(_whole(env, name, 0, 0, 64))


def child_environment() -> dict[str, str]:
    """Return the environment variables that a child process needs: none except on Windows. They
    contain no key."""
    needed = "SYSTEMROOT SYSTEMDRIVE TEMP TMP" if os.name == "nt" else ""
    return {name: os.environ[name] for name in needed.split() if name in os.environ}


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _text(env: Mapping[str, str], *names: str) -> str:
    """Return the first of some settings that is not blank."""
    return next((value for name in names if (value := env.get(name, "").strip())), "")


def _key(env: Mapping[str, str], *names: str) -> SecretStr:
    for name in names:
        value = env.get(name, "").strip()
        if value and (not value.isascii() or not value.isprintable() or " " in value):
            raise SettingError(
                f"{name} has characters that no key has. Copy the key again, without quotes and spaces, or remove it."
            )
    return SecretStr(_text(env, *names))


def _token(env: Mapping[str, str], name: str) -> SecretStr:
    """Read a self-chosen secret, with a minimum length so that it cannot be guessed."""
    value = _key(env, name)
    if 0 < len(value.get_secret_value()) < TOKEN:
        raise SettingError(
            f"{name} has fewer than {TOKEN} characters. Set a longer one, such as "
            "`openssl rand -hex 32` prints, or remove it."
        )
    return value


def _models(folder: Path) -> Mapping[str, Provider]:
    try:
        return load_providers(folder)
    except ValueError as error:
        raise SettingError(f"{MODELS_FILE}: {error}. Correct it or remove it.") from None


def _more(env: Mapping[str, str], known: Mapping[str, Provider]) -> dict[str, SecretStr]:
    """Read the keys and addresses of providers without a field of their own, by setting name."""
    services: list[Provider | SearchService] = [*known.values(), *search_services().values()]
    keys = {service.key: _key(env, service.key) for service in services if service.key}
    urls = {service.address: SecretStr(_address(env, service.address)) for service in services if service.address}
    values = keys | urls
    return {name: value for name, value in values.items() if name not in _FIELDS and value.get_secret_value()}


def _address(env: Mapping[str, str], name: str, default: str = "") -> str:
    value = env.get(name, "").strip() or default
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:  # half an IPv6 address
        usable = False
    if value and not usable:
        raise SettingError(
            f"{name} is {_NAME_AND_PASSWORD.sub('//', value)!r}; it must be an address such as https://example.org. "
            "Correct it or remove it."
        )
    return value.rstrip("/")


def _traces_address(env: Mapping[str, str]) -> str:
    """Read the URL for traces, which OpenTelemetry uses unchanged, including a final slash."""
    _address(env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    return _text(env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def _traces_exporter(env: Mapping[str, str]) -> str:
    """Return "otlp", the one supported exporter, or "none" if the setting names others only."""
    names = (_text(env, "OTEL_TRACES_EXPORTER") or "otlp").lower().split(",")
    return "otlp" if "otlp" in [name.strip() for name in names] else "none"


def _server(env: Mapping[str, str]) -> str:
    """Read the server of Amap's tools: one of `SERVERS`, or a URL."""
    value = env.get("AMAP_MCP", "").strip()
    if "://" in value:
        return _address(env, "AMAP_MCP")
    return _one(env, "AMAP_MCP", SERVERS, " or the address of a server (Streamable HTTP)")


def _one(env: Mapping[str, str], name: str, known: Sequence[str], more: str = "") -> str:
    """Read one of several words; the first is the default."""
    value = env.get(name, "").strip().lower() or known[0]
    if value not in known:
        raise SettingError(
            f"{name} is {env[name]!r}; it must be one of {', '.join(known)}{more}. "
            f"Correct it or remove it to use the default, {known[0]}."
        )
    return value


def _switch(env: Mapping[str, str], name: str, default: str) -> str:
    """Read `on` or `off`, also in the spellings of other programs."""
    value = env.get(name, "").strip().lower() or default
    known = {"on": "on", "true": "on", "yes": "on", "1": "on"}
    known |= {"off": "off", "false": "off", "no": "off", "0": "off"}
    if value not in known:
        raise SettingError(
            f"{name} is {env[name]!r}; it must be on or off. Correct it or remove it to use the default, {default}."
        )
    return known[value]


def _folder(env: Mapping[str, str], name: str, default: str) -> Path | None:
    """Read a folder, which need not exist yet. Unlike other settings, a blank value means off."""
    value = env.get(name, default).strip()
    try:
        return Path(value).expanduser() if value else None
    except RuntimeError as error:  # ~ of a user without a home folder
        raise SettingError(f"{name} is {value!r}: {error} Correct it or remove it.") from error


def _contact(env: Mapping[str, str]) -> str:
    value = env.get("SIGHTLINE_CONTACT", "").strip()
    if value and not re.fullmatch(r"[^\s@<>]+@[^\s@<>]+", value):
        raise SettingError(
            f"SIGHTLINE_CONTACT is {value!r}; it must be an address of mail such as me@example.org. "
            "Correct it or remove it."
        )
    return value


def _wikipedia(env: Mapping[str, str]) -> str:
    value = _address(env, "WIKIPEDIA_URL", "https://{language}.wikipedia.org")
    if "{language}" not in value:
        raise SettingError(
            f"WIKIPEDIA_URL is {value!r}; it must have {{language}} where zh or en belongs, as in "
            "https://{language}.wikipedia.org. Correct it or remove it."
        )
    return value


def _listed(value: str) -> list[str]:
    """Split a list of URLs and paths; a value without a URL is one path."""
    if "://" not in value:
        return [value] if value else []
    return [part for part in _PARTS.split(value) if part]


def _feeds(env: Mapping[str, str]) -> str:
    """Read the sources of feeds: URLs, or the path of a list of feeds."""
    parts = _listed(_text(env, "NEWS_FEEDS"))
    for part in parts:
        try:
            parsed = urlsplit(part)
            usable = parsed.scheme in ("http", "https") and bool(parsed.hostname) and parsed.port != 0
        except ValueError:  # half of an IPv6 address, or no port
            usable = False
        if "://" in part and not usable:
            raise SettingError(
                f"NEWS_FEEDS has {_NAME_AND_PASSWORD.sub('//', part)!r}; it must be addresses such "
                "as https://example.org/feed.xml, with spaces between them, or the path of an OPML "
                "file. Correct it or remove it."
            )
    return " ".join(parts)


def _providers(env: Mapping[str, str]) -> str:
    value = env.get("WEB_SEARCH", "").strip().lower() or "auto"
    names = [name.strip() for name in value.split(",") if name.strip()]
    known = {("auto",), ("off",)}
    if tuple(names) not in known and (not names or not set(names) <= set(PROVIDERS)):
        unknown = next((name for name in names if name not in PROVIDERS), value)
        raise SettingError(
            f"WEB_SEARCH is {value!r}: there is no {unknown!r}. Name one or several of "
            f"{', '.join(PROVIDERS)}, or auto, or off."
        )
    return ",".join(names)


def _file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeError) as error:
        raise SettingError(f"{path} cannot be read ({type(error).__name__}). Correct it or remove it.") from None


def _outlets(env: Mapping[str, str]) -> str:
    """Read the names of the selected outlets."""
    names = [name for name in re.split(r"[\s,]+", _text(env, "SIGHTLINE_OUTLETS").lower()) if name]
    if unknown := next((name for name in names if name not in OUTLETS), ""):
        raise SettingError(
            f"SIGHTLINE_OUTLETS has {unknown!r}; there are {', '.join(OUTLETS)}. Correct it or remove it."
        )
    return ",".join(dict.fromkeys(names))


def _domains(text: str, name: str) -> str:
    try:
        merge_domain_lists([text])
    except ValueError as error:
        raise SettingError(f"{name} has {error}. Correct it or remove it.") from None
    return text


def _levels(env: Mapping[str, str]) -> str:
    """Read thinking levels: one for all roles, or a comma-separated list of role=level."""
    levels = []
    for part in filter(None, (part.strip() for part in _text(env, "GEMINI_THINKING").split(","))):
        role, sign, level = (text.strip().lower() for text in part.rpartition("="))
        if level not in LEVELS or (sign and role not in ROLES):
            raise SettingError(
                f"GEMINI_THINKING is {env['GEMINI_THINKING']!r}; it must be {', '.join(LEVELS)}, or "
                f"levels of roles ({', '.join(ROLES)}) such as plan=low, write=high. Correct it or "
                "remove it to leave that to the models."
            )
        levels.append(f"{role}={level}" if role else level)
    return ", ".join(levels)


def _contexts(env: Mapping[str, str]) -> str:
    """Read context lengths: one for all models, or a comma-separated list of name=tokens."""
    lengths = []
    for part in filter(None, (part.strip() for part in _text(env, CONTEXT).split(","))):
        name, _, number = part.rpartition("=")
        name, number = name.strip().lower(), number.strip()
        if not number.isdecimal() or not 2_048 <= int(number) <= 10_000_000:
            raise SettingError(
                f"{CONTEXT} is {env[CONTEXT]!r}; it must be a whole number of tokens from 2048 to "
                "10000000, or numbers of single models such as openai:qwen3-8b=32768, with commas "
                "between them. Correct it or remove it."
            )
        lengths.append(f"{name}={number}" if name else number)
    return ", ".join(lengths)


def _servers(env: Mapping[str, str], folder: Path) -> tuple[tuple[ToolServer, ...], tuple[InvalidToolServer, ...]]:
    """Load the MCP servers, and the unusable entries of the file."""
    try:
        return toolservers.load_servers(_text(env, MCP_CONFIG), folder, env)
    except ValueError as error:
        raise SettingError(f"{error}. Correct the file, or set {MCP_CONFIG}={toolservers.OFF} to do without.") from None


def _sources(env: Mapping[str, str], name: str, servers: Sequence[ToolServer]) -> str:
    """Read a comma-separated list of source names; "" if none are named."""
    value = env.get(name, "").strip().lower()
    names = list(dict.fromkeys(filter(None, (part.strip() for part in value.split(",")))))
    if not names:
        return ""
    from research.sources import registry

    known = dict.fromkeys([*registry.sources_by_name(), *(server.source_name for server in servers)])
    if unknown := [part for part in names if part not in known]:
        raise SettingError(
            f"{name} is {value!r}: there is no {unknown[0]!r}. Name one or several of "
            f"{', '.join(known)}, or remove it to use every available source."
        )
    return ",".join(names)


def _brought() -> dict[str, Setting]:
    """Return the settings that plug-in sources declare, by name."""
    from research.sources import registry

    declared = (setting for source in registry.sources_by_name().values() for setting in source.settings)
    return {setting.name: setting for setting in declared}


def apply_choices(settings: Settings, choices: Mapping[str, str]) -> Settings:
    """Override settings with a user's choices (`CHOICES`), keys and addresses (`KEYS`). A blank
    choice is ignored.

    A key from the environment is never sent to an address that a user has entered. Map tiles that
    are off for everyone stay off, since the pages' content security policy blocks them.

    Raises:
        SettingError: A choice is unusable by the rules for the environment.
    """
    if unknown := [name for name in choices if name not in CHOICES and name not in KEYS]:
        raise SettingError(f"{unknown[0]} cannot be chosen by a person.")
    nonblank = {name: text for name, text in choices.items() if text.strip()}
    chosen = load_settings(
        {**nonblank, MCP_CONFIG: toolservers.OFF, DATABASES: database_config.OFF}, data_dir=settings.data_dir
    )
    fields = CHOICES | _FIELDS
    update: dict[str, Any] = {field: getattr(chosen, field) for name in nonblank if (field := fields.get(name))}
    more = {**settings.more, **{name: chosen.more[name] for name in nonblank if name in chosen.more}}
    for provider in settings.providers.values():
        if provider.address in nonblank and provider.key not in nonblank and provider.key:
            if provider.key in _FIELDS:
                update[_FIELDS[provider.key]] = _NO_KEY
            more.pop(provider.key, None)
    update["more"] = more
    if settings.map_tiles == "off":
        update.pop("map_tiles", None)
    return settings.model_copy(update=update)


def remove_legacy_tracing_variables() -> None:
    """Remove the variables of LangChain's legacy tracing from the process environment."""
    for name in filter(_REFUSED.fullmatch, list(os.environ)):
        del os.environ[name]


def _data_folder(chosen: Path | str) -> Path:
    """Return the data folder: the chosen one, or the system's default in the home folder.

    Raises:
        SettingError: The folder is in a home folder and this user has none.
    """
    try:
        folder = chosen or platformdirs.user_data_dir(APP_NAME, appauthor=False)
        return Path(folder).expanduser().absolute()
    except RuntimeError as error:
        cause = f"SIGHTLINE_DATA_DIR={chosen}" if chosen else "SIGHTLINE_DATA_DIR is not set"
        raise SettingError(
            f"{cause}, and no home folder of this user is known. "
            "Set SIGHTLINE_DATA_DIR to the path of a folder that can be written."
        ) from error


def load_settings(env: Mapping[str, str] | None = None, *, data_dir: Path | None = None) -> Settings:
    """Load the settings from `env`, by default the environment of the process.

    Raises:
        SettingError: A value is unusable.
    """
    env = os.environ if env is None else env
    folder = _data_folder(data_dir or _text(env, "SIGHTLINE_DATA_DIR"))
    providers = _models(folder)
    servers, unusable = _servers(env, folder)
    return Settings(
        mcp_config=_text(env, MCP_CONFIG),
        servers=servers,
        unusable=unusable,
        data_dir=folder,
        providers=providers,
        more=_more(env, providers),
        store_url=_database(env, "STORE_URL", "a file in SIGHTLINE_DATA_DIR"),
        database_url=_database(env, "DATABASE_URL", "the scenic areas that ship with Sightline"),
        database_file=_text(env, DATABASES),
        listed=_databases(env, folder),
        database_samples=_switch(env, "DATABASE_SAMPLES", "on"),
        database_timeout=_number(env, "DATABASE_TIMEOUT", 5, 0.05, 60),
        database_rows=_whole(env, "DATABASE_ROWS", 1_000, 1, 10_000),
        queries=_whole(env, "NUMBER_OF_INITIAL_QUERIES", 3, 1, 10),
        loops=_whole(env, "MAX_RESEARCH_LOOPS", 2, 0, 10),
        capped=tuple(name for name in ("NUMBER_OF_INITIAL_QUERIES", "MAX_RESEARCH_LOOPS") if _text(env, name)),
        sections=_whole(env, "SIGHTLINE_REPORT_SECTIONS", 5, 1, 12),
        reflections=_whole(env, "MAX_REFLECTIONS", 2, 0, 10),
        usual_sources=_sources(env, "SIGHTLINE_SOURCES", servers),
        report_sources=_sources(env, "SIGHTLINE_REPORT_SOURCES", servers),
        max_searches=_whole(env, "SIGHTLINE_MAX_SEARCHES", 0, 0, 10_000),
        max_tokens=_whole(env, "SIGHTLINE_MAX_TOKENS", 0, 0, 1_000_000_000),
        max_cost=_number(env, "SIGHTLINE_MAX_COST", 0, 0, 10_000),
        max_seconds=_number(env, "SIGHTLINE_MAX_SECONDS", 0, 0, 86_400),
        runs_url=_address(env, "RUNS_URL"),
        runs_key=_key(env, "RUNS_API_KEY"),
        mcp_token=_token(env, "SIGHTLINE_MCP_TOKEN"),
        runs_at_once=_whole(env, "SIGHTLINE_MAX_RUNS", 100, 0, 100_000),
        runs_each=_whole(env, "SIGHTLINE_MAX_RUNS_EACH", 20, 0, 100_000),
        starts_per_minute=_whole(env, "SIGHTLINE_STARTS_PER_MINUTE", 30, 0, 100_000),
        workers=_workers(env),
        approve_plan=_one(env, "SIGHTLINE_APPROVE_PLAN", ("off", "on")),
        clarify=_switch(env, "SIGHTLINE_CLARIFY", "on"),
        check=_one(env, "SIGHTLINE_CHECK", CHECKS),
        repair=_one(env, "SIGHTLINE_REPAIR", REPAIRS),
        check_model=_text(env, CHECK_MODEL),
        search_timeout=_number(env, "SIGHTLINE_SEARCH_TIMEOUT", 60, 0.05, 600),
        search_delay=_number(env, "SIGHTLINE_SEARCH_DELAY", 0, 0, 60),
        cache_hours=_number(env, "SIGHTLINE_CACHE_HOURS", 1, 0, 720),
        passages_per_search=_whole(env, "SIGHTLINE_PASSAGES_PER_SEARCH", 8, 1, 50),
        gemini_key=_key(env, "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        gemini_url=_address(env, "GOOGLE_GEMINI_BASE_URL"),
        openai_key=_key(env, "OPENAI_API_KEY"),
        openai_url=_address(env, "OPENAI_BASE_URL"),
        ollama_url=_address(env, "OLLAMA_BASE_URL"),
        ollama_context=_whole(env, "OLLAMA_CONTEXT_LENGTH", 32_768, 2_048, 2_000_000),
        context_length=_contexts(env),
        plan_model=_text(env, "QUERY_GENERATOR_MODEL"),
        reflect_model=_text(env, "REFLECTION_MODEL"),
        write_model=_text(env, "ANSWER_MODEL"),
        search_model=_text(env, "WEB_SEARCH_MODEL"),
        report_key=_key(env, "QUERY_ENGINE_API_KEY"),
        report_url=_address(env, "QUERY_ENGINE_BASE_URL"),
        report_model=_text(env, "QUERY_ENGINE_MODEL_NAME"),
        model_timeout=_number(env, "SIGHTLINE_MODEL_TIMEOUT", 60, 0.05, 900),
        model_attempts=_whole(env, "SIGHTLINE_MODEL_ATTEMPTS", 2, 1, 5),
        retry_wait=_number(env, "SIGHTLINE_RETRY_WAIT", 30, 0, 300),
        model_concurrency=_whole(env, "SIGHTLINE_MODEL_CONCURRENCY", 200, 1, 1_000),
        requests_per_minute=_whole(env, "SIGHTLINE_REQUESTS_PER_MINUTE", 0, 0, 100_000),
        gemini_thinking=_levels(env),
        gemini_pages=_switch(env, "GEMINI_URL_CONTEXT", "on"),
        deep_research=_text(env, "GEMINI_DEEP_RESEARCH") or "deep-research-preview-04-2026",
        deep_research_timeout=_number(env, "GEMINI_DEEP_RESEARCH_TIMEOUT", 1_800, 1, 7_200),
        web_search=_providers(env),
        tavily_key=_key(env, "TAVILY_API_KEY"),
        tavily_url=_address(env, "TAVILY_BASE_URL"),
        searxng_url=_address(env, "SEARXNG_URL"),
        wikipedia_url=_wikipedia(env),
        news_feeds=_feeds(env),
        outlets=_outlets(env),
        news_gdelt=_one(env, "NEWS_GDELT", ("off", "on")),
        domains=_domains(_text(env, "SIGHTLINE_DOMAINS"), "SIGHTLINE_DOMAINS"),
        desk_domains=_domains(_file(folder / DOMAINS_FILE), str(folder / DOMAINS_FILE)),
        open_sources=_one(env, "SIGHTLINE_OPEN_SOURCES", ("off", "on")),
        gdelt_url=_address(env, "GDELT_BASE_URL"),
        contact=_contact(env),
        wikidata_url=_address(env, "WIKIDATA_URL"),
        openalex_key=_key(env, "OPENALEX_API_KEY"),
        openalex_url=_address(env, "OPENALEX_URL"),
        crossref_url=_address(env, "CROSSREF_URL"),
        arxiv_url=_address(env, "ARXIV_URL"),
        pubmed_url=_address(env, "PUBMED_URL"),
        nominatim_url=_address(env, "NOMINATIM_URL"),
        overpass_url=_address(env, "OVERPASS_URL"),
        amap_key=_key(env, "AMAP_MAPS_API_KEY"),
        amap_url=_address(env, "AMAP_BASE_URL"),
        amap_mcp=_server(env),
        amap_daily=_whole(env, "AMAP_DAILY_SEARCHES", 100, 0, 10_000_000),
        amap_details=_whole(env, "AMAP_DETAIL_CALLS", 10, 0, 25),
        amap_calls=_whole(env, "AMAP_TOOL_CALLS", 8, 1, 40),
        amap_timeout=_number(env, "AMAP_TIMEOUT", 15, 0.05, 120),
        amap_cache=_number(env, "AMAP_CACHE_HOURS", 24, 0, 720),
        map_tiles=_one(env, "MAP_TILES", TILES),
        otlp_url=_address(env, "OTEL_EXPORTER_OTLP_ENDPOINT"),
        otlp_traces_url=_traces_address(env),
        traces_exporter=_traces_exporter(env),
        otel_disabled="true" if _text(env, "OTEL_SDK_DISABLED").lower() == "true" else "false",
        child_env=tuple((name, SecretStr(value)) for name, value in env.items() if _CHILD.fullmatch(name)),
        results_per_search=_whole(env, "SIGHTLINE_RESULTS_PER_SEARCH", 8, 1, 20),
        pages_per_search=_whole(env, "SIGHTLINE_PAGES_PER_SEARCH", 0, 0, 10),
        report_content=_whole(env, "SEARCH_CONTENT_MAX_LENGTH", 1_500, 0, 1_000_000),
        output_dir=_folder(env, "OUTPUT_DIR", REPORTS),
        save_states=_switch(env, "SAVE_INTERMEDIATE_STATES", "on"),
        log_level=_one(env, "LOG_LEVEL", LOG_LEVELS),
        of_sources=tuple(
            (name, SecretStr(_text(env, name) or setting.default)) for name, setting in _brought().items()
        ),
    )
