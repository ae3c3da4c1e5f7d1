"""The tables of an answer, as files for spreadsheets: every cell is text, and reads as it stood."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from research.citations.numbering import CitedAnswer
from research.core.records import Span
from research.export.answer_tables import answer_tables
from research.export.table_csv import table_csv
from research.export.table_excel import ABOUT_SHEET, Sheet, workbook_bytes
from research.export.table_model import ExportColumn, ExportTable
from tests.export.test_support_export import made, numbered, text

TABLE = "## Prices\n\n| Month | Price |\n|---|---|\n| April | **60** yuan"
CELLS = st.text(max_size=12) | st.sampled_from(
    ["=1+1", "+1", "-1", "@x", "#N/A", "'=1", "1e5", "007", "a\nb", '"', ",", "\x1b[31m", "宫"]
)


def answered(*spans: Span) -> CitedAnswer:
    return numbered(made(*spans))


def table_of(heading: str, rows: Sequence[Sequence[str]]) -> ExportTable:
    """A table whose first row names its columns."""
    return ExportTable(heading, [ExportColumn(name) for name in rows[0]], [[*row] for row in rows[1:]])


def read(data: bytes) -> list[list[str]]:
    return [*csv.reader(data.decode().removeprefix("\ufeff").splitlines())]


def test_a_table_comes_with_its_heading_and_its_citations() -> None:
    cited = answered(text(TABLE, "p"), text(" |\n| May | 40", unsourced=True), text(" |\n\nEnd."))
    (table,) = answer_tables(cited)
    assert table == table_of(
        "Prices",
        (("Month", "Price"), ("April", "60 yuan [1]"), ("May", "40 (no source)")),
    )
    assert read(table_csv([table])) == [["Month", "Price"], *table.rows]


def test_the_heading_may_be_one_of_the_answer_itself() -> None:
    cited = answered(Span(kind="heading", text="Fees"), text("| a |\n|---|\n| b |"))
    assert answer_tables(cited) == (table_of("Fees", (("a",), ("b",))),)
    assert answer_tables(answered(text("No table here."))) == ()


def test_several_tables_in_one_file_are_set_off() -> None:
    tables = [table_of("One", (("a",),)), table_of("", (("b",),))]
    assert read(table_csv(tables)) == [["One"], ["a"], [], ["2"], ["b"]]


@pytest.mark.slow
@given(st.lists(st.tuples(CELLS, st.lists(CELLS, min_size=1, max_size=3)), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_no_cell_is_a_formula_and_every_sheet_is_there(
    found: list[tuple[str, list[str]]],
) -> None:
    tables = [table_of(heading, (tuple(row), tuple(row))) for heading, row in found]
    named = [table._replace(name=f"{at} {table.name}") for at, table in enumerate(tables, 1)]
    book = load_workbook(BytesIO(workbook_bytes([Sheet(table) for table in named], {ABOUT_SHEET: ["=About", "made"]})))
    assert len(book.sheetnames) == len(tables) + 1
    assert book["About"]["A1"].value == "=About"
    for sheet in book:
        for row in sheet.iter_rows():
            assert all(cell.data_type != "f" for cell in row)
            assert all(cell.value is None or isinstance(cell.value, str) for cell in row)
    for line in read(table_csv(tables)):
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in line)
