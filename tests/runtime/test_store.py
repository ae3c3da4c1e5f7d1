"""What the store keeps, and that it comes back equal."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from research.core.events import StatusChanged, parse_event
from research.core.records import (
    Answer,
    Evidence,
    Failure,
    Finding,
    Part,
    Passage,
    PassageReference,
    Place,
    Plan,
    Reflection,
    Run,
    RunOptions,
    Span,
    Task,
    Usage,
)
from research.storage import statements as sql
from research.storage import tables
from research.storage.evidence_store import CACHE_RETENTION
from research.storage.ledger import RunLedger
from research.storage.run_store import REQUEST_STOP, REQUEST_WRITE, RunClaimedError
from research.storage.sqlite_files import SQLiteFile, StoreError
from research.storage.store import Store
from research.storage.write_batcher import WriteBatcher

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TASK = Task(id="1.1", source="web", query="塔 “tower”", part="p1", subject=("塔", "Tower"), purpose="x")
PASSAGE = Passage(id="q", text="塔高 72 米。\n", start=3, end=11, heading="Height", page=2, title="塔")
WORDING = Passage(id="g", origin="grounding", text="The tower is 72 m high.", end=23)
EVIDENCE = Evidence(
    id="e1", kind="web", title="塔", url="https://example.org/a", locator="a", language="zh",
    retrieved=NOW, published=date(2025, 12, 31), sample=True, url_expires=True,
    passages=(PASSAGE, WORDING),
)  # fmt: skip
FAILURE = Failure(stage="summarise", source="web", query="q", reason="cut off", hint="context", message="…")
FINDING = Finding(
    task=TASK, evidence=(EVIDENCE,), started=NOW, seconds=0.5, message="shortened", provider="gemini",
    summary=(Span(kind="text", text="72 m.", references=(PassageReference(evidence="e1", passage="g", end=4),)),),
    provider_queries=("tower height", "塔高"), suggestions="<b>塔</b>", failures=(FAILURE,),
)  # fmt: skip
PLAN = Plan(
    parts=(Part(id="p1", subject="塔", text="高度"),), tasks=(TASK,), notes=("n",),
    failures=(FAILURE,),
)  # fmt: skip
REFLECTION = Reflection(round=1, sufficient=False, gap=("高度",), follow_ups=(TASK,), note="…", failures=(FAILURE,))
ANSWER = Answer(
    title="塔？", language="zh", author="Scripted", created=NOW,
    spans=(Span(kind="quote", text="塔高 72 米。", references=(PassageReference(evidence="e1", passage="q", end=8),)),),
    failures=(Failure(source="web", query="q", reason="quota", message="used up"), FAILURE),
    placeholder=True, suggestions=("<b>塔</b>",),
)  # fmt: skip
USAGE = Usage(stage="write", model="gemini:m", input=900, cached=100, output=70, searches=2, cost=0.0123)


def run(run_id: str = "one", **more: object) -> Run:
    values = {
        "id": run_id, "conversation": "talk", "owner": "ann", "question": "塔？",
        "options": RunOptions(queries=2), "status": "queued", "created": NOW, **more,
    }  # fmt: skip
    return Run.model_validate(values)


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    made = Store(place)
    yield made
    made.close()


def search(store: Store, finding: Finding = FINDING, run_id: str = "one") -> None:
    store.finish_search(store.start_search(run_id, finding.task), "talk", finding)


def test_a_run_comes_back_as_it_was_added(store: Store) -> None:
    added = run(based_on="earlier")
    store.add_run(added, PLAN, "engine")
    assert store.get_run("one") == added
    assert store.given_plan("one") == PLAN
    assert store.get_run("two") is None
    assert store.given_plan("two") is None


def test_everything_a_run_has_to_show_comes_back_equal(store: Store) -> None:
    store.add_run(run(), None, "engine")
    search(store)
    store.save_outcome("one", PLAN, [REFLECTION], ANSWER)
    found = store.report(run())
    assert (found.plan, found.findings, found.reflections, found.answer, found.evidence) == (
        PLAN, (FINDING,), (REFLECTION,), ANSWER, (EVIDENCE,),
    )  # fmt: skip
    assert {found.findings[0]: 1, found.answer: 2}  # still hashable: tuples stayed tuples


def test_a_run_that_has_nothing_yet_has_an_empty_report(store: Store) -> None:
    store.add_run(run(), None, "engine")
    found = store.report(run())
    assert (found.plan, found.findings, found.reflections, found.answer) == (None, (), (), None)


def test_events_are_numbered_within_their_run_across_calls(store: Store) -> None:
    for run_id in ("one", "two"):
        store.add_run(run(run_id), None, "engine")
    for n in range(3):
        store.append_events("one", [(NOW, parse_event("a", {"n": n})), (NOW, parse_event("b", {"text": "塔\u2028"}))])
        store.append_events("two", [(NOW, parse_event("c", {}))])
    assert [(e.seq, e.kind) for e in store.events("one", 4)] == [(5, "a"), (6, "b")]
    assert [e.seq for e in store.events("two")] == [1, 2, 3]
    assert store.events("one")[1].data == parse_event("b", {"text": "塔\u2028"})
    assert store.events("one")[0].time == NOW


def test_a_status_comes_with_its_event_or_not_at_all(store: Store) -> None:
    store.add_run(run(), None, "engine")
    with pytest.raises(TypeError):
        store.append_events("one", [(NOW, parse_event("status", {"status": object()}))], "done")
    assert store.events("one") == []
    store.append_events("one", [(NOW, parse_event("status", {"status": "running"}))], "running")
    assert (found := store.get_run("one")) and (found.status, found.finished) == ("running", None)
    store.append_events("one", [(NOW, parse_event("status", {"status": "failed"}))], "failed", "why")
    assert (found := store.get_run("one")) and (found.status, found.error) == ("failed", "why")
    assert found.finished is not None
    assert found.finished.tzinfo is not None


def test_writers_in_several_threads_leave_no_gap_in_the_events(store: Store) -> None:
    store.add_run(run(), None, "engine")
    threads = [
        threading.Thread(target=lambda: [store.append_events("one", [(NOW, parse_event("x", {}))]) for _ in range(20)])
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [event.seq for event in store.events("one")] == list(range(1, 101))


def test_an_event_of_an_unknown_run_is_refused(store: Store) -> None:
    with pytest.raises(store.database.driver_errors) as caught:
        store.append_events("nothing", [(NOW, parse_event("x", {}))])
    assert "IntegrityError" in {kind.__name__ for kind in type(caught.value).__mro__}
    assert store.events("nothing") == []


def test_deleting_a_conversation_deletes_all_that_is_its_own(store: Store) -> None:
    store.add_run(run(), None, "engine")
    store.append_events("one", [(NOW, parse_event("x", {}))])
    search(store)
    store.save_outcome("one", PLAN, [], ANSWER)
    store.delete_conversation("talk", "ann")
    assert (store.get_run("one"), store.events("one"), store.searches("one")) == (None, [], [])
    assert store.report(run()).answer is None


@pytest.mark.parametrize("status", ["stopped", "interrupted", "failed"])
def test_only_one_of_several_callers_gets_a_run_to_resume(status: str, store: Store) -> None:
    store.add_run(run(status=status), None, "dead")
    assert [store.claim_run("one", engine) for engine in ("a", "b")] == [True, False]
    assert store.runs_by_engine() == {"a": ["one"]}


@pytest.mark.parametrize("status", ["queued", "running", "done"])
def test_a_run_that_goes_on_or_is_done_cannot_be_claimed(status: str, store: Store) -> None:
    store.add_run(run(status=status), None, "first")
    assert not store.claim_run("one", "second")


def test_a_request_to_stop_reaches_the_engine_of_the_run_and_ends_with_it(store: Store) -> None:
    store.add_run(run(), None, "a")
    store.add_run(run("two"), None, "b")
    store.request_stop("one")
    assert store.run_requests() == [("one", "a", REQUEST_STOP)]
    store.append_events("one", [], "stopped")
    assert store.run_requests() == []
    store.claim_run("one", "a")
    assert store.run_requests() == []
    store.append_events("one", [], "stopped")
    store.claim_run("one", "c", write_only=True)
    assert store.run_requests() == [("one", "c", REQUEST_WRITE)]


def test_who_has_lost_a_run_writes_nothing_more(store: Store) -> None:
    store.add_run(run(), None, "a")
    assert store.append_events("one", [(NOW, parse_event("x", {}))], engine="a") == 1
    store.append_events("one", [], "interrupted")
    store.claim_run("one", "b")
    with pytest.raises(RunClaimedError):
        store.append_events("one", [(NOW, parse_event("y", {}))], "done", engine="a")
    assert store.append_events("one", [(NOW, parse_event("z", {}))], engine="b") == 2
    assert [event.kind for event in store.events("one")] == ["x", "z"]
    store.delete_conversation("talk", "ann")
    with pytest.raises(RunClaimedError):
        store.append_events("one", [(NOW, parse_event("y", {}))], engine="b")


def test_runs_of_an_owner_are_listed_newest_first(store: Store) -> None:
    for n, owner in enumerate(["ann", "bob", "ann"]):
        store.add_run(run(f"r{n}", owner=owner, created=NOW.replace(minute=n)), None, "e")
    assert [r.id for r in store.runs("ann")] == ["r2", "r0"]
    assert [r.id for r in store.runs("ann", 1)] == ["r2"]
    assert store.runs("carl") == []


def test_what_the_calls_of_a_run_used_comes_back_in_order(store: Store) -> None:
    for run_id in ("one", "two"):
        store.add_run(run(run_id), None, "engine")
    unpriced = USAGE.model_copy(update={"cost": None, "stage": "check"})
    for usage in (USAGE, unpriced, USAGE):
        store.append_events(
            "one", [(NOW, parse_event("usage", usage.model_dump(mode="json"))), (NOW, parse_event("text", {}))]
        )
    assert store.report(run()).usage == (USAGE, unpriced, USAGE)
    assert store.report(run("two")).usage == ()


def test_what_an_earlier_version_stored_is_read(tmp_path: Path) -> None:
    """It knew no models: no hints, no stages of failures, no summaries and no usage."""
    store = Store(tmp_path / "runs.db")
    store.add_run(run(), None, "engine")
    task = '{"id":"1.1","round":1,"source":"library","query":"塔","part":"p1","subject":[],"why":""}'
    failure = '{"source":"library","query":"塔","reason":"timeout","message":"no answer"}'
    span = '{"kind":"quote","text":"塔","cites":[{"evidence":"e","passage":"q","start":0,"end":1}],"part":"p1","unsourced":false}'
    answer = (
        '{"title":"塔？","language":"zh","author":"摘录","spans":[' + span + '],"failures":['
        + failure + '],"sample":true,"made":"2026-01-02T03:04:05Z"}'
    )  # fmt: skip
    with closing(sqlite3.connect(tmp_path / "runs.db")) as db, db:
        db.execute("update run set options=?", ('{"queries":3,"loops":2,"sources":["library"]}',))
        db.execute(
            "insert into answer values('one', ?, '[]', ?, ?)",
            (
                '{"parts":[],"tasks":[' + task + '],"edited":false,"notes":[]}',
                answer,
                NOW.isoformat(),
            ),
        )
    found = store.get_run("one")
    assert found is not None
    assert found.options == RunOptions(sources=("library",))
    shown = store.report(found)
    assert shown.answer is not None
    assert shown.answer.quote_count == shown.answer.cited_span_count == 1
    assert shown.answer.failures == (Failure(source="library", query="塔", reason="timeout", message="no answer"),)
    assert shown.plan is not None
    assert shown.plan.failures == ()
    store.close()


# Searches


def test_a_search_is_listed_from_its_start(store: Store) -> None:
    store.add_run(run(), None, "engine")
    number = store.start_search("one", TASK)
    assert [(s["query"], s["finished"]) for s in store.searches("one")] == [(TASK.query, None)]
    assert store.find_finding(["one"], TASK.key) is None
    store.finish_search(number, "talk", FINDING)
    assert store.find_finding(["one"], TASK.key) == ("one", FINDING)
    assert store.searches("one")[0]["finished"] is not None


@pytest.mark.parametrize(("reason", "known"), [("empty", True), ("timeout", False), ("quota", False)])
def test_what_failed_is_tried_again_and_what_found_nothing_is_not(reason: str, known: bool, store: Store) -> None:
    store.add_run(run(), None, "engine")
    failed = Finding.model_validate({"task": TASK, "reason": reason, "started": NOW})
    search(store, failed)
    assert (store.find_finding(["one"], TASK.key) is not None) == known


def test_evidence_of_one_address_is_one_piece_in_a_conversation(store: Store) -> None:
    store.add_run(run(), None, "engine")
    other = EVIDENCE.model_copy(
        update={"url": "https://EXAMPLE.org/a#top", "passages": (Passage(id="r", text="More."),)}
    )
    search(store)
    search(store, FINDING.model_copy(update={"evidence": (other,)}))
    found = store.evidence("talk")
    assert [[p.id for p in item.passages] for item in found] == [["q", "g", "r"]]
    assert store.evidence("another talk") == []


def recalled(store: Store, of: Run, task: Task) -> Finding | None:
    async def recall() -> Finding | None:
        return await RunLedger(store, WriteBatcher(store.database), of).find(task)

    return asyncio.run(recall())


def test_a_ledger_recalls_what_its_run_found_and_what_the_run_before_found(store: Store) -> None:
    store.add_run(run(), None, "engine")
    store.add_run(run("two", based_on="one"), None, "engine")
    store.add_run(run("three"), None, "engine")
    search(store)
    asked = TASK.model_copy(update={"id": "2.7", "part": "p9"})
    expected = FINDING.model_copy(update={"task": asked, "reused": True})
    assert recalled(store, run(), asked) == expected
    assert recalled(store, run("two", based_on="one"), asked) == expected
    assert recalled(store, run("three"), asked) is None
    assert len(store.searches("one")) == 1
    assert store.report(run("two")).findings == (expected,)


def test_a_reused_finding_is_noted_once_however_often_it_is_recalled(store: Store) -> None:
    store.add_run(run(), None, "engine")
    second = run("two", based_on="one")
    store.add_run(second, None, "engine")
    search(store)
    for _ in range(3):
        recalled(store, second, TASK)
    assert len(store.searches("two")) == 1


# Places


def park(n: int, retrieved: datetime = NOW, **more: object) -> Evidence:
    spot = Place(id=f"B{n:09}", name=f"Park {n}", lng=116.4, lat=39.9, provider="amap", **more)  # type: ignore[arg-type]
    url = f"https://www.amap.com/place/{spot.id}"
    line = Passage(id=f"p{n}", text=spot.name, end=len(spot.name))
    return Evidence(
        id=f"e{n}", kind="place", title=spot.name, url=url, locator=spot.id, retrieved=retrieved,
        passages=(line,), place=spot,
    )  # fmt: skip


def on_map(store: Store, run_id: str, *parks: Evidence, talk: str = "", owner: str = "me") -> None:
    """A run that has found some parks, a day later for each further letter of its id."""
    made = NOW + timedelta(days=len(run_id))
    more = {"owner": owner, "conversation": talk or f"talk of {run_id}", "created": made}
    store.add_run(run(run_id, **more), None, "engine")
    finding = FINDING.model_copy(update={"evidence": parks})
    store.finish_search(store.start_search(run_id, TASK), str(more["conversation"]), finding)


def sighted(store: Store, owner: str = "me") -> list[tuple[str, tuple[str, ...]]]:
    return [(seen.place.name, seen.runs) for seen in store.recorded_places(owner)]


def test_a_place_is_listed_once_with_the_runs_that_found_it_the_newest_first(
    store: Store,
) -> None:
    later = NOW + timedelta(hours=1)
    on_map(store, "a", park(1), park(2))
    on_map(store, "bb", park(1, later), park(3, NOW - timedelta(hours=1)))
    assert sighted(store) == [("Park 1", ("bb", "a")), ("Park 2", ("a",)), ("Park 3", ("bb",))]
    first = store.recorded_places("me")[0]
    assert (first.retrieved, first.questions) == (later, (run().question,) * 2)
    assert first.url == "https://www.amap.com/place/B000000001"


def test_places_are_their_owner_s(store: Store) -> None:
    on_map(store, "a", park(1))
    on_map(store, "b", park(2), owner="you")
    store.add_evidence(store.place_registry("you"), [park(3)])
    assert sighted(store) == [("Park 1", ("a",))]
    assert sorted(sighted(store, "you")) == [("Park 2", ("b",)), ("Park 3", ())]
    assert sighted(store, "nobody") == []


def test_a_place_that_was_looked_up_by_itself_has_no_run(store: Store) -> None:
    store.add_evidence(store.place_registry("me"), [park(1), park(2)])
    on_map(store, "a", park(2))
    assert sorted(sighted(store)) == [("Park 1", ()), ("Park 2", ("a",))]


def test_what_is_known_of_a_place_is_what_was_found_last(store: Store) -> None:
    on_map(store, "a", park(1, NOW + timedelta(days=3), rating=4.9))
    on_map(store, "b", park(1, NOW, rating=4.1))
    (seen,) = store.recorded_places("me")
    assert seen.place.rating == 4.9


def test_evidence_that_is_no_place_is_no_sighting(store: Store) -> None:
    way = park(1).model_copy(update={"id": "way", "url": "", "locator": "way", "place": None})
    on_map(store, "a", EVIDENCE, way)
    assert store.recorded_places("me") == []


def test_the_places_of_a_deleted_conversation_are_gone(store: Store) -> None:
    on_map(store, "a", park(1))
    store.delete_conversation("talk of a", "me")
    assert store.recorded_places("me") == []


# Answers of services


def test_an_answer_is_recalled_until_it_is_older_than_asked_for(store: Store) -> None:
    store.cache_answer("k", {"pois": [{"name": "公园"}], "n": 1.5}, NOW)
    assert store.get_cached_answer("k", NOW) == ({"pois": [{"name": "公园"}], "n": 1.5}, NOW)
    assert store.get_cached_answer("k", NOW + timedelta(microseconds=1)) is None
    assert store.get_cached_answer("other", NOW - timedelta(days=1)) is None
    store.cache_answer("k", {"n": 2}, NOW + timedelta(hours=1))
    assert store.get_cached_answer("k", NOW) == ({"n": 2}, NOW + timedelta(hours=1))


def test_times_of_other_zones_are_compared_as_what_they_are(store: Store) -> None:
    beijing = timezone(timedelta(hours=8))
    store.cache_answer("k", {"n": 1}, NOW.astimezone(beijing))
    assert store.get_cached_answer("k", NOW.astimezone(timezone(-timedelta(hours=5)))) == ({"n": 1}, NOW)
    assert store.get_cached_answer("k", NOW + timedelta(seconds=1)) is None


def test_an_answer_that_nobody_may_use_any_more_goes_with_the_next_one(store: Store) -> None:
    store.cache_answer("old", {"n": 1}, NOW)
    store.cache_answer("young", {"n": 2}, NOW + timedelta(days=2))
    store.cache_answer("new", {"n": 3}, NOW + CACHE_RETENTION + timedelta(seconds=1))
    long_ago = NOW - timedelta(days=400)
    assert store.get_cached_answer("old", long_ago) is None
    assert store.get_cached_answer("young", long_ago) is not None


def test_an_answer_with_half_a_character_is_kept(store: Store) -> None:
    store.cache_answer("k", {"name": "\ud83c park"}, NOW)
    assert store.get_cached_answer("k", NOW) == ({"name": "? park"}, NOW)


def test_an_account_is_of_a_name_and_a_day_and_counts_in_every_thread(store: Store, place: Path | str) -> None:
    other = Store(place)

    def count(on: Store) -> None:
        for _ in range(20):
            on.increment_counter("amap", "2026-01-02")

    threads = [threading.Thread(target=count, args=(on,)) for on in (store, other) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.increment_counter("amap", "2026-01-03")
    other.close()
    assert store.get_counter("amap", "2026-01-02") == 80
    assert store.get_counter("amap", "2026-01-03") == 1
    assert store.get_counter("another", "2026-01-02") == 0


# The file


def test_what_somebody_has_chosen_is_kept_until_it_is_taken_back(store: Store) -> None:
    store.set_preference("ann", "sources", ["web", "资料库"])
    store.set_preference("ann", "queries", 3)
    store.set_preference("ann", "queries", 4)
    store.set_preference("bob", "queries", 9)
    assert store.preferences("ann") == {"sources": ["web", "资料库"], "queries": 4}
    store.set_preference("ann", "queries", None)
    store.set_preference("ann", "never chosen", None)
    assert store.preferences("ann") == {"sources": ["web", "资料库"]}
    assert store.preferences("carl") == {}


def test_a_choice_that_cannot_be_read_counts_as_none(store: Store) -> None:
    store.set_preference("ann", "queries", 3)
    with store.database.transaction() as work:
        work.execute(sql.SAVE_PREFERENCE, owner="ann", name="spoilt", value="{")
    assert store.preferences("ann") == {"queries": 3}


def test_a_corrupt_store_is_named_and_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5_000)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"runs\.db is damaged"):
        Store(path)
    assert path.read_bytes() == before


def test_a_file_of_the_first_version_is_brought_up_to_date_with_what_it_holds(
    tmp_path: Path,
) -> None:
    """Written as the first version wrote it, without the tables that came later."""
    path = tmp_path / "runs.db"
    first = SQLiteFile(path, tables.SQLITE_MIGRATIONS[:1])
    with first.transaction() as db:
        db.execute(
            "insert into run(id, conversation, owner, question, options, status, created) "
            "values('one', 'talk', 'ann', '塔？', '{}', 'done', ?)",
            (NOW.isoformat(),),
        )
        db.execute(
            "insert into event values('one', 1, ?, 'status', '{\"status\": \"done\"}')",
            (NOW.isoformat(),),
        )
    assert first.read("pragma user_version") == [(1,)]
    first.close()
    with closing(Store(path)) as store:
        assert store.get_run("one") == run(status="done", options=RunOptions())
        assert [event.data for event in store.events("one")] == [StatusChanged(status="done")]
        assert store.append_events("one", [(NOW, parse_event("x", {}))]) == 2
        store.increment_counter("amap", "2026-01-02")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma user_version").fetchone() == (len(tables.SQLITE_MIGRATIONS),)


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    SQLiteFile(path, (*tables.SQLITE_MIGRATIONS, "create table later(n integer);")).close()
    with pytest.raises(StoreError, match="newer version of Sightline"):
        Store(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma user_version").fetchone() == (len(tables.SQLITE_MIGRATIONS) + 1,)


def test_two_openings_of_one_store_see_each_other_at_once(store: Store, place: Path | str) -> None:
    other = Store(place)
    store.add_run(run(), None, "engine")
    other.append_events("one", [(NOW, parse_event("x", {}))], "running")
    found = store.get_run("one")
    assert found is not None
    assert found.status == "running"
    assert len(store.events("one")) == 1
    other.close()
