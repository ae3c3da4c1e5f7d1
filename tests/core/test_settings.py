"""Settings: where they come from, how wrong ones are refused, and that each changes something."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pprint
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from research.agent.reasoner import ReasonerInput
from research.application import Application
from research.core.errors import ServiceError
from research.core.events import UsageRecorded, ignore_event
from research.core.providers import search_services, shipped_providers
from research.core.records import Finding, Reflection, Report, Run, RunOptions, Task, Usage
from research.core.settings import DECLARED, SettingError, Settings, apply_choices, load_settings
from research.core.settings.declaration import SettingField
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.services import Services
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, resources, until
from tests.servers.gemini import FakeGemini
from tests.servers.news import FakeFeeds, FakeGDELT, FakeTavilyNews, Given, item, opml, rss, seen
from tests.servers.search import FakeSearXNG, FakeTavily, FakeWikipedia, Service
from tests.tables import each_row

Start = Callable[..., tuple[LocalRunManager, Run]]
WEB = ("web",)

NUMBERS: dict[str, tuple[str, float, str, float]] = {
    "NUMBER_OF_INITIAL_QUERIES": ("queries", 3, "7", 7),
    "MAX_RESEARCH_LOOPS": ("loops", 2, "5", 5),
    "SIGHTLINE_REPORT_SECTIONS": ("sections", 5, "3", 3),
    "MAX_REFLECTIONS": ("reflections", 2, "4", 4),
    "SIGHTLINE_MAX_SEARCHES": ("max_searches", 0, "6", 6),
    "SIGHTLINE_MAX_TOKENS": ("max_tokens", 0, "20000", 20_000),
    "SIGHTLINE_MAX_COST": ("max_cost", 0.0, "0.05", 0.05),
    "SIGHTLINE_MAX_SECONDS": ("max_seconds", 0.0, "90", 90.0),
    "SIGHTLINE_MAX_RUNS": ("max_runs", 100, "7", 7),
    "SIGHTLINE_MAX_RUNS_EACH": ("max_runs_per_owner", 20, "3", 3),
    "SIGHTLINE_STARTS_PER_MINUTE": ("starts_per_minute", 30, "5", 5),
    "SIGHTLINE_SEARCH_TIMEOUT": ("search_timeout", 60.0, "1.5", 1.5),
    "SIGHTLINE_SEARCH_DELAY": ("search_delay", 0.0, "0.25", 0.25),
    "SIGHTLINE_CACHE_HOURS": ("cache_hours", 1.0, "0.5", 0.5),
    "SIGHTLINE_PASSAGES_PER_SEARCH": ("passages_per_search", 8, "12", 12),
    "SIGHTLINE_ORIGINAL_MB": ("original_megabytes", 50, "5", 5),
    "SIGHTLINE_EXPORT_PAGES": ("export_pages", 0, "20", 20),
    "OLLAMA_CONTEXT_LENGTH": ("ollama_context", 32_768, "8192", 8_192),
    "SIGHTLINE_MODEL_TIMEOUT": ("model_timeout", 60.0, "0.5", 0.5),
    "SIGHTLINE_MODEL_ATTEMPTS": ("model_attempts", 2, "4", 4),
    "SIGHTLINE_RETRY_WAIT": ("retry_wait", 30.0, "0", 0.0),
    "SIGHTLINE_MODEL_CONCURRENCY": ("model_concurrency", 200, "3", 3),
    "SIGHTLINE_REQUESTS_PER_MINUTE": ("requests_per_minute", 0, "15", 15),
    "GEMINI_DEEP_RESEARCH_TIMEOUT": ("deep_research_timeout", 1_800.0, "600.5", 600.5),
    "SIGHTLINE_RESULTS_PER_SEARCH": ("results_per_search", 8, "20", 20),
    "AMAP_DAILY_SEARCHES": ("amap_daily_searches", 100, "5000", 5_000),
    "AMAP_DETAIL_CALLS": ("amap_detail_calls", 10, "3", 3),
    "AMAP_TOOL_CALLS": ("amap_tool_calls", 8, "12", 12),
    "DATABASE_ROWS": ("database_rows", 1000, "50", 50),
    "DATABASE_TIMEOUT": ("database_timeout", 5.0, "2.5", 2.5),
    "AMAP_TIMEOUT": ("amap_timeout", 15.0, "2.5", 2.5),
    "AMAP_CACHE_HOURS": ("amap_cache_hours", 24.0, "1.5", 1.5),
    "SIGHTLINE_PAGES_PER_SEARCH": ("pages_per_search", 0, "3", 3),
    "SEARCH_CONTENT_MAX_LENGTH": ("report_result_chars", 1_500, "0", 0),
}
MODELS = {
    "QUERY_GENERATOR_MODEL": "plan_model",
    "REFLECTION_MODEL": "reflect_model",
    "ANSWER_MODEL": "write_model",
    "WEB_SEARCH_MODEL": "search_model",
    "QUERY_ENGINE_MODEL_NAME": "report_model",
    "CHECK_MODEL": "check_model",
}
ADDRESSES = {
    "GOOGLE_GEMINI_BASE_URL": "gemini_url",
    "OPENAI_BASE_URL": "openai_url",
    "QUERY_ENGINE_BASE_URL": "report_url",
    "OLLAMA_BASE_URL": "ollama_url",
    "TAVILY_BASE_URL": "tavily_url",
    "AMAP_BASE_URL": "amap_url",
    "SEARXNG_URL": "searxng_url",
    "GDELT_BASE_URL": "gdelt_url",
    "WIKIDATA_URL": "wikidata_url",
    "OPENALEX_URL": "openalex_url",
    "CROSSREF_URL": "crossref_url",
    "ARXIV_URL": "arxiv_url",
    "PUBMED_URL": "pubmed_url",
    "NOMINATIM_URL": "nominatim_url",
    "OVERPASS_URL": "overpass_url",
    "RUNS_URL": "runs_url",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "otlp_url",
}
KEYS = {
    "GEMINI_API_KEY": "gemini_key",
    "GOOGLE_API_KEY": "gemini_key",
    "OPENAI_API_KEY": "openai_key",
    "QUERY_ENGINE_API_KEY": "report_key",
    "TAVILY_API_KEY": "tavily_key",
    "OPENALEX_API_KEY": "openalex_key",
    "AMAP_MAPS_API_KEY": "amap_key",
    "RUNS_API_KEY": "runs_key",
    "SIGHTLINE_MCP_TOKEN": "mcp_token",
}


def _another_value(setting: SettingField) -> tuple[str, object]:
    """A value that is not the default, as text and as the program has it. A setting that permits neither
    the text "x" nor a value of this kind needs a row of its own in `VALUES`."""
    if setting.low is not None and setting.high is not None:
        bound = setting.low if setting.high == setting.default else setting.high
        return f"{bound:.12g}", bound
    if setting.kind == "switch":
        return ("off", False) if setting.default else ("on", True)
    other = next((choice for choice in setting.choices if choice != setting.default), "x")
    return other, SecretStr(other) if setting.kind == "key" else other


WIKIPEDIA = "https://{language}.wikipedia.org"
VALUES: dict[str, tuple[str, object, str, object]] = {
    **NUMBERS,
    **{name: (field, "", "openai:deepseek-chat", "openai:deepseek-chat") for name, field in MODELS.items()},
    **{name: (field, "", "http://127.0.0.1:8/v1/", "http://127.0.0.1:8/v1") for name, field in ADDRESSES.items()},
    "WIKIPEDIA_URL": ("wikipedia_url", WIKIPEDIA, "http://w.test/{language}/", "http://w.test/{language}"),
    "AMAP_MCP": ("amap_mcp", "memory", " NPM", "npm"),
    "SIGHTLINE_CHECK": ("check", "rules", " Model", "model"),
    "SIGHTLINE_REPAIR": ("repair", "off", " Rewrite", "rewrite"),
    "SIGHTLINE_SOURCES": ("default_sources", "", " Web , library,web", "web,library"),
    "SIGHTLINE_REPORT_SOURCES": ("report_sources", "", "news", "news"),
    "SIGHTLINE_WORKERS": ("workers", "auto", " 3", "3"),
    "SIGHTLINE_APPROVE_PLAN": ("approve_plan", False, " On", True),
    "SIGHTLINE_CLARIFY": ("clarify", True, " Off", False),
    "NEWS_FEEDS": ("news_feeds", "", " http://f.test/a,http://f.test/b?c=1,2\n", "http://f.test/a http://f.test/b?c=1,2"),
    "SIGHTLINE_CONTEXT_LENGTH": ("context_length", "", " openai:Qwen3=9000 ,8192,", "openai:qwen3=9000, 8192"),
    "NEWS_GDELT": ("news_gdelt", False, " On", True),
    "SIGHTLINE_OPEN_SOURCES": ("open_sources", False, " On", True),
    "SIGHTLINE_OUTLETS": ("outlets", "", " BBC, un-zh bbc\n", "bbc,un-zh"),
    "SIGHTLINE_DOMAINS": ("domains", "", "prefer gov.cn; avoid x.example", "prefer gov.cn; avoid x.example"),
    "SIGHTLINE_CONTACT": ("contact", "", " me@example.org", "me@example.org"),
    "OUTPUT_DIR": ("output_dir", Path("query_engine_streamlit_reports"), " /some where/reports ", Path("/some where/reports")),
    "SAVE_INTERMEDIATE_STATES": ("save_states", True, " False", False),
    "LOG_LEVEL": ("log_level", "info", "WARNING", "warning"),
    "MAP_TILES": ("map_tiles", "osm", "Off", "off"),
    "SIGHTLINE_DATABASES": ("databases_file", "", "off", "off"),
    "SIGHTLINE_MCP_CONFIG": ("mcp_config", "", "off", "off"),
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": ("otlp_traces_url", "", "http://127.0.0.1:8/in", "http://127.0.0.1:8/in"),
    "OTEL_TRACES_EXPORTER": ("traces_exporter", "otlp", " None", "none"),
    "OTEL_SDK_DISABLED": ("otel_disabled", "false", " True", "true"),
    "GEMINI_THINKING": ("gemini_thinking", "", " plan = Low, WRITE=high,", "plan=low, write=high"),
    "GEMINI_URL_CONTEXT": ("gemini_url_context", True, " False", False),
    "GEMINI_DEEP_RESEARCH": ("deep_research", "deep-research-preview-04-2026", "deep-research-max-preview-04-2026", "deep-research-max-preview-04-2026"),
    "WEB_SEARCH": ("web_search", "auto", " Tavily , wikipedia,", "tavily,wikipedia"),
    "DATABASE_SAMPLES": ("database_samples", True, " False", False),
    "DATABASE_URL": ("database_url", SecretStr(""), "sqlite:////some where/shop.db", SecretStr("sqlite:////some where/shop.db")),
    "STORE_URL": ("store_url", SecretStr(""), "postgres://host:5/runs", SecretStr("postgresql+psycopg://host:5/runs")),
    **{name: (field, SecretStr(""), "k-0123456789abcdef", SecretStr("k-0123456789abcdef")) for name, field in KEYS.items()},
}  # fmt: skip
# Settings without a row of their own, with a value that follows from the declaration.
VALUES |= {
    name: (setting.attribute, setting.default, *_another_value(setting))
    for name, setting in DECLARED.items()
    if name not in VALUES and name != "SIGHTLINE_DATA_DIR"
}
BLANK = ("", " ", "\t\n")


# Reading


@each_row("name", VALUES)
def test_the_environment_beats_the_default_and_a_blank_value_is_unset(name: str) -> None:
    field, default, raw, value = VALUES[name]
    assert getattr(load_settings({}), field) == default
    assert getattr(load_settings({name: raw}), field) == value
    assert getattr(load_settings({name: f"  {raw} "}), field) == value
    for blank in BLANK:
        unset = None if name == "OUTPUT_DIR" else default  # of which nothing means off
        assert getattr(load_settings({name: blank}), field) == unset


def test_every_setting_is_read_from_the_environment_and_shown(tmp_path: Path) -> None:
    fields = {field for field, *_ in VALUES.values()} | {
        "data_dir",
        "child_env",
        "operator_limits",
        "providers",
        "provider_settings",
        "known_sources",
        "source_settings",
        "shared_domains",
        "servers",
        "invalid_servers",
        "configured_databases",
        "renamed",
    }
    assert fields == set(Settings.model_fields)
    shown = [name for name, _ in load_settings({}, data_dir=tmp_path).display_values()]
    tables = (*shipped_providers().values(), *search_services().values())
    servers = {name for one in tables for name in (one.key_setting, one.url_setting) if name}
    assert sorted(shown) == sorted({*VALUES, *servers, "SIGHTLINE_DATA_DIR"} - {"GOOGLE_API_KEY"})


@each_row("name", [name for name in VALUES if name not in KEYS and DECLARED[name].kind != "key"])
def test_what_is_shown_of_a_setting_is_its_value(name: str) -> None:
    _, _, raw, value = VALUES[name]
    shown = dict(load_settings({name: raw}).display_values())[name]
    value = value.get_secret_value() if isinstance(value, SecretStr) else value
    value = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
    assert shown.removesuffix(" s") == (f"{value:g}" if isinstance(value, float) else str(value))


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ("", "DATA/runs.db"),
        ("sqlite:////folder/some runs.db", "/folder/some runs.db"),
        ("SQLite:///here.db", "HERE/here.db"),
        ("sqlite:///~/runs.db", "HOME/runs.db"),
        ("postgres://ann:p%40ss@host/runs", "postgresql+psycopg://ann:p%40ss@host/runs"),
        ("postgresql:///runs?host=/run/postgresql", "postgresql+psycopg:///runs?host=/run/postgresql"),
        ("postgresql+psycopg://[::1]:5433/runs", "postgresql+psycopg://[::1]:5433/runs"),
    ],
)  # fmt: skip
def test_runs_are_kept_in_a_file_or_where_an_address_says(raw: str, place: str, tmp_path: Path) -> None:
    found = load_settings({"STORE_URL": raw}, data_dir=tmp_path).store
    assert isinstance(found, str) == ("+psycopg" in place)
    folders = {"DATA": tmp_path, "HERE": Path.cwd(), "HOME": Path.home()}
    for name, folder in folders.items():
        place = place.replace(name, str(folder))
    assert str(found) == place


@each_row(
    "raw",
    [
        "mysql://ann:sentinel@host/runs",
        "postgresql+psycopg2://ann:sentinel@host/runs",
        "postgresql+asyncpg://ann:sentinel@host/runs",
        "postgresql://ann:sentinel@host",
        "postgresql://ann:sentinel@host/",
        "postgresql://ann:sentinel@host:x/runs",
        "postgresql://ann:sen/sentinel@host/runs",
        "postgresql://ann:1/sentinel@host/runs",
        "postgresql://ann:1?sentinel@host/runs",
        "postgresql://ann:1#sentinel@host/runs",
        "postgresql://ann:[sentinel@host/runs",
        "postgresql://ann:sen@sentinel@host/runs",
        "postgresql://ann:sen:sentinel@host/runs",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://folder/sentinel.db",
        "/folder/sentinel.db",
        "host=host password=sentinel",
    ],
)
def test_what_is_no_address_of_a_database_is_refused_and_not_repeated(raw: str) -> None:
    """It may be a password with a character that takes the address apart."""
    for name, instead in (
        ("STORE_URL", "a file in SIGHTLINE_DATA_DIR"),
        ("DATABASE_URL", "the scenic areas that ship with Sightline"),
    ):
        with pytest.raises(SettingError) as caught:
            load_settings({name: raw})
        message = str(caught.value)
        assert message.startswith(f"{name} must be an address such as postgresql://")
        assert message.endswith(f"Correct it or remove it to use {instead}.")
        assert "sentinel" not in message + repr(caught.value.__dict__)


def test_a_duckdb_file_may_be_queried_and_keeps_no_runs() -> None:
    kept = load_settings({"DATABASE_URL": "duckdb:////folder/file.duckdb"}).database_url
    assert kept.get_secret_value() == "duckdb:////folder/file.duckdb"
    with pytest.raises(SettingError, match="STORE_URL must be an address"):
        load_settings({"STORE_URL": "duckdb:////folder/file.duckdb"})


@pytest.mark.parametrize("setting", ["STORE_URL", "DATABASE_URL"])
def test_the_passwords_of_a_database_are_kept_secret(tmp_path: Path, setting: str) -> None:
    url = "postgresql://ann:first%20sentinel@host:5/runs?sslpassword=second%2Fsentinel&sslmode=require"
    settings = load_settings({setting: url}, data_dir=tmp_path)
    assert dict(settings.display_values())[setting] == "postgresql+psycopg://host:5/runs"
    told = f"{settings!r} {settings} {settings.display_values()} {settings.model_dump()} {settings.model_dump_json()}"
    assert "sentinel" not in told
    assert set(settings.secrets) == {
        "first%20sentinel", "first sentinel", "second%2Fsentinel", "second/sentinel",
    }  # fmt: skip


def test_a_gemini_key_of_its_own_beats_the_one_of_google() -> None:
    both = {"GEMINI_API_KEY": "gemini", "GOOGLE_API_KEY": "google"}
    assert load_settings(both).gemini_key.get_secret_value() == "gemini"
    for blank in BLANK:
        assert load_settings({**both, "GEMINI_API_KEY": blank}).gemini_key.get_secret_value() == "google"


AUTO = ("gemini", "tavily", *search_services(), "searxng")


@each_row(
    ("raw", "providers"),
    [
        ("", AUTO),
        ("auto", AUTO),
        ("AUTO", AUTO),
        ("bocha,brave", ("bocha", "brave")),
        ("off", ()),
        ("wikipedia", ("wikipedia",)),
        ("Deep-Research, gemini", ("deep-research", "gemini")),
        ("searxng, gemini", ("searxng", "gemini")),
        ("tavily,TAVILY,wikipedia", ("tavily", "wikipedia")),
    ],
)
def test_who_searches_the_web_is_named_in_the_order_of_choice(raw: str, providers: tuple[str, ...]) -> None:
    assert load_settings({"WEB_SEARCH": raw}).web_providers == providers


@each_row(
    ("raw", "levels"),
    [
        ("", ("", "", "", "")),
        ("medium", ("medium", "medium", "medium", "medium")),
        ("plan=low,write=high", ("low", "", "high", "")),
        ("low, search=high, low", ("low", "low", "low", "high")),
    ],
)
def test_a_level_of_thinking_is_for_all_roles_or_for_one(raw: str, levels: tuple[str, ...]) -> None:
    settings = load_settings({"GEMINI_THINKING": raw})
    assert (
        settings.thinking_level("plan"), settings.thinking_level("reflect"), settings.thinking_level("write"),
        settings.thinking_level("search"),
    ) == levels  # fmt: skip


@each_row("raw", ["minimal", "none", "plan=minimal", "plan=", "=low", "planner=low", "0", "low high"])
def test_a_level_that_not_every_model_takes_is_refused(raw: str) -> None:
    with pytest.raises(SettingError) as caught:
        load_settings({"GEMINI_THINKING": raw})
    message = str(caught.value)
    assert message.startswith(f"GEMINI_THINKING is {raw!r}; it must be low, medium, high, or levels")


def test_an_explicit_data_folder_beats_the_environment_which_beats_the_default(
    tmp_path: Path,
) -> None:
    env = {"SIGHTLINE_DATA_DIR": str(tmp_path / "from the environment")}
    assert load_settings(env, data_dir=tmp_path / "explicit").data_dir == tmp_path / "explicit"
    assert load_settings(env).data_dir == tmp_path / "from the environment"
    default = load_settings({}).data_dir
    assert default.name == "sightline"
    assert load_settings({"SIGHTLINE_DATA_DIR": "  "}).data_dir == default


def test_the_data_folder_is_absolute_and_the_home_sign_is_understood() -> None:
    assert load_settings({"SIGHTLINE_DATA_DIR": "~/research"}).data_dir == Path.home() / "research"
    assert load_settings({"SIGHTLINE_DATA_DIR": "here"}).data_dir == Path.cwd() / "here"


def test_the_process_environment_is_read_unless_another_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "NUMBER_OF_INITIAL_QUERIES", "9")
    assert load_settings().queries == 9
    assert load_settings({}).queries == 3


@each_row(
    ("name", "raw", "expected"),
    [
        ("NUMBER_OF_INITIAL_QUERIES", "ten", "a number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "0", "a number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "11", "a number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "2.5", "a whole number from 1 to 10"),
        ("NUMBER_OF_INITIAL_QUERIES", "nan", "a number from 1 to 10"),
        ("MAX_RESEARCH_LOOPS", "-1", "a number from 0 to 10"),
        ("MAX_RESEARCH_LOOPS", "inf", "a number from 0 to 10"),
        ("MAX_RESEARCH_LOOPS", "1e9", "a number from 0 to 10"),
        ("MAX_RESEARCH_LOOPS", "二", "a number from 0 to 10"),
        ("MAX_RESEARCH_LOOPS", "1.5", "a whole number from 0 to 10"),
        ("SIGHTLINE_MAX_SEARCHES", "-1", "a number from 0 to 10000"),
        ("SIGHTLINE_MAX_SEARCHES", "1.5", "a whole number from 0 to 10000"),
        ("SIGHTLINE_MAX_TOKENS", "many", "a number from 0 to 1000000000"),
        ("SIGHTLINE_MAX_COST", "$1", "a number from 0 to 10000"),
        ("SIGHTLINE_MAX_SECONDS", "-5", "a number from 0 to 86400"),
        ("SIGHTLINE_SEARCH_TIMEOUT", "0", "a number from 0.05 to 600"),
        ("SIGHTLINE_SEARCH_TIMEOUT", "5 s", "a number from 0.05 to 600"),
        ("SIGHTLINE_SEARCH_DELAY", "-0.1", "a number from 0 to 60"),
        ("SIGHTLINE_PASSAGES_PER_SEARCH", "1.5", "a whole number from 1 to 50"),
        ("SIGHTLINE_PASSAGES_PER_SEARCH", "51", "a number from 1 to 50"),
        ("OLLAMA_CONTEXT_LENGTH", "4096.5", "a whole number from 2048 to 2000000"),
        ("SIGHTLINE_MODEL_TIMEOUT", "0", "a number from 0.05 to 900"),
        ("SIGHTLINE_MODEL_TIMEOUT", "a minute", "a number from 0.05 to 900"),
        ("SIGHTLINE_MODEL_ATTEMPTS", "0", "a number from 1 to 5"),
        ("SIGHTLINE_MODEL_ATTEMPTS", "6", "a number from 1 to 5"),
        ("SIGHTLINE_RETRY_WAIT", "301", "a number from 0 to 300"),
        ("SIGHTLINE_MODEL_CONCURRENCY", "0", "a number from 1 to 1000"),
        ("SIGHTLINE_MODEL_CONCURRENCY", "none", "a number from 1 to 1000"),
        ("SIGHTLINE_REQUESTS_PER_MINUTE", "-1", "a number from 0 to 100000"),
        ("SIGHTLINE_REQUESTS_PER_MINUTE", "0.5", "a whole number from 0 to 100000"),
        ("SIGHTLINE_RESULTS_PER_SEARCH", "21", "a number from 1 to 20"),
        ("SIGHTLINE_PAGES_PER_SEARCH", "all", "a number from 0 to 10"),
        ("SIGHTLINE_PAGES_PER_SEARCH", "11", "a number from 0 to 10"),
        ("SEARCH_CONTENT_MAX_LENGTH", "-1", "a number from 0 to 1000000"),
        ("SEARCH_CONTENT_MAX_LENGTH", "1.5", "a whole number from 0 to 1000000"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_itself_and_what_was_expected(name: str, raw: str, expected: str) -> None:
    with pytest.raises(SettingError) as caught:
        load_settings({name: raw})
    message = str(caught.value)
    assert message.startswith(f"{name} is {raw!r}; it must be {expected}. ")
    assert f"the default, {NUMBERS[name][1]:g}." in message


@each_row("name", [*ADDRESSES, "WIKIPEDIA_URL"])
@each_row(
    "raw",
    ["localhost:8000", "127.0.0.1:8000/v1", "example.org", "ftp://example.org", "http://", "x"],
)
def test_an_address_that_is_none_is_refused_with_its_name_itself_and_an_example(name: str, raw: str) -> None:
    with pytest.raises(SettingError) as caught:
        load_settings({name: f" {raw} "})
    assert str(caught.value) == (
        f"{name} is {raw!r}; it must be an address such as https://example.org. Correct it or remove it."
    )


def test_an_address_of_wikipedia_without_a_place_for_the_language_is_refused() -> None:
    with pytest.raises(SettingError) as caught:
        load_settings({"WIKIPEDIA_URL": "https://en.wikipedia.org"})
    message = str(caught.value)
    assert message.startswith("WIKIPEDIA_URL is 'https://en.wikipedia.org'; it must have {language}")
    assert message.endswith(f"as in {WIKIPEDIA}. Correct it or remove it.")


@each_row(
    ("raw", "wrong"),
    [("google", "google"), ("tavily;searxng", "tavily;searxng"), ("tavily, bing", "bing"),
     ("auto,tavily", "auto"), ("off,gemini", "off")],
)  # fmt: skip
def test_a_search_service_that_there_is_not_is_refused_with_those_that_there_are(raw: str, wrong: str) -> None:
    with pytest.raises(SettingError) as caught:
        load_settings({"WEB_SEARCH": raw})
    message = str(caught.value)
    assert message.startswith(f"WEB_SEARCH is {raw!r}: there is no {wrong!r}. Name one or several")
    for name in ("gemini", "tavily", "searxng", "wikipedia", "auto", "off"):
        assert name in message.partition("Name ")[2]


@each_row(
    ("raw", "feeds"),
    [
        ("https://a.test/rss", ("https://a.test/rss",)),
        ("https://a.test/rss, https://b.test/x?y=1,2", ("https://a.test/rss", "https://b.test/x?y=1,2")),
        ("https://a.test/1,http://b.test:8/2,", ("https://a.test/1", "http://b.test:8/2")),
        ("https://a.test/1 https://a.test/1", ("https://a.test/1",)),
        ("~/my feeds, all.opml", ("~/my feeds, all.opml",)),
        ("feeds.opml https://a.test/1", ("feeds.opml", "https://a.test/1")),
    ],
)  # fmt: skip
def test_feeds_are_named_by_addresses_or_by_the_path_of_a_list(raw: str, feeds: tuple[str, ...]) -> None:
    assert load_settings({"NEWS_FEEDS": raw}).feed_addresses == feeds


@each_row("raw", ["ftp://a.test/x", "file:///etc/passwd", "http://", "http://a:x/", "http://[::1/", "https://a.test/ http://a.test:99999/"])  # fmt: skip
def test_a_feed_whose_address_is_none_is_refused_by_name(raw: str) -> None:
    with pytest.raises(SettingError, match=r"NEWS_FEEDS has '.*'; it must be addresses such as"):
        load_settings({"NEWS_FEEDS": raw})


def test_the_password_of_a_feed_is_shown_nowhere() -> None:
    settings = load_settings({"NEWS_FEEDS": "https://ann:sentinel@a.test/rss https://b.test/rss"})
    assert settings.secrets == ("sentinel",)
    assert dict(settings.display_values())["NEWS_FEEDS"] == "https://a.test/rss https://b.test/rss"
    assert "sentinel" not in f"{settings!r} {settings} {settings.display_values()}"
    with pytest.raises(SettingError) as caught:
        load_settings({"NEWS_FEEDS": "ftp://ann:sentinel@a.test/rss"})
    assert "sentinel" not in str(caught.value)


@each_row("name", KEYS)
@each_row("raw", ["sentinel key", "“sentinel”", "sentinel\x00", "sentinel\r\nX-Y: z"])
def test_what_cannot_be_a_key_is_refused_by_name_and_is_not_repeated(name: str, raw: str) -> None:
    with pytest.raises(SettingError) as caught:
        load_settings({name: raw})
    message = str(caught.value)
    assert message.startswith(f"{name} has characters that no key has. Copy the key again")
    assert "sentinel" not in message + repr(caught.value)


def test_a_key_is_nowhere_in_what_is_printed_logged_or_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sentinels = {name: f"sentinel-{name}" for name in KEYS}
    for missing in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        env = {name: key for name, key in sentinels.items() if name != missing}
        settings = load_settings(env, data_dir=tmp_path)
        logging.getLogger("sightline").warning("%s %r %s", settings, settings, settings.gemini_key)
        told = [
            repr(settings), str(settings), f"{settings}", f"{settings.gemini_key}",
            settings.model_dump_json(), json.dumps(settings.model_dump(mode="json")),
            str(settings.model_dump()), str(settings.display_values()), pprint.pformat(settings),
            caplog.text,
        ]  # fmt: skip
        assert [text for text in told if "sentinel" in text] == []
        shown = dict(settings.display_values())
        assert [shown[name] for name in KEYS if name in shown] == ["set"] * 8
        assert set(settings.secrets) == set(env.values())


def test_of_a_key_that_is_not_set_nothing_is_shown() -> None:
    shown = dict(load_settings(dict.fromkeys(KEYS, " ")).display_values())
    assert [shown[name] for name in KEYS if name in shown] == [""] * 8
    assert load_settings({}).secrets == ()


@each_row(
    ("raw", "state"),
    [("True", "on"), ("1", "on"), ("YES", "on"), ("on", "on"), ("", "on"),
     ("false", "off"), ("0", "off"), ("No", "off"), (" OFF ", "off")],
)  # fmt: skip
def test_states_are_switched_in_the_words_of_other_programs_too(raw: str, state: str) -> None:
    assert load_settings({"SAVE_INTERMEDIATE_STATES": raw}).save_states == (state == "on")


def test_a_switch_that_is_neither_is_refused() -> None:
    with pytest.raises(SettingError, match=r"SAVE_INTERMEDIATE_STATES is 'maybe'; .* on or off"):
        load_settings({"SAVE_INTERMEDIATE_STATES": "maybe"})


def test_reports_are_saved_in_the_data_folder_or_where_a_path_says(tmp_path: Path) -> None:
    def folder(**env: str) -> Path | None:
        return load_settings(env, data_dir=tmp_path).reports_folder

    assert folder() == tmp_path / "query_engine_streamlit_reports"
    assert folder(OUTPUT_DIR="reports") == tmp_path / "reports"
    assert folder(OUTPUT_DIR="~/reports") == Path.home() / "reports"
    assert folder(OUTPUT_DIR=" ") is None
    assert Settings(data_dir=tmp_path).reports_folder == folder()
    with pytest.raises(SettingError, match="OUTPUT_DIR is '~nobody-of-that-name/x'"):
        load_settings({"OUTPUT_DIR": "~nobody-of-that-name/x"})


def test_settings_cannot_be_changed_nor_misspelled(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with pytest.raises(ValueError, match="frozen"):
        settings.queries = 4  # type: ignore[misc]
    with pytest.raises(ValueError, match="loop_limit"):
        Settings(data_dir=tmp_path, loop_limit=3)  # type: ignore[call-arg]


# Each setting changes what it should


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a run with given helpers and settings."""
    opened: list[LocalRunManager] = []

    def start_(reasoner: ScriptedReasoner, source: ScriptedSource, **values: object) -> tuple[LocalRunManager, Run]:
        settings = Settings.model_validate({"data_dir": tmp_path / str(len(opened)), **values})
        runs = LocalRunManager(resources(settings, reasoner, {source.name: source}))
        opened.append(runs)
        options = settings.options.model_copy(update={"sources": WEB})
        return runs, runs.start("What is known of the tower?", options=options)

    yield start_
    for runs in opened:
        runs.close()


def over(runs: LocalRunManager, run: Run) -> Run:
    def ended() -> bool:
        now = runs.get_run(run.id)
        return now is not None and not now.is_active

    until(ended)
    found = runs.get_run(run.id)
    assert found is not None
    return found


@pytest.mark.parametrize("queries", [1, 2, 5])
def test_the_number_of_queries_caps_the_searches_of_a_round(queries: int, start: Start) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner([f"query {n}" for n in range(40)])
    runs, run = start(reasoner, source, queries=queries, loops=1)
    assert over(runs, run).status == "done"
    assert source.queries == [f"query {n}" for n in range(queries)]


@pytest.mark.parametrize("loops", [0, 1, 2, 3, 5, 10])
def test_the_number_of_loops_is_the_number_of_rounds(loops: int, start: Start) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["first"], lambda round_: [f"after {round_}"])
    runs, run = start(reasoner, source, loops=loops)
    assert over(runs, run).status == "done"
    assert source.queries == ["first", *(f"after {n}" for n in range(1, loops))][:loops]
    assert [round_ for round_, _ in reasoner.reflected] == list(range(1, loops))


@pytest.mark.parametrize(("approve", "status"), [("off", "done"), ("on", "waiting")])
def test_a_run_waits_for_approval_of_its_plan_if_that_is_set(approve: str, status: str, start: Start) -> None:
    source = ScriptedSource()
    runs, run = start(ScriptedReasoner(["a"]), source, approve_plan=approve, loops=1)
    assert over(runs, run).status == status
    assert len(source.calls) == (status == "done")


@pytest.mark.parametrize("searches", [0, 1, 4])
def test_the_searches_of_a_run_are_no_more_than_is_set(searches: int, start: Start) -> None:
    source = ScriptedSource()
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: [f"{round_}-{n}" for n in range(3)])
    runs, run = start(reasoner, source, max_searches=searches, loops=3)
    assert over(runs, run).status == "done"
    assert len(source.calls) == (searches or 8)


@pytest.mark.parametrize(("limit", "reflected"), [({}, 2), ({"max_tokens": 2_500}, 1), ({"max_cost": 0.0007}, 1)])
def test_the_tokens_and_the_money_of_a_run_end_its_searching(
    limit: dict[str, float], reflected: int, start: Start
) -> None:
    class Paid(ScriptedReasoner):
        async def reflect(self, inputs: ReasonerInput, round_: int) -> Reflection:
            usage = Usage(stage="reflect", model="gemini:gemini-3.5-flash-lite", input=2_000)
            inputs.emit(UsageRecorded(**usage.model_dump()))
            return await super().reflect(inputs, round_)

    source, reasoner = ScriptedSource(), Paid(["a"], lambda round_: [f"after {round_}"])
    runs, run = start(reasoner, source, loops=3, **limit)
    assert over(runs, run).status == "done"
    assert len(reasoner.reflected) == reflected
    assert len(source.calls) == (1 if limit else 3)
    assert len(reasoner.written) == 1


def test_the_seconds_of_a_run_end_a_search_that_hangs(start: Start) -> None:
    source = ScriptedSource(outcomes={"stuck": HANGS})
    runs, run = start(ScriptedReasoner(["stuck", "quick"]), source, max_seconds=0.5, loops=1)
    assert over(runs, run).status == "done"
    report = runs.report(run.id)
    assert report is not None
    assert {f.task.query: f.reason for f in report.findings} == {"stuck": "left out", "quick": None}


def test_the_search_timeout_ends_a_search_that_hangs(start: Start) -> None:
    source = ScriptedSource(outcomes={"stuck": HANGS})
    runs, run = start(ScriptedReasoner(["stuck", "quick"]), source, search_timeout=0.6, loops=1)
    assert over(runs, run).status == "done"
    report = runs.report(run.id)
    assert report is not None
    assert {f.task.query: f.reason for f in report.findings} == {"stuck": "timeout", "quick": None}
    stuck = next(f for f in report.findings if f.reason)
    assert stuck.message == "no answer within 0.6 s"


def test_the_search_delay_lies_between_announcing_a_search_and_doing_it(start: Start) -> None:
    source = ScriptedSource(usual=HANGS)
    runs, run = start(ScriptedReasoner(["a"]), source, search_delay=60)
    until(lambda: "task_started" in [event.kind for event in runs.events(run.id)])
    assert source.calls == []
    assert runs.store.searches(run.id) == []
    runs.stop(run.id)
    assert over(runs, run).status == "stopped"
    assert source.calls == []


def test_without_a_search_delay_a_search_begins_at_once(start: Start) -> None:
    source = ScriptedSource(usual=HANGS)
    runs, run = start(ScriptedReasoner(["a"]), source)
    until(lambda: source.calls)
    assert len(runs.store.searches(run.id)) == 1


def test_a_search_is_done_when_its_delay_is_over(start: Start) -> None:
    source = ScriptedSource()
    runs, run = start(ScriptedReasoner(["a", "b"]), source, search_delay=0.05, loops=1)
    assert over(runs, run).status == "done"
    assert sorted(source.queries) == ["a", "b"]


@pytest.mark.parametrize("passages", [1, 3])
def test_the_passages_per_search_limit_what_one_search_brings(passages: int, tmp_path: Path) -> None:
    desk = Application(Settings(data_dir=tmp_path, passages_per_search=passages, loops=1))
    try:
        run = desk.runs.start("Travelling with children", options=RunOptions(queries=1, loops=1))
        assert over(desk.runs, run).status == "done"
        report = desk.runs.report(run.id)
        assert report is not None
        assert [finding.passage_count for finding in report.findings] == [passages]
    finally:
        desk.close()


def test_everything_lies_in_the_data_folder(tmp_path: Path) -> None:
    desk = Application(Settings(data_dir=tmp_path / "data"))
    desk.close()
    assert {"library.db", "runs.db", "checkpoints.db"} <= {p.name for p in (tmp_path / "data").iterdir()}


def test_a_file_for_the_runs_has_their_checkpoints_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "mine.db"
    desk = Application(load_settings({"STORE_URL": f"sqlite:///{file}"}, data_dir=tmp_path / "data"))
    desk.close()
    assert {p.name for p in file.parent.iterdir()} >= {"mine.db", "checkpoints.db", "engines"}
    assert "library.db" in {p.name for p in (tmp_path / "data").iterdir()}
    assert not (tmp_path / "data" / "runs.db").exists()


def test_the_settings_are_the_limits_of_a_run_that_names_none(tmp_path: Path) -> None:
    env = {"NUMBER_OF_INITIAL_QUERIES": "4", "MAX_RESEARCH_LOOPS": "3"}
    settings = load_settings(env, data_dir=tmp_path)
    source = ScriptedSource("library")
    runs = LocalRunManager(resources(settings, ScriptedReasoner(), {"library": source}))
    try:
        run = runs.start("What is known of the tower?")
        assert (run.options.queries, run.options.loops) == (4, 3)
        explicit = runs.start("And of the lake?", options=RunOptions(queries=1, loops=1))
        assert (explicit.options.queries, explicit.options.loops) == (1, 1)
        over(runs, run)
        over(runs, explicit)
    finally:
        runs.close()


# Searching the web

TAVILY_KEY = "tvly-sentinel-0123456789"
QUESTION = "When was West Lake put on the World Heritage list?"
LAKE = {"title": "West Lake", "extract": "West Lake was put on the World Heritage list in 2011."}
ROWS = [
    {
        "title": f"West Lake {n}",
        "url": f"http://127.0.0.1:9/{n}",
        "content": f"West Lake was put on the World Heritage list in 2011, as source {n} says.",
    }
    for n in range(30)
]


@pytest.fixture
def services() -> Iterator[dict[str, Service]]:
    """Every service that needs no model to search with."""
    with (
        FakeTavily(results=ROWS) as tavily,
        FakeSearXNG(results=ROWS) as searxng,
        FakeWikipedia(results={"en": [LAKE], "zh": []}) as wikipedia,
    ):
        yield {"tavily": tavily, "searxng": searxng, "wikipedia": wikipedia}


@pytest.fixture
def research(tmp_path: Path, services: dict[str, Service]) -> Iterator[Callable[..., tuple[Application, Report]]]:
    """A run on a desk at which every service is configured, with some settings."""
    desks: list[Application] = []

    def research_(options: RunOptions | None = None, **env: str) -> tuple[Application, Report]:
        addresses = {
            "TAVILY_API_KEY": TAVILY_KEY,
            "TAVILY_BASE_URL": services["tavily"].base_url,
            "SEARXNG_URL": services["searxng"].base_url,
            "WIKIPEDIA_URL": services["wikipedia"].base_url,
            "NUMBER_OF_INITIAL_QUERIES": "1",
            "MAX_RESEARCH_LOOPS": "1",
        }
        desks.append(desk := Application(load_settings({**addresses, **env}, data_dir=tmp_path / "data")))
        run = desk.runs.start(QUESTION, options=options)
        assert over(desk.runs, run).status == "done"
        report = desk.runs.report(run.id)
        assert report is not None
        return desk, report

    yield research_
    for desk in desks:
        desk.close()


def one(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


def asked(services: dict[str, Service]) -> set[str]:
    return {name for name, service in services.items() if service.log}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("web_search", "provider"),
    [("", "tavily"), ("auto", "tavily"), ("searxng", "searxng"), ("wikipedia", "wikipedia"),
     ("searxng,tavily", "searxng"), ("gemini,wikipedia", "wikipedia")],
)  # fmt: skip
def test_who_is_set_to_search_the_web_is_asked_and_nobody_else(
    web_search: str,
    provider: str,
    services: dict[str, Service],
    research: Callable[..., tuple[Application, Report]],
) -> None:
    desk, report = research(WEB_SEARCH=web_search)
    assert desk.default_options().sources == ("web", "places", "database")
    finding = one(report)
    assert (finding.provider, finding.reason, finding.failures) == (provider, None, ())
    assert asked(services) == {provider}
    assert report.answer is not None
    assert any("2011" in span.text for span in report.answer.spans if span.kind == "quote")


def test_the_next_service_takes_over_from_one_that_fails(
    services: dict[str, Service], research: Callable[..., tuple[Application, Report]]
) -> None:
    services["searxng"].status = 500
    _, report = research(WEB_SEARCH="searxng,wikipedia")
    finding = one(report)
    assert (finding.provider, finding.reason) == ("wikipedia", None)
    assert [(f.source, f.reason) for f in finding.failures] == [("searxng", "unavailable")]
    assert asked(services) == {"searxng", "wikipedia"}
    assert report.answer is not None
    assert report.answer.failures == finding.failures


def test_with_the_search_of_the_web_off_nobody_is_asked_and_the_library_is_usual(
    services: dict[str, Service], research: Callable[..., tuple[Application, Report]]
) -> None:
    desk, report = research(WEB_SEARCH="off")
    assert desk.default_options().sources == ("places", "database", "library")
    assert one(report).task.source == "library"
    explicit = RunOptions(queries=1, loops=1, sources=("web",))
    _, report = research(explicit, WEB_SEARCH="off")
    assert (one(report).reason, one(report).hint) == ("no key", "")
    assert "turned off (WEB_SEARCH)" in one(report).message
    assert asked(services) == set()


@pytest.mark.slow
@pytest.mark.parametrize("results", [1, 5, 20])
@pytest.mark.parametrize("name", ["tavily", "searxng"])
def test_the_results_per_search_limit_what_a_search_of_the_web_brings(
    name: str,
    results: int,
    services: dict[str, Service],
    research: Callable[..., tuple[Application, Report]],
) -> None:
    _, report = research(WEB_SEARCH=name, SIGHTLINE_RESULTS_PER_SEARCH=str(results))
    assert len(one(report).evidence) == results
    if name == "tavily":
        assert services["tavily"].last.body["max_results"] == results


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0, 1, 3])
def test_the_pages_per_search_are_how_many_results_are_read_as_pages(
    pages: int, research: Callable[..., tuple[Application, Report]]
) -> None:
    """The results lie on this machine, which no page may be read from: each attempt is listed."""
    _, report = research(WEB_SEARCH="tavily", SIGHTLINE_PAGES_PER_SEARCH=str(pages))
    finding = one(report)
    assert (finding.reason, len(finding.evidence)) == (None, 8)
    assert [(f.source, f.query, f.reason) for f in finding.failures] == [
        ("page", ROWS[n]["url"], "refused") for n in range(pages)
    ]


def test_the_key_of_a_search_is_not_in_any_file_of_the_data_folder(
    tmp_path: Path,
    services: dict[str, Service],
    research: Callable[..., tuple[Application, Report]],
) -> None:
    services["tavily"].status = 401
    services["tavily"].error = {"detail": {"error": f"the key {TAVILY_KEY} is wrong"}}
    desk, report = research(WEB_SEARCH="tavily")
    assert (one(report).reason, one(report).hint) == ("refused", "key")
    assert services["tavily"].last.headers["authorization"] == f"Bearer {TAVILY_KEY}"
    desk.close()
    files = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
    assert files
    assert [file.name for file in files if TAVILY_KEY.encode() in file.read_bytes()] == []


# Looking for news

ABOUT_THE_LAKE = rss(item("West Lake on the list", "https://paper.example/lake"))


def looked_up(tmp_path: Path, **env: str) -> Finding:
    """What a desk with some settings finds for a query for news."""

    async def look() -> Finding:
        services = Services(load_settings(env, data_dir=tmp_path / "data"))
        try:
            return await services.sources["news"].search(Task(id="1", source="news", query="West Lake"), ignore_event)
        finally:
            await services.close()

    return asyncio.run(look())


def test_without_a_setting_for_news_nobody_is_asked_for_it(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="TAVILY_API_KEY, NEWS_FEEDS, NEWS_GDELT"):
        looked_up(tmp_path)


def test_tavily_is_asked_for_news_where_its_key_is_set(tmp_path: Path) -> None:
    with FakeTavilyNews(results=ROWS) as tavily:
        env = {"TAVILY_API_KEY": TAVILY_KEY, "TAVILY_BASE_URL": tavily.base_url}
        finding = looked_up(tmp_path, **env, NEWS_GDELT="on", GDELT_BASE_URL="http://127.0.0.1:9")
        assert (finding.provider, len(finding.evidence)) == ("tavily", 7)
        assert tavily.last.headers["authorization"] == f"Bearer {TAVILY_KEY}"


@pytest.mark.parametrize("as_list", [False, True])
def test_the_feeds_that_are_set_are_read_for_news(tmp_path: Path, as_list: bool) -> None:
    with FakeFeeds(feeds={"/rss": Given(ABOUT_THE_LAKE)}) as site:
        file = tmp_path / "feeds.opml"
        file.write_bytes(opml(f"{site.base_url}/rss"))
        finding = looked_up(tmp_path, NEWS_FEEDS=str(file) if as_list else f"{site.base_url}/rss")
        assert finding.provider == "feeds"
        assert [item.url for item in finding.evidence] == ["https://paper.example/lake"]


@pytest.mark.parametrize("switch", ["off", "on"])
def test_gdelt_is_asked_for_news_only_if_it_is_turned_on(tmp_path: Path, switch: str) -> None:
    with FakeGDELT(results=[seen(1)]) as gdelt, FakeFeeds() as empty:
        env = {"NEWS_FEEDS": f"{empty.base_url}/gone", "GDELT_BASE_URL": gdelt.base_url}
        finding = looked_up(tmp_path, **env, NEWS_GDELT=switch)
        assert len(gdelt.log) == (switch == "on")
        assert (finding.provider, finding.reason) == (("gdelt", None) if switch == "on" else ("feeds", "not found"))


def test_the_time_for_a_search_is_that_of_a_search_for_news(tmp_path: Path) -> None:
    with FakeFeeds(feeds={"/rss": Given(ABOUT_THE_LAKE, waits=30)}) as site:
        finding = looked_up(tmp_path, NEWS_FEEDS=f"{site.base_url}/rss", SIGHTLINE_SEARCH_TIMEOUT="0.8")
        assert (finding.reason, finding.seconds < 5) == ("timeout", True)


def test_news_is_none_of_the_usual_sources(tmp_path: Path) -> None:
    desk = Application(load_settings({"NEWS_FEEDS": "http://127.0.0.1:9/rss"}, data_dir=tmp_path))
    try:
        assert "news" not in desk.default_options().sources
    finally:
        desk.close()


# Checking the answer


@pytest.mark.parametrize(
    ("env", "stays", "asks"),
    [
        ({}, True, False),
        ({"SIGHTLINE_REPAIR": "drop"}, False, False),
        ({"SIGHTLINE_CHECK": "model"}, True, True),
        ({"SIGHTLINE_CHECK": "model", "SIGHTLINE_REPAIR": "drop"}, False, True),
    ],
)
def test_who_checks_an_answer_and_what_becomes_of_it(
    research: Callable[..., tuple[Application, Report]], env: dict[str, str], stays: bool, asks: bool
) -> None:
    doubt = "Bankers in Lisbon financed the marble staircase of the lighthouse"

    def written(prompt: str) -> str:
        handle = re.findall(r"@[0-9a-f]{4}\b", prompt)[-1]
        return f"{doubt} [{handle}]. Nobody cites that it was painted in 1999."

    with FakeGemini() as gemini:
        gemini.brain.answer = written
        gemini.brain.judge = lambda sentence, passages: {"verdict": "partly"}
        keys = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        _, report = research(**keys, WEB_SEARCH="gemini", **env)
    answer = report.answer
    assert answer is not None
    text = "".join(span.text for span in answer.spans if span.kind == "text")
    assert doubt in text
    assert ("painted in 1999" in text) is stays
    assert any(usage.stage == "check" for usage in report.usage) is asks


def test_open_sources_are_asked_only_where_that_is_turned_on(tmp_path: Path) -> None:
    assert "wikipedia" not in load_settings({}, data_dir=tmp_path).web_providers
    opened = load_settings({"SIGHTLINE_OPEN_SOURCES": "on"}, data_dir=tmp_path)
    assert opened.web_providers[-1] == "wikipedia"
    assert load_settings({"SIGHTLINE_OPEN_SOURCES": "on", "WEB_SEARCH": "off"}, data_dir=tmp_path).web_providers == ()
    mine = apply_choices(load_settings({}, data_dir=tmp_path), {"SIGHTLINE_OPEN_SOURCES": "on"})
    assert mine.open_sources


def test_outlets_that_are_picked_are_feeds_beside_ones_own() -> None:
    known = load_settings({}).known_outlets
    assert load_settings({}).feed_addresses == ()
    assert load_settings({"SIGHTLINE_OUTLETS": "un-zh"}).feed_addresses == (known["un-zh"].url,)
    both = load_settings({"SIGHTLINE_OUTLETS": "bbc", "NEWS_FEEDS": f"{known['bbc'].url} http://f.test/a"})
    assert both.feed_addresses == (known["bbc"].url, "http://f.test/a")
    with pytest.raises(SettingError, match="SIGHTLINE_OUTLETS has 'gazette'; there are bbc-zh, "):
        load_settings({"SIGHTLINE_OUTLETS": "bbc gazette"})


def test_there_is_a_dozen_of_outlets_half_of_them_in_chinese() -> None:
    outlets = load_settings({}).known_outlets.values()
    assert sorted(one.language for one in outlets) == ["en"] * 6 + ["zh"] * 6
    assert all(urlsplit(one.url).scheme == "https" for one in outlets)
    assert len({one.url for one in outlets}) == 12
