"""A question on somebody's files is a run like any other, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from research import close_application, detect_tables, get_application, number_report_answer, report_json
from research.core.records import Report, Run, RunOptions
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
