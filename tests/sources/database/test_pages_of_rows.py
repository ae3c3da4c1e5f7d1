"""Further rows and all rows of a statement: the same on every engine, bounded, and by the same guard."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import duckdb
import pytest

from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, ResultLimits, RowRange
from tests.servers.postgres import Cluster
from tests.sources.database.scenic import cases

PAGE = 10
ROWS = 95
MADE = "create table sale(id integer, kind text, price double precision)"


@pytest.fixture(
    scope="module",
    params=["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.postgres)],
)
def sales(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:  # fmt: skip
    """95 sales, in no order."""
    rows = [(n * 37 % ROWS, f"kind {n % 3}", None if n % 5 == 0 else n / 2) for n in range(ROWS)]
    folder = tmp_path_factory.mktemp("sales")
    limits = ResultLimits(max_rows=PAGE)
    if request.param == "sqlite":
        with closing(sqlite3.connect(folder / "s.db")) as made:
            made.execute(MADE)
            made.executemany("insert into sale values (?, ?, ?)", rows)
            made.commit()
        yield open_database(folder / "s.db", limits=limits)
    elif request.param == "duckdb":
        with duckdb.connect(str(folder / "s.duckdb")) as raw:
            raw.execute(MADE)
            raw.executemany("insert into sale values (?, ?, ?)", rows)
        yield open_database(folder / "s.duckdb", limits=limits)
    else:
        server: Cluster = request.getfixturevalue("database_server")
        with server.database() as address:
            with server.connect(address.rpartition("/")[2]) as owner:
                owner.execute(MADE)
                for row in rows:
                    owner.execute("insert into sale values (%s, %s, %s)", row)
            yield open_database(address, limits=limits)


def paged(database: Database, sql: str) -> list[Any]:
    """All rows, by pages of the text that was run."""
    first = database.check(sql)
    found, n = list(database.run(first).rows), 1
    while True:
        query = database.check(first.sql, RowRange(n * PAGE, first.own_limit))
        rows = database.run(query).rows
        found += rows
        n += 1
        if len(rows) < PAGE:
            return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "ids"),
    [
        ("SELECT id FROM sale ORDER BY id", range(ROWS)),
        ("SELECT id FROM sale ORDER BY id DESC", range(ROWS - 1, -1, -1)),
        ("SELECT id FROM sale ORDER BY id LIMIT 25", range(25)),
        ("SELECT id FROM sale ORDER BY id LIMIT 11", range(11)),  # the guard's own limit
        ("SELECT id FROM sale ORDER BY id LIMIT 25 OFFSET 7", range(7, 32)),
        ("SELECT id FROM sale ORDER BY id OFFSET 80", range(80, ROWS)),
        ("SELECT id FROM sale WHERE id < 30 UNION SELECT id FROM sale WHERE id > 70 ORDER BY id",
         [*range(30), *range(71, ROWS)]),
        ("WITH s AS (SELECT id FROM sale WHERE id < 40) SELECT id FROM s ORDER BY id", range(40)),
        ("SELECT id FROM sale ORDER BY id LIMIT 30 OFFSET (SELECT count(*) - 48 FROM sale)", range(47, 77)),
    ],
)  # fmt: skip
def test_the_pages_of_a_statement_are_its_rows_once_each(sales: Database, sql: str, ids: Any) -> None:
    if sales.dialect == "sqlite" and "id OFFSET" in sql:
        pytest.skip("SQLite has no OFFSET without LIMIT")
    assert [row[0] for row in paged(sales, sql)] == list(ids)


def test_whether_the_order_of_rows_is_asked_for_is_told(sales: Database) -> None:
    assert sales.check("SELECT id FROM sale ORDER BY id").is_ordered
    for sql in ("SELECT id FROM sale", "SELECT id FROM (SELECT id FROM sale ORDER BY id) s"):
        assert not sales.check(sql).is_ordered


def test_a_page_is_held_to_the_guard(sales: Database) -> None:
    for sql in ("SELECT id FROM sale; SELECT 1", "DELETE FROM sale", "SELECT x FROM sale"):
        with pytest.raises(RefusedError):
            sales.check(sql, RowRange(10))


def test_all_rows_come_one_by_one_and_no_more_than_may(sales: Database) -> None:
    large = sales.with_limits(ResultLimits(max_rows=90, max_cell_characters=3))
    with large.stream(large.check("SELECT id, kind, price FROM sale ORDER BY id")) as (names, rows):
        found = list(rows)
    assert list(names) == ["id", "kind", "price"] and len(found) == 91  # one more tells of others
    assert found[0][:2] == (0, "kin…") and {type(row[2]) for row in found} == {float, type(None)}
    assert sales.limits.max_rows == PAGE and len(sales.run(sales.check("SELECT id FROM sale")).rows) == PAGE  # fmt: skip


def test_reading_on_ends_at_the_deadline(sales: Database) -> None:
    """The clock runs on while rows are taken."""
    short = sales.with_limits(ResultLimits(max_rows=1_000_000, timeout_seconds=0.4))
    joined = "SELECT a.id FROM sale a, sale b, sale c, sale d, sale e WHERE a.kind || b.kind || c.kind || d.kind || e.kind = 'x'"
    with pytest.raises(ExecutionError) as caught, short.stream(short.check(joined)) as (_, rows):
        assert list(rows) == []
    assert caught.value.cause == "timeout"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["database", pytest.param("server_database", marks=pytest.mark.postgres)])
def test_what_has_passed_passes_again_and_has_the_same_rows(name: str, request: pytest.FixtureRequest) -> None:
    """Further pages are asked for by the text that was run."""
    database: Database = request.getfixturevalue(name)
    given = cases("legitimate.json", database.dialect)
    checked = [database.check(case["sql"]) for case in given]
    again = [database.check(one.sql, RowRange(0, one.own_limit)) for one in checked]
    assert len(given) > 80
    sampled = ("random", "current", "now")
    for case, one, other in zip(given, checked, again, strict=True):
        if not any(word in case["sql"].lower() for word in sampled):
            assert database.run(other).rows == database.run(one).rows, case["sql"]
