"""Files taken in the background, what could not be read, and what was removed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from research.readers.documents import MAX_CHARACTERS
from research.sources.library import bin, index, intake
from research.sources.library.index import Library
from research.sources.library.intake import offered, safe_name, too_much
from research.sources.library.listing import Wanted
from research.sources.library.marks import marks
from research.sources.library.schema import MIGRATIONS
from research.storage.files import Database
from tests.tables import each_row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def library(path: Path) -> Iterator[Library]:
    library = Library(path)
    library.use_sample(False)
    yield library
    library.close()


def lot(**files: str) -> list[tuple[str, int, object]]:
    return [
        (f"{name}.md", len(text.encode()), lambda text=text: text.encode())
        for name, text in files.items()
    ]


def take(library: Library, files: list[tuple[str, int, object]], who: str = "local") -> intake.Intake:  # fmt: skip
    taken = library.take(files, who)  # type: ignore[arg-type]
    assert taken.wait(30)
    return taken


def test_a_lot_tells_what_became_of_its_files(library: Library) -> None:
    done = take(library, lot(a="# A\n\nA tower.", b="", c="# C\n\nA bridge."))
    assert (done.state, done.done, done.total, done.unread) == ("done", 3, 3, 1)
    assert dict(done.outcomes) == {"added": 2, "empty": 1}
    assert dict(take(library, lot(a="# A\n\nA tower.")).outcomes) == {"unchanged": 1}


def test_a_lot_that_is_stopped_keeps_what_was_added_and_reads_no_more(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "BATCH", 1)
    reached, go_on = threading.Event(), threading.Event()

    def slow() -> bytes:
        reached.set()
        assert go_on.wait(60)
        return b"# B\n\nA bridge."

    never: list[int] = []
    files = lot(a="# A\n\nA tower.")
    files += [("b.md", 9, slow), ("c.md", 9, lambda: never.append(1) or b"x")]
    taken = library.take(files)  # type: ignore[arg-type]
    assert reached.wait(60)
    taken.cancel()
    assert taken.stopping
    go_on.set()
    assert taken.wait(60)
    assert (taken.state, dict(taken.outcomes)) == ("stopped", {"added": 1})
    assert never == []
    assert [entry.name for entry in library.entries()] == ["a.md"]


def test_what_could_not_be_read_is_kept_for_who_added_it_until_it_is_added(
    library: Library, path: Path
) -> None:
    take(library, lot(a="", b=""), "one")
    assert library.unread("two") == ([], 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select count(*) from unread").fetchone() == (2,)
    take(library, lot(a="# A\n\nA tower."), "two")
    assert [item.name for item in library.unread("one")[0]] == ["b.md"]
    library.dismiss("two")
    assert library.unread("one")[1] == 1
    library.dismiss("one")
    assert library.unread("one") == ([], 0)


def test_no_more_than_a_number_and_a_size_is_taken_at_once(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MAX_FILES", 2)
    done = take(library, lot(a="# A\n\nA.", b="# B\n\nB tower.", c="# C\n\nC."))
    assert done.outcomes["too many"] == 1
    assert [item.outcome for item in library.unread()[0]] == ["too many"]
    monkeypatch.setattr(intake, "MAX_TOTAL", 100)
    assert too_much([60, 40]) == 2
    assert too_much([60, 41]) == 1


@each_row(
    ("given", "kept"),
    [
        ("notes/a.md", "notes/a.md"),
        ("../../etc/passwd.txt", "etc/passwd.txt"),
        ("/etc/./a.md", "etc/a.md"),
        ("C:\\Users\\me\\a.md", "Users/me/a.md"),
        ("a\u202egnp.md", "agnp.md"),
        ("a\x00b\n.md", "ab.md"),
        ("..", "untitled"),
        ("", "untitled"),
        ("报告.md", "报告.md"),
    ],
)
def test_a_name_becomes_a_path_below_nothing_whose_signs_are_seen(given: str, kept: str) -> None:
    assert safe_name(given) == kept


def test_a_long_name_keeps_its_suffix() -> None:
    assert safe_name("x" * 500 + ".pdf").endswith(".pdf")
    assert len(safe_name("x" * 500 + ".pdf")) <= intake.LONG


def test_what_systems_leave_is_passed_over_and_two_of_one_name_are_told_apart() -> None:
    names = ["d/.DS_Store", "__MACOSX/a.md", "Thumbs.db", "a.md", "a.md", "~$b.docx", "b.md"]
    assert offered([(name, 1) for name in names]) == [(3, "a.md"), (4, "a (2).md"), (6, "b.md")]


# Removing


def test_a_removed_document_comes_back_as_it_was(library: Library) -> None:
    take(library, lot(a="# 西湖 (West Lake)\n\n西湖的门票免费。", b="# B\n\nA bridge."))
    before, text = library.entries(), library.text(library.entries()[0].id)
    hits = library.search("门票 bridge", limit=5)
    gone = library.remove([entry.id for entry in before])
    assert library.entries() == [] and library.search("门票") == []
    assert library.names_in("西湖") == []
    assert library.put_back(gone) == 2
    assert library.entries() == before and library.text(before[0].id) == text
    assert [h.text for h in library.search("门票 bridge", limit=5)] == [h.text for h in hits]
    assert library.aliases("West Lake") == ["西湖"]
    assert library.removed() == ([], 0)


def test_an_id_is_not_given_away_while_its_document_can_come_back(library: Library) -> None:
    take(library, lot(a="# A\n\nA tower."))
    [gone] = library.remove([library.entries()[0].id])
    take(library, lot(b="# B\n\nA bridge."))
    assert library.entries()[0].id != gone
    assert library.put_back([gone]) == 1
    assert len(library.entries()) == 2


def test_a_document_whose_name_was_taken_stays_out(library: Library) -> None:
    take(library, lot(a="# A\n\nA tower."))
    gone = library.remove([library.entries()[0].id])
    take(library, lot(a="# A\n\nAnother tower."))
    assert library.put_back(gone) == 0
    assert library.removed()[1] == 1


def test_the_sample_is_not_removed_but_turned_off(path: Path) -> None:
    library = Library(path)
    assert library.remove([entry.id for entry in library.entries()]) == []
    library.close()


def test_what_was_removed_is_gone_after_some_days(library: Library, path: Path) -> None:
    take(library, lot(a="# A\n\nA tower."))
    library.remove([library.entries()[0].id])
    library.close()
    Library(path).close()
    old = (datetime.now(UTC) - bin.KEPT - timedelta(hours=1)).isoformat()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select count(*) from bin_document").fetchone() == (1,)
        db.execute("update bin_document set removed=?", (old,))
        db.commit()
    again = Library(path)
    assert again.removed() == ([], 0)
    again.close()


def test_which_limit_a_file_is_over_is_remembered(path: Path) -> None:
    old = Database(path, MIGRATIONS[:2])
    with old.write() as db:
        db.execute(
            "insert into unread values('local', 'old.txt', 'too large', 'Too large.', '2026-11-20')"
        )
    old.close()
    library = Library(path)
    much = b"word " * (MAX_CHARACTERS // 5 + 1)
    [added] = library.add([("new.txt", much)])
    assert (added.outcome, added.limit) == ("too large", "characters")
    library.close()
    again = Library(path)
    found = {item.name: item.limit for item in again.unread()[0]}
    assert found == {"old.txt": "", "new.txt": "characters"}
    again.close()


# Lists and marks


def test_a_library_of_before_is_listed_with_its_numbers(path: Path) -> None:
    old = Database(path, MIGRATIONS[:1])
    with old.write() as db:
        db.execute(
            "insert into document values(1, 'x/A.PDF', '', 'T', '', '2024-01-02', 'zh', 0, "
            "'2025-01-01T00:00:00+00:00', '塔高。')"
        )
        db.execute("insert into passage values(1, 1, '', 3, 0, 3, '', '塔', '')")
        db.execute("insert into meta values('sample', 'off')")
    old.close()
    library = Library(path)
    [entry] = library.listed(Wanted(kind="pdf", year="2024", language="zh"))[0]
    assert (entry.passages, entry.characters) == (1, 3)
    assert library.listed(Wanted(year=Wanted.UNDATED)) == ([], 0)
    library.close()


@each_row(
    ("query", "text", "words"),
    [
        ("zebras running", "A Zebra runs.", ["Zebra", "runs"]),
        ("门票 价格", "成人门票的价格。", ["门票", "价格"]),
        ("門票 价格", "成人门票的價格。", ["门票", "價格"]),
        ("the of", "the price of it", []),
        ("12.5", "It is 12.5 % and 12.", ["12.5"]),
        ("<b>", "<b>x</b>", []),
    ],
)
def test_the_words_of_a_query_are_found_in_a_passage(
    query: str, text: str, words: list[str]
) -> None:
    assert [text[a:b] for a, b in marks(query, text)] == words
