"""Everything of one owner in one file: whole, without keys, and nobody else's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from research import Export, application, load_files, recognise_file
from research.accounts.export import without_keys
from research.sources.database.build import shipped
from tests.fakes import until
from tests.runtime.test_wiping import ANN, BOB, OTHER, SECRET, put

KEY = "sk-sentinel-0123456789abcdef"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path / "data"))
    application.close()
    yield tmp_path / "data"
    application.close()


def made(owner: str, *, library: bool = False) -> Export:
    application.export(library=library, owner=owner)
    until(lambda: (state := application.exported(owner=owner)) is None or state.status != "making")
    found = application.exported(owner=owner)
    assert found is not None
    assert (found.status, found.problem) == ("ready", "")
    return found


def read(export: Export) -> dict[str, str]:
    assert export.file is not None
    with ZipFile(export.file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_all_runs_are_in_it_and_what_was_chosen_and_nobody_else_s(desk: Path) -> None:
    put(ANN, SECRET)
    put(BOB, OTHER)
    application.tag(application.recent(owner=ANN)[0].conversation, ["figures"], owner=ANN)
    file = desk.parent / "own.csv"
    for owner, value in ((ANN, "1"), (BOB, OTHER)):
        file.write_text(f"price,{owner}\n2,{value}\n", encoding="utf-8")
        load_files([(file, recognise_file(file))], owner=owner)
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
    assert (export.done, export.total, export.lost) == (1, 1, 0)


def test_the_own_documents_are_in_it_where_they_are_wanted(desk: Path) -> None:
    library = application.desk().library
    list(library.add([("../../own.md", f"# Own\n\n{SECRET} is open.".encode())]))
    files = read(made(ANN, library=True))
    assert SECRET in files["library/00001.txt"]
    (listed,) = json.loads(files["library/index.json"])
    assert listed["file"] == "library/00001.txt"
    assert [name for name in read(made(ANN)) if name.startswith("library/")] == []


def test_no_key_is_in_it(desk: Path) -> None:
    put(ANN, f"{SECRET} {KEY}")
    application.prefer("keys", {"OPENAI_API_KEY": "mine"}, owner=ANN)
    application.prefer(
        "settings", {"api_key": "mine", "model": f"x {KEY}", "list": [KEY]}, owner=ANN
    )
    personal = json.loads(read(made(ANN))["personal.json"])["preferences"]
    assert "keys" not in personal
    assert set(personal["settings"]) == {"model", "list"}
    assert KEY not in json.dumps(personal)
    assert without_keys({"Token": 1, "n": [{"password": 2, "m": 3}]}) == {"n": [{"m": 3}]}


def test_nobody_else_sees_it_or_can_discard_it(desk: Path) -> None:
    put(ANN, SECRET)
    export = made(ANN)
    assert export.file is not None
    assert application.exported(owner=BOB) is None
    application.discard_export(owner=BOB)
    application.wipe(owner=BOB)
    assert export.file.is_file()
    assert application.exported(owner=ANN) == export


def test_nobody_else_can_look_into_the_data_folder_whatever_the_umask(desk: Path) -> None:
    before = os.umask(0)
    try:
        put(ANN, SECRET)
        made(ANN, library=True)
        assert shipped(desk).is_file()
        held = [desk, *desk.rglob("*")]
        assert {path.name for path in held} >= {"runs.db", "runs.db-wal", "library.db", "exports"}
        assert [path for path in held if path.stat().st_mode & 0o077] == []
    finally:
        os.umask(before)


@pytest.mark.parametrize("how", ["discard", "wipe", "close", "again"])
def test_the_file_goes_when_it_is_not_wanted_any_more(desk: Path, how: str) -> None:
    put(ANN, SECRET)
    first = made(ANN)
    assert first.file is not None
    if how == "discard":
        application.discard_export(owner=ANN)
    elif how == "wipe":
        application.wipe(owner=ANN)
    elif how == "close":
        application.close()
    else:
        assert made(ANN).file != first.file
    assert not first.file.exists()
    if how != "again":
        assert not (desk / "exports").exists()


def test_a_folder_that_cannot_be_written_is_told(desk: Path) -> None:
    put(ANN, SECRET)
    (desk / "exports").write_text("in the way", encoding="utf-8")
    application.export(owner=ANN)
    until(
        lambda: (state := application.exported(owner=ANN)) is not None and state.status == "failed"
    )
    state = application.exported(owner=ANN)
    assert state is not None
    assert state.problem
    assert state.file is None
