"""Confirmed questions: which one is the same, and which are like another."""

from __future__ import annotations

import pytest

from research.sources.database.confirmed_statements import MAX_EXAMPLES, find_similar, find_statement

PAIRS = [
    ("浙江评分最高的景区", "zhejiang"),
    ("江苏评分最高的景区", "jiangsu"),
    ("Which area is the best rated?", "best"),
    ("浙江的门票", "tickets"),
]


@pytest.mark.parametrize("question", ["浙江评分最高的景区？", " 浙江 评分最高的景区。", "浙江评分最高的景区!!"])
def test_spacing_and_punctuation_make_no_other_question(question: str) -> None:
    assert find_statement(question, PAIRS) == "zhejiang"


def test_width_and_case_make_no_other_question() -> None:
    assert find_statement("ＷＨＩＣＨ area is the best rated", PAIRS) == "best"


@pytest.mark.parametrize("question", ["浙江评分最低的景区", "浙江评分最高的景", ""])
def test_one_word_less_is_another_question(question: str) -> None:
    assert find_statement(question, PAIRS) == ""


def test_the_likest_goes_first_and_what_is_unlike_is_left_out() -> None:
    found = [sql for _, sql in find_similar("浙江评分最高的景区有哪些", PAIRS)]
    assert found[:2] == ["zhejiang", "jiangsu"]
    assert "best" not in found


def test_no_more_are_shown_than_a_prompt_has_room_for() -> None:
    many = [(f"浙江评分最高的景区{n}", str(n)) for n in range(10)]
    assert len(find_similar("浙江评分最高的景区", many)) == MAX_EXAMPLES
