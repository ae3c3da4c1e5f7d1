"""Deleting everything of one owner: nothing of it is left in any file, and others keep theirs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from research import close_application, detect_tables, get_application
from research.accounts import deletion
from research.accounts.deletion import DELETE_STATEMENTS, OWNERLESS_TABLES
from research.citations.registry import evidence_id
from research.core.events import parse_event
from research.core.records import Answer, Evidence, Finding, Passage, Plan, Run, RunOptions, Span, Task
from research.storage import tables
from research.storage.sqlite_files import StoreError
from tests.fakes import until

ANN, BOB = "user-ann", "user-bob"
SECRET, OTHER = "Quokkaberg-Zwölf", "Numbatfels-Elf"
MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LIBRARY = RunOptions(loops=1, sources=("library",))


@pytest.fixture
def desk(tmp_path: Path, place: Path | str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A desk of its own, with the runs in a file or on a server."""
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "data"
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(folder))
    if isinstance(place, str):
        monkeypatch.setenv("STORE_URL", place)
    close_application()
    yield folder
    close_application()


def put(owner: str, secret: str) -> None:
    """Something of an owner's in every table."""
    store = get_application().runs.store
    run = Run(
        id=f"run-{owner}", conversation=f"talk-{owner}", owner=owner, question=secret,
        options=LIBRARY, status="done", created=MADE, finished=MADE,
    )  # fmt: skip
    store.add_run(run, Plan(tasks=(Task(id="1", source="library", query=secret),)), "")
    store.append_events(run.id, [(MADE, parse_event("plan", {"text": secret}))])
    found = Evidence(
        id=evidence_id("web", "https://example.org", secret), kind="web", title=secret,
        url="https://example.org", language="en", retrieved=MADE,
        passages=(Passage(id="p", text=secret * 40, end=len(secret) * 40),),
    )  # fmt: skip
    task = Task(id="1", source="library", query=secret)
    finding = Finding(task=task, evidence=(found,), started=MADE)
    store.finish_search(store.start_search(run.id, task), run.conversation, finding)
    store.add_evidence(store.place_registry(owner), [found])
    answer = Answer(
        title=secret, language="en", author="nobody", created=MADE,
        spans=(Span(kind="text", text=secret),),
    )  # fmt: skip
    store.save_outcome(run.id, None, (), answer)
    store.save_step_result(run.id, "preface", secret)
    for passage in ("", "p"):
        assert get_application().runs.save_remark(
            run.id, secret, evidence=passage and found.id, passage=passage, owner=owner
        )
    store.update_conversation(run.conversation, owner, title=secret, pinned=True)
    store.add_watch(run.id)
    store.set_preference(owner, "word", secret)
    get_application().databases.confirm_statement(secret, f"SELECT '{secret}'", owner=owner)
    get_application().store.add_to_notebook(owner, f"About {secret}", [f"{secret}.md", "tower.md"])


def left(folder: Path, place: Path | str, secret: str) -> list[str]:
    """Where the bytes of a secret are: in which files, and in which tables of a server."""
    found = [
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and secret.encode() in file.read_bytes()
    ]
    if isinstance(place, str):
        import psycopg

        from tests.servers.postgres import PASSWORD, USER

        to = urlsplit(place)
        with psycopg.connect(
            host=to.hostname, port=to.port, user=USER, password=PASSWORD, dbname=to.path[1:]
        ) as server:
            for name in tables.metadata.tables:
                rows = server.execute(f"select * from {name}").fetchall()
                found += [name] if secret in str(rows) else []
    return found


def test_every_table_is_somebody_s_or_named_as_nobody_s() -> None:
    assert set(DELETE_STATEMENTS) | OWNERLESS_TABLES == set(tables.metadata.tables)
    assert set(DELETE_STATEMENTS) & OWNERLESS_TABLES == set()


def test_nothing_of_the_owner_is_left_and_others_keep_theirs(desk: Path, place: Path | str) -> None:
    put(ANN, SECRET)
    put(BOB, OTHER)
    file = desk.parent / "own.csv"
    for owner, secret in ((ANN, SECRET), (BOB, OTHER)):
        file.write_text(f"a,b\n1,{secret}\n", encoding="utf-8")
        get_application().databases.load_files([(file, detect_tables(file))], owner=owner)
    file.unlink()
    assert left(desk, place, SECRET)
    bob = get_application().runs.report(f"run-{BOB}", owner=BOB)
    done = get_application().delete_owner_data(owner=ANN)
    assert (done.runs, done.conversations, done.evidence) == (1, 1, 2)
    assert (done.watches, done.statements, done.preferences, done.uploads) == (1, 1, 1, 1)
    assert (done.notes, done.notebooks) == (2, 1)
    assert done.is_erased
    assert left(desk, place, SECRET) == []
    assert get_application().runs.recent_runs(owner=ANN) == []
    assert get_application().store.preferences(ANN) == {}
    assert (
        get_application().databases.uploads(owner=ANN) == ()
        and len(get_application().databases.uploads(owner=BOB)) == 1
    )
    assert get_application().databases.confirmed_statements(owner=ANN) == []
    assert get_application().store.notebooks(ANN) == {}
    assert get_application().runs.report(f"run-{BOB}", owner=BOB) == bob
    assert get_application().store.preferences(BOB) == {"word": OTHER}
    assert get_application().store.notebooks(BOB) == {f"About {OTHER}": (f"{OTHER}.md", "tower.md")}
    assert (
        len(get_application().databases.confirmed_statements(owner=BOB))
        == len(get_application().watches.all(owner=BOB))
        == 1
    )
    assert [talk.title for talk in get_application().store.conversations(BOB)] == [OTHER]


def test_what_is_everybody_s_goes_only_if_that_is_asked_for(desk: Path, place: Path | str) -> None:
    store, library = get_application().runs.store, get_application().library
    store.cache_answer("key", {"text": SECRET}, datetime.now(UTC))
    store.increment_counter("amap", "2026-01-02")
    list(library.add_files([("own.md", f"# {SECRET}\n\n{SECRET} is open all day.".encode())]))
    get_application().delete_owner_data(owner=ANN)
    assert left(desk, place, SECRET)
    assert store.get_cached_answer("key", MADE)
    samples = [entry for entry in library.list_all() if entry.is_sample]
    done = get_application().delete_owner_data(owner=ANN, include_caches=True, include_library=True)
    assert (done.cached_answers, done.documents) == (1, 1)
    assert left(desk, place, SECRET) == []
    assert library.list_all() == samples
    assert library.search("Palace Museum")
    assert library.search(SECRET) == []
    assert store.get_counter("amap", "2026-01-02") == 1  # what a key has used today stays counted


def test_a_run_under_way_is_stopped_first_with_its_checkpoints(
    desk: Path, place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "30")
    mine = get_application().runs.start(f"When is the {SECRET} open?", options=LIBRARY, owner=ANN)
    theirs = get_application().runs.start(f"When is the {OTHER} open?", options=LIBRARY, owner=BOB)
    for run, owner in ((mine, ANN), (theirs, BOB)):
        until(lambda run=run, owner=owner: any(  # type: ignore[misc]
            event.kind == "task_started" for event in get_application().runs.events(run.id, owner=owner)
        ))  # fmt: skip
    done = get_application().delete_owner_data(owner=ANN)
    assert done.runs == 1
    assert left(desk, place, SECRET) == []
    other = get_application().runs.get_run(theirs.id, owner=BOB)
    assert other is not None
    assert other.is_active


def test_saved_reports_are_deleted_too(desk: Path) -> None:
    limits = RunOptions(sections=1, reflections=0, sources=("library",))
    for owner in (ANN, BOB):
        run = get_application().start_report("How high is Mount Tai?", options=limits, owner=owner)
        list(get_application().runs.follow(run.id, owner=owner))
    folder = desk / "query_engine_streamlit_reports"
    assert len(list(folder.glob("*/deep_search_report_*.md"))) == 2
    assert get_application().delete_owner_data(owner=ANN).reports == 1
    (kept,) = folder.iterdir()
    path, _ = get_application().saved_report(run.id, owner=BOB)
    assert path and path.is_file() and path.parent == kept


def test_wiping_twice_finds_nothing_more(desk: Path) -> None:
    put(ANN, SECRET)
    get_application().delete_owner_data(owner=ANN)
    again = get_application().delete_owner_data(owner=ANN)
    assert (again.runs, again.evidence, again.preferences) == (0, 0, 0)


def test_a_file_that_another_program_reads_is_told(desk: Path, place: Path | str) -> None:
    if isinstance(place, str):
        pytest.skip("a server gives each reader a view of its own")
    import sqlite3
    from contextlib import closing

    put(ANN, SECRET)
    with closing(sqlite3.connect(desk / "runs.db", isolation_level=None)) as other:
        other.execute("begin")
        other.execute("select count(*) from run").fetchall()
        patience, deletion.BUSY_TIMEOUT_SECONDS = deletion.BUSY_TIMEOUT_SECONDS, 0.2
        try:
            done = get_application().delete_owner_data(owner=ANN)
        finally:
            deletion.BUSY_TIMEOUT_SECONDS = patience
        assert not done.is_erased
        assert get_application().runs.recent_runs(owner=ANN) == []
        other.execute("commit")
    assert get_application().delete_owner_data(owner=ANN).is_erased
    assert left(desk, place, SECRET) == []


def test_a_store_that_cannot_be_used_is_told(desk: Path, place: Path | str) -> None:
    if isinstance(place, str):
        pytest.skip("the file of a store")
    put(ANN, SECRET)
    close_application()
    (desk / "runs.db").write_bytes(b"no database " * 500)
    with pytest.raises(StoreError):
        get_application().delete_owner_data(owner=ANN)
