"""Figures that follow from others by one step."""

from __future__ import annotations

from research.core.text.quantities import find_measures, is_derivable
from tests.tables import each_row


def follows(claim: str, given: str) -> bool:
    (figure,) = find_measures(claim)
    return is_derivable(figure, find_measures(given))


@each_row(
    "claim given",
    [
        ("together 30 km", "12 km and 18 km"),  # a sum of two, of several in a row
        ("一共60元", "门票10元，船票20元，餐费30元"),
        ("6 km longer", "12 km and 18 km"),
        ("其余占60%", "40%的人同意"),
        ("涨至45%", "原为40%，提高5个百分点"),
        ("5 percentage points", "40% in May, 45% in June"),
        ("lasted 4 years", "begun in 1921 and finished in 1925"),
        ("2 million before", "grew by 50% to 3 million"),
        ("300人", "1000人的30%"),  # a share, and what falls to one
        ("5 dollars each", "20 dollars for 4 people"),
        ("3倍", "从200元到600元"),
        ("25%", "5 of the 20 people"),
        ("up 50%", "200 yuan in May, 300 yuan in June"),
    ],
)
def test_what_one_step_gives_follows(claim: str, given: str) -> None:
    assert follows(claim, given)


@each_row(
    "claim given",
    [
        ("31 km", "12 km and 18 km"),
        ("30 kg", "12 km and 18 km"),
        ("30 km", "12 to 18 km"),
        ("一共65元", "门票10元，船票20元，餐费30元，车费70元"),
        ("70%", "40%的人同意"),
        ("lasted 5 years", "begun in 1921 and finished in 1925"),
        ("3 million before", "grew by 50% to 3 million"),
        ("4倍", "从200元到600元"),
    ],
)
def test_what_none_gives_does_not(claim: str, given: str) -> None:
    assert not follows(claim, given)


def test_among_many_figures_nothing_is_said_to_follow() -> None:
    given = ", ".join(f"{n} km" for n in range(3, 46))
    assert not follows("together 7 km", given)
    assert follows("together 7 km", "3 km, 4 km")
