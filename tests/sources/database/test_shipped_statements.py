"""Statements of analysts and models over the tables that ship: let through, and with the rows of the raw text."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research.sources.database.distance import distance_km
from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ResultLimits
from research.sources.database.shipped_database import build_database, read_sheets
from research.sources.database.shipped_tables import TABLES
from tests.servers.postgres import Cluster
from tests.sources.database.scenic import cases

MANY = ResultLimits(max_rows=2_000)


@pytest.fixture(scope="module")
def sights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sights") / "sights.db"
    build_database(path, read_sheets())
    return path


@pytest.fixture(scope="module")
def served(sights: Path, database_server: Cluster) -> Iterator[tuple[Database, Any]]:
    """The same tables on a server, and a connection of its owner."""
    with (
        closing(sqlite3.connect(sights)) as file,
        database_server.database() as address,
        database_server.connect(address.rpartition("/")[2]) as owner,
    ):
        for table in TABLES.values():
            create, *_ = table.create_statements()
            owner.execute(create.replace("REAL", "double precision"))
            for row in file.execute(f"select * from {table.name}"):
                owner.execute(f"insert into {table.name} values ({', '.join(['%s'] * len(row))})", row)
        owner.execute(
            "create function distance_km(a float8, b float8, c float8, d float8) returns float8"
            " immutable language sql as 'select 2 * 6371.0088 * asin(sqrt(power(sin(radians(d - b)"
            " / 2), 2) + cos(radians(b)) * cos(radians(d)) * power(sin(radians(c - a) / 2), 2)))'"
        )
        owner.execute("set timezone = 'UTC'")
        yield open_database(address, limits=MANY), owner


def bare(sql: str) -> str:
    """A statement without the fence that models write around it."""
    return re.sub(r"^```\w*\n|\n```$", "", sql)


def told(value: object) -> str:
    """A value as both engines and drivers can agree on it."""
    if isinstance(value, str) or value is None:
        return repr(value)
    if hasattr(value, "isoformat"):
        return repr(value.isoformat().replace("T", " ").removesuffix("+00:00"))
    return f"{float(value):.9g}"  # type: ignore[arg-type]


def same(found: list[Any], expected: list[Any]) -> bool:
    def sorted_rows(rows: list[Any]) -> list[list[str]]:
        return sorted([told(v).replace("+00'", "'") for v in row] for row in rows)

    return sorted_rows(found) == sorted_rows(expected)


def refused(database: Database) -> tuple[list[str], list[str]]:
    """The statements of a dialect, and what is said to those that are refused."""
    asked = [case["sql"] for case in cases("legitimate.json", database.dialect, "shipped")]
    wrong = []
    for sql in asked:
        try:
            database.check(sql)
        except RefusedError as error:
            wrong.append(f"{sql}: {error}")
    return asked, wrong


@pytest.mark.slow
def test_statements_on_sqlite_have_the_rows_of_the_raw_text(sights: Path) -> None:
    database = open_database(sights, limits=MANY)
    asked, wrong = refused(database)
    assert len(asked) >= 85
    assert len(wrong) <= len(asked) // 50, wrong
    with closing(sqlite3.connect(sights)) as raw:
        raw.create_function("distance_km", 4, distance_km)
        for sql in asked:
            if not any(line.startswith(sql) for line in wrong):
                found = database.run(database.check(sql))
                assert same(list(found.rows), raw.execute(bare(sql)).fetchall()), sql


def test_statements_on_postgresql_have_the_rows_of_the_raw_text(
    served: tuple[Database, Any],
) -> None:
    database, owner = served
    asked, wrong = refused(database)
    assert len(asked) >= 80
    assert len(wrong) <= len(asked) // 50, wrong
    for sql in asked:
        if "AGE(" in sql or any(line.startswith(sql) for line in wrong):
            continue  # intervals are texts here, and numbers of days to the driver
        found = database.run(database.check(sql))
        assert same(list(found.rows), owner.execute(bare(sql)).fetchall()), sql
