"""One text, the same rows: the shipped sheets in SQLite and in PostgreSQL with PostGIS, where a role
made as docs/database.md says reads them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot
from sqlglot.errors import ParseError

from research.sources.database.engines import Database, open_database
from research.sources.database.postgres import PostgreSQL
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits, Value
from research.sources.database.shipped_database import build_database, read_sheets
from research.sources.database.shipped_tables import TABLES
from tests.servers.postgres import Cluster, lacking, lacks_postgis
from tests.sources.database.scenic import TABLES as SCENIC
from tests.sources.database.scenic import cases, fill
from tests.tables import each_row

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[2] / "docs" / "database.md"
GOLD: list[dict[str, str]] = json.loads((HERE / "gold.json").read_text(encoding="utf-8"))
MANY = ResultLimits(max_rows=2_000)
TYPES = {"INTEGER": "integer", "REAL": "double precision", "NUMERIC": "numeric", "TEXT": "text"}
POINT = "geom geometry(Point, 4326) generated always as (ST_SetSRID(ST_MakePoint(lng_wgs84, lat_wgs84), 4326)) stored"
NEW_PASSWORD = "sentinel-reader"

# Where one text has two meanings, and why that is left as it is.
DIFFER = {
    "SELECT CAST(score AS integer) AS whole, count(*) FROM a_sight WHERE score IS NOT NULL GROUP BY 1 ORDER BY 1": "PostgreSQL rounds a fraction that is cast to an integer, SQLite cuts it",
    "SELECT round(cast(sum(visitors) AS numeric) / count(DISTINCT gid), 2) FROM visit": "SQLite leaves a whole number that is cast to NUMERIC whole, and its division cuts",
}


def said() -> str:
    """The SQL that the document gives for a role that can only read."""
    found = re.search(r"<!-- postgres role -->\n```sql\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S)
    assert found, "the document has no block for the role"
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
        owner.execute(f"create database {name} template template0 locale_provider libc locale 'C'")


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sights") / "sights.db"
    build_database(path, read_sheets())
    return path


@pytest.fixture(scope="module")
def small(sheets: Path) -> Database:
    return open_database(sheets, limits=MANY)


@pytest.fixture(scope="module")
def address(cluster: Cluster, sheets: Path) -> str:
    """The sheets on the server, for the role of the document; a table beside them is not its business."""
    import sqlite3
    from contextlib import closing

    name, role = word(r"ON DATABASE (\w+)"), word(r"CREATE ROLE (\w+)")
    create(cluster, name)
    with cluster.connect(name) as owner, closing(sqlite3.connect(sheets)) as source:
        owner.execute("create extension postgis")
        for table in TABLES.values():
            columns = [
                f"{c.name} {TYPES[c.sql_type]} {'not null' * c.is_required} {c.constraint}" for c in table.columns
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
    return open_database(cluster.address("scenic"), table_filter=lambda _, table: table in SCENIC, limits=MANY)


def run(database: Database, sql: str) -> ExecutionResult:
    return database.run(database.check(sql))


def ordered(sql: str) -> bool:
    try:
        return sqlglot.parse_one(sql, read="postgres").args.get("order") is not None
    except ParseError:  # it takes the % of LIMIT 2 - n % 2 for a share of the rows
        return re.search(r"\border by\b[^()]*$", sql, re.I) is not None


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


@each_row("case", GOLD)
def test_gold_statements_have_the_same_rows_on_both_engines(
    case: dict[str, str], small: Database, large: Database
) -> None:
    assert difference(case["sql"], small, large) == ""
    assert run(small, case["sql"]).rows, "a gold statement that finds nothing compares nothing"


def test_legitimate_statements_have_the_same_rows_on_both_engines(database: Database, scenic_large: Database) -> None:
    both = [case["sql"] for case in cases("legitimate.json", "sqlite") if case["dialect"] == "both"]
    assert len(both) > 100
    found = {sql: said for sql in both if (said := difference(sql, database, scenic_large))}
    assert found.keys() == DIFFER.keys(), found


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT gid, score FROM a_sight ORDER BY score, gid", False),
        ("SELECT gid, score FROM a_sight ORDER BY score DESC, gid", False),
        ("SELECT gid, score FROM a_sight ORDER BY score NULLS LAST, gid", False),
        ("SELECT gid, score FROM a_sight ORDER BY score DESC NULLS LAST, gid", False),
        ("SELECT gid, score FROM a_sight ORDER BY score NULLS FIRST, gid", True),
        ("SELECT gid, score FROM a_sight ORDER BY score DESC NULLS FIRST, gid", True),
        ("SELECT gid, score FROM a_sight ORDER BY 2, 1", False),
        ("SELECT gid, -score AS s FROM a_sight ORDER BY s DESC, gid", False),
        ("SELECT gid, score FROM a_sight UNION SELECT id, 评分 FROM tourist_spot ORDER BY 2, 1", False),
        ("SELECT gid, distance_km(lng, lat, 120, 30) AS km FROM a_sight ORDER BY km, gid", False),
    ],
)  # fmt: skip
def test_unknown_values_stand_last_on_both_engines_unless_it_is_said(
    database: Database, scenic_large: Database, sql: str, first: bool
) -> None:
    assert difference(sql, database, scenic_large) == ""
    found = [row[1] for row in run(scenic_large, sql).rows]
    assert None in found
    assert (found[0] is None, found[-1] is None) == (first, not first)


def test_ranks_and_sums_over_unknown_values_are_the_same(database: Database, scenic_large: Database) -> None:
    for over in ("score", "score DESC", "score NULLS FIRST", "score DESC NULLS FIRST"):
        sql = (
            f"SELECT gid, dense_rank() OVER (ORDER BY {over}) AS r, "
            f"sum(gid) OVER (ORDER BY {over}) AS s, row_number() OVER (PARTITION BY city ORDER BY {over}, gid) AS n, "
            f"first_value(gid) OVER (ORDER BY {over}, gid) AS f FROM a_sight ORDER BY gid"
        )
        assert difference(sql, database, scenic_large) == "", over


@each_row(
    ("value", "digits", "rounded"),
    [("0.5", "", 1), ("1.5", "", 2), ("2.5", "", 3), ("-2.5", "", -3), ("2.675", ", 2", 2.68),
     ("CAST(2.5 AS REAL)", "", 3), ("CAST(0.125 AS REAL)", ", 2", 0.13), ("7", "", 7), ("NULL", "", None),
     ("CAST(sqrt(6.25) AS REAL)", "", 3), ("1234.5", ", 0", 1235)],
)  # fmt: skip
def test_a_half_is_rounded_away_from_zero_on_both_engines(
    small: Database, large: Database, value: str, digits: str, rounded: float | None
) -> None:
    sql = f"SELECT ROUND({value}{digits}) AS n"
    assert run(small, sql).rows == run(large, sql).rows == ((rounded,),)


def test_means_and_shares_of_floats_are_rounded_alike(small: Database, large: Database) -> None:
    for sql in (
        "SELECT province, ROUND(AVG(lat_wgs84), 3) AS a FROM a_sight GROUP BY province",
        "SELECT city, ROUND(AVG(lng_gcj02)) AS a FROM a_sight GROUP BY city HAVING COUNT(*) > 1",
        "SELECT ROUND(100.0 * COUNT(t.gid) / COUNT(*), 1) AS share FROM a_sight s LEFT JOIN tourist_spot t ON t.gid = s.gid",
        "SELECT name, ROUND(distance_km(lng_wgs84, lat_wgs84, 120.15, 30.25), 1) AS km FROM a_sight ORDER BY km, gid LIMIT 20",
    ):
        assert difference(sql, small, large) == "", sql


def test_distances_are_those_of_postgis(cluster: Cluster, address: str, large: Database) -> None:
    with cluster.connect(address.rpartition("/")[2]) as owner:
        expected = dict(
            owner.execute(
                "select gid, ST_DistanceSphere(geom, ST_SetSRID(ST_MakePoint(120.15, 30.25), 4326)) / 1000"
                " from a_sight where geom is not null"
            ).fetchall()
        )
    rows = run(large, "SELECT gid, distance_km(lng_wgs84, lat_wgs84, 120.15, 30.25) FROM a_sight").rows
    found = dict(rows)
    assert len(expected) == 357 and len(found) == 358
    for gid, km in found.items():
        assert km == (pytest.approx(expected[gid], rel=1e-7) if gid in expected else None)


def test_impossible_points_are_at_no_distance_on_both_engines(small: Database, large: Database) -> None:
    for point in ("0, 90.5", "0, -91", "NULL, 1", "1, NULL", "0, 90", "240, 30", "-120, 30"):
        sql = f"SELECT distance_km({point}, 120, 30) AS a, distance_km(120, 30, {point}) AS b"
        assert difference(sql, small, large) == "", point


def test_the_role_of_the_readme_may_do_nothing_but_read(large: Database) -> None:
    assert large.privileges == ""
    assert {table.name for table in large.schema.tables} == set(TABLES)


def backend(database: Database) -> PostgreSQL:
    found = database._backend
    assert isinstance(found, PostgreSQL)
    return found


@each_row(
    "sql",
    [
        "select k from secret",
        "select lo_creat(-1)",
        "select lo_from_bytea(0, 'x')",
        "select set_config('statement_timeout', '0', false)",
        "select pg_sleep(0.01)",
        "select pg_advisory_lock(1)",
        "select pg_try_advisory_xact_lock(1)",
        "select pg_notify('c', 'x')",
        "select pg_logical_emit_message(false, 'x', 'y')",
        "select pg_terminate_backend(1)",
        "select query_to_xml('select 1', true, true, '')",
        "select table_to_xml('a_sight', true, true, '')",
        "select database_to_xml(true, true, '')",
        "select pg_read_file('/etc/passwd')",
        "select pg_ls_dir('.')",
        "select rolpassword from pg_authid",
        "with d as (update a_sight set name = name returning 1) select * from d",
    ],
)
def test_past_the_guard_the_role_of_the_readme_is_the_wall(large: Database, sql: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        backend(large).run(sql)
    assert (
        caught.value.cause == "refused"
        or "must be at the top level" in caught.value.message
        or "permission denied" in caught.value.message
    ), caught.value


def test_the_role_of_the_readme_cannot_write_where_nothing_but_the_role_forbids_it(
    address: str,
) -> None:
    with psycopg.connect(address, autocommit=True) as reader:
        assert reader.execute("show temp_file_limit").fetchone() == ("256MB",)
        assert reader.execute("show statement_timeout").fetchone() == ("10s",)
        reader.execute("set default_transaction_read_only = off")
        for sql in (
            "delete from a_sight",
            "insert into tourist_spot (id, gid) values (9999, 1101)",
            "create table public.mine (x integer)",
            "create temporary table mine (x integer)",
            "create schema mine",
            "truncate a_sight",
            "drop table a_sight",
            "copy a_sight to '/tmp/nowhere'",
            "create role other",
            "alter role current_user superuser",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(sql)
        assert reader.execute("select count(*) from a_sight").fetchone() == (358,)
