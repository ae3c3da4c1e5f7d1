"""The largest result that is legal stays far below 200 MB of this process, on both engines."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research.sources.database.results import ResultLimits
from tests.servers.postgres import Cluster

ROOT = Path(__file__).resolve().parents[3]
MEMORY = 200 * 1024  # kilobytes
WIDE = 60  # columns
NAMES = [f"c{n}" for n in range(WIDE)]
TABLE = f"create table large(n integer primary key, {', '.join(f'{name} text' for name in NAMES)})"
LONG = 2_500  # characters of a cell: more than is kept
STATEMENTS = (
    "SELECT n, c0, c1, c2, c3 FROM large",  # as much text as may be, in cells as long as may be
    "SELECT * FROM large",
    "SELECT a.*, b.c0, b.c1, b.c2 FROM large a, large b ORDER BY a.n, b.n",
)
GATHERED = {
    "sqlite": ["SELECT group_concat(c0) FROM large WHERE n < 20", "SELECT group_concat(c0 || c1) FROM large", "SELECT a.n, group_concat(b.c0, ';') FROM large a, large b GROUP BY a.n", "SELECT json_group_array(c0) FROM large", "SELECT a.n, json_group_object(b.n, b.c0) FROM large a, large b GROUP BY a.n", "SELECT quote(hex(c0)), json_array(c0, c1, c2), printf('%s%s', c0, c1) FROM large"],
    "postgres": ["SELECT string_agg(c0, ',') FROM large", "SELECT string_agg(c0 || c1, ',') FROM large", "SELECT a.n, string_agg(b.c0, ';') FROM large a, large b GROUP BY a.n", "SELECT array_agg(c0) FROM large", "SELECT json_agg(json_build_object('a', c0, 'b', c1)) FROM large", "SELECT a.n, json_agg(b.c0) FROM large a, large b GROUP BY a.n", "SELECT array_to_string(array_agg(c1), ','), jsonb_agg(c0) FROM large", "SELECT unnest(string_to_array(c0, '')) FROM large"],
}  # fmt: skip


def rows() -> list[tuple[Any, ...]]:
    return [(n, *(chr(0x4E00 + n % 999) * LONG for _ in NAMES)) for n in range(300)]


def told(address: str, dialect: str) -> list[dict[str, Any]]:
    """What came of each statement; the peak is what it added."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sources.database.memory_child", address, *STATEMENTS, *GATHERED[dialect]],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return [{**one, "added": one["peak"] - found["before"]} for one in found["told"]]


@pytest.mark.slow
def test_the_largest_results_of_sqlite_are_small(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute(TABLE)
        made.executemany(f"insert into large values ({', '.join('?' * (WIDE + 1))})", rows())
    held(told(str(path), "sqlite"))


def test_the_largest_results_of_postgresql_are_small(database_server: Cluster) -> None:
    with database_server.database() as address:
        with database_server.connect(address.rpartition("/")[2]) as owner:
            owner.execute(TABLE)
            with owner.cursor() as cursor:
                marks = ", ".join(["%s"] * (WIDE + 1))
                cursor.executemany(f"insert into large values ({marks})", rows())
        found = told(address, "postgres")
    held(found)
    assert all(one["outcome"] in ("rows", "timeout") for one in found[len(STATEMENTS) :])


def held(found: list[dict[str, Any]]) -> None:
    limits = ResultLimits()
    first = found[0]
    assert first["outcome"] == "rows"
    assert first["characters"] >= limits.max_characters * 0.9
    for one in found:
        assert one["added"] < MEMORY, one
        assert one["characters"] <= limits.max_characters * 1.2, one
