"""A filled table as an answer in Markdown."""

from __future__ import annotations

from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from research.agent.nodes.table import source_tiers, table_draft
from research.application import Application
from research.core.records import Column, Grid, Language, Plan, Row, RunOptions
from research.core.settings import load_settings
from tests.pages.filled_table import museums


@pytest.mark.parametrize(("language", "mark"), [("zh", "（依据不明）"), ("en", "(support unclear)")])
def test_a_value_that_needs_checking_is_marked_where_it_stands(language: Language, mark: str) -> None:
    grid, cells, _ = museums(language)
    text = "".join(span.text for span in table_draft(grid, cells, language).spans)
    doubtful = [cell for cell in cells for one in cell.readings if one.status not in ("quoted", "supported")]
    assert len(doubtful) == text.count(mark) == 1
    assert mark in text.split("\n")[3].split("|")[4]


def test_what_the_desk_has_itself_is_asked_before_what_is_free_and_what_may_cost_money() -> None:
    options = RunOptions(sources=("web", "places", "database", "library"))
    asked = source_tiers(Column(id="c", name="Height"), options)
    assert asked == [("database", "library"), ("places",), ("web",)]


def test_what_a_database_does_not_know_is_no_text_for_a_cell(tmp_path: Path) -> None:
    columns = (Column(id="h", name="开放时间"), Column(id="y", name="评为5A的年份", type="date"))
    plan = Plan(grid=Grid(rows=(Row(id="r", name="黄山"),), columns=columns))
    options = RunOptions(table=True, sources=("database",))
    with closing(Application(load_settings({}, data_dir=tmp_path))) as desk:
        run = desk.runs.start("黄山", options=options, plan=plan)
        for _ in desk.runs.follow(run.id):
            pass
        report = desk.runs.report(run.id)
    assert report and report.answer
    hours, year = report.answer.cells
    assert (hours.value, hours.missing_reason) == (None, "not found")
    assert year.value and year.value.day == date(2007, 1, 1)
