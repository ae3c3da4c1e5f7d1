"""Runs belong to their owner: whoever else has an id can do nothing with it, and learns nothing."""

from __future__ import annotations

import ast
import inspect
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research import Application, Databases, HistoryQuery, close_application, get_application
from research.accounts.data_export import DataExports
from research.accounts.preferences import Preferences
from research.citations.registry import evidence_id
from research.core.events import parse_event
from research.core.records import (
    Answer,
    Column,
    Evidence,
    Grid,
    Passage,
    Place,
    Plan,
    Row,
    Run,
    RunOptions,
    Span,
    Task,
    Usage,
)
from research.runtime.place_search import PlaceSearch
from research.runtime.run_manager import RunManager
from research.storage.history_index import HistoryIndex
from research.storage.store import Store
from research.watch.topics import UnwatchableTopicError, WatchedTopics

ANN, BOB = "user-ann", "user-bob"
MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LIBRARY = RunOptions(loops=1, sources=("library",))
GRID = Grid(rows=(Row(id="r1", name="tower"),), columns=(Column(id="c1", name="age"),))
PLAN = Plan(tasks=(Task(id="1.1", source="library", query="tower"),))
NAMED = (
    "run_id",
    "conversation",
    "based_on",
    "follows",
    "watch_id",
)  # parameters that say whose something is
TABLES = (
    "run",
    "event",
    "search",
    "evidence",
    "answer",
    "conversation",
    "watch",
    "pair",
    "tag",
    "said",
    "notebook",
    "remark",
)

# Every way to name a run or a conversation, as Bob takes it; what comes back is what he learns.
WAYS: dict[tuple[str, str], Callable[[str], Any]] = {
    ("runs.start", "based_on"): lambda key: kin(
        get_application().runs.start("Q?", options=LIBRARY, based_on=key, owner=BOB)
    ),
    ("runs.start", "follows"): lambda key: kin(
        get_application().runs.start("Q?", options=LIBRARY, follows=key, owner=BOB)
    ),
    ("start_report", "follows"): lambda key: kin(
        get_application().start_report("News?", options=LIBRARY, follows=key, owner=BOB)
    ),
    ("start_table", "based_on"): lambda key: kin(
        get_application().start_table(grid=GRID, options=LIBRARY, based_on=key, owner=BOB)
    ),
    ("runs.preview_plan", "follows"): lambda key: get_application().runs.preview_plan(
        "And that?", options=LIBRARY, follows=key, owner=BOB
    ),
    ("runs.follow", "run_id"): lambda key: [*get_application().runs.follow(key, owner=BOB)],
    ("runs.events", "run_id"): lambda key: get_application().runs.events(key, owner=BOB),
    ("store.last_event_number", "run_id"): lambda key: get_application().store.last_event_number(key, owner=BOB),
    ("runs.stop", "run_id"): lambda key: (
        get_application().runs.stop(key, owner=BOB),
        get_application().runs.stop(key, write_only=True, owner=BOB),
    ),
    ("runs.resume", "run_id"): lambda key: (
        get_application().runs.resume(key, owner=BOB),
        get_application().runs.resume(key, write_only=True, owner=BOB),
    ),
    ("runs.approve", "run_id"): lambda key: get_application().runs.approve(key, plan=PLAN, options=LIBRARY, owner=BOB),
    ("runs.answer_clarification", "run_id"): lambda key: get_application().runs.answer_clarification(
        key, "Leifeng", owner=BOB
    ),
    ("runs.add_instruction", "run_id"): lambda key: get_application().runs.add_instruction(
        key, "leave hotels out", owner=BOB
    ),
    ("runs.extend", "run_id"): lambda key: get_application().runs.extend(key, owner=BOB),
    ("runs.save_remark", "run_id"): lambda key: get_application().runs.save_remark(key, "Bob's", owner=BOB),
    ("runs.queue_position", "run_id"): lambda key: get_application().runs.queue_position(key, owner=BOB),
    ("runs.get_run", "run_id"): lambda key: get_application().runs.get_run(key, owner=BOB),
    ("runs.report", "run_id"): lambda key: get_application().runs.report(key, owner=BOB),
    ("watches.add", "run_id"): lambda key: refused(lambda: get_application().watches.add(key, owner=BOB)),
    ("watches.remove", "watch_id"): lambda key: get_application().watches.remove(key, owner=BOB),
    ("watches.start_update", "watch_id"): lambda key: refused(
        lambda: get_application().watches.start_update(key, owner=BOB)
    ),
    ("saved_report", "run_id"): lambda key: get_application().saved_report(key, owner=BOB),
    ("store.turns", "conversation"): lambda key: get_application().store.turns(key, owner=BOB),
    ("store.update_conversation", "conversation"): lambda key: get_application().store.update_conversation(
        key, title="Bob's", pinned=True, owner=BOB
    ),
    ("history.set_tags", "conversation"): lambda key: get_application().store.history.set_tags(BOB, key, ["Bob's"]),
    ("runs.move_to_bin", "conversation"): lambda key: get_application().runs.move_to_bin(key, owner=BOB),
    ("runs.restore_from_bin", "conversation"): lambda key: get_application().runs.restore_from_bin(key, owner=BOB),
    ("runs.delete_conversation", "conversation"): lambda key: get_application().runs.delete_conversation(
        key, owner=BOB
    ),
}
TAKEN = {
    ("runs.start", "run_id"),
    ("start_database_run", "run_id"),
    ("start_table", "run_id"),
}  # those that name an id to be made
LISTS: dict[str, Callable[[str], Any]] = {  # what an owner has
    "runs.recent_runs": lambda owner: get_application().runs.recent_runs(owner=owner),
    "store.conversations": lambda owner: get_application().store.conversations(owner),
    "runs.search_history": lambda owner: (
        get_application().runs.search_history(HistoryQuery("secret"), owner=owner).entries
    ),
    "history.tags": lambda owner: get_application().store.history.tags(owner),
    "runs.bin_entries": lambda owner: get_application().runs.bin_entries(owner=owner),
    "watches.all": lambda owner: get_application().watches.all(owner=owner),
    "watches.find": lambda owner: get_application().watches.find("Ann's secret?", owner=owner) or (),
    "store.recorded_places": lambda owner: get_application().store.recorded_places(owner),
    "databases.confirmed_statements": lambda owner: get_application().databases.confirmed_statements(owner=owner),
    "store.preferences": lambda owner: get_application().store.preferences(owner),
    "estimate_usage": lambda owner: get_application().estimate_usage(LIBRARY, owner=owner).runs,
    "preferences.choices": lambda owner: [
        one for one in get_application().preferences.choices(owner=owner) if one.is_chosen
    ],
    "preferences.key_statuses": lambda owner: [
        one for one in get_application().preferences.key_statuses(owner=owner) if one.location in ("session", "machine")
    ],
    "store.notebooks": lambda owner: get_application().store.notebooks(owner),
    "daily_usage": lambda owner: get_application().daily_usage(since=MADE, owner=owner),
}
OWN = {
    "places.search_around",
    "places.find",
    "places.find_route",
    "places.plan_itinerary",
    "places.measure_distances",
    "restore_report",
    "start_database_run",
    "databases.confirm_statement",
    "databases.remove_confirmed_statement",
    "store.add_to_notebook",  # with the next three: test_notebooks
    "store.remove_from_notebook",
    "store.rename_notebook",
    "store.delete_notebook",
    "store.set_preference",
    "preferences.save_choices",
    "preferences.reset_choices",
    "preferences.add_keys",
    "preferences.delete_key",
    "services_for",
    "readiness",
    "places.build_itinerary",
    "places.searches_left",
    "check_connections",
    "check_key",
    "compare_models",
    "model_roles",
    "data_exports.start",  # with the next two: test_exporting
    "data_exports.get",
    "data_exports.discard",
    "delete_owner_data",  # test_wiping
    "store.record_sign_out",  # with the next one: test_sign_outs
    "store.is_signed_out",
    "runs.empty_bin",
    "databases.all",  # with the rest of the databases: test_runs_on_files and test_meaning_page
    "databases.ask",
    "databases.query",
    "databases.schema",
    "databases.description",
    "databases.save_description",
    "databases.delete_description",
    "databases.read_page",
    "databases.export_rows",
    "databases.load_files",
    "databases.read_files_again",
    "databases.uploads",
    "databases.remove_upload",
}  # what one does for oneself
NOBODYS = {"warm", "storage_usage", "cited_page"}  # what is the same for all: the library is shared
SERVICES: dict[str, type] = {
    "": Application,
    "runs": RunManager,
    "watches": WatchedTopics,
    "places": PlaceSearch,
    "preferences": Preferences,
    "databases": Databases,
    "data_exports": DataExports,
    "store": Store,
    "history": HistoryIndex,  # of the store
}
INTERNAL = {  # what takes an owner and no front end calls
    "runs.send_session_keys", "runs.delete_expired",
    "preferences.chosen_values", "preferences.owner_keys", "preferences.settings_for", "preferences.settings_with_keys",
    "preferences.record_key_test", "preferences.delete_all",
}  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
FRONT_ENDS = [
    ROOT / "app.py",
    *(f for d in ("pages", "research/cli", "research/mcp_server") for f in (ROOT / d).rglob("*.py")),
]


def kin(run: Run) -> tuple[str, str]:
    """What a run has from others."""
    return run.based_on, run.follows


def refused(ask: Callable[[], object]) -> str:
    """What somebody is told whose wish cannot be granted."""
    try:
        return str(ask())
    except UnwatchableTopicError as error:
        return str(error)


def called_by_front_ends() -> set[str]:
    """The methods of an application and its services that pages, terminal and MCP server call."""
    called = set()
    for file in FRONT_ENDS:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute):
                continue
            of = node.value
            service = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
            if ast.unparse(of).endswith(("get_application()", "application")):
                service = ""
            elif not service:
                continue
            if inspect.isfunction(getattr(SERVICES.get(service), node.attr, None)):
                called.add(f"{service}.{node.attr}".removeprefix("."))
    return called


def public() -> dict[str, inspect.Signature]:
    """What front ends call, and of every service but the store what takes an owner."""
    methods = {
        f"{service}.{name}".removeprefix("."): inspect.signature(method)
        for service, kind in SERVICES.items()
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }
    called = called_by_front_ends()
    return {
        name: signature
        for name, signature in methods.items()
        if name in called
        or ("owner" in signature.parameters and not name.startswith(("store.", "history.")) and name not in INTERNAL)
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A desk with runs of Ann's in every state, and nothing of Bob's."""
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "30")  # Bob's own runs do nothing meanwhile
    close_application()
    for status in ("done", "stopped", "failed", "waiting"):
        add(status)
    get_application().runs.store.add_watch("ann-done")
    used = Usage(stage="write", model="Ann's model").model_dump(mode="json")
    get_application().runs.store.append_events("ann-stopped", [(MADE, parse_event("usage", used))])
    get_application().databases.confirm_statement("Ann's secret?", "SELECT 1", owner=ANN)
    get_application().store.set_preference(ANN, "model", "Ann's")
    get_application().store.add_to_notebook(ANN, "Ann's notebook", ["secret.md"])
    assert get_application().preferences.save_choices({"NUMBER_OF_INITIAL_QUERIES": "7"}, owner=ANN) == {}
    assert get_application().preferences.add_keys({"TAVILY_API_KEY": "sentinel-of-ann"}, owner=ANN) == {}
    get_application().store.history.set_tags(ANN, "talk-done", ["Ann's tag"])
    add("stopped", "binned")
    get_application().runs.move_to_bin("talk-binned", owner=ANN)
    assert get_application().runs.save_remark("ann-done", "Ann's secret note", owner=ANN)
    yield tmp_path
    close_application()


def add(status: Any, name: str = "") -> None:
    name = name or status
    store = get_application().runs.store
    run = Run(
        id=f"ann-{name}", conversation=f"talk-{name}", owner=ANN, question="Ann's secret?",
        options=LIBRARY, status=status, created=MADE, finished=MADE,
    )  # fmt: skip
    store.add_run(run, None, "")
    found = {"task": {"id": "1.1", "source": "library", "query": "q"}, "reused": False, "reason": None}
    store.append_events(
        run.id, [(MADE, parse_event("found", found)), (MADE, parse_event("status", {"status": status, "error": ""}))]
    )
    answer = Answer(
        title="Ann's secret", language="en", author="Scripted, no model", created=MADE,
        spans=(Span(kind="text", text="Ann's answer."),),
    )  # fmt: skip
    store.save_outcome(run.id, PLAN, [], answer)
    store.add_evidence(run.conversation, [seen(name)])


def seen(name: str) -> Evidence:
    """A place that a run has found."""
    url = f"https://example.org/{name}"
    return Evidence(
        id=evidence_id("place", url, name), kind="place", title=name, publisher="example.org",
        url=url, locator=name, language="en", retrieved=MADE,
        passages=(Passage(id="p", text=name, end=len(name)),),
        place=Place(id=name, name=name, lng=116.39, lat=39.9, provider="offline"),
    )  # fmt: skip


def rows(folder: Path, owner: str = ANN) -> dict[str, list[tuple[Any, ...]]]:
    """All that is stored of an owner, whatever table it is in."""
    with closing(sqlite3.connect(folder / "runs.db")) as db:
        ids = [row[0] for row in db.execute("select id from run where owner=?", (owner,))]
        talks = [row[0] for row in db.execute("select distinct conversation from run where owner=?", (owner,))]
        marks, more = ",".join("?" * len(ids)), ",".join("?" * len(talks))
        where = {
            "run": (f"id in ({marks})", ids),
            "event": (f"run in ({marks})", ids),
            "search": (f"run in ({marks})", ids),
            "answer": (f"run in ({marks})", ids),
            "evidence": (f"conversation in ({more})", talks),
            "conversation": (f"id in ({more})", talks),
            "said": (f"run in ({marks})", ids),
            "tag": (f"conversation in ({more})", talks),
            "watch": (f"run in ({marks})", ids),
            "pair": ("owner=?", [owner]),
            "notebook": ("owner=?", [owner]),
            "remark": (f"run in ({marks})", ids),
        }
        return {
            table: db.execute(f"select * from {table} where {where[table][0]}", where[table][1]).fetchall()
            for table in TABLES
        }


def test_every_public_function_that_names_a_run_or_a_conversation_is_tried_here() -> None:
    named = {
        (name, parameter)
        for name, signature in public().items()
        for parameter in signature.parameters
        if parameter in NAMED
    }
    assert named == {*WAYS, *TAKEN}


def test_every_public_function_takes_an_owner_or_has_nothing_of_anybody_s() -> None:
    without = {name for name, signature in public().items() if "owner" not in signature.parameters}
    assert without == NOBODYS
    tried = {name for name, _ in WAYS} | set(LISTS) | OWN
    assert set(public()) - without == tried


@pytest.mark.slow
@pytest.mark.parametrize("status", ["done", "stopped", "failed", "waiting"])
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_an_id_of_somebody_else_s_does_what_an_unknown_one_does(
    folder: Path, way: tuple[str, str], status: str
) -> None:
    before = rows(folder)
    key = f"talk-{status}" if way[1] == "conversation" else f"ann-{status}"
    assert WAYS[way](key) == WAYS[way]("0" * 32)
    assert rows(folder) == before


def test_the_same_ids_work_for_their_owner(folder: Path) -> None:
    """Else the tests above would show nothing."""
    assert get_application().runs.get_run("ann-done", owner=ANN) is not None
    assert get_application().runs.report("ann-done", owner=ANN) is not None
    assert len(get_application().runs.events("ann-done", owner=ANN)) == 2
    assert len(get_application().store.turns("talk-done", owner=ANN)) == 1
    more = get_application().runs.start("Q?", options=LIBRARY, follows="ann-done", owner=ANN)
    assert (more.follows, more.conversation) == ("ann-done", "talk-done")
    for name, lists in LISTS.items():
        assert lists(ANN), name


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_what_somebody_else_has_is_in_no_list(folder: Path, name: str) -> None:
    empty = LISTS[name]("user-nobody")
    assert not empty
    assert LISTS[name](BOB) == empty


def test_a_run_under_way_is_not_stopped_by_somebody_else(folder: Path) -> None:
    run = get_application().runs.start("When is the Palace Museum open?", options=LIBRARY, owner=ANN)
    get_application().runs.stop(run.id, owner=BOB)
    get_application().runs.stop(run.id, write_only=True, owner=BOB)
    get_application().runs.delete_conversation(run.conversation, owner=BOB)
    now = get_application().runs.get_run(run.id, owner=ANN)
    assert now is not None
    assert now.is_active


def test_an_id_that_is_taken_is_refused_without_a_word_of_whose_it_is(folder: Path) -> None:
    before = rows(folder)
    with pytest.raises(ValueError, match="leave it out") as refused:
        get_application().runs.start("Mine?", options=LIBRARY, run_id="ann-done", owner=BOB)
    assert "Ann" not in str(refused.value)
    assert rows(folder) == before


def test_what_somebody_has_chosen_and_brought_is_for_nobody_else(folder: Path) -> None:
    assert get_application().services_for(ANN).default_options().queries == 7
    assert get_application().readiness(owner=ANN)["news"].state == "live"
    assert (
        get_application().services_for(BOB).default_options().queries
        == get_application().services_for().default_options().queries
        == 3
    )
    assert get_application().readiness(owner=BOB)["news"].state == "missing"
    get_application().preferences.reset_choices(owner=BOB)
    get_application().preferences.delete_key("TAVILY_API_KEY", owner=BOB)
    assert get_application().services_for(ANN).default_options().queries == 7
    assert get_application().readiness(owner=ANN)["news"].state == "live"


def test_what_is_looked_up_on_the_map_is_its_owner_s(folder: Path) -> None:
    get_application().places.search_around("王府井", "公园", 2_000, owner=ANN)
    assert len(get_application().store.recorded_places(ANN)) > 4
    assert get_application().store.recorded_places(BOB) == []


def test_a_statement_that_somebody_has_confirmed_answers_nobody_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close_application()
    monkeypatch.delenv("SIGHTLINE_SEARCH_DELAY")
    question = "Which area is the dearest of all by far?"
    get_application().databases.confirm_statement(question, "SELECT 42 AS n", owner=ANN)

    def asked(owner: str) -> str | None:
        run = get_application().start_database_run(question, owner=owner)
        assert [*get_application().runs.follow(run.id, owner=owner)]
        report = get_application().runs.report(run.id, owner=owner)
        assert report is not None
        (finding,) = report.findings
        return finding.rows.sql if finding.rows else None

    assert asked(ANN) == "SELECT 42 AS n LIMIT 1001"
    assert asked(BOB) is None
    get_application().databases.remove_confirmed_statement(question, owner=BOB)
    assert (question, "SELECT 42 AS n") in get_application().databases.confirmed_statements(owner=ANN)
    get_application().databases.remove_confirmed_statement(question, owner=ANN)
    assert (question, "SELECT 42 AS n") not in get_application().databases.confirmed_statements(owner=ANN)


def test_the_local_user_is_nobody_who_signs_in(folder: Path) -> None:
    assert get_application().runs.recent_runs() == []
    assert get_application().runs.get_run("ann-done") is None
