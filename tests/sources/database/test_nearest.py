"""Boxes that keep far points from being measured, and never change what is found."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research.sources.database.distance import distance_km
from research.sources.database.engines import Database, open_database
from research.sources.database.nearest_rows import narrow_to_boxes
from research.sources.database.results import ResultLimits
from tests.tables import each_row

TYPES = {"spot": {"gid": "INTEGER", "name": "TEXT", "lng": "REAL", "lat": "REAL", "word": "TEXT"}}
ROWS = 1_500
ODD: list[tuple[Any, Any]] = [
    (None, None), (None, 30.0), (120.0, None), (480.15, 30.25), (-239.85, 30.25), (120.15, 389.0),
    ("120.15", "30.25"), ("far", 30.0), (240.0, 30.2), (59.85, 149.75), (180.0, 30.0), (-180.0, 0.0), (0.0, 90.0),
    (120.15, 30.25), (120.15, 30.25), (120.2, -90.0),
]  # fmt: skip


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points in clusters, on a grid with many ties, all over the Earth, and such as no map has."""
    path, made = tmp_path_factory.mktemp("points") / "points.db", random.Random(4)
    at: list[tuple[Any, Any]] = list(ODD)
    while len(at) < ROWS:
        at.append(
            made.choice((
                (made.gauss(120.15, 0.02), made.gauss(30.25, 0.02)),
                (120 + made.randrange(20) / 10, 30 + made.randrange(20) / 10),
                (made.uniform(-180, 180), made.uniform(-90, 90)),
                (made.uniform(75, 134), made.uniform(18, 53)),
            ))
        )  # fmt: skip
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table spot (gid integer primary key, name text, lng real, lat real, word text)")  # fmt: skip
        connection.execute("create index spot_point on spot (lng, lat)")
        connection.executemany(
            "insert into spot values (?, ?, ?, ?, '120')",
            [(n, f"点{n % 7}", *point) for n, point in enumerate(at)],
        )
    return path


@pytest.fixture(scope="module")
def database(points: Path) -> Database:
    return open_database(points, limits=ResultLimits(max_rows=5_000, timeout_seconds=30))


def statements() -> list[str]:
    centres = ("120.15, 30.25", "0, 0", "179.9, 10", "-75.5, -33", "120, 89.9", "121.05, 30.95", "200, 30")  # fmt: skip
    found = []
    for centre in centres:
        km = f"distance_km(lng, lat, {centre})"
        for limit in ("LIMIT 1", "LIMIT 10", "LIMIT 7 OFFSET 25", "LIMIT 0", ""):
            found += [
                f"SELECT gid, {km} AS km FROM spot ORDER BY {km}, gid {limit}",
                f"SELECT s.gid, {km} AS km FROM spot s WHERE s.name <> '点3' ORDER BY km, s.gid {limit}",
            ]
        found += [
            f"SELECT gid FROM spot WHERE name = 'none' ORDER BY {km}, gid LIMIT 5",
            f"SELECT gid, {km} FROM spot ORDER BY 2, 1 LIMIT 5",
            f"SELECT gid FROM spot ORDER BY {km} DESC, gid LIMIT 5",
            f"SELECT gid FROM spot ORDER BY {km} NULLS FIRST, gid LIMIT 5",
            f"SELECT gid FROM spot ORDER BY distance_km({centre}, lng, lat), gid LIMIT 9",
            f"SELECT gid FROM spot ORDER BY distance_km(lng, lat, {centre}) + 1, gid LIMIT 9",
            f"SELECT DISTINCT name FROM spot ORDER BY {km} LIMIT 3",
            f"SELECT count(*) FROM spot WHERE {km} <= 0",
            f"SELECT gid, count(*) OVER () AS n FROM spot ORDER BY {km}, gid LIMIT 3",
            f"SELECT name, min({km}) AS km FROM spot GROUP BY name ORDER BY km LIMIT 3",
            f"SELECT gid FROM spot WHERE gid IN (SELECT gid FROM spot WHERE {km} < 30) ORDER BY gid",
            f"SELECT count(*) FROM spot WHERE {km} < 12.5 OR gid = 5",
            f"SELECT count(*) FROM spot WHERE NOT {km} < 12.5",
            f"SELECT a.gid FROM spot a JOIN spot b ON a.gid = b.gid + 1 ORDER BY distance_km(a.lng, a.lat, {centre}), a.gid LIMIT 3",
            f"WITH here AS (SELECT gid, 1.0 AS lng, lat FROM spot) SELECT gid FROM here ORDER BY {km}, gid LIMIT 3",
            f"SELECT gid, CAST(gid AS NUMERIC) / 2 AS h FROM spot WHERE {km} < 500 ORDER BY {km}, gid LIMIT 8",
            f"SELECT gid FROM spot WHERE distance_km(word, lat, {centre}) < 40 ORDER BY gid",
        ]
        for most in ("1", "20.5", "300", "25000", "-1"):
            found += [
                f"SELECT gid FROM spot WHERE {km} <= {most} ORDER BY gid",
                f"SELECT count(*) FROM spot s WHERE name LIKE '点%' AND {km} < {most} AND gid > 3",
            ]
    return found


@pytest.mark.slow
def test_boxes_never_change_what_is_found(points: Path, database: Database) -> None:
    changed = 0
    with closing(sqlite3.connect(points)) as plain:
        plain.create_function("distance_km", 4, distance_km, deterministic=True)

        def ask(sql: str) -> Sequence[Sequence[object]]:
            return plain.execute(sql).fetchall()

        for sql in statements():
            text = database.check(sql).sql
            less = narrow_to_boxes(text, TYPES, ask)
            changed += less != text
            expected = plain.execute(text).fetchall()
            assert plain.execute(less).fetchall() == expected, (sql, less)
            assert list(database.run(database.check(sql)).rows) == expected, sql
    assert changed > 60


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT gid FROM spot ORDER BY distance_km(lng, lat, 120.15, 30.25) NULLS LAST LIMIT 10",
        "SELECT gid FROM spot WHERE distance_km(lng, lat, 120.15, 30.25) < 1",
    ],
)
def test_few_points_are_measured(points: Path, sql: str) -> None:
    calls = 0

    def counted(*degrees: object) -> float | None:
        nonlocal calls
        calls += 1
        return distance_km(*degrees)  # type: ignore[call-arg]

    with closing(sqlite3.connect(points)) as connection:
        connection.create_function("distance_km", 4, counted, deterministic=True)
        less = narrow_to_boxes(sql, TYPES, lambda probe: connection.execute(probe).fetchall())
        connection.execute(less).fetchall()
    assert 0 < calls < ROWS / 3


@each_row(
    "sql",
    [
        "SELECT gid FROM spot ORDER BY gid LIMIT 10",
        "SELECT gid FROM other ORDER BY distance_km(lng, lat, 1, 1) NULLS LAST LIMIT 1",
        "SELECT gid FROM spot ORDER BY distance_km(lng, lat, lng, 1) NULLS LAST LIMIT 1",
        "SELECT gid FROM spot ORDER BY distance_km(lng, lat, '1', 1) NULLS LAST LIMIT 1",
        "SELECT gid FROM spot ORDER BY distance_km(word, lat, 1, 1) NULLS LAST LIMIT 1",
    ],
)
def test_what_is_not_certain_is_left_as_it_is(sql: str) -> None:
    def ask(sql: str) -> Sequence[Sequence[object]]:
        raise AssertionError(sql)

    assert narrow_to_boxes(sql, TYPES, ask) == sql


@each_row(
    ("point", "known"),
    [((0, 90), True), ((0, -90), True), ((480, 30), True), ((120, 90.01), False), ((120, 150), False),
     ((None, 1), False), (("x", 1), False), ((1, float("nan")), False), ((float("inf"), 1), False)],
)  # fmt: skip
def test_a_point_that_no_map_has_is_at_no_distance(point: tuple[Any, Any], known: bool) -> None:
    assert (distance_km(*point, 120, 30) is not None) is known
    assert (distance_km(120, 30, *point) is not None) is known
