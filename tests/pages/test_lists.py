"""Lists of stored things: an entry of an unknown kind, or one that is damaged, takes no other with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from pages.shared import errors
from research import Run, RunOptions, get_application
from research.core.events import parse_event
from research.core.records import Language
from research.storage.history import RunKind, run_kind
from tests.catalogue import LANGUAGES, WORDS
from tests.pages import filled_table
from tests.pages.visitor import Visitor, shown
from tests.runtime.tampered import BAD, GOOD, TAMPERED, asked, put, tamper

Visit = Callable[..., Visitor]
KINDS: dict[str, RunOptions] = {  # a run of each kind, and of sources that have no kind of their own
    "question": RunOptions(),
    "several sources": RunOptions(sources=("web", "library")),
    "report": RunOptions(sections=3),
    "table": RunOptions(table=True),
    "database": RunOptions(sources=("database",)),
    "places": RunOptions(sources=("places",)),
    "papers": RunOptions(sources=("papers",)),
    "a source that is gone": RunOptions(sources=("a_package_of_yesterday",)),
    "no source": RunOptions(sources=()),
}
OF_RUNS = [name for name, (table, *_) in TAMPERED.items() if table == "run"]


def change(folder: Path, statement: str, *values: object, file: str = "runs.db") -> None:
    """Change what is stored, as another program might."""
    with closing(sqlite3.connect(folder / file)) as connection, connection:
        assert connection.execute(statement, values).rowcount


def add(name: str, options: RunOptions, age: int = 0) -> None:
    made = Run(
        id=name.replace(" ", "-"), conversation=name, owner="local", question=f"A run of {name}",
        options=options, status="done", created=datetime.now(UTC) - timedelta(minutes=age),
    )  # fmt: skip
    assert get_application().runs.store.add_run(made, None, "0" * 32)


def linked(visitor: Visitor) -> list[str]:
    return [link.proto.label for link in visitor.at.get("page_link")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_history_lists_filled_tables_with_all_else(visit: Visit, language: Language) -> None:
    put(get_application().runs.store, GOOD)
    filled_table.put(get_application().runs.store, language)
    visitor = visit("history")
    assert visitor.errors == []
    assert filled_table.ASKED[language] in visitor.words
    assert asked(GOOD) in visitor.words


def test_the_history_lists_a_run_of_every_kind(visit: Visit) -> None:
    assert {run_kind(options) for options in KINDS.values()} == set(get_args(RunKind))
    for age, (name, options) in enumerate(KINDS.items()):
        add(name, options, age)
    visitor = visit("history")
    assert visitor.errors == []
    assert linked(visitor)[: len(KINDS)] == [f"A run of {name}" for name in KINDS]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hologram", "", "数据", "<b>"])
def test_a_kind_that_this_version_does_not_know_is_listed(visit: Visit, folder: Path, kind: str) -> None:
    add("question", RunOptions())
    add("table", RunOptions(table=True), age=1)
    get_application().runs.search_history()
    change(folder, "update said set kind=? where run='question'", kind)
    visitor = visit("history")
    assert visitor.errors == [] and WORDS["history.unreadable"][1] not in visitor.words
    assert linked(visitor)[:2] == ["A run of question", "A run of table"]


@pytest.mark.slow
@pytest.mark.parametrize("what", OF_RUNS)
def test_a_run_that_cannot_be_read_says_so_in_the_history_and_the_others_stand(
    what: str, visit: Visit, folder: Path
) -> None:
    for run_id in (GOOD, BAD):
        put(get_application().runs.store, run_id)
    tamper(folder / "runs.db", what)
    visitor = visit("history")
    assert visitor.errors == []
    assert asked(GOOD) in linked(visitor) and asked(BAD) in visitor.words
    assert visitor.words.count(shown(WORDS["history.unreadable"][1])) == 1
    for page in ("ask", "news", "tables", "status", "library", "places", "database"):
        assert visit(page).errors == []


@pytest.mark.slow
def test_a_run_that_cannot_be_read_can_be_put_into_the_bin_restored_and_deleted(visit: Visit, folder: Path) -> None:
    for run_id in (GOOD, BAD):
        put(get_application().runs.store, run_id)
    tamper(folder / "runs.db", "a status of an unknown word")
    visit("history").press(f"delete_{BAD}")
    assert [entry.id for entry in get_application().runs.bin_entries()] == [BAD]
    visit("history", view="bin").press(f"restore_{BAD}")
    assert get_application().runs.bin_entries() == []
    visit("history").press(f"delete_{BAD}")
    visit("history", view="bin").press(f"forget_{BAD}")
    assert [entry.id for entry in get_application().runs.search_history().entries] == [GOOD]


@pytest.mark.parametrize("column", ["binned", "created"])
def test_what_lies_in_the_bin_is_listed_though_a_time_cannot_be_read(column: str, visit: Visit, folder: Path) -> None:
    for run_id in (GOOD, BAD):
        put(get_application().runs.store, run_id)
        get_application().runs.move_to_bin(run_id)
    table, key = ("conversation", "id") if column == "binned" else ("run", "id")
    change(folder, f"update {table} set {column}='some day' where {key}=?", BAD)
    visitor = visit("history", view="bin")
    assert visitor.errors == []
    assert asked(GOOD) in visitor.words and asked(BAD) in visitor.words


@pytest.mark.slow
@pytest.mark.parametrize("what", OF_RUNS)
def test_a_watched_topic_that_cannot_be_read_says_so_and_the_others_stand(
    what: str, visit: Visit, folder: Path
) -> None:
    store = get_application().runs.store
    for run_id in (GOOD, BAD):
        put(store, run_id)
        store.add_watch(run_id)
    tamper(folder / "runs.db", what)
    visitor = visit("news")
    assert visitor.errors == []
    assert asked(GOOD) in linked(visitor) and asked(BAD) in visitor.words
    assert shown(WORDS["history.unreadable"][1]) in visitor.words
    assert f"unwatch_{BAD}" in visitor.buttons
    visitor.press(f"unwatch_{BAD}")
    assert [watch.id for watch in get_application().watches.all()] == [GOOD]


def test_earlier_tables_stand_beside_one_that_cannot_be_read(visit: Visit, folder: Path) -> None:
    add("good table", RunOptions(table=True))
    add("bad table", RunOptions(table=True), age=1)
    change(folder, "update run set options='{}' || options where id='bad-table'")
    visitor = visit("tables")
    assert visitor.errors == [] and "A run of good table" in linked(visitor)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["added", "published"])
def test_documents_are_listed_though_the_time_of_one_cannot_be_read(column: str, visit: Visit, folder: Path) -> None:
    library = get_application().library
    texts = [(name, f"The text of {name} about towers.".encode()) for name in ("one.txt", "two.txt")]
    assert len([*library.add_files(texts)]) == 2
    change(folder, f"update document set {column}='some day' where name='one.txt'", file="library.db")
    visitor = visit("library")
    assert visitor.errors == []
    names = [*visitor.table("name")["name"]]
    assert {"one.txt", "two.txt"} <= set(names)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["[]", '{"question": 7}', "{", '{"count": "many"}'])
def test_a_report_is_read_though_what_was_said_to_its_run_cannot_be(data: str, visit: Visit, folder: Path) -> None:
    store = get_application().runs.store
    put(store, GOOD)
    store.append_events(GOOD, [(datetime.now(UTC), parse_event(kind, {})) for kind in ("unclear", "instruction")])
    change(folder, "update event set data=? where kind in ('unclear', 'instruction')", data)
    assert visit(run=GOOD).blocks("quote")
    assert visit("history").errors == []


def test_events_with_reasons_of_a_later_version_are_drawn(visit: Visit, folder: Path) -> None:
    put(get_application().runs.store, GOOD)
    for name, value in (("reason", "out of ink"), ("hint", "pray")):
        change(
            folder,
            f"update event set data=json_set(data, '$.{name}', ?) where kind='task_finished'", value,
        )  # fmt: skip
    assert "out of ink" in visit(run=GOOD).words


def test_an_entry_that_cannot_be_drawn_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong in drawing one, the loop that draws the list goes on."""
    from streamlit.testing.v1 import AppTest

    def page() -> None:
        import streamlit as st

        from pages.shared import errors

        for n in (1, 2, 3):
            with errors.catch_row_errors(), st.container():
                st.markdown(f"entry {n} of {1 / (n - 2):.0f}")

    at = AppTest.from_function(page).run()
    assert [item.value for item in at.markdown] == ["entry 1 of -1", "entry 3 of 1"]
    assert len(at.caption) == 1 and len(at.exception) == 0
    number = at.caption[0].value.split()[-1].rstrip(".")
    assert f"error {number}" in caplog.text


def test_a_row_of_a_table_that_cannot_be_made_is_told(folder: Path) -> None:
    def made(n: int) -> dict[str, Any]:
        return {"name": str(n), "part": 1 / n}

    rows = errors.build_rows(made, [1, 0, 2], "name")
    assert [row["name"] for row in rows][::2] == ["1", "2"]
    assert rows[1]["name"].startswith(shown(WORDS["error.row"][1].format(id=""))[:20])
