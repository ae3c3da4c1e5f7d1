"""The delimiter of a text file is found by how it splits the rows."""

from __future__ import annotations

from research.readers.delimiters import find_delimiter, find_quote
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
        ('"name" "n"\n"1" "Zoe, Ltd" 5\n"2" "Bonn" 6\n"3" "Oslo" 7\n', " "),
        ("id   name      value\n1    Alpha     10.5\n2    Beta      20.25\n3    Gamma     30\n", " "),
        ("项目，数量\n甲，12\n乙，34\n", "，"),
        ("a~b\n1~2\n3~4\n", "~"),
        ("09:15\n10:20\n11:30\n", ","),
        ("one two\nthree four\nfive six\nseven eight\n", ","),
    ],
)
def test_the_delimiter_is_the_mark_that_splits_rows_alike(text: str, mark: str) -> None:
    assert find_delimiter(text, ".csv").mark == mark


def test_a_tsv_file_of_one_column_is_split_at_tabs() -> None:
    assert find_delimiter("a, b\nc\n", ".tsv").mark in "\t,"


@each_row(
    ("lines", "quote"),
    [
        (["'a'|'b'\n", "'x|y'|1\n"], "'"),
        (['"a","b"\n', "'x',1\n"], '"'),
        (["it's,1\n", "that's,2\n"], '"'),
        (["a,b\n", "1,2\n"], '"'),
    ],
)
def test_single_quotation_marks_are_found_around_cells_alone(lines: list[str], quote: str) -> None:
    assert find_quote(lines) == quote
