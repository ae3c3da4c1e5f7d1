"""Rows of a database in an exported report."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from markdown_it import MarkdownIt

from research.core.records import ColumnCoverage, DatabaseStep, Finding, QueryResult, Report, Run, RunOptions, Task
from research.export.markdown import report_markdown
from research.export.report_json import report_json

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SQL = "SELECT name, n FROM t WHERE name = '```' LIMIT 201"
HOSTILE = "<img src=x onerror=alert(1)> | [x](javascript:alert(1)) `a` **b** $1$"


def report(*rows: tuple[Any, ...], **more: Any) -> Report:
    steps = (
        DatabaseStep(kind="understand", text="which"),
        DatabaseStep(kind="refused", text="no column `x`", sql="SELECT x"),
        DatabaseStep(kind="supplement", rows=2),
        DatabaseStep(kind="missing", text="n: 1"),
    )
    found = QueryResult(sql=SQL, names=("name", "n|m"), rows=rows, types=("text", "integer"), **more)
    task = Task(id="1.1", source="database", query="有多少？")
    finding = Finding(task=task, started=NOW, interpreted_question="数一数", rows=found, steps=steps)
    run = Run(
        id="r", conversation="c", owner="o", question="有多少？", options=RunOptions(), status="done",
        created=NOW,
    )  # fmt: skip
    return Report(run=run, findings=(finding,))


def test_rows_are_a_table_under_their_statement() -> None:
    text = report_markdown(report(("西湖", 3), ("千岛湖", None)), None)
    section = text.split("## 数据库查询结果\n\n### 数一数\n\n")[1]
    assert section.startswith(f"````sql\n{SQL}\n````\n")
    assert "| name | n\\|m |\n| --- | --- |\n| 西湖 | 3 |\n| 千岛湖 | — |" in section
    assert "- 未能执行：no column \\`x\\`" in section
    assert "- 补充查询：补上 2 个单元格" in section
    assert "which" not in section


def test_cells_are_shown_as_they_are_and_do_nothing() -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(report_markdown(report((HOSTILE, 1)), None))
    cells = [token for row, token in itertools.pairwise(tokens) if row.type == "td_open"]
    assert cells[0].content and cells[0].children is not None
    assert {child.type for child in cells[0].children} <= {"text", "text_special"}
    assert "".join(child.content for child in cells[0].children) == HOSTILE


@pytest.mark.parametrize(
    ("more", "told"),
    [({"truncated": True}, "数据库里还有更多行"), ({"cut": 2}, "有 2 个单元格过长")],
)
def test_what_is_left_out_is_said(more: dict[str, Any], told: str) -> None:
    assert told in report_markdown(report(("a", 1), **more), None)


def test_a_long_table_is_cut_and_the_json_has_all_of_it() -> None:
    long = report(*((f"row {n}", n) for n in range(80)))
    text = report_markdown(long, None)
    assert "row 49" in text and "row 50" not in text and "另有 30 行未列出" in text
    (finding,) = json.loads(report_json(long, None))["rounds"][0]["findings"]
    assert len(finding["rows"]["rows"]) == 80
    assert finding["rows"]["names"] == ["name", "n|m"]
    assert [step["kind"] for step in finding["steps"]][:2] == ["understand", "refused"]


def test_a_statement_that_finds_nothing_says_so() -> None:
    assert "没有符合条件的行。" in report_markdown(report(), None)


def test_for_how_many_rows_a_column_is_known_is_said_under_the_table() -> None:
    coverage = (
        ColumnCoverage(columns=("t|price",), known=3, rows=5),
        ColumnCoverage(columns=("size", "age"), known=0, rows=9, subquery=True),
        ColumnCoverage(columns=("weight",), known=None),
    )
    text = report_markdown(report(("a", 1), coverage=coverage), None)
    assert "t\\|price：5 行中有 3 行已知。" in text
    assert "size, age：子查询的 9 行中有 0 行已知。" in text
    assert "weight：未能统计有多少行未知。" in text
    assert "5 行中有 3 行已知" in report_markdown(report(coverage=coverage), None)
    (finding,) = json.loads(report_json(report(coverage=coverage), None))["rounds"][0]["findings"]
    assert finding["rows"]["coverage"][0] == {"columns": ["t|price"], "known": 3, "rows": 5, "subquery": False}  # fmt: skip
