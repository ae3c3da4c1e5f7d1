"""A table of a document loses no row."""

from __future__ import annotations

from research.readers.table_text import table_lines


def test_a_table_of_one_row_is_text_and_no_headings() -> None:
    assert table_lines([["Fee", "40 yuan"]]) == ["Fee: 40 yuan"]
    assert table_lines([["Fee", "adults", "children"]]) == ["Fee; adults; children"]
    assert table_lines([["Year", "Fee"], ["", " "]], 1) == ["Year: Fee"]
    assert table_lines([]) == []
