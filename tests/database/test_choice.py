"""Which tables a model is told of where a database has hundreds: the right ones, within a bound."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from research.database.choice import MOST, NAMES_ROOM, ROOM, choose, more, ranked
from research.database.engines import open_database
from research.database.refusals import Refused
from research.database.schema import Column, Schema, Table
from research.database.service import DatabaseService
from research.records import silent
from tests.tables import each_row

HERE = Path(__file__).parent


def lines(name: str) -> list[str]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def originals() -> list[Table]:
    """The tables of the company, with their comments and foreign keys."""
    made = []
    for line in lines("many_tables.txt"):
        name, listed, comment = re.fullmatch(r"(\w+)\((.*)\): (.*)", line).groups()  # type: ignore[union-attr]
        columns = []
        for each in listed.split(", "):
            column, _, other = each.partition(">")
            refers = f"{other}.id" if other else ""
            columns.append(Column(column, "text", key=column == "id", refers=refers))
        made.append(Table(name, tuple(columns), comment))
    return made


def company() -> Schema:
    """300 tables: what a company keeps, and three copies of each, as programs leave them behind."""
    tables = originals()
    for prefix in ("stg_", "hist_", "bak_"):
        for table in originals():
            plain = tuple(replace(column, refers="", key=False) for column in table.columns)
            tables.append(replace(table, name=prefix + table.name, columns=plain, comment=""))
    return Schema("sqlite", tuple(sorted(tables, key=lambda table: table.name)))


COMPANY = company()
QUESTIONS = [tuple(line.split(" | ")) for line in lines("many_questions.txt")]


def test_there_are_three_hundred_tables_and_forty_questions() -> None:
    assert len(COMPANY.tables) == 300 and len(QUESTIONS) == 40
    known = {table.name for table in COMPANY.tables}
    assert all(set(wanted.split()) <= known for _, wanted in QUESTIONS)


def test_of_three_hundred_tables_those_that_a_question_needs_are_described() -> None:
    found, missed = 0, []
    for question, wanted in QUESTIONS:
        described = choose(COMPANY, question).described
        assert len(described) <= MOST
        for table in wanted.split():
            found += table in described
            missed += [] if table in described else [(question, table)]
    assert found / (found + len(missed)) >= 0.95, missed


@each_row("question", [QUESTIONS[0][0], QUESTIONS[-1][0], "xyzzy", ""])
def test_what_a_model_is_told_is_bounded_and_counts_what_is_left_out(question: str) -> None:
    choice = choose(COMPANY, question)
    assert len(choice.text) <= ROOM + NAMES_ROOM + 200
    assert len(choice.described) + len(choice.others) == 300
    assert f"Tables that are not described here ({len(choice.others)}): " in choice.text
    assert choice.told.startswith(f"{len(choice.described)} / 300: ")
    assert "stg_audits" in choice.text or "stg_audits" in choice.described


def test_a_database_with_room_for_all_is_told_whole() -> None:
    small = Schema("sqlite", tuple(originals()[:60]))
    choice = choose(small, "anything")
    assert choice.text == small.described()
    assert (choice.others, choice.told) == ((), "")


def test_a_table_with_very_many_columns_is_cut_and_keeps_what_is_asked_for() -> None:
    wide = Table("wide", (Column("id", "text", key=True), *(Column(f"measure_{n:04d}_of_something", "numeric", "x" * 190) for n in range(2_000)), Column("humidity", "numeric")))  # fmt: skip
    choice = choose(Schema("sqlite", (wide,)), "mean humidity")
    assert len(choice.text) <= ROOM + 200
    assert "  humidity numeric" in choice.text and "  id text primary key" in choice.text
    left = re.search(r"\(columns that are left out here: (\d+)\)", choice.text)
    assert left and int(left[1]) + choice.text.count("\n  measure_") == 2_000


def test_tables_of_statements_that_were_right_and_what_is_tied_to_them_go_first() -> None:
    first = [t.name for t in ranked(COMPANY.tables, "quux", past=("fuel_receipts",))[:3]]
    assert first[0] == "fuel_receipts" and "vehicles" in first
    between = {t.name for t in ranked(COMPANY.tables, "warehouses and product categories")[:MOST]}
    assert "products" in between and between & {"stock_levels", "stock_movements"}


def test_values_that_a_question_names_point_to_their_table() -> None:
    coded = Table("zz", (Column("c", "text", values=("Bluebird", "Heron")),))
    schema = replace(COMPANY, tables=(*COMPANY.tables, coded))
    assert "zz" in choose(schema, "How many have Bluebird?").described


def test_a_table_that_a_text_names_is_described_though_it_was_not_chosen() -> None:
    choice = choose(COMPANY, "Fuel litres per vehicle")
    assert "insurance_policies" not in choice.described
    text = more(COMPANY, "SELECT * FROM Insurance_Policies JOIN vehicles", choice.described)
    assert text.startswith("insurance_policies -- 保险单") and "vehicles" not in text
    assert more(COMPANY, "SELECT 1", ()) == ""


def test_sql_of_ones_own_sees_every_table(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with closing(sqlite3.connect(path)) as made:
        for n in range(300):
            made.execute(f"create table t{n:03d}(id integer primary key, x integer)")
        made.execute("insert into t299 values (1, 42)")
        made.commit()
    database = open_database(path, samples=False)
    assert len(database.schema.tables) == 300
    assert database.run(database.check("SELECT x FROM t299")).rows == ((42,),)
    with pytest.raises(Refused, match="no table 't300'"):
        database.check("SELECT x FROM t300")


async def test_the_steps_tell_how_many_tables_a_model_was_told_of(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with closing(sqlite3.connect(path)) as made:
        for table in COMPANY.tables:
            made.execute(f"create table {table.name}({', '.join(c.name for c in table.columns)})")
        made.commit()
    told: list[str] = []

    class Scripted:
        author = "script"

        async def analyse(self, question: str, say: object) -> object:
            return type("I", (), {"answerable": False, "meant": "m", "names": (), "clarify": "c"})()

    def writer(dialect: str, schema: str, *_: object, **more: object) -> Scripted:
        told.append(schema)
        return Scripted()

    desk = DatabaseService(f"sqlite:///{path}", tmp_path, writer, samples=False)  # type: ignore[arg-type]
    outcome = await desk.ask("Fuel litres per vehicle", silent)
    assert [step.kind for step in outcome.steps] == ["tables", "understand"]
    assert outcome.steps[0].text.startswith("12 / 300: ")
    assert "fuel_receipts" in outcome.steps[0].text
    assert "Tables that are not described here (288)" in told[0]
