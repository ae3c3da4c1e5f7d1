"""Headlines: the outlet's name goes, data stays; numbers with their units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.news.counts import Quantity, agrees, clash, quantities
from research.news.headlines import parsed, stripped


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("央行宣布下调存款准备金率 - 证券时报", "央行宣布下调存款准备金率"),
        ("国家统计局公布十月份数据_新浪财经_新浪网", "国家统计局公布十月份数据"),
        ("Oil falls as output rises | Reuters", "Oil falls as output rises"),
        ("Oil falls as output rises - The New York Times", "Oil falls as output rises"),
        ("Oil falls as output rises – Harbour Dispatch", "Oil falls as output rises"),
        ("【快讯】台风登陆广东", "台风登陆广东"),
        ("Breaking: Ferry sinks off Indonesia", "Ferry sinks off Indonesia"),
        ("COVID-19", "COVID-19"),
        ("New wave of COVID-19", "New wave of COVID-19"),
        ("公司公布前三季度收入-增长10%", "公司公布前三季度收入-增长10%"),
        ("公司公布前三季度收入 - 增长10%", "公司公布前三季度收入 - 增长10%"),
        ("Paris - Berlin night train returns", "Paris - Berlin night train returns"),
        ("_", "_"),
        ("", ""),
    ],
)
def test_an_outlet_behind_a_headline_goes_and_nothing_else(title: str, bare: str) -> None:
    assert stripped(title) == bare


def test_the_items_own_outlet_goes_whatever_it_is_called() -> None:
    assert stripped("Ferry sinks - the bugle", "The Bugle") == "Ferry sinks"


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("接待游客超430万人次", 4_300_000, "people"),
        ("4.3 million visitors", 4_300_000, "people"),
        ("三十五人获救", 35, "people"),
        ("Nine hurt after storm", 9, "people"),
        ("storm injures 9", 9, "people"),
        ("Thirty-two people rescued", 32, "people"),
        ("3死5伤", 5, "people"),
        ("罚款1.2亿元", 120_000_000, "yuan"),
        ("raises $400m", 400_000_000, "usd"),
        ("raises A$400m", 400_000_000, "aud"),
        ("下调0.5个百分点", 0.5, "points"),
        ("up 3.2 percent", 3.2, "%"),
        ("雅安5.2级地震", 5.2, "magnitude"),
        ("a 6.1-magnitude quake", 6.1, "magnitude"),
        ("成都地铁18号线", 18, "line"),
        ("11月份", 11, "month"),
        ("in November", 11, "month"),
        ("第二季度", 2, "quarter"),
        ("Q3 results", 3, "quarter"),
        ("flight 302 delayed", 302, "of flight"),
        ("302 ships wait", 302, "as ship"),
    ],
)
def test_a_figure_counts_its_unit_or_the_word_beside_it(text: str, value: float, unit: str) -> None:
    assert (value, unit) in [(q.value, q.unit) for q in quantities(text)]


@pytest.mark.parametrize("text", ["三明市", "一些", "COVID-19", "C919", "T3航站楼", "one of us", "一带一路"])  # fmt: skip
def test_what_only_looks_like_a_number_counts_nothing(text: str) -> None:
    assert quantities(text) == ()


def test_rounded_figures_agree_and_others_clash() -> None:
    def figure(text: str) -> Quantity:
        return quantities(text)[0]

    assert agrees(figure("12亿元"), figure("12.3亿元"))
    assert agrees(figure("超100人"), figure("104人"))
    assert agrees(figure("Thirty-two people"), figure("32 people"))
    assert not agrees(figure("0.5%"), figure("0.25%"))
    assert not agrees(figure("12人"), figure("15人"))
    assert clash(quantities("涨3%"), quantities("涨5%")) == {"%"}
    assert clash(quantities("涨3%"), quantities("涨5元")) == frozenset()


@given(st.text(max_size=60))
def test_any_text_is_taken_apart_without_an_error_and_stripping_again_changes_nothing(
    text: str,
) -> None:
    once = stripped(text)
    parsed(text)
    assert stripped(once) == stripped(stripped(once))
