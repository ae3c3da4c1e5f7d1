"""The history in the store: what is searched and how, filters, tags, and what the bin hides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from research import close_application, get_application
from research.citations.registry import evidence_id
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    Passage,
    PassageReference,
    Place,
    Plan,
    Run,
    RunOptions,
    Span,
    Task,
)
from research.storage.history import answer_excerpt, find_hits, normalise_names, snippet
from research.storage.history_index import HistoryQuery
from research.storage.store import Store

NOW = datetime(2026, 5, 6, 7, 8, tzinfo=UTC)
TASK = Task(id="1.1", source="web", query="q")
URL = "https://tickets.example.org/100%_real"


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with closing(Store(place)) as made:
        yield made


def put(store: Store, name: str, owner: str = "ann", **update: Any) -> None:
    """A run with a question, an answer and a source."""
    run = Run(
        id=name, conversation=f"talk-{name}", owner=owner, question="故宫的门票多少钱？", status="done",
        options=RunOptions(sources=("web",)), created=NOW, finished=NOW,
    ).model_copy(update=update)  # fmt: skip
    store.add_run(run, None, "")
    evidence = Evidence(
        id=evidence_id("place", URL, URL), kind="place", title="Official Price List", url=URL,
        publisher="Palace Press", locator=URL, retrieved=NOW,
        passages=(Passage(id="p", text="HiddenPassage", end=13),),
        place=Place(id="p", name="Palace", lng=116.0, lat=39.0, provider="offline"),
    )  # fmt: skip
    store.finish_search(
        store.start_search(name, TASK), run.conversation,
        Finding(task=TASK, evidence=(evidence,), started=NOW),
    )  # fmt: skip
    answer = Answer(
        title="T", language="zh", author="Scripted", created=NOW,
        spans=(Span(kind="text", text="旺季每人 60 元，In the LOW season 40 Yuan; Straße."),),
    )  # fmt: skip
    store.save_outcome(name, Plan(), [], answer)


def found(store: Store, words: str = "", owner: str = "ann", **wanted: Any) -> list[str]:
    page = store.history.page(owner, HistoryQuery(words, **wanted), 20, 0)
    return [turn.run.id for entry in page.entries for turn in entry.matching_turns]


@pytest.mark.parametrize(
    "words",
    ["门票", "旺季", "low SEASON", "price list", "PALACE press", "tickets.example", "100%_real",
     "门票 yuan official", "STRASSE", "６０", ""],
)  # fmt: skip
def test_words_of_every_field_and_language_are_found(store: Store, words: str) -> None:
    put(store, "one")
    put(store, "other", question="West Lake?", owner="bob")
    assert found(store, words) == ["one"]


@pytest.mark.parametrize(
    "words",
    [
        "门票 nothing",
        "100%real",
        "100__real",
        "%z%",
        "spans",
        "passages",
        "evidence",
        "!",
        "HiddenPassage",
    ],
)
def test_what_is_not_said_is_not_found(store: Store, words: str) -> None:
    """No sign is a pattern, all words have to be there, and the names of fields are no words."""
    put(store, "one")
    assert found(store, words) == []


def test_a_title_and_tags_are_searched_too(store: Store) -> None:
    put(store, "one")
    store.update_conversation("talk-one", "ann", title="Spring *Trip*")
    store.history.set_tags("ann", "talk-one", ["北京"])
    assert found(store, "spring 北京 yuan") == ["one"]
    store.update_conversation("talk-one", "ann", title="")
    assert found(store, "spring") == []


def test_runs_from_before_are_read_in_the_background(place: Path | str) -> None:
    with closing(Store(place)) as store:
        put(store, "one")
        with store.database.transaction() as work:
            work.connection.execute("delete from said")
        assert found(store, "旺季") == []
        store.history.start_indexing()
        if store.history._indexer:
            store.history._indexer.join()
        assert found(store, "旺季") == ["one"]


def test_filters_narrow_the_list(store: Store) -> None:
    put(store, "old", created=NOW - timedelta(days=40))
    put(store, "failed", status="failed")
    put(store, "news", options=RunOptions(sections=3))
    put(store, "base", options=RunOptions(sources=("database",)))
    put(store, "map", options=RunOptions(sources=("places",)))
    store.update_conversation("talk-map", "ann", pinned=True)
    store.history.set_tags("ann", "talk-old", ["x"])
    assert found(store, kind="report") == ["news"]
    assert found(store, kind="database") == ["base"]
    assert found(store, kind="places") == ["map"]
    assert found(store, statuses=("failed", "stopped")) == ["failed"]
    assert found(store, until=NOW) == ["old"]
    assert "old" not in found(store, since=NOW - timedelta(days=7))
    assert found(store, pinned=True) == ["map"]
    assert found(store, tag="x") == ["old"]
    assert found(store)[0] == "map"  # pinned first
    assert found(store)[-1] == "old"


def test_pages_follow_each_other_and_count_all(store: Store) -> None:
    for n in range(7):
        put(store, f"r{n}", created=NOW - timedelta(minutes=n))
    put(store, "turn", conversation="talk-r3", created=NOW - timedelta(hours=1))
    pages = [store.history.page("ann", HistoryQuery(), 3, at) for at in (0, 3, 6, 9)]
    assert [page.total for page in pages] == [7, 7, 7, 7]
    assert [[e.id for e in page.entries] for page in pages] == [
        ["talk-r0", "talk-r1", "talk-r2"], ["talk-r3", "talk-r4", "talk-r5"], ["talk-r6"], [],
    ]  # fmt: skip
    assert [turn.run.id for turn in pages[1].entries[0].matching_turns] == ["turn", "r3"]


def test_the_bin_hides_a_conversation_from_every_list(store: Store) -> None:
    put(store, "one")
    store.add_watch("one")
    store.history.set_tags("ann", "talk-one", ["x"])
    reads = {
        "run": lambda: store.get_owned_run("one", "ann"),
        "runs": lambda: store.runs("ann"),
        "turns": lambda: store.turns("talk-one", "ann"),
        "conversations": lambda: store.conversations("ann"),
        "history": lambda: found(store),
        "tags": lambda: store.history.tags("ann"),
        "watches": lambda: store.watches("ann"),
        "sightings": lambda: store.recorded_places("ann"),
        "accounts": lambda: store.finished_runs("ann", 5),
        "recent": lambda: store.recent_findings("ann", TASK.key, NOW - timedelta(days=1)),
    }
    assert all(read() for read in reads.values())
    store.history.move_to_bin("talk-one", NOW)
    assert [name for name, read in reads.items() if read()] == []
    assert [entry.id for entry in store.history.bin_entries("ann")] == ["talk-one"]
    assert store.history.bin_entries("bob") == []
    store.history.restore_from_bin("talk-one")
    assert all(read() for read in reads.values())


def test_what_has_lain_in_the_bin_too_long_is_told(store: Store) -> None:
    put(store, "one")
    store.history.move_to_bin("talk-one", NOW)
    assert store.history.expired_conversations(NOW) == []
    assert store.history.expired_conversations(NOW + timedelta(seconds=1)) == [("talk-one", "ann")]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "30")
    close_application()
    yield get_application().runs.store
    close_application()


def test_an_id_in_the_bin_is_unknown_but_to_undo(desk: Store) -> None:
    put(desk, "one", owner="local")
    get_application().runs.move_to_bin("talk-one")
    get_application().store.update_conversation("talk-one", title="X", owner="local")
    get_application().store.history.set_tags("local", "talk-one", ["x"])
    assert (
        get_application().runs.get_run("one"),
        get_application().runs.report("one"),
        get_application().runs.events("one"),
    ) == (
        None,
        None,
        [],
    )
    assert (
        get_application().runs.resume("one"),
        get_application().runs.extend("one"),
        get_application().store.turns("talk-one", owner="local"),
    ) == (
        None,
        None,
        [],
    )
    assert get_application().runs.start("Q?", options=RunOptions(sources=("library",)), follows="one").follows == ""
    get_application().runs.restore_from_bin("talk-one")
    run = get_application().runs.get_run("one")
    assert run is not None and run.status == "done"
    assert get_application().store.conversations("local")[-1].title != "X"


def test_a_run_under_way_is_stopped_when_it_is_put_into_the_bin(desk: Store) -> None:
    run = get_application().runs.start("When is the Palace Museum open?", options=RunOptions(sources=("library",)))
    get_application().runs.move_to_bin(run.conversation)
    assert get_application().runs.recent_runs() == []
    get_application().runs._wait_for_end(run.id)
    get_application().runs.restore_from_bin(run.conversation)
    again = get_application().runs.get_run(run.id)
    assert again is not None and again.status == "stopped"


def test_the_bin_is_emptied_by_hand_and_after_thirty_days(desk: Store) -> None:
    for name in ("one", "two", "three"):
        put(desk, name, owner="local")
    desk.history.move_to_bin("talk-one", datetime.now(UTC) - timedelta(days=31))
    get_application().runs.move_to_bin("talk-two")
    assert [entry.id for entry in get_application().runs.bin_entries()] == ["talk-two"]
    assert desk.get_run("one") is None
    get_application().runs.empty_bin()
    assert [desk.get_run(name) is None for name in ("two", "three")] == [True, False]


def test_a_snippet_marks_the_words_and_no_more() -> None:
    pieces = snippet("Prices of <b>Straße</b> tickets", ["strasse"])
    assert [text for text, marked in pieces if marked] == ["Straße"]
    assert "".join(text for text, _ in pieces) == "Prices of <b>Straße</b> tickets"
    assert snippet("nothing here", ["x"]) == ()
    told = find_hits(["low"], "High?", "It is low.", ["A · b", "Low prices · c"], ["Too low!"])
    assert [hit.field for hit in told] == ["answer", "source", "note"]


def said(*spans: tuple[str, str, bool]) -> str:
    cite = PassageReference(evidence="e", passage="p")
    return Answer(
        title="T", language="en", author="Scripted", created=NOW,
        spans=tuple(Span(kind=kind, text=text, references=(cite,) * cited) for kind, text, cited in spans),
    ).model_dump_json()  # fmt: skip


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (said(("heading", "Tickets", False), ("quote", "It costs\n**60** yuan.", True)), "It costs **60** yuan."),
        (said(("text", "Nothing behind it.", False), ("text", "## Tickets\n\n- **60** yuan, 2*3", True)), "Tickets 60 yuan, 2*3"),
        (said(("text", "，每人60元", True)), "每人60元"),
        (said(("text", "a" * 141, True)), "a" * 140 + "…"),
        (said(("missing", "Not found.", False)), ""),
        (None, ""),
        ("[3", ""),
        ('{"spans": [1, {"kind": "quote", "cites": [1], "text": null}]}', ""),
    ],
)  # fmt: skip
def test_the_first_finding_is_what_is_said_first_with_a_source(record: str | None, told: str) -> None:
    assert answer_excerpt(record) == told


def test_the_latest_run_of_a_conversation_shows_its_finding_unless_words_are_looked_for(
    store: Store,
) -> None:
    for name, hours in (("one", 0), ("two", 1)):
        put(store, name, conversation="talk", created=NOW + timedelta(hours=hours))
        store.save_outcome(name, None, [], Answer.model_validate_json(said(("quote", f"Quote {name}.", True))))
    put(store, "other")

    def findings(words: str = "") -> list[tuple[str, str]]:
        page = store.history.page("ann", HistoryQuery(words), 20, 0)
        return sorted((turn.run.id, turn.excerpt) for entry in page.entries for turn in entry.matching_turns)

    assert findings() == [("one", ""), ("other", ""), ("two", "Quote two.")]
    assert {finding for _, finding in findings("门票")} == {""}


def test_tags_are_tidied() -> None:
    assert normalise_names(["  #Beijing ", "BEIJING", "", "ａ  b"]) == ("Beijing", "a b")
    assert normalise_names(["beijing"], ["Beijing"]) == ("Beijing",)
    assert len(normalise_names(map(str, range(30)))) == 10
    assert len(normalise_names(["x" * 99])[0]) == 40
