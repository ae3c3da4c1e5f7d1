"""The rough tone of headlines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from research.sources.news.sentiment import headline_tone
from tests.tables import each_row


@each_row(
    ("headline", "told"),
    [
        ("企业扭亏为盈，股价创新高", "positive"),
        ("两车相撞致三人受伤", "negative"),
        ("景区服务差引发游客强烈不满", "negative"),
        ("地震未造成人员伤亡", "neutral"),
        ("公司否认裁员", "positive"),
        ("国家统计局今日举行发布会", "neutral"),
        ("Shares surge to record as profit beats forecasts", "positive"),
        ("Ferry sinks, 12 dead", "negative"),
        ("Quake causes no damage", "neutral"),
        ("Team fails to win", "neutral"),
        ("Minister meets envoy", "neutral"),
        ("", "neutral"),
    ],
)
def test_the_words_and_what_denies_them_decide_the_tone(headline: str, told: str) -> None:
    assert headline_tone(headline) == told


@given(st.text(max_size=60))
def test_any_text_has_a_tone(text: str) -> None:
    assert headline_tone(text) in ("positive", "negative", "neutral")
