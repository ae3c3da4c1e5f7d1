"""What a database means, on the Database page: a draft, edited as a file, used for headings."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from research import close_application, get_application
from tests.catalogue import WORDS
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
MODEL = """\
tables:
  t_ord:
    label: {en: order, zh: 订单}
    columns:
      amt: {label: {en: amount, zh: 金额}, unit: CNY}
      st: {label: {en: status, zh: 状态}, values: {P: [paid, 已付款]}}
"""


SQL = "SELECT amt FROM t_ord ORDER BY id"


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "orders.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            """
            create table t_ord(id integer primary key, made text, amt real, st text);
            insert into t_ord values (1, '2024-01-03', 10, 'P'), (2, '2024-02-05', 5, 'N'), (3, '2025-02-05', 7, 'P');
            """
        )
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    return path


def english(key: str) -> str:
    return WORDS[key][1]


def opened(visitor: Visitor) -> Visitor:
    visitor.at.session_state["meaning"] = True
    return visitor.look()


def asked(visitor: Visitor, text: str, *, typed: bool = False) -> Visitor:
    if typed:
        visitor.at.session_state["database_kept_mode"] = "sql"
        visitor.at.session_state["database_mode"] = "sql"
        visitor.look()
    visitor.at.text_area(key=f"database_{'sql' if typed else 'question'}").set_value(text)
    return visitor.press("database_go").wait()


@pytest.mark.slow
def test_a_draft_is_edited_as_a_file_and_heads_the_columns(visit: Visit, orders: Path) -> None:
    visitor = opened(visit("database"))
    assert "draft made from the names" in visitor.words
    (box,) = [area for area in visitor.at.text_area if str(area.key).startswith("yaml_")]
    assert "t_ord" in str(box.value)
    box.set_value("tables: {nothing: {}}")
    visitor.press("save_file")
    assert "no such table" in visitor.words
    (box,) = [area for area in visitor.at.text_area if str(area.key).startswith("yaml_")]
    box.set_value(MODEL)
    visitor.press("save_file")
    assert "your own version" in visitor.words
    visitor = asked(visit("database"), SQL, typed=True)
    assert any("Amount (CNY)" in table.proto.columns for table in visitor.at.dataframe)
    visitor = opened(visit("database")).press("meaning_back")
    assert "draft made from the names" in visitor.words


@pytest.mark.slow
def test_without_a_model_a_question_is_told_what_it_needs_and_saved_ones_are_offered(
    visit: Visit, orders: Path
) -> None:
    get_application().databases.confirm_statement("Orders", SQL)
    assert english("database.rules_own") in visit("database").words
    visitor = asked(visit("database"), "Total amount of orders")
    assert english("outcome.needs_model") in visitor.words
    assert not visitor.at.warning  # it is said once, in the answer
    saved = next(key for key in visitor.buttons if key.startswith("saved_"))
    visitor.press(saved).wait()
    assert list(visitor.table("amt")["amt"]) == [10, 5, 7]
    visitor = asked(visit("database"), "Total amount of orders")
    visitor.press(next(key for key in visitor.buttons if key.startswith("write_sql_")))
    assert visitor.at.session_state["database_mode"] == "sql"


def test_each_owner_describes_a_database_for_themselves_and_deleting_all_forgets_it(
    orders: Path,
) -> None:
    assert get_application().databases.save_description(MODEL, owner="ann") == ""
    assert get_application().databases.description(owner="ann").origin == "owner"
    assert get_application().databases.description(owner="bob").origin == "draft"
    assert "no such column" in get_application().databases.save_description(
        "tables: {t_ord: {columns: {x: {}}}}", owner="ann"
    )
    assert get_application().databases.description(owner="ann").text == MODEL
    assert list(get_application().services.descriptions.all("ann").values()) == [MODEL]
    get_application().delete_owner_data(owner="ann")
    assert get_application().databases.description(owner="ann").origin == "draft"
    assert not get_application().databases.delete_description(owner="ann")


def test_a_description_that_the_database_has_outgrown_is_told_and_a_draft_stands_in(visit: Visit, orders: Path) -> None:
    assert get_application().databases.save_description(MODEL) == ""
    with closing(sqlite3.connect(orders)) as made:
        made.execute("alter table t_ord rename to invoice")
        made.commit()
    close_application()
    assert "t_ord" in get_application().databases.description().problem
    assert "no such table" in visit("database").words
