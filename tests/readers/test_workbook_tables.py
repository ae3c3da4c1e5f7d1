"""Sheets of workbooks as people keep them: merged, hidden, filtered, in percent, with formulas and notes.

`examples/hidden.ods`, `filter.ods`, `percent.ods`, `merged.ods` and `years.xls` were made by LibreOffice 7.4 from workbooks like those below.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from research.readers.reading_summary import reading_lines
from research.readers.table_detection import detect_tables_of_kind
from research.readers.table_records import FileTable, UnreadableTableError
from tests.readers.table_reading import read_table

EXAMPLES = Path(__file__).parent / "examples"


def sheet(rows: Sequence[Sequence[Any]]) -> Worksheet:
    made: Any = openpyxl.Workbook().active
    for row in rows:
        made.append(list(row))
    return made


def _remark_text(table: FileTable) -> str:
    """Return the remarks on a table and the rows that are not in it."""
    return "\n".join([*reading_lines(table, "en"), *(f"{row.text} ({row.row})" for row in table.set_aside)])


def read(made: Worksheet, folder: Path) -> list[tuple[list[str], list[tuple[Any, ...]], str]]:
    """The names of the columns, the rows and the remarks of each table of a workbook."""
    path = folder / "book.xlsx"
    assert made.parent is not None
    made.parent.save(path)  # type: ignore[union-attr]
    return [
        ([column.name for column in table.columns], rows, _remark_text(table))
        for table, rows in read_table(path, folder)
    ]


def test_a_yearbook_table_has_joined_headings_and_remarks_on_its_title_and_notes(tmp_path: Path) -> None:
    made = sheet(
        [
            ["2-5 农村居民收入"], ["（2022-2023年）", None, None, None, None, "单位：元"],
            ["地区", "2022年", None, "2023年"], [None, "可支配收入", "增长（%）", "可支配收入", "增长（%）", "备注"],
            ["北京", 34754, 4.4, 37358, 7.5, "a"], ["天津", 29018, 3.8, 30851, 6.3], ["河北", 19364, 6.5, 20688, 6.8],
            [], ["注：增长为名义增长。"], ["资料来源：国家统计局"],
        ]
    )  # fmt: skip
    for area in ("A1:F1", "A3:A4", "B3:C3", "D3:E3", "A9:F9"):
        made.merge_cells(area)
    ((names, rows, remarks),) = read(made, tmp_path)
    assert names == ["地区", "_2022年可支配收入", "_2022年增长", "_2023年可支配收入", "_2023年增长", "备注"]
    assert rows[0] == ("北京", 34754, 4.4, 37358, 7.5, "a") and len(rows) == 3
    assert "单位：元" in remarks and "注：增长为名义增长。 (9)" in remarks and "国家统计局" in remarks


def test_tables_beside_and_below_each_other_are_separate(tmp_path: Path) -> None:
    made = sheet(
        [["产品", "销量", None, "员工", "年龄"], ["甲", 10, None, "张三", 30], ["乙", 20, None, "李四", 40], ["丙", 30]]
    )
    for row in ([], ["Headcount"], ["Region", "Staff"], ["North", 5], ["South", 6]):
        made.append(row)
    found = read(made, tmp_path)
    assert [names for names, _, _ in found] == [["产品", "销量"], ["Region", "Staff"], ["员工", "年龄"]]
    assert [len(rows) for _, rows, _ in found] == [3, 2, 2]
    assert "One of 3 tables that are read apart: A6:B9." in found[1][2]


def test_hidden_cells_are_read_with_a_remark(tmp_path: Path) -> None:
    made = sheet([["id", "qty", "secret"], [1, 3, "x"], [2, 4, "y"], [3, 5, "z"]])
    made.row_dimensions[3].hidden = True
    made.column_dimensions["C"].hidden = True
    other = made.parent.create_sheet("geheim")  # type: ignore[union-attr]
    other.append(["a", "b"])
    other.append([1, 2])
    other.sheet_state = "hidden"
    first, second = read(made, tmp_path)
    assert len(first[1]) == 3 and "1 row that is hidden" in first[2]
    assert "hidden in the workbook are included: secret." in first[2]
    assert "The sheet geheim is hidden" in second[2]


def test_rows_that_a_filter_hides_are_read_with_a_remark(tmp_path: Path) -> None:
    made = sheet([["id", "name"], [1, "a"], [2, "b"], [3, "a"]])
    made.auto_filter.ref = "A1:B4"
    made.auto_filter.add_filter_column(1, ["a"])
    made.row_dimensions[3].hidden = True
    ((_, rows, remarks),) = read(made, tmp_path)
    assert len(rows) == 3 and "The sheet is filtered; 1 row" in remarks


def test_formulas_without_results_and_errors_have_remarks(tmp_path: Path) -> None:
    made = sheet([["item", "a", "sum"], ["x", 1, "=B2+1"], ["y", 3, "=B3+1"], ["z", "#N/A", 3]])
    made["B4"].data_type = "e"
    ((_, rows, remarks),) = read(made, tmp_path)
    assert rows == [("x", 1, None), ("y", 3, None), ("z", None, 3)]
    assert "2 formulas have no stored results" in remarks and "1 cell of the sheet holds an error" in remarks


def test_a_sheet_of_formulas_without_results_is_refused(tmp_path: Path) -> None:
    made = sheet([["=A2"], ["=A3"]])
    made.parent.save(tmp_path / "f.xlsx")  # type: ignore[union-attr]
    with pytest.raises(UnreadableTableError, match="formulas without stored results"):
        detect_tables_of_kind(tmp_path / "f.xlsx", ".xlsx", "f.xlsx", {})


def test_a_column_in_percent_has_a_remark(tmp_path: Path) -> None:
    made = sheet([["name", "share", "n"], ["a", 0.125, 0.5], ["b", 0.5, 1.5]])
    made["B2"].number_format = made["B3"].number_format = "0.0%"
    ((_, rows, remarks),) = read(made, tmp_path)
    assert rows[0][1] == 0.125 and "0.125 means 12.5 %: share." in remarks


def test_numbers_as_text_dates_and_merged_years_are_read(tmp_path: Path) -> None:
    made = sheet(
        [
            ["year", "item", "day", "n"],
            [2021, "a", dt.date(2024, 3, 5), "1"],
            [None, "b", 45358, 2],
            [2022, "c", "2024-03-09", 3.5],
        ]
    )
    made.merge_cells("A2:A3")
    ((_, rows, remarks),) = read(made, tmp_path)
    assert rows[1] == (2021, "b", dt.date(2024, 3, 7), 2.0)
    assert "1 serial day number as a date" in remarks


def test_floats_are_no_thousands_and_long_numbers_stay_text(tmp_path: Path) -> None:
    made = sheet([["id", "v"], [110101199003078888, 1.234], [110101199003078889, 5.678]])
    ((_, rows, remarks),) = read(made, tmp_path)
    assert rows[0][1] == 1.234 and isinstance(rows[0][0], str)
    assert "thousands" not in remarks and "id as text" in remarks


def test_a_table_may_begin_in_another_cell(tmp_path: Path) -> None:
    made = sheet([[], [], [None, None, "Name", "Qty"], [None, None, "a", 1], [None, None, "Total", 1]])
    ((names, rows, remarks),) = read(made, tmp_path)
    assert (names, rows) == (["Name", "Qty"], [("a", 1)]) and "row 3" in remarks and "(5)" in remarks


def test_merged_years_of_ods_and_xls_stand_in_each_row(tmp_path: Path) -> None:
    for name in ("merged.ods", "years.xls"):
        ((table, rows),) = read_table(EXAMPLES / name, tmp_path)
        assert rows == [(2021, "东", 1), (2021, "西", 2), (2022, "东", 3), (2022, "西", 4)], name
    assert any("are not recognised" in remark for remark in reading_lines(table, "en"))


def test_a_merged_amount_stands_in_its_first_row(tmp_path: Path) -> None:
    made = sheet([["order", "item", "amount"], ["A1", "x", 100], [None, "y", None], ["A2", "z", 50]])
    made.merge_cells("A2:A3")
    made.merge_cells("C2:C3")
    ((_, rows, remarks),) = read(made, tmp_path)
    assert rows[1] == ("A1", "y", None) and "1 number of merged cells" in remarks


def test_sheets_of_ods_have_the_same_details(tmp_path: Path) -> None:
    hidden = ["\n".join(reading_lines(table, "en")) for table, _ in read_table(EXAMPLES / "hidden.ods", tmp_path)]
    assert "1 row that is hidden" in hidden[0] and "included: secret." in hidden[0] and "geheim is hidden" in hidden[1]
    ((table, _),) = read_table(EXAMPLES / "filter.ods", tmp_path)
    assert any("is filtered; 1 row" in remark for remark in reading_lines(table, "en"))
    ((table, _),) = read_table(EXAMPLES / "percent.ods", tmp_path)
    assert any("in percent" in remark for remark in reading_lines(table, "en"))
