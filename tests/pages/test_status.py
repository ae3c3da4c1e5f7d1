"""The Status page, and the page that stands in for all others when the data folder is unusable."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from pages.shared.locale_format import format_day
from pages.status.cards import build_cards
from research import DatabaseSchema, Readiness, Usage, close_application, get_application, prices_as_of, sources_by_name
from research.core.events import parse_event
from tests.catalogue import WORDS
from tests.pages.visitor import Visitor
from tests.runtime.test_store import run
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeTavily

Visit = Callable[..., Visitor]
PAGES = ["", "library", "history", "status", "help"]
BOUND = hasattr(os, "geteuid") and os.geteuid() != 0
NO_DATABASE = b"This is no database. " * 500


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


def test_it_says_who_thinks_what_is_ready_and_where_data_lies(visit: Visit, folder: Path) -> None:
    visitor = visit("status")
    assert english("status.reasoner_text") in visitor.words
    assert english("status.sample") in visitor.words
    assert english("status.library", own=0, sample=40) in visitor.words
    places = visitor.table("place").set_index("part")["place"]
    assert places[english("holding.runs")] == str(folder / "runs.db")
    assert places[english("holding.library")] == str(folder / "library.db")


def test_an_empty_library_is_missing_and_own_documents_are_live(visit: Visit) -> None:
    library = get_application().library
    library.set_sample_enabled(False)
    visitor = visit("status")
    assert english("status.empty") in visitor.words
    assert english("status.brings_library") in visitor.words
    list(library.add_files([("tower.md", b"# Tower\n\nThe tower is open all day.")]))
    assert english("status.live") in visitor.look().words
    assert english("status.empty") not in visitor.words
    assert english("status.brings_library") not in visitor.words


def test_the_settings_are_shown_as_they_are(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_RESEARCH_LOOPS", "7")
    table = visit("status").table("value").set_index("name")["value"]
    assert table["MAX_RESEARCH_LOOPS"] == "7"
    assert table["NUMBER_OF_INITIAL_QUERIES"] == "3"


def test_without_a_key_no_role_is_listed_and_no_key_is_set(visit: Visit) -> None:
    visitor = visit("status")
    assert not any("role" in table.value.columns for table in visitor.at.dataframe)
    table = visitor.table("value").set_index("name")["value"]
    keys = [name for name in table.index if name.endswith("_KEY")]
    assert {"RUNS_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "AMAP_MAPS_API_KEY"} < set(keys)
    assert {table[name] for name in keys} == {english("status.unset")}


# Models and web search


def test_each_role_is_shown_with_its_setting_and_its_model(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFLECTION_MODEL", "ollama:qwen3")
    monkeypatch.setenv("QUERY_GENERATOR_MODEL", "gemini-3.8-flash")
    visitor = visit("status")
    assert english("status.models_text") in visitor.words
    assert english("status.reasoner_text") not in visitor.words
    assert english("status.prices", date=format_day(prices_as_of(), "en")) in visitor.words
    ready, missing = english("status.set"), english("status.needs", setting="GEMINI_API_KEY")
    unknown = english("status.unknown")
    columns = ["role", "setting", "model", "input", "output", "search", "state"]
    assert visitor.table("role")[columns].to_numpy().tolist() == [
        [english("role.plan"), "QUERY_GENERATOR_MODEL", "gemini:gemini-3.8-flash", "$0.75", "$3.75", "–", missing],
        [english("role.reflect"), "REFLECTION_MODEL", "ollama:qwen3", unknown, unknown, "–", ready],
        [english("role.write"), "ANSWER_MODEL", "openai:gpt-fake", unknown, unknown, "–", ready],
        [english("role.search"), "WEB_SEARCH_MODEL", "openai:gpt-fake", unknown, unknown, unknown, ready],
    ]  # fmt: skip


def test_the_models_of_reports_and_of_the_check_are_listed_too(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUERY_ENGINE_MODEL_NAME", "openai:gpt-report")
    monkeypatch.setenv("SIGHTLINE_CHECK", "model")
    monkeypatch.setenv("CHECK_MODEL", "openai:gpt-check")
    table = visit("status").table("role").set_index("role")
    assert table.loc[english("role.news"), "model"] == "openai:gpt-report"
    assert table.loc[english("role.news"), "setting"] == "QUERY_ENGINE_MODEL_NAME"
    assert table.loc[english("role.check"), "model"] == "openai:gpt-check"
    assert table.loc[english("role.check"), "setting"] == "CHECK_MODEL"


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_key_is_shown_as_set_and_never_itself(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-sentinel-0123456789")
    visitor = visit("status", lang=lang).press("check")
    table = visitor.table("value").set_index("name")["value"]
    chosen = {"zh": 0, "en": 1}[lang]
    assert table["OPENAI_API_KEY"] == table["TAVILY_API_KEY"] == WORDS["status.set"][chosen]
    assert table["GEMINI_API_KEY"] == WORDS["status.unset"][chosen]
    assert table["OPENAI_BASE_URL"] == server.base_url
    tables = [frame.value.to_csv() for frame in visitor.at.dataframe]
    assert "sentinel" not in visitor.words + str(tables)


def test_the_web_is_live_with_those_who_search_it(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    assert english("status.nothing_asked") in visit("status").words
    close_application()
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
    monkeypatch.setenv("SEARXNG_URL", "http://127.0.0.1:9")
    words = visit("status").words
    assert english("status.live") in words
    assert f"{english('source.tavily')}, {english('source.searxng')}" in words


def test_a_test_of_the_connections_says_of_each_model_that_it_works(visit: Visit, server: FakeOpenAI) -> None:
    visitor = visit("status")
    assert server.calls() == 0
    words = visitor.press("check").words
    assert server.calls("check") == server.calls() == 4
    for role in ("plan", "reflect", "write", "search"):
        assert f"{english(f'role.{role}')}  · openai:gpt-fake" in words
    assert words.count(english("status.ok", seconds="").strip()) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reason", "hint"),
    [("400key", "refused", "key"), ("404", "refused", "model"),
     ("400context", "refused", "context"), ("503", "unavailable", "")],
)  # fmt: skip
def test_a_connection_that_fails_is_told_with_its_reason_and_what_helps(
    visit: Visit, server: FakeOpenAI, fault: str, reason: str, hint: str
) -> None:
    server.fail("check", fault)
    words = visit("status").press("check").words
    who = "OpenAI (gpt-fake)"
    told = english(f"report.failed.{reason} {hint}".strip(), service=who)
    assert words.count(told) == 4 and "gpt-fake" in words
    assert words.count(english("answer.failure_details")) == 4


def test_a_search_that_fails_its_test_is_told_beside_models_that_work(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeTavily(status=401) as tavily:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
        monkeypatch.setenv("TAVILY_BASE_URL", tavily.base_url)
        words = visit("status").press("check").words
    assert english("source.tavily") in words
    assert words.count(english("status.ok", seconds="").strip()) == 4
    assert words.count(english("report.failed.refused key", service=english("source.tavily"))) == 1


@pytest.mark.slow
def test_a_run_server_that_is_not_there_is_told(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNS_URL", "http://127.0.0.1:9")
    visitor = visit("status").press("check")
    assert f"{english('role.runs')}  · http://127.0.0.1:9" in visitor.words
    assert english("reason.unreachable") in visitor.words


def test_where_nothing_is_configured_there_is_nothing_to_test(visit: Visit) -> None:
    assert english("status.nothing_to_check") in visit("status").press("check").words


# At a glance


def lines(visitor: Visitor) -> set[str]:
    return {code.value for code in visitor.at.code}


def settled(visitor: Visitor) -> int:
    """How many parts can be set up on the settings page."""
    label = english("status.in_settings")
    return sum(label in str(link.proto) for link in visitor.at.get("page_link"))


def test_without_anything_set_each_part_says_what_to_add(visit: Visit) -> None:
    visitor = visit("status")
    assert lines(visitor) == {"export DATABASE_URL=sqlite:////folder/own.db"}
    assert settled(visitor) == 6  # web, Wikidata, news, papers, places, models
    assert (
        "Sample only: Places, Database, Library. Not available: Web, Wikidata, News, Papers, Models." in visitor.words
    )
    for state in ("offline", "sample", "missing"):
        assert english(f"status.{state}") in visitor.words


def test_a_web_search_that_is_turned_off_is_turned_on_again(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_SEARCH", "off")
    visitor = visit("status")
    assert english("status.web_off") in visitor.words
    assert settled(visitor) == 6


def test_what_is_live_has_nothing_to_add(visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
    monkeypatch.setenv("AMAP_MAPS_API_KEY", "a" * 32)
    monkeypatch.setenv("AMAP_DAILY_SEARCHES", "80")
    visitor = visit("status")
    assert lines(visitor) == {sources_by_name()["database"].setup_commands[1]}
    assert settled(visitor) == 2  # Wikidata and papers
    assert english("source.amap") in visitor.words
    assert "openai:gpt-fake" in visitor.words


def test_a_map_that_lacks_its_key_is_missing(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMAP_MCP", "hosted")
    visitor = visit("status")
    assert english("status.places_missing") in visitor.words
    assert settled(visitor) == 6


def test_limits_are_told_and_none_is_no_limit(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_MAX_COST", "2.5")
    monkeypatch.setenv("SIGHTLINE_MAX_RUNS_EACH", "7")
    words = visit("status").words
    assert "$2.50" in words
    assert "7" in words.splitlines()
    assert words.count(english("status.no_limit")) == 3


# Usage over time


def test_where_nothing_was_used_that_is_said(visit: Visit) -> None:
    visitor = visit("status")
    assert english("spending.empty", days=30) in visitor.words
    assert not visitor.at.get("vega_lite_chart")


def test_what_was_used_is_told_as_sums_and_as_a_table(visit: Visit, folder: Path) -> None:
    store = get_application().runs.store
    now = datetime.now(UTC)
    store.add_run(run("one", created=now, owner="local"), None, "")
    store.add_run(run("two", created=now, owner="somebody"), None, "")
    known = Usage(stage="write", model="gemini:x", input=1_000, output=20, cost=1.25, estimated=True)
    unknown = Usage(stage="search", model="tavily", searches=3)
    for key in ("one", "two"):
        store.append_events(
            key, [(now, parse_event("usage", used.model_dump(mode="json"))) for used in (known, unknown)]
        )
    visitor = visit("status")
    assert [metric.value for metric in visitor.at.metric] == ["≥ $1.25", "1,020", "3"]
    assert english("spending.unpriced", n=1, models="tavily") in visitor.words
    assert english("usage.estimated", n=1) in visitor.words
    table = visitor.table("calls").set_index("name")
    assert table.loc["gemini:x", "cost"] == 1.25
    assert table.loc["tavily", "searches"] == 3
    assert table["cost"].isna().to_dict() == {"gemini:x": False, "tavily": True}
    (chart,) = visitor.at.get("vega_lite_chart")
    assert english("spending.cost") in str(chart.proto)


# Everything that is somebody's


def test_everything_is_exported_in_the_background_and_the_file_goes(visit: Visit) -> None:
    visitor = visit().ask("What does a ticket to the Palace Museum cost?").wait().go("status")
    visitor.press("export")
    visitor.until(english("export.ready_text"))
    made = get_application().data_exports.get("local")
    assert made is not None
    assert made.path is not None
    assert made.total_count == 1
    visitor.press("export_discard")
    assert not made.path.exists()
    assert "export" in visitor.buttons


@pytest.mark.slow
def test_everything_is_deleted_once_the_word_is_typed(visit: Visit) -> None:
    visitor = visit().ask("What does a ticket to the Palace Museum cost?").wait().go("status")
    visitor.press("wipe")
    assert visitor.at.button(key="wipe_go").disabled
    visitor.at.text_input(key="wipe_word").set_value("delete").run()
    assert visitor.at.button(key="wipe_go").disabled
    assert len(get_application().runs.recent_runs()) == 1
    visitor.at.text_input(key="wipe_word").set_value("delete everything").run()
    visitor.press("wipe_go")
    assert get_application().runs.recent_runs() == []
    assert f"{english('wiped.runs')} 1" in visitor.words


def test_a_damaged_file_is_set_aside_and_kept(visit: Visit, folder: Path) -> None:
    (folder / "runs.db").write_bytes(NO_DATABASE)
    visitor = visit("history")
    visitor.press("rescue")
    assert (folder / "runs.db").read_bytes() == NO_DATABASE
    visitor.press("rescue_go")
    assert english("history.empty") in visitor.look().words
    (aside,) = folder.glob("runs.damaged-*.db")
    assert aside.read_bytes() == NO_DATABASE


# Trouble


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", ["runs.db", "library.db", "checkpoints.db"])
def test_a_corrupt_file_is_named_on_every_page_and_left_as_it_is(
    visit: Visit, folder: Path, page: str, name: str
) -> None:
    file = folder / name
    file.write_bytes(NO_DATABASE)
    before = file.read_bytes(), file.stat().st_mtime_ns
    visitor = visit(page)
    assert english("trouble.file") in visitor.words
    assert visitor.errors == [english("trouble.corrupt", path=file)]
    visitor.look()
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


def test_the_page_comes_up_once_the_corrupt_file_is_moved_away(visit: Visit, folder: Path) -> None:
    (folder / "runs.db").write_bytes(NO_DATABASE)
    visitor = visit("history")
    (folder / "runs.db").rename(folder / "away")
    assert english("history.empty") in visitor.press("retry").words


def test_a_data_folder_that_is_a_file_is_named_and_left_as_it_is(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(file))
    (error,) = visit().errors
    assert str(file) in error
    assert "SIGHTLINE_DATA_DIR" in error
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(not BOUND, reason="permissions do not bind this user")
def test_a_read_only_data_folder_is_named(visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "bare"
    bare.mkdir(mode=0o500)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(bare))
    (error,) = visit().errors
    assert str(bare) in error
    assert list(bare.iterdir()) == []


def test_a_store_of_a_newer_version_is_left_as_it_is(visit: Visit, folder: Path) -> None:
    get_application()
    close_application()
    file = folder / "runs.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("pragma user_version=999")
    before = file.read_bytes()
    assert visit("status").errors == [english("trouble.newer", path=file)]
    assert file.read_bytes() == before


def test_a_database_of_another_program_is_left_as_it_is(visit: Visit, folder: Path) -> None:
    file = folder / "runs.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("create table theirs(x)")
    visitor = visit("history")
    assert visitor.errors == [english("trouble.corrupt", path=file)]
    assert "rescue" not in visitor.buttons
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("select name from sqlite_schema").fetchall() == [("theirs",)]


def test_a_file_that_is_damaged_while_the_program_runs_is_told_too(visit: Visit, folder: Path) -> None:
    visitor = visit().ask("What does a ticket to the Palace Museum cost?").wait()
    run_id = visitor.run_id
    close_application()
    for beside in ("-wal", "-shm"):  # SQLite would write back what stands there
        (folder / f"runs.db{beside}").unlink(missing_ok=True)
    data = bytearray((folder / "runs.db").read_bytes())
    data[1024:] = b"\xff" * (len(data) - 1024)
    (folder / "runs.db").write_bytes(data)
    (error,) = visit(run=run_id).errors
    assert str(folder / "runs.db") in error
    assert (folder / "runs.db").read_bytes() == bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_RESEARCH_LOOPS", "ten"),
        ("NUMBER_OF_INITIAL_QUERIES", "0"),
        ("SIGHTLINE_SEARCH_DELAY", "$x$"),
        ("WEB_SEARCH", "google"),
        ("OPENAI_BASE_URL", "localhost"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_with_its_value(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    visitor = visit()
    assert english("trouble.setting") in visitor.words
    (error,) = visitor.errors
    assert name in error
    assert value in error


def test_a_database_that_is_not_there_is_named_without_its_password(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens at port 9; without the drivers it is those that are missing."""
    monkeypatch.setenv("STORE_URL", "postgresql://ann:sentinel@127.0.0.1:9/runs")
    visitor = visit()
    assert english("trouble.store") in visitor.words
    path = "postgresql://127.0.0.1:9/runs"
    trouble = "unreachable" if find_spec("psycopg") else "driver"
    assert visitor.errors == [english(f"trouble.{trouble}", path=path)]


def test_trouble_is_told_in_chinese_too(visit: Visit, folder: Path) -> None:
    (folder / "runs.db").write_bytes(NO_DATABASE)
    visitor = visit(lang="zh")
    assert WORDS["trouble.file"][0] in visitor.words
    assert visitor.errors == [WORDS["trouble.corrupt"][0].format(path=folder / "runs.db")]


def test_tools_that_no_model_can_be_offered_are_named_on_the_card_of_their_server() -> None:
    ready = Readiness(state="live", detail="look", withheld="wide_*tool*")
    (card, _) = build_cards({"mcp_odd": ready}, DatabaseSchema(dialect="sqlite"), [], (0, 0))
    assert card.description.startswith("look\n\n")
    assert r"wide\_\*tool\*" in card.description
