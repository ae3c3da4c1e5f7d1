"""Whether a sentence stands in a passage word for word, wherever its layout broke the lines."""

from __future__ import annotations

import pytest

from research.citations.judge import judge_claim
from research.citations.verbatim import find_verbatim_sentence
from tests.tables import each_row

ENGLISH = "The tower was\n   finished in 1889 for a fair. It is 330 metres\nhigh and belongs to the\ncity."
CHINESE = "故宫博物院建立于\n1925年。藏\n品超过 186 万件，其中\n　　多数是清宫旧藏\n。旺季门票60元。"
WRAPPED = (
    "有人认为故宫博物院在旺季的时候对所有人门票免费\n"
    "的说法并不属实，因为这个说法没有任何的根据可言\n"
    "，详见官方网站上公布的价格表以及相关的各种说明。"
)


@each_row(
    ("claim", "passage", "said"),
    [
        ("The tower was finished in 1889 for a fair.", ENGLISH, ENGLISH[:44]),
        ("It is 330 metres high and belongs to the city.", ENGLISH, ENGLISH[46:-1]),
        ("故宫博物院建立于1925年。", CHINESE, "故宫博物院建立于\n1925年"),
        ("藏品超过186万件，其中多数是清宫旧藏。", CHINESE, CHINESE[15:-10]),
        ("旺季门票 60 元。", CHINESE, "旺季门票60元"),
    ],
)
def test_a_quote_goes_over_the_end_of_a_line(claim: str, passage: str, said: str) -> None:
    span = find_verbatim_sentence(claim, passage)
    assert span is not None and passage[slice(*span)] == said
    ruling = judge_claim(claim, [passage])
    assert (ruling.status, ruling.start, ruling.end) == ("supported", *span)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("有人认为故宫博物院在旺季的时候对所有人门票免费。", WRAPPED),
        ("Smoking in parks is legal.", "It is often said, and was never true, that all smoking in parks is legal\nunder the rules of the city, which are old and\nhard to read."),
        ("Smoking in the parks of the city is legal.", "Smoking in the parks of the city is legal\nonly on the paths that are marked in red on the maps\nof the city."),
    ],
)  # fmt: skip
def test_a_line_that_goes_on_is_no_sentence(claim: str, passage: str) -> None:
    assert find_verbatim_sentence(claim, passage) is None


def test_a_line_of_its_own_is_one() -> None:
    assert find_verbatim_sentence("门票免费", "故宫博物院\n门票免费\n每周一闭馆") == (6, 10)
    assert find_verbatim_sentence("Open all day", "Museum\nOpen all day\nClosed on Mondays") == (7, 19)
    assert find_verbatim_sentence("门票免费", "故宫博物院\n门票\n\n免费") is None
