"""Headlines: the outlet's name goes, data stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from research.sources.news.titles import strip_outlet, title_key
from tests.tables import each_row


@each_row(
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
    assert strip_outlet(title) == bare


def test_the_items_own_outlet_goes_whatever_it_is_called() -> None:
    assert strip_outlet("Ferry sinks - the bugle", "The Bugle") == "Ferry sinks"


@given(st.text(max_size=60))
def test_any_text_is_taken_apart_without_an_error_and_stripping_again_changes_nothing(
    text: str,
) -> None:
    once = strip_outlet(text)
    title_key(once)
    assert strip_outlet(once) == strip_outlet(strip_outlet(once))
