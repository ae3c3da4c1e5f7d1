"""Files as other programs and people write them, each with the values that a careful person reads.

`examples/` holds the files. `TABLES` gives for each the headings, the rows and what is said about the
reading, for a data file of the database; the library reads the same headings from them.
"""

from __future__ import annotations

import shutil
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from research.readers.documents import parse_document
from research.readers.reading_summary import reading_lines
from research.readers.table_detection import detect_tables_of_kind
from research.readers.table_loading import write_table
from research.readers.table_records import FileTable
from tests.tables import each_row

EXAMPLES = Path(__file__).parent / "examples"


class Table(NamedTuple):
    """The right reading of a table: column names, rows, and parts of what is said beside it."""

    columns: str
    rows: list[tuple[Any, ...]]
    remarks: tuple[str, ...] = ()


def day(text: str) -> date:
    return date.fromisoformat(text)


TABLES: dict[str, Table] = {
    "decimal_comma.csv": Table(
        "Filiale Monat Umsatz Anteil",
        [
            ("Köln", "2024-01", 1234.5, 12.5),
            ("Bonn", "2024-01", 987.0, 9.8),
            ("Essen", "2024-02", 12000.25, 45.0),
            ("Köln", "2024-02", 2001.75, 20.1),
        ],
        ("decimal commas in Umsatz", "% in Anteil"),
    ),
    "thousands.csv": Table("store revenue", [("A", 1234.5), ("B", 900), ("C", 12000)]),
    "total_gbk.csv": Table(
        "门店 日期 金额_元 占比",
        [
            ("北京店", day("2024-03-05"), 1234.5, 12.5),
            ("上海店", day("2024-03-06"), 2000, 20.1),
            ("广州店", day("2024-03-07"), 350.25, 3.4),
        ],
        ("合计 · 3,584.75",),
    ),
    "preamble_gbk.csv": Table(
        "门店 日期 金额_元 占比",
        [
            ("北京店", day("2024-03-05"), 1234.5, 12.5),
            ("上海店", day("2024-03-06"), 2000, 20.1),
            ("广州店", day("2024-03-07"), -350.25, -3.4),
            ("深圳店", day("2024-03-08"), None, None),
        ],
        ("GB18030", "headings in row 3", "合计 · 2,884.25"),
    ),
    "headings_gdp.csv": Table(
        "地区 _2021 _2022 _2023", [("北京", 100, 110, 120), ("上海", 90, 95, 99), ("广东", 80, 85, 88)]
    ),
    "headings_months.csv": Table("产品 _1月 _2月 _3月", [("A", 1, 2, 3), ("B", 4, 5, 6)]),
    "headings_nian.csv": Table("指标 _2021年 _2022年", [("GDP", 1, 2), ("人口", 4, 5)]),
    "headings_revenue.csv": Table("Region _2021 _2022 _2023", [("North", 100, 110, 120), ("South", 90, 95, 99)]),
    "headings_ym.csv": Table("month _2024_01 _2024_02", [("A", 1, 2), ("B", 4, 5)]),
    "delimiter_items.csv": Table(
        "name description price",
        [
            ("Lamp", "red, green, blue, white", 10),
            ("Chair", "oak, ash, beech, pine", 20),
            ("Desk", "big, heavy, old, brown", 30),
        ],
    ),
    "delimiter_papers.csv": Table(
        "name authors year",
        [("Paper A", "Smith, J., Lee, K., Wu, X.", 2020), ("Paper B", "Kim, S., Roy, P., Zhao, L.", 2021)],
    ),
    "delimiter_pipe.csv": Table("标题 摘要 年份", [("甲", "一, 二, 三, 四", 2020), ("乙", "五, 六, 七, 八", 2021)]),
    "shape_allstr.csv": Table("city country", [("Berlin", "Germany"), ("Paris", "France")]),
    "shape_bom_newline.csv": Table("名称 数量", [("灯", 2), ("桌\n子", 1)]),
    "shape_bool.csv": Table("id ok", [(1, True), (2, False)]),
    "shape_comment.csv": Table("name qty", [("Lamp", 2), ("Desk", 1)], ("headings in row 3",)),
    "shape_cur.csv": Table(
        "name price", [("A", "¥1200"), ("B", "$15.50"), ("C", "1200元")], ("its values have different units",)
    ),
    "shape_dates_dmy.csv": Table(
        "id when", [(1, day("2024-04-03")), (2, day("2024-12-25")), (3, day("2024-01-31"))], ("day first",)
    ),
    "shape_dates_us.csv": Table(
        "id when", [(1, day("2024-03-04")), (2, day("2024-12-25")), (3, day("2024-01-31"))], ("month first",)
    ),
    "shape_dates_mon.csv": Table("id when", [(1, day("2024-03-05")), (2, day("2024-12-25")), (3, day("2024-01-31"))]),
    "shape_dup_trailing.csv": Table("name qty name_2", [("Lamp", 2, "x"), ("Desk", 1, "y")]),
    "shape_na.csv": Table(
        "id score", [(1, 5), (2, None), (3, None), (4, None), (5, 7)], ("3 values such as N/A are empty in score",)
    ),
    "shape_nbsp.csv": Table("name amount", [("A", 1234), ("B", 2500)]),
    "shape_neg.csv": Table("name delta", [("A", -5), ("B", 3), ("C", -2)]),
    "shape_oneline.csv": Table("city country", []),
    "shape_pct.csv": Table("id share", [(1, 12.5), (2, 7)], ("% in share",)),
    "shape_quote.csv": Table("name size", [("TV", '55" screen'), ("Desk", "120 cm")]),
    "shape_ragged.csv": Table(
        "a b c", [(1, 2, 3), (4, 5, None)], ("1 row of shape_ragged ends early", "6 · 7 · 8 · 9")
    ),
    "shape_sep.csv": Table("name qty price", [("Lamp", 2, 10.5), ("Desk", 1, 99)]),
    "shape_utf16.csv": Table("城市 人口", [("北京", 2154), ("上海", 2487)], ("UTF-16",)),
    "shape_wan.csv": Table("公司 营收", [("甲", 120_000_000), ("乙", 35_000_000)]),
    "encoding_offices.csv": Table(
        "city country staff",
        [("Montréal", "Canada", 120), ("Zürich", "Switzerland", 85), ("Málaga", "Spain", 40)],
        ("Windows-1252",),
    ),
    "encoding_ru.csv": Table("город население", [("Казань", 1257000), ("Пермь", 1034000)], ("Windows-1251",)),
    "encoding_umsatz.csv": Table(
        "Stadt Umsatz", [("Köln", 100), ("München", 200), ("Düsseldorf", 300)], ("Windows-1252",)
    ),
    "rows_total.csv": Table(
        "门店 城市 日期 金额",
        [
            ("一店", "北京", day("2024-03-05"), 100),
            ("二店", "北京", day("2024-03-06"), 250),
            ("三店", "上海", day("2024-04-01"), 250),
            ("四店", "广州", day("2024-04-02"), None),
        ],
        ("合计 · 600",),
    ),
    "rows_rollup.csv": Table(
        "Region Quarter Sales",
        [("North", "Q1", 10), ("North", "Q2", 20), ("South", "Q1", 5), ("South", "Q2", 15)],
        ("North Total · 30", "South Total · 20", "Grand Total · 50"),
    ),
    "rows_ties_zh.csv": Table("学校 得分", [("一中", 98), ("二中", 98), ("三中", 90), ("四中", 75), ("五中", 75)]),
    "rows_ties.csv": Table(
        "store city date amount",
        [
            ("A", "Berlin", day("2024-03-05"), 100),
            ("B", "Berlin", day("2024-03-06"), 250),
            ("C", "Bonn", day("2024-04-01"), 250),
            ("D", "Essen", day("2024-04-02"), None),
        ],
    ),
    "merged_headings.xlsx:0": Table(
        "地区 第一季度数量 第一季度金额 第二季度数量 第二季度金额",
        [("华东", 10, 100.5, 12, 130), ("华南", 20, 200.25, 22, 240), ("华北", 5, 55, 6, 66)],
        ("headings in rows 2 to 3",),
    ),
    "merged_headings.xlsx:1": Table(
        "部门 姓名 入职日期",
        [
            ("研发部", "张三", day("2020-03-01")),
            ("研发部", "李四", day("2021-04-02")),
            ("市场部", "王五", day("2019-05-03")),
            ("市场部", "赵六", day("2022-06-04")),
        ],
    ),
}


def load(name: str, folder: Path) -> tuple[FileTable, list[tuple[Any, ...]]]:
    """Load a table of an example file and return it with its rows."""
    file, _, index = name.partition(":")
    path = Path(shutil.copy(EXAMPLES / file, folder))
    table = list(detect_tables_of_kind(path, path.suffix, path.name, {}))[int(index or 0)]
    written = write_table(path, table, folder / "target.duckdb", lambda done: None)
    with duckdb.connect(str(folder / "target.duckdb"), read_only=True) as connection:
        rows = connection.execute(f'SELECT * FROM "{written.name}"').fetchall()
    return written, [tuple(float(v) if isinstance(v, Decimal) else v for v in row) for row in rows]


@each_row("name", list(TABLES))
def test_a_data_file_is_read_as_a_careful_person_reads_it(tmp_path: Path, name: str) -> None:
    table, rows = load(name, tmp_path)
    right = TABLES[name]
    assert [column.name for column in table.columns] == right.columns.split()
    assert rows == right.rows
    remarks = "\n".join(reading_lines(table, "en"))
    for part in right.remarks:
        assert part in remarks


def test_the_sheets_of_a_workbook_have_times_long_identifiers_and_years_as_headings(tmp_path: Path) -> None:
    _, orders = load("types.xlsx:0", tmp_path)
    assert orders[0][:2] == (123456789012, "00123")
    assert orders[0][3:] == (1234.5, 0.125, "a\nb", orders[0][6])
    assert datetime.fromisoformat(str(orders[0][2])) == datetime(2024, 3, 5, 14, 30)
    years, rows = load("types.xlsx:5", tmp_path)
    assert [column.name for column in years.columns] == ["指标", "_2021", "_2022", "_2023"]
    assert rows == [("GDP", 100, 110, 120), ("人口", 5, 6, 7)]


LIBRARY = {
    "headings_gdp.csv": ["地区: 北京; 2021: 100; 2022: 110; 2023: 120"],
    "delimiter_items.csv": ["name: Lamp; description: red, green, blue, white; price: 10"],
    "preamble_gbk.csv": ["门店: 北京店; 日期: 2024/3/5"],
    "merged_headings.xlsx": ["地区: 华东; 第一季度数量: 10"],
    "cp1252_note.txt": ["The Zürich office opened in 2011", "The Montréal office"],
    "latin1.html": ["Möbelfabrik Übersee", "Der Gründer hieß Jörg Weiß.", "12.000 Stühle"],
    "qingshi.html": ["青石镇", "126.5平方公里"],
    "ruby.html": ["鶴見橋は1934年に完成した。", "12,000", "H₂O", "35 km²", "10⁶"],
    "superscripts.html": ["3.2 × 10⁶ m³", "42 m high", "310 m long", "2½ degrees", "CO₂", "10⁻⁵ mol", "14th"],
    "short_one.html": ["自2024年5月1日起", "成人票价为四十元，学生半价。\n周一闭馆"],
    "short_two.html": [
        "From 1 May 2024",
        "Adults pay 40 crowns, students half.\nClosed on Mondays.",
    ],
    "short_zh_list.html": ["成人票：六十元\n学生票：三十元", "四月至十月：八点至十八点。"],
    "short_zh_table.html": ["班次: 一; 开船: 8:00; 票价: 12元", "大风停航。"],
    "short_en896.html": ["This municipal notice is short but valid"],
}
ABSENT = ("首页", "新闻中心", "公告", "Contact", "つる", "Hidden", "43 m", "high3", "106 m", "10-5", "21/2")


@each_row("name", list(LIBRARY))
def test_a_document_holds_what_its_page_shows(name: str) -> None:
    text = parse_document(name, (EXAMPLES / name).read_bytes()).text
    for part in LIBRARY[name]:
        assert part in text
    for part in ABSENT:
        assert part not in text


@pytest.mark.parametrize("name", ["rows_ties.csv"])
def test_no_remark_is_made_about_an_ordinary_file(tmp_path: Path, name: str) -> None:
    assert reading_lines(load(name, tmp_path)[0], "en") == ["Commas, UTF-8, headings in row 1"]
