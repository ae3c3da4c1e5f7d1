"""For how many rows a statement's columns are known, told of what it filters, aggregates and ranks by."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlglot import parse_one

from research.sources.database.coverage import build_coverage_queries
from research.sources.database.engines import Database, open_database
from research.sources.database.results import ResultLimits
from tests.servers.postgres import Cluster
from tests.tables import each_row

SCHEMA = """
create table area(id integer primary key, name text not null, region text not null, score double precision,
    lng double precision, lat double precision);
create table ticket(id integer primary key, area integer unique references area(id), price integer, kind text);
create table visit(id integer primary key, area integer references area(id), people integer);
"""
# 12 areas, half of each region; a score for 9; a ticket's row for 8 and its price for 5; 2 visits of areas 1 to 4
AREAS = [(n, f"area {n}", "ab"[n % 2], None if n % 4 == 0 else n / 2, None if n == 12 else n, 30) for n in range(1, 13)]
TICKETS = [(n, n, None if n in (2, 4, 7) else n * 10, "day") for n in range(1, 9)]
VISITS = [(n, n % 4 + 1, None if n == 3 else n * 100) for n in range(1, 9)]

CASES: list[tuple[str, list[tuple[str, int, int, bool]]]] = [
    # one table
    ("SELECT count(*) FROM area WHERE score > 2", [("score", 9, 12, False)]),
    ("SELECT count(*) FROM area WHERE region = 'a' AND score > 2", [("score", 3, 6, False)]),
    ("SELECT count(*) FROM area WHERE region = 'zz' AND score > 2", []),
    ("SELECT name FROM area WHERE score BETWEEN 1 AND 2 OR score = 5", [("score", 9, 12, False)]),
    ("SELECT name FROM area WHERE NOT score > 2", [("score", 9, 12, False)]),
    ("SELECT name FROM area WHERE coalesce(score, 0) < 2", [("score", 9, 12, False)]),
    ("SELECT name FROM area WHERE score IS NOT NULL", [("score", 9, 12, False)]),
    ("SELECT name FROM area WHERE score IS NULL", []),
    ("SELECT avg(score) FROM area", [("score", 9, 12, False)]),
    ("SELECT count(score) FROM area", [("score", 9, 12, False)]),
    ("SELECT sum(CASE WHEN score > 2 THEN 1 ELSE 0 END) FROM area", [("score", 9, 12, False)]),
    ("SELECT count(*) FILTER (WHERE score > 2) FROM area", [("score", 9, 12, False)]),
    ("SELECT region, max(score) FROM area GROUP BY region", [("score", 9, 12, False)]),
    ("SELECT region FROM area GROUP BY region HAVING avg(score) > 1", [("score", 9, 12, False)]),
    ("SELECT name FROM area ORDER BY score DESC LIMIT 3", [("score", 9, 12, False)]),
    ("SELECT name, score AS s FROM area ORDER BY s DESC LIMIT 3", [("score", 9, 12, False)]),
    ("SELECT name, rank() OVER (ORDER BY score DESC) AS r FROM area", [("score", 9, 12, False)]),
    ("SELECT name FROM area WHERE distance_km(lng, lat, 1, 30) < 500", [("lng", 11, 12, False)]),
    ("SELECT name FROM area WHERE score = (SELECT max(score) FROM area)", [("score", 9, 12, False)]),
    ("SELECT name FROM area WHERE region = 'a' AND score > (SELECT avg(score) FROM area)",
     [("score", 3, 6, False), ("score", 9, 12, True)]),
    # what needs no word
    ("SELECT count(*) FROM area WHERE region = 'a'", []),
    ("SELECT region, count(*) FROM area GROUP BY region ORDER BY count(*)", []),
    ("SELECT name, score FROM area", []),
    ("SELECT name, score FROM area ORDER BY score", []),
    ("SELECT 1", []),
    # a table that extends another, however it is joined
    ("SELECT count(*) FROM area a LEFT JOIN ticket t ON t.area = a.id WHERE t.price > 20", [("price", 5, 12, False)]),
    ("SELECT count(*) FROM area a JOIN ticket t ON t.area = a.id WHERE t.price > 20", [("price", 5, 12, False)]),
    ("SELECT count(*) FROM ticket t JOIN area a ON a.id = t.area WHERE t.price > 20", [("price", 5, 12, False)]),
    ("SELECT count(*) FROM ticket t, area a WHERE a.id = t.area AND t.price > 20", [("price", 5, 12, False)]),
    ("SELECT count(*) FROM area a JOIN ticket t ON t.area = a.id AND t.price > 20", [("price", 5, 12, False)]),
    ("SELECT avg(price) FROM area a JOIN ticket t ON t.area = a.id WHERE a.region = 'a'", [("price", 2, 6, False)]),
    ("SELECT avg(price) FROM ticket", [("price", 5, 8, False)]),
    # many rows to one: to have none is not to be unknown
    ("SELECT sum(v.people) FROM area a JOIN visit v ON v.area = a.id", [("people", 7, 8, False)]),
    ("SELECT a.name, sum(v.people) FROM area a LEFT JOIN visit v ON v.area = a.id GROUP BY a.name", [("people", 7, 8, False)]),
    ("SELECT sum(v.people) FROM visit v JOIN area a ON a.id = v.area WHERE a.region = 'a'", [("people", 3, 4, False)]),
    # parts of a statement
    ("SELECT count(*) FROM area WHERE id IN (SELECT area FROM ticket WHERE price > 20)", [("price", 5, 8, True)]),
    ("SELECT count(*) FROM area a WHERE EXISTS (SELECT 1 FROM ticket t WHERE t.area = a.id AND t.price > 20)", [("price", 5, 8, True)]),
    ("WITH t AS (SELECT region, avg(score) AS m FROM area GROUP BY region) SELECT * FROM t", [("score", 9, 12, True)]),
    ("SELECT count(*) FROM (SELECT a.name, t.price AS p FROM area a LEFT JOIN ticket t ON t.area = a.id) x WHERE x.p > 20", [("p", 5, 12, False)]),
    ("SELECT count(*) FROM area WHERE score > 2 UNION ALL SELECT count(*) FROM ticket WHERE price > 20",
     [("price", 5, 8, False), ("score", 9, 12, False)]),
    ("WITH area AS (SELECT * FROM area WHERE region = 'a') SELECT avg(score) FROM area", [("score", 3, 6, False)]),
]  # fmt: skip


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Database:
    path = tmp_path_factory.mktemp("known") / "known.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(SCHEMA)
        made.executemany("insert into area values (?, ?, ?, ?, ?, ?)", AREAS)
        made.executemany("insert into ticket values (?, ?, ?, ?)", TICKETS)
        made.executemany("insert into visit values (?, ?, ?)", VISITS)
        made.commit()
    return open_database(path)


@pytest.fixture(scope="module")
def known_on_server(database_server: Cluster) -> Iterator[Database]:
    with database_server.database() as address:
        with database_server.connect(address.rpartition("/")[2]) as owner:
            owner.execute("create schema tour; set search_path = tour")
            owner.execute(SCHEMA)
            for table, rows in (("area", AREAS), ("ticket", TICKETS), ("visit", VISITS)):
                for row in rows:
                    places = ", ".join(["%s"] * len(row))
                    owner.execute(f"insert into {table} values ({places})", row)
        yield open_database(f"{address}?options=-csearch_path%3Dtour")


def told(database: Database, sql: str) -> list[tuple[Any, ...]]:
    query = database.check(sql)
    found = database.coverage(query, database.run(query))
    return [(", ".join(each.columns), each.known, each.rows, each.subquery) for each in found]


@each_row(("sql", "expected"), CASES)
def test_what_a_statement_compares_is_known_for_so_many_rows(
    known: Database, sql: str, expected: list[tuple[str, int, int, bool]]
) -> None:
    assert sorted(told(known, sql)) == sorted(expected)


@pytest.mark.postgres
@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_it_is_the_same_on_postgresql(
    known_on_server: Database, sql: str, expected: list[tuple[str, int, int, bool]]
) -> None:
    assert sorted(told(known_on_server, sql)) == sorted(expected)


def test_total_is_an_aggregate_too(known: Database) -> None:
    assert told(known, "SELECT total(score) FROM area") == [("score", 9, 12, False)]


def test_what_is_unknown_by_several_columns_is_ruled_out_by_none(known: Database) -> None:
    sql = (
        "SELECT t.kind, avg(t.price) FROM area a LEFT JOIN ticket t ON t.area = a.id"
        " WHERE t.kind = 'day' AND t.id > 0 GROUP BY t.kind"
    )
    assert told(known, sql) == [("kind, id", 8, 12, False), ("price", 5, 12, False)]
    half = "SELECT count(*) FROM area WHERE score > 2 AND lng < 5"  # four are known not to lie there
    assert told(known, half) == [("score", 3, 5, False), ("lng", 8, 9, False)]


def test_what_cannot_be_counted_in_time_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table n(a integer, b integer)")
        made.executemany("insert into n values (?, ?)", [(n, n) for n in range(3_000)])
        made.execute("create index n_a on n(a)")
        made.commit()
    database = open_database(path, limits=ResultLimits(timeout_seconds=0.4))
    sql = "SELECT x.a FROM n x, n y, n z WHERE x.b + y.b + z.b > 5 LIMIT 1"
    assert told(database, sql) == [("b", None, 0, False)]


def test_statements_that_count_pass_the_guard_like_any_other(known: Database) -> None:
    for sql, expected in CASES:
        query = known.check(sql)
        tree = known._names.qualify_columns(parse_one(query.sql, read="sqlite"))
        for count in build_coverage_queries(tree, known.schema):
            assert set(known.check(count.sql).tables) <= set(query.tables), (sql, expected)


def test_lists_of_values_beside_a_table_are_counted_with_it(known: Database) -> None:
    sql = "SELECT v.n, avg(a.score) FROM area a CROSS JOIN (VALUES (1), (2)) AS v(n) WHERE v.n > 0 GROUP BY v.n"
    assert told(known, sql) == [("score", 18, 24, False)]
    series = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3)"
    assert told(known, f"{series} SELECT max(a.score) FROM area a CROSS JOIN r") == [("score", 27, 36, False)]
    assert told(known, f"{series} SELECT n FROM r ORDER BY n") == []
