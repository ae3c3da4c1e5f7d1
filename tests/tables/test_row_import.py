"""Rows of a table from files."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from research.readers.reading_summary import describe_reading
from research.readers.table_records import UnreadableTableError
from research.tables.row_import import rows_from_file


def names(folder: Path, content: str, encoding: str = "utf-8") -> list[str]:
    path = folder / "rows.csv"
    path.write_bytes(content.encode(encoding))
    return [row.full_name for row in rows_from_file(path).rows]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("西湖\n颐和园\n", ["西湖", "颐和园"]),
        ("西湖,杭州\n颐和园,北京\n", ["西湖", "颐和园"]),
        ("编号,名称\n001,西湖\n002,颐和园\n", ["西湖", "颐和园"]),
        ("Museum;Visitors\nA;12,5\nB;3,5\n", ["A", "B"]),
        ("Liste;\nname;Besucher\nKöln;1,5\nBonn;2,5\nSumme;4,0\n", ["Köln", "Bonn"]),
        ("2008,x\n2012,y\n", ["2008", "2012"]),
    ],
)
def test_names_are_in_the_first_column_or_in_that_of_names(tmp_path: Path, content: str, expected: list[str]) -> None:
    assert names(tmp_path, content) == expected


def test_a_file_of_another_encoding_is_read_as_what_it_is(tmp_path: Path) -> None:
    assert names(tmp_path, "name;Stadt\nMünchner Stadtmuseum;München\nGrünes Gewölbe;Dresden\n", "cp1252") == [
        "Münchner Stadtmuseum",
        "Grünes Gewölbe",
    ]


def test_the_first_sheet_of_a_workbook_has_the_rows(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["名称", "城市"], ["西湖", "杭州"], ["西湖", "惠州"]):
        book.worksheets[0].append(row)
    book.save(tmp_path / "rows.xlsx")
    imported = rows_from_file(tmp_path / "rows.xlsx")
    assert [(row.name, row.qualifier) for row in imported.rows] == [("西湖", "杭州"), ("西湖", "惠州")]
    assert describe_reading(imported.table, "zh").startswith("工作表 Sheet")


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTableError):
        names(tmp_path, "")
