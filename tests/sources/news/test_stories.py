"""Stories: what is one event and what is not, copies, order, size, and the labelled pairs."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.sources.news.article import Article
from research.sources.news.stories import StoryCluster, cluster_articles
from research.sources.news.syndication import count_independent, find_agency
from research.sources.news.titles import strip_outlet, title_key
from tests.benchmarks.stories import alone, made_up, pairs, score, together
from tests.tables import each_row

DAY = datetime(2026, 11, 20, 8, tzinfo=UTC)
TEXT = "The regional government said on Friday that the bridge over the river would stay shut until engineers had checked every cable and every joint of it."
QUAKE = ("四川雅安发生5.2级地震，暂无人员伤亡报告", "雅安5.2级地震 目前未接到伤亡报告")


def grouped(*titles: str) -> list[tuple[int, ...]]:
    return sorted(story.source_indexes for story in cluster_articles([Article(title=title) for title in titles]))


def same(one: str, other: str) -> bool:
    return len(grouped(one, other)) == 1


@each_row(
    ("one", "other"),
    [
        QUAKE,
        ("Landslide in Nepal kills 14", "At least 14 dead after landslide in Nepal"),
        ("Oil falls 4% on output signal | Reuters", "Oil prices drop 4% on output signal"),
        ("Harbour beat Kingsport 3-1", "Kingsport lose 3-1 to Harbour"),
    ],
)
def test_one_event_in_other_words_is_one_story(one: str, other: str) -> None:
    assert same(one, other)


@each_row(
    ("one", "other"),
    [
        ("央行降准0.5个百分点", "央行降准0.25个百分点"),
        ("国际油价周三上涨4%", "国际油价周三下跌4%"),
        ("黄山风景区临时关闭", "黄山风景区恢复开放"),
        ("11月制造业PMI公布", "10月制造业PMI公布"),
        ("杭州地铁2号线故障", "苏州地铁2号线故障"),
        ("Regulators approve Altex merger", "Regulators reject Altex merger"),
        ("Oil rises as OPEC cuts output", "Oil falls as OPEC raises output"),
        ("Police arrest suspect in theft", "Police release suspect in theft"),
    ],
)
def test_other_figures_opposites_places_and_dates_are_other_stories(one: str, other: str) -> None:
    assert not same(one, other)


def test_a_story_in_both_scripts_is_one_and_its_headlines_stay_as_they_are() -> None:
    titles = ("四川雅安发生5.2级地震，暂无人员伤亡报告", "四川雅安發生5.2級地震，暫無人員傷亡報告")
    (story,) = cluster_articles([Article(title=title, outlet=f"o{n}") for n, title in enumerate(titles)])
    assert [item.title for item in story.articles] == [*titles]
    assert story.headline in titles


def test_the_same_text_in_both_scripts_is_a_copy() -> None:
    text = (
        "省政府周五表示，跨江大桥将继续封闭，直到工程师检查完每一根缆索和每一个接头为止，预计需要两周时间，期间车辆请绕行。"
        * 2
    )
    other = (
        "省政府週五表示，跨江大橋將繼續封閉，直到工程師檢查完每一根纜索和每一個接頭為止，預計需要兩週時間，期間車輛請繞行。"
        * 2
    )
    items = [Article(title="大桥继续封闭", text=text), Article(title="大橋續封", text=other)]
    assert count_independent(items, ["甲报", "乙报"]) == 1


def test_a_chain_of_similar_headlines_unites_no_two_events() -> None:
    found = grouped(
        "杭州西湖景区因暴雨关闭",
        "西湖景区关闭",
        "惠州西湖景区因暴雨关闭",
        "杭州西湖景区今因暴雨关闭",
    )
    assert not any({0, 2} <= set(group) for group in found)
    assert any({0, 3} <= set(group) for group in found)


def test_one_address_is_one_item_and_one_story_whatever_its_headlines() -> None:
    items = [
        Article(title="Ferry sinks", url="https://www.a.example/1?utm_source=x"),
        Article(title="Live: what we know so far", url="https://a.example/1#top", outlet="A"),
        Article(title="Museum opens", url="https://a.example/"),
        Article(title="Bank fined", url="https://a.example/"),
    ]
    found = {story.source_indexes: story for story in cluster_articles(items)}
    assert set(found) == {(0, 1), (2,), (3,)}
    assert len(found[0, 1].articles) == 1
    assert found[0, 1].outlets == ("A",)


def test_copies_and_agencies_count_once() -> None:
    title = "Bridge over river stays shut, regional government says"
    items = [
        Article(title=title, outlet="North Post", text=TEXT),
        Article(title=title, outlet="South Post", text=TEXT + " More soon."),
        Article(title=title, outlet="West Post", text="(Reuters) - " + "Something else entirely was written here about the bridge. " * 3),
        Article(title=title, outlet="Reuters", text="A wholly different account of the same closure by a reporter. " * 3),
        Article(title=title, outlet="East Post", text="Its own reporter stood on the bank and counted the cars that had to turn. " * 3),
    ]  # fmt: skip
    (story,) = cluster_articles(items)
    assert (len(story.articles), len(story.outlets), story.independent_count) == (5, 5, 3)


@each_row(
    ("item", "name"),
    [
        (Article(outlet="新华网"), "Xinhua"),
        (Article(text="新华社北京11月20日电（记者 某某）今天"), "Xinhua"),
        (Article(text="据央视新闻消息，今天"), "CCTV"),
        (Article(title="Ferry sinks off the coast | Reuters"), "Reuters"),
        (Article(text="LONDON (AP) — Something happened"), "AP"),
        (Article(text="The minister told Reuters that he would stay"), ""),
        (Article(title="Reuters names new editor"), ""),
        (Article(), ""),
    ],
)
def test_an_agency_counts_where_it_is_the_origin(item: Article, name: str) -> None:
    assert find_agency(item) == name


def test_the_same_headline_a_week_later_is_another_event() -> None:
    title = "北京发布大风蓝色预警"
    items = [Article(title=title, published=DAY + timedelta(days=n)) for n in (0, 1, 9)]
    assert sorted(story.source_indexes for story in cluster_articles(items)) == [(0, 1), (2,)]


def test_a_story_tells_its_dates_and_a_day_stays_a_day() -> None:
    items = [
        Article(title="Ferry sinks off Indonesia", published=DAY),
        Article(title="Ferry sinks off Indonesia", published=datetime(2026, 11, 20, tzinfo=UTC), is_day_only=True),
        Article(title="Ferry sinks off Indonesia"),
    ]  # fmt: skip
    (story,) = cluster_articles(items)
    assert story.earliest
    assert story.latest
    assert (story.earliest.iso_text, story.latest.iso_text) == ("2026-11-20", "2026-11-20T08:00:00Z")


def test_items_without_anything_are_stories_of_their_own() -> None:
    found = cluster_articles([Article(), Article(), Article(title="  "), Article(text="Ferry sinks off Indonesia.")])
    assert sorted(story.source_indexes for story in found) == [(0,), (1,), (2,), (3,)]
    assert cluster_articles([]) == ()


def told(found: tuple[StoryCluster, ...], titles: list[str]) -> set[tuple[str, ...]]:
    return {tuple(sorted(titles[at] for at in story.source_indexes)) for story in found}


SOME = [pair.a for pair in pairs()[::6]] + [pair.b for pair in pairs()[::6]]


@settings(max_examples=15, deadline=None)
@given(st.permutations(SOME[:24]))
def test_the_order_of_the_items_does_not_matter(titles: list[str]) -> None:
    base = cluster_articles([Article(title=title) for title in SOME[:24]])
    found = cluster_articles([Article(title=title) for title in titles])
    assert told(found, titles) == told(base, SOME[:24])
    assert [s.headline for s in found] == [s.headline for s in base]
    assert [s.id for s in found] == [s.id for s in base]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=12)), max_size=6))
def test_any_items_are_each_in_one_story_and_doubling_them_makes_no_new_story(
    rows: list[tuple[str, str]],
) -> None:
    items = [Article(title=title, outlet=outlet, url=title, text=outlet * 9) for title, outlet in rows]
    found = cluster_articles(items)
    assert sorted(at for story in found for at in story.source_indexes) == list(range(len(items)))
    named = [item for item in items if title_key(strip_outlet(item.title, item.outlet))]
    assert len(cluster_articles(named + named)) == len(cluster_articles(named))


def test_on_the_labelled_pairs_few_are_united_wrongly_and_few_are_missed() -> None:
    for half in ("tune", "held-out"):
        of_half = [pair for pair in pairs() if pair.half == half]
        for way in (alone, together):
            found = score(of_half, way(of_half))
            assert found.precision >= 0.85
            assert found.recall >= 0.8


def test_the_labelled_pairs_are_what_they_are_said_to_be() -> None:
    labelled = pairs()
    assert len(labelled) >= 160
    assert len({pair.id for pair in labelled}) == len(labelled)
    assert sum(bool(pair.why) for pair in labelled) >= 60
    assert not any(pair.why for pair in labelled if pair.same)
    for half in ("tune", "held-out"):
        assert 0.4 < sum(p.same for p in labelled if p.half == half) / (len(labelled) / 2) < 0.6


@pytest.mark.slow
def test_two_thousand_items_of_few_patterns_take_seconds() -> None:
    items = made_up(2_000)
    begun = time.process_time()
    cluster_articles(items)
    assert time.process_time() - begun < 20
