"""DuckDB: what passes the guard, what its own layer refuses without the guard, what it takes."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from research.sources.database.duckdb import DuckDB
from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits, to_json_value
from research.sources.database.validator import ValidatedQuery
from tests.sources.database.scenic import SECRET, TABLES, cases, known, make_duckdb
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]
SECONDS, SLACK = 0.4, 30.0  # the machine may be busy
MEMORY = 700 * 1024  # kilobytes: what an engine may have, and what Python makes of it
ATTACKS = cases("attacks_duckdb.json", "duckdb") + [
    case for case in cases("attacks.json", "duckdb") if case["dialect"] == "both"
]


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("duck") / "scenic.duckdb"
    make_duckdb(path)
    return path


@pytest.fixture(scope="session")
def ducks(file: Path) -> Database:
    return open_database(f"duckdb:///{file}", table_filter=known, limits=ResultLimits(max_rows=2_000))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(database: Database, sql: str) -> ExecutionResult:
    return database.run(database.check(sql))


def test_the_attacks_are_many() -> None:
    own = [case for case in ATTACKS if case["dialect"] == "duckdb"]
    assert len({case["sql"] for case in own}) >= 300
    assert len({case["class"] for case in own}) >= 20
    assert len([case for case in own if "harmless" in case]) <= 8
    assert len([case for case in own if "guard_only" in case]) <= 1


@pytest.mark.slow
def test_every_attack_is_refused_or_does_no_harm(file: Path) -> None:
    database = open_database(f"duckdb:///{file}", table_filter=known, limits=ResultLimits(timeout_seconds=SECONDS))
    before, through = digest(file), []
    for case in ATTACKS:
        said: ValidatedQuery | RefusedError
        try:
            said = database.check(case["sql"])
        except RefusedError:
            continue
        if "harmless" not in case or not set(said.tables) <= set(TABLES):
            through.append((case["class"], case["sql"][:120], said.sql[:120]))
            continue
        started = time.monotonic()
        try:
            assert SECRET not in repr(database.run(said).rows)
        except ExecutionError as failed:
            assert failed.cause in ("timeout", "size", "refused", "value")
        assert time.monotonic() - started < SECONDS + SLACK
    assert through == []
    assert digest(file) == before


@pytest.mark.slow
def test_every_attack_past_the_guard_reads_nothing_else_writes_nothing_and_ends(file: Path, tmp_path: Path) -> None:
    outside, new = tmp_path / "outside.duckdb", tmp_path / "new.db"
    with duckdb.connect(outside) as other:
        other.execute("create table outside(k text)")
        other.execute("insert into outside values ('sentinel-outside')")
    before = {path: digest(path) for path in (file, outside)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.sources.database.attack_child", file, outside, new, str(SECONDS)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    wanted = [c for c in cases("attacks_duckdb.json", "duckdb") if "guard_only" not in c]
    assert len(told["told"]) == len(wanted) >= 300
    for one in told["told"]:
        assert "sentinel" not in one["rows"], one["sql"]
        assert "root:" not in one["rows"], one["sql"]
        assert one["outcome"] != "unreachable", one["sql"]
        assert one["seconds"] < SECONDS + SLACK, one["sql"]
        assert one["peak"] - told["before"] < MEMORY, one["sql"]
    assert {path: digest(path) for path in before} == before
    assert not new.exists()


@pytest.mark.slow
def test_legitimate_statements_have_the_same_rows_written_anew(ducks: Database, file: Path) -> None:
    own = cases("legitimate_duckdb.json", "duckdb")
    assert len(own) >= 50
    wide = [case for case in cases("legitimate.json", "duckdb") if case["dialect"] == "both"]
    with duckdb.connect(file, read_only=True) as raw:
        for case in own + wide:
            sql, expected = case["sql"], None
            found = run(ducks, sql)
            if "distance_km" not in sql and "numeric" not in sql.lower():
                expected = [tuple(map(to_json_value, row)) for row in raw.execute(sql).fetchall()]
                assert sorted(map(repr, found.rows)) == sorted(map(repr, expected)), sql
            assert found.rows or expected == [], sql


def test_a_number_that_is_rounded_keeps_all_its_digits_until_then(ducks: Database) -> None:
    assert run(ducks, "SELECT round(CAST(0.12345 AS NUMERIC), 4), CAST(0.1234 AS NUMERIC)").rows == ((0.1235, 0.1234),)  # fmt: skip


def test_the_distance_is_that_of_the_other_engines(ducks: Database, database: Database) -> None:
    sql = "SELECT gid, round(distance_km(lng, lat, 120.15, 30.25), 6) AS km FROM a_sight ORDER BY km, gid"  # fmt: skip
    assert run(ducks, sql).rows == run(database, sql).rows


def test_the_schema_tells_keys_and_values(ducks: Database) -> None:
    tables = {table.name: table for table in ducks.schema.tables}
    assert set(tables) == set(TABLES) and tables["best"].is_view
    sight = {column.name: column for column in tables["a_sight"].columns}
    assert sight["gid"].is_key and sight["name"].is_required and sight["level"].values == ("3A", "4A", "5A")
    assert {c.name: c.reference for c in tables["visit"].columns}["gid"] == "a_sight.gid"


def test_a_text_that_finds_nothing_is_told_with_those_that_are_like_it(ducks: Database) -> None:
    query = ducks.check("SELECT NAME FROM A_SIGHT WHERE Level = '5'")
    (missed,) = ducks.unmatched_filters(query)
    assert missed.similar_values == ("5A",)


def test_what_is_unknown_is_counted(ducks: Database) -> None:
    query = ducks.check("SELECT avg(score) FROM a_sight")
    (known,) = ducks.coverage(query, ducks.run(query))
    assert (known.known, known.rows) == (52, 60)


@each_row(
    ("sql", "cause"),
    [
        ("select k from secret", "refused"),
        ("select * from query('select 1')", "refused"),
        ("select * from '/etc/passwd'", "refused"),
        ("set threads = 9", "refused"),
        ("create table memory.main.evil as select 1", "refused"),
        ("select nothing from a_sight", "column"),
        ("select cast(name as integer) from a_sight", "value"),
        ("select count(*) from visit a, visit b, visit c, visit d, visit e", "timeout"),
    ],
)
def test_what_an_engine_refuses_is_told_apart(file: Path, sql: str, cause: str) -> None:
    backend = DuckDB(file, ResultLimits(timeout_seconds=0.4))
    backend.read_schema(known, None)
    with pytest.raises(ExecutionError) as caught:
        backend.run(sql)
    assert caught.value.cause == cause


@each_row(
    ("macro", "sql"),
    [
        ("lower(x) as (select k from secret)", "SELECT lower(a) FROM t"),
        ('"+"(x, y) as (select k from secret)', "SELECT b + 1 FROM t"),
        ('"||"(x, y) as (select k from secret)', "SELECT a || 'x' FROM t"),
        ("json_serialize_sql(x) as '{}'", "SELECT k FROM secret"),
        ("count_star() as (select k from secret)", "SELECT count(*) FROM t"),
    ],
)
def test_a_function_of_the_files_own_is_never_called(tmp_path: Path, macro: str, sql: str) -> None:
    path = tmp_path / "own.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as made:
        made.execute("create table t(a text, b int); create table secret(k text)")
        made.execute("insert into t values ('x', 1); insert into secret values ('sentinel')")
        made.execute(f"create macro {macro}")
    backend = DuckDB(path, ResultLimits())
    backend.read_schema(lambda _, table: table == "t", None)
    with pytest.raises(ExecutionError) as caught:
        backend.run(sql)
    assert caught.value.cause == "refused"
    assert backend.run("SELECT upper(a) FROM t").rows == (("X",),)


@pytest.mark.parametrize("content", [None, b"", b"not a database" * 999])
def test_a_file_that_is_no_database_is_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "it's odd.duckdb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ExecutionError, match=r"it's odd\.duckdb cannot be read") as caught:
        open_database(f"duckdb:///{path}")
    assert caught.value.cause == "unreachable"


@pytest.mark.slow
def test_cells_and_rows_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "long.duckdb"
    with duckdb.connect(path) as made:
        made.execute("create table t as select repeat('湖', 100000) as a from range(500)")
    database = open_database(f"duckdb:///{path}", includes_samples=False, limits=ResultLimits(max_rows=200))
    result = run(database, "SELECT a FROM t")
    assert (len(result.rows), result.is_truncated, result.shortened_cells) == (200, True, 200)
    assert max(len(str(row[0])) for row in result.rows) <= ResultLimits().max_cell_characters + 1


HUGE = {
    "v": "select repeat('x', 500000000) as t",
    "product": "select repeat('x', 500 * 1000 * 1000) as t",
    "power": "select repeat('x', (10 ^ 9)::bigint) as t",
    "nested": "select repeat(repeat(repeat('x', 1000), 1000), 1000) as t",
    "filled": "select lpad('x', 900000000, 'y') as t",
    "printed": "select printf('%900000000d', a) as t from good",
    "bytes": "select repeat('x', 500000000)::blob as t",
    "member": "select {a: repeat('x', 500000000)} as t",
    "chosen": "select case when a > 0 then repeat('x', 500000000) else '' end as t from good",
    "kept": "select a from good where length(repeat('x', 700000000)) > 3",
    "limited": "select a from good limit length(repeat('x', 700000000))",
    "joined": "select g.a from good g join good h on length(repeat(h.b, 700000000)) > g.a",
    "part": "with q as (select repeat('x', 30000) as t) select repeat(t, 30000) as t from q",
    "over": "select t from v",
}
HONEST = {
    "stars": ("select repeat('★', a) as t from good", "★★★"),
    "label": ("select b || '-' || a || lpad(a::text, 4, '0') as t from good", "x-30003"),
    "replaced": ("select replace(b, 'x', 'yyyy') as t from good", "yyyy"),
    "parts": ("select {'a': a, 'b': [b, b]} as t from good", "{'a': 3, 'b': [x, x]}"),
    "bare": ("select 'ab'::blob as t", "(2 bytes)"),
}


@pytest.mark.slow
def test_a_value_of_hundreds_of_megabytes_in_a_view_is_never_made(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with duckdb.connect(path) as made:
        made.execute("create table good(a integer, b text); insert into good values (3, 'x')")
        made.execute("create macro grown(s) as repeat(s, 500000000)")
        views = {**HUGE, "macro": "select grown(b) as t from good"}
        views |= {name: sql for name, (sql, _) in HONEST.items()}
        made.execute("create view twice0 as select b as t from good")
        for n in range(1, 27):
            views[f"twice{n}"] = f"select t || t as t from twice{n - 1}"
        for name, sql in views.items():
            made.execute(f"create view {name} as {sql}")
    before = peak()
    database = open_database(path, limits=ResultLimits(timeout_seconds=20))
    assert {each.name for each in database.schema.unreadable} >= {*HUGE, "macro", "twice20", "twice26"}  # fmt: skip
    for name, (_, wanted) in HONEST.items():
        assert run(database, f"SELECT t FROM {name}").rows == ((wanted,),), name
    assert run(database, "SELECT t FROM twice3").rows == (("x" * 8,),)
    with pytest.raises(RefusedError, match="about 500,000,000 characters"):
        database.check("SELECT length(t) FROM v")
    with pytest.raises(ExecutionError) as caught:  # past the guard
        database._backend.run("select a from good, (select repeat('x', 400000000) as t) q")
    assert caught.value.cause in ("size", "refused")
    assert peak() - before < 250 * 1024


def peak() -> int:
    """The most memory that this process has had, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_a_long_value_that_is_stored_is_cut_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with duckdb.connect(path) as made:
        made.execute("create table long as select 1 as id, repeat('x', 5000000) as t, repeat('y', 3000000)::blob as b")  # fmt: skip
    found = run(open_database(path), "SELECT id, t, b FROM long")
    assert (found.types, found.shortened_cells) == (("integer", "text", "bytes"), 1)
    assert found.rows == ((1, "x" * 2_000 + "…", "(3000000 bytes)"),)
