"""One text, the same rows: the shipped sheets in SQLite and in PostgreSQL with PostGIS, where a role
made as the README says reads them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from research.database.build import build
from research.database.columns import TABLES
from research.database.engines import Database, open_database
from research.database.postgres import PostgreSQL
from research.database.results import Failed, Limits, Result, Value
from tests.database.scenic import TABLES as SCENIC
from tests.database.scenic import cases, fill
from tests.servers.postgres import Cluster, lacking, lacks_postgis

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
GOLD: list[dict[str, str]] = json.loads((HERE / "gold.json").read_text(encoding="utf-8"))
MANY = Limits(rows=2_000)
TYPES = {"INTEGER": "integer", "REAL": "double precision", "NUMERIC": "numeric", "TEXT": "text"}
POINT = "geom geometry(Point, 4326) generated always as (ST_SetSRID(ST_MakePoint(lng_wgs84, lat_wgs84), 4326)) stored"
NEW_PASSWORD = "sentinel-reader"

# Where one text has two meanings, and why that is left as it is.
DIFFER = {
    "SELECT CAST(score AS integer) AS whole, count(*) FROM a_sight WHERE score IS NOT NULL GROUP BY 1 ORDER BY 1": "PostgreSQL rounds a fraction that is cast to an integer, SQLite cuts it",
}


def said() -> str:
    """The SQL that the README gives for a role that can only read."""
    found = re.search(
        r"<!-- postgres role -->\n```sql\n(.*?)```", README.read_text(encoding="utf-8"), re.S
    )
    assert found, "the README has no block for the role"
    return found.group(1)


def word(pattern: str) -> str:
    found = re.search(pattern, said())
    assert found, pattern
    return found.group(1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A server that nobody has changed yet, since roles belong to the whole of it."""
    if reason := lacking() or lacks_postgis():
        pytest.skip(reason)
    made = Cluster()
    try:
        yield made
    finally:
        made.close()


def create(cluster: Cluster, name: str) -> None:
    """An empty database that sorts texts by their characters' numbers, as SQLite does."""
    with cluster.connect() as owner:
        owner.execute(
            f"create database {name} template template0 locale_provider libc locale 'C'"
        )


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sights") / "sights.db"
    build(path)
    return path


@pytest.fixture(scope="module")
def small(sheets: Path) -> Database:
    return open_database(sheets, limits=MANY)


@pytest.fixture(scope="module")
def address(cluster: Cluster, sheets: Path) -> str:
    """The sheets on the server, for the role of the README; a table beside them is not its business."""
    import sqlite3
    from contextlib import closing

    name, role = word(r"ON DATABASE (\w+)"), word(r"CREATE ROLE (\w+)")
    create(cluster, name)
    with cluster.connect(name) as owner, closing(sqlite3.connect(sheets)) as source:
        owner.execute("create extension postgis")
        for table in TABLES.values():
            columns = [
                f"{c.name} {TYPES[c.kind]} {'not null' * c.needed} {c.rule}" for c in table.columns
            ]
            columns += [POINT] * (table.name == "a_sight")
            owner.execute(f"create table {table.name} ({', '.join(columns)})")
            names = ", ".join(c.name for c in table.columns)
            marks = ", ".join(["%s"] * len(table.columns))
            with owner.cursor() as cursor:
                cursor.executemany(
                    f"insert into {table.name} ({names}) values ({marks})",
                    source.execute(f"select {names} from {table.name}").fetchall(),
                )
        owner.execute("create table secret (k text); insert into secret values ('sentinel-secret')")
        owner.execute(said().replace(word(r"PASSWORD '([^']+)'"), NEW_PASSWORD))
    return f"postgresql://{role}:{NEW_PASSWORD}@127.0.0.1:{cluster.port}/{name}"


@pytest.fixture(scope="module")
def large(address: str) -> Database:
    return open_database(address, limits=MANY)


@pytest.fixture(scope="module")
def scenic_large(cluster: Cluster) -> Database:
    create(cluster, "scenic")
    with cluster.connect("scenic") as owner:
        fill(owner)
    return open_database(cluster.address("scenic"), only=SCENIC, limits=MANY)


def run(database: Database, sql: str) -> Result:
    return database.run(database.check(sql))


def ordered(sql: str) -> bool:
    return sqlglot.parse_one(sql, read="postgres").args.get("order") is not None


def key(row: tuple[Value, ...]) -> str:
    return repr([round(v, 6) + 0.0 if isinstance(v, (int, float)) else v for v in row])


def alike(one: Value, other: Value) -> bool:
    """The same value; numbers to a millionth, and SQLite's 1 for true."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
    return one == other


def difference(sql: str, here: Database, there: Database) -> str:
    """What two engines say differently to one text, "" if they agree."""
    one, other = run(here, sql), run(there, sql)
    if len(one.columns) != len(other.columns):  # what has no name is named by the engine
        return f"columns {one.columns} and {other.columns}"
    left, right = list(one.rows), list(other.rows)
    if len(left) != len(right):
        return f"{len(left)} and {len(right)} rows"
    if not ordered(sql):
        left.sort(key=key)
        right.sort(key=key)
    for number, (a, b) in enumerate(zip(left, right, strict=True)):
        if not all(map(alike, a, b)):
            return f"row {number}: {a} and {b}"
    return ""


@pytest.mark.parametrize("case", GOLD, ids=lambda case: case["id"])
def test_gold_statements_have_the_same_rows_on_both_engines(
    case: dict[str, str], small: Database, large: Database
) -> None:
    assert difference(case["sql"], small, large) == ""
    assert run(small, case["sql"]).rows, "a gold statement that finds nothing compares nothing"


def test_legitimate_statements_have_the_same_rows_on_both_engines(
    database: Database, scenic_large: Database
) -> None:
    both = [case["sql"] for case in cases("legitimate.json", "sqlite") if case["dialect"] == "both"]
    assert len(both) > 100
    found = {sql: said for sql in both if (said := difference(sql, database, scenic_large))}
    assert found.keys() == DIFFER.keys(), found
