"""Delimiters and heading rows are found in tables as people write them."""

from __future__ import annotations

import csv

import pytest

from research.readers.delimiters import find_delimiter
from research.readers.table_layout import find_headings, join_headings
from tests.tables import each_row


@each_row(
    ("text", "mark"),
    [
        ("name;description;price\nLamp;red, green, blue, white;10\nChair;oak, ash, beech, pine;20\n", ";"),
        ("name\tauthors\tyear\nPaper A\tSmith, J., Lee, K., Wu, X.\t2020\n", "\t"),
        ("标题|摘要|年份\n甲|一, 二, 三, 四|2020\n乙|五, 六, 七, 八|2021\n", "|"),
        ('a,b\n"x;y;z",1\n"u;v;w",2\n', ","),
        ("Filiale;Umsatz\nKöln;1234,50\nBonn;2001,75\n", ";"),
        ("sep=;\nname;qty\nLamp, red;2\n", ";"),
        ("one column\nof words\n", ","),
    ],
)
def test_the_delimiter_is_the_mark_that_splits_rows_alike(text: str, mark: str) -> None:
    assert find_delimiter(text, ".csv").mark == mark


def test_a_tsv_file_of_one_column_is_split_at_tabs() -> None:
    assert find_delimiter("a, b\nc\n", ".tsv").mark in "\t,"


HEADINGS = [
    ("years above figures", "地区,2021,2022\n北京,100,110\n上海,90,95\n", 1),
    ("years in words", "指标,2021年,2022年\nGDP,1,2\n人口,4,5\n", 1),
    ("months", "month,2024-01,2024-02\nA,1,2\nB,4,5\n", 1),
    ("words alone", "city,country\nOslo,Norway\nRome,Italy\n", 1),
    ("the same heading twice", "name,qty,qty\nLamp,2,3\nDesk,1,4\n", 1),
    ("a title above", "公司销售明细表,,\n,,\n门店,日期,金额\n一店,2024-01-01,5\n二店,2024-01-02,7\n", 3),
    ("comments above", "# exported\n# source: x, y\nname,qty\nLamp,2\nDesk,1\n", 3),
    ("figures alone", "1,2,3\n4,5,6\n", 0),
    ("years in rows", "2019,2020\n2021,2022\n", 0),
    ("groups of columns", "地区,第一季度,,第二季度,\n,数量,金额,数量,金额\n华东,1,2,3,4\n华南,5,6,7,8\n", 2),
    ("a heading left blank", "city,,people\nOslo,x,700\nRome,y,2800\n", 1),
    ("nothing", "", 0),
]


@each_row(("text", "row"), [case[1:] for case in HEADINGS])
def test_the_heading_row_is_found(text: str, row: int) -> None:
    assert find_headings(csv.reader(text.splitlines())).last == row


@pytest.mark.parametrize("count", [0, 1])
def test_blank_rows_have_no_headings(count: int) -> None:
    assert find_headings([["", ""]] * count).height == 0


def test_headings_of_groups_are_joined() -> None:
    rows = [
        ["地区", "第一季度", "", "Q2", ""],
        ["", "数量", "金额", "units", "EUR"],
        ["A", "1", "2", "3", "4"],
        ["B", "5", "6", "7", "8"],
    ]
    rows[1][3:] = ["数量", "金额"]
    found = find_headings(rows)
    assert join_headings(rows, found) == ["地区", "第一季度数量", "第一季度金额", "Q2 数量", "Q2 金额"]
