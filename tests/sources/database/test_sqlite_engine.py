"""SQLite's own layer: what it refuses without the guard, what it takes, how its rows come back."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits
from research.sources.database.sqlite import SQLite, _create_trim, _find_text, _replace_text
from tests.sources.database.scenic import SECRET, cases, known
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]
SECONDS, SLACK = 0.4, 30.0  # the machine may be busy
MEMORY = 200 * 1024  # kilobytes


def run(database: Database, sql: str) -> ExecutionResult:
    return database.run(database.check(sql))


@pytest.mark.slow
def test_every_attack_past_the_guard_reads_nothing_else_writes_nothing_and_ends(scenic: Path, tmp_path: Path) -> None:
    outside, new = tmp_path / "outside.db", tmp_path / "new.db"
    with sqlite3.connect(outside) as other:
        other.execute("create table outside(k text)")
        other.execute("insert into outside values ('sentinel-outside')")
    other.close()
    before = {path: path.read_bytes() for path in (scenic, outside)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.sources.database.attack_child", scenic, outside, new, str(SECONDS)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    wanted = [case for case in cases("attacks.json", "sqlite") if "guard_only" not in case]
    assert len(told["told"]) == len(wanted) >= 150
    for one in told["told"]:
        assert "sentinel" not in one["rows"], one["sql"]
        assert one["outcome"] != "unreachable", one["sql"]
        assert one["seconds"] < SECONDS + SLACK, one["sql"]
        assert one["peak"] - told["before"] < MEMORY, one["sql"]
    assert {path: path.read_bytes() for path in before} == before
    assert not new.exists()


def test_what_only_the_guard_can_stop_is_few_and_says_why() -> None:
    left = [case for case in cases("attacks.json", "sqlite") if "guard_only" in case]
    assert len(left) <= 1
    assert all(case["guard_only"] for case in left)


def test_a_long_statement_ends_at_its_deadline(scenic: Path) -> None:
    database = open_database(scenic, table_filter=known, limits=ResultLimits(timeout_seconds=0.4))
    started = time.monotonic()
    with pytest.raises(ExecutionError, match=r"more than 0\.4 seconds") as caught:
        run(database, "SELECT count(*) FROM visit a, visit b, visit c, visit d")
    assert caught.value.cause == "timeout"
    assert time.monotonic() - started < 0.4 + SLACK


@each_row(
    ("sql", "cause"),
    [
        ("select k from secret", "refused"),
        ("select zeroblob(9) from a_sight", "refused"),
        ("attach ':memory:' as y", "refused"),
        ("select nosuch from a_sight", "column"),
        ("select 1 from nosuch", "table"),
        ("select sum(gid + 9223372036854775000) from a_sight", "value"),
        ("select 1; select 2", "refused"),
        ("select replace('aaaaaaaaaa', 'a', '" + "x" * 14_000 + "') || replace('aaaaaaaaaa', 'a', 'b')", "rows"),
        ("selec", "other"),
    ],
)  # fmt: skip
def test_what_an_engine_refuses_is_told_apart(scenic: Path, sql: str, cause: str) -> None:
    backend = SQLite(scenic, ResultLimits())
    backend.read_schema(known, None)
    try:
        backend.run(sql)
    except ExecutionError as failed:
        assert failed.cause == cause
    else:
        assert cause == "rows"


def test_a_number_that_grows_too_large_is_not_told_as_too_many_columns(database: Database) -> None:
    with pytest.raises(ExecutionError) as caught:
        run(database, "SELECT sum(gid + 9223372036854775000) FROM a_sight")
    assert "integer overflow" in caught.value.message and "TOTAL" in caught.value.message
    assert "columns" not in caught.value.message
    sql = "SELECT total(gid + 9223372036854775000) > 1 FROM a_sight"
    assert run(database, sql).rows == ((1,),)


def test_values_with_names_for_their_columns_are_read(database: Database) -> None:
    sql = (
        "SELECT s.y, count(v.id) AS n FROM (VALUES (2021), (2030)) AS s(y) "
        "LEFT JOIN visit v ON v.year = s.y GROUP BY s.y ORDER BY s.y"
    )
    assert run(database, sql).rows == ((2021, 50), (2030, 0))
    assert run(database, "SELECT count(*) FROM (VALUES (1), (2)) AS t(a)").rows == ((2,),)


def test_counting_a_part_of_the_statement_is_no_forbidden_read(database: Database) -> None:
    sql = "WITH t AS (SELECT city FROM a_sight GROUP BY 1) SELECT count(*) FROM t"
    assert run(database, sql).rows == ((5,),)


def test_a_part_that_is_called_as_a_view_opens_no_table(scenic: Path) -> None:
    backend = SQLite(scenic, ResultLimits())
    backend.read_schema(lambda _, table: table == "best", None)
    assert backend.run("select name from best").rows
    for sql in (
        "with best as (select k from secret) select k from best",
        "with best as (select city from a_sight) select city from best",
        "select city from a_sight",
    ):
        with pytest.raises(ExecutionError):
            backend.run(sql, cte_names=("best",))


def test_rows_cells_and_totals_are_bounded_and_say_so(scenic: Path) -> None:
    short = open_database(scenic, table_filter=known, limits=ResultLimits(max_rows=3, max_cell_characters=4))
    found = run(short, "SELECT name, gid FROM a_sight ORDER BY gid")
    assert (len(found.rows), found.is_truncated) == (3, True)
    assert found.rows[0] == ("乌镇景区", 1)
    assert found.rows[2] == ("鲁迅故里…", 3)
    assert found.shortened_cells == 2
    exact = run(short, "SELECT gid FROM a_sight WHERE gid <= 3")
    assert (len(exact.rows), exact.is_truncated) == (3, False)
    small = open_database(scenic, table_filter=known, limits=ResultLimits(max_characters=100))
    assert len(run(small, "SELECT name FROM a_sight").rows) < 25
    narrow = open_database(scenic, table_filter=known, limits=ResultLimits(max_columns=2))
    with pytest.raises(ExecutionError) as caught:
        run(narrow, "SELECT * FROM a_sight")
    assert caught.value.cause == "size"


def test_types_are_told_by_the_values(database: Database) -> None:
    found = run(
        database,
        "SELECT gid, score, name, rated, current_timestamp, NULL, 1 = 1 FROM a_sight WHERE gid < 7",
    )
    assert found.types == ("integer", "number", "text", "date", "datetime", "empty", "integer")
    assert found.duration_seconds < SLACK


@each_row("text", ["%:x%", "100%", "a:b", "?", "$1", "%(x)s", "\\", "it''s", ":gid"])
def test_a_text_with_the_marks_of_drivers_in_it_stays_a_text(database: Database, text: str) -> None:
    assert run(database, f"SELECT '{text}' AS x").rows == ((text.replace("''", "'"),),)


def test_several_threads_may_ask_at_once(database: Database) -> None:
    found: list[object] = []

    def ask() -> None:
        for _ in range(5):
            found.append(run(database, "SELECT count(*) FROM a_sight").rows)

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [((60,),)] * 20


def test_a_statement_that_only_the_engine_does_not_take_fails_with_its_words(
    database: Database,
) -> None:
    query = database.check("SELECT name FROM a_sight GROUP BY sum(score)")
    with pytest.raises(ExecutionError, match="GROUP BY"):
        database.run(query)


@pytest.mark.parametrize("content", [None, b"no database at all, but longer than a header is" * 4, b""])
def test_a_file_that_is_no_database_is_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "some.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ExecutionError) as caught:
        open_database(path)
    assert caught.value.cause == ("table" if content == b"" else "unreachable")
    assert content is not None or not path.exists()


def test_a_path_with_odd_characters_is_opened(tmp_path: Path, scenic: Path) -> None:
    path = tmp_path / "a?b#c %20 景区.db"
    path.write_bytes(scenic.read_bytes())
    assert run(open_database(path), "SELECT count(*) FROM visit").rows == ((150,),)
    assert open_database(f"sqlite:///{scenic}", table_filter=known).dialect == "sqlite"


@pytest.mark.parametrize("address", ["mysql://u:sentinel-pw@h/d", "postgresql://u:sentinel-pw@[::/d", "x://"])
def test_an_address_of_another_kind_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        open_database(address)
    assert caught.value.cause == "address"
    assert "sentinel" not in str(caught.value)


def test_what_may_not_run_never_reaches_the_engine(database: Database) -> None:
    with pytest.raises(RefusedError):
        database.check(f"SELECT '{SECRET}'; DELETE FROM a_sight")


# SQLite's functions as Python has them

VALUES = st.none() | st.integers(-99, 99) | st.sampled_from([0.5, 1e20, -2.0, 1e-7]) | st.text("ab湖 .", max_size=6)


@given(a=VALUES, b=VALUES, c=VALUES)
@settings(max_examples=200, deadline=None)
def test_replaced_functions_are_as_sqlite_has_them(
    a: float | str | None, b: float | str | None, c: float | str | None
) -> None:
    connection = sqlite3.connect(":memory:")
    sql = "select instr(?1, ?2), replace(?1, ?2, ?3), trim(?1, ?2), ltrim(?1, ?2), rtrim(?1, ?2), trim(?1)"
    (expected,) = connection.execute(sql, (a, b, c)).fetchall()
    connection.close()
    assert expected[0] == _find_text(a, b)
    replaced = _replace_text(a, b, c)
    assert expected[1] == replaced
    trimmed = [_create_trim(side)(a, b) for side in ("", "l", "r")]
    assert list(expected[2:5]) == trimmed
    assert expected[5] == _create_trim("")(a)


def test_a_text_that_is_too_long_to_hold_is_told_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long.db"
    with sqlite3.connect(path) as made:
        made.execute("create table page(id integer, body text)")
        made.execute("insert into page values (1, ?)", ("x" * 300_000,))
    made.close()
    database = open_database(path)
    assert run(database, "SELECT id FROM page").rows == ((1,),)
    with pytest.raises(ExecutionError, match="fewer or shorter columns") as caught:
        run(database, "SELECT body FROM page")
    assert caught.value.cause == "size"


def test_parts_that_are_written_out_without_end_are_refused_past_the_guard(scenic: Path) -> None:
    parts = [f"c{n} as (select a.x from c{n - 1} a, c{n - 1} b, c{n - 1} c)" for n in range(1, 16)]
    backend = SQLite(scenic, ResultLimits(timeout_seconds=1.0))
    backend.read_schema(known, None)
    started = time.monotonic()
    with pytest.raises(ExecutionError) as caught:
        backend.run(f"with c0 as (select n as x from visit), {', '.join(parts)} select x from c15")
    assert caught.value.cause in ("refused", "size", "timeout")
    assert time.monotonic() - started < SECONDS + SLACK
