"""The Library page: adding, searching, removing, and the sample that can be turned off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pages.parts.words import WORDS
from research import runs
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
TOWER = (
    "# The tower\n\nThe tower is open from 9:00 to 17:00. A ticket to the tower costs 12 yuan.\n"
)
NAME = "![x](http://127.0.0.1:9/n.png) <b>$1 and y$</b> :red[x].md"


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


def upload(visitor: Visitor, *files: tuple[str, bytes]) -> Visitor:
    visitor.at.file_uploader(key="files").set_value(
        [(name, data, "application/octet-stream") for name, data in files]
    )
    return visitor.press("add_files")


def read(visitor: Visitor, path: Path | str) -> Visitor:
    visitor.at.text_input(key="folder").set_value(str(path))
    return visitor.press("add_folder")


def test_an_uploaded_file_is_listed_searched_and_quoted(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    assert english("added.added", name="tower.md", n=1) in visitor.words
    assert english("library.own", n=1) in visitor.words
    assert "tower.md" in list(visitor.table("name")["name"])
    visitor.at.text_input(key="library_query").set_value("tower ticket")
    assert "costs 12 yuan" in visitor.look().words
    visitor.go("ask").ask("What does a ticket to the tower cost?").wait()
    assert any("12 yuan" in quote["text"] for quote in visitor.blocks("quote"))


def test_a_file_that_cannot_be_used_has_one_clear_line_and_harms_no_other(visit: Visit) -> None:
    visitor = upload(
        visit("library"),
        ("tower.md", TOWER.encode()),
        ("empty.txt", b""),
        ("broken.pdf", b"%PDF-1.7 this is none"),
        ("broken.docx", b"PK\x03\x04 nor is this"),
    )
    assert english("added.added", name="tower.md", n=1) in visitor.words
    assert english("added.empty", name="empty.txt") in visitor.words
    assert english("added.unreadable", name="broken.pdf") in visitor.words
    assert english("added.unreadable", name="broken.docx") in visitor.words
    assert [entry.name for entry in runs.desk().library.entries() if not entry.sample] == [
        "tower.md"
    ]


def test_a_changed_file_replaces_what_it_was(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    assert (
        english("added.unchanged", name="tower.md")
        in upload(visitor, ("tower.md", TOWER.encode())).words
    )
    upload(visitor, ("tower.md", TOWER.replace("12", "15").encode()))
    assert english("added.replaced", name="tower.md", n=1) in visitor.words
    assert english("library.own", n=1) in visitor.words


def test_a_folder_is_read(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tower.md").write_text(TOWER, encoding="utf-8")
    (tmp_path / "notes" / "塔.txt").write_text("塔的门票是12元。", encoding="utf-8")
    visitor = read(visit("library"), tmp_path / "notes")
    assert english("library.own", n=2) in visitor.words


def test_a_path_that_is_not_there_is_told_and_stays_in_its_box(visit: Visit) -> None:
    path = "/no/such/$folder$/`x`"
    visitor = read(visit("library"), path)
    assert visitor.errors == [english("library.folder_missing", path=path)]
    assert visitor.at.text_input(key="folder").value == path


@pytest.mark.parametrize("path", ["a" * 5000, "x\0y", "~nobody-of-this-name/x"])
def test_a_path_that_cannot_be_one_is_told(visit: Visit, path: str) -> None:
    visitor = read(visit("library"), path)
    assert len(visitor.errors) == 1


def test_a_file_name_with_marks_is_shown_as_it_is(visit: Visit) -> None:
    visitor = upload(visit("library"), (NAME, TOWER.encode()))
    name = NAME.rsplit("/", 1)[-1]
    assert english("added.added", name=name, n=1) in visitor.words


def test_a_search_of_the_library_that_finds_nothing_says_so(visit: Visit) -> None:
    visitor = visit("library")
    for query in ("zzzz", "🎉", '"', "$", "a" * 20_000):
        visitor.at.text_input(key="library_query").set_value(query)
        assert english("library.no_hits") in visitor.look().words


def test_the_sample_is_left_out_as_soon_as_it_is_turned_off(visit: Visit) -> None:
    visitor = visit("library")
    assert english("library.samples", n=40) in visitor.words
    visitor.at.toggle(key="sample").set_value(False)
    visitor.look()
    assert "Sample documents" not in visitor.words
    assert runs.desk().library.entries() == []
    visitor.go("ask").ask("What does a ticket to the Palace Museum cost?").wait()
    assert visitor.blocks("quote") == []
    assert visitor.blocks("missing")
    assert english("sources.none") in visitor.words


def test_the_sample_comes_back_when_it_is_turned_on(visit: Visit) -> None:
    visitor = visit("library")
    visitor.at.toggle(key="sample").set_value(False)
    visitor.look()
    visitor.at.toggle(key="sample").set_value(True)
    assert english("library.samples", n=40) in visitor.look().words


def test_the_sample_stays_off_for_the_next_visitor(visit: Visit) -> None:
    visitor = visit("library")
    visitor.at.toggle(key="sample").set_value(False)
    visitor.look()
    runs.close()
    assert visit("library").at.toggle(key="sample").value is False
    assert runs.desk().library.entries() == []


def test_turning_the_sample_off_leaves_own_documents(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    visitor.at.toggle(key="sample").set_value(False)
    assert english("library.own", n=1) in visitor.look().words


def test_the_page_is_whole_in_chinese(visit: Visit) -> None:
    visitor = upload(visit("library", lang="zh"), ("塔.md", TOWER.encode()))
    assert WORDS["added.added"][0].format(name="塔.md", n=1) in visitor.words
    assert WORDS["library.samples"][0].format(n=40) in visitor.words
