"""Files and several databases on the Database page, without a browser."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

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


def test_the_row_of_the_headings_can_be_corrected(visit: Visit) -> None:
    visitor = given(visit("database"), ("odd.csv", b"x,y\na,b\n1,2\n"))
    visitor.at.number_input(key="header_0_0").set_value(2)
    visitor.look()
    assert list(visitor.at.dataframe[0].value["heading"]) == ["a", "b"]
    visitor.press("load_tables")
    assert [column.name for column in get_application().databases.uploads()[0].tables[0].columns] == ["a", "b"]
    assert get_application().databases.uploads()[0].tables[0].rows == 1


@pytest.mark.parametrize(("locale", "words"), [("en-US", "encoding that cannot be told"), ("zh-CN", "无法识别")])
def test_a_bad_file_is_told_and_the_others_are_there(visit: Visit, locale: str, words: str) -> None:
    visitor = visit("database", locale=locale)
    given(visitor, ("<i>bad.csv", bytes(range(1, 256)) * 9), ("sales.csv", SALES))
    assert words in visitor.words and "<i>bad.csv" in visitor.words
    visitor.press("load_tables")
    assert [upload.names for upload in get_application().databases.uploads()] == [("sales.csv",)]
