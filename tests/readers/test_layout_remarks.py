"""Doubts on headings and columns are said beside a table."""

from __future__ import annotations

from pathlib import Path

from research.readers.reading_summary import reading_lines
from research.readers.table_detection import detect_tables_of_kind
from tests.tables import each_row

DOUBTS = [
    ("words above words", "张三,北京\n李四,上海\n", "Row of headings, or data?"),
    ("the same heading twice", "a,a\n1,2\n3,4\n", "occur more than once are numbered: a."),
    ("no heading", ",x\nA,1\nB,2\n", "Columns without a heading: column_1."),
    ("names of rows", "a b\n1 5 x\n2 6 y\n3 7 z\n4 8 w\n", "first column holds names of rows"),
    ("a title", "Sales 2024,\n\nshop,n\nA,1\nB,2\n", "Above the headings: Sales 2024"),
    ("blanks for the value above", "省份,城市,n\n浙江,杭州,1\n,宁波,2\n,温州,3\n", "省份: blank cells may stand for the value above"),
    ("a column of totals", "shop,a,b,合计\nA,1,2,3\nB,4,5,9\n", "must not be added to them: 合计."),
    ("codes for missing values", "id,q\n1,5\n2,-99\n3,4\n", "may be a code for a missing value, such as -999: q."),
    ("one column of several", "a:b\n1:2\n3:4\n", "Read as one column"),
    ("serial numbers of days", "date,v\n45356,1\n45357,2\n", "may be serial numbers of days in a spreadsheet: date."),
    ("words after a blank row", "name,city\nAnna,Rome\n\nperson,town\nBob,Oslo\n", "row 4 may be the headings of another table"),
    ("one value that is no number", "n\n1\n2\n3\n4 p\n", "but some are not, such as 4 p."),
]  # fmt: skip
PLAIN = ["city,n\nOslo,1\nRome,2\n", "id,name,day\n1,Anna,2024-03-05\n2,Bob,2024-03-06\n", "name,city\nAnna,Rome\n"]


def remarks(text: str, folder: Path) -> str:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return "\n".join(
        remark for table in detect_tables_of_kind(path, ".csv", path.name, {}) for remark in reading_lines(table, "en")
    )


@each_row(("text", "right"), [case[1:] for case in DOUBTS])
def test_a_doubt_has_a_remark(tmp_path: Path, text: str, right: str) -> None:
    assert right in remarks(text, tmp_path)


@each_row("text", PLAIN)
def test_no_doubt_is_said_of_a_plain_table(tmp_path: Path, text: str) -> None:
    assert remarks(text, tmp_path) == "Commas, UTF-8, headings in row 1"
