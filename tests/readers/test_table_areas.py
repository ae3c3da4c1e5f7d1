"""Several tables in one sheet or text file are read apart, and one table with blank rows stays one."""

from __future__ import annotations

import csv

from research.readers.table_areas import TableArea, find_areas
from tests.tables import each_row

SEPARATE = [
    ("titles", "Sales,,\nregion,amount,\nN,10,\nS,20,\n\nStaff,,\nname,age,city\nAnna,30,Rome\nBob,40,Oslo\n",
     ["A1:B4 Sales", "A6:C9 Staff"]),
    ("words above figures", "产品,数量\n甲,1\n乙,2\n\n员工,年龄\n张三,30\n", ["A1:B3 ", "A5:B6 "]),
    ("other columns", "name,city\nAnna,Rome\nBob,Oslo\n\nproduct,maker,country\nLamp,Ikea,Sweden\n", ["A1:B3 ", "A5:C6 "]),
    ("beside each other", "产品,销量,,员工,年龄\n甲,10,,张三,30\n乙,20,,李四,40\n丙,30,,,\n", ["A1:B4 ", "D1:E3 "]),
    ("equal headings below titles", "Q1,\nshop,n\nA,1\nB,2\n\nQ2,\nshop,n\nA,3\nB,4\n", ["A1:B4 Q1", "A6:B9 Q2"]),
]  # fmt: skip
SINGLE = [
    ("blank rows between rows", "name,n\na,1\n\nb,2\n\nc,3\n"),
    ("labels of groups", "name,qty,price\nFruit,,\nApple,3,1.5\n\nVegetable,,\nLeek,6,0.7\n"),
    ("equal headings on each page", "city,n\na,1\nb,2\n\ncity,n\nc,3\nd,4\n"),
    ("a title above a blank row", "公司销售表,\n\n门店,金额\n一店,5\n二店,7\n"),
    ("a blank column within a table", "地区,人口,,GDP,增速\n甲,10,,100,0.05\n乙,20,,200,0.06\n"),
    ("notes below", "item,n\nx,1\ny,2\n\nNote: provisional,\nSource: office,\n"),
]


def areas(text: str) -> list[TableArea]:
    return find_areas(list(csv.reader(text.splitlines())))


@each_row(("text", "right"), [case[1:] for case in SEPARATE])
def test_tables_with_headings_of_their_own_are_separate(text: str, right: list[str]) -> None:
    assert [f"{area.reference} {area.title}" for area in areas(text)] == right


@each_row("text", [case[1] for case in SINGLE])
def test_a_table_with_gaps_stays_one(text: str) -> None:
    assert len(areas(text)) == 1


def test_names_and_values_above_a_table_are_no_table() -> None:
    text = (
        "IBAN;DE12\nSaldo;1.234,56;EUR\n\nDatum;Empfänger;Zweck;Betrag;W\n1.2.2024;A;x;5,0;EUR\n2.2.2024;B;y;6,0;EUR\n"
    )
    (area,) = find_areas(list(csv.reader(text.splitlines(), delimiter=";")))
    assert area.first_row == 4
