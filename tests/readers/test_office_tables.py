"""Tables of offices of statistics, accountants and bookkeeping programs are read right, or the doubt is said."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import openpyxl
import pytest

from research.readers.column_formats import ColumnConverter, NumberCell, convert, detect_format
from research.readers.table_records import FileTable
from research.readers.total_rows import RowSorter
from tests.readers.table_reading import read_table
from tests.tables import each_row

Tables = list[tuple[FileTable, list[tuple[Any, ...]]]]


def read_text(folder: Path, text: str, encoding: str = "utf-8") -> Tables:
    folder = Path(mkdtemp(dir=folder))
    path = folder / "file.csv"
    path.write_bytes(text.encode(encoding))
    return read_table(path, folder)


def read_sheet(folder: Path, rows: list[list[Any]], *merged: str) -> Tables:
    folder = Path(mkdtemp(dir=folder))
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    for area in merged:
        sheet.merge_cells(area)
    book.save(folder / "file.xlsx")
    return read_table(folder / "file.xlsx", folder)


def headings(table: FileTable) -> list[str]:
    return [column.heading for column in table.columns]


def remark(table: FileTable, kind: str) -> str:
    return "; ".join(notice.text for notice in table.notices if notice.kind == kind)


@each_row(
    "record",
    [
        "EXTF;700;21;Buchungen;13;20240402093015000;;RE;;;29098;55003",  # wider, as of DATEV
        "HDR;20240301;ACME GmbH;3;EUR",  # as wide as the table
        "A;1;x\nB;2;2024-03-01;y",  # two records
    ],
)
def test_headings_stand_below_records_of_another_shape(tmp_path: Path, record: str) -> None:
    text = (
        f"{record}\nKonto;Datum;Text;Betrag;Währung\n1200;01.03.2024;Miete Köln;1.250,00;EUR\n"
        "1300;05.03.2024;Strom;89,90;EUR\n1400;07.03.2024;Porto;12,10;EUR\n"
    )
    ((table, rows),) = read_text(tmp_path, text)
    assert headings(table) == ["Konto", "Datum", "Text", "Betrag", "Währung"]
    assert [row[3] for row in rows] == [1250, 89.9, 12.1] and record.split(";")[0] in remark(table, "above")


def test_a_first_row_without_headings_stays_data(tmp_path: Path) -> None:
    ((table, rows),) = read_text(tmp_path, "1,2,3\nNA,bad,err\n4,5,6\n7,8,9\n")
    assert table.header == 0 and len(rows) == 4


def test_headings_of_four_merged_rows_are_joined_and_footnotes_are_no_data(tmp_path: Path) -> None:
    rows = [
        ["Tab. 1: Bevölkerung und Fläche"],
        ["Land", "Bevölkerung", None, None, "Fläche"],
        [None, "insgesamt", "davon", None, None],
        [None, None, "männlich", "weiblich", None],
        [None, "1 000", None, None, "km²"],
        ["Bayern", 101, 50, 51, 1000],
        ["Hessen", 202, 90, 112, 2000],
        ["Sachsen", 300, "x", 151, "/"],
        ["Deutschland²", 603, 289, 314, 6000],
        ["¹ Stand 2022"],
        ["( ) Aussagewert eingeschränkt"],
    ]
    ((table, data),) = read_sheet(tmp_path, rows, "A2:A5", "B2:D2", "C3:D3", "B3:B4", "E2:E4", "B5:D5")
    assert headings(table) == [
        "Land", "Bevölkerung insgesamt (1 000)", "Bevölkerung davon männlich (1 000)",
        "Bevölkerung davon weiblich (1 000)", "Fläche (km²)",
    ]  # fmt: skip
    assert data[-1] == ("Sachsen", 300, None, 151, None) and len(data) == 3
    assert [row.kind for row in table.set_aside].count("total") == 1  # the sum of all, without a word for it


@each_row("first", [True, False])
def test_a_country_that_is_the_sum_of_its_regions_is_set_aside_and_named(tmp_path: Path, first: bool) -> None:
    regions = ["Zürich,1579,1729", "Bern,1051,5960", "Rest,6182,33601"]
    lines = ["Schweiz,8812,41290", *regions] if first else [*regions, "Schweiz,8812,41290"]
    ((table, rows),) = read_text(tmp_path, "\n".join(["Land,Einwohner,Fläche", *lines]))
    assert [row[0] for row in rows] == ["Zürich", "Bern", "Rest"] and "Schweiz" in table.set_aside[0].text


def test_a_year_that_equals_the_sum_of_others_stays_data(tmp_path: Path) -> None:
    ((_, rows),) = read_text(tmp_path, "Jahr,Wert,Menge\n2020,1000,10\n2021,2000,20\n2022,3000,30\n2023,6000,60\n")
    assert len(rows) == 4


@each_row("blank", [True, False])
def test_tables_below_each_other_are_read_apart(tmp_path: Path, blank: bool) -> None:
    rows: list[list[Any]] = [
        ["表1 各区住户"], ["区", "户数", "人口"], ["东", 10, 30], ["西", 20, 50], ["總　計", 30, 80],
        *([[]] if blank else []),
        ["表2 輪候時間"], ["年度", "申請數目", "申請數目", "平均"], [None, "一般", "單身", None], ["2020/21", 5, 3, 1.5],
        ["2021/22", 7, 6, 2.5],
    ]  # fmt: skip
    (first, first_rows), (second, second_rows) = read_sheet(tmp_path, rows)
    assert headings(first) == ["区", "户数", "人口"] and first_rows == [("东", 10, 30), ("西", 20, 50)]
    assert headings(second) == ["年度", "申請數目一般", "申請數目單身", "平均"] and len(second_rows) == 2


def test_tables_beside_each_other_without_a_blank_column_are_read_apart(tmp_path: Path) -> None:
    rows = [
        ["2023年决算表", *[None] * 5],
        ["收 入", None, None, "支 出", None, None],
        ["项目", "预算数", "决算数", "项目", "预算数", "决算数"],
        ["一、税收", 30, 33, "教育", 5, 6],
        ["    增值税", 10, 11, "卫生", 7, 8],
        ["    契税", 20, 22, None, None, None],
        ["二、非税", 1, 2, None, None, None],
        ["收入合计", 31, 35, "支出合计", 12, 14],
    ]
    (income, income_rows), (spent, spent_rows) = read_sheet(tmp_path, rows, "A1:F1", "A2:C2", "D2:F2")
    assert (income.name, spent.name) == ("收_入", "支_出")
    assert len(income_rows) == 4 and spent_rows == [("教育", 5, 6), ("卫生", 7, 8)]
    assert income.set_aside[0].text.startswith("收入合计") and "一、税收" in remark(income, "parts")


@each_row(
    "rows",
    [
        [
            ["球队", "进球", "球队", "进球"],
            ["甲", 1, "乙", 2],
            ["乙", 1, "丙", 2],
            ["丙", 3, "甲", 2],
            ["乙", 1, "甲", 2],
        ],
        [
            ["起点", "经度", "纬度", "终点", "经度", "纬度"],
            ["甲", 1.5, 2.5, "乙", 2.5, 3.5],
            ["丙", 1.5, 2, "丁", 2, 3.5],
        ],
    ],
)
def test_repeated_headings_of_one_table_do_not_split_it(tmp_path: Path, rows: list[list[Any]]) -> None:
    ((table, _),) = read_sheet(tmp_path, rows)
    assert len(table.columns) == len(rows[0]) and remark(table, "repeated")


@pytest.mark.parametrize(
    ("values", "numbers", "unit"),
    [
        (["\\598", "\\1,180"], ["598", "1180"], "\\"),
        (["￥1,200", "￥980"], ["1200", "980"], "¥"),
        (["1,200円", "980円"], ["1200", "980"], "円"),
        (["1,200원", "980원"], ["1200", "980"], "원"),
        (["△1,234", "56"], ["-1234", "56"], ""),
        (["3명", "12명"], ["3", "12"], "명"),
        (["12", "x", "…", "−", "nd"], ["12", "", "", "", ""], ""),
    ],
)
def test_amounts_of_east_asia_and_marks_of_statistics_are_numbers(
    values: list[str], numbers: list[str], unit: str
) -> None:
    form = detect_format(values)
    assert form.unit == unit and [convert(value, form) for value in values] == numbers
    assert not form.is_doubtful or not unit


def test_triangles_that_may_be_arrows_stay_text() -> None:
    assert detect_format(["▲1.2", "▲0.5", "0"]).reason == "other values"


def test_text_beside_whole_numbers_of_a_workbook_has_marks_of_thousands() -> None:
    form = detect_format([NumberCell("-911"), "(1,204)", NumberCell("412")])
    assert (form.kind, form.is_doubtful) == ("integer", False)


@each_row(
    "words",
    [
        ("市部計", "県　計"), ("小　計", "合　計"), ("소 계", "합  계"), ("小計", "總　計"), ("Zwischensumme", "Insgesamt"),
        ("Sous-total Nord", "Total général"), ("Summe Nord", "Zusammen"),
    ],
)  # fmt: skip
def test_totals_of_totals_are_set_aside(tmp_path: Path, words: tuple[str, str]) -> None:
    part, whole = words
    lines = [f"a,120,34\nb,240,56\n{part},360,90\nc,100,10\nd,200,20\n{part},300,30\n{whole},660,120\n"]
    ((table, rows),) = read_text(tmp_path, "label,one,two\n" + "".join(lines))
    assert [row[0] for row in rows] == ["a", "b", "c", "d"] and len(table.set_aside) == 3


@each_row("text", ["会計", "統計", "设计", "時計店"])
def test_words_that_end_like_totals_stay_data(tmp_path: Path, text: str) -> None:
    ((table, rows),) = read_text(tmp_path, f"部門,人数\n総務,7\n{text},12\n営業,30\n")
    assert len(rows) == 3 and not remark(table, "unsummed")


def test_every_computed_row_of_an_income_statement_has_a_remark(tmp_path: Path) -> None:
    rows = [
        ["", "Fiscal year ended September 30,", None], ["", 2023, 2022], ["Revenue"], ["  Product", 800, 700],
        ["  Services", 350, 310], ["Total revenue", 1150, 1010], ["Cost of revenue"], ["  Product", 500, 400],
        ["  Services", 110, 90], ["Total cost of revenue", 610, 490], ["Gross profit", 540, 520], ["Expenses"],
        ["  Research", 190, 180], ["  Marketing", "(1,204)", 60], ["Operating income", -1554, 280],
        ["Tax", 11, 40], ["Net income", -1565, 240],
    ]  # fmt: skip
    ((table, _),) = read_sheet(tmp_path, rows, "B1:C1")
    for name in ("Gross profit", "Net income"):
        assert name in remark(table, "parts")
    assert not any(column.format.is_doubtful for column in table.columns)


def test_parentheses_that_a_note_explains_are_a_doubt(tmp_path: Path) -> None:
    text = "Land;Betriebe\nBayern;(12)\nHessen;30\nSachsen;(9)\n\n{note}\n"
    ((table, _),) = read_text(tmp_path, text.format(note="( ) Aussagewert eingeschränkt, da unsicher;"))
    assert remark(table, "parentheses") == "Betriebe"
    ((table, _),) = read_text(tmp_path, text.format(note="* vorläufig;"))
    assert not remark(table, "parentheses")


@each_row("mark", [".", ","])
def test_columns_are_converted_as_their_values_are(mark: str) -> None:
    numbers = [
        "0",
        "-12",
        "1.5",
        "007",
        "1.234,5",
        "1,234.5",
        "12 ",
        " 3",
        "N/A",
        "",
        "x y",
        "5\n6",
        "1e5",
        "12%",
        "+4",
    ]
    for kind in ("integer", "number", "date", "boolean"):
        form = detect_format([f"1{mark}5", "2"]).model_copy(update={"kind": kind})
        for values in (numbers, numbers[:1], numbers[:3], ["1", "5\n6"], [NumberCell("1.5"), "1.5"], [NumberCell("7")]):
            assert list(ColumnConverter(form).convert(values)) == [convert(value, form) for value in values]


def test_rows_given_by_blocks_give_the_same_totals_as_rows_given_one_by_one() -> None:
    rows = [[f"r{n}", str(n)] for n in range(1, 701)]
    total = ["Total", str(sum(range(1, 701)))]
    single, blocks = RowSorter([1]), RowSorter([1])
    assert [single.kind(n, row) for n, row in enumerate([*rows, total], 1)][-1] == "total"
    assert not blocks.add_data(list(zip(*rows[:500], strict=True)))  # the first rows are compared with each other
    assert not any(blocks.kind(n, row) for n, row in enumerate(rows[:500], 1))
    assert blocks.add_data(list(zip(*rows[500:], strict=True)))
    assert not blocks.add_data(list(zip(total, strict=True)))
    assert blocks.kind(701, total) == "total"
