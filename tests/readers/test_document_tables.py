"""Tables of web pages, Markdown and Word files have one reader, in the library and as data files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from research.readers.documents import parse_document
from research.readers.reading_summary import reading_lines
from research.readers.table_detection import detect_tables_of_kind
from research.readers.table_loading import write_table
from research.readers.table_records import UnreadableTableError
from research.readers.table_text import Cell, spread_cells, table_lines

EXAMPLES = Path(__file__).parent / "examples"
VISITORS = (
    "<table><caption>游客量（万人）</caption>"
    "<tr><td rowspan=2>景点</td><td colspan=2>2022</td><td colspan=2>2023</td></tr>"
    "<tr><td>上半年</td><td>下半年</td><td>上半年</td><td>下半年</td></tr>"
    "<tr><td rowspan=2>西湖</td><td>1</td><td>2</td><td rowspan=2>3</td><td>4</td></tr>"
    "<tr><td>5</td><td>6</td><td>8</td></tr></table>"
)
REGIONS = (
    "<table><thead><tr><th rowspan=2>Region</th><th colspan=2>2022</th></tr><tr><th>H1</th><th>H2</th></tr></thead>"
    "<tr><th>East</th><td>1</td><td>2</td></tr><tr><th>West</th><td>3<br>ca.</td><td>4</td></tr>"
    "<tfoot><tr><th>Total</th><td></td><td>6</td></tr></tfoot></table>"
)


FACTS = "<table><tr><th>Area</th><td>6 km²</td></tr><tr><th>Depth</th><td>2 m</td></tr></table>"


def page(body: str) -> str:
    return f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>T</title></head><body>{body}</body></html>"


def lines(body: str, name: str = "a.html") -> list[str]:
    source = page(body) if name.endswith("html") else body
    return parse_document(name, source.encode()).text.splitlines()


def test_merged_cells_and_two_rows_of_headings_name_each_value() -> None:
    assert lines(VISITORS) == [
        "游客量（万人）",
        "景点: 西湖; 2022 上半年: 1; 2022 下半年: 2; 2023 上半年: 3; 2023 下半年: 4",
        "景点: 西湖; 2022 上半年: 5; 2022 下半年: 6; 2023 上半年: 3; 2023 下半年: 8",
    ]
    assert lines(REGIONS) == [
        "Region: East; 2022 H1: 1; 2022 H2: 2",
        "Region: West; 2022 H1: 3 ca.; 2022 H2: 4",
        "[Total row] Region: Total; 2022 H2: 6",
    ]


def test_a_heading_over_several_columns_is_one_of_two_rows() -> None:
    fees = (
        "<table><tr><td colspan=3>Fees</td></tr><tr><td>Who</td><td colspan=2>Fee</td></tr>"
        "<tr><td></td><td>high season</td><td>low season</td></tr><tr><td>Adult</td><td>60</td><td>40</td></tr>"
        "<tr><td>Child</td><td>30</td><td>20</td></tr></table>"
    )
    assert lines(fees) == [
        "Fees",
        "Who: Adult; Fee high season: 60; Fee low season: 40",
        "Who: Child; Fee high season: 30; Fee low season: 20",
    ]


def test_markdown_reads_tables_of_html_like_its_own() -> None:
    own = "| Item | 2022 |\n|---|---|\n| A | 1 |\n| B | 3 |\n| Total | 4 |\n"
    html = "<table>\n<tr><th>Item</th><th>2022</th></tr>\n\n<tr><td>A</td><td>1</td></tr>\n<tr><td>B</td><td>3</td></tr></table>\n"
    rows = ["Item: A; 2022: 1", "Item: B; 2022: 3"]
    assert lines(own, "a.md") == [*rows, "[Total row] Item: Total; 2022: 4"]
    assert lines(html, "a.md") == rows


def test_tables_that_arrange_a_page_are_text() -> None:
    outer = f"<table><tr><td>Left</td><td>{REGIONS}</td></tr><tr><td>Below</td><td>right</td></tr></table>"
    assert "Region: East; 2022 H1: 1; 2022 H2: 2" in lines(outer)
    layout = "<table role=presentation><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>"
    assert " ".join(lines(layout)).split() == ["a", "b", "1", "2"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["Area", "6.39"], ["Depth", "2.27"]], ["Area: 6.39", "Depth: 2.27"]),
        ([["Year", "People"], ["2020", "5"], ["2021", "6"]], ["Year: 2020; People: 5", "Year: 2021; People: 6"]),
        ([["1", "2", "3"], ["4", "5", "6"]], ["1; 2; 3", "4; 5; 6"]),
        ([["Table 1", "", ""], ["a", "b", "c"], ["x", "y", "1"], ["u", "v", "2"]], ["Table 1", "a: x; b: y; c: 1", "a: u; b: v; c: 2"]),
        ([["a", "n"], ["x", "1"]], ["a: n", "x: 1"]),
    ],
)  # fmt: skip
def test_headings_are_found_where_none_are_marked(rows: list[list[str]], expected: list[str]) -> None:
    assert table_lines(rows) == expected


def test_totals_and_notes_are_marked_and_a_total_that_is_no_sum_is_not() -> None:
    rows = [["地区", "类", "销量"], ["东", "a", "5"], ["西", "b", "7"], ["合计", "", "12"], ["注：未经审计", "", ""]]
    assert table_lines(rows)[-2:] == ["[合计行] 地区: 合计; 销量: 12", "注：未经审计"]
    rows[3] = ["合计", "", "20"]
    assert table_lines(rows)[2] == "地区: 合计; 销量: 20"


def test_a_csv_file_in_the_library_marks_its_totals() -> None:
    text = parse_document("a.csv", b"shop,month,sales\nA,1,5\nB,1,7\nTotal,,12\n").text
    assert text.splitlines()[-1] == "[Total row] shop: Total; sales: 12"


def test_merged_cells_without_end_fill_a_bounded_table() -> None:
    rows = [[Cell("x", 60_000, 60_000)] for _ in range(2_000)]
    assert sum(map(len, spread_cells(rows))) < 3_000_000
    assert spread_cells([[Cell("5", 1, 3), Cell("a")], [Cell("b")]], repeats_numbers=False)[1] == ["", "b"]


def loaded(path: Path, folder: Path) -> dict[str, tuple[list[str], list[tuple[object, ...]], list[str]]]:
    """The tables of a document as data: for each by its name the columns, rows and remarks."""
    found = {}
    for table in detect_tables_of_kind(path, path.suffix, path.name, {}):
        target = folder / f"{table.name}.duckdb"
        written = write_table(path, table, target, lambda part: None)
        with duckdb.connect(str(target)) as raw:
            rows = raw.execute(f'select * from "{written.name}"').fetchall()
        found[table.name] = ([c.name for c in written.columns], rows, reading_lines(written, "en"))
    return found


def test_each_table_of_a_page_is_a_data_table(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        page(f"<h2>By region</h2>{REGIONS.replace('<br>ca.', '')}{VISITORS}<table><tr><td>one</td></tr></table>{FACTS}")
    )
    found = loaded(path, tmp_path)
    assert list(found) == ["By_region", "游客量_万人"]
    assert found["By_region"][:2] == (["Region", "_2022_H1", "_2022_H2"], [("East", 1, 2), ("West", 3, 4)])
    assert "Total · 6" in found["By_region"][2][-1]
    # A number in merged cells stands in the first alone: a sum would count it again.
    assert found["游客量_万人"][1] == [("西湖", 1, 2, 3, 4), ("西湖", 5, 6, None, 8)]


def test_each_table_of_a_word_file_is_a_data_table_named_by_its_caption(tmp_path: Path) -> None:
    found = loaded(EXAMPLES / "lease_libreoffice.docx", tmp_path)
    names, rows, remarks = found["Units_sold"]
    assert names == ["Item", "Q1_units", "Q1_price", "Q2_units", "Q2_price"]
    assert rows == [("Apple", 1, 2, 3, 4), ("Apple", 5, 6, 7, 8)]
    assert "Total" in remarks[-1]


@pytest.mark.parametrize(("name", "data"), [("a.html", b"<p>no table</p>"), ("a.docx", b"PK\x03\x04 none")])
def test_a_document_without_tables_or_damaged_is_refused(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UnreadableTableError) as caught:
        detect_tables_of_kind(tmp_path / name, Path(name).suffix, name, {})
    assert caught.value.reason == ("empty" if name == "a.html" else "broken")
