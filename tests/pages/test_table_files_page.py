"""Files on the Database page, without a browser: recognised, corrected, asked, deleted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from research import uploads
from tests.pages.visitor import Visitor

pytestmark = pytest.mark.slow

Visit = Callable[..., Visitor]
SALES = "日期,城市,数量\n2024年3月5日,杭州,3\n2024/3/6,苏州,4\n".encode("gb18030")


def given(visitor: Visitor, *files: tuple[str, bytes]) -> Visitor:
    lot = visitor.at.session_state["table_lot"]
    visitor.at.file_uploader(key=f"tables_{lot}").set_value(
        [(name, data, "application/octet-stream") for name, data in files]
    )
    return visitor.look()


def test_a_file_is_recognised_loaded_asked_and_deleted(visit: Visit) -> None:
    visitor = given(visit("database"), ("sales.csv", SALES))
    shown = visitor.at.dataframe[0].value
    assert list(shown["heading"]) == ["日期", "城市", "数量"]
    assert list(shown["type"]) == ["date", "text", "whole number"]
    visitor.press("load_tables")
    (upload,) = uploads()
    assert visitor.at.selectbox(key="database_upload").value == upload.id
    visitor.at.text_area(key="table_sql").set_value("SELECT 城市, 数量 FROM sales WHERE 数量 > 3")
    visitor.press("table_go")
    assert "苏州" in str(visitor.at.dataframe[-1].value)
    visitor.at.text_area(key="table_sql").set_value("SELECT * FROM '/etc/passwd'")
    visitor.press("table_go")
    assert "There is no table" in visitor.words
    visitor.press(f"delete_{upload.id}")
    assert uploads() == () and "sales" not in visitor.words


def test_the_row_of_the_headings_can_be_corrected(visit: Visit) -> None:
    visitor = given(visit("database"), ("odd.csv", b"x,y\na,b\n1,2\n"))
    visitor.at.number_input(key="header_0_0").set_value(2)
    visitor.look()
    assert list(visitor.at.dataframe[0].value["heading"]) == ["a", "b"]
    visitor.press("load_tables")
    assert [column.name for column in uploads()[0].tables[0].columns] == ["a", "b"]
    assert uploads()[0].tables[0].rows == 1


@pytest.mark.parametrize(("locale", "words"), [("en-US", "in no encoding"), ("zh-CN", "无法识别")])
def test_a_bad_file_is_told_and_the_others_are_there(visit: Visit, locale: str, words: str) -> None:
    visitor = visit("database", locale=locale)
    given(visitor, ("<i>bad.csv", bytes(range(1, 256)) * 9), ("sales.csv", SALES))
    assert words in visitor.words and "<i>bad.csv" in visitor.words
    visitor.press("load_tables")
    assert [upload.names for upload in uploads()] == [("sales.csv",)]
