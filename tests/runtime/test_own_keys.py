"""Keys that somebody brings along serve that person's runs alone, and are nowhere else."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from research import close_application, get_application, report_json, report_markdown
from research.accounts.keys import FILE_NAME
from research.citations.numbering import number_report_answer
from research.core import errors
from research.core.records import Run, RunOptions
from research.core.settings import SettingError, apply_choices, load_settings
from tests.fakes import until
from tests.pages.serving import SETTINGS
from tests.servers.gemini import FakeGemini
from tests.servers.openai import FakeOpenAI

ANN, BOB = "user-ann", "user-bob"
KEY = "sentinel-key-of-ann"
OTHER = "sentinel-key-of-the-desk"
QUESTION = "How old is the Silver Tower?"
LIBRARY = RunOptions(loops=1, sources=("library",))


@pytest.fixture
def gemini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    """A desk without a key, at a loopback Gemini."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_MODEL_ATTEMPTS", "1")
    close_application()
    with FakeGemini() as fake:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        yield fake
        close_application()


def ended(run: Run | None, owner: str) -> Run:
    assert run is not None
    for _ in get_application().runs.follow(run.id, owner=owner):
        pass
    now = get_application().runs.get_run(run.id, owner=owner)
    assert now is not None
    return now


def ask(owner: str) -> Run:
    return ended(get_application().runs.start(QUESTION, options=LIBRARY, owner=owner), owner)


def used(server: FakeGemini) -> set[str]:
    """The keys of the requests since the last look."""
    found = {call.headers.get("x-goog-api-key", "") for call in server.log}
    server.log.clear()
    return found


def files_with(folder: Path, key: str) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and key.encode() in path.read_bytes()}


def test_a_key_serves_its_owner_s_runs_until_it_is_forgotten(gemini: FakeGemini) -> None:
    assert get_application().preferences.add_keys({"GEMINI_API_KEY": f" {KEY}\n"}, owner=ANN) == {}
    assert ask(ANN).status == "done"
    assert used(gemini) == {KEY}
    assert ask(BOB).status == "done"  # quoted by rules: there is no model for Bob
    assert used(gemini) == set()
    assert get_application().services_for(BOB).models is None
    get_application().preferences.delete_key("GEMINI_API_KEY", owner=ANN)
    ask(ANN)
    assert used(gemini) == set()
    assert {one.location for one in get_application().preferences.key_statuses(owner=ANN)} == {"none"}


def test_a_key_of_the_environment_is_for_all_who_have_none(gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", OTHER)
    get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, owner=ANN)
    ask(ANN)
    assert used(gemini) == {KEY}
    ask(BOB)
    assert used(gemini) == {OTHER}
    assert {
        one.location for one in get_application().preferences.key_statuses(owner=BOB) if one.name == "GEMINI_API_KEY"
    } == {"environment"}


def test_plans_and_tests_of_connections_are_asked_with_the_owner_s_key(gemini: FakeGemini) -> None:
    get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, owner=ANN)
    get_application().runs.preview_plan(QUESTION, options=LIBRARY, owner=ANN)
    assert used(gemini) == {KEY}
    assert {check.name for check in get_application().check_connections(owner=ANN)} >= {"plan", "write"}
    assert used(gemini) == {KEY}
    assert list(get_application().check_connections(owner=BOB)) == []
    assert get_application().readiness(owner=ANN)["web"].state == "live"
    assert get_application().readiness(owner=BOB)["web"].state == "missing"
    assert get_application().estimate_usage(LIBRARY, owner=ANN) != get_application().estimate_usage(LIBRARY, owner=BOB)


def test_a_key_is_in_no_file_log_export_or_event(
    gemini: FakeGemini, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, owner=ANN)
    gemini.fail("write", "echokey")
    failed = ask(ANN)
    gemini.reset()
    done = ask(ANN)
    logging.getLogger("elsewhere").warning("it said %s", KEY)
    assert (failed.status, done.status) == ("failed", "done")
    told = [event.model_dump_json() for event in get_application().runs.events(failed.id, owner=ANN)]
    for run in (failed, done):
        report = get_application().runs.report(run.id, owner=ANN)
        assert report is not None
        answer = number_report_answer(report)
        assert answer is not None
        told += [report.model_dump_json(), report_markdown(report, answer)]
        told += [json.dumps(report_json(report, answer), default=str)]
    told += [
        repr(get_application().preferences.key_statuses(owner=ANN)),
        repr(get_application().preferences.choices(owner=ANN)),
    ]
    told += [
        repr(get_application().services_for(ANN).settings),
        repr(get_application().store.preferences(ANN)),
    ]
    told += [str(get_application().services_for(ANN).settings.display_values())]
    assert [text for text in [*told, caplog.text] if KEY in text] == []
    assert "elsewhere" in caplog.text
    assert files_with(tmp_path, KEY) == set()
    close_application()
    assert files_with(tmp_path, KEY) == set()
    assert files_with(tmp_path, QUESTION) != set()


def test_a_remembered_key_is_in_one_file_that_nobody_else_can_read(gemini: FakeGemini, tmp_path: Path) -> None:
    get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, remember=True, owner=ANN)
    get_application().preferences.add_keys({"TAVILY_API_KEY": OTHER}, remember=True, owner=BOB)
    assert files_with(tmp_path, KEY) == {FILE_NAME}
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    close_application()
    assert {one.name: one.location for one in get_application().preferences.key_statuses(owner=ANN)}[
        "GEMINI_API_KEY"
    ] == "machine"
    ask(ANN)
    assert used(gemini) == {KEY}
    ask(BOB)
    assert used(gemini) == set()
    get_application().preferences.add_keys({"GEMINI_API_KEY": OTHER}, owner=ANN)  # for this session, in its place
    assert files_with(tmp_path, KEY) == set()
    get_application().preferences.delete_key("TAVILY_API_KEY", owner=BOB)
    assert not (tmp_path / FILE_NAME).exists()


def test_a_damaged_file_of_keys_costs_the_keys_alone(gemini: FakeGemini, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"user-ann": {"GEMINI_API_KEY": ', encoding="utf-8")
    assert ask(ANN).status == "done"
    assert {one.location for one in get_application().preferences.key_statuses(owner=ANN)} == {"none"}


def test_a_resumed_run_whose_key_is_gone_says_which_and_goes_on_when_it_is_back(
    gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "30")
    get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, owner=ANN)
    run = get_application().runs.start(QUESTION, options=LIBRARY, owner=ANN)
    until(lambda: "task_started" in {event.kind for event in get_application().runs.events(run.id, owner=ANN)})
    close_application()  # as the server ends
    monkeypatch.delenv("SIGHTLINE_SEARCH_DELAY")
    used(gemini)
    resumed = ended(get_application().runs.resume(run.id, owner=ANN), ANN)
    assert resumed.status == "failed"
    assert "GEMINI_API_KEY" in resumed.error
    assert used(gemini) == set()
    get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, owner=ANN)
    assert ended(get_application().runs.resume(run.id, owner=ANN), ANN).status == "done"
    assert used(gemini) == {KEY}


def test_a_run_keeps_its_key_to_the_end_and_its_clients_are_closed_then(
    gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "1.5")
    get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, owner=ANN)
    run = get_application().runs.start(QUESTION, options=LIBRARY, owner=ANN)
    until(lambda: "task_started" in {event.kind for event in get_application().runs.events(run.id, owner=ANN)})
    services = get_application().services_for(ANN)
    get_application().preferences.delete_key("GEMINI_API_KEY", owner=ANN)
    assert get_application().services_for(ANN) is get_application().services_for(BOB) is not services
    assert services.clients._models
    assert ended(run, ANN).status == "done"
    assert used(gemini) == {KEY}
    until(lambda: not services.clients._models)


def test_without_a_login_an_address_may_be_brought_and_never_gets_the_desk_s_key(
    gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWER_MODEL", "openai:gpt-fake")
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    with FakeOpenAI() as mine:
        assert get_application().preferences.add_keys({"OPENAI_BASE_URL": mine.base_url}, owner="local") == {}
        ask("local")
        assert mine.log
        assert not [call for call in mine.log if OTHER in str(call.headers)]
        assert get_application().preferences.add_keys({"OPENAI_BASE_URL": mine.base_url}, owner=ANN).keys() == {
            "OPENAI_BASE_URL"
        }
        close_application()


@pytest.mark.parametrize("value", ["short", "with space inside", "ключ-из-букв", "x" * 401])
def test_what_cannot_be_a_key_is_refused_and_not_repeated(gemini: FakeGemini, value: str) -> None:
    wrong = get_application().preferences.add_keys({"GEMINI_API_KEY": value, "TAVILY_API_KEY": KEY}, owner=ANN)
    assert wrong.keys() == {"GEMINI_API_KEY"}
    assert value not in str(wrong)
    assert errors.mask_secrets(f"a {value} b") == f"a {value} b"
    assert {one.location for one in get_application().preferences.key_statuses(owner=ANN)} == {"none"}


def test_where_runs_are_worked_on_elsewhere_no_key_can_be_brought(
    gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNS_URL", "http://127.0.0.1:9")
    assert list(get_application().preferences.key_statuses(owner=ANN)) == []
    assert get_application().preferences.add_keys({"GEMINI_API_KEY": KEY}, owner=ANN).keys() == {"GEMINI_API_KEY"}
    assert get_application().services_for(ANN).models is None


# Choices


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NUMBER_OF_INITIAL_QUERIES", "11"),
        ("MAX_RESEARCH_LOOPS", "1.5"),
        ("SIGHTLINE_MAX_COST", "-1"),
        ("SIGHTLINE_SOURCES", "web,elsewhere"),
        ("ANSWER_MODEL", "openai:"),
        ("CHECK_MODEL", "ollama: "),
        ("WEB_SEARCH", "tavily,nobody"),
        ("SIGHTLINE_REPAIR", "perhaps"),
        ("SIGHTLINE_DATA_DIR", "/elsewhere"),
        ("GEMINI_API_KEY", KEY),
    ],
)
def test_a_choice_holds_to_the_rules_of_the_environment(gemini: FakeGemini, name: str, value: str) -> None:
    wrong = get_application().preferences.save_choices({"MAX_REFLECTIONS": "4", name: value}, owner=ANN)
    assert wrong.keys() == {name}
    assert name in wrong[name]
    assert get_application().store.preferences(ANN) == {}


def test_a_choice_changes_the_runs_of_its_owner_until_it_is_taken_back(gemini: FakeGemini) -> None:
    chosen = {"NUMBER_OF_INITIAL_QUERIES": "1", "SIGHTLINE_SOURCES": "library", "SIGHTLINE_MAX_COST": "0.5"}  # fmt: skip
    assert get_application().preferences.save_choices(chosen, owner=ANN) == {}
    usual = get_application().runs.start(QUESTION, owner=ANN).options
    assert (usual.queries, usual.sources, usual.cost) == (1, ("library",), 0.5)
    assert get_application().services_for(BOB).default_options().queries == 3
    known = {one.name: one for one in get_application().preferences.choices(owner=ANN)}
    assert (known["SIGHTLINE_MAX_COST"].value, known["SIGHTLINE_MAX_COST"].default) == ("0.5", "0")
    assert (
        get_application().preferences.save_choices({"NUMBER_OF_INITIAL_QUERIES": "3"}, owner=ANN) == {}
    )  # as the environment
    assert {one.name for one in get_application().preferences.choices(owner=ANN) if one.is_chosen} == {
        "SIGHTLINE_SOURCES",
        "SIGHTLINE_MAX_COST",
    }
    get_application().store.set_preference(ANN, "language", "zh")
    get_application().preferences.reset_choices(owner=ANN)
    assert get_application().store.preferences(ANN) == {"language": "zh"}
    assert get_application().services_for(ANN) is get_application().services_for(BOB)


def test_a_report_begins_with_what_is_chosen_for_reports(gemini: FakeGemini) -> None:
    get_application().preferences.save_choices(
        {"SIGHTLINE_REPORT_SECTIONS": "2", "MAX_REFLECTIONS": "0", "SIGHTLINE_REPORT_SOURCES": "library"},
        owner=ANN,
    )  # fmt: skip
    options = get_application().start_report("Towers", owner=ANN).options
    assert (options.sections, options.reflections, options.sources) == (2, 0, ("library",))


def test_a_choice_that_is_not_usable_any_more_counts_as_none(gemini: FakeGemini) -> None:
    get_application().preferences.save_choices({"MAX_RESEARCH_LOOPS": "4"}, owner=ANN)
    get_application().store.set_preference(ANN, "NUMBER_OF_INITIAL_QUERIES", "99")
    usual = get_application().services_for(ANN).default_options()
    assert (usual.queries, usual.loops) == (3, 4)
    known = {one.name: one for one in get_application().preferences.choices(owner=ANN)}
    assert not known["NUMBER_OF_INITIAL_QUERIES"].is_usable


def test_tiles_that_are_off_for_all_stay_off() -> None:
    assert apply_choices(load_settings({}), {"MAP_TILES": "off"}).map_tiles == "off"
    assert apply_choices(load_settings({"MAP_TILES": "off"}), {"MAP_TILES": "osm"}).map_tiles == "off"


def test_what_nobody_can_choose_is_refused() -> None:
    with pytest.raises(SettingError, match="DATABASE_URL cannot be chosen"):
        apply_choices(load_settings({}), {"DATABASE_URL": "sqlite:////etc/x.db"})
