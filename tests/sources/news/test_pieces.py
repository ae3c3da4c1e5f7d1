"""What two pieces of news have in common across scripts and languages."""

from __future__ import annotations

import pytest

from research.sources.news.article import Article
from research.sources.news.similarity import FEATURE_NAMES, SimilarityModel, extract_features
from research.sources.news.stories import cluster_articles


def features(one: str, other: str) -> dict[str, float]:
    pieces = SimilarityModel([extract_features(one), extract_features(other)])
    return dict(zip(FEATURE_NAMES, pieces.pair_features(0, 1, None), strict=True))


@pytest.mark.parametrize(
    ("chinese", "english"),
    [
        ("贵州榕江县城被淹", "River floods Rongjiang"),
        ("埃斯皮诺萨出任首席执行官", "Espinosa named chief executive"),
        ("澳洲联储降息", "Reserve Bank of Australia moves"),
    ],
)
def test_a_name_is_found_in_the_other_language(chinese: str, english: str) -> None:
    assert features(chinese, english)["names"] > 0.2
    assert features("武汉暴雨", english)["names"] == 0


def test_figures_of_both_languages_are_one_or_clash() -> None:
    assert features("罚款1.5亿欧元", "Fined 150 million euros")["figures"] > 0
    assert features("罚款1.5亿欧元", "Fined 200 million euros")["clash"] == 1


def test_traditional_and_simplified_characters_are_the_same() -> None:
    assert features("人行宣布降準", "人行宣布降准")["words"] == pytest.approx(1)


def test_a_change_at_the_top_is_one_story_in_both_languages() -> None:
    items = [
        Article(title="Nordwerk names Elena Castellano as chief executive", text="The board of Nordwerk said Castellano would replace Peter Lindner on 1 April."),
        Article(title="诺德维克换帅：卡斯特利亚诺接任首席执行官", text="公司董事会称，卡斯特利亚诺（Castellano）4月1日接替林德纳，Nordwerk股价上涨。"),
        Article(title="Museum in Oslo extends its opening hours", text="Visitors may stay until ten on Fridays."),
    ]  # fmt: skip
    assert sorted(story.source_indexes for story in cluster_articles(items)) == [(0, 1), (2,)]
