"""A table whose cells have evidence leaves the house: typed, linked to what it cites, and harmless."""

from __future__ import annotations

import csv as table_of
import json
from datetime import UTC, date, datetime
from io import BytesIO, StringIO
from typing import Any

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin
from openpyxl import load_workbook
from pyarrow import parquet as files

from research import data
from research.citations.numbering import CitedAnswer, check_numbering, number_report_answer
from research.core.records import (
    Answer,
    Cell,
    CellReading,
    CellValue,
    Column,
    Evidence,
    Grid,
    Language,
    Passage,
    PassageReference,
    Place,
    Plan,
    Report,
    Row,
    Run,
    RunOptions,
)
from research.export.cited_table_json import table_json_schema
from research.export.cited_tables import build_cited_table, has_cited_table
from research.export.formats import EXPORT_FORMATS, export_report, find_format
from research.export.report_places import collect_places
from tests.export.test_rows import HOSTILE
from tests.tables import each_row

NOW = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)
TABLE_SUFFIXES = [item.suffix for item in EXPORT_FORMATS if item.content == "table"]
COLUMNS = (
    Column(id="p", name="Ticket price", type="number"),
    Column(id="h", name="Height", type="number", unit="m"),
    Column(id="o", name="Opened", type="date"),
    Column(id="b", name="Booking required", type="yes or no"),
    Column(id="k", name="Grade", type="choice", choices=("5A", "4A")),
    Column(id="t", name="Closing days"),
)
ROWS = (
    Row(id="x", name="West Tower", qualifier="Hangzhou", place=Place(id="1", name="West Tower", lng=120.1, lat=30.2, provider="osm")),
    Row(id="y", name="Old Temple"),
)  # fmt: skip


def source(n: int, **more: Any) -> Evidence:
    fields = {
        "title": f"Page {n}",
        "url": f"https://example.org/{n}",
        "publisher": "Example",
    } | more
    text = f"Sentence {n}."
    return Evidence(
        id=f"e{n}", kind="web", retrieved=NOW, passages=(Passage(id=f"p{n}", text=text, end=len(text)),), **fields
    )  # fmt: skip


def reading(value: CellValue, *sources: int) -> CellReading:
    cites = tuple(PassageReference(evidence=f"e{n}", passage=f"p{n}") for n in sources)
    return CellReading(value=value, quote=f"Sentence {sources[0] if sources else 0}.", references=cites)


def number(low: float, unit: str, **more: Any) -> CellValue:
    return CellValue(type="number", text=f"{low:g} {unit}", number=low, unit=unit, **more)


def day(*of: int, **more: Any) -> CellValue:
    return CellValue(type="date", text="then", day=date(*of), **more)


CELLS = (
    Cell(row="x", column="p", readings=(reading(number(60, "yuan"), 2, 1), reading(number(45, "yuan"), 3)), missing_reason="differs"),
    Cell(row="y", column="p", readings=(reading(number(5, "usd"), 1),)),
    Cell(row="x", column="h", readings=(reading(number(2000, "foot", bound="about"), 1),)),
    Cell(row="y", column="h", readings=(reading(number(50, "m", high=60.5), 1),)),
    Cell(row="x", column="o", readings=(reading(day(1999, 5, 1, precision="month"), 1),)),
    Cell(row="y", column="o", readings=(reading(day(1420, 1, 1, precision="year"), 1),)),
    Cell(row="x", column="b", readings=(reading(CellValue(type="yes or no", text="is required", yes=True), 1),)),
    Cell(row="y", column="b", missing_reason="limit", message="The limit of 20 searches was reached."),
    Cell(row="x", column="k", readings=(reading(CellValue(type="choice", text="5a", choice="5A"), 1),)),
    Cell(row="x", column="t", readings=(reading(CellValue(type="text", text="closed on Mondays"), 1),)),
    Cell(row="y", column="t", readings=(reading(CellValue(type="text", text="never closes")),)),
)  # fmt: skip


def made(
    cells: tuple[Cell, ...] = CELLS,
    columns: tuple[Column, ...] = COLUMNS,
    rows: tuple[Row, ...] = ROWS,
    language: Language = "en",
    sources: tuple[Evidence, ...] = (source(1), source(2, published=date(2020, 2, 1)), source(3)),
) -> Report:
    run = Run(id="r", conversation="c", owner="o", question="Towers", options=RunOptions(), status="done", created=NOW)  # fmt: skip
    answer = Answer(title="Towers", language=language, author="rules", cells=cells, created=NOW)
    plan = Plan(grid=Grid(rows=rows, columns=columns))
    return Report(run=run, plan=plan, answer=answer, evidence=sources)


def book(report: Report) -> Any:
    return load_workbook(BytesIO(export_report(report, None, "xlsx")))


def lines(data: bytes) -> list[list[str]]:
    text = data.decode("utf-8")
    assert text.startswith("\ufeff")
    return [*table_of.reader(StringIO(text.removeprefix("\ufeff")))]


# Numbers of sources


def test_cells_are_numbered_as_spans_are() -> None:
    numbered = number_report_answer(made())
    assert isinstance(numbered, CitedAnswer)
    assert [s.evidence.title for s in numbered.sources] == ["Page 2", "Page 1", "Page 3"]
    assert numbered.cells[0].numbers == ((1, 2), (3,))
    ids = [s.evidence.id for s in numbered.sources]
    assert [c.evidence for r in numbered.cells[0].cell.readings for c in r.references] == ids
    assert [one.unsourced for one in numbered.cells].count(True) == 1  # "never closes" cites nothing
    assert check_numbering(numbered) == []
    wrong = numbered.model_copy(update={"cells": ()})
    assert check_numbering(wrong) != []


def test_what_is_not_registered_has_no_number() -> None:
    cell = Cell(row="x", column="t", readings=(reading(CellValue(type="text", text="x"), 9),))
    (one,) = getattr(number_report_answer(made((cell,))), "cells")  # noqa: B009
    assert (one.numbers, one.unsourced) == (((),), True)


# Excel


def test_a_workbook_has_numbers_dates_and_texts() -> None:
    values = book(made())["Values"]
    assert [cell.value for cell in values[1]] == [
        "Row", "Ticket price (CNY)", "Height (m)", "Opened", "Booking required", "Grade", "Closing days",
    ]  # fmt: skip
    first, second = [[*values[n]] for n in (2, 3)]
    assert [cell.value for cell in first] == [
        "West Tower Hangzhou", 60, pytest.approx(609.6), datetime(1999, 5, 1), "yes", "5A", "closed on Mondays",
    ]  # fmt: skip
    assert [cell.value for cell in second] == [
        "Old Temple", "5 USD", 50, "1420", "limit reached", "not found", "never closes",
    ]  # fmt: skip
    assert [cell.data_type for cell in first] == ["s", "n", "n", "d", "s", "s", "s"]
    assert first[2].number_format == '"≈ "#,##0.0'
    assert second[2].number_format == '#,##0"–60.5"'
    assert first[3].number_format == "yyyy-mm"


def test_a_cell_says_why_it_is_empty_and_that_sources_differ() -> None:
    values = book(made())["Values"]
    assert values["E3"].font.color.rgb == "00808080"
    assert values["E3"].comment.text == "The limit of 20 searches was reached."
    assert values["B2"].fill.fgColor.rgb == "00FFE9C7"
    assert values["B2"].comment.text == "sources differ\n60: Sentence 2.\n45: Sentence 3."
    assert values["B3"].fill.fgColor.rgb != "00FFE9C7"


def test_a_cell_links_to_its_evidence_and_back_and_a_source_to_its_address() -> None:
    found = book(made())
    values, evidence = found["Values"], found["Evidence"]
    for row in values.iter_rows(min_row=2, min_col=2):
        for cell in row:
            if cell.hyperlink is None:
                assert cell.font.color.rgb == "00808080"
                continue
            sheet, _, target = cell.hyperlink.location.partition("!")
            line = evidence[target].row
            assert sheet == "Evidence"
            assert evidence.cell(line, 3).hyperlink.location == f"Values!{cell.coordinate}"
            assert evidence.cell(line, 1).value == values.cell(cell.row, 1).value
    assert [cell.value for cell in evidence[2]] == [
        "West Tower Hangzhou", "Ticket price", "60", "60 yuan", "Sentence 2.", 1, "Page 2", "Example",
        "https://example.org/2", datetime(2020, 2, 1), datetime(2026, 11, 1), "Quoted",
    ]  # fmt: skip
    assert evidence["I2"].hyperlink.target == "https://example.org/2"
    assert evidence.max_row == 1 + 12  # a line for each reading and source


def test_the_sheets_are_ready_to_be_read() -> None:
    found = book(made())
    assert found.sheetnames == ["Values", "Evidence", "About"]
    assert (found["Values"].freeze_panes, found["Evidence"].freeze_panes) == ("B2", "A2")
    assert found["Values"].auto_filter.ref == "A1:G3"
    widths = [found["Evidence"].column_dimensions[c].width for c in "ABCDEFGHIJKL"]
    assert all(10 <= width <= 48 for width in widths)


# The other formats


def test_csv_has_a_value_in_each_cell() -> None:
    assert lines(export_report(made(), None, "csv")) == [
        ["Row", "Ticket price (CNY)", "Height (m)", "Opened", "Booking required", "Grade", "Closing days"],
        ["West Tower Hangzhou", "60 / 45", "≈ 609.6", "1999-05", "yes", "5A", "closed on Mondays"],
        ["Old Temple", "5 USD", "50–60.5", "1420", "", "", "never closes"],
    ]  # fmt: skip


def test_chinese_tables_are_in_chinese() -> None:
    head, first, _ = lines(export_report(made(language="zh"), None, "csv"))
    assert head[:3] == ["行", "Ticket price (元)", "Height (米)"]
    assert first[4] == "是"


def test_parquet_has_types_units_and_what_stands_beside() -> None:
    table = files.read_table(BytesIO(export_report(made(), None, "parquet")))
    price = table.schema.field("Ticket price")
    assert price.type == pa.float64()
    assert price.metadata == {b"question": b"Ticket price", b"type": b"number", b"unit": b"yuan"}
    assert table.column("Ticket price").to_pylist() == [60.0, None]
    assert table.column("Ticket price.differs").to_pylist() == [True, False]
    assert table.column("Height").to_pylist() == [pytest.approx(609.6), None]
    assert table.column("Height.low").to_pylist() == [pytest.approx(609.6), 50.0]
    assert table.column("Height.high").to_pylist() == [pytest.approx(609.6), 60.5]
    assert table.column("Opened").to_pylist() == [date(1999, 5, 1), date(1420, 1, 1)]
    assert table.column("Opened.precision").to_pylist() == ["month", "year"]
    assert table.column("Booking required").to_pylist() == [True, None]
    assert table.column("Booking required.lack").to_pylist() == [None, "limit"]
    assert table.column("Ticket price.sources").to_pylist()[0] == [
        "https://example.org/2", "https://example.org/1", "https://example.org/3",
    ]  # fmt: skip


def test_markdown_is_a_table_with_footnotes() -> None:
    text = export_report(made(), None, "table.md").decode()
    assert "| West Tower Hangzhou | 60[^1][^2] / 45[^3] |" in text
    assert "*limit reached*" in text
    html = MarkdownIt("commonmark").enable("table").use(footnote_plugin).render(text)
    assert html.count("<tr>") == 3
    assert html.count('class="footnote-item"') == 3


def test_json_is_as_its_schema_says_and_the_published_schema_is_that_of_the_code() -> None:
    published = json.loads(data.text("table.schema.json"))
    assert published == json.loads(json.dumps(table_json_schema()))
    Draft202012Validator.check_schema(published)
    found = json.loads(export_report(made(), None, "table.json"))
    Draft202012Validator(published).validate(found)
    assert found["columns"][0] | {"question": ""} == {
        "id": "p", "name": "Ticket price", "question": "", "type": "number", "unit": "yuan", "choices": [],
        "filled": 2, "checked": 2, "conflicts": 1, "oldest": "2020-02-01",
    }  # fmt: skip
    assert [r["numbers"] for r in found["cells"][0]["readings"]] == [[1, 2], [3]]
    assert (found["rows"][0]["lng"], found["rows"][1]["lng"]) == (120.1, None)
    assert [*Draft202012Validator(published).iter_errors(found | {"more": 1})]


# What comes from outside

LONG = "长" * 50_000
ODD = [*HOSTILE, LONG, "\u202eevil", "a\x00b\x1b[31m", "\ud800", "=HYPERLINK(\"http://x\")", "=" * 40]  # fmt: skip


def hostile(text: str) -> Report:
    value = CellValue(type="text", text=text)
    cells = (
        Cell(row="x", column="t", readings=(CellReading(value=value, quote=text, references=(PassageReference(evidence="e1", passage="p1"),)),)),
        Cell(row="y", column="t", missing_reason="failed", message=text, choices=(text,)),
    )  # fmt: skip
    column = Column(id="t", name=text, choices=(text,))
    rows = (Row(id="x", name=text, qualifier=text), Row(id="y", name="y"))
    return made(cells, (column,), rows, sources=(source(1, title=text, publisher=text, url=f"javascript:{text}"),))  # fmt: skip


@each_row("text", ODD)
def test_hostile_text_does_nothing_in_any_format(text: str) -> None:
    report = hostile(text)
    for ending in TABLE_SUFFIXES:
        assert export_report(report, None, ending)
    found = book(report)
    for sheet in found:
        for cell in (cell for line in sheet.iter_rows() for cell in line):
            assert cell.data_type in ("s", "n", "d")
            assert cell.hyperlink is None or cell.hyperlink.location
            assert len(str(cell.value)) < 32_767
    for line in lines(export_report(report, None, "csv")):
        assert not any(value.lstrip("' ").startswith(("=", "+", "@", "＝")) and value[0] != "'" for value in line)
    html = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(export_report(report, None, "table.md").decode())
    )
    assert "<img" not in html and "<a " not in html
    json.loads(export_report(report, None, "table.json"))


@each_row("value", [float("nan"), float("inf"), -float("inf"), 1e300, -1e-12])
def test_numbers_that_are_none_are_no_numbers(value: float) -> None:
    cells = (Cell(row="x", column="h", readings=(reading(number(value, "m"), 1),)),)
    report = made(cells)
    for ending in TABLE_SUFFIXES:
        assert export_report(report, None, ending)
    assert "NaN" not in export_report(report, None, "table.json").decode()
    assert b"<v>nan</v>" not in export_report(report, None, "xlsx")


# Where formats and places are


def test_a_report_without_a_table_has_no_such_file() -> None:
    bare = made().model_copy(update={"plan": None})
    assert has_cited_table(made()) and not has_cited_table(bare)
    for ending in TABLE_SUFFIXES:
        with pytest.raises(ValueError, match="no table"):
            export_report(bare, None, ending)


def format_of(name: str, *, for_table: bool = False) -> str:
    found = find_format(name, for_table=for_table)
    return found.suffix if found else ""


def test_the_names_of_files_tell_the_format() -> None:
    assert (format_of("a.xlsx"), format_of("a.xlsx", for_table=True)) == ("", "xlsx")
    assert (format_of("a.table.json", for_table=True), format_of("a.json", for_table=True)) == ("table.json", "json")


def test_the_places_of_rows_are_on_the_map() -> None:
    assert [place.name for place in collect_places(made())] == ["West Tower"]
    assert build_cited_table(made(), None).grid.rows[0].place in collect_places(made())
