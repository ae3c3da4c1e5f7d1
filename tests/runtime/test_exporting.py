"""Everything of one owner in one file: whole, without keys, and nobody else's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from research import DataExport, close_application, detect_tables, get_application
from research.accounts.data_export import remove_secrets
from research.sources.database.shipped_database import ensure_shipped_database
from tests.fakes import until
from tests.runtime.test_wiping import ANN, BOB, OTHER, SECRET, put
from tests.sources.library.test_documents import make_pdf

KEY = "sk-sentinel-0123456789abcdef"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path / "data"))
    close_application()
    yield tmp_path / "data"
    close_application()


def made(owner: str, *, library: bool = False) -> DataExport:
    get_application().data_exports.start(owner, include_library=library)
    until(lambda: (state := get_application().data_exports.get(owner)) is None or state.status != "making")
    found = get_application().data_exports.get(owner)
    assert found is not None
    assert (found.status, found.error) == ("ready", "")
    return found


def read(export: DataExport) -> dict[str, str]:
    assert export.path is not None
    with ZipFile(export.path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_all_runs_are_in_it_and_what_was_chosen_and_nobody_else_s(desk: Path) -> None:
    put(ANN, SECRET)
    put(BOB, OTHER)
    get_application().store.history.set_tags(
        ANN, get_application().runs.recent_runs(owner=ANN)[0].conversation, ["figures"]
    )
    file = desk.parent / "own.csv"
    for owner, value in ((ANN, "1"), (BOB, OTHER)):
        file.write_text(f"price,{owner}\n2,{value}\n", encoding="utf-8")
        get_application().databases.load_files([(file, detect_tables(file))], owner=owner)
    export = made(ANN)
    files = read(export)
    assert set(files) == {
        "personal.json", "runs/2026-01-02-00001.json", "runs/2026-01-02-00001.md", "README.txt",
    }  # fmt: skip
    assert SECRET in files["runs/2026-01-02-00001.md"]
    assert SECRET in files["runs/2026-01-02-00001.json"]
    personal = json.loads(files["personal.json"])
    assert personal["preferences"] == {"word": SECRET}
    assert [talk["title"] for talk in personal["conversations"]] == [SECRET]
    assert [tag["name"] for tag in personal["tags"]] == ["figures"]
    assert [pair["question"] for pair in personal["statements"]] == [SECRET]
    assert personal["notebooks"] == {f"About {SECRET}": [f"{SECRET}.md", "tower.md"]}
    assert [(note["passage"], note["text"]) for note in personal["notes"]] == [
        ("", SECRET),
        ("p", SECRET),
    ]
    assert [watch["topic"] for watch in personal["watches"]] == [SECRET]
    (loaded,) = personal["tables"]
    assert loaded["names"] == ["own.csv"] and loaded["tables"][0]["rows"] == 1
    assert [column["heading"] for column in loaded["tables"][0]["columns"]] == ["price", ANN]
    assert OTHER not in "".join(files.values()) and BOB not in files["personal.json"]
    assert (export.done_count, export.total_count, export.failed_count) == (1, 1, 0)


def test_the_own_documents_are_in_it_where_they_are_wanted(desk: Path) -> None:
    library = get_application().library
    list(library.add_files([("../../own.md", f"# Own\n\n{SECRET} is open.".encode())]))
    files = read(made(ANN, library=True))
    assert SECRET in files["library/00001.txt"]
    (listed,) = json.loads(files["library/index.json"])
    assert listed["file"] == "library/00001.txt"
    assert "original" not in listed
    assert [name for name in read(made(ANN)) if name.startswith("library/")] == []


def test_the_originals_that_the_library_keeps_are_in_it(desk: Path) -> None:
    data = make_pdf([f"{SECRET} is open."])
    list(get_application().library.add_files([("../own.PDF", data)]))
    path = made(ANN, library=True).path
    assert path is not None
    with ZipFile(path) as archive:
        (listed,) = json.loads(archive.read("library/index.json"))
        assert listed["original"] == "library/00001-original.pdf"
        assert archive.read(listed["original"]) == data


def test_no_key_is_in_it(desk: Path) -> None:
    put(ANN, f"{SECRET} {KEY}")
    get_application().store.set_preference(ANN, "keys", {"OPENAI_API_KEY": "mine"})
    get_application().store.set_preference(ANN, "settings", {"api_key": "mine", "model": f"x {KEY}", "list": [KEY]})
    personal = json.loads(read(made(ANN))["personal.json"])["preferences"]
    assert "keys" not in personal
    assert set(personal["settings"]) == {"model", "list"}
    assert KEY not in json.dumps(personal)
    assert remove_secrets({"Token": 1, "n": [{"password": 2, "m": 3}]}) == {"n": [{"m": 3}]}


def test_nobody_else_sees_it_or_can_discard_it(desk: Path) -> None:
    put(ANN, SECRET)
    export = made(ANN)
    assert export.path is not None
    assert get_application().data_exports.get(BOB) is None
    get_application().data_exports.discard(BOB)
    get_application().delete_owner_data(owner=BOB)
    assert export.path.is_file()
    assert get_application().data_exports.get(ANN) == export


def test_nobody_else_can_look_into_the_data_folder_whatever_the_umask(desk: Path) -> None:
    before = os.umask(0)
    try:
        put(ANN, SECRET)
        made(ANN, library=True)
        assert ensure_shipped_database(desk).is_file()
        held = [desk, *desk.rglob("*")]
        assert {path.name for path in held} >= {"runs.db", "runs.db-wal", "library.db", "exports"}
        assert [path for path in held if path.stat().st_mode & 0o077] == []
    finally:
        os.umask(before)


@pytest.mark.parametrize("how", ["discard", "wipe", "close", "again"])
def test_the_file_goes_when_it_is_not_wanted_any_more(desk: Path, how: str) -> None:
    put(ANN, SECRET)
    first = made(ANN)
    assert first.path is not None
    if how == "discard":
        get_application().data_exports.discard(ANN)
    elif how == "wipe":
        get_application().delete_owner_data(owner=ANN)
    elif how == "close":
        close_application()
    else:
        assert made(ANN).path != first.path
    assert not first.path.exists()
    if how != "again":
        assert not (desk / "exports").exists()


def test_a_folder_that_cannot_be_written_is_told(desk: Path) -> None:
    put(ANN, SECRET)
    (desk / "exports").write_text("in the way", encoding="utf-8")
    get_application().data_exports.start(ANN)
    until(lambda: (state := get_application().data_exports.get(ANN)) is not None and state.status == "failed")
    state = get_application().data_exports.get(ANN)
    assert state is not None
    assert state.error
    assert state.path is None
