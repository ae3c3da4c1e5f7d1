"""What a database means, on the Database page: a draft, edited as a file, used by questions without a model."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from research import application, database_description, describe_database, undescribe_database
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
MODEL = """\
tables:
  t_ord:
    label: {en: order, zh: 订单}
    date: made
    columns:
      amt: {label: {en: amount, zh: 金额}, unit: CNY}
      st: {label: {en: status, zh: 状态}, values: {P: [paid, 已付款]}}
"""


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


def opened(visitor: Visitor) -> Visitor:
    visitor.at.session_state["meaning"] = True
    return visitor.look()


def asked(visitor: Visitor, question: str) -> Visitor:
    visitor.at.text_area(key="database_question").set_value(question)
    return visitor.press("database_go").wait()


@pytest.mark.slow
def test_a_draft_is_edited_as_a_file_and_questions_are_read_by_it(
    visit: Visit, orders: Path
) -> None:
    before = asked(visit("database"), "订单金额合计")
    assert before.answer is not None and "订单" in before.words
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
    for question, value in (("已付款订单的金额合计", 17), ("total amount of orders in 2024", 15)):
        visitor = asked(visit("database"), question)
        assert visitor.table("sum_amt").iloc[0, 0] == value
    visitor = opened(visit("database")).press("meaning_back")
    assert "draft made from the names" in visitor.words


@pytest.mark.slow
def test_a_question_that_is_not_read_says_which_words(visit: Visit, orders: Path) -> None:
    assert describe_database(MODEL) == ""
    visitor = asked(visit("database"), "How many orders were refunded?")
    assert "refunded" in visitor.words


def test_each_owner_describes_a_database_for_themselves_and_deleting_all_forgets_it(
    orders: Path,
) -> None:
    assert describe_database(MODEL, owner="ann") == ""
    assert database_description(owner="ann").whose == "owner"
    assert database_description(owner="bob").whose == "draft"
    assert "no such column" in describe_database("tables: {t_ord: {row: [x]}}", owner="ann")
    assert database_description(owner="ann").text == MODEL
    assert list(application.desk().services.descriptions.all("ann").values()) == [MODEL]
    application.wipe(owner="ann")
    assert database_description(owner="ann").whose == "draft"
    assert not undescribe_database(owner="ann")


def test_a_description_that_the_database_has_outgrown_is_told_and_a_draft_stands_in(
    visit: Visit, orders: Path
) -> None:
    assert describe_database(MODEL) == ""
    with closing(sqlite3.connect(orders)) as made:
        made.execute("alter table t_ord rename to invoice")
        made.commit()
    application.close()
    assert "t_ord" in database_description().problem
    assert "no such table" in visit("database").words
