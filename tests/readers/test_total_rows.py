"""Totals and notes are no data, if the arithmetic agrees."""

from __future__ import annotations

from research.readers.total_rows import RowFindings, RowSorter, TotalColumns, is_total_word
from tests.tables import each_row


def kinds(rows: list[str], *number_columns: int) -> list[str | None]:
    sorter = RowSorter(number_columns)
    return [sorter.kind(number, row.split(",")) for number, row in enumerate(rows, 2)]


@each_row("text", ["合计", "总计：", "小计", "Total", "Grand Total", "Subtotal", "North Total", "Summe", "華北小計"])
def test_words_of_totals(text: str) -> None:
    assert is_total_word(text)


@each_row("text", ["Totals Inc. of Leeds and others", "Sumatra", "合计通公司有限责任股份", "Totality", ""])
def test_words_that_only_begin_like_totals(text: str) -> None:
    assert not is_total_word(text)


def test_a_total_below_the_rows_is_no_data() -> None:
    assert kinds(["A,100", "B,250", "C,250", "合计,600"], 1) == [None, None, None, "total"]


def test_subtotals_and_the_total_of_all_are_no_data() -> None:
    rows = ["N,10", "N,20", "N Total,30", "S,5", "S,15", "S Total,20", "Grand Total,50"]
    assert kinds(rows, 1) == [None, None, "total", None, None, "total", "total"]


def test_a_rounded_total_is_a_total() -> None:
    assert kinds(["A,1.4", "B,1.4", "Total,3"], 1)[-1] is None  # too far from 2.8 for its digits
    assert kinds(["A,1.26", "B,1.27", "Total,2.5"], 1)[-1] == "total"


def test_a_row_that_is_called_total_and_sums_nothing_is_data() -> None:
    assert kinds(["A,100", "Total,7", "B,3"], 1) == [None, None, None]


def test_a_note_below_the_table_is_no_data() -> None:
    assert kinds(["A,1", "B,2", "注：单位为万元,"], 1) == [None, None, "note"]


def findings(rows: list[str], *number_columns: int) -> tuple[list[str | None], RowFindings]:
    """The kinds of rows, the first of which is row 2 of its file, and what the end shows; "" is a blank row."""
    sorter, found = RowSorter(number_columns), []
    for number, row in enumerate(rows, 2):
        if row:
            found.append(sorter.kind(number, row.split(",")))
        else:
            sorter.skip_blank()
    return found, sorter.finish()


def remarks(rows: list[str], *number_columns: int) -> dict[str, str]:
    return {remark.kind: remark.text for remark in findings(rows, *number_columns)[1].remarks}


def test_a_last_row_of_sums_without_a_label_is_a_total() -> None:
    assert kinds(["A,x,10,20", "B,y,30,40", "C,z,50,60", ",,90,120"], 2, 3)[-1] == "total"
    assert remarks(["A,x,10,20", "B,y,30,40", ",,90,120"], 2, 3) == {"unlabelled": "90 · 120 (4)"}


def test_a_total_above_its_rows_is_known_at_the_end() -> None:
    found, end = findings(["全国,600", "北京,100", "上海,200", "广东,300"], 1)
    assert (found, end.kinds) == ([None] * 4, {2: "total"})
    nested = ["Total,10", "N total,3", "a,1", "b,2", "S total,7", "c,3", "d,4"]
    assert findings(nested, 1)[1].kinds == {2: "total", 3: "total", 6: "total"}


def test_totals_of_several_levels_are_no_data() -> None:
    rows = ["a,1", "b,2", "小计,3", "c,3", "d,4", "小计,7", "合计,10", "e,5", "f,6", "小计,11", "合计,11", "总计,21"]
    assert kinds(rows, 1).count("total") == 6


def test_an_average_is_no_data_if_it_is_one() -> None:
    assert kinds(["a,90", "b,80", "c,70", "平均,80"], 1)[-1] == "average"
    assert remarks(["a,90", "b,80", "平均,70"], 1) == {"unsummed": "平均 (4)"}


def test_a_total_that_sums_nothing_is_remarked() -> None:
    assert remarks(["A,100", "B,200", "Total,310"], 1) == {"unsummed": "Total (4)"}


def test_parts_of_other_rows_are_remarked() -> None:
    assert remarks(["总人口,1000", "其中：男,520", "出生率,7"], 1) == {"of_which": "其中：男 (3)"}
    assert remarks(["Revenue,500,600", "Products,300,350", "Services,200,250"], 1, 2) == {"parts": "Revenue (2)"}
    assert remarks(["一、收入,100", "1.工资,60", "2.其他,40"], 1) == {"parts": "一、收入 (2)"}
    assert "parts" not in remarks(["a,3", "b,1", "c,2", "d,9"], 1)


def test_notes_stand_below_or_between_the_rows() -> None:
    assert kinds(["A,1,2", "Note: A was revised,,", "B,3,4"], 1, 2) == [None, "note", None]
    assert kinds(["A,1,2", "Note: figures, in EUR,"], 1, 2)[-1] == "note"
    assert kinds(["A,1,2", "法定代表人：张三,,"], 1, 2)[-1] == "note"
    _, end = findings(["item,1,2", "y,3,4", "", "Extracted on 5 March,,"], 1, 2)
    assert end.kinds == {5: "note"}


def test_a_label_alone_stays_in_the_data_and_is_remarked() -> None:
    assert remarks(["Fruit,,", "Apple,3,1", "Leek,,"], 1, 2) == {"label_rows": "Fruit (2); Leek (4)"}


def test_repeated_headings_are_no_data() -> None:
    sorter = RowSorter([1], None, [["city", "n"]])
    assert [sorter.kind(n, row) for n, row in enumerate([["a", "1"], ["city", "n"], ["b", "2"]])] == [
        None,
        "heading",
        None,
    ]


def test_a_column_of_sums_is_found_in_all_rows() -> None:
    for last, right in (("24", [4]), ("25", [])):
        totals = TotalColumns([1, 2, 3, 4])
        for row in (["甲", "1", "2", "3", "6"], ["乙", "4", "5", "6", "15"], ["丙", "7", "8", "9", last]):
            totals.add(row)
        assert totals.found() == right


def test_a_label_alone_at_the_end_is_a_note_unless_other_rows_have_no_values_either() -> None:
    rows = ["A,1,5", "B,2,6", "C,3,8"]
    _, found = findings([*rows, "Leiter: Böhm,,"], 1, 2)
    assert found.kinds == {5: "note"}
    _, found = findings(["A,1,5", "North,,", "B,2,6", "C,3,8", "South,,"], 1, 2)
    assert found.kinds == {} and found.remarks[0].kind == "label_rows"
