"""A decimal is one number, however a layout has spaced it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from research.core.text.decimals import join_decimals, pad_decimals
from research.core.text.quantities import find_measures
from research.core.text.sentences import split_sentences
from research.readers.documents import read_document
from tests.tables import each_row

SPACED = [
    ("0 . 5", "0.5"),
    ("The rate fell to 0 . 5 % in 2020.", "The rate fell to 0.5 % in 2020."),
    ("降雨量为0 . 5毫米。", "降雨量为0.5毫米。"),
    ("降雨量为0 ． 5 毫米", "降雨量为0.5 毫米"),
    ("was 0\u2009.\u20095 mm", "was 0.5 mm"),
    ("a p of 0 .03 or less", "a p of 0.03 or less"),
    ("rain of 0. 5 mm", "rain of 0.5 mm"),
    ("同比增长12. 5%，", "同比增长12.5%，"),
    ("fell by 12 . 5 % in May", "fell by 12.5 % in May"),
    ("总额为3 . 2亿元", "总额为3.2亿元"),
    ("a total of 1 . 2 million people", "a total of 1.2 million people"),
    ("at -0 . 5 °C", "at -0.5 °C"),
    ("It costs $2 . 50 a day.", "It costs $2.50 a day."),
    ("1,234 . 5 km of road", "1,234.5 km of road"),
    ("about $0 . 5 \\%$ of it", "about $0.5 \\%$ of it"),
]


@each_row(("text", "joined"), SPACED)
def test_a_decimal_that_is_spaced_apart_is_joined(text: str, joined: str) -> None:
    assert join_decimals(text) == joined
    assert len(pad_decimals(text)) == len(text)
    values = [(m.kind, m.low, m.high) for m in find_measures(joined)]
    assert [(m.kind, m.low, m.high) for m in find_measures(text)] == values
    assert len(split_sentences(text)) == len(split_sentences(joined))


@each_row(
    "text",
    [
        "1 . 5 apples",
        "1 . 5 km from here stands a tower",
        "1 . 5个苹果",
        "2 . 3",
        "see 2 . 3 and 4",
        "1 . 2 . 3 %",
        "version 1 . 0 . 5",
        "192 . 168 . 0 . 1",
        "It ended 3-0 . 5 players left.",
        "It was built in 2012 . 5 % of it burned.",
        "He was 12. 5 % of them agreed.",
        "The score was 0. 5 players left.",
        "They had scored 0. 5 minutes later they did.",
        "共有3 . 5个人来了",
        "It costs $2 . 5 people came.",
        "A0 . 5",
        "0.5",
    ],
)
def test_the_end_of_a_sentence_and_the_number_of_an_item_are_no_point_of_a_decimal(
    text: str,
) -> None:
    assert join_decimals(text) == pad_decimals(text) == text


@given(st.text("0123 ．.%\n米m-", max_size=30))
def test_joining_is_done_once_and_only_blanks_go(text: str) -> None:
    joined = join_decimals(text)
    assert "".join(joined.replace("．", ".").split()) == "".join(text.replace("．", ".").split())
    assert len(pad_decimals(text)) == len(text)


@each_row(
    ("name", "data"),
    [
        ("a.txt", "The rate fell to 0 . 5 % in 2020."),
        ("a.md", "# Rates\n\nThe rate fell to 0 . 5 % in 2020."),
        ("a.html", "<h1>Rates</h1><p>The rate fell to <b>0</b> . <b>5</b> % in 2020.</p>"),
        ("a.csv", "what,value\nrate,The rate fell to 0 . 5 % in 2020."),
    ],
)
def test_a_document_is_read_with_its_decimals_whole(name: str, data: str) -> None:
    assert "The rate fell to 0.5 % in 2020." in read_document(name, data.encode()).text


@each_row("piece", ["123 . 456 % ", "0 . 5 ", "1 . ", "1 ", "1"])
def test_a_long_line_holds_nobody_up(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    assert len(pad_decimals(text)) == len(text) >= len(join_decimals(text))
