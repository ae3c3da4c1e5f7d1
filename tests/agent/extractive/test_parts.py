"""What a question is about, and what it wants to know."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.agent.extractive.question_parts import ParsedQuestion, parse_question
from research.sources.library.index import Library
from tests.tables import each_row


def about(reading: ParsedQuestion) -> list[list[str]]:
    return [piece.subjects for piece in reading.clauses]


@each_row(
    ("question", "subjects"),
    [
        ("西湖的门票多少钱？", [["西湖"]]),
        ("西湖门票多少钱？怎么去？", [["西湖"], ["西湖"]]),
        ("西湖和颐和园的门票", [["西湖", "颐和园"]]),
        ("颐和园开放时间、门票和停车", [["颐和园"]] * 3),
        ("颐和园", [["颐和园"]]),
        ("“月亮宫”的门票", [["月亮宫"]]),
        ("《清明上河图》的作者是谁", [["清明上河图"]]),
        ("What are Kenya's exports?", [["Kenya"]]),
        ("What are Kenya’s exports?", [["Kenya"]]),
        ("exports of Kenya", [["Kenya"]]),
        ("How to get to the Summer Palace?", [["Summer Palace"]]),
        ("Is the Summer Palace open on Monday, and where can I park?", [["Summer Palace"]] * 2),
        ("The capital of Atlantis and its population?", [["Atlantis"]]),
    ],
)
def test_a_question_is_about_its_names(question: str, subjects: list[list[str]], library: Library) -> None:
    reading = parse_question(question, library)
    assert reading.has_names
    assert about(reading) == subjects


@each_row(
    ("question", "asked"),
    [
        ("西湖门票多少钱？怎么去？", ["门票", "怎么去"]),
        ("颐和园开放时间、门票和停车", ["开放时间", "门票", "停车"]),
        (
            "Summer Palace: tickets, transport and opening hours",
            ["tickets", "transport", "opening hours"],
        ),
        ("What is the capital of Atlantis and its population?", ["capital", "population"]),
        ("门票多少钱", ["门票"]),
        ("面团发酵要多久？需要什么面粉？", ["发酵", "面粉"]),
    ],
)
def test_each_thing_that_is_asked_is_a_part_in_the_questions_words(
    question: str, asked: list[str], library: Library
) -> None:
    pieces = parse_question(question, library).clauses
    assert len(pieces) == len(asked)
    for piece, words in zip(pieces, asked, strict=True):
        assert words in piece.text


@each_row("name", ["Andorra", "Orlando", "Andes", "Oregon", "Butte", "Orkney"])
def test_a_name_that_begins_like_a_joining_word_stays_whole(name: str, library: Library) -> None:
    (piece,) = parse_question(f"{name}'s wine production", library).clauses
    assert piece.subjects == [name]
    assert piece.text == f"{name}'s wine production"


@each_row("question", ["organic bread", "butter bread", "oranges in bread", "android apps"])
def test_a_word_that_begins_like_a_joining_word_stays_whole(question: str, library: Library) -> None:
    assert [piece.text for piece in parse_question(question, library).clauses] == [question]


@pytest.mark.parametrize("question", ["门票多少钱", "how do I bake bread", "面团发酵要多久"])
def test_a_question_without_a_name_has_no_subject_that_must_occur(question: str, library: Library) -> None:
    assert not parse_question(question, library).has_names


@each_row("question", ["the", "什么", "是什么吗", "?!", "of the"])
def test_a_question_without_a_telling_word_has_no_parts(question: str, library: Library) -> None:
    assert parse_question(question, library).clauses == ()


def test_what_the_documents_call_a_thing_is_not_split(library: Library, tmp_path: Path) -> None:
    own = Library(tmp_path / "library.db")
    try:
        own.set_sample_enabled(False)
        list(own.add_files([("a.md", "# 宝塔和石桥博物馆\n\n宝塔和石桥博物馆门票30元。\n".encode())]))
        assert about(parse_question("宝塔和石桥博物馆的门票", own)) == [["宝塔和石桥博物馆"]]
    finally:
        own.close()


@given(
    question=st.lists(
        st.sampled_from(
            ["西湖", "颐和园", "Kenya", "’s", "'s", "和", " and ", "的", "门票", "，", "? ", "“", "”",
             "how to get to ", "the ", "\ue000", "《", "》", " ", "Or", "多少钱"]
        ),
        max_size=12,
    ).map("".join)
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_any_question_is_read_without_trouble_and_keeps_its_names(question: str, library: Library) -> None:
    reading = parse_question(question, library)
    for piece in reading.clauses:
        assert "\ue000" not in piece.text
        assert all("\ue000" not in subject for subject in piece.subjects)
        if reading.has_names:
            assert piece.subjects
            asked = question.replace("\ue000", " ")
            assert all(subject in asked for subject in piece.subjects)


@each_row(
    ("question", "parts"),
    [
        ("1932年，电车公司为什么停运？", ["1932年，电车公司为什么停运"]),
        ("魏斯可的主席、董事长会和谁商讨？", ["魏斯可的主席、董事长会和谁商讨"]),
        ("乙二醛是有机还是无机化合物？", ["乙二醛是有机还是无机化合物"]),
        ("In 1932, why did the trams stop?", ["In 1932, why did the trams stop"]),
        ("它有多高？门票多少钱？", ["它有多高", "门票多少钱"]),
        ("请教一下，怎么坐车比较好", ["怎么坐车比较好"]),
    ],
)
def test_a_clause_that_asks_nothing_leads_to_the_one_that_does(
    question: str, parts: list[str], library: Library
) -> None:
    assert [piece.text for piece in parse_question(question, library).clauses] == parts


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("西湖和九龙潭在交通上有什么不同", {"西湖", "九龙潭"}),
        ("西湖、九龙潭、青石坞各建于哪一年", {"西湖", "九龙潭", "青石坞"}),
        ("西湖和门票", {"西湖"}),
    ],
)
def test_what_stands_beside_a_name_is_a_subject_as_well(question: str, subjects: set[str], library: Library) -> None:
    found = {subject for piece in parse_question(question, library).clauses for subject in piece.subjects}
    assert found == subjects


def test_a_capital_at_the_beginning_makes_no_name(library: Library) -> None:
    found = parse_question("Roughly how long is the boat trip from Guilin to Yangshuo?", library)
    assert "Roughly" not in {subject for piece in found.clauses for subject in piece.subjects}


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("https://example.org/a/b?x=1&y=2 讲了什么门票？", ["讲了什么门票"]),
        ("How old is the tower (https://example.org/tower.html)?", ["How old is the tower ( )"]),
        ("https://example.org/a", ["example.org"]),
    ],
)
def test_the_letters_of_an_address_are_no_words_of_the_question(
    question: str, parts: list[str], library: Library
) -> None:
    assert [piece.text for piece in parse_question(question, library).clauses] == parts
