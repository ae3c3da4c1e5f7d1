"""Questions about a described database without a model: what is read, and what is declined in words."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from research.sources.database.asking import NotUnderstood
from research.sources.database.engines import Database, open_database
from research.sources.database.interpreter import Lexicon, interpreted
from research.sources.database.lexicon import lexicon
from research.sources.database.semantics import drafted, loaded
from tests.sources.database.foreign import database, described, questions, same, verdict

RIGHT, WRONG = 0.7, 0.05  # of the questions that were not looked at
SEEN = 0.9


@pytest.fixture(scope="module")
def chinook(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Database, Lexicon]:
    path = database(tmp_path_factory.mktemp("chinook"))
    return path, *described(path)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_questions_by_another_hand_are_answered_or_declined(
    chinook: tuple[Path, Database, Lexicon], split: str
) -> None:
    asked = questions(split)
    found = Counter(verdict(*chinook, question) for question in asked)
    assert len(asked) == 30
    assert found["right"] >= (SEEN if split == "seen" else RIGHT) * len(asked), found
    assert found["wrong"] <= WRONG * len(asked), found


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many tracks are there?", 'SELECT COUNT(*) AS "count" FROM "Track"'),
        ("每个流派有多少首曲目？", "GROUP BY"),
        ("customers without a company", '"Customer"."Company" IS NULL'),
        ("Which customers have never placed an order?", "NOT IN (SELECT"),
        ("average number of tracks per album", "1.0 * COUNT(*) / COUNT(DISTINCT"),
        ("tracks longer than 10 minutes", "> 600000"),
        ("monthly sales in 2012", "STRFTIME('%Y-%m'"),
        ("sales in the first quarter of 2011", "< '2011-04-01'"),
        ("2010年以后的发票数量", ">= '2011-01-01'"),
        ("sales between 2010 and 2011", "< '2012-01-01'"),
        ("tracks with love in the name", "LIKE '%love%'"),
        ("德国客户的销售额", "'Germany'"),
        ("average length of Jazz tracks in minutes", "AVG(\"Track\".\"Milliseconds\") * "),
        ("artists with more than 10 albums", "HAVING COUNT(*) > 10"),
    ],
)  # fmt: skip
def test_shapes_of_questions(
    chinook: tuple[Path, Database, Lexicon], question: str, sql: str
) -> None:
    _, base, words = chinook
    read = interpreted(question, words)
    assert sql in read.sql
    base.run(base.check(read.sql))
    assert read.meant


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("Which tracks are about rain?", "rain"),
        ("What share of sales comes from Rock?", "share"),
        ("取消的发票有多少张", "取消"),
        ("How many tracks by U2 are not in a playlist?", "not"),
        ("sales next year", "next"),
        ("2010年和2012年的销售额", "2010年"),
        ("total sales by track and by moon phase", "moon phase"),
        ("U2 的曲目有几首", "Artist.Name / Track.Composer"),
        ("invoice amount by playlist", "several times"),
    ],
)
def test_what_is_not_understood_is_named(
    chinook: tuple[Path, Database, Lexicon], question: str, rest: str
) -> None:
    with pytest.raises(NotUnderstood) as lost:
        interpreted(question, chinook[2])
    assert rest in lost.value.rest


def test_a_question_is_never_part_of_a_statement(tmp_path: Path) -> None:
    """Names and values with quotation marks in them are those of the database, and quoted."""
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as made:
        made.execute('CREATE TABLE "odd ""table" (id INTEGER PRIMARY KEY, kind TEXT, "a""b" REAL)')
        made.execute("""INSERT INTO "odd ""table" VALUES (1, 'it''s "x"; DROP TABLE y', 2.5)""")
        made.commit()
    base = open_database(path)
    words = lexicon(base, drafted(base.schema))
    read = interpreted("""how many odd "table have it's "x"; DROP TABLE y""", words)
    assert base.run(base.check(read.sql)).rows == ((1,),)
    assert "''s" in read.sql


@pytest.mark.slow
def test_the_same_questions_read_a_duckdb_file(
    chinook: tuple[Path, Database, Lexicon], tmp_path: Path
) -> None:
    """Its dialect has other functions for dates."""
    duckdb = pytest.importorskip("duckdb")
    path, base, words = chinook
    target = tmp_path / "chinook.duckdb"
    with closing(duckdb.connect(str(target))) as made, closing(sqlite3.connect(path)) as read:
        for table in base.schema.tables:
            alone = sum(c.key for c in table.columns) == 1
            columns = ", ".join(
                f'"{c.name}" {_duck(c.type)}{" PRIMARY KEY" * (alone and c.key)}'
                for c in table.columns
            )
            made.execute(f'CREATE TABLE "{table.name}" ({columns})')
            rows = pd.read_sql(f'SELECT * FROM "{table.name}"', read)
            made.register("rows", rows)
            made.execute(f'INSERT INTO "{table.name}" SELECT * FROM rows')
    other = open_database(target)
    twin = lexicon(other, words.model)
    compared = 0
    for question in questions("seen"):
        sql = interpreted(question["question"], words).sql
        here = base.run(base.check(sql)).rows
        there = other.run(other.check(interpreted(question["question"], twin).sql)).rows
        assert same(here, [[_number(cell) for cell in row] for row in there]), question["question"]
        compared += 1
    assert compared == 30


def _duck(kind: str) -> str:
    return "TIMESTAMP" if kind == "DATETIME" else "DOUBLE" if kind.startswith("NUMERIC") else kind


def _number(cell: object) -> object:
    if isinstance(cell, str):
        return cell.replace("T00:00:00", " 00:00:00")
    return cell if not hasattr(cell, "as_tuple") else float(str(cell))


@pytest.mark.parametrize("described_as", ["", "tables: {flights: {label: {en: flights}}}"])
def test_tables_that_are_called_in_the_plural_are_not_put_into_it_again(
    tmp_path: Path, described_as: str
) -> None:
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            "create table flights(id integer primary key, code text); create table jobs(id integer);"
            "create table addresses(id integer); insert into flights values (1, 'CA1')"
        )
    base = open_database(path)
    model = loaded(described_as, base.schema) if described_as else drafted(base.schema)
    words = lexicon(base, model)
    for question, meant in (
        ("How many flights are there?", "number of flights"),
        ("how many jobs", "number of jobs"),
        ("number of addresses", "number of addresses"),
    ):
        assert interpreted(question, words).meant == meant
    for question in ("flights有多少？", "jobs的数量"):
        meant = interpreted(question, words).meant
        assert "ses" not in meant and meant.endswith(" 数量")
