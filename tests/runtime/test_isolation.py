"""Runs belong to their owner: whoever else has an id can do nothing with it, and learns nothing."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research import application
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
from research.watch.topics import UnwatchableTopicError

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
    ("start_run", "based_on"): lambda key: kin(application.start_run("Q?", options=LIBRARY, based_on=key, owner=BOB)),
    ("start_run", "follows"): lambda key: kin(application.start_run("Q?", options=LIBRARY, follows=key, owner=BOB)),
    ("start_report", "follows"): lambda key: kin(
        application.start_report("News?", options=LIBRARY, follows=key, owner=BOB)
    ),
    ("start_table", "based_on"): lambda key: kin(
        application.start_table(grid=GRID, options=LIBRARY, based_on=key, owner=BOB)
    ),
    ("preview_plan", "follows"): lambda key: application.preview_plan(
        "And that?", options=LIBRARY, follows=key, owner=BOB
    ),
    ("follow_run", "run_id"): lambda key: [*application.follow_run(key, owner=BOB)],
    ("events", "run_id"): lambda key: application.events(key, owner=BOB),
    ("last_event_number", "run_id"): lambda key: application.last_event_number(key, owner=BOB),
    ("stop_run", "run_id"): lambda key: (
        application.stop_run(key, owner=BOB),
        application.stop_run(key, write_only=True, owner=BOB),
    ),
    ("resume_run", "run_id"): lambda key: (
        application.resume_run(key, owner=BOB),
        application.resume_run(key, write_only=True, owner=BOB),
    ),
    ("approve_run", "run_id"): lambda key: application.approve_run(key, plan=PLAN, options=LIBRARY, owner=BOB),
    ("answer_clarification", "run_id"): lambda key: application.answer_clarification(key, "Leifeng", owner=BOB),
    ("add_instruction", "run_id"): lambda key: application.add_instruction(key, "leave hotels out", owner=BOB),
    ("extend_run", "run_id"): lambda key: application.extend_run(key, owner=BOB),
    ("save_remark", "run_id"): lambda key: application.save_remark(key, "Bob's", owner=BOB),
    ("queue_position", "run_id"): lambda key: application.queue_position(key, owner=BOB),
    ("get_run", "run_id"): lambda key: application.get_run(key, owner=BOB),
    ("report", "run_id"): lambda key: application.report(key, owner=BOB),
    ("watch_topic", "run_id"): lambda key: refused(lambda: application.watch_topic(key, owner=BOB)),
    ("unwatch_topic", "watch_id"): lambda key: application.unwatch_topic(key, owner=BOB),
    ("start_update", "watch_id"): lambda key: refused(lambda: application.start_update(key, owner=BOB)),
    ("saved_report", "run_id"): lambda key: application.saved_report(key, owner=BOB),
    ("turns", "conversation"): lambda key: application.turns(key, owner=BOB),
    ("update_conversation", "conversation"): lambda key: application.update_conversation(
        key, title="Bob's", pinned=True, owner=BOB
    ),
    ("set_tags", "conversation"): lambda key: application.set_tags(key, ["Bob's"], owner=BOB),
    ("move_to_bin", "conversation"): lambda key: application.move_to_bin(key, owner=BOB),
    ("restore_from_bin", "conversation"): lambda key: application.restore_from_bin(key, owner=BOB),
    ("delete_conversation", "conversation"): lambda key: application.delete_conversation(key, owner=BOB),
}
TAKEN = {
    ("start_run", "run_id"),
    ("start_database_run", "run_id"),
    ("start_table", "run_id"),
}  # those that name an id to be made
LISTS: dict[str, Callable[[str], Any]] = {  # what an owner has
    "recent_runs": lambda owner: application.recent_runs(owner=owner),
    "conversations": lambda owner: application.conversations(owner=owner),
    "search_history": lambda owner: application.search_history("secret", owner=owner).entries,
    "tags": lambda owner: application.tags(owner=owner),
    "bin_entries": lambda owner: application.bin_entries(owner=owner),
    "watches": lambda owner: application.watches(owner=owner),
    "find_watch": lambda owner: application.find_watch("Ann's secret?", owner=owner) or (),
    "recorded_places": lambda owner: application.recorded_places(owner=owner),
    "confirmed_statements": lambda owner: application.confirmed_statements(owner=owner),
    "preferences": lambda owner: application.preferences(owner=owner),
    "estimate_usage": lambda owner: application.estimate_usage(LIBRARY, owner=owner).runs,
    "choices": lambda owner: [one for one in application.choices(owner=owner) if one.is_chosen],
    "key_statuses": lambda owner: [
        one for one in application.key_statuses(owner=owner) if one.location in ("session", "machine")
    ],
    "notebooks": lambda owner: application.notebooks(owner=owner),
    "daily_usage": lambda owner: application.daily_usage(since=MADE, owner=owner),
}
OWN = {
    "search_around",
    "find_places",
    "find_route",
    "plan_itinerary",
    "distances",
    "restore_report",
    "start_database_run",
    "confirm_statement",
    "remove_confirmed_statement",
    "add_to_notebook",  # with the next three: test_notebooks
    "remove_from_notebook",
    "rename_notebook",
    "delete_notebook",
    "set_preference",
    "save_choices",
    "reset_choices",
    "add_keys",
    "delete_key",
    "get_services",
    "readiness",
    "build_itinerary",
    "places_quota",
    "check_connections",
    "check_key",
    "compare_models",
    "model_roles",
    "start_data_export",  # with the next two: test_exporting
    "get_data_export",
    "discard_data_export",
    "delete_owner_data",  # test_wiping
    "record_sign_out",  # with the next one: test_sign_outs
    "is_signed_out",
    "empty_bin",
}  # what one does for oneself
NOBODYS = {  # the desk's own, and what is the same for all
    "get_application", "close", "tune_garbage_collector", "warm", "storage_usage", "set_aside_damaged_file", "known_sources",
    "refused_sources", "web_providers", "sample_places",
}  # fmt: skip


def kin(run: Run) -> tuple[str, str]:
    """What a run has from others."""
    return run.based_on, run.follows


def refused(ask: Callable[[], object]) -> str:
    """What somebody is told whose wish cannot be granted."""
    try:
        return str(ask())
    except UnwatchableTopicError as error:
        return str(error)


def public() -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(value)
        for name, value in inspect.getmembers(application, inspect.isfunction)
        if value.__module__ == application.__name__ and not name.startswith("_")
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A desk with runs of Ann's in every state, and nothing of Bob's."""
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "30")  # Bob's own runs do nothing meanwhile
    application.close()
    for status in ("done", "stopped", "failed", "waiting"):
        add(status)
    application.get_application().runs.store.add_watch("ann-done")
    used = Usage(stage="write", model="Ann's model").model_dump(mode="json")
    application.get_application().runs.store.append_events("ann-stopped", [(MADE, parse_event("usage", used))])
    application.confirm_statement("Ann's secret?", "SELECT 1", owner=ANN)
    application.set_preference("model", "Ann's", owner=ANN)
    application.add_to_notebook("Ann's notebook", ["secret.md"], owner=ANN)
    assert application.save_choices({"NUMBER_OF_INITIAL_QUERIES": "7"}, owner=ANN) == {}
    assert application.add_keys({"TAVILY_API_KEY": "sentinel-of-ann"}, owner=ANN) == {}
    application.set_tags("talk-done", ["Ann's tag"], owner=ANN)
    add("stopped", "binned")
    application.move_to_bin("talk-binned", owner=ANN)
    assert application.save_remark("ann-done", "Ann's secret note", owner=ANN)
    yield tmp_path
    application.close()


def add(status: Any, name: str = "") -> None:
    name = name or status
    store = application.get_application().runs.store
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
        title="Ann's secret", language="en", author="Scripted, no model", made=MADE,
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
    assert application.get_run("ann-done", owner=ANN) is not None
    assert application.report("ann-done", owner=ANN) is not None
    assert len(application.events("ann-done", owner=ANN)) == 2
    assert len(application.turns("talk-done", owner=ANN)) == 1
    more = application.start_run("Q?", options=LIBRARY, follows="ann-done", owner=ANN)
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
    run = application.start_run("When is the Palace Museum open?", options=LIBRARY, owner=ANN)
    application.stop_run(run.id, owner=BOB)
    application.stop_run(run.id, write_only=True, owner=BOB)
    application.delete_conversation(run.conversation, owner=BOB)
    now = application.get_run(run.id, owner=ANN)
    assert now is not None
    assert now.is_active


def test_an_id_that_is_taken_is_refused_without_a_word_of_whose_it_is(folder: Path) -> None:
    before = rows(folder)
    with pytest.raises(ValueError, match="leave it out") as refused:
        application.start_run("Mine?", options=LIBRARY, run_id="ann-done", owner=BOB)
    assert "Ann" not in str(refused.value)
    assert rows(folder) == before


def test_what_somebody_has_chosen_and_brought_is_for_nobody_else(folder: Path) -> None:
    assert application.get_services(owner=ANN).default_options().queries == 7
    assert application.readiness(owner=ANN)["news"].state == "live"
    assert (
        application.get_services(owner=BOB).default_options().queries
        == application.get_services().default_options().queries
        == 3
    )
    assert application.readiness(owner=BOB)["news"].state == "missing"
    application.reset_choices(owner=BOB)
    application.delete_key("TAVILY_API_KEY", owner=BOB)
    assert application.get_services(owner=ANN).default_options().queries == 7
    assert application.readiness(owner=ANN)["news"].state == "live"


def test_what_is_looked_up_on_the_map_is_its_owner_s(folder: Path) -> None:
    application.search_around("王府井", "公园", 2_000, owner=ANN)
    assert len(application.recorded_places(owner=ANN)) > 4
    assert application.recorded_places(owner=BOB) == []


def test_a_statement_that_somebody_has_confirmed_answers_nobody_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application.close()
    monkeypatch.delenv("SIGHTLINE_SEARCH_DELAY")
    question = "Which area is the dearest of all by far?"
    application.confirm_statement(question, "SELECT 42 AS n", owner=ANN)

    def asked(owner: str) -> str | None:
        run = application.start_database_run(question, owner=owner)
        assert [*application.follow_run(run.id, owner=owner)]
        report = application.report(run.id, owner=owner)
        assert report is not None
        (finding,) = report.findings
        return finding.rows.sql if finding.rows else None

    assert asked(ANN) == "SELECT 42 AS n LIMIT 1001"
    assert asked(BOB) is None
    application.remove_confirmed_statement(question, owner=BOB)
    assert (question, "SELECT 42 AS n") in application.confirmed_statements(owner=ANN)
    application.remove_confirmed_statement(question, owner=ANN)
    assert (question, "SELECT 42 AS n") not in application.confirmed_statements(owner=ANN)


def test_the_local_user_is_nobody_who_signs_in(folder: Path) -> None:
    assert application.recent_runs() == []
    assert application.get_run("ann-done") is None
