"""The Library page: adding, searching, reading, removing, and the sample that can be turned off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pages.library.add import MAX_NAMES_PER_REASON
from pages.library.reader import PASSAGES_PER_PAGE
from research import close_application, get_application
from tests.catalogue import WORDS
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
TOWER = "# The tower\n\nThe tower is open from 9:00 to 17:00. A ticket to the tower costs 12 yuan.\n"
NAME = "![x](http://127.0.0.1:9/n.png) <b>$1 and y$</b> :red[x].md"


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


def upload(visitor: Visitor, *files: tuple[str, bytes], box: str = "files") -> Visitor:
    """Drops files; there is no button to press."""
    lot = visitor.at.session_state["uploads"]
    visitor.at.file_uploader(key=f"{box}_{lot}").set_value(
        [(name, data, "application/octet-stream") for name, data in files]
    )
    visitor.look()
    for intake in get_application().library.ingestion_jobs():
        assert intake.wait(30)
    return visitor.look()


def read(visitor: Visitor, path: Path | str) -> Visitor:
    visitor.at.text_input(key="folder").set_value(str(path))
    visitor.press("add_folder")
    taken = get_application().library.ingestion_jobs()
    for intake in taken:
        assert intake.wait(30)
    return visitor.look() if taken else visitor


def own(visitor: Visitor) -> list[str]:
    """The files of the table, in its order."""
    return list(visitor.table("name")["name"])


def tick(visitor: Visitor, monkeypatch: pytest.MonkeyPatch, *rows: int) -> Visitor:
    """Ticks rows of the table, which no test without a browser can do itself."""
    from pages.library import documents as library_list

    before = library_list._draw_table
    monkeypatch.setattr(
        library_list, "_draw_table", lambda entries, first: (before(entries, first), [entries[r] for r in rows if r < len(entries)])[1]
    )  # fmt: skip
    return visitor.look()


def search(visitor: Visitor, query: str) -> Visitor:
    visitor.at.text_input(key="library_query").set_value(query)
    return visitor.look()


# Adding


def test_a_dropped_file_is_added_at_once_searched_and_quoted(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    assert english("added.added", n=1) in visitor.words
    assert own(visitor) == ["tower.md"]
    assert "costs 12 yuan" in search(visitor, "tower ticket").words.replace("\n", " ")
    visitor.go("ask").ask("What does a ticket to the tower cost?").wait()
    assert any("12 yuan" in quote["text"] for quote in visitor.blocks("quote"))


def test_documents_and_search_stand_above_the_upload_once_there_are_own_ones(visit: Visit) -> None:
    def keys(visitor: Visitor) -> list[str]:
        found = (e.key or "" for e in visitor.at.main if e.type in ("file_uploader", "text_input"))
        return [key.rpartition("_")[0] if key.startswith("files") else key for key in found]

    visitor = visit("library")
    order = keys(visitor)
    assert order.index("files") < order.index("library_query")
    order = keys(upload(visitor, ("tower.md", TOWER.encode())))
    assert order.index("library_query") < order.index("list_text") < order.index("files")


def test_a_rerun_adds_nothing_twice_and_the_box_is_empty_again(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    visitor.look().look()
    [intake] = get_application().library.ingestion_jobs()
    assert dict(intake.outcomes) == {"added": 1}
    assert [box.value for box in visitor.at.file_uploader] == [[], []]


def test_a_mislabelled_file_is_named_with_its_real_kind_and_one_that_is_read_has_a_remark(visit: Visit) -> None:
    page = "<table><tr><th>id</th><th>name</th></tr><tr><td>1</td><td>Tower</td></tr></table>"
    visitor = upload(
        visit("library"),
        ("scan.docx", b"%PDF-1.7 the content of another kind"),
        ("account.xls", page.encode()),
        ("cut.rtf", b"{\\rtf1 The tower has ten floors.\\par And"),
    )
    words = visitor.words
    assert english("unread.mislabelled") in words and english("unread.content", suffix=".pdf") in words
    assert english("remedy.mislabelled") in words
    assert english("added.read_as", name="account.xls", suffix=".html") in words
    assert english("added.cut", name="cut.rtf") in words


def test_a_file_that_cannot_be_used_is_told_with_the_reason_and_harms_no_other(
    visit: Visit,
) -> None:
    visitor = upload(
        visit("library"),
        ("tower.md", TOWER.encode()),
        ("empty.txt", b""),
        ("broken.pdf", b"%PDF-1.7 this is none"),
        ("old.doc", b"\xd0\xcf\x11\xe0 an old one"),
    )
    words = visitor.words
    assert english("added.added", n=1) in words and english("added.unread", n=3) in words
    for outcome, name in (
        ("empty", "empty.txt"),
        ("unreadable", "broken.pdf"),
        ("unsupported", "old.doc"),
    ):
        assert english(f"unread.{outcome}") in words
        assert english(f"remedy.{outcome}") in words
        assert name in words
    assert own(visitor) == ["tower.md"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "limit", "over", "deep"),
    [
        ("en-US", "Limit per file: 50 MB and 5,000,000 characters of text.",
         "more than 5,000,000 characters of text", "nested more than 256 levels deep"),
        ("zh-CN", "每个文件最大 50 MB，文字最多 5,000,000 个字符。", "文字超过 5,000,000 个字符",
         "嵌套超过 256 层"),
    ],
)  # fmt: skip
def test_the_limit_of_a_file_is_the_same_where_it_is_added_and_where_it_is_refused(
    visit: Visit, locale: str, limit: str, over: str, deep: str
) -> None:
    visitor = visit("library", locale=locale)
    assert visitor.words.count(limit) == 1
    page = b"<html><body>" + b"<div>" * 400 + b"<p>Deep down.</p></body></html>"
    upload(visitor, ("much.txt", b"word " * 1_880_000), ("deep.html", page))
    assert visitor.words.count(limit) == 2
    assert over in visitor.words and "much.txt" in visitor.words
    assert deep in visitor.words and "deep.html" in visitor.words


@pytest.mark.slow
def test_what_was_not_read_is_told_until_it_is_added_or_put_away(visit: Visit) -> None:
    upload(visit("library"), ("a.txt", b""), ("b.txt", b""))
    visitor = visit("library")  # a refresh
    assert english("unread.title", n=2) in visitor.words
    upload(visitor, ("a.txt", b"The bridge is open."))
    assert english("unread.title", n=1) in visitor.words
    visitor.press("dismiss_unread")
    assert "b.txt" not in visitor.words
    assert "b.txt" not in visit("library").words


def test_many_files_of_one_reason_are_a_few_names_and_a_number(visit: Visit) -> None:
    files = [(f"file{n:02}.txt", b"") for n in range(MAX_NAMES_PER_REASON + 3)]
    visitor = upload(visit("library"), *files)
    assert english("unread.more", n=3) in visitor.words


def test_a_changed_file_replaces_what_it_was(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    upload(visitor, ("tower.md", TOWER.encode()))
    assert english("added.unchanged", n=1) in visitor.words
    upload(visitor, ("tower.md", TOWER.replace("12", "15").encode()))
    assert english("added.replaced", n=1) in visitor.words
    assert own(visitor) == ["tower.md"]


def test_a_chosen_folder_keeps_its_paths(visit: Visit) -> None:
    files = [("notes/a.md", TOWER.encode()), ("notes/deep/a.md", b"# Bridge\n\nA bridge.")]
    upload(visit("library"), *files, box="folder")
    names = {entry.name for entry in get_application().library.list_all() if not entry.is_sample}
    assert names == {"notes/a.md", "notes/deep/a.md"}


def test_a_folder_of_this_machine_is_read_and_others_of_its_files_are_counted(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tower.md").write_text(TOWER, encoding="utf-8")
    (tmp_path / "notes" / "塔.txt").write_text("塔的门票是12元。", encoding="utf-8")
    (tmp_path / "notes" / "song.mp3").write_bytes(b"x")
    visitor = read(visit("library"), tmp_path / "notes")
    assert sorted(own(visitor)) == ["tower.md", "塔.txt"]
    assert english("intake.left_out", n=1) in visitor.words


def test_a_path_that_is_not_there_is_told_and_stays_in_its_box(visit: Visit) -> None:
    path = "/no/such/$folder$/`x`"
    visitor = read(visit("library"), path)
    assert visitor.errors == [english("library.folder_missing", path=path)]
    assert visitor.at.text_input(key="folder").value == path


@pytest.mark.slow
@pytest.mark.parametrize("path", ["a" * 5000, "x\0y", "~nobody-of-this-name/x"])
def test_a_path_that_cannot_be_one_is_told(visit: Visit, path: str) -> None:
    visitor = read(visit("library"), path)
    assert len(visitor.errors) == 1


def test_a_file_name_with_marks_is_shown_as_it_is(visit: Visit) -> None:
    visitor = upload(visit("library"), (NAME, b""))
    assert NAME.rsplit("/", 1)[-1] in visitor.words


# Searching and reading


def test_the_words_that_were_found_are_marked_and_nothing_else_of_a_passage_is_markup(
    visit: Visit,
) -> None:
    text = "# T\n\nThe zebra <b>costs</b> *12* :red[yuan] and [a](http://x.example)."
    visitor = search(upload(visit("library"), ("z.md", text.encode())), "zebras")
    [found] = [m.value for m in visitor.at.markdown if "zebra" in m.value]
    assert ":primary-background[zebra]" in found
    assert "<b>" not in found and "](http" not in found and r"\:red\[yuan\]" in found


def test_a_search_can_leave_the_sample_out(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    assert "Palace Museum" in search(visitor, "ticket to the Palace Museum").words
    visitor.at.button_group(key="library_where").set_value("own")
    titles = [m.value for m in visitor.look().at.markdown if m.value.startswith("**")]
    assert not any("Palace" in title for title in titles)
    assert any("tower" in title for title in titles)


def test_a_search_of_the_library_that_finds_nothing_says_so(visit: Visit) -> None:
    visitor = visit("library")
    for query in ("zzzz", "🎉", '"', "$", "a" * 20_000):
        assert english("library.no_hits") in search(visitor, query).words


def test_a_passage_is_shown_in_its_context_and_in_its_document(visit: Visit) -> None:
    parts = [f"## Part {n}\n\nParagraph number {n} about item{n}.\n" for n in range(2 * PASSAGES_PER_PAGE + 5)]
    visitor = upload(visit("library"), ("long.md", ("# Long\n\n" + "\n".join(parts)).encode()))
    search(visitor, "item40")
    [toggle] = [t for t in visitor.at.toggle if (t.key or "").startswith("context_")][:1]
    toggle.set_value(True)
    words = visitor.look().words
    assert "about item39" in words and "about item41" in words and "about item45" not in words
    [key] = [k for k in visitor.buttons if k.startswith("open_")][:1]
    words = visitor.press(key).words
    assert "about item40" in words and "Part 40" in words
    assert "about item1." not in words
    visitor.press("reader_page_back")
    assert "about item1." in visitor.words
    visitor.press("reader_back")
    assert english("library.documents") in visitor.words


@pytest.mark.slow
@pytest.mark.parametrize("document", ["99999", "-1", "x", "9" * 400, "１"])
def test_an_address_of_a_document_that_is_not_there_harms_nothing(visit: Visit, document: str) -> None:
    assert english("library.title") in visit("library", document=document, at="y").words


def test_a_document_can_be_asked_about_with_the_library_alone(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    search(visitor, "tower")
    [key] = [k for k in visitor.buttons if k.startswith("ask_")][:1]
    visitor.press(key)
    assert visitor.question == english("library.question", title="The tower")
    assert visitor.at.session_state["limits"].sources == ("library",)


# The list


def test_the_list_comes_in_pages_and_is_filtered_in_the_library(visit: Visit) -> None:
    files = [(f"doc{n:03}.md", f"# Title {n:03}\n\nText {n}.".encode()) for n in range(60)]
    files += [("塔.txt", "塔的门票是12元。".encode()), ("dated.md", b"---\nas_of: 2024-05-01\n---\n# D\n\nDated.")]  # fmt: skip
    visitor = upload(visit("library"), *files)
    visitor.at.selectbox(key="list_order").set_value("name")
    visitor.at.toggle(key="list_down").set_value(False)
    assert own(visitor.look())[:2] == ["dated.md", "doc000.md"]
    assert len(own(visitor)) == 50
    visitor.press("list_next")
    assert len(own(visitor)) == 12 and own(visitor)[-1] == "塔.txt"
    visitor.at.selectbox(key="list_language").set_value("zh")
    assert own(visitor.look()) == ["塔.txt"]
    assert f"{english('library.narrow')} · 1" in {p.proto.popover.label for p in visitor.at.get("popover")}
    visitor.at.selectbox(key="list_language").set_value("")
    visitor.at.selectbox(key="list_year").set_value("2024")
    assert own(visitor.look()) == ["dated.md"]
    visitor.at.text_input(key="list_text").set_value("100%_")
    assert english("library.no_match") in visitor.look().words
    visitor.press("clear_filters")
    assert len(own(visitor)) == 50


def test_removed_documents_can_be_put_back_and_be_deleted_for_good(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()), ("b.md", b"# B\n\nBridge."))
    library = get_application().library
    tick(visitor, monkeypatch, 0, 1).press("remove")
    assert english("library.removed", n=2) in visitor.words
    assert library.count_documents().own_count == 0 and library.search("bridge", is_sample=False) == []
    visitor.press("undo_remove")
    assert english("library.restored", n=2) in visitor.words
    assert library.count_documents().own_count == 2 and library.search("bridge", is_sample=False)
    visitor.press("remove")
    visitor.press("empty_bin_now")
    assert library.list_trashed() == ([], 0)
    assert "undo_remove" not in visitor.buttons


# The sample


def test_the_sample_is_left_out_as_soon_as_it_is_turned_off(visit: Visit) -> None:
    visitor = visit("library")
    assert english("library.samples", n=40) in visitor.words
    visitor.at.toggle(key="sample").set_value(False)
    visitor.look()
    assert "Sample documents" not in visitor.words
    assert get_application().library.list_all() == []
    visitor.go("ask").ask("What can children see in the Palace Museum?").wait()
    assert visitor.blocks("quote") == []
    assert visitor.blocks("missing")
    assert english("nothing.library") in visitor.words
    assert not visitor.at.get("download_button")


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
    close_application()
    assert visit("library").at.toggle(key="sample").value is False
    assert get_application().library.list_all() == []


def test_turning_the_sample_off_leaves_own_documents(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()))
    visitor.at.toggle(key="sample").set_value(False)
    assert english("library.own", n=1) in visitor.look().words


def test_a_library_without_anything_teaches_what_it_is_for(visit: Visit) -> None:
    visitor = visit("library", lang="zh")
    assert WORDS["library.empty"][0] in visitor.words
    upload(visitor, ("塔.md", TOWER.encode()))
    assert WORDS["library.empty"][0] not in visitor.words
    assert WORDS["added.added"][0].format(n=1) in visitor.words


# Notebooks


@pytest.mark.slow
def test_a_notebook_is_filled_asked_kept_by_a_follow_up_and_deleted(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = "# The bridge\n\nA ticket to the tower bridge costs 7 yuan."
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()), ("b.md", bridge.encode()))
    assert not visitor.at.pills.values
    get_application().store.add_to_notebook(
        "local", "*Trip*", ["gone.md"]
    )  # a new name is typed in test_library_browser
    visitor.at.selectbox(key="list_order").set_value("name")
    tick(visitor, monkeypatch, 0)  # the order goes down: the tower comes first
    assert own(visitor) == ["tower.md", "b.md"]
    visitor.at.selectbox(key="notebook_into").set_value("*Trip*")
    visitor.press("notebook_put_now")
    assert get_application().store.notebooks("local") == {"*Trip*": ("gone.md", "tower.md")}
    assert [toast.value for toast in visitor.at.toast] == [english("notebook.done", name=r"\*Trip\*", n=1)]

    visitor.at.pills(key="notebook_picked").set_value("*Trip*")
    assert own(visitor.look()) == ["tower.md"]
    words = search(visitor, "ticket to the tower").words
    assert "12 yuan" in words and "7 yuan" not in words

    visitor.press("notebook_ask").go("ask").ask("What does a ticket to the tower cost?").wait()
    assert english("run.notebook", name="*Trip*") in visitor.words
    quotes = " ".join(quote["text"] for quote in visitor.blocks("quote"))
    assert "12 yuan" in quotes and "7 yuan" not in quotes
    first = visitor.run_id
    visitor.at.chat_input(key=f"follow_up_{first[:8]}").set_value("When is the bridge open?")
    visitor.look().wait()
    further = get_application().runs.get_run(visitor.run_id)
    assert further and (further.follows, further.options.notebook) == (first, "*Trip*")
    assert english("run.notebook", name="*Trip*") in visitor.go("history").words

    visitor.go("library").at.pills(key="notebook_picked").set_value("*Trip*")
    visitor.look().at.text_input(key="notebook_named_*Trip*").set_value(" <b>Tour</b> ")
    visitor.press("notebook_rename_now")
    assert list(get_application().store.notebooks("local")) == ["<b>Tour</b>"] and own(visitor) == ["tower.md"]
    visitor.at.text_input(key="notebook_named_<b>Tour</b>").set_value(" ")
    visitor.press("notebook_rename_now")  # a name without a sign changes nothing
    assert list(get_application().store.notebooks("local")) == ["<b>Tour</b>"]
    visitor.press("notebook_delete_now")
    assert get_application().store.notebooks("local") == {} and len(own(visitor)) == 2


def test_a_document_is_taken_out_of_the_notebook_that_is_looked_at(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = upload(visit("library"), ("tower.md", TOWER.encode()), ("b.md", b"# B\n\nBridge."))
    for name in ("Trip", "Guides"):
        get_application().store.add_to_notebook("local", name, ["tower.md", "b.md"])
    visitor.look().at.pills(key="notebook_picked").set_value("Trip")
    tick(visitor, monkeypatch, 0).press("notebook_take")
    assert len(own(visitor)) == 1
    assert {name: len(there) for name, there in get_application().store.notebooks("local").items()} == {
        "Guides": 2,
        "Trip": 1,
    }


def test_a_notebook_is_chosen_where_a_question_is_asked(visit: Visit) -> None:
    visitor = visit("ask")
    assert "notebook" not in [box.key for box in visitor.at.selectbox]
    get_application().store.add_to_notebook("local", "Trip", ["tower.md"])
    visitor.look().at.selectbox(key="notebook").set_value("Trip")
    visitor.ask("What does a ticket to the tower cost?").wait()
    assert (run := get_application().runs.get_run(visitor.run_id)) and run.options.notebook == "Trip"
    visitor.press("new")
    assert visitor.at.selectbox(key="notebook").value == "Trip"
    visitor.at.button_group(key="sources").set_value(["places"])
    visitor.look().ask("What is near the tower?")
    assert (run := get_application().runs.get_run(visitor.run_id)) and run.options.notebook == ""
