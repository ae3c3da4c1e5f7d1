"""Series that recurse or are generated are counted out before an engine reads them: as the engine would."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from research.sources.database.allowlist import Dialect
from research.sources.database.refusals import DEFAULT_LIMITS, RefusedError
from research.sources.database.validator import validate
from tests.tables import each_row

ALL = f"WHERE n < {DEFAULT_LIMITS.max_series_rows}"


def recursive(first: str, step: str, end: str, name: str = "n") -> str:
    return f"WITH RECURSIVE r({name}) AS (SELECT {first} UNION ALL SELECT {step} FROM r {end}) SELECT {name} FROM r"


def refused(sql: str, dialect: Dialect = "sqlite") -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        validate(sql, dialect, {"t": {"n": "INTEGER"}})
    return caught.value


@each_row(
    ("first", "step", "end"),
    [
        ("1", "n + 1", ALL),
        ("5", "n - 2", "WHERE n > -5"),
        ("1", "n + 1", "WHERE n + 1 <= 3"),
        ("1", "n + 1", "WHERE 4 > n"),
        ("1", "n + 1", "WHERE n <> 6"),
        ("7", "n + 1", "WHERE n < 3"),
        ("2", "n + n", "WHERE n < 100"),
        ("'2023-12-30'", "date(n, '+1 day')", "WHERE n < '2024-01-02'"),
        ("date('2024-03-31')", "date(n, '-1 day')", "WHERE n > '2024-02-27'"),
        ("date('2023-11-15', '+1 day')", "date(n, '+1 month')", "WHERE date(n, '+1 month') <= '2024-03-01'"),
        ("date('2020-02-28')", "date(n, '+1 year')", "WHERE n < '2024-01-01'"),
    ],
)  # fmt: skip
def test_a_recursive_series_has_the_values_that_the_engine_would_count(first: str, step: str, end: str) -> None:
    sql = recursive(first, step, end)
    query = validate(sql, "sqlite", {"t": {"n": "INTEGER"}}, max_rows=DEFAULT_LIMITS.max_series_rows)
    assert "RECURSIVE" not in query.sql
    with closing(sqlite3.connect(":memory:")) as raw:
        assert raw.execute(query.sql).fetchall() == raw.execute(sql).fetchall()


@each_row(
    ("first", "step", "end"),
    [
        ("1", "n + 1", ""),
        ("1", "n + 1", "WHERE n < (SELECT count(*) FROM t)"),
        ("1", "n * 2", "WHERE n < 100"),
        ("1", "n + 0.1", "WHERE n < 2"),
        ("1", "n + 1", "WHERE n < 'x'"),
        ("1", "n + 1", "WHERE n < 5 OR n > 7"),
        ("1", "n + 1", "JOIN t ON t.n = r.n WHERE r.n < 5"),
        ("n FROM t", "n + 1", "WHERE n < 5"),
        ("'a'", "n || n", "WHERE length(n) < 9"),
        ("date('2024-01-31')", "date(n, '+1 month')", "WHERE n < '2024-09-01'"),
        ("date('now')", "date(n, '+1 day')", "WHERE n < '2024-09-01'"),
        ("1", "n + 1", "WHERE n < 5 LIMIT 3"),
        ("1, 2", "n + 1, 2", "WHERE n < 5"),
    ],
)
def test_what_is_no_series_is_refused_and_told_what_is(first: str, step: str, end: str) -> None:
    error = refused(recursive(first, step, end))
    assert error.kind == "statement"
    assert "no series" in error.message


@each_row(
    ("first", "step", "end"),
    [
        ("1", "n + 1", f"WHERE n < {DEFAULT_LIMITS.max_series_rows + 1}"),
        ("1", "n + 0", "WHERE n < 5"),
        ("1", "n - 1", "WHERE n < 5"),
        ("1", "n + 2", "WHERE n <> 6"),
        ("date('2000-01-01')", "date(n, '+1 day')", "WHERE n < '2024-01-01'"),
    ],
)
def test_a_series_that_is_long_or_endless_is_refused_at_its_bound(first: str, step: str, end: str) -> None:
    assert refused(recursive(first, step, end)).kind == "limit"


@each_row(
    "ends",
    [
        "1, 10000000000",
        "DATE '2020-01-01', DATE '2024-01-01', INTERVAL '1 day'",
        "timestamp '2024-01-01', timestamp '2024-12-01', interval '0 days'",
    ],
)
def test_a_generated_series_is_bounded(ends: str) -> None:
    assert refused(f"SELECT * FROM generate_series({ends}) AS d", "postgres").kind in (
        "limit",
        "table",
    )


def test_a_generated_series_of_dates_ends_with_the_last_that_is_not_beyond() -> None:
    text = validate(
        "SELECT d FROM generate_series('2024-01-01'::date, '2024-02-20'::date, '1 month'::interval) AS d",
        "postgres",
        {},
    ).sql
    assert "2024-02-01" in text
    assert "2024-03-01" not in text
    assert "TIMESTAMPTZ" in text


@pytest.mark.parametrize(
    "ends", ["1, n", "DATE '2024-01-01', DATE '2024-02-01'", "1, DATE '2024-01-01'", "now(), now()"]
)
def test_a_generated_series_of_anything_else_is_told_what_it_takes(ends: str) -> None:
    assert "takes values" in refused(f"SELECT * FROM generate_series({ends}) AS d", "postgres").message  # fmt: skip
