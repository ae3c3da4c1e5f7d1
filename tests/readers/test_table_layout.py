"""Heading rows are found in tables as people write them."""

from __future__ import annotations

import csv

import pytest

from research.readers.table_layout import find_headings, join_headings
from tests.tables import each_row

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
    ("units below names", "Region,GDP,Area\n,EUR bn,km²\nN,120.5,4500\nS,98.1,3900\n", 2),
    ("numbers of columns", "项目,上年,本年\n甲,1,2\n收入,1000,1200\n成本,600,700\n", 2),
    ("three rows", ",2022,2022,2023,2023\n,男,女,男,女\n年龄,人数,人数,人数,人数\n0-14,1,2,3,4\n65+,5,6,7,8\n", 3),
    ("two languages", "地区,人口\nRegion,Population\n北京,2189\n上海,2487\n", 2),
    ("a missing value first", "a,b\nx,#N/A\ny,12\nz,13\n", 1),
    ("names and values above", "Report: Z1,Date: 5.3.,Page: 1\nMaterial,Plant,Qty\n100,1,10\n200,2,20\n", 2),
    ("a heading with #", "#id,name\n1,a\n2,b\n", 1),
    ("numbers as headings", "学号,1,2,3\n001,90,80,70\n002,85,75,65\n", 1),
    ("types below", "id,name,day\nint,text,date\n1,a,2024-01-01\n2,b,2024-01-02\n", 2),
    ("the same units", "Year,Exports,Imports\n,(USD m),(USD m)\n2021,100,90\n2022,110,95\n", 2),
    ("a line below", "id,name\n----,----\n1,a\n2,b\n", 2),
    ("a label of a group first", "name,qty,price\nFruit,,\nApple,3,1.5\nPear,4,2.5\n", 1),
    ("years of foundation", "city,founded,closed\nA,1990,2001\nB,1985,1999\n", 1),
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


def test_units_stand_behind_the_headings() -> None:
    rows = [["Region", "GDP", "面积"], ["", "EUR bn", "（km²）"], ["N", "120.5", "4500"], ["S", "98.1", "3900"]]
    assert join_headings(rows, find_headings(rows)) == ["Region", "GDP (EUR bn)", "面积 (km²)"]


@each_row(
    ("text", "sure"),
    [
        ("张三,北京\n李四,上海\n", False),
        ("姓名,城市\n张三,北京\n", True),
        ("group,x\nred,a\nred,b\nblue,c\nblue,d\n", True),
        ("a,b\n1,2\n", True),
    ],
)
def test_words_above_words_may_be_data(text: str, sure: bool) -> None:
    assert find_headings(csv.reader(text.splitlines())).is_sure == sure
