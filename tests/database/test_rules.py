"""Questions that rules turn into SQL: the common shapes, and being at a loss with all others."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research.database.build import shipped
from research.database.rules import NotUnderstood, Vocabulary, read

GOLD: list[dict[str, str]] = json.loads(
    (Path(__file__).parent / "gold.json").read_text(encoding="utf-8")
)
# Each has something in it that changes the meaning and that no rule knows.
LOST = """
评分最高的景区
适合带孩子的景区有哪些
除了浙江还有哪些省
浙江的景区有山的吗
浙江和杭州有多少景区
浙江有多少个省
离杭州最近的景区
西湖附近的景区
北京有多少个公园
有多少个4A景区
北京和上海哪个景区多
北京的景区比上海多吗
过去五年评定的景区
没有门票的景区
最大的景区
前10个景区
每个省最早评定的景区
Which areas are near 颐和园?
How many museums in Beijing
How many provinces have 5A areas?
half of the areas in Zhejiang
top 10 areas in Zhejiang
show me everything
什么是5A级景区
what is a 5A scenic area?
浙江A级景区有多少个
A-level scenic areas in Zhejiang
浙江2015年有多少个5A景区
2024年门票低于50元的景区
2024年故宫门票多少钱
How many 5A areas were there in 2015?
沈阳故宫周边50公里的景区
5A areas in Taizhou
5A areas in Fuzhou, Jiangxi
浙江，南京的5A景区
nearest city to West Lake
5A areas in Jilin City
how long is the Li River
oldest 5A area in China
北京景区最晚几点关门
各省门票价格
门票最贵的10个景区中有几个在浙江
within 100 km of West Lake and Hangzhou
国家级风景名胜区有多少个
list areas in Beijing by ticket price
areas from Hangzhou to Suzhou
免费的景区和2015年以后评的景区
5A areas in Beijing and areas rated after 2020
故宫是2007年评上的吗
2015年前后评定的景区
top 5 areas in Beijing
areas in Beijing not free
不免费的北京景区
北京不是免费的景区
学生票低于50元的景区
西湖周边50公里外的景区
离西湖第二近的景区
门票不是最贵的景区
天台山在哪
哪个省最贵的景区最多
哪个省5A景区第二多
每个城市最多的景区
浙江省前5名的城市
门票超过100元的景区有几个省
名字里有四个字的景区
名字里带山或湖的景区
名字不带山的景区
without a known ticket price
areas with no ticket
从西湖到千岛湖开车多远
北京到上海多远
故宫到上海多远
Which areas in Zhejiang are more than 100 km from West Lake
areas within 1000 feet of West Lake
5A景区总数的平均数
浙江5A景区平均评定年份
平均每个省有多少个5A
平均每省有几个5A景区
average number of 5A areas per province
average opening hours
Is Mount Hua in Shaanxi?
Is West Lake rated before 2010?
areas rated before or in 2010
areas not rated in 2007
门票1千元以下
门票1,000元以下的景区
more than half of areas in Beijing
five areas in Beijing
5 areas in Beijing
give me 3 free areas in Zhejiang
推荐3个浙江的5A景区
随便列出5个5A景区
浙江第3个5A景区
上海市内的5A景区之外还有哪些
长城门票
八达岭长城门票多少钱
华山论剑
泰山北斗
千山万水
大西湖有哪些景区
湖北省和湖南省哪个5A更多
哪些城市有5A景区
哪些省没有5A景区
全国有多少个城市有5A景区
有多少景区是2020年评的，有多少是2021年评的
2020年和2021年评定的景区
2020、2021年评的5A
北京2007年评的和上海2007年评的
评定时间最长的景区
海南州有哪些5A
中山陵门票
5A areas near the sea in Shandong
how many areas charge nothing in Beijing
Zhejiang areas open all year
cheapest area to fly to
where can I find free wifi in Beijing
show the 2nd most expensive area
什么时候去西湖最好
西湖什么时候最美
西湖最早几点开门
浙江5A景区数量全国第几
浙江5A景区数量增长了多少
how much has ticket price increased at West Lake
ticket price of West Lake in 2019
不在北京也不在上海的景区有多少
江苏省苏州市不免费的景区
0元门票的景区
门票为0元的景区有多少
门票100元的景区
门票正好100元的景区
吉林市有哪些5A
Mount Lu rating
为什么江苏有5A景区
DROP TABLE a_sight
'; SELECT 1 --
"""


def km(lng: float, lat: float, other_lng: float, other_lat: float) -> float | None:
    """Kilometres between two points on a sphere."""
    if None in (lng, lat, other_lng, other_lat):
        return None
    a, b = math.radians(lat), math.radians(other_lat)
    half = math.sin((b - a) / 2) ** 2
    half += math.cos(a) * math.cos(b) * math.sin(math.radians(other_lng - lng) / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(half))


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(shipped(tmp_path_factory.mktemp("sights")))) as made:
        made.create_function("distance_km", 4, km, deterministic=True)
        yield made


@pytest.fixture(scope="module")
def words(db: sqlite3.Connection) -> Vocabulary:
    return Vocabulary.of(db.execute("select gid, name, name_en, province, city from a_sight"))


def found(db: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    return db.execute(sql).fetchall()


def within(wanted: tuple[Any, ...], row: tuple[Any, ...]) -> bool:
    """Whether a row has all that is wanted; the rules tell more of a thing than was asked."""
    return set(map(str, wanted)) <= set(map(str, row))


def answered(words: Vocabulary) -> dict[str, str]:
    """The gold questions that the rules understand, with their SQL."""
    out = {}
    for gold in GOLD:
        try:
            out[gold["id"]] = read(gold["question"], words).sql
        except NotUnderstood:
            continue
    return out


def test_every_gold_statement_finds_something(db: sqlite3.Connection) -> None:
    assert len(GOLD) >= 60
    assert [gold["id"] for gold in GOLD if not found(db, gold["sql"])] == []


def test_the_rules_answer_at_least_half_and_are_never_wrong(
    db: sqlite3.Connection, words: Vocabulary
) -> None:
    sql = answered(words)
    assert len(sql) * 2 >= len(GOLD)
    wrong = []
    for gold in GOLD:
        if gold["id"] not in sql:
            continue
        wanted, rows = found(db, gold["sql"]), found(db, sql[gold["id"]])
        if len(rows) != len(wanted) or not all(any(within(w, r) for r in rows) for w in wanted):
            wrong.append((gold["id"], gold["question"]))
    assert wrong == []


def test_each_shape_that_is_not_left_to_a_model_is_understood(words: Vocabulary) -> None:
    lost = [g["question"] for g in GOLD if g["shape"] != "model" and g["id"] not in answered(words)]
    assert lost == []


def test_the_order_of_a_gold_question_is_kept(db: sqlite3.Connection, words: Vocabulary) -> None:
    for gold in GOLD:
        if gold["shape"] in ("order", "nearest") and "ORDER BY" in gold["sql"]:
            names = [row[0] for row in found(db, gold["sql"])]
            rows = db.execute(read(gold["question"], words).sql)
            at = [column[0] for column in rows.description].index("name")
            assert [row[at] for row in rows] == names, gold["id"]


@pytest.mark.parametrize("question", LOST.strip().splitlines())
def test_what_has_more_in_it_is_not_answered(words: Vocabulary, question: str) -> None:
    with pytest.raises(NotUnderstood):
        read(question, words)


def test_what_is_meant_is_said_in_the_language_of_the_question(words: Vocabulary) -> None:
    zh = read("2015年以后评定的江苏景区有哪些？", words)
    assert zh.meant == "江苏省 2015 年之后评定的 5A 级景区"
    en = read("Areas in Zhejiang with tickets under 100 yuan", words)
    assert en.meant == "5A areas in Zhejiang with tickets under 100 yuan"


@pytest.mark.parametrize(
    ("said", "number"), [("十", 10), ("十二", 12), ("二十", 20), ("一百二十", 120), ("两", 2)]
)
def test_numbers_may_be_written_in_chinese(words: Vocabulary, said: str, number: int) -> None:
    assert read(f"离颐和园最近的{said}个景区", words).sql.endswith(f"LIMIT {number}")


def test_a_name_cannot_end_the_text_that_it_stands_in(words: Vocabulary) -> None:
    odd = Vocabulary({}, ["O'Neill' OR 1=1 --省"], [])
    assert "'O''Neill'' OR 1=1 --省'" in read("O'Neill' OR 1=1 --省有哪些景区", odd).sql
