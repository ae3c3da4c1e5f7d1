"""A database of the analyst's own: what is read of it before a statement is run, and what it is called."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from research.core.errors import Trouble
from research.core.records import silent
from research.sources.database.build import shipped
from research.sources.database.results import Limits
from research.sources.database.service import DatabaseService


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
    assert "Hangzhou Shi" in await DatabaseService(own, tmp_path).schema()


async def test_without_samples_no_cell_is_read_beforehand(own: str, tmp_path: Path) -> None:
    desk = DatabaseService(own, tmp_path, samples=False)
    text = await desk.schema()
    assert "town" in text and "Hangzhou" not in text
    rows = await desk.run("SELECT id FROM sale WHERE town = 'Hangzhou'")
    assert rows.rows == () and "Hangzhou Shi" not in " ".join(rows.missed)


async def test_what_a_filter_should_have_said_is_told(own: str, tmp_path: Path) -> None:
    rows = await DatabaseService(own, tmp_path).run("SELECT id FROM sale WHERE town = 'Hangzhou'")
    assert rows.missed[0].startswith("sale.town is never 'Hangzhou'; there is 'Hangzhou Shi'")


@pytest.mark.parametrize(
    ("column", "text", "near"), [("city", "杭州", "杭州市"), ("name", "黄山", "黄山风景区")]
)
async def test_near_values_are_told_of_columns_with_many_as_well(
    tmp_path: Path, column: str, text: str, near: str
) -> None:
    rows = await DatabaseService("", tmp_path).run(
        f"SELECT gid FROM a_sight WHERE {column} = '{text}'"
    )
    assert near in rows.missed[0]


async def test_a_value_that_is_there_is_not_missed(tmp_path: Path) -> None:
    sql = "SELECT gid FROM a_sight WHERE city = '杭州市' AND year_rated = 1999"
    assert (await DatabaseService("", tmp_path).run(sql)).missed == ()


async def test_rules_are_not_tried_on_other_tables(own: str, tmp_path: Path) -> None:
    outcome = await DatabaseService(own, tmp_path).ask("浙江省有多少个5A级景区？", silent)
    assert outcome.status == "unclear"


async def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    desk = DatabaseService(f"sqlite:///{tmp_path / 'gone.db'}", tmp_path)
    with pytest.raises(Trouble) as caught:
        await desk.ask("anything", silent)
    assert caught.value.reason in ("unreachable", "refused", "unavailable")


@pytest.mark.slow
async def test_a_database_that_others_hold_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    desk = DatabaseService("", tmp_path, limits=Limits(seconds=0.2))
    with closing(sqlite3.connect(shipped(tmp_path))) as other:
        other.execute("begin exclusive")
        with pytest.raises(Trouble) as caught:
            await desk.ask("杭州有哪些5A景区？", silent)
    assert caught.value.reason in ("timeout", "unavailable")
