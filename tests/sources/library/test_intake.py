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
from research.sources.library import index, ingestion, trash
from research.sources.library.highlights import find_highlights
from research.sources.library.index import Library
from research.sources.library.ingestion import accepted_count, safe_name, select_files
from research.sources.library.listing import DocumentQuery
from research.sources.library.schema import MIGRATIONS
from research.storage.sqlite_files import SQLiteFile
from tests.tables import each_row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def library(path: Path) -> Iterator[Library]:
    library = Library(path)
    library.set_sample_enabled(False)
    yield library
    library.close()


def lot(**files: str) -> list[tuple[str, int, object]]:
    return [(f"{name}.md", len(text.encode()), lambda text=text: text.encode()) for name, text in files.items()]


def take(library: Library, files: list[tuple[str, int, object]], who: str = "local") -> ingestion.IngestionJob:  # fmt: skip
    taken = library.start_ingestion(files, who)  # type: ignore[arg-type]
    assert taken.wait(30)
    return taken


def test_a_lot_tells_what_became_of_its_files(library: Library) -> None:
    done = take(library, lot(a="# A\n\nA tower.", b="", c="# C\n\nA bridge."))
    assert (done.state, done.finished_files, done.total_files, done.failed_files) == ("done", 3, 3, 1)
    assert dict(done.outcomes) == {"added": 2, "empty": 1}
    assert dict(take(library, lot(a="# A\n\nA tower.")).outcomes) == {"unchanged": 1}


def test_a_lot_that_is_stopped_keeps_what_was_added_and_reads_no_more(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_BATCH_DOCUMENTS", 1)
    reached, go_on = threading.Event(), threading.Event()

    def slow() -> bytes:
        reached.set()
        assert go_on.wait(60)
        return b"# B\n\nA bridge."

    never: list[int] = []
    files = lot(a="# A\n\nA tower.")
    files += [("b.md", 9, slow), ("c.md", 9, lambda: never.append(1) or b"x")]
    taken = library.start_ingestion(files)  # type: ignore[arg-type]
    assert reached.wait(60)
    taken.cancel()
    assert taken.is_stopping
    go_on.set()
    assert taken.wait(60)
    assert (taken.state, dict(taken.outcomes)) == ("stopped", {"added": 1})
    assert never == []
    assert [entry.name for entry in library.list_all()] == ["a.md"]


def test_what_could_not_be_read_is_kept_for_who_added_it_until_it_is_added(library: Library, path: Path) -> None:
    take(library, lot(a="", b=""), "one")
    assert library.list_rejected("two") == ([], 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select count(*) from unread").fetchone() == (2,)
    take(library, lot(a="# A\n\nA tower."), "two")
    assert [item.name for item in library.list_rejected("one")[0]] == ["b.md"]
    library.dismiss_rejected("two")
    assert library.list_rejected("one")[1] == 1
    library.dismiss_rejected("one")
    assert library.list_rejected("one") == ([], 0)


def test_no_more_than_a_number_and_a_size_is_taken_at_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "MAX_FILES", 2)
    done = take(library, lot(a="# A\n\nA.", b="# B\n\nB tower.", c="# C\n\nC."))
    assert done.outcomes["too many"] == 1
    assert [item.outcome for item in library.list_rejected()[0]] == ["too many"]
    monkeypatch.setattr(ingestion, "MAX_TOTAL_BYTES", 100)
    assert accepted_count([60, 40]) == 2
    assert accepted_count([60, 41]) == 1


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
    assert len(safe_name("x" * 500 + ".pdf")) <= ingestion.MAX_NAME_PART_CHARS


def test_what_systems_leave_is_passed_over_and_two_of_one_name_are_told_apart() -> None:
    names = ["d/.DS_Store", "__MACOSX/a.md", "Thumbs.db", "a.md", "a.md", "~$b.docx", "b.md"]
    assert select_files([(name, 1) for name in names]) == [(3, "a.md"), (4, "a (2).md"), (6, "b.md")]


# Removing


def test_a_removed_document_comes_back_as_it_was(library: Library) -> None:
    take(library, lot(a="# 西湖 (West Lake)\n\n西湖的门票免费。", b="# B\n\nA bridge."))
    before, text = library.list_all(), library.document_text(library.list_all()[0].id)
    hits = library.search("门票 bridge", limit=5)
    gone = library.remove([entry.id for entry in before])
    assert library.list_all() == [] and library.search("门票") == []
    assert library.find_names("西湖") == []
    assert library.restore(gone) == 2
    assert library.list_all() == before and library.document_text(before[0].id) == text
    assert [h.text for h in library.search("门票 bridge", limit=5)] == [h.text for h in hits]
    assert library.aliases("West Lake") == ["西湖"]
    assert library.list_trashed() == ([], 0)


def test_an_id_is_not_given_away_while_its_document_can_come_back(library: Library) -> None:
    take(library, lot(a="# A\n\nA tower."))
    [gone] = library.remove([library.list_all()[0].id])
    take(library, lot(b="# B\n\nA bridge."))
    assert library.list_all()[0].id != gone
    assert library.restore([gone]) == 1
    assert len(library.list_all()) == 2


def test_a_document_whose_name_was_taken_stays_out(library: Library) -> None:
    take(library, lot(a="# A\n\nA tower."))
    gone = library.remove([library.list_all()[0].id])
    take(library, lot(a="# A\n\nAnother tower."))
    assert library.restore(gone) == 0
    assert library.list_trashed()[1] == 1


def test_the_sample_is_not_removed_but_turned_off(path: Path) -> None:
    library = Library(path)
    assert library.remove([entry.id for entry in library.list_all()]) == []
    library.close()


def test_what_was_removed_is_gone_after_some_days(library: Library, path: Path) -> None:
    take(library, lot(a="# A\n\nA tower."))
    library.remove([library.list_all()[0].id])
    library.close()
    Library(path).close()
    old = (datetime.now(UTC) - trash.RETENTION - timedelta(hours=1)).isoformat()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select count(*) from bin_document").fetchone() == (1,)
        db.execute("update bin_document set removed=?", (old,))
        db.commit()
    again = Library(path)
    assert again.list_trashed() == ([], 0)
    again.close()


def test_which_limit_a_file_is_over_is_remembered(path: Path) -> None:
    old = SQLiteFile(path, MIGRATIONS[:2])
    with old.transaction() as db:
        db.execute("insert into unread values('local', 'old.txt', 'too large', 'Too large.', '2026-11-20')")
    old.close()
    library = Library(path)
    much = b"word " * (MAX_CHARACTERS // 5 + 1)
    [added] = library.add_files([("new.txt", much)])
    assert (added.outcome, added.limit) == ("too large", "characters")
    library.close()
    again = Library(path)
    found = {item.name: item.limit for item in again.list_rejected()[0]}
    assert found == {"old.txt": "", "new.txt": "characters"}
    again.close()


# Lists and marks


def test_a_library_of_before_is_listed_with_its_numbers(path: Path) -> None:
    old = SQLiteFile(path, MIGRATIONS[:1])
    with old.transaction() as db:
        db.execute(
            "insert into document values(1, 'x/A.PDF', '', 'T', '', '2024-01-02', 'zh', 0, "
            "'2025-01-01T00:00:00+00:00', '塔高。')"
        )
        db.execute("insert into passage values(1, 1, '', 3, 0, 3, '', '塔', '')")
        db.execute("insert into meta values('sample', 'off')")
    old.close()
    library = Library(path)
    [entry] = library.list_page(DocumentQuery(kind="pdf", year="2024", language="zh"))[0]
    assert (entry.passage_count, entry.character_count) == (1, 3)
    assert library.list_page(DocumentQuery(year=DocumentQuery.UNDATED)) == ([], 0)
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
def test_the_words_of_a_query_are_found_in_a_passage(query: str, text: str, words: list[str]) -> None:
    assert [text[a:b] for a, b in find_highlights(query, text)] == words
