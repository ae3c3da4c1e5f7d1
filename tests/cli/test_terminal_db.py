"""The database in a terminal and from Python: questions, statements, refusals, exit codes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import Done, terminal

ANSWERED, UNUSABLE, NOTHING = 0, 2, 3


def told(done: Done) -> dict[str, Any]:
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_a_question_is_answered_with_its_rows_and_its_statement(tmp_path: Path) -> None:
    done = terminal(tmp_path, "db", "浙江省有多少个5A级景区？")
    assert done.returncode == ANSWERED
    assert done.stdout.startswith("浙江省有 22 个 5A 级景区。")
    assert "SELECT COUNT(*)" in done.stdout


def test_as_json_it_has_all_the_steps(tmp_path: Path) -> None:
    found = told(terminal(tmp_path, "db", "The 3 nearest areas to 颐和园", "--json"))
    assert (found["status"], found["count"], len(found["rows"])) == ("answered", 3, 3)
    assert [step["kind"] for step in found["thought_chain"]] == ["understand", "write", "run"]
    assert found["rows"][0]["km"] < found["rows"][2]["km"]
    assert found["sql"].startswith("SELECT")


def test_a_statement_of_one_s_own_is_run(tmp_path: Path) -> None:
    sql = "SELECT province, COUNT(*) AS n FROM a_sight GROUP BY province ORDER BY n DESC LIMIT 2"
    found = told(terminal(tmp_path, "db", "--sql", sql, "--json"))
    assert found["columns"] == ["province", "n"] and found["count"] == 2


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DROP TABLE a_sight", "Only SELECT"),
        ("SELECT 1; SELECT 2", ""),
        ("SELECT * FROM sqlite_master", "sqlite_master"),
        ("SELECT rating FROM a_sight", "rating"),
    ],
)
def test_what_may_not_be_run_ends_with_2_and_says_why(tmp_path: Path, sql: str, why: str) -> None:
    done = terminal(tmp_path, "db", "--sql", sql)
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert why in done.stderr
    assert told(terminal(tmp_path, "db", "--sql", sql, "--json"))["status"] == "refused"


def test_what_needs_a_model_says_so(tmp_path: Path) -> None:
    done = terminal(tmp_path, "db", "评分最高的景区")
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert "评分最高" in done.stderr


def test_where_nothing_fits_it_ends_with_3(tmp_path: Path) -> None:
    assert terminal(tmp_path, "db", "1999年评定的景区有哪些？").returncode == NOTHING


@pytest.mark.parametrize("args", [(), ("--sql", "SELECT 1", "and a question")])
def test_it_takes_a_question_or_a_statement(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert terminal(tmp_path, "db", *args).returncode == UNUSABLE


SALES = "日期,城市,数量\n2024年3月5日,杭州,3\n2024/3/6,苏州,4\n"


def test_all_rows_are_written_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    file.write_text("id,kind\n" + "".join(f"{n},k{n % 7}\n" for n in range(5_000)))
    sql = "SELECT id, kind FROM many ORDER BY id"
    shown = told(terminal(tmp_path, "db", "--file", str(file), "--sql", sql, "--json"))
    assert (shown["count"], shown["truncated"]) == (1_000, True)
    for name in ("a.csv", "a.parquet", "a.xlsx"):
        target = tmp_path / name
        done = terminal(tmp_path, "db", "--file", str(file), "--sql", sql, "-o", str(target))
        assert done.returncode == ANSWERED and "5000 rows in" in done.stderr and not done.stdout
        assert target.stat().st_size > 5_000
    assert (tmp_path / "a.csv").read_text(encoding="utf-8-sig").splitlines()[-1] == "4999,k1"
    limited = f"{sql} LIMIT 2500"
    terminal(tmp_path, "db", "--file", str(file), "--sql", limited, "-o", str(tmp_path / "b.csv"))
    assert len((tmp_path / "b.csv").read_text().splitlines()) == 2_501


def test_a_question_s_rows_are_written_too_and_what_is_refused_leaves_no_file(
    tmp_path: Path,
) -> None:
    target = tmp_path / "a.csv"
    done = terminal(tmp_path, "db", "5A scenic areas in Zhejiang", "-o", str(target))
    assert done.returncode == ANSWERED and "22 rows in" in done.stderr
    assert len(target.read_text(encoding="utf-8-sig").splitlines()) == 23
    for args in (("--sql", "DROP TABLE a_sight"), ("--sql", "SELECT rating FROM a_sight")):
        refused = terminal(tmp_path, "db", *args, "-o", str(tmp_path / "no.csv"))
        assert refused.returncode == UNUSABLE and refused.stderr
    kind = terminal(tmp_path, "db", "--sql", "SELECT 1 AS n", "-o", str(tmp_path / "a.doc"))
    assert kind.returncode == UNUSABLE and ".parquet" in kind.stderr
    assert not list(tmp_path.glob("*no*")) and not list(tmp_path.glob("*.part*"))


def test_files_are_asked_with_a_statement(tmp_path: Path) -> None:
    file = tmp_path / "sales.csv"
    file.write_bytes(SALES.encode("gb18030"))
    sql = "SELECT 城市, sum(数量) AS n FROM sales WHERE 日期 > DATE '2024-03-05' GROUP BY 城市"
    found = told(terminal(tmp_path, "db", "--file", str(file), "--sql", sql, "--json"))
    assert found["rows"] == [{"城市": "苏州", "n": 4}]
    done = terminal(tmp_path, "db", "--file", str(file), "--column", "数量=text")
    assert "sales (2 rows) from sales.csv: 日期 date, 城市 text, 数量 text" in done.stdout


def test_a_question_to_files_needs_a_model_and_the_reason_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "sales.csv"
    file.write_text("city,n\nHangzhou,3\n")
    done = terminal(tmp_path, "db", "--file", str(file), "How many cities are there?")
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert "needs a model that writes SQL" in done.stderr and "write SQL yourself" in done.stderr
    asked = ("db", "--file", str(file), "有几个城市？", "--json")
    found = told(terminal(tmp_path, *asked))
    assert found["status"] == "no model" and "需要由模型来写 SQL" in found["answer"]


def test_a_file_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text('a,b\n1,2\n"1,2\n')
    done = terminal(tmp_path, "db", "--file", str(file), "--sql", "SELECT 1")
    assert done.returncode == UNUSABLE and "Traceback" not in done.stderr
    assert "bad.csv" in done.stderr and len(done.stderr.splitlines()) == 1
    assert "There is no file" in terminal(tmp_path, "db", "--file", "gone.csv", "x").stderr
    kind = terminal(tmp_path, "db", "--file", str(file), "--column", "a=money", "x")
    assert kind.returncode == UNUSABLE and "NAME=TYPE" in kind.stderr


def test_how_a_file_was_read_is_said_beside_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "umsatz.csv"
    file.write_bytes("Stadt;Umsatz\nKöln;1.234,50\nBonn;9,25\nSumme;1.243,75\nx;1;2\n".encode("cp1252"))
    done = terminal(tmp_path, "db", "--file", str(file), "--sql", "SELECT sum(Umsatz) AS total FROM umsatz", "--json")
    assert json.loads(done.stdout)["rows"] == [{"total": 1243.75}]
    for words in (
        "Semicolons, Windows-1252, headings in row 1, decimal commas in Umsatz, 1 total row set aside",
        "1 total row of umsatz is not in the data: “Summe · 1.243,75 (4)”.",
        "1 row of umsatz has more values than there are columns, and is not in the data: “x · 1 · 2 (5)”.",
    ):
        assert words in done.stderr
    chosen = terminal(
        tmp_path, "db", "--file", str(file), "--encoding", "cp1250", "--delimiter", ",", "--sql", "SELECT 1"
    )
    assert "Commas, Windows-1250, no headings" in chosen.stderr


def test_an_option_on_how_files_are_read_is_about_the_file_that_it_follows(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("x,price\n" + "A,1\n" * 9 + "B,ca. 1\nTotal,9\n")
    second.write_text("1,2\n3,4\n")
    done = terminal(
        tmp_path, "db", "--encoding", "cp1252", "--file", str(first), "--column-type", "price=number", "--keep-totals",
        "--file", str(second), "--heading-row", "1", "--sql", "SELECT sum(price) AS n FROM a", "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["rows"] == [{"n": 18.0}]
    assert (
        "1 of 11 values of price could not be read as numbers and were left out: “ca. 1”."
        in json.loads(done.stdout)["answer"]
    )
    a, left_out, b = [line for line in done.stderr.splitlines() if line.startswith("  ")]
    assert a.endswith("Windows-1252, headings in row 1, type chosen for price, total rows kept in the data")
    assert "ca. 1" in left_out and b == "  Commas, Windows-1252, headings in row 1"
    unknown = terminal(tmp_path, "db", "--file", str(second), "--column-type", "price=number")
    assert unknown.returncode == UNUSABLE and "b.csv has no column price; its columns are" in unknown.stderr


def test_databases_are_listed_and_one_is_asked_by_its_name(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as made:
        made.executescript("create table goods(name text); insert into goods values ('tea')")
    text = f"""
    [shop]
    url = "env:SHOP"
    description = {{zh = "店铺", en = "The shop"}}
    leave_out = ["secret"]
    [gone]
    url = "postgresql://me:{"p" * 20}@@host/x"
    """
    (tmp_path / "databases.toml").write_text(text, encoding="utf-8")
    env = {"SHOP": f"sqlite:///{tmp_path}/shop.db"}
    listed = terminal(tmp_path, "db", "--list", env=env)
    shop, shipped, gone = listed.stdout.splitlines()
    assert shop.split("\t") == ["shop", "The shop", "default"]
    assert shipped.startswith("scenic-areas\t") and gone.startswith("gone\turl must be")
    assert "ppp" not in listed.stdout + listed.stderr
    rows = json.loads(terminal(tmp_path, "db", "--list", "--json", env=env).stdout)
    assert [(one["name"], one["default"]) for one in rows[:2]] == [("shop", True), ("scenic-areas", False)]  # fmt: skip
    sql = "SELECT name FROM goods"
    found = told(terminal(tmp_path, "db", "--database", "shop", "--sql", sql, "--json", env=env))
    assert found["rows"] == [{"name": "tea"}]
    other = terminal(tmp_path, "db", "--database", "scenic-areas", "--sql", sql, env=env)
    assert other.returncode == UNUSABLE and "goods" in other.stderr
    for name in ("gone", "none"):
        done = terminal(tmp_path, "db", "--database", name, "--sql", sql, env=env)
        assert (done.returncode, done.stdout) == (UNUSABLE, "") and "--list" in done.stderr


def test_what_the_database_cannot_read_is_named_beside_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            "create table goods(name text); insert into goods values ('tea');"
            "create table t(x); create view odd as select x from t; drop table t"
        )
    env = {"DATABASE_URL": f"sqlite:///{path}"}
    done = terminal(tmp_path, "db", "--sql", "SELECT name FROM goods", env=env)
    assert (done.returncode, "tea" in done.stdout) == (ANSWERED, True)
    assert "odd" in done.stderr and "no such table" in done.stderr
    fine = terminal(tmp_path, "db", "--sql", "SELECT name FROM a_sight LIMIT 1")
    assert fine.returncode == ANSWERED and fine.stderr == ""
