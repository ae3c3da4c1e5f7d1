"""The database in a terminal and from Python: questions, statements, refusals, exit codes."""

from __future__ import annotations

import json
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
