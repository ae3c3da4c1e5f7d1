"""Data folders that earlier versions have filled: everything is there, and what was open goes on.

`earlier.zip` was filled by the program as it was on 24 November 2026, `earlier_2026_11.zip` as it was on
27 November 2026, before its modules were moved and renamed; fill.py says with what. Each has the facts
beside it that the program of the later day found (holdings.py), and in it the exports that it wrote.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import research
from research import close_application, get_application
from tests.storage.holdings import (
    collect_exports,
    collect_facts,
    export,
    follow_to_end,
    read_export,
    reports_of,
    searched,
)
from tests.storage.services import KEY, Services, tower_table
from tests.terminal import terminal

HERE = Path(__file__).parent
ARCHIVES = ("earlier", "earlier_2026_11")
FACTS = json.loads((HERE / "earlier_2026_11.json").read_text(encoding="utf-8"))
RUNS: dict[str, dict[str, Any]] = FACTS["runs"]
PAGODA = "雷峰塔重建于2002年，塔高71.679米。"
SIGNATURES = {
    "pdf": b"%PDF-", "docx": b"PK\x03\x04", "xlsx": b"PK\x03\x04", "parquet": b"PAR1",
    "html": b"<!doctype html>", "json": b"{", "csl.json": b"[", "table.json": b"{",
}  # fmt: skip


def run_of(question: str, status: str) -> str:
    """Return the id of a run whose id the program chose by itself."""
    (found,) = (
        run_id
        for run_id, run in RUNS.items()
        if (run["question"], run["status"], run["follows"]) == (question, status, "")
    )
    return found


KILLED_REPORT = run_of("The flood in the harbour", "interrupted")
WATCHED = run_of("The reopening of the tower", "done")


def open_archive(name: str, folder: Path, settings: Mapping[str, str]) -> Path:
    """Unpack an archive, and open a copy of its data with these settings."""
    with zipfile.ZipFile(HERE / f"{name}.zip") as archive:
        archive.extractall(folder)
    with pytest.MonkeyPatch.context() as patch:
        for setting, value in settings.items():
            patch.setenv(setting, value)
        close_application()
        get_application(folder / "data")
    return folder / "data"


@pytest.fixture(params=ARCHIVES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An archive whose data is open without any service."""
    open_archive(request.param, tmp_path, {})
    yield request.param
    close_application()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """The services, with the data of the later archive open; no answer of them is reused."""
    with Services() as made:
        never = {"SIGHTLINE_CACHE_HOURS": "0", "AMAP_CACHE_HOURS": "0"}
        open_archive("earlier_2026_11", tmp_path, made.environment | never)
        yield made
        close_application()


# What is there


@pytest.mark.slow
def test_everything_is_there(archive: str) -> None:
    facts = json.loads((HERE / f"{archive}.json").read_text(encoding="utf-8"))
    assert without_new_fields(collect_facts()) == facts


# Fields that earlier versions did not have, in facts with a certain key: of the tables and columns of files, of
# uploads, and of documents whose original is kept.
NEW_FIELDS_BESIDE = {
    "sample": {"header_rows", "set_aside", "set_aside_count", "short_rows", "correction", "notices", "area", "content"},
    "heading": {"format", "missing", "choice", "odd"}, "names": {"files", "revision"}, "characters": {"original"},
}  # fmt: skip


def without_new_fields(value: Any) -> Any:
    """Return facts without the fields that earlier versions did not have."""
    if isinstance(value, dict):
        new_fields = set().union(*(NEW_FIELDS_BESIDE[key] for key in value.keys() & NEW_FIELDS_BESIDE.keys()))
        return {key: without_new_fields(item) for key, item in value.items() if key not in new_fields}
    return [without_new_fields(item) for item in value] if isinstance(value, list) else value


# The keys that version 8 of the report's JSON has under other names: anywhere, and in objects with a certain key.
RENAMED_KEYS = {
    "also": "further_url", "moment": "published_at", "standing": "domain_status", "expires": "url_expires",
    "lacks": "gaps", "rulings": "verdicts", "heeded": "applied", "rough": "tone_from_words", "compared": "compared_run",
    "outside": "outside_dates", "cut": "shortened_cells", "missed": "unmatched_filters", "updates": "updated_run",
    "unwritten": "placeholder", "centre": "search_area", "lead": "provider_summary", "meant": "interpreted_question",
    "why": "purpose",
}  # fmt: skip
RENAMED_KEYS_BESIDE = {
    "schema": {"made": "created"}, "origin": {"made": "generated"}, "passage": {"made": "updated"},
    "provider": {"asked": "provider_queries"}, "radius": {"asked": "requested_radius"},
    "repairs": {"kept": "unremovable"}, "tasks": {"unclear": "clarification", "recalled": "from_memory"},
    "known": {"part": "subquery"}, "venue": {"cited": "citation_count", "counted": "citation_source"},
    "sql": {"most": "statement_limit"}, "columns": {"since": "fresh_after"}, "name": {"about": "qualifier"},
}  # fmt: skip


def with_new_keys(value: Any) -> Any:
    """Return the JSON of a report of version 7 with the keys of version 8."""
    if isinstance(value, list):
        return [with_new_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    names = RENAMED_KEYS.copy()
    for key in value.keys() & RENAMED_KEYS_BESIDE.keys():
        names |= RENAMED_KEYS_BESIDE[key]
    return {names.get(key, key): with_new_keys(item) for key, item in value.items()}


NEW_KEYS = {"reading_notes"}  # of rows of a database, where a report of an earlier version has none


def without_new_keys(value: Any) -> Any:
    """Return the JSON of a report without those keys of later versions that hold nothing."""
    if isinstance(value, dict):
        return {key: without_new_keys(item) for key, item in value.items() if item or key not in NEW_KEYS}
    return [without_new_keys(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_exports_are_as_they_were(archive: str, tmp_path: Path) -> None:
    expected = {path.name: path for path in (tmp_path / "exports").iterdir()}
    exports = collect_exports()
    assert set(exports) == set(expected)
    for name, content in exports.items():
        then = expected[name].read_bytes()
        if name.endswith(".json"):
            former = with_new_keys(json.loads(then))
            if former.get("schema") == "sightline-report/7":
                former["schema"] = "sightline-report/8"
            assert without_new_keys(json.loads(content)) == former, name
        else:
            assert content.decode().splitlines() == then.decode().splitlines(), name


@pytest.mark.slow
@pytest.mark.parametrize(
    "run_id",
    [
        "first-turn",
        "rules-first-turn",
        WATCHED,
        "table",
        "places",
        "route",
        "database",
        "files-database",
    ],
)
def test_a_finished_run_is_exported_in_each_format(run_id: str, services: Services) -> None:
    for ending in (item.suffix for item in research.file_formats(for_table=run_id == "table")):
        content = export(run_id, ending)
        assert content.strip(), ending
        assert content.lower().startswith(SIGNATURES.get(ending, b"").lower()), ending


@pytest.mark.slow
def test_the_terminal_lists_and_shows_every_run(services: Services, tmp_path: Path) -> None:
    data = tmp_path / "data"
    listed = {line.split()[0] for line in terminal(data, "runs").stdout.splitlines()}
    assert listed == {run_id for run_id, run in RUNS.items() if run["owner"] == "local"}
    for run_id in ("first-turn", "table", "waits-for-approval", "killed-in-search"):
        shown = json.loads(terminal(data, "show", run_id, "--json").stdout)
        assert shown["question"] == RUNS[run_id]["question"]
        assert shown["answer"].splitlines() == RUNS[run_id]["answer"]


@pytest.mark.slow
def test_places_and_rows_are_exported(services: Services, tmp_path: Path) -> None:
    report = get_application().runs.report("route")
    assert report is not None
    places = [item.place for item in report.evidence if item.place]
    assert len(places) == 2
    assert json.loads(research.places_geojson(places))["features"]
    assert "<Placemark>" in research.places_kml(places, "Route")
    assert len(research.places_csv(places).splitlines()) == 3
    for ending in research.ROW_FILE_SUFFIXES:
        file = tmp_path / f"rows{ending}"
        assert research.get_application().databases.export_rows("SELECT name FROM a_sight", file).row_count == 358
        assert file.read_bytes()


@pytest.mark.slow
def test_a_remembered_key_is_used_and_shown_nowhere(services: Services, tmp_path: Path) -> None:
    follow_to_end(get_application().runs.start("What is new?", run_id="new").id)
    assert {call.headers["authorization"] for call in services.model.log} == {f"Bearer {KEY}"}
    assert KEY not in repr(get_application().preferences.key_statuses("local")) + repr(get_application().settings)
    for run_id in ("new", "first-turn", "failed"):
        assert KEY.encode() not in export(run_id, "json") + export(run_id, "md")
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert [path.name for path in files if KEY.encode() in path.read_bytes()] == ["keys.json"]


# What goes on


def test_a_plan_that_waited_is_approved_and_worked_on(services: Services) -> None:
    get_application().runs.approve("waits-for-approval")
    assert follow_to_end("waits-for-approval") == "done"
    assert services.model.calls("plan") == 0
    planned = [task["query"] for task in read_export("waits-for-approval")["plan"]["tasks"]]
    assert planned and set(planned) <= set(services.queries)
    assert read_export("waits-for-approval")["sources"]


def test_a_table_that_waited_is_approved_and_filled(services: Services) -> None:
    get_application().runs.approve("waiting-table")
    assert follow_to_end("waiting-table") == "done"
    assert services.queries and "1925" in read_export("waiting-table")["answer"]


def test_what_was_asked_back_is_answered(services: Services) -> None:
    get_application().runs.answer_clarification("waits-for-clarification", "2026")
    assert follow_to_end("waits-for-clarification") == "done"
    found = read_export("waits-for-clarification")
    assert found["clarification"]["answer"] == "2026" and found["sources"]
    assert any("2026" in call.prompt for call in services.model.log)


@pytest.mark.parametrize(
    ("run_id", "left", "planning"),
    [
        ("killed-in-search", {"What is known of the cellar more details 1.2"}, "plan"),
        ("killed-table", {"Bell Tower price of the lift"}, "tabulate"),
        (
            "stopped",
            {"Why was the gate moved history", "Why was the gate moved more details 1.1"},
            "plan",
        ),
        ("failed", set(), "plan"),
    ],
)
def test_a_run_that_ended_early_goes_on_and_pays_for_no_search_again(
    run_id: str, left: set[str], planning: str, services: Services
) -> None:
    assert get_application().runs.resume(run_id) is not None
    assert follow_to_end(run_id) == "done"
    assert set(services.queries) == left
    assert paid_again(RUNS[run_id]["searched"], services) == set()
    assert services.model.calls(planning) == 0
    assert set(searched(read_export(run_id))) == set(RUNS[run_id]["searched"]) | set(services.queries)


def paid_again(known: list[str], services: Services) -> set[str]:
    """Return the queries that were asked although they were finished, or more than once."""
    counts = Counter(services.queries)
    return {query for query, n in counts.items() if n > 1 or query in known}


def check_report(run_id: str, services: Services) -> None:
    """Check that a report ended with the one section that was missing, and paid for nothing else."""
    found = read_export(run_id)
    assert services.model.calls("outline") == 0
    assert "The flood in the harbour tickets" in services.queries
    assert paid_again(RUNS[KILLED_REPORT]["searched"], services) == set()
    written = re.findall(r"<<<section \w+\n(.*)", "\n".join(c.prompt for c in services.model.log))
    assert set(written) == {"tickets"}
    for title in ("history", "visitors", "tickets"):
        assert f"### {title}" in found["answer"]


def test_a_report_that_was_killed_goes_on_with_its_last_section(services: Services) -> None:
    assert get_application().runs.resume(KILLED_REPORT) is not None
    assert follow_to_end(KILLED_REPORT) == "done"
    check_report(KILLED_REPORT, services)
    saved, problem = get_application().saved_report(KILLED_REPORT)
    assert problem == "" and saved is not None and saved.is_file()


@pytest.mark.slow
def test_the_saved_state_of_a_report_is_loaded_and_worked_on(services: Services, tmp_path: Path) -> None:
    (state,) = (tmp_path / "data").rglob("state_The_flood_in_the_harbour_*.json")
    run = get_application().restore_report(state)
    assert run.id != KILLED_REPORT
    get_application().runs.resume(run.id)
    assert follow_to_end(run.id) == "done"
    check_report(run.id, services)


def test_the_saved_state_of_a_finished_report_is_loaded_without_a_request(services: Services, tmp_path: Path) -> None:
    states = sorted((tmp_path / "data").rglob("state_The_reopening_of_the_tower_*.json"))
    assert len(states) == 2
    loaded = [get_application().restore_report(state) for state in states]
    assert {run.status for run in loaded} == {"done"}
    assert [RUNS[WATCHED]["answer"]] == [
        read_export(run.id)["answer"].splitlines() for run in loaded if not run.options.updated_run
    ]
    assert services.queries == [] and services.model.log == []


def test_a_conversation_goes_on_with_what_it_has_found(services: Services) -> None:
    run = get_application().runs.start("And how old?", follows="second-turn")
    assert follow_to_end(run.id) == "done"
    turns = [turn.id for turn in get_application().store.turns(run.conversation, owner="local")]
    assert turns == ["first-turn", "second-turn", run.id]
    plan = next(call.prompt for call in services.model.log if call.stage == "plan")
    assert "How high is it?" in plan and "When does the tower open?" in plan


def test_a_conversation_goes_on_without_a_model(archive: str) -> None:
    first = "rules-first-turn" if archive == "earlier_2026_11" else "a" * 32
    options = research.RunOptions(loops=1, sources=("library",))
    run = get_application().runs.start("它是哪年重建的？", follows=first, options=options)
    assert follow_to_end(run.id) == "done"
    assert PAGODA in read_export(run.id)["answer"]


def test_a_finished_run_is_deepened_without_repeating_a_search(services: Services) -> None:
    run = get_application().runs.extend("first-turn")
    assert run is not None and follow_to_end(run.id) == "done"
    assert paid_again(RUNS["first-turn"]["searched"], services) == set()


def test_a_watched_topic_is_brought_up_to_date_again(services: Services) -> None:
    services.model.brain.chapters = ["history", "visitors", "tickets"]
    run = get_application().watches.start_update(WATCHED)
    assert follow_to_end(run.id) == "done"
    assert len(reports_of(WATCHED)) == 3
    (watch,) = get_application().watches.all()
    assert (watch.id, watch.latest) == (WATCHED, run.id)
    assert services.model.calls("outline") == 0


@pytest.mark.slow
def test_the_cells_of_a_table_are_reused(services: Services) -> None:
    grid = tower_table("Two pagodas", "Leifeng Pagoda", "Baochu Pagoda")
    run = get_application().start_table(grid=grid, based_on="table")
    assert follow_to_end(run.id) == "done"
    assert services.queries == []
    assert read_export(run.id)["answer"].splitlines() == RUNS["table"]["answer"]


def test_what_was_removed_comes_back(services: Services) -> None:
    (binned,) = get_application().runs.bin_entries()
    get_application().runs.restore_from_bin(binned.id)
    assert get_application().runs.bin_entries() == [] and "Who wrote Hamlet?" in [
        run.question for run in get_application().runs.recent_runs()
    ]
    library = get_application().library
    removed = {one.name: one.id for one in library.list_trashed()[0]}
    assert library.restore([removed["old.md"]]) == 1
    assert library.search("保俶塔")[0].text == "保俶塔高45.3米。"


def test_a_confirmed_statement_answers_its_question(services: Services) -> None:
    found = research.get_application().databases.ask("浙江有多少个5A景区")
    assert (found.author, list(found.rows[0].values())) == ("", [358])
    assert services.model.log == []
