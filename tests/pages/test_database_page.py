"""The Database page without a browser: what is asked, what is shown of it, and what is remembered."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import altair
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.run import chart, query_rows, steps
from pages.run.activity import step_line
from pages.run.answer import build_blocks, collect_row_cells, source_host
from pages.run.progress import RunProgress
from pages.shared import temporary_files
from pages.shared.localization import create_translator
from research import (
    Answer,
    DatabaseStep,
    Evidence,
    Finding,
    Passage,
    Place,
    QueryResult,
    Report,
    Run,
    RunOptions,
    Span,
    Task,
    get_application,
    number_report_answer,
)
from research.core.records import PassageReference
from research.sources.database.agent import CONFIRMED
from research.sources.database.results import infer_type
from research.sources.database.retriever import SHIPPED_PROVIDER, SQL_TOOL
from tests.catalogue import WORDS
from tests.pages.test_progress import events, plan, task
from tests.pages.visitor import Visitor
from tests.tables import each_row

Visit = Callable[..., Visitor]
NOW = datetime(2026, 11, 22, tzinfo=UTC)
ZHEJIANG = "浙江有哪些5A景区？"
HOSTILE = [
    "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "![x](https://evil/x)",
    "$\\LaTeX$", ":material/x:", ":red[x]", "`code`", "| a | b |", "=cmd()",
]  # fmt: skip


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


def asked(visitor: Visitor, text: str, *, typed: bool = False) -> Visitor:
    """Asks on the database page and waits until the run is over."""
    if typed:
        visitor.at.button_group(key="database_mode").set_value("sql")
        visitor.look()
    box = "database_sql" if typed else "database_question"
    visitor.at.text_area(key=box).set_value(text)
    return visitor.press("database_go").wait()


def key(visitor: Visitor, start: str) -> str:
    (found,) = [name for name in visitor.buttons if name.startswith(start)]
    return found


@pytest.fixture
def attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of the analyst's own, whose every cell and name is hostile."""
    path = tmp_path / "own.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE goods (id INTEGER PRIMARY KEY, "a.b[c]""d\'" TEXT, price REAL)')  # fmt: skip
        connection.executemany(
            "INSERT INTO goods VALUES (?, ?, ?)",
            [(n, text, n * 1.5) for n, text in enumerate([*HOSTILE, "x" * 100_000], 1)],
        )
    connection.close()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    return path


# Asking


@pytest.mark.slow
def test_a_question_is_answered_with_its_rows_its_statement_and_its_steps(visit: Visit) -> None:
    visitor = asked(visit("database"), ZHEJIANG)
    table = visitor.table("year_rated")
    assert len(table) == 22
    assert set(table["province"]) == {"Zhejiang"}
    assert set(asked(visit("database", lang="zh"), ZHEJIANG).table("province")["province"]) == {"浙江省"}
    assert any("WHERE s.province = '浙江省'" in code.value for code in visitor.at.code)
    for words in ("rows.statement", "thought.understand", "thought.write", "thought.run"):
        assert english(words) in visitor.words
    assert english("rows.steps", n=3) in visitor.words
    assert english("rows.rows", n=22) in visitor.words
    assert visitor.answer is not None


@pytest.mark.slow
@pytest.mark.parametrize("language", [0, 1], ids=["chinese", "english"])
def test_for_how_many_rows_a_price_is_known_stands_under_the_rows(visit: Visit, language: int) -> None:
    visitor = asked(visit("database", lang=("zh", "en")[language]), "上海市门票高于50元的5A级景区有几个")
    told = (
        "5 行中有 3 行的门票（元）已知",
        "Ticket (CNY): known for 3 of 5 rows",
    )
    assert told[language] in visitor.words
    assert "5 个景区中有 3 个的门票价格已知。" in json.dumps(visitor.answer, ensure_ascii=False)
    typed = asked(visit("database"), "SELECT avg(ticket_cny) AS mean FROM tourist_spot", typed=True)
    assert "Ticket (CNY): known for 140 of 222 rows" in typed.words


@pytest.mark.slow
def test_a_run_is_the_same_on_the_page_of_questions_and_after_a_refresh(visit: Visit) -> None:
    visitor = asked(visit("database"), ZHEJIANG)
    for page in ("", "database"):
        again = visit(page, run=visitor.run_id)
        assert again.words == visitor.words
        assert again.table("year_rated").equals(visitor.table("year_rated"))
        assert [code.value for code in again.at.code] == [code.value for code in visitor.at.code]


@pytest.mark.slow
def test_each_page_comes_back_to_its_own_last_run(visit: Visit) -> None:
    visitor = asked(visit("database"), ZHEJIANG)
    visitor.at.query_params.clear()
    assert visitor.go("ask").at.text_area(key="question").value == ""
    assert ZHEJIANG in visitor.go("database").words
    visitor.press("new")
    assert visitor.at.text_area(key="database_question").value == ""


@pytest.mark.slow
@pytest.mark.parametrize("language", [0, 1], ids=["chinese", "english"])
def test_every_example_is_understood_without_a_model(visit: Visit, language: int) -> None:
    visitor = visit("database", lang=("zh", "en")[language])
    examples = [name for name in visitor.buttons if name.startswith("database_example_")]
    assert len(examples) == 4
    for name in examples:
        visitor.press(name)
        question = visitor.at.text_area(key="database_question").value
        visitor.press("database_go").wait()
        report = get_application().runs.report(visitor.run_id)
        assert report is not None
        assert report.findings[0].rows, question
        visitor.press("new")


@pytest.mark.slow
def test_sql_is_run_and_stays_in_its_box(visit: Visit) -> None:
    sql = "SELECT name FROM a_sight ORDER BY gid LIMIT 3"
    visitor = asked(visit("database"), sql, typed=True)
    assert visitor.table("name")["name"].iloc[0] == "故宫博物院"
    assert english("database.typed") in visitor.words
    assert not [name for name in visitor.buttons if name.startswith(("right_", "more_", "again_"))]
    visitor.press("new")
    assert visitor.at.text_area(key="database_sql").value == sql
    assert "database_question" not in [area.key for area in visitor.at.text_area]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "why"),
    [("DELETE FROM a_sight", ""), ("SELECT * FROM sqlite_master", "sqlite_master")],
)
def test_a_statement_that_may_not_be_run_is_refused_with_its_reason(visit: Visit, sql: str, why: str) -> None:
    visitor = asked(visit("database"), sql, typed=True)
    assert english("thought.refused") in visitor.words
    assert why in visitor.words
    assert not [table for table in visitor.at.dataframe if "name" in table.value.columns]
    visitor.press(key(visitor, "edit_"))
    assert visitor.at.text_area(key="database_sql").value == sql


@pytest.mark.slow
def test_what_is_no_question_is_said_and_stays_in_the_box(visit: Visit) -> None:
    visitor = visit("database")
    visitor.press("database_go")
    assert visitor.errors == [english("problem.empty")]
    visitor.at.text_area(key="database_question").set_value("？？？")
    visitor.press("database_go")
    assert visitor.errors == [english("problem.no words")]
    assert visitor.at.text_area(key="database_question").value == "？？？"


@pytest.mark.slow
def test_a_statement_is_edited_on_the_database_page_wherever_it_was_seen(visit: Visit) -> None:
    run_id = asked(visit("database"), ZHEJIANG).run_id
    visitor = visit("", run=run_id)
    visitor.press(key(visitor, "edit_"))
    assert "WHERE s.province = '浙江省'" in visitor.at.text_area(key="database_sql").value
    assert visitor.run_id == ""
    visitor.press("database_go").wait()
    assert len(visitor.table("year_rated")) == 22


# What is remembered


@pytest.mark.slow
def test_a_statement_is_confirmed_listed_used_and_taken_back(visit: Visit) -> None:
    visitor = asked(visit("database"), ZHEJIANG)
    visitor.press(key(visitor, "right_"))
    assert [question for question, _ in get_application().databases.confirmed_statements()] == [ZHEJIANG]
    assert key(visitor, "back_")
    visitor.press("new")
    assert english("database.confirmed", n=1) in visitor.words
    asked(visitor, "浙江有哪些 5A 景区")  # in other spacing: the same question
    assert english("thought.known") in visitor.words
    visitor.press(key(visitor, "back_"))
    assert list(get_application().databases.confirmed_statements()) == []
    assert key(visitor, "right_")


@pytest.mark.slow
def test_a_confirmed_question_is_asked_again_and_taken_back_from_the_list(visit: Visit) -> None:
    get_application().databases.confirm_statement(
        "Which is the first?", "SELECT name FROM a_sight ORDER BY gid LIMIT 1"
    )
    visitor = visit("database")
    visitor.press("ask_0").wait()
    assert list(visitor.table("name")["name"]) == ["故宫博物院"]
    visitor.press("new").press("take_back_0")
    assert list(get_application().databases.confirmed_statements()) == []
    assert english("database.confirmed", n=1) not in visitor.words


@pytest.mark.slow
def test_another_statement_for_a_question_can_replace_the_one_that_is_remembered(
    visit: Visit,
) -> None:
    visitor = asked(visit("database"), ZHEJIANG)
    get_application().databases.confirm_statement(ZHEJIANG, "SELECT 1 FROM a_sight")
    visitor.look()
    assert english("rows.other") in visitor.words
    visitor.press(key(visitor, "right_"))
    ((_, sql),) = get_application().databases.confirmed_statements()
    assert "浙江省" in sql


# What can be asked about


@pytest.mark.slow
def test_it_tells_the_tables_with_what_their_columns_mean(visit: Visit) -> None:
    visitor = visit("database")
    assert english("database.schema", n=2) in visitor.words
    columns = visitor.table("meaning").set_index("name")
    schema = get_application().databases.schema()
    assert list(columns.index) == [column.name for column in schema.tables[0].columns]
    assert columns["meaning"]["gid"].startswith(f"{english('database.key')} · id of the area")
    assert "北京市 (Beijing), " in columns["values"]["province"]
    assert columns["heading"]["year_rated"] == "Year rated"
    chinese = visit("database", lang="zh").table("meaning").set_index("name")
    assert "景区编号" in chinese["meaning"]["gid"]
    assert "id of" not in chinese["meaning"]["gid"]
    assert chinese["heading"]["year_rated"] == "评定年份"
    assert ", 北京市, " in chinese["values"]["province"]


@pytest.mark.slow
def test_of_a_database_with_hundreds_of_tables_the_columns_of_one_are_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, visit: Visit
) -> None:
    path = tmp_path / "many.db"
    with sqlite3.connect(path) as made:
        for n in range(300):
            made.execute(f"create table t{n:03d}(id integer primary key, only_{n:03d} text)")
    made.close()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    visitor = visit("database")
    assert english("database.schema", n=300) in visitor.words
    assert len(visitor.at.dataframe) == 1
    assert "only_000" in set(visitor.at.dataframe[0].value["name"])
    visitor.at.selectbox(key="database_table").select("t299").run()
    assert "only_299" in set(visitor.at.dataframe[0].value["name"])


@pytest.mark.slow
def test_a_database_that_cannot_be_used_is_said_on_both_pages(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    start = english("database.schema_failed", why="")
    for page in ("database", "status"):
        (error,) = visit(page).errors
        assert error.startswith(start.strip())
        assert len(error) > len(start)
    visitor = asked(visit("database"), "SELECT 1", typed=True)
    visitor.press(key(visitor, "edit_"))
    assert visitor.at.text_area(key="database_sql").value == "SELECT 1"


def test_what_the_database_cannot_read_is_named_on_both_pages(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "some.db"
    with sqlite3.connect(path) as made:
        made.executescript("create table good(a); create table t(x); create view odd as select x from t; drop table t")
    made.close()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    said = english("database.unreadable", names="odd (no such table: main.t)")
    assert said in visit("database").words
    assert said in visit("status").words


@pytest.mark.slow
def test_the_status_says_which_database_it_is(visit: Visit, attached: Path) -> None:
    assert english("status.database", name="own", dialect="sqlite", n=1) in visit("status").words


@pytest.mark.slow
def test_without_a_model_a_database_of_ones_own_is_asked_in_sql(visit: Visit, attached: Path) -> None:
    visitor = visit("database")
    assert english("database.rules_own") in visitor.words
    assert not [name for name in visitor.buttons if name.startswith("database_example_")]
    asked(visitor, "SELECT * FROM goods", typed=True)
    table = visitor.table("price")
    assert list(table.iloc[:, 1])[: len(HOSTILE)] == HOSTILE
    assert english("rows.cut", n=1) in visitor.words


# Rows and the map


def found(*places: int, lines: int = 3) -> Finding:
    """A finding of rows, of which those of these numbers are places."""
    table = QueryResult(sql="SELECT 1", names=("gid",), rows=tuple((n,) for n in range(lines)))
    spots = [
        Evidence(
            id=f"e{n}", kind="database", title=f"p{n}", retrieved=NOW,
            passages=(Passage(id=f"s{n}", text="gid: 1", end=6, heading=f"row {n}"),),
            place=Place(id=f"p{n}", name=f"p{n}", lng=120, lat=30, provider="database"),
        )
        for n in places
    ]  # fmt: skip
    return Finding(
        task=Task(id="1.1", source="database", query="q"), evidence=tuple(spots), started=NOW,
        rows=table,
    )  # fmt: skip


def test_rows_and_places_match_by_the_number_of_the_row() -> None:
    assert query_rows.row_place_ids(found(1, 3)) == {0: "p1", 2: "p3"}
    assert query_rows.row_place_ids(found(4)) == {}, "there is no such row"


def report(finding: Finding, *spans: Span) -> Report:
    run = Run(
        id="r" * 32, conversation="c", question="q", owner="local", options=RunOptions(),
        status="done", created=NOW,
    )  # fmt: skip
    answer = Answer(title="q", language="en", spans=spans, author="a", created=NOW) if spans else None
    return Report(run=run, findings=(finding,), evidence=finding.evidence, answer=answer)


def test_a_citation_of_a_row_shows_its_cells_and_one_of_a_statement_its_sql() -> None:
    statement = Evidence(
        id="s", kind="database", title="list", publisher=SHIPPED_PROVIDER, locator="SELECT 1 FROM a/b",
        retrieved=NOW, passages=(
            Passage(id="n", text="rows: 3", end=7),
            Passage(id="r1", text="gid: 0", end=6, heading="row 1"),
            Passage(id="q", text="SELECT 1", end=8, heading="SQL"),
        ),
    )  # fmt: skip
    finding = found().model_copy(update={"evidence": (statement,)})
    spans = [
        Span(kind="text", text="three", references=(PassageReference(evidence="s", passage="n", end=7),)),
        Span(kind="quote", text="gid: 0", references=(PassageReference(evidence="s", passage="r1", end=6),)),
    ]
    told = report(finding, *spans)
    numbered = number_report_answer(told)
    assert numbered is not None
    drawn = build_blocks(numbered, collect_row_cells(told))
    (count,) = drawn[0]["spans"][0]["cites"]
    assert (count["after"], count["code"]) == (english("rows.found", n=3), "SELECT 1 FROM a/b")
    (row,) = drawn[1]["cites"]
    assert (row["cells"], row["heading"]) == ([["gid", "0"]], english("rows.place", n=1))
    assert source_host(statement) == english("database.shipped")
    assert source_host(statement.model_copy(update={"publisher": ""})) == "", "SQL is no file name"


# Words of steps


def test_the_pages_know_the_names_that_the_engine_uses() -> None:
    assert (steps.CONFIRMED, query_rows.SQL_TOOL) == (CONFIRMED, SQL_TOOL)


def test_steps_are_told_while_they_are_taken_under_their_search() -> None:
    step = {"name": "write", "text": "by year", "sql": "SELECT *", "rows": None, "seconds": 0.0}
    view = RunProgress().apply(
        events(
            ("plan", plan("1.1", "1.2")),
            ("search", {"task": task("1.2")}),
            ("tool", {"task": "1.2", **step}),
            ("tool", {"task": "1.2", **step, "name": "run", "rows": 3, "seconds": 0.5}),
            ("tool", {"task": "9.9", **step}),
            ("tool", step),
        )
    )
    first, second = view.rounds[1].searches.values()
    assert first.steps == []
    assert [step_line(one) for one in second.steps] == [
        "**SQL written** — by year · SELECT \\*",
        "**Run** — by year · 3 rows · 0\\.50 s".replace("\\.", "."),
    ]


@each_row("text", HOSTILE)
def test_what_a_step_says_is_text(text: str) -> None:
    said = steps.describe_step(DatabaseStep(kind="judge", text=text))
    assert said != f"**Judged** — {text}"
    assert not any(mark in said.replace("\\" + mark, "") for mark in "<[`$|")


# The chart


def made(names: str, *lines: tuple[Any, ...]) -> QueryResult:
    columns = list(zip(*lines, strict=True))
    return QueryResult(sql="", names=tuple(names.split()), rows=lines, types=tuple(infer_type(c) for c in columns))


@each_row(
    ("table", "kind", "label", "measures"),
    [
        (made("province n", ("a", 1), ("b", 2)), "bar", 0, (1,)),
        (made("n 名称 km", (1, "a", 2.5), (2, "b", 1.5)), "bar", 1, (0, 2)),
        (made("year_rated n", (2007, 1), (2008, 2)), "line", 0, (1,)),
        (made("day n", ("2024-01-01", 1), ("2024-01-02", 2)), "line", 0, (1,)),
        (made("年份 省 n", (2007, "a", 1), (2007, "b", 2), (2008, "a", 3)), "line", 0, (2,)),
        (made("name year n", ("a", 2007, 1), ("b", 2007, 2)), "bar", 0, (2,)),
        (made("name city year n", ("a", "x", 2007, 1), ("b", "y", 2008, 2)), "bar", 0, (3,)),
        (made("height weight", (1.5, 2.5), (2.5, 4.5)), "points", 0, (1,)),
    ],
)
def test_the_chart_follows_from_the_types(table: QueryResult, kind: str, label: int, measures: tuple[int, ...]) -> None:
    choice = chart.choose_chart(table)
    assert choice is not None
    assert (choice.kind, choice.label_column, choice.measure_columns) == (kind, label, measures)


@each_row(
    "table",
    [
        made("name n", ("a", 1)),
        made("name n", ("a", 1), ("b", 1)),
        made("name gid", ("a", 1), ("b", 2)),
        made("name lng_wgs84 lat", ("a", 1.5, 2.5), ("b", 2.5, 3.5)),
        made("name year_rated", ("a", 2007), ("b", 2008)),
        made("link n", ("https://a.example/", 1), ("https://b.example/", 2)),
        made("name city", ("a", "b"), ("c", "d")),
        made("n", (1,), (2,)),
    ],
)
def test_where_nothing_is_measured_there_is_no_chart(table: QueryResult) -> None:
    assert chart.choose_chart(table) is None


def test_bars_are_the_first_thirty_in_the_order_of_the_rows_whatever_they_are_called() -> None:
    lines = [("same", 40 - n) for n in range(35)]
    table = made("province n", *lines, ("other", 1))
    choice = chart.choose_chart(table)
    assert choice is not None
    spec = chart.build_chart(table, choice, 1).to_dict()
    (data,) = spec["datasets"].values()
    assert len(data) == chart.MAX_BARS == len({line["label"] for line in data})
    assert [line["value"] for line in data] == [40 - n for n in range(30)]
    assert spec["encoding"]["y"]["sort"] is None


NAMES = st.sampled_from([*HOSTILE, "a.b[c]\"d'", "datum.x", "image", "title", "", "\\", "\ud800"])


@pytest.mark.slow
@given(st.lists(NAMES, min_size=2, max_size=2), st.lists(NAMES, min_size=2, max_size=4))
def test_no_name_and_no_cell_is_more_than_text_in_a_chart(names: list[str], labels: list[str]) -> None:
    table = QueryResult(
        sql="", names=tuple(names), types=("text", "integer"),
        rows=tuple((label, n) for n, label in enumerate(labels)),
    )  # fmt: skip
    choice = chart.ChartChoice("bar", 0, (1,))
    spec = chart.build_chart(table, choice, 1).to_dict()
    altair.Chart.from_dict(spec)  # is a valid specification
    encoding = spec["encoding"]
    fields = [part["field"] for part in (encoding["x"], encoding["y"], *encoding["tooltip"])]
    assert set(fields) == {"label", "value"}
    assert not {part["title"] for part in encoding["tooltip"]} & {"image", "title", ""}


def test_a_caption_says_what_is_missing_and_what_was_cut() -> None:
    table = made("名称 n", ("西湖", None), ("故宫", 2)).model_copy(
        update={"truncated": True, "shortened_cells": 2, "seconds": 0.25}
    )
    told = query_rows.table_caption(table)
    say = create_translator("en")
    for words in (
        say("rows.truncated", n=2), say("rows.cut", n=2), say("rows.null_in", name="n", n=1),
    ):  # fmt: skip
        assert words in told
    assert "名称 in" not in told


# More rows than are shown


@pytest.fixture
def thousands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "many.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table sale(id integer primary key, kind text)")
        made.executemany("insert into sale values (?, ?)", ((n, f"k{n % 7}") for n in range(250)))
        made.commit()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    monkeypatch.setenv("DATABASE_ROWS", "100")
    return path.stem


@pytest.mark.slow
def test_further_pages_are_read_from_the_database(visit: Visit, thousands: str) -> None:
    visitor = asked(visit("database"), "SELECT id FROM sale ORDER BY id", typed=True)
    assert len(visitor.table("id")) == 100
    (box,) = [one for one in visitor.at.number_input if (one.key or "").startswith("page_")]
    for number, ids in ((2, range(100, 200)), (3, range(200, 250))):
        visitor.at.number_input(key=box.key).set_value(number)
        visitor.look()
        assert list(visitor.table("id")["id"]) == list(ids)
    assert english("rows.span", first="201", last="250") in visitor.words
    assert english("rows.unordered") not in visitor.words
    visitor.at.number_input(key=box.key).set_value(4)
    assert english("rows.no_page") in visitor.look().words
    loose = asked(visit("database"), "SELECT id FROM sale", typed=True)
    loose.at.number_input(key=next(one.key for one in loose.at.number_input if one.key)).set_value(2)
    assert english("rows.unordered") in loose.look().words
    few = asked(visit("database"), "SELECT id FROM sale LIMIT 100", typed=True)
    assert not few.at.number_input


@pytest.mark.slow
def test_all_rows_are_offered_as_a_file(visit: Visit, thousands: str) -> None:
    visitor = asked(visit("database"), "SELECT id, kind FROM sale ORDER BY id", typed=True)
    for kind in ("csv", "xlsx", "parquet"):
        visitor.press(key(visitor, f"all_{kind}_"))
        link = visitor.at.get("link_button")[0].proto
        assert link.label == english("rows.all_made", n="250")
        file = temporary_files.TEMPORARY_FILES.get(link.url.removeprefix(temporary_files.URL_PREFIX))
        assert file is not None and file.name.endswith(f"-all.{kind}")
        assert file.path.stat().st_size > 1_000
    temporary_files.TEMPORARY_FILES.delete_owned("somebody else")
    assert temporary_files.TEMPORARY_FILES.get(link.url.removeprefix(temporary_files.URL_PREFIX)) is not None
    temporary_files.TEMPORARY_FILES.delete_owned("local")
    assert temporary_files.TEMPORARY_FILES.get(link.url.removeprefix(temporary_files.URL_PREFIX)) is None
    assert not file.path.exists()
