"""A database of the analyst's own: what is read of it before a statement is run, and what it is called."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.sources.database.outcome_text import describe_outcome
from research.sources.database.results import ResultLimits
from research.sources.database.service import DatabaseService
from research.sources.database.shipped_database import ensure_shipped_database


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "orders of ann.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table sale(id integer primary key, town text, amount real)")
        towns = ("Hangzhou Shi", "Suzhou Shi")
        made.executemany(
            "insert into sale(town, amount) values (?, ?)",
            [(towns[n % 2], n * 1.5) for n in range(20)],
        )
        made.commit()
    return f"sqlite:///{path}"


async def test_its_cells_are_read_to_describe_it(own: str, tmp_path: Path) -> None:
    assert "Hangzhou Shi" in (await DatabaseService(own, tmp_path).read_schema()).describe()


async def test_without_samples_no_cell_is_read_beforehand(own: str, tmp_path: Path) -> None:
    desk = DatabaseService(own, tmp_path, includes_samples=False)
    text = (await desk.read_schema()).describe()
    assert "town" in text and "Hangzhou" not in text
    rows = await desk.run("SELECT id FROM sale WHERE town = 'Hangzhou'")
    assert rows.rows == () and "Hangzhou Shi" not in " ".join(rows.unmatched_filters)


async def test_what_a_filter_should_have_said_is_told(own: str, tmp_path: Path) -> None:
    rows = await DatabaseService(own, tmp_path).run("SELECT id FROM sale WHERE town = 'Hangzhou'")
    assert rows.unmatched_filters[0].startswith("sale.town is never 'Hangzhou'; there is 'Hangzhou Shi'")


@pytest.mark.parametrize(("column", "text", "near"), [("city", "杭州", "杭州市"), ("name", "黄山", "黄山风景区")])
async def test_near_values_are_told_of_columns_with_many_as_well(
    tmp_path: Path, column: str, text: str, near: str
) -> None:
    rows = await DatabaseService("", tmp_path).run(f"SELECT gid FROM a_sight WHERE {column} = '{text}'")
    assert near in rows.unmatched_filters[0]


async def test_a_value_that_is_there_is_not_missed(tmp_path: Path) -> None:
    sql = "SELECT gid FROM a_sight WHERE city = '杭州市' AND year_rated = 1999"
    assert (await DatabaseService("", tmp_path).run(sql)).unmatched_filters == ()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("浙江省有多少个5A级景区？", "用自己的话查询这个数据库，需要由模型来写 SQL。"),
        (
            "How many sales are there?",
            "A question in your own words to this database needs a model",
        ),
    ],
)
async def test_without_a_model_its_questions_are_not_read_and_the_reason_is_said(
    own: str, tmp_path: Path, question: str, said: str
) -> None:
    desk = DatabaseService(own, tmp_path)
    outcome = await desk.ask(question, ignore_event)
    assert (outcome.status, outcome.rows, outcome.saved) == ("no model", None, ())
    assert describe_outcome(outcome).startswith(said)
    assert not await desk.can_answer(question)


async def test_without_a_model_saved_questions_are_answered_and_offered(own: str, tmp_path: Path) -> None:
    confirmed = ("Sales by town", "SELECT town, count(*) AS n FROM sale GROUP BY town")
    example = "examples: [{question: 'How many sales are there?', sql: SELECT count(*) AS n FROM sale}]"
    desk = DatabaseService(
        own, tmp_path, load_pairs=lambda owner, base: [confirmed], load_description=lambda owner, base: example
    )
    answered = await desk.ask("how many sales are there", ignore_event)
    assert answered.rows is not None and answered.rows.rows == ((20,),)
    assert await desk.can_answer("Sales by town?")
    unread = await desk.ask("What was the largest amount?", ignore_event)
    assert unread.status == "no model"
    assert set(unread.saved) == {"Sales by town", "How many sales are there?"}
    assert "“Sales by town”" in describe_outcome(unread) and "write SQL yourself" in describe_outcome(unread)
    alike = await desk.ask("How many sales were there?", ignore_event)
    assert alike.saved == ("How many sales are there?",)


async def test_where_the_model_cannot_be_asked_that_is_said_instead(own: str, tmp_path: Path) -> None:
    outcome = await DatabaseService(own, tmp_path, has_idle_model=True).ask("How many sales?", ignore_event)
    assert "The model that is set cannot be asked" in describe_outcome(outcome)
    assert "No model is set up" not in describe_outcome(outcome)


async def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    desk = DatabaseService(f"sqlite:///{tmp_path / 'gone.db'}", tmp_path)
    with pytest.raises(ServiceError) as caught:
        await desk.ask("anything", ignore_event)
    assert caught.value.reason in ("unreachable", "refused", "unavailable")


@pytest.mark.slow
async def test_a_database_that_others_hold_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    desk = DatabaseService("", tmp_path, limits=ResultLimits(timeout_seconds=0.2))
    with closing(sqlite3.connect(ensure_shipped_database(tmp_path))) as other:
        other.execute("begin exclusive")
        with pytest.raises(ServiceError) as caught:
            await desk.ask("杭州有哪些5A景区？", ignore_event)
    assert caught.value.reason in ("timeout", "unavailable")
