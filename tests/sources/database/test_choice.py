"""Which tables a model is told of where a database has hundreds: the right ones, within a bound."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from research.core.events import ignore_event
from research.core.text.tokenizer import tokenize
from research.sources.database.engines import open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.schema import Schema, SchemaColumn, SchemaTable
from research.sources.database.service import DatabaseService
from research.sources.database.table_selection import (
    MAX_DESCRIPTION_CHARS,
    MAX_NAMES_CHARS,
    MAX_TABLES,
    describe_named_tables,
    rank_tables,
    select_tables,
)
from tests.tables import each_row

HERE = Path(__file__).parent


def lines(name: str) -> list[str]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def originals() -> list[SchemaTable]:
    """The tables of the company, with their comments and foreign keys."""
    made = []
    for line in lines("many_tables.txt"):
        name, listed, comment = re.fullmatch(r"(\w+)\((.*)\): (.*)", line).groups()  # type: ignore[union-attr]
        columns = []
        for each in listed.split(", "):
            column, _, other = each.partition(">")
            refers = f"{other}.id" if other else ""
            columns.append(SchemaColumn(column, "text", is_key=column == "id", reference=refers))
        made.append(SchemaTable(name, tuple(columns), comment))
    return made


def company() -> Schema:
    """300 tables: what a company keeps, and three copies of each, as programs leave them behind."""
    tables = originals()
    for prefix in ("stg_", "hist_", "bak_"):
        for table in originals():
            plain = tuple(replace(column, reference="", is_key=False) for column in table.columns)
            tables.append(replace(table, name=prefix + table.name, columns=plain, comment=""))
    return Schema("sqlite", tuple(sorted(tables, key=lambda table: table.name)))


KINDS = {
    "history": (
        "变更记录",
        "changed_at 变更时间, old_value 原值, new_value 新值, changed_by 变更人",
    ),
    "fees": ("收费", "amount 金额, currency 币种, charged_on 收费日期"),
    "ratings": ("评价", "score 评分, remark 评语, rated_on 评价日期"),
    "photos": ("照片", "url 地址, caption 图说, taken_on 拍摄日期"),
}


def institutions() -> Schema:
    """300 tables: sixty things that hospitals, courts, farms and others keep, and four of each besides."""
    tables = []
    for line in lines("institutions.txt"):
        name, _, rest = line.partition(": ")
        comment, _, listed = rest.partition("; ")
        tables.append(_institution(name, comment, listed))
        one = re.sub("(?<=[^s])s$", "", re.sub("ies$", "y", name))
        for kind, (told, columns) in KINDS.items():
            tables.append(_institution(f"{one}_{kind}", comment + told, f"{one}_id>{name} {comment}, {columns}"))  # fmt: skip
    return Schema("postgres", tuple(sorted(tables, key=lambda table: table.name)))


def _institution(name: str, comment: str, listed: str) -> SchemaTable:
    columns = [SchemaColumn("id", "integer", "编号", is_key=True)]
    for each in listed.split(", "):
        written, _, told = each.partition(" ")
        column, _, other = written.partition(">")
        columns.append(SchemaColumn(column, "text", told, reference=f"{other}.id" if other else ""))
    return SchemaTable(name, tuple(columns), comment)


def by_alphabet(schema: Schema, question: str) -> list[str]:
    return sorted(table.qualified_name for table in schema.tables)[:MAX_TABLES]


def by_words(schema: Schema, question: str) -> list[str]:
    """The tables whose names and columns have most words of a question."""
    asked = set(tokenize(question))

    def shared(table: SchemaTable) -> int:
        texts = (table.name, table.comment, *(f"{c.name} {c.comment}" for c in table.columns))
        return -len(asked & {word for text in texts for word in tokenize(text.replace("_", " "))})

    return [t.qualified_name for t in sorted(schema.tables, key=lambda t: (shared(t), t.qualified_name))][:MAX_TABLES]


def by_choice(schema: Schema, question: str) -> list[str]:
    return list(select_tables(schema, question).described_tables)


def recall(schema: Schema, asked: list[tuple[str, ...]], way: Callable[[Schema, str], list[str]]) -> float:
    """Of the tables that questions need, the share that is among those chosen."""
    found = [name in way(schema, question) for question, wanted in asked for name in wanted.split()]
    return sum(found) / len(found)


COMPANY = company()
INSTITUTIONS = institutions()
UNSEEN = [tuple(line.split(" | ")) for line in lines("institution_questions.txt")]
QUESTIONS = [tuple(line.split(" | ")) for line in lines("many_questions.txt")]


def test_there_are_three_hundred_tables_and_forty_questions() -> None:
    assert len(COMPANY.tables) == 300 and len(QUESTIONS) == 40
    known = {table.name for table in COMPANY.tables}
    assert all(set(wanted.split()) <= known for _, wanted in QUESTIONS)


def test_of_three_hundred_tables_those_that_a_question_needs_are_described() -> None:
    found, missed = 0, []
    for question, wanted in QUESTIONS:
        described = select_tables(COMPANY, question).described_tables
        assert len(described) <= MAX_TABLES
        for table in wanted.split():
            found += table in described
            missed += [] if table in described else [(question, table)]
    assert found / (found + len(missed)) >= 0.95, missed


@pytest.mark.slow
def test_on_questions_that_nothing_was_fitted_on_more_tables_are_found_than_by_shared_words() -> None:
    assert len(INSTITUTIONS.tables) == 300 and len(UNSEEN) == 40
    chosen, words, alphabet = (recall(INSTITUTIONS, UNSEEN, way) for way in (by_choice, by_words, by_alphabet))  # fmt: skip
    assert chosen >= 0.95
    assert chosen > words + 0.1 > alphabet
    assert all(len(select_tables(INSTITUTIONS, question).description) <= MAX_DESCRIPTION_CHARS + MAX_NAMES_CHARS + 200 for question, _ in UNSEEN)  # fmt: skip


@each_row("question", [QUESTIONS[0][0], QUESTIONS[-1][0], "xyzzy", ""])
def test_what_a_model_is_told_is_bounded_and_counts_what_is_left_out(question: str) -> None:
    choice = select_tables(COMPANY, question)
    assert len(choice.description) <= MAX_DESCRIPTION_CHARS + MAX_NAMES_CHARS + 200
    assert len(choice.described_tables) + len(choice.other_tables) == 300
    assert f"Tables that are not described here ({len(choice.other_tables)}): " in choice.description
    assert choice.summary.startswith(f"{len(choice.described_tables)} / 300: ")
    assert "stg_audits" in choice.description or "stg_audits" in choice.described_tables


def test_a_database_with_room_for_all_is_told_whole() -> None:
    small = Schema("sqlite", tuple(originals()[:60]))
    choice = select_tables(small, "anything")
    assert choice.description == small.describe()
    assert (choice.other_tables, choice.summary) == ((), "")


def test_a_table_with_very_many_columns_is_cut_and_keeps_what_is_asked_for() -> None:
    wide = SchemaTable("wide", (SchemaColumn("id", "text", is_key=True), *(SchemaColumn(f"measure_{n:04d}_of_something", "numeric", "x" * 190) for n in range(2_000)), SchemaColumn("humidity", "numeric")))  # fmt: skip
    choice = select_tables(Schema("sqlite", (wide,)), "mean humidity")
    assert len(choice.description) <= MAX_DESCRIPTION_CHARS + 200
    assert "  humidity numeric" in choice.description and "  id text primary key" in choice.description
    left = re.search(r"\(columns that are left out here: (\d+)\)", choice.description)
    assert left and int(left[1]) + choice.description.count("\n  measure_") == 2_000


def test_tables_of_statements_that_were_right_and_what_is_tied_to_them_go_first() -> None:
    first = [t.name for t in rank_tables(COMPANY.tables, "quux", confirmed_tables=("fuel_receipts",))[:3]]
    assert first[0] == "fuel_receipts" and "vehicles" in first
    between = {t.name for t in rank_tables(COMPANY.tables, "warehouses and product categories")[:MAX_TABLES]}
    assert "products" in between and between & {"stock_levels", "stock_movements"}


def test_values_that_a_question_names_point_to_their_table() -> None:
    coded = SchemaTable("zz", (SchemaColumn("c", "text", values=("Bluebird", "Heron")),))
    schema = replace(COMPANY, tables=(*COMPANY.tables, coded))
    assert "zz" in select_tables(schema, "How many have Bluebird?").described_tables


def test_a_table_that_a_text_names_is_described_though_it_was_not_chosen() -> None:
    choice = select_tables(COMPANY, "Fuel litres per vehicle")
    assert "insurance_policies" not in choice.described_tables
    text = describe_named_tables(COMPANY, "SELECT * FROM Insurance_Policies JOIN vehicles", choice.described_tables)
    assert text.startswith("insurance_policies -- 保险单") and "vehicles" not in text
    assert describe_named_tables(COMPANY, "SELECT 1", ()) == ""


def test_sql_of_ones_own_sees_every_table(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with closing(sqlite3.connect(path)) as made:
        for n in range(300):
            made.execute(f"create table t{n:03d}(id integer primary key, x integer)")
        made.execute("insert into t299 values (1, 42)")
        made.commit()
    database = open_database(path, includes_samples=False)
    assert len(database.schema.tables) == 300
    assert database.run(database.check("SELECT x FROM t299")).rows == ((42,),)
    with pytest.raises(RefusedError, match="no table 't300'"):
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

    desk = DatabaseService(f"sqlite:///{path}", tmp_path, writer, includes_samples=False)  # type: ignore[arg-type]
    outcome = await desk.ask("Fuel litres per vehicle", ignore_event)
    assert [step.kind for step in outcome.steps] == ["tables", "understand"]
    assert outcome.steps[0].text.startswith("12 / 300: ")
    assert "fuel_receipts" in outcome.steps[0].text
    assert "Tables that are not described here (288)" in told[0]
