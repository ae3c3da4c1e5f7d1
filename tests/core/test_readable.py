"""The shipped database is read by its headings and regions in the reader's language; others stay."""

from __future__ import annotations

from typing import Any

import pytest

from research.core.display_names import CITIES_EN, column_heading, english_region, localise_rows, region_label
from research.core.records import ColumnCoverage, Finding, Language, QueryResult, Report, Run, RunOptions, Task
from research.export.database_rows_markdown import database_blocks
from research.export.report_texts import report_translator
from research.sources.database.shipped_tables import PROVINCES, TABLES
from tests.export.test_markdown import NOW
from tests.tables import each_row

SQL = "SELECT province, COUNT(*) AS n FROM a_sight GROUP BY province"
COLUMNS = ("n", "km", "distance_km", "average_ticket_cny", "name_from", "name_to")


def rows(sql: str = SQL, **more: Any) -> QueryResult:
    return QueryResult(
        sql=sql, names=("province", "n"), types=("text", "integer"),
        rows=(("浙江省", 22), ("北京市", 9), (None, 1)),
        coverage=(ColumnCoverage(columns=("ticket_cny", "n"), known=3, rows=5),), **more,
    )  # fmt: skip


@each_row("column", [*(c.name for t in TABLES.values() for c in t.columns), *COLUMNS])
def test_every_column_has_a_heading_in_each_language(column: str) -> None:
    zh, en = column_heading(column, "zh"), column_heading(column, "en")
    assert zh != en
    assert column not in (zh, en) and "_" not in zh + en
    assert not zh.isascii() and en.isascii()
    assert en[0].isupper()


def test_every_province_and_city_has_an_english_name() -> None:
    assert all(english_region(name).isascii() for name in (*PROVINCES, *CITIES_EN))
    cells = [region_label(name, "en") for name in (*PROVINCES, *CITIES_EN)]
    assert len(set(cells)) == len(cells)  # Taizhou is two cities
    assert [region_label("台州市", "zh"), region_label("台州市", "en")] == ["台州市", "Taizhou (台州市)"]


@pytest.mark.parametrize(
    ("language", "names", "cells"),
    [
        ("zh", ("省份", "数量"), ["浙江省", "北京市", None]),
        ("en", ("Province", "Count"), ["Zhejiang", "Beijing", None]),
    ],
)
def test_rows_are_in_the_language_of_their_reader(
    language: Language, names: tuple[str, ...], cells: list[str | None]
) -> None:
    before = rows()
    shown = localise_rows(before, language)
    assert shown.names == names
    assert [row[0] for row in shown.rows] == cells
    assert [row[1] for row in shown.rows] == [22, 9, 1]
    assert shown.coverage[0].columns == (column_heading("ticket_cny", language), names[1])
    assert (shown.sql, shown.types) == (SQL, before.types)
    assert before == rows()


def test_a_database_of_ones_own_stays_as_it_is() -> None:
    own = rows("SELECT province, n FROM shops")
    assert localise_rows(own, "en") == own


@pytest.mark.parametrize(
    ("language", "head", "cell"),
    [("zh", "| 省份 | 数量 |", "浙江省"), ("en", "| Province | Count |", "Zhejiang")],
)
def test_a_report_has_its_rows_in_its_language_and_its_statement_as_it_was(
    language: Language, head: str, cell: str
) -> None:
    run = Run(
        id="r", conversation="r", owner="local", question="q", options=RunOptions(), status="done",
        created=NOW,
    )  # fmt: skip
    task = Task(id="1", source="database", query="q")
    found = Finding(task=task, started=NOW, rows=rows())
    written = "\n".join(database_blocks(Report(run=run, findings=(found,)), report_translator(language), language))
    assert head in written
    assert f"| {cell} | 22 |" in written
    assert SQL in written
