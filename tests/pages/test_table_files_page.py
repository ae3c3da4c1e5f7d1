"""Files and several databases on the Database page, without a browser."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research import get_application
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
SALES = "日期,城市,数量\n2024年3月5日,杭州,3\n2024/3/6,苏州,4\n".encode("gb18030")


def given(visitor: Visitor, *files: tuple[str, bytes]) -> Visitor:
    lot = visitor.at.session_state["table_lot"]
    visitor.at.file_uploader(key=f"tables_{lot}").set_value(
        [(name, data, "application/octet-stream") for name, data in files]
    )
    return visitor.look()


def asked(visitor: Visitor, sql: str) -> Visitor:
    visitor.at.button_group(key="database_mode").set_value("sql")
    visitor.look()
    visitor.at.text_area(key="database_sql").set_value(sql)
    return visitor.press("database_go").wait()


def test_a_file_is_recognised_loaded_asked_and_deleted(visit: Visit) -> None:
    visitor = given(visit("database"), ("sales.csv", SALES))
    shown = visitor.at.dataframe[0].value
    assert list(shown["heading"]) == ["日期", "城市", "数量"]
    assert list(shown["type"]) == ["date", "text", "whole number"]
    visitor.press("load_tables")
    (upload,) = get_application().databases.uploads()
    assert visitor.at.selectbox(key="database_chosen").value == upload.database
    visitor = asked(visitor, "SELECT 城市, 数量 FROM sales WHERE 数量 > 3")
    assert list(visitor.table("城市")["城市"]) == ["苏州"]
    run = get_application().runs.get_run(visitor.run_id)
    assert run is not None and run.options.database == upload.database
    (edit,) = [name for name in visitor.buttons if name.startswith("edit_")]
    visitor.press(edit)  # with the files still chosen
    assert visitor.at.selectbox(key="database_chosen").value == upload.database
    visitor = asked(visitor, "SELECT * FROM '/etc/passwd'")
    assert "There is no table" in visitor.words
    visitor = visit("database")
    visitor.press(f"delete_{upload.id}")
    assert get_application().databases.uploads() == () and "sales.csv" not in visitor.words


def test_a_database_is_chosen_among_several_and_its_runs_keep_to_it(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as made:
        made.executescript("create table goods(name text); insert into goods values ('tea')")
    text = f"""
    [shop]
    url = "sqlite:///{tmp_path}/shop.db"
    description = {{zh = "店铺", en = "<b>What</b> the shop has"}}
    [gone]
    url = "env:SHOP_THAT_IS_GONE"
    """
    (tmp_path / "several.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("SIGHTLINE_DATABASES", str(tmp_path / "several.toml"))
    assert "店铺" in visit("database", lang="zh").words
    visitor = visit("database")
    box = visitor.at.selectbox(key="database_chosen")
    assert box.value == "shop" and len(box.options) == 2
    assert "<b>What</b> the shop has" in visitor.words
    assert "SHOP_THAT_IS_GONE" in visitor.words
    visitor = asked(visitor, "SELECT name FROM goods")
    assert list(visitor.table("name")["name"]) == ["tea"]
    visitor = visit("database")
    visitor.at.selectbox(key="database_chosen").set_value("scenic-areas")
    visitor.look()
    visitor = asked(visitor, "SELECT name FROM goods")
    assert "goods" in visitor.words and not visitor.at.dataframe
    visitor = asked(visit("database"), "SELECT count(*) AS n FROM goods")
    assert int(visitor.table("n")["n"][0]) == 1  # another visit: the usual one


def widget(visitor: Visitor, kind: str, prefix: str) -> Any:
    """The first widget whose key begins so; the rest of the key changes with what was chosen."""
    return next(each for each in getattr(visitor.at, kind) if str(each.key).startswith(prefix))


def button(visitor: Visitor, prefix: str) -> str:
    return next(name for name in visitor.buttons if name.startswith(prefix))


def test_the_row_of_the_headings_can_be_corrected_before_a_file_is_loaded(visit: Visit) -> None:
    visitor = given(visit("database"), ("odd.csv", b"x,y\n1,2\n3,4\n"))
    widget(visitor, "number_input", "header_0_0").set_value(2)
    visitor.press(button(visitor, "read_again_0_0"))
    assert list(visitor.at.dataframe[0].value["heading"]) == ["1", "2"]
    visitor.press("load_tables")
    assert [column.name for column in get_application().databases.uploads()[0].tables[0].columns] == ["_1", "_2"]
    assert get_application().databases.uploads()[0].tables[0].rows == 1


MESSY = (
    "Umsatz 2024;;;\nTag;Stadt;Umsatz;Menge\n"
    + "".join(f"0{n}/03/2024;Köln {n};{n}.000,50;{n}\n" for n in range(1, 8))
    + "08/03/2024;Bonn;8.000,50;ca. 8\n;Summe;36.004,00;\n"
).encode("cp1252")


def test_what_was_chosen_for_a_file_is_there_after_a_reload_and_for_a_new_question(visit: Visit) -> None:
    visitor = given(visit("database"), ("umsatz.csv", MESSY)).press("load_tables")
    (upload,) = get_application().databases.uploads()
    for words in (
        "Semicolons, Windows-1252, headings in row 2, decimal commas in Umsatz, 1 total row set aside",
        "Row 11, total: Summe · 36.004,00",
        "Tag stays text: nothing tells whether the day or the month comes first.",
        "Menge stays text, as 1 of 8 values could not be read as numbers: “ca. 8”.",
    ):
        assert words in visitor.words
    again = button(visitor, f"read_again_{upload.id}_0")
    visitor.at.session_state[again.replace("read_again", "columns")] = {
        "edited_rows": {0: {"type": "date, day first"}, 3: {"type": "number, decimal point"}},
        "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    widget(visitor, "checkbox", f"totals_{upload.id}_0").check()
    visitor.press(again)

    visitor = visit("database")  # a new tab
    assert "total rows kept in the data" in visitor.words and "type chosen for Tag, Menge" in visitor.words
    assert "1 of 8 values of Menge could not be read as numbers and were left out: “ca. 8”." in visitor.words
    assert widget(visitor, "checkbox", f"totals_{upload.id}_0").value
    (changed,) = get_application().databases.uploads()
    assert (changed.database, changed.tables[0].rows) == (upload.database, 9)

    visitor.at.selectbox(key="database_chosen").set_value(upload.database)
    visitor.look()
    visitor = asked(visitor, "SELECT sum(Menge) AS total, max(Tag) AS last, count(*) AS n FROM umsatz")
    assert [str(value) for value in visitor.table("n").iloc[0]] == ["28.0", "2024-03-08", "9"]
    assert "1 of 8 values of Menge could not be read as numbers and were left out" in visitor.words
    (shown,) = [table for table in visitor.at.dataframe if "n" in table.value.columns]
    columns = json.loads(shown.proto.columns)
    assert [name for name, column in columns.items() if column.get("hidden")] == ["_index"]  # the dates are shown
    visitor = visit("database")  # a new question
    assert "type chosen for Tag, Menge" in visitor.words
    visitor.press(button(visitor, f"as_detected_{upload.id}_0"))
    assert "type chosen for" not in visitor.words and get_application().databases.uploads()[0].tables[0].rows == 8


def test_a_file_stays_as_it_was_read_if_a_choice_makes_it_unreadable(visit: Visit) -> None:
    visitor = given(visit("database"), ("umsatz.csv", MESSY)).press("load_tables")
    (upload,) = get_application().databases.uploads()
    widget(visitor, "selectbox", f"encoding_{upload.id}_0").set_value("utf-16")
    visitor.press(button(visitor, f"read_again_{upload.id}_0"))
    assert "umsatz.csv" in " ".join(visitor.errors)
    assert get_application().databases.uploads() == (upload,)


def test_the_encoding_of_a_file_that_cannot_be_told_is_chosen(visit: Visit) -> None:
    visitor = given(visit("database"), ("odd.csv", b"a,b\n\xe9,1\n"))  # é in the West, й in Cyrillic
    assert visitor.errors and "load_tables" not in visitor.buttons
    widget(visitor, "selectbox", "encoding_0_").set_value("cp1251")
    visitor.press(button(visitor, "read_again_0_"))
    assert not visitor.errors and "Windows-1251" in visitor.words
    visitor.press("load_tables")
    assert get_application().databases.uploads()[0].tables[0].correction.encoding == "cp1251"


@pytest.mark.parametrize(("locale", "words"), [("en-US", "encoding that cannot be told"), ("zh-CN", "无法识别")])
def test_a_bad_file_is_told_and_the_others_are_there(visit: Visit, locale: str, words: str) -> None:
    visitor = visit("database", locale=locale)
    given(visitor, ("<i>bad.csv", bytes(range(1, 256)) * 9), ("sales.csv", SALES))
    assert words in visitor.words and "<i>bad.csv" in visitor.words
    visitor.press("load_tables")
    assert [upload.names for upload in get_application().databases.uploads()] == [("sales.csv",)]
