"""What is read of a database before anybody asks."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from research.sources.database.engines import Database, open_database
from tests.sources.database.scenic import TABLES, known


def test_tables_views_types_keys_and_values_are_read(scenic: Path) -> None:
    schema = open_database(scenic, table_filter=known).schema
    assert {table.name for table in schema.tables} == set(TABLES)
    described = schema.describe().splitlines()
    assert "  gid INTEGER primary key" in described
    assert "  gid INTEGER -> a_sight.gid" in described
    assert "  level TEXT [3A | 4A | 5A]" in described
    assert "  建议季节 TEXT [冬 | 夏 | 春 | 秋]" in described
    assert any(table.is_view for table in schema.tables)


def test_what_is_not_chosen_is_not_there(scenic: Path) -> None:
    assert "secret" not in open_database(scenic, table_filter=known).schema.describe()
    assert "secret" in open_database(scenic).schema.build_catalog().tables


def test_comments_come_from_outside(scenic: Path) -> None:
    def comments(table: str, column: str) -> str:
        return {("a_sight", ""): "景区", ("a_sight", "level"): "等级, 5A is best"}.get((table, column), "")

    described = open_database(
        scenic, table_filter=known, find_comment=comments, includes_samples=False
    ).schema.describe()
    assert "a_sight -- 景区" in described
    assert "  level TEXT -- 等级, 5A is best" in described
    assert "[" not in described


def test_columns_with_many_or_long_values_carry_none(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with sqlite3.connect(path) as made:
        made.execute("create table own(address text)")
        made.executemany("insert into own values (?)", [(f"{n} Main Street",) for n in range(20)])
        made.execute('create table t("two words" text, many text, long text, few text, "select" text)')
        for n in range(100):
            made.execute("insert into t values (?, ?, ?, ?, ?)", ("x", f"v{n}", "y" * 50, "a\nb", "k"))
    made.close()
    database = open_database(path)
    own, table = database.schema.tables
    assert own.columns[0].values == ()
    assert len(database.distinct_values(own, "address", max_values=30)) == 20
    values = {column.name: column.values for column in table.columns}
    assert values == {
        "two words": ("x",),
        "many": (),
        "long": (),
        "few": ("a b",),
        "select": ("k",),
    }
    assert database.distinct_values(table, "many", max_values=200)[:2] == ("v0", "v1")
    assert database.run(database.check('SELECT "two words", "select" FROM t LIMIT 1')).rows == (("x", "k"),)


def test_a_filter_that_no_value_meets_is_told_with_what_is_like_it(database: Database) -> None:
    sql = "SELECT name FROM a_sight a WHERE City = '杭州' AND level IN ('5A', 'AAAAA') AND '浙江省' = a.province AND name = 'x'"
    query = database.check(sql)
    assert ("a_sight", "city", "杭州") in query.filters
    told = {(one.column, one.text): one.similar_values for one in database.unmatched_filters(query)}
    assert set(told) == {("city", "杭州"), ("level", "AAAAA")}
    assert told["city", "杭州"][0] == "杭州市"
    assert database.unmatched_filters(database.check("SELECT name FROM a_sight WHERE city = ''")) == ()
    assert database.unmatched_filters(database.check("SELECT name FROM a_sight WHERE city = '杭州市'")) == ()
