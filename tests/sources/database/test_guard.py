"""Which statements pass, which are refused, and with what word to whoever wrote them."""

from __future__ import annotations

import math
import re
import sqlite3
import time
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from research.sources.database.allowlist import ALLOWED_CLASSES, Dialect
from research.sources.database.distance import distance_km
from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusalKind, RefusedError
from research.sources.database.results import ExecutionError, ResultLimits, to_json_value
from research.sources.database.validator import ValidatedQuery, validate
from tests.sources.database.scenic import SECRET, cases, known
from tests.tables import each_row

TABLES = {
    "a_sight": {
        "gid": "INTEGER", "name": "TEXT", "level": "TEXT", "province": "TEXT", "city": "TEXT",
        "lng": "REAL", "lat": "REAL", "rated": "DATE", "score": "REAL",
    },
    "visit": {"id": "INTEGER", "gid": "INTEGER", "year": "INTEGER", "visitors": "INTEGER", "n": "INTEGER"},
    "tourist_spot": {
        "id": "INTEGER", "gid": "INTEGER", "名称": "TEXT", "城市": "TEXT", "评分": "REAL",
        "门票": "TEXT", "开放时间": "TEXT", "建议季节": "TEXT", "ticket_cny": "INTEGER",
    },
    "best": {"name": "TEXT", "score": "REAL"},
}  # fmt: skip
_REQUOTED = re.compile(r"""(?!.*(?:distance_km|--|```|''))[^"]*'[^"]*""", re.DOTALL)
DIALECTS: tuple[Dialect, ...] = ("sqlite", "postgres", "duckdb")
ATTACKS = [(d, case) for d in DIALECTS for case in cases("attacks.json", d)]
LEGITIMATE = [(d, case["sql"]) for d in DIALECTS for case in cases("legitimate.json", d)]


def passed(sql: str, dialect: Dialect = "sqlite", rows: int = 200) -> ValidatedQuery:
    return validate(sql, dialect, TABLES, max_rows=rows)


def refused(sql: str, dialect: Dialect = "sqlite") -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        passed(sql, dialect)
    return caught.value


def test_the_attacks_are_of_every_class_and_many() -> None:
    assert len({case["sql"] for _, case in ATTACKS}) >= 300
    assert len({case["class"] for _, case in ATTACKS}) >= 29


@cache
def outcomes() -> list[tuple[Dialect, dict[str, str], ValidatedQuery | RefusedError, float]]:
    """What the guard says to each attack, and the seconds it thinks about it."""
    found = []
    for dialect, case in ATTACKS:
        before = time.process_time()
        said: ValidatedQuery | RefusedError
        try:
            said = passed(case["sql"], dialect)
        except RefusedError as error:
            said = error
        found.append((dialect, case, said, time.process_time() - before))
    return found


def test_every_attack_is_refused_or_known_to_be_harmless() -> None:
    through = [
        (dialect, case["class"], case["sql"][:120], said.sql[:120])
        for dialect, case, said, _ in outcomes()
        if isinstance(said, ValidatedQuery) and not ("harmless" in case and set(said.tables) <= set(TABLES))
    ]
    assert through == []


@pytest.mark.slow
def test_no_attack_keeps_the_guard_busy() -> None:
    assert [case["sql"][:80] for _, case, _, seconds in outcomes() if seconds > 2] == []


@pytest.mark.slow
def test_what_passes_of_the_attacks_does_no_harm_on_sqlite(scenic: Path) -> None:
    database = open_database(scenic, table_filter=known, limits=ResultLimits(timeout_seconds=0.5))
    before = scenic.read_bytes()
    for dialect, case in ATTACKS:
        if dialect != "sqlite" or "harmless" not in case:
            continue
        started = time.monotonic()
        try:
            rows = database.run(database.check(case["sql"])).rows
        except (RefusedError, ExecutionError):
            continue
        finally:
            assert time.monotonic() - started < database.limits.timeout_seconds + 30
        assert SECRET not in repr(rows)
    assert scenic.read_bytes() == before


def test_of_legitimate_statements_at_most_one_in_a_hundred_is_refused() -> None:
    assert len({sql for _, sql in LEGITIMATE}) >= 300
    wrong = []
    for dialect, sql in LEGITIMATE:
        try:
            passed(sql, dialect)
        except RefusedError as error:
            wrong.append((dialect, sql, str(error)))
    assert len(wrong) <= len(LEGITIMATE) // 100, wrong


def _search(pattern: str, text: str | None) -> bool | None:
    return None if text is None else re.search(pattern, text) is not None


@pytest.mark.slow
def test_legitimate_statements_have_the_same_rows_written_anew(database: Database, scenic: Path) -> None:
    raw = sqlite3.connect(scenic)
    raw.create_function("distance_km", 4, distance_km)
    raw.create_function("regexp", 2, _search)
    for dialect, sql in LEGITIMATE:
        if dialect == "sqlite":
            expected = [tuple(to_json_value(value) for value in row) for row in raw.execute(sql)]
            found = database.run(database.check(sql))
            assert sorted(map(repr, found.rows)) == sorted(map(repr, expected)), sql
            assert not found.is_truncated
    raw.close()


def test_legitimate_statements_have_the_same_rows_with_their_texts_in_double_quotes(
    database: Database, scenic: Path
) -> None:
    raw = sqlite3.connect(scenic)
    compared, wrong = 0, []
    for dialect, sql in LEGITIMATE:
        if dialect != "sqlite" or not _REQUOTED.fullmatch(sql):
            continue
        quoted = re.sub("'([^']*)'", r'"\1"', sql)
        try:
            expected = sorted(map(repr, raw.execute(quoted).fetchall()))
        except sqlite3.Error:
            continue  # a column is called so
        compared += 1
        try:
            found = sorted(map(repr, database.run(database.check(quoted)).rows))
        except (RefusedError, ExecutionError) as error:
            wrong.append((quoted, str(error)))
        else:
            assert found == expected, quoted
    raw.close()
    assert compared > 50
    assert len(wrong) <= 1, wrong  # ESCAPE "\" is not understood


@pytest.mark.parametrize("dialect", DIALECTS)
@given(text=st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_no_text_raises_anything_but_a_refusal(dialect: Dialect, text: str) -> None:
    try:
        passed(text, dialect)
    except RefusedError as error:
        assert error.kind in get_args(RefusalKind)
        assert error.message


PIECES = [
    r"SELECT",
    r"FROM",
    r"WHERE",
    r"WITH",
    r"AS",
    r"(",
    r")",
    r",",
    r".",
    r"*",
    r";",
    r"'",
    r'"',
    r"`",
    r"[",
    r"]",
    r"--",
    r"/*",
    r"*/",
    r"$$",
    r"E'",
    r'U&"',
    r"::",
    r":",
    r"?",
    r"$1",
    r"@x",
    r"a_sight",
    r"gid",
    r"name",
    r"secret",
    r"t",
    r"JOIN",
    r"ON",
    r"USING",
    r"LATERAL",
    r"NATURAL",
    r"UNION",
    r"ALL",
    r"EXCEPT",
    r"VALUES",
    r"CASE",
    r"WHEN",
    r"THEN",
    r"END",
    r"IN",
    r"NOT",
    r"EXISTS",
    r"LIKE",
    r"BETWEEN",
    r"AND",
    r"OR",
    r"CAST",
    r"INTERVAL",
    r"DATE",
    r"'1'",
    r"1",
    r"1.5",
    r"1e9",
    r"0x1F",
    r"NULL",
    r"TRUE",
    r"count(*)",
    r"max(",
    r"lower(",
    r"pg_sleep(",
    r"distance_km(",
    r"OVER",
    r"PARTITION",
    r"BY",
    r"ORDER",
    r"LIMIT",
    r"OFFSET",
    r"FETCH",
    r"FIRST",
    r"ROWS",
    r"ONLY",
    r"GROUP",
    r"HAVING",
    r"FILTER",
    r"RECURSIVE",
    r"MATERIALIZED",
    r"INTO",
    r"FOR",
    r"UPDATE",
    r"DISTINCT",
    r"ANY",
    r"ARRAY",
    r"[",
    r"||",
    r"~",
    r"<>",
    r"=",
    r"<",
    r"COLLATE",
    r"AT",
    r"TIME",
    r"ZONE",
    r"EXTRACT",
    r"year",
    r"名称",
    r",",
    r"(",
    r")",
]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@given(words=st.lists(st.sampled_from(PIECES), max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_heap_of_words_raises_anything_but_a_refusal(dialect: Dialect, words: list[str]) -> None:
    try:
        query = passed("SELECT " + " ".join(words), dialect)
    except RefusedError:
        return
    assert set(query.tables) <= set(TABLES)
    assert passed(query.sql.replace("secret", "a_sight"), dialect).limit == query.limit


@given(words=st.lists(st.sampled_from(LEGITIMATE), min_size=1, max_size=1), data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_legitimate_statement_that_lost_or_gained_a_piece_raises_nothing_else(
    words: list[tuple[Dialect, str]], data: st.DataObject
) -> None:
    dialect, sql = words[0]
    place = data.draw(st.integers(0, len(sql)))
    gained = data.draw(st.sampled_from(PIECES))
    lost = data.draw(st.integers(0, 12))
    try:
        query = passed(f"{sql[:place]} {gained} {sql[place + lost :]}", dialect)
    except RefusedError:
        return
    assert set(query.tables) <= set(TABLES)


# What a record says


def test_a_query_tells_its_tables_its_columns_and_its_parts() -> None:
    query = passed(
        "WITH T AS (SELECT gid, count(*) AS n FROM visit GROUP BY gid) "
        "SELECT a.Name, t.n FROM A_sight a JOIN t ON t.gid = a.gid"
    )
    assert query.tables == ("a_sight", "visit")
    assert query.columns == (("a_sight", "gid"), ("a_sight", "name"), ("visit", "gid"))
    assert query.cte_names == {"t"}
    assert query.dialect == "sqlite"


@each_row(
    ("written", "limit"),
    [("", 11), (" LIMIT 5", 5), (" LIMIT 500", 11), (" FETCH FIRST 3 ROWS ONLY", 3), (" LIMIT 4 OFFSET 2", 4)],
)  # fmt: skip
def test_one_row_more_is_asked_for_than_may_be_shown(written: str, limit: int) -> None:
    query = passed(f"SELECT name FROM a_sight ORDER BY gid{written}", rows=10)
    assert query.limit == limit
    assert f"LIMIT {limit}" in query.sql


def test_a_limit_within_a_part_is_kept_beside_that_of_the_whole() -> None:
    query = passed("SELECT * FROM (SELECT name FROM a_sight LIMIT 3) x")
    assert "LIMIT 3" in query.sql
    assert "LIMIT 201" in query.sql


def test_comments_and_hints_do_not_come_through() -> None:
    assert "evil" not in passed("SELECT name /* evil */ FROM a_sight -- evil").sql


def test_the_schema_of_the_database_may_be_named_and_is_left_out() -> None:
    assert "main" not in passed("SELECT main.a_sight.name FROM main.a_sight").sql
    assert "public" not in passed("SELECT name FROM public.a_sight", "postgres").sql


# What a refusal says


def test_an_unknown_column_is_answered_with_those_that_are_like_it() -> None:
    error = refused("SELECT nam FROM a_sight")
    assert (error.kind, error.suggestions) == ("column", ("a_sight.name",))
    assert "'nam'" in error.message
    assert refused("SELECT a.provinc FROM a_sight a").suggestions == ("a.province",)


def test_a_column_of_several_tables_is_answered_with_its_full_names() -> None:
    error = refused("SELECT gid FROM a_sight a JOIN visit v ON v.gid = a.gid")
    assert (error.kind, error.suggestions) == ("column", ("a.gid", "v.gid"))


def test_an_unknown_table_is_answered_with_those_that_are_like_it() -> None:
    error = refused("SELECT * FROM a_sights")
    assert (error.kind, error.suggestions) == ("table", ("a_sight",))
    assert refused("SELECT * FROM secret").kind == "table"


def test_a_function_of_another_engine_is_answered_with_what_this_one_has() -> None:
    assert refused("SELECT to_char(rated, 'YYYY') FROM a_sight").suggestions == ("strftime",)
    assert refused("SELECT strftime('%Y', rated) FROM a_sight", "postgres").suggestions == ("to_char",)
    assert refused("SELECT lenght(name) FROM a_sight").suggestions == ("length",)
    assert refused("SELECT DATE '2024-01-01'").suggestions == ("date(…)",)
    assert refused("SELECT concat(name, city) FROM a_sight").suggestions == ("||",)
    assert "date('now'" in refused("SELECT name FROM a_sight WHERE rated > CURRENT_DATE - 365").message


@each_row("name", ["故宫博物院", "New York City", "it's", 'say "hi"', "secret", "visitors"])  # fmt: skip
def test_a_name_in_double_quotes_that_is_no_column_is_a_text_to_sqlite(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    text = exp.Literal.string(name).sql("sqlite")
    query = passed(f"SELECT gid FROM a_sight WHERE name = {quoted} OR city IN ({quoted}, 'x')")
    assert f"name = {text} OR city IN ({text}, 'x')" in query.sql
    assert ("a_sight", "name", name) in query.filters


def test_a_name_in_double_quotes_that_is_a_column_or_an_alias_stays_one() -> None:
    text = passed('SELECT "Name", score AS "Its score" FROM a_sight WHERE "City" = "x" ORDER BY "Its score"').sql  # fmt: skip
    assert "\"City\" = 'x'" in text
    assert 'ORDER BY "Its score"' in text
    outer = 'SELECT 1 FROM a_sight a WHERE EXISTS (SELECT 1 FROM visit WHERE "city" = "level")'
    assert '"city" = "level"' in passed(outer).sql
    assert refused('SELECT 1 FROM a_sight, visit WHERE "gid" = 1').suggestions == ("a_sight.gid", "visit.gid")  # fmt: skip


@pytest.mark.parametrize("sql", ['SELECT name FROM a_sight ORDER BY "scroe"', 'SELECT "scroe", gid FROM a_sight', 'SELECT count(*) FROM a_sight GROUP BY "scroe"'])  # fmt: skip
def test_a_mistaken_column_in_double_quotes_is_no_text_where_it_would_be_the_same_in_each_row(
    sql: str,
) -> None:
    assert refused(sql).suggestions == ("a_sight.score",)


def test_postgresql_is_told_how_a_text_is_quoted() -> None:
    error = refused('SELECT gid FROM a_sight WHERE name = "New York City"', "postgres")
    assert error.message == (
        "There is no column 'New York City' in the tables of this statement;"
        " texts stand in single quotes: 'New York City'."
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_refusal_proposes_is_not_refused(dialect: Dialect) -> None:
    series = refused("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", dialect)  # fmt: skip
    values = refused("SELECT column1 FROM (VALUES (1), (2)) AS v", dialect)
    for message in (series.message, values.message):
        proposed = message[message.index("(VALUES") :].rstrip(".")
        assert passed(f"SELECT * FROM {proposed}", dialect).tables == ()
        assert passed(f"SELECT count(*) FROM visit CROSS JOIN {proposed}", dialect).tables == ("visit",)  # fmt: skip


@each_row(
    ("dialect", "written", "told"),
    [
        ("sqlite", "json_set(name, '$.a', 1)", "function json_set()"),
        ("sqlite", "Randomblob(9)", "function randomblob()"),
        ("sqlite", "lpad(name, 3)", "function lpad()"),
        ("sqlite", "name MATCH 'a'", "operator MATCH is"),
        ("postgres", "repeat(name, 3)", "function repeat()"),
        ("postgres", "xmlagg(name)", "function xmlagg()"),
        ("postgres", "jsonb_path_query(name, '$.a')", "function jsonb_path_query()"),
        ("postgres", "version()", "function version()"),
    ],
)
def test_what_is_refused_is_called_as_it_was_written(dialect: Dialect, written: str, told: str) -> None:
    assert told in refused(f"SELECT {written} FROM a_sight", dialect).message


@each_row(
    ("sql", "kind"),
    [
        ("", "statement"),
        ("DELETE FROM a_sight", "statement"),
        ("SELECT 1; SELECT 2", "statement"),
        ("SELECT name FROM a_sight WHERE", "syntax"),
        ("SELECT name FROM a_sight LIMIT 1 + 1", "limit"),
        ("SELECT name FROM a_sight WHERE gid = :x", "syntax"),
        ("SELECT name FROM a_sight LIMIT 10 PERCENT", "limit"),
        ("SELECT CAST(name AS xml) FROM a_sight", "type"),
        ("SELECT name COLLATE evil FROM a_sight", "operator"),
        ("SELECT zeroblob(9) FROM a_sight", "function"),
        ("SELECT '" + "x" * 600 + "'", "limit"),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r", "statement"),
    ],
)
def test_a_refusal_is_of_a_kind(sql: str, kind: str) -> None:
    assert refused(sql).kind == kind


@pytest.mark.slow
def test_a_refusal_has_no_colours_and_no_long_text_in_it() -> None:
    for _, _, said, _ in outcomes():
        if isinstance(said, RefusedError):
            assert "\x1b" not in said.message
            assert len(said.message) < 500


# Distances


def test_a_distance_is_plain_sql_on_postgresql_and_a_function_on_sqlite() -> None:
    sql = "SELECT distance_km(lng, lat, 120.15, 30.25) AS km FROM a_sight"
    assert "DISTANCE_KM(" in passed(sql).sql
    text = passed(sql, "postgres").sql
    assert "distance" not in text.lower()
    assert "ASIN" in text


def test_a_distance_takes_four_values_and_no_distance() -> None:
    assert refused("SELECT distance_km(lng, lat) FROM a_sight").kind == "function"
    inner = "distance_km(1, 2, 3, 4)"
    assert refused(f"SELECT distance_km({inner}, 2, 3, 4)").kind == "function"


def test_distances_are_those_of_the_world() -> None:
    found = distance_km(121.4737, 31.2304, 116.4074, 39.9042)  # Shanghai, Beijing
    assert found is not None
    assert math.isclose(found, 1067, abs_tol=3)
    assert distance_km(0, 0, 180, 0) == pytest.approx(math.pi * 6371.0088)
    assert distance_km(None, 0, 1, 1) is None
    assert distance_km("x", 0, 1, 1) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_class_that_is_listed_is_one_of_the_parser(dialect: Dialect) -> None:
    assert [name for name in sorted(ALLOWED_CLASSES[dialect]) if not hasattr(exp, name)] == []


# What is said in other words, and what is kept short


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fence_around_a_statement_is_taken_off(dialect: Dialect) -> None:
    assert passed("```sql\nSELECT name FROM a_sight;\n```", dialect).tables == ("a_sight",)
    assert refused("```sql\nSELECT 1; DROP TABLE a_sight\n```", dialect).kind == "statement"
    assert refused("```sql\nSELECT k FROM secret\n```", dialect).kind == "table"


def test_a_natural_join_of_two_tables_names_the_columns_that_they_share() -> None:
    assert "USING (gid)" in passed("SELECT level, year FROM a_sight NATURAL JOIN visit").sql
    assert refused("SELECT 1 FROM a_sight NATURAL JOIN secret").kind == "syntax"
    part = "WITH visit AS (SELECT 1 AS gid) SELECT 1 FROM a_sight NATURAL JOIN visit"
    assert "USING" in refused(part).message


@each_row(
    "sql",
    [
        "SELECT y FROM generate_series(2007, 2009) AS y",
        "SELECT s.y FROM generate_series(2007, 2009, 1) AS s(y)",
        "SELECT generate_series(2007, 2009) AS y",
        "SELECT y FROM unnest(ARRAY[2007, 2008, 2009]) AS s(y)",
    ],
)
def test_a_short_series_is_a_list_of_values(sql: str) -> None:
    assert "VALUES (2007), (2008), (2009)" in passed(sql, "postgres").sql


def test_a_long_series_and_a_series_of_rows_are_refused() -> None:
    assert refused("SELECT * FROM generate_series(1, 100000)", "postgres").kind == "limit"
    assert "VALUES" in refused("SELECT generate_series(1, 9), 1", "postgres").message
    assert "VALUES" in refused("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r").message  # fmt: skip
    assert refused("SELECT x FROM unnest(ARRAY(SELECT k FROM secret)) AS t(x)", "postgres")


def test_texts_that_postgresql_gathers_are_cut_and_keep_their_name() -> None:
    text = passed("SELECT string_agg(DISTINCT name, ',' ORDER BY name) FROM a_sight", "postgres").sql
    member = "LEFT(CAST(name AS TEXT), 2000)"
    assert f"STRING_AGG(DISTINCT {member}, ',' ORDER BY {member})" in text
    assert "AS string_agg" in text
    crossed = "SELECT string_agg(a.name, '') FROM a_sight a, visit b"
    assert "300)" in passed(crossed, "postgres").sql
    assert refused(f"{crossed}, visit c", "postgres").kind == "limit"
    gathered = passed("SELECT trim(t, t) FROM (SELECT string_agg(name, '') AS t FROM a_sight) x", "postgres")  # fmt: skip
    assert "TRIM(LEFT(CAST(t AS TEXT), 5000) FROM LEFT(CAST(t AS TEXT), 5000))" in gathered.sql
    assert "LEFT" not in passed("SELECT lower(name) FROM a_sight", "postgres").sql


def test_substring_on_postgresql_takes_numbers_and_no_pattern() -> None:
    text = passed("SELECT substring(name FROM 1 FOR 2), substr(name, 2) FROM a_sight", "postgres").sql
    assert "SUBSTR(name, 1, 2), SUBSTR(name, 2)" in text
    assert "FROM '" not in passed("SELECT substring(name FROM '(a+)+$') FROM a_sight", "postgres").sql


def test_powers_are_of_doubles_unless_they_are_small() -> None:
    text = passed("SELECT power(n, 2), power(n, 9000), exp(n) FROM visit", "postgres").sql
    assert "POWER(n, 2), POWER(CAST(n AS DOUBLE PRECISION), 9000), EXP(CAST(n AS" in text


# Nothing of a statement is lost on its way


@each_row(
    ("sql", "dialects", "word"),
    [
        ("SELECT q.gid FROM (SELECT gid FROM visit ORDER BY gid FETCH FIRST 3 ROWS WITH TIES) q",
         ("sqlite", "duckdb"), "FETCH"),
        ("SELECT q.gid FROM (SELECT gid FROM visit ORDER BY gid FETCH FIRST 5 PERCENT ROWS ONLY) q", DIALECTS, "FETCH"),
        ("SELECT date_trunc('day', rated, 'Asia/Tokyo') FROM a_sight", ("duckdb",), "Tokyo|Asia"),
        ("SELECT strftime('%Y', rated, 'localtime') FROM a_sight", ("duckdb",), "localtime"),
        ("SELECT current_timestamp(3)", DIALECTS, "3"),
        ("SELECT gid FROM visit UNION ALL CORRESPONDING SELECT gid FROM visit", DIALECTS, "CORRESPONDING"),
        ("SELECT v FROM generate_series(1, 9) AS t(v) TABLESAMPLE BERNOULLI (10)", ("postgres", "duckdb"), "SAMPLE"),
        ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t TABLESAMPLE BERNOULLI (10) WHERE n < 5) SELECT n FROM t",
         DIALECTS, "series"),
    ],
)  # fmt: skip
def test_a_clause_that_would_be_dropped_is_refused_by_its_name(
    sql: str, dialects: tuple[Dialect, ...], word: str
) -> None:
    for dialect in dialects:
        assert re.search(word, refused(sql, dialect).message, re.I), dialect


@each_row(
    ("sql", "dialects", "kept"),
    [
        ("SELECT q.gid FROM (SELECT gid FROM visit ORDER BY gid FETCH FIRST 3 ROWS WITH TIES) q", ("postgres",), "WITH TIES"),
        ("SELECT sum(n) OVER (ORDER BY gid ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) AS s FROM visit", DIALECTS, "EXCLUDE TIES"),
        ("SELECT sum(n) OVER (ORDER BY gid GROUPS 1 PRECEDING) AS s FROM visit", DIALECTS, "GROUPS"),
        ("SELECT count(*) FILTER (WHERE n > 1) AS s FROM visit", DIALECTS, "FILTER"),
        ("SELECT name FROM a_sight ORDER BY score DESC NULLS FIRST", ("sqlite", "duckdb"), "NULLS FIRST"),
        ("WITH q AS MATERIALIZED (SELECT gid FROM visit) SELECT gid FROM q", DIALECTS, "AS MATERIALIZED"),
        ("WITH q AS NOT MATERIALIZED (SELECT gid FROM visit) SELECT gid FROM q", DIALECTS, "NOT MATERIALIZED"),
        ("SELECT DISTINCT ON (city) city, name FROM a_sight ORDER BY city, name", ("postgres", "duckdb"), r"DISTINCT ON \(city\)"),
        ("SELECT city FROM a_sight GROUP BY GROUPING SETS ((city), ())", ("postgres", "duckdb"), "GROUPING SETS"),
        ("SELECT name FROM a_sight ORDER BY name COLLATE \"C\"", ("postgres",), 'COLLATE "C"'),
        ("SELECT CAST(rated AS timestamptz) AT TIME ZONE 'Asia/Tokyo' AS t FROM a_sight", ("postgres",), "AT TIME ZONE 'Asia/Tokyo'"),
        ("SELECT gid FROM visit QUALIFY row_number() OVER (PARTITION BY gid ORDER BY n) = 1", ("duckdb",), "QUALIFY"),
        ("SELECT a.gid, q.s FROM a_sight a, LATERAL (SELECT sum(n) AS s FROM visit v WHERE v.gid = a.gid) q", ("postgres", "duckdb"), "LATERAL"),
    ],
)  # fmt: skip
def test_a_clause_that_an_engine_has_is_kept(sql: str, dialects: tuple[Dialect, ...], kept: str) -> None:
    for dialect in dialects:
        assert re.search(kept, passed(sql, dialect).sql), dialect


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
def test_the_numbers_of_rows_of_a_series_are_kept(dialect: Dialect) -> None:
    for sql, names in (
        ("SELECT * FROM generate_series(4, 5) WITH ORDINALITY", ("generate_series", "ordinality")),
        ("SELECT * FROM generate_series(4, 5) WITH ORDINALITY AS t(v, n)", ("v", "n")),
        ("SELECT * FROM unnest(ARRAY[4, 5]) WITH ORDINALITY AS t(v, n)", ("v", "n")),
        ("SELECT * FROM unnest(ARRAY[4, 5]) WITH ORDINALITY AS t(v)", ("v", "ordinality")),
    ):
        text = passed(sql, dialect).sql
        assert "(4, 1), (5, 2)" in text and f"({', '.join(names)})" in text, sql
    assert refused("SELECT v FROM unnest(string_to_array('a,b', ',')) WITH ORDINALITY AS t(v, n)", "postgres")  # fmt: skip


def test_the_first_row_of_each_group_is_that_of_its_order_on_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with sqlite3.connect(path) as made:
        made.execute("create table t(kind integer, n integer, s text)")
        made.executemany("insert into t values (?, ?, ?)", [(k, n, f"{k}-{n}") for n in range(60) for k in range(50)])  # fmt: skip
    made.close()
    database = open_database(path)
    first = [(k, 59) for k in range(50)]
    for sql, wanted in (
        ("SELECT DISTINCT ON (kind) kind, n FROM t ORDER BY kind, n DESC", first),
        ("SELECT DISTINCT ON (k) kind AS k, n FROM t ORDER BY 1 DESC, 2 DESC", first[::-1]),
        ("SELECT DISTINCT ON (kind) kind, n FROM t ORDER BY kind, n DESC LIMIT 2 OFFSET 1", first[1:3]),
        ("SELECT DISTINCT ON (kind) * FROM t ORDER BY kind LIMIT 1", [(0, 0, "0-0")]),
        ("SELECT count(*) FROM (SELECT DISTINCT ON (kind) kind, n FROM t ORDER BY kind, n) q", [(50,)]),
    ):  # fmt: skip
        found = database.run(database.check(sql))
        if "*" in sql and "count" not in sql:
            assert (found.columns, len(found.rows)) == (("kind", "n", "s"), 1)
        else:
            assert list(found.rows) == wanted, sql


def test_postgresql_is_given_exact_numbers_where_it_takes_no_others() -> None:
    text = passed("SELECT log(2, score ^ 4), mod(exp(score), 3), gid % 3 FROM a_sight", "postgres").sql  # fmt: skip
    assert re.search(r"LOG\(CAST\(2 AS DECIMAL\), CAST\(POWER\(.+?\) AS DECIMAL\)\)", text)
    assert re.search(r"CAST\(EXP\(.+?\) AS DECIMAL\) % CAST\(3 AS DECIMAL\), gid % 3", text)
    assert "power" in refused("SELECT gid ^ 2 FROM visit").message
