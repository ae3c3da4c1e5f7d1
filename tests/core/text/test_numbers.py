"""Numbers of both languages: each is read as what a formula of its own spells it from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.core.text.folding import fold_text
from research.core.text.numbers import find_numerals, parse_number
from research.core.text.quantities import find_measures
from tests.tables import each_row

ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
EACH = [
    *range(1_200),
    *range(1_200, 100_000_000, 43_319),
    10_000,
    10_010,
    100_000,
    20_000_005,
    10**8,
]


def english(n: int, *, joined: str = " and ") -> str:
    """A whole number in words: 305 is "three hundred and five"."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10 - 2] + (f"-{ONES[n % 10]}" if n % 10 else "")
    for scale, name in ((10**6, "million"), (1_000, "thousand"), (100, "hundred")):
        if n >= scale:
            more, rest = divmod(n, scale)
            link = joined if rest < 100 else " "
            tail = f"{link}{english(rest, joined=joined)}" if rest else ""
            return f"{english(more, joined=joined)} {name}{tail}"
    raise AssertionError(n)


def chinese(n: int, *, inner: bool = False) -> str:
    """A whole number in Chinese numerals: 10,500 is 一万零五百."""
    if n < 10:
        return "零一二三四五六七八九"[n]
    for scale, sign in ((10**8, "亿"), (10**4, "万"), (1_000, "千"), (100, "百"), (10, "十")):
        if n >= scale:
            more, rest = divmod(n, scale)
            head = "" if (more, scale, inner) == (1, 10, False) else chinese(more, inner=True)
            gap = "零" if rest and rest * 10 < scale else ""
            return head + sign + (gap + chinese(rest, inner=True) if rest else "")
    raise AssertionError(n)


def value(text: str) -> float:
    (only,) = find_numerals(fold_text(text))
    assert (only.start, only.end) == (0, len(text))
    assert only.low == only.high
    return only.low


def test_every_number_in_chinese_numerals_is_read_as_what_it_spells() -> None:
    assert [n for n in EACH if parse_number(chinese(n)) != n] == []
    assert [n for n in EACH if value(chinese(n)) != n] == []


@pytest.mark.parametrize("joined", [" and ", " "])
def test_every_number_in_english_words_is_read_as_what_it_spells(joined: str) -> None:
    assert [n for n in EACH if value(english(n, joined=joined)) != n] == []
    assert [n for n in EACH if value(english(n, joined=joined).capitalize()) != n] == []


@given(st.integers(2, 10**8))
def test_a_number_of_people_is_one_figure_however_it_is_spelled(n: int) -> None:
    spelled = (f"{n} people", f"{n:,} people", f"{english(n)} people", f"{n}人", f"{chinese(n)}人")
    found = {(m.kind, m.low, m.high) for text in spelled for m in find_measures(text)}
    assert found == {("people", n, n)}


@each_row(
    ("text", "worth"),
    [
        ("一万二", 12_000),
        ("三百五", 350),
        ("两千零二十六", 2026),
        ("二〇二六", 2026),
        ("廿五", 25),
        ("三点五", 3.5),
        ("三.5", 3.5),
        ("三点五万", 35_000),
        ("一万亿", 1e12),
        ("三千五百万亿", 3.5e15),
        ("12亿3456万", 1_234_560_000),
        ("1.2万亿", 1.2e12),
        ("5千", 5_000),
        ("3百万", 3e6),
        ("壹仟贰佰叁拾肆", 1_234),
        ("１２３", 123),
        ("٣٤", 34),
        ("两萬三千", 23_000),
        ("壹佰貳拾", 120),
        ("3億", 3e8),
        ("1,234,567.5", 1_234_567.5),
        ("1,20,000", 120_000),
        ("12 345 678", 12_345_678),
        (".81", 0.81),
        ("1e6", 1e6),
        ("2.5e-3", 0.0025),
        ("3×10⁸", 3e8),
        ("3 x 10^8", 3e8),
        ("1.2 lakh crore", 1.2e12),
        ("25 lakh", 2.5e6),
        ("5 hundred thousand", 500_000),
        ("4.35 million", 4_350_000),
        ("1.2-million", 1_200_000),
        ("3bn", 3e9),
        ("5k", 5_000),
        ("1.2E+06".lower(), 1.2e6),
        ("half a million", 500_000),
        ("half-a-million", 500_000),
        ("a half million", 500_000),
        ("half million", 500_000),
        ("quarter of a million", 250_000),
        ("a quarter million", 250_000),
        ("Half a Dozen", 6),
        ("a dozen", 12),
        ("two dozen", 24),
        ("two and a half million", 2_500_000),
        ("2 and a half million", 2_500_000),
        ("a quarter of a million", 250_000),
        ("three quarters of a million", 750_000),
        ("a thousand million", 1e9),
        ("a hundred and one", 101),
        ("one hundred twenty-three thousand four hundred fifty-six", 123_456),
        ("three point one four", 3.14),
        ("zero point five", 0.5),
        ("1½", 1.5),
        ("2 3/4", 2.75),
        ("¾", 0.75),
    ],
)
def test_a_number_is_what_it_is_worth(text: str, worth: float) -> None:
    assert value(text) == pytest.approx(worth)


@each_row(
    ("text", "least", "most"),
    [
        ("十几", 11, 19),
        ("二十几", 21, 29),
        ("几十", 20, 100),
        ("几百万", 2e6, 1e7),
        ("数十万", 2e5, 1e6),
        ("一两百", 100, 200),
        ("三五百", 300, 500),
        ("七八十", 70, 80),
        ("十七八", 17, 18),
        ("两三亿", 2e8, 3e8),
        ("三四十万", 3e5, 4e5),
        ("several hundred", 200, 1_000),
        ("a few thousand", 2_000, 10_000),
        ("a couple of hundred", 200, 300),
        ("hundreds of thousands", 2e5, 1e6),
    ],
)
def test_a_vague_number_runs_from_a_least_to_a_most(text: str, least: float, most: float) -> None:
    (found,) = find_numerals(text)
    assert (found.low, found.high, text[found.start : found.end]) == (least, most, text)


@each_row(
    ("text", "step", "coarse"),
    [
        ("12,000", 1, 1_000),
        ("1.2万", 1_000, 1_000),
        ("1.20 million", 10_000, 100_000),
        ("三十五万", 10_000, 10_000),
        ("3百万", 1e6, 1e6),
        ("0.25", 0.01, 0.01),
        ("thirty", 10, 10),
    ],
)
def test_a_number_knows_what_its_last_digit_is_worth(text: str, step: float, coarse: float) -> None:
    (found,) = find_numerals(text)
    assert (found.resolution, found.coarse_resolution) == (pytest.approx(step), pytest.approx(coarse))


@each_row(
    ("text", "told"),
    [
        ("between one hundred and two hundred", [100, 200]),
        ("between two thousand and three thousand", [2_000, 3_000]),
        ("one two three", [1, 2, 3]),
        ("参观人数十万", [100_000]),
        ("阿二18岁", [2, 18]),
        ("5亿千瓦时", [5e8]),
        ("百分之三点九.", [3.9]),
        ("一点点", [1]),
    ],
)
def test_numbers_that_stand_side_by_side_are_told_apart(text: str, told: list[float]) -> None:
    assert [n.low for n in find_numerals(text)] == told


@each_row(
    "text",
    [
        "1.2.3",
        "192.168.0.1",
        "twenty-first",
        "万一",
        "几个",
        "十百",
        "一二三千",
        "一丝",
        "a and the",
        "",
    ],
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert [n for n in find_numerals(text) if text[n.start : n.end] != "一"] == []


def test_only_a_text_that_is_one_number_is_a_number() -> None:
    assert [parse_number(t) for t in ("十二", "12", "十二个", "12 kg", "", "半")] == [12, 12, None, None, None, None]  # fmt: skip
