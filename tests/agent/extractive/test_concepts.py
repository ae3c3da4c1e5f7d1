"""Words that mean the same, in both languages."""

from __future__ import annotations

from itertools import pairwise

import pytest

from research.agent.extractive.concepts import find_concepts, is_generic
from tests.tables import each_row


def named(text: str) -> list[str]:
    return [text[match.start : match.end] for match in find_concepts(text)]


def same(one: str, other: str) -> bool:
    """Whether two texts name a concept in common."""
    return bool({m.concept for m in find_concepts(one)} & {m.concept for m in find_concepts(other)})


@each_row(
    ("one", "other"),
    [
        ("门票", "票价"),
        ("门票", "tickets"),
        ("开放时间", "opening hours"),
        ("怎么去", "How to get there"),
        ("孩子", "children"),
        ("遛娃", "kids"),
        ("停车场", "parking"),
        ("booking", "预约"),
        ("reservation", "reserve"),
        ("休馆", "闭馆"),
    ],
)
def test_words_that_mean_the_same_share_a_concept(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(("one", "other"), [("门票", "停车"), ("tickets", "children"), ("海拔", "面积")])
def test_words_that_mean_different_things_share_none(one: str, other: str) -> None:
    assert find_concepts(one)
    assert find_concepts(other)
    assert not same(one, other)


def test_a_word_that_asks_is_told_from_one_that_is_asked_about() -> None:
    (price, asked) = find_concepts("票价多少钱")
    assert not price.is_question_word
    assert asked.is_question_word
    assert asked.concept == price.concept


def test_where_words_overlap_the_longest_is_meant() -> None:
    assert named("停车场在哪里") == ["停车场", "在哪里"]
    assert named("entrance fee") == ["entrance fee"]


def test_an_english_word_is_found_as_a_word_only() -> None:
    assert "fee" not in named("coffee beans")
    assert "bus" not in named("busy")
    assert named("Tickets!") == ["Tickets"]


def test_matches_lie_in_order_and_never_overlap() -> None:
    text = "西湖门票多少钱？怎么去？ How much is a ticket, and how do I get to the metro?"
    found = find_concepts(text)
    assert len(found) >= 5
    for before, after in pairwise(found):
        assert before.end <= after.start


@each_row("name", ["门票", "Tickets", "开放时间", "Opening hours", "门票 价格"])
def test_a_name_that_only_says_what_is_usually_asked_is_generic(name: str) -> None:
    assert is_generic(name)


@each_row("name", ["西湖", "Summer Palace", "西湖门票", "Kenya"])
def test_a_name_that_says_more_is_not_generic(name: str) -> None:
    assert not is_generic(name)
