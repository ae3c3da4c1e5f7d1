"""A question on somebody's files is a run like any other, and nobody else's."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest
from pyarrow import parquet

from research import (
    Correction,
    ExportOptions,
    close_application,
    detect_tables,
    export_report,
    get_application,
    number_report_answer,
    report_json,
)
from research.core.records import Report, Run, RunOptions
from research.export.database_rows import result_csv, result_excel
from research.runtime.comparison import compare_reports

ANN, BOB = "ann", "bob"
FIRST = "SELECT city, sum(n) AS total FROM sales GROUP BY city ORDER BY total DESC"
SECOND = "SELECT city, max(n) AS most FROM sales GROUP BY city ORDER BY city"


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of Ann's files among the databases."""
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path / "data"))
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    close_application()
    file = tmp_path / "sales.csv"
    file.write_text("city,n\nHangzhou,3\nSuzhou,4\nHangzhou,5\n", encoding="utf-8")
    try:
        yield get_application().databases.load_files([(file, detect_tables(file))], owner=ANN).database
    finally:
        close_application()


def asked(sql: str, database: str, owner: str = ANN) -> Report:
    run = get_application().start_database_run(sql, is_statement=True, database=database, owner=owner)
    for _ in get_application().runs.follow(run.id, owner=owner):
        pass
    report = get_application().runs.report(run.id, owner=owner)
    assert report is not None and report.run.status == "done"
    return report


def test_it_has_a_history_evidence_citations_an_export_and_a_comparison(sales: str) -> None:
    first, second = asked(FIRST, sales), asked(SECOND, sales)
    (finding,) = first.findings
    assert finding.rows is not None
    assert finding.rows.rows == (("Hangzhou", 8), ("Suzhou", 4))
    numbered = number_report_answer(first)
    assert numbered is not None and numbered.sources[0].evidence.publisher == "sales.csv"
    assert any("Hangzhou" in item.span.text for item in numbered.spans)
    assert [run.id for run in get_application().runs.recent_runs(owner=ANN)] == [second.run.id, first.run.id]
    assert get_application().runs.recent_runs(owner=BOB) == []
    assert "sum(n)" in report_json(first, numbered).lower()
    between = compare_reports(first, second)
    found = {one.evidence.locator: (one.is_in_before, one.is_in_after) for one in between.sources}
    assert found[finding.rows.sql] == (True, False) and len(found) == 2


def finished(run: Run) -> Report:
    for _ in get_application().runs.follow(run.id, owner=ANN):
        pass
    report = get_application().runs.report(run.id, owner=ANN)
    assert report is not None and report.run.status == "done"
    return report


def test_without_a_model_only_confirmed_questions_are_answered(sales: str) -> None:
    unread = finished(get_application().start_database_run("total n by city", database=sales, owner=ANN))
    (finding,) = unread.findings
    assert (finding.reason, finding.rows) == ("no model", None)
    assert "needs a model that writes SQL" in finding.message
    assert unread.answer is not None
    texts = [span.text for span in unread.answer.spans if span.kind != "heading"]
    assert texts == [finding.message]  # no documents of the library beside it
    get_application().databases.confirm_statement("Total by city", FIRST, database=sales, owner=ANN)
    (known,) = finished(get_application().start_database_run("total by city?", database=sales, owner=ANN)).findings
    assert known.rows is not None and known.rows.rows == (("Hangzhou", 8), ("Suzhou", 4))
    (offered,) = finished(get_application().start_database_run("n by town", database=sales, owner=ANN)).findings
    assert "“Total by city”" in offered.message


def test_a_plan_without_a_model_leaves_out_questions_that_the_database_cannot_answer(
    sales: str,
) -> None:
    get_application().databases.confirm_statement("Total by city", FIRST, database=sales, owner=ANN)
    options = RunOptions(sources=("library", "database"), database=sales)
    report = finished(get_application().runs.start("How many cities are in the sales?", options=options, owner=ANN))
    assert report.plan is not None
    assert {task.source for task in report.plan.tasks} == {"library"}
    assert any("database was not queried" in note for note in report.plan.notes)
    known = finished(get_application().runs.start("Total by city", options=options, owner=ANN))
    assert any(finding.rows for finding in known.findings)


def test_an_empty_cell_of_a_table_says_that_its_database_needs_a_model(sales: str) -> None:
    options = RunOptions(sources=("database",), database=sales, table=True)
    question = "Compare Hangzhou and Suzhou: tickets and opening hours"
    report = finished(get_application().runs.start(question, options=options, owner=ANN))
    assert report.answer is not None and report.answer.cells
    assert {cell.missing_reason for cell in report.answer.cells} == {"not found"}
    assert all("needs a model" in cell.message for cell in report.answer.cells)


def test_another_owner_and_deleted_files_are_told_apart_from_no_rows(sales: str) -> None:
    assert asked(FIRST, sales, BOB).findings[0].reason == "not found"
    assert asked(FIRST, sales).findings[0].rows is not None
    assert get_application().databases.remove_upload(sales.partition(":")[2], owner=ANN)
    gone = asked(FIRST, sales).findings[0]
    assert (gone.reason, gone.rows) == ("not found", None) and "deleted" in gone.message


MESSY = "city;price;n\n" + "Hangzhou;2,5;1\n" * 11 + "Suzhou;ca. 3;1\nTotal;27,5;12\n"
LEFT_OUT = "1 of 12 values of price could not be read as numbers and were left out: “ca. 3”"
TOTAL = "1 total row of messy is not in the data"


@pytest.fixture
def messy(sales: str, tmp_path: Path) -> str:
    """The name of a file among the databases with a value that is no number, and a total."""
    file = tmp_path / "messy.csv"
    file.write_text(MESSY, encoding="utf-8")
    correction = Correction(columns={"price": ("", "number")})
    return (
        get_application().databases.load_files([(file, detect_tables(file, "", {"": correction}))], owner=ANN).database
    )


def test_an_answer_says_which_values_were_left_out_of_the_columns_that_it_reads(messy: str) -> None:
    report = asked("SELECT city, sum(price) AS total FROM messy GROUP BY city", messy)
    (finding,) = report.findings
    assert finding.rows is not None and [note.kind for note in finding.rows.reading_notes] == ["left out", "totals"]
    assert LEFT_OUT in finding.evidence[0].passages[0].text and TOTAL in finding.evidence[0].passages[0].text
    cited = number_report_answer(report)
    assert cited is not None and any(LEFT_OUT in item.span.text for item in cited.spans)
    assert json.loads(report_json(report, cited))["rounds"][0]["findings"][0]["rows"]["reading_notes"][0]["count"] == 1
    for name in ("md", "html"):
        text = export_report(report, cited, name).decode()
        assert LEFT_OUT in text and TOTAL in text
    options = ExportOptions(table_number=1)
    text = result_csv(report, cited, options).decode("utf-8-sig")
    assert text.splitlines()[-3] == "" and LEFT_OUT in text and "12 个值中有 1 个无法读作数字" in text
    book = openpyxl.load_workbook(io.BytesIO(result_excel(report, cited, options)))
    assert any(LEFT_OUT in str(row[0].value) for row in book["SQL"].iter_rows())


def test_an_answer_says_nothing_of_columns_that_it_does_not_read(messy: str) -> None:
    answer = get_application().databases.query("SELECT sum(n) AS n FROM messy", database=messy, owner=ANN)
    assert [note.kind for note in answer.reading_notes] == ["totals"]
    assert LEFT_OUT not in answer.answer and TOTAL in answer.answer
    answer = get_application().databases.query("SELECT 1 AS one", database=messy, owner=ANN)
    assert not answer.reading_notes


@pytest.mark.parametrize("statement", ["SELECT * FROM messy", "SELECT max(p) FROM (SELECT price AS p FROM messy)"])
def test_a_column_is_read_by_a_star_and_through_a_subquery_too(messy: str, statement: str) -> None:
    answer = get_application().databases.query(statement, database=messy, owner=ANN)
    assert [note.kind for note in answer.reading_notes] == ["left out", "totals"]


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
def test_a_file_of_all_rows_says_which_values_were_left_out(messy: str, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"rows.{suffix}"
    done = get_application().databases.export_rows("SELECT price FROM messy", target, database=messy, owner=ANN)
    assert done.row_count == 12 and len(done.reading_notes) == 2
    if suffix == "csv":
        assert LEFT_OUT in target.read_text(encoding="utf-8-sig")
    elif suffix == "xlsx":
        assert any(LEFT_OUT in str(row[0].value) for row in openpyxl.load_workbook(target)["SQL"].iter_rows())
    else:
        assert LEFT_OUT in parquet.read_schema(target).metadata[b"notes"].decode()
