"""Totals and notes are no data, if the arithmetic agrees."""

from __future__ import annotations

from research.readers.total_rows import RowSorter, is_total_word
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
