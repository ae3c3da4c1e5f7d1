"""PostgreSQL behind the same guard: the same rows, limits that the server keeps, nothing installed."""

from __future__ import annotations

import gc
import time
import warnings
from typing import Any

import pytest

from research.sources.database.distance import distance_km
from research.sources.database.engines import Database, open_database
from research.sources.database.postgres import PostgreSQL
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits, to_json_value
from tests.servers.postgres import ESCAPED, PASSWORD, USER, Cluster, lacking
from tests.sources.database.scenic import SECRET, cases, fill, known
from tests.tables import each_row

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

SLACK = 30.0


def run(database: Database, sql: str) -> ExecutionResult:
    return database.run(database.check(sql))


@pytest.fixture
def owner(database_server: Cluster, scenic_address: str) -> Any:
    with database_server.connect(scenic_address.rpartition("/")[2]) as connection:
        yield connection


def backend(database: Database) -> PostgreSQL:
    found = database._backend
    assert isinstance(found, PostgreSQL)
    return found


def close(value: object) -> object:
    """Dates as PostgreSQL writes them; numbers to twelve digits, as two paths compute them."""
    value = to_json_value(value)
    if isinstance(value, str):
        return value.replace("T", " ").removesuffix("+00:00").removesuffix("+00")
    return float(f"{value:.12g}") if isinstance(value, (int, float)) else value


def test_legitimate_statements_have_the_same_rows_written_anew(server_database: Database, owner: Any) -> None:
    owner.execute(
        "create function distance_km(a float8, b float8, c float8, d float8) returns float8 immutable language sql as "
        "'select 2 * 6371.0088 * asin(sqrt(power(sin(radians(d - b) / 2), 2)"
        " + cos(radians(b)) * cos(radians(d)) * power(sin(radians(c - a) / 2), 2)))'"
    )
    owner.execute("set timezone = 'UTC'")
    try:
        compared = 0
        for case in cases("legitimate.json", "postgres"):
            rows = owner.execute(case["sql"]).fetchall()
            if any(type(value).__name__ == "timedelta" for row in rows for value in row):
                continue
            if "json" in case["sql"] or any(isinstance(value, list) for row in rows for value in row):
                rows = list(backend(server_database).run(case["sql"]).rows)  # as texts
            found = run(server_database, case["sql"])
            expected = [tuple(map(close, row)) for row in rows]
            got = [tuple(map(close, row)) for row in found.rows]
            assert sorted(map(repr, got)) == sorted(map(repr, expected)), case["sql"]
            compared += 1
        assert compared > 150
    finally:
        owner.execute("drop function distance_km")


def test_both_engines_have_the_same_rows_for_the_same_text(server_database: Database, database: Database) -> None:
    differ = []
    both = [case["sql"] for case in cases("legitimate.json", "sqlite") if case["dialect"] == "both"]
    for sql in both:
        left = sorted(repr([close(value) for value in row]) for row in run(database, sql).rows)
        right = sorted(repr([close(value) for value in row]) for row in run(server_database, sql).rows)
        if left != right:
            differ.append((sql, left[:2], right[:2]))
    # SQLite has no booleans and rounds and casts in its own way
    assert len(differ) <= len(both) // 12, differ


def test_distances_need_nothing_of_the_server(server_database: Database) -> None:
    sql = "SELECT lng, lat, distance_km(lng, lat, 120.15, 30.25) FROM a_sight"
    for lng, lat, km in run(server_database, sql).rows:
        expected = distance_km(lng, lat, 120.15, 30.25)
        assert km == (None if expected is None else pytest.approx(expected, abs=1e-6))
    found = run(server_database, "SELECT distance_km(0, 0, 180, 0), distance_km(NULL, 0, 1, 1)")
    assert found.rows == ((pytest.approx(20015.1, abs=0.1), None),)


def test_what_passes_of_the_attacks_does_no_harm(scenic_address: str, owner: Any) -> None:
    database = open_database(scenic_address, table_filter=known, limits=ResultLimits(timeout_seconds=0.5))
    before = owner.execute("select count(*), sum(gid) from a_sight").fetchone()
    for case in cases("attacks.json", "postgres"):
        started = time.monotonic()
        try:
            rows = run(database, case["sql"]).rows
        except (RefusedError, ExecutionError):
            continue
        finally:
            assert time.monotonic() - started < 1.0 + SLACK, case["sql"]
        assert SECRET not in repr(rows)
    assert owner.execute("select count(*), sum(gid) from a_sight").fetchone() == before


@pytest.mark.parametrize(
    ("sql", "cause"),
    [
        ("select pg_sleep(20)", "timeout"),
        ("select count(*) from visit a, visit b, visit c, visit d, visit e", "timeout"),
        (
            "select count(*) from (select repeat('ab', n) || 'c' as x from generate_series(1, 9000) n) t where x ~ '^(.?){200}q'",
            "timeout",
        ),
        (
            "select count(*) from (select repeat('ab', n) || 'c' as x from generate_series(1, 9000) n) t where x similar to '((a?b?){10}c?){20}'",
            "timeout",
        ),
        ("select nosuch from a_sight", "column"),
        ("select 1 from nosuch", "table"),
        ("select 2147483647 + gid from a_sight", "value"),
        ("select cast(name as integer) from a_sight", "value"),
        ("with d as (delete from a_sight returning *) select * from d", "other"),
        ("select nextval('s')", "refused"),
        ("select 1 from generate_series(1, 100000000) x order by md5(x::text)", "timeout"),
        ("select 1); delete from a_sight; select (1", "other"),
    ],
)
def test_past_the_guard_the_server_refuses_and_stops(scenic_address: str, owner: Any, sql: str, cause: str) -> None:
    owner.execute("create sequence if not exists s")
    database = open_database(scenic_address, table_filter=known, limits=ResultLimits(timeout_seconds=0.5))
    started = time.monotonic()
    with pytest.raises(ExecutionError) as caught:
        backend(database).run(sql)
    assert caught.value.cause == cause, str(caught.value)
    assert time.monotonic() - started < 1.0 + SLACK
    assert owner.execute("select count(*) from a_sight").fetchone() == (60,)


def test_nobody_waits_for_a_function_that_looks_at_no_clock(scenic_address: str, owner: Any) -> None:
    database = open_database(scenic_address, table_filter=known, limits=ResultLimits(timeout_seconds=1.0))
    started = time.monotonic()
    with pytest.raises(ExecutionError) as caught:
        backend(database).run("select length(translate(repeat('湖', 120000), repeat('海', 4000), '')) as n")
    assert caught.value.cause == "timeout"
    assert time.monotonic() - started < 2.0 + SLACK
    assert run(database, "SELECT count(*) FROM a_sight").rows == ((60,),)
    left = "select count(*) from pg_stat_activity where query like '%translate(%' and pid <> pg_backend_pid()"
    deadline = time.monotonic() + 60
    while owner.execute(left).fetchone() != (0,):  # the server comes to its clock in the end
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_long_texts_are_cut_on_the_server(scenic_address: str) -> None:
    database = open_database(
        scenic_address, table_filter=known, limits=ResultLimits(max_cell_characters=50, max_rows=3)
    )
    found = backend(database).run(
        "select repeat('湖', 1000000) as x, decode(repeat('00', 100000), 'hex') as b, "
        "array_fill(1, array[1000]) as a, '{\"a\": 1}'::jsonb as j, 'infinity'::date as d, "
        "1e400::numeric as n, 12.50::numeric as m, null::uuid as u from generate_series(1, 9)"
    )
    assert found.columns == ("x", "b", "a", "j", "d", "n", "m", "u")
    assert (len(found.rows), found.is_truncated) == (3, True)
    assert found.rows[0][0] == "湖" * 50 + "…"
    assert all(len(str(value)) <= 51 for row in found.rows for value in row)
    assert found.rows[0][3:5] == ('{"a": 1}', "infinity")
    assert found.rows[0][5] == "1" + "0" * 49 + "…"
    assert found.rows[0][6:] == (12.5, None)
    assert found.shortened_cells == 12


@each_row("text", ["%:x%", "100%", "a:b", "?", "$1", "%(x)s", "%s", "\\", "it''s", ":gid", "%湖%"])  # fmt: skip
def test_a_text_with_the_marks_of_drivers_in_it_stays_a_text(server_database: Database, text: str) -> None:
    assert run(server_database, f"SELECT '{text}' AS x").rows == ((text.replace("''", "'"),),)


def test_rows_keep_their_order_and_their_names(server_database: Database) -> None:
    found = run(server_database, "SELECT gid, gid AS gid, name AS \"两 个\" FROM a_sight ORDER BY gid DESC LIMIT 4")  # fmt: skip
    assert found.columns == ("gid", "gid", "两 个")
    assert [row[0] for row in found.rows] == [60, 59, 58, 57]


def test_comments_and_values_of_the_database_are_read(scenic_address: str, owner: Any) -> None:
    owner.execute("comment on table a_sight is '景区'; comment on column a_sight.level is '等级'")
    described = open_database(scenic_address, table_filter=known).schema.describe()
    assert "a_sight -- 景区" in described
    assert "  level text -- 等级 [3A | 4A | 5A]" in described
    assert "  gid integer -> a_sight.gid" in described


def test_the_privileges_of_the_address_are_told(scenic_address: str, database_server: Cluster, owner: Any) -> None:
    assert open_database(scenic_address, table_filter=known).privileges == "superuser"
    owner.execute("drop owned by reader" if _role(owner, "reader") else "select 1")
    owner.execute("drop role if exists reader")
    owner.execute("create role reader login password 'sentinel-reader' nosuperuser")
    owner.execute("grant select on a_sight, visit to reader")
    name = scenic_address.rpartition("/")[2]
    address = f"postgresql://reader:sentinel-reader@127.0.0.1:{database_server.port}/{name}"
    reader = open_database(address, table_filter=known)
    assert reader.privileges == ""
    assert {table.name for table in reader.schema.tables} == {"a_sight", "visit"}
    assert run(reader, "SELECT count(*) FROM a_sight").rows == ((60,),)
    with pytest.raises(ExecutionError) as caught:
        backend(reader).run("select k from secret")
    assert caught.value.cause == "refused"
    owner.execute("grant update on visit to reader")
    assert open_database(address, table_filter=known).privileges == "write"
    owner.execute("drop owned by reader; drop role reader")


def _role(owner: Any, name: str) -> bool:
    return bool(owner.execute("select 1 from pg_roles where rolname = %s", [name]).fetchone())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("password", "password authentication failed"),
        ("no password", "no password supplied"),
        ("role", 'authentication failed for user "nobody"'),
        ("port", "refused"),
        ("database", 'database "nosuch" does not exist'),
        ("encryption", "SSL"),
        ("option", "invalid connection option"),
    ],
)
def test_each_reason_has_its_own_message_and_none_tells_the_password(
    scenic_address: str, database_server: Cluster, change: str, said: str
) -> None:
    address = {
        "password": scenic_address.replace("sentinel%20", "sentinel%20wrong-"),
        "no password": scenic_address.replace(f":{ESCAPED}@", "@"),
        "role": scenic_address.replace(f"{USER}:", "nobody:", 1),
        "port": scenic_address.replace(f":{database_server.port}/", ":1/"),
        "database": scenic_address.rpartition("/")[0] + "/nosuch",
        "encryption": f"{scenic_address}?sslmode=require",
        "option": f"{scenic_address}?nosuch=1",
    }[change]
    assert address != scenic_address
    with pytest.raises(ExecutionError) as caught:
        open_database(address)
    assert caught.value.cause == "unreachable"
    assert said in caught.value.message
    told = f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"
    assert "sentinel" not in str(caught.value)
    assert PASSWORD not in told


def test_a_statement_that_takes_too_long_says_how_long_it_may(scenic_address: str) -> None:
    database = open_database(scenic_address, table_filter=known, limits=ResultLimits(timeout_seconds=0.3))
    sql = "SELECT count(*) FROM visit a, visit b, visit c, visit d, visit e"
    started = time.monotonic()
    with pytest.raises(ExecutionError) as caught:
        run(database, sql)
    assert caught.value.cause == "timeout" and "more than 0.3 seconds" in caught.value.message
    assert time.monotonic() - started < 0.3 + SLACK


def test_a_server_that_goes_away_and_comes_back_is_asked_again() -> None:
    if reason := lacking():
        pytest.skip(reason)
    cluster = Cluster()
    try:
        with cluster.connect() as owner:
            fill(owner)
        database = open_database(cluster.address("postgres"), table_filter=known)
        cluster.stop()
        with pytest.raises(ExecutionError) as caught:
            run(database, "SELECT count(*) FROM a_sight")
        assert caught.value.cause == "unreachable" and "sentinel" not in str(caught.value)
        cluster.start()
        assert run(database, "SELECT count(*) FROM a_sight").rows == ((60,),)
    finally:
        cluster.close()


@pytest.mark.parametrize(
    "sql",
    [
        "select pg_sleep(20)",
        "select n, pg_sleep(0.01) from generate_series(1, 10000) n",
        "select n from generate_series(1, 100000000) n",
    ],
)
def test_a_line_that_is_cut_leaves_no_cursor_open(
    scenic_address: str, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setattr("research.sources.database.postgres.GRACE_SECONDS", -0.3)  # before the server gives up
    database = open_database(
        scenic_address, table_filter=known, limits=ResultLimits(timeout_seconds=0.5, max_rows=10**6)
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(ExecutionError) as caught:
            backend(database).run(sql)
        assert caught.value.cause == "timeout"
        del caught
        gc.collect()
    assert not told


def test_the_connection_leaves_nothing_behind(server_database: Database, owner: Any) -> None:
    run(server_database, "SELECT count(*) FROM a_sight")
    count = "select count(*) from pg_stat_activity where application_name = 'sightline'"
    deadline = time.monotonic() + 5
    while owner.execute(count).fetchone() != (0,):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_postgis_columns_are_read_as_text(scenic_address: str, owner: Any) -> None:
    try:
        owner.execute("create extension if not exists postgis")
    except psycopg.Error:
        pytest.skip("PostGIS is not installed")
    owner.execute("create table geo(id integer, geom geometry(Point, 4326))")
    owner.execute("insert into geo values (1, ST_SetSRID(ST_MakePoint(120, 30), 4326))")
    try:
        database = open_database(scenic_address, table_filter=lambda _, table: table == "geo")
        (row,) = run(database, "SELECT * FROM geo").rows
        assert row[0] == 1
        assert str(row[1]).startswith("0101000020E6100000")
        assert {table.name for table in open_database(scenic_address).schema.tables} >= {
            "geo",
            "a_sight",
        }
    finally:
        owner.execute("drop table geo; drop extension postgis")


@pytest.mark.slow
def test_functions_that_take_exact_numbers_alone_are_given_them(server_database: Database) -> None:
    for sql, wanted in (
        ("SELECT log(2, gid ^ 4) FROM a_sight WHERE gid = 2", 4),
        ("SELECT log(2, CAST(gid AS double precision)) FROM a_sight WHERE gid = 8", 3),
        ("SELECT log10(power(gid, 2)) FROM a_sight WHERE gid = 10", 2),
        ("SELECT trunc(gid ^ 4 / 3, 1) FROM a_sight WHERE gid = 2", 5.3),
        ("SELECT mod(gid ^ 4, 3) FROM a_sight WHERE gid = 2", 1),
        ("SELECT div(gid ^ 4, 3) FROM a_sight WHERE gid = 2", 5),
        ("SELECT 7 % 4 / 2 FROM a_sight WHERE gid = 2", 1),
    ):
        ((found,),) = server_database.run(server_database.check(sql)).rows
        assert found == pytest.approx(wanted), sql
