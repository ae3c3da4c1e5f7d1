"""Small readers that others are made of: one spelling, bounds, units by their spelling, words."""

from __future__ import annotations

import re

import pytest

from research.core.text.folding import fold_text
from research.core.text.measure import Measure
from research.core.text.quantities import find_measures, span_with_bound
from research.core.text.segment import cut, cut_for_search, tag
from research.core.text.sentences import replace_soft_breaks, unwrap_lines
from research.core.text.tokenizer import certain_language
from research.core.text.units import is_word_start, unit_factor, unit_pattern
from tests.tables import each_row


@each_row(
    "written read",
    [
        ("ＡＢ１２％", "ab12%"),
        ("Café, NAÏVE", "cafe, naive"),
        ("門票，（甲）", "门票，（甲）"),
        ("it’s 5\u00a0−\u20113", "it's 5 --3"),
        ("٣٤", "34"),
        ("x²", "x²"),
    ],
)
def test_a_text_has_one_spelling_in_which_offsets_stay(written: str, read: str) -> None:
    assert fold_text(written) == read
    assert len(fold_text(written)) == len(written)


@each_row(
    "text stretch",
    [
        ("costs about 30 yuan today", "about 30 yuan"),
        ("不超过30元", "不超过30元"),
        ("30公里以上的路", "30公里以上"),
        ("30 km or so away", "30 km or so"),
        ("on 30 km of road", "30 km"),
    ],
)
def test_a_figure_is_bounded_by_the_words_around_it(text: str, stretch: str) -> None:
    (found,) = find_measures(text)
    start, end = span_with_bound(text, found)
    assert text[start:end].strip() == stretch


@each_row(
    "said kind times",
    [("km", "length", 1000.0), ("公里", "length", 1000.0), ("Minutes", "duration", 60.0), ("nautical-miles", "length", 1852.0), ("km", "mass", 0.0), ("frobs", "length", 0.0)],
)  # fmt: skip
def test_a_unit_is_so_many_of_its_kinds_base_unit(said: str, kind: str, times: float) -> None:
    assert unit_factor(said, kind) == pytest.approx(times)


def test_a_pattern_of_spellings_has_those_of_a_unit_or_of_a_kind_the_longest_first() -> None:
    assert re.fullmatch(unit_pattern("km"), "kilometres")
    assert not re.fullmatch(unit_pattern("km"), "mile")
    assert re.fullmatch(unit_pattern("length"), "mile")
    match = re.match(unit_pattern("length"), "kilometres")
    assert match is not None and match[0] == "kilometres"


def test_a_chinese_unit_may_be_the_beginning_of_a_word() -> None:
    assert is_word_start("3部署于此", 2, "部")
    assert not is_word_start("3部电影", 2, "部")
    assert not is_word_start("3 kmh", 4, "km")


def test_chinese_text_is_cut_into_words() -> None:
    assert cut("故宫博物院的门票") == ["故宫博物院", "的", "门票"]
    assert {"博物", "博物院"} <= set(cut_for_search("博物院"))
    assert ("北京", "ns") in tag("北京的门票")


@each_row(
    "text language",
    [
        ("故宫博物院成立于一九二五年十月", "zh"),
        ("The museum was founded in 1925 and is open on all days but Monday", "en"),
        ("故宫 is a palace in the very middle of the old city of Beijing", "en"),
        ("故宫", None),
        ("故宫博物院 and the 颐和园 and also 天坛 are all in Beijing", "zh"),
    ],
)
def test_the_language_of_a_text_is_told_where_it_is_certain(text: str, language: str | None) -> None:
    assert certain_language(text) == language


def test_lines_that_a_layout_broke_are_joined_and_others_are_not() -> None:
    broken = "The council approved the new tram line in March, and it is to\nbe built by the end of the year, if the money is there by\nthen. Nobody knows.\n\n- one\n- two"
    assert unwrap_lines(broken).split("\n") == [
        "The council approved the new tram line in March, and it is to be built by the end of the year, if the money is there by then. Nobody knows.",
        "",
        "- one",
        "- two",
    ]
    assert replace_soft_breaks(broken) == broken.replace("to\nbe", "to be").replace("by\nthen", "by then")


def test_a_measure_knows_where_it_stands() -> None:
    (found,) = find_measures("海拔5,895米")
    assert isinstance(found, Measure)
    assert "海拔5,895米"[found.start : found.end] == "5,895米"
