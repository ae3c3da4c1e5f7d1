"""Pages of the library's documents: kept, shown with their words marked, and gone with the document."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from research.core.page_views import CitedText, MissingPage, PageImage, PageText
from research.core.records import Evidence, Passage
from research.readers.documents import MAX_BYTES
from research.sources.library.index import Library
from research.sources.library.retriever import _to_evidence
from research.sources.library.schema import MIGRATIONS
from tests.sources.library.test_documents import make_pdf
from tests.sources.library.test_scans import TEXTS, scanned
from tests.typist import Typist

DATA = make_pdf(["The lighthouse stands on basalt.", "It was built in 1874."], ["The ferry leaves at noon."])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def library(path: Path) -> Iterator[Library]:
    library = Library(path, lambda: None)
    library.set_sample_enabled(False)
    yield library
    library.close()


def add(library: Library, name: str, data: bytes) -> str:
    (added,) = library.add_files([(name, data)])
    return added.outcome


def cited(library: Library, words: str) -> tuple[Evidence, Passage]:
    (evidence,) = _to_evidence(library.search(words, limit=1), datetime.now(UTC))
    return evidence, evidence.passages[0]


def view(library: Library, words: str, *spans: tuple[int, int], **options: object) -> object:
    evidence, passage = cited(library, words)
    return library.pages.cited_page(evidence, [CitedText(passage, spans)], **options)


def reason(shown: object) -> str:
    assert isinstance(shown, MissingPage), shown
    return shown.reason


def test_a_cited_page_is_shown_with_the_passage_or_a_part_of_it_marked(library: Library) -> None:
    assert add(library, "a.pdf", DATA) == "added"
    whole, part = view(library, "lighthouse"), view(library, "lighthouse", (4, 14))
    assert isinstance(whole, PageImage) and isinstance(part, PageImage)
    assert (whole.page, whole.found, part.found) == (1, ("whole",), ("whole",))
    (box,) = part.boxes
    assert box.width < whole.boxes[0].width
    other = view(library, "lighthouse", page=2)
    assert isinstance(other, PageImage)
    assert (other.page, other.found) == (2, ("none",))


def test_several_passages_of_a_page_are_marked_together(library: Library) -> None:
    add(library, "a.pdf", DATA)
    evidence, passage = cited(library, "lighthouse")
    shown = library.pages.cited_page(
        evidence, [CitedText(passage, [(4, 14)]), CitedText(passage, [(25, 31)])], paint_marks=True
    )
    assert isinstance(shown, PageImage)
    assert (shown.found, [box.quote for box in shown.boxes], shown.is_marked) == (("whole", "whole"), [0, 1], True)


def test_a_drawn_page_is_drawn_once_until_the_library_loses_a_document(library: Library) -> None:
    add(library, "a.pdf", DATA)
    first = view(library, "lighthouse")
    assert view(library, "lighthouse") is first
    assert view(library, "ferry") is not first
    library.remove([])
    assert view(library, "lighthouse") is not first


def test_another_version_another_source_and_text_without_pages_are_told_apart(library: Library) -> None:
    add(library, "a.pdf", DATA)
    add(library, "b.md", b"# Towers\n\nThe minaret is white.")
    evidence, passage = cited(library, "lighthouse")
    text = [CitedText(passage)]
    assert reason(view(library, "minaret")) == "no pages"
    assert reason(library.pages.cited_page(evidence.model_copy(update={"kind": "web"}), text)) == "no document"
    assert reason(view(library, "lighthouse", page=9)) == "no page"
    add(library, "a.pdf", make_pdf(["Another text."]))
    assert reason(library.pages.cited_page(evidence, text)) == "changed"
    library.remove([entry.id for entry in library.list_all()])
    assert reason(library.pages.cited_page(evidence, text)) == "changed"
    assert reason(library.pages.page(99, 1, [])) == "changed"


def test_pages_of_formats_that_are_not_drawn_are_shown_as_text(library: Library, path: Path) -> None:
    add(library, "slides.md", b"One.\n\nTwo slides here.\n\nThree.")
    (entry,) = library.list_all()
    with closing(sqlite3.connect(path)) as db:  # as a format whose sections have pages is stored
        db.execute("update passage set page=7")
        db.commit()
    text = library.document_text(entry.id)
    at = text.index("Two slides")
    assert library.pages.page(entry.id, 7, [(at, at + 3), (900, 950)]) == PageText(7, text, ((at, at + 3),))
    assert reason(library.pages.page(entry.id, 8, [(0, 1)])) == "no pages"


def test_a_scanned_page_without_its_original_shows_the_small_picture(path: Path) -> None:
    for limit in (MAX_BYTES, 9):
        library = Library(path, lambda: Typist(TEXTS), limit)
        library.set_sample_enabled(False)
        add(library, "scan.pdf", scanned(4))
        assert library.scan_reader.wait(30)
        (entry,) = library.list_all()
        assert bool(library.pages.original(entry.id)) is (limit > 9)
        shown = view(library, "basalt")
        assert isinstance(shown, PageImage)
        assert (shown.page, shown.boxes, shown.match) == (2, (), "no characters")
        library.remove([entry.id])
        library.close()


# Keeping


def test_an_original_goes_with_its_document_and_comes_back_with_it(library: Library) -> None:
    add(library, "a.pdf", DATA)
    (entry,) = library.list_all()
    assert library.pages.original(entry.id) == DATA
    library.remove([entry.id])
    assert library.pages.original(entry.id) == b""
    library.restore([entry.id])
    assert library.pages.original(entry.id) == DATA
    library.remove([entry.id])
    library.empty_trash()
    assert counts(library) == [0, 0]
    add(library, "a.pdf", DATA)
    library.clear()
    assert counts(library) == [0, 0]


def counts(library: Library) -> list[object]:
    return [library._db.read_value(f"select count(*) from {table}") for table in ("original", "bin_original")]


def test_files_above_the_limit_and_formats_without_pictures_are_not_kept(path: Path) -> None:
    library = Library(path, lambda: None, len(DATA) - 1)
    library.set_sample_enabled(False)
    add(library, "a.pdf", DATA)
    add(library, "b.md", b"The minaret is white.")
    assert counts(library) == [0, 0]
    assert reason(view(library, "lighthouse")) == "not kept"
    assert add(library, "a.pdf", DATA) == "unchanged"
    library.close()


def test_a_library_of_an_earlier_version_opens_and_keeps_a_file_that_is_added_again(path: Path) -> None:
    library = Library(path, lambda: None, 0)
    library.set_sample_enabled(False)
    add(library, "a.pdf", DATA)
    add(library, "removed.pdf", make_pdf(["Gone."]))
    library.remove([entry.id for entry in library.list_all() if entry.name == "removed.pdf"])
    library.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"pragma user_version={len(MIGRATIONS) - 3}")
        db.execute("alter table unread drop column content")
        for prefix in ("", "bin_"):
            db.execute(f"alter table {prefix}passage drop column last_page")
            db.execute(f"alter table {prefix}original rename to {prefix}scan")
        db.commit()
    library = Library(path, lambda: None)
    evidence, passage = cited(library, "lighthouse")
    (entry,) = library.list_all()
    assert reason(library.pages.cited_page(evidence, [CitedText(passage)])) == "not kept"
    assert (add(library, "a.pdf", DATA), add(library, "a.pdf", DATA)) == ("replaced", "unchanged")
    assert [one.id for one in library.list_all()] == [entry.id]  # it was not read again
    assert isinstance(library.pages.cited_page(evidence, [CitedText(passage)]), PageImage)
    library.close()
